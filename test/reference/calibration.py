"""nw_calibrate: the temperature of the least loss."""

import numpy as np

import data
import model
from case import check, equal, near

SEED = 43
CLASSES = ["ant", "bee", "cat", "dog", "eel"]

# style of embeddings, kernel, halfvec, weighted
CASES = (
    ("unit", "euclidean", False, False),
    ("unit", "hypersphere", False, False),
    ("unit", "cosine", True, False),
    ("raw", "euclidean", False, True),
    ("raw", "gaussian", True, False),
    ("raw", "dot", False, False),
    ("trained", "euclidean", False, False),
    ("trained", "gaussian", False, True),
    ("trained", "cosine", False, False),
)


def check_result(server, row, head, before, name):
    """Check what a calibration returned and stored; return its tau."""
    tau = row["tau"]
    near(row["nll_before"], head.nll(before), f"{name}: nll_before")
    near(row["nll_after"], head.nll(tau), f"{name}: nll_after")
    near(row["ece_before"], model.ece(*head.confidences(before)), f"{name}: ece_before")
    near(row["ece_after"], model.ece(*head.confidences(tau)), f"{name}: ece_after")
    check(row["nll_after"] <= row["nll_before"], f"{name}: no worse than before", row)
    equal(row["tau_before"], before, f"{name}: tau_before")
    equal(row["n"], int(head.labelled.sum()), f"{name}: n")
    stored = server.row(f"SELECT tau FROM nw_sets WHERE name = '{row['support_set']}'")["tau"]
    equal(stored, tau, f"{name}: the tau returned is stored")
    return tau


def find_best(head):
    """Return the minimiser of the loss."""
    spread = np.median(head.raw.max(axis=1) - np.median(head.raw, axis=1))
    return model.minimise(head.nll, spread * 1e-4, spread * 30, points=60, tolerance=1e-5)


def check_best(server, call, head, before, best, name):
    """Check a calibration against the minimiser found here."""
    row = server.row(f"SELECT * FROM {call}")
    tau = check_result(server, row, head, before, name)
    check(abs(tau / best - 1) < 0.01, f"{name}: tau within 1%", f"{tau!r}, not {best!r}")
    check(row["nll_after"] <= head.nll(best) + 1e-6, f"{name}: as small a loss",
          f"{row['nll_after']!r} at {tau!r}, not {head.nll(best)!r} at {best!r}")


def check_grid(server, name, arguments, head, low, high, steps, title):
    """Check the best of an even grid."""
    before = server.row(f"SELECT tau FROM nw_sets WHERE name = '{name}'")["tau"]
    row = server.row(f"SELECT * FROM nw_calibrate('{name}', {arguments}, {low!r}, {high!r}, {steps})")
    grid = [low + (high - low) * i / max(steps - 1, 1) for i in range(steps)]
    nll = [head.nll(t) for t in grid]
    best = grid[int(np.argmin(nll))]
    expected = best if min(nll) < head.nll(before) else before
    equal(row["tau"], expected, f"{title}: the best of {steps} from {low:g} to {high:g}")
    check_result(server, row, head, before, title)


