"""The aggregates nw_ece and nw_mce."""

import math

import numpy as np

import model
from case import check, equal, near

SEED = 41


def check_borders(server):
    """Check each border of some bins, and its neighbours, beside a confidence within a bin.

    Two confidences share a bin exactly where their errors cancel: a wrong one
    (error c) and a right one in the middle of the bin (error middle - 1).
    """
    cases = []
    for bins in (1, 2, 10, 15, 100):
        for i in range(1, bins + 1):
            border = i / bins
            cases += [(bins, border, i - 1), (bins, math.nextafter(border, 0), i - 1),
                      (bins, math.nextafter(border, 2), min(i, bins - 1))]
        cases += [(bins, 0.0, 0), (bins, 5e-324, 0), (bins, 1 + 1e-12, bins - 1)]
    values = ", ".join(f"({n}, {bins}, '{c!r}'::float8, false),"
                       f" ({n}, {bins}, '{(inside + 0.5) / bins!r}'::float8, true)"
                       for n, (bins, c, inside) in enumerate(cases))
    got = server.rows(f"SELECT nw_ece(c, k, bins) AS ece, nw_mce(c, k, bins) AS mce"
                      f" FROM (VALUES {values}) AS v (n, bins, c, k) GROUP BY n ORDER BY n")
    for (bins, c, inside), row in zip(cases, got):
        together = abs(min(c, 1.0) + (inside + 0.5) / bins - 1) / 2
        near(row["ece"], together, f"{bins} bins: {c!r} in bin {inside}", 1e-12)
        near(row["mce"], together, f"{bins} bins: mce of {c!r} in bin {inside}", 1e-12)


def check_random(server):
    """Check random confidences, in serial and in parallel."""
    rng = np.random.default_rng(SEED)
    parallel = ("SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0;"
                " SET parallel_tuple_cost = 0; SET max_parallel_workers_per_gather = 4;")
    for number in range(12):
        n = int(rng.integers(1, 3000))
        confidence = rng.beta(5, 1, n) if number % 2 else rng.random(n)
        edge = rng.random(n) < 0.2
        confidence[edge] = rng.integers(0, 16, int(edge.sum())) / 15
        correct = rng.random(n) < confidence
        bins = int(rng.choice([1, 2, 7, 15, 10000]))
        table = f"ece_{number}"
        server.run(f"CREATE TABLE {table} (c float8, k boolean, g int);\nCOPY {table} FROM STDIN;\n" +
                   "".join(f"{float(c)!r}\t{k}\t{i % 3}\n" for i, (c, k) in
                           enumerate(zip(confidence, correct))) +
                   f"\\.\nINSERT INTO {table} VALUES (NULL, true, 0), (0.5, NULL, 0), (NULL, NULL, 1);"
                   f" ANALYZE {table}; ALTER TABLE {table} SET (parallel_workers = 4);")
        query = f"SELECT nw_ece(c, k, {bins}) AS ece, nw_mce(c, k, {bins}) AS mce FROM {table}"
        got = server.row(query, "SET max_parallel_workers_per_gather = 0;")
        near(got["ece"], model.ece(confidence, correct, bins), f"ece {number} of {n} in {bins} bins", 1e-12)
        near(got["mce"], model.mce(confidence, correct, bins), f"mce {number} of {n} in {bins} bins", 1e-12)
        plan = server.run(parallel + f"EXPLAIN (COSTS OFF) {query};")
        check("Partial Aggregate" in plan, "the plan is parallel", plan)
        equal(server.row(query, parallel), got, f"random {number}: the same digits in parallel")
        shuffled = query.replace(f"FROM {table}", f"FROM (SELECT * FROM {table} ORDER BY md5(c::text || g)) AS s")
        equal(server.row(shuffled), got, f"random {number}: the same digits in another order")


def run(server):
    """Check the aggregates."""
    check_borders(server)
    check_random(server)