def check_case(server, rng, number):
    """Check one kind of embeddings."""
    style, kernel, half, weighted = CASES[number]
    title = f"{style}, {kernel}{', halfvec' if half else ''}{', weighted' if weighted else ''}"
    noise = 0.9 if style == "trained" else 1.2
    support, queries = data.split(rng, 320, 240, 12, CLASSES, noise, style=style, half=half, flipped=0.1)
    options = {"kernel": kernel, "tau": 1.0}
    if weighted:
        support.weight = np.round(rng.uniform(0.1, 3, 320), 2)
        options["weight"] = "weight"
    support.label[0] = "single"
    queries.label[0] = "unseen"
    name = f"set_{number}"
    server.load(name, support, half)
    server.load(f"queries_{number}", queries, half)
    server.register(name, name, **options)
    server.register(f"queries_{number}", f"queries_{number}")

    own = model.Head(support, support, kernel, leave_one_out=True)
    other = model.Head(support, queries, kernel)
    best = find_best(own)
    check_best(server, f"nw_calibrate('{name}')", own, 1.0, best, f"{title}: own rows")
    first = server.row(f"SELECT tau FROM nw_sets WHERE name = '{name}'")["tau"]
    row = server.row(f"SELECT * FROM nw_calibrate('{name}')")
    check(abs(row["tau"] / first - 1) < 0.01, f"{title}: again, much the same", row)
    equal((row["support_set"], row["query_set"]), (name, name), f"{title}: names without queries")

    server.run(f"SELECT nw_set_tau('{name}', 1);")
    check_best(server, f"nw_calibrate('{name}', '{name}')", own, 1.0, best, f"{title}: itself as queries")
    server.run(f"SELECT nw_set_tau('{name}', 100);")
    check_best(server, f"nw_calibrate('{name}', 'queries_{number}')", other, 100.0, find_best(other),
               f"{title}: queries")

    tau = server.row(f"SELECT tau FROM nw_sets WHERE name = '{name}'")["tau"]
    check_grid(server, name, f"'queries_{number}'", other, tau * 3, tau * 5, 9, f"{title}: a grid beside the best")
    server.run(f"SELECT nw_set_tau('{name}', {tau * 7!r});")
    check_grid(server, name, f"'queries_{number}'", other, tau / 4, tau * 4, 31, f"{title}: a grid")
    server.run(f"SELECT nw_set_tau('{name}', {tau * 7!r});")
    check_grid(server, name, "NULL", own, tau, tau, 1, f"{title}: a grid of one")


def check_sample(server, rng):
    """Check that a larger set is calibrated on a fixed sample of its rows."""
    rows = data.draw(rng, 1500, 6, CLASSES, 1.0, flipped=0.05)
    server.load("large", rows)
    server.register("large", "large", tau=2.0)
    row = server.row("SELECT * FROM nw_calibrate('large')")
    equal(row["n"], 1000, "a sample of 1,000")
    head = model.Head(rows, rows, "euclidean", leave_one_out=True)
    best = model.minimise(head.nll, 0.05, 10, points=20, tolerance=1e-3)
    # two thirds of the rows: their best differs a little
    check(abs(row["tau"] / best - 1) < 0.1, "the sample's tau within 10% of that of all rows",
          f"{row['tau']!r}, not {best!r}")
    check(head.nll(row["tau"]) < head.nll(best) + 0.003, "and its loss within 0.003")
    server.run("SELECT nw_set_tau('large', 2);"
               " CREATE TABLE shuffled AS SELECT * FROM large ORDER BY md5(id);"
               " ALTER TABLE large RENAME TO gone; ALTER TABLE shuffled RENAME TO large;")
    equal(server.row("SELECT * FROM nw_calibrate('large')"), row, "whatever the order of rows")


def check_weighted_queries(server, rng):
    """Check that weights of queries do not matter."""
    support, queries = data.split(rng, 100, 80, 4, CLASSES, 1.0, flipped=0.1)
    queries.weight = np.arange(80) % 2.0
    server.load("ws", support)
    server.load("wq", queries)
    server.register("ws", "ws", tau=1.0)
    server.register("wq", "wq", weight="weight")
    equal(server.row("SELECT n FROM nw_evaluate('ws', 'wq')")["n"], 80, "weighted queries are all evaluated")
    equal(server.row("SELECT n FROM nw_calibrate('ws', 'wq')")["n"], 80, "and all calibrated on")


def run(server):
    """Check all kinds of embeddings."""
    rng = np.random.default_rng(SEED)
    for number in range(len(CASES)):
        check_case(server, rng, number)
    check_sample(server, rng)
    check_weighted_queries(server, rng)
