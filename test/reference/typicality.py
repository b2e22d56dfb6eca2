"""nw_learn_typicality, the column typicality, min_typicality and nw_drift."""

import math

import numpy as np
from scipy import stats

import data
import model
from case import check, equal, near

SEED = 77
SMALL_CACHE = "SET nwhead.statement_cache = '64kB';"


def farness(kernel, q, x):
    """Return distances as nwhead shows them, [queries][supports]."""
    raw = model.scores("euclidean" if kernel == "gaussian" else kernel, q, x)
    return 1 - raw if kernel == "cosine" else -raw


def kth(distances, left_out, k):
    """Return the k-th smallest distance of each row, without what is left out."""
    return np.sort(np.where(left_out, np.inf, distances), axis=1)[:, k - 1]


def typicality(reference, d):
    """Return the p-value of each distance, from its definition."""
    return np.array([(1 + np.sum(reference >= v)) / (len(reference) + 1) for v in d])


class Setup:
    """A support, queries, and a kernel."""

    def __init__(self, rng, number):
        self.kernel = model.KERNELS[number % len(model.KERNELS)]
        self.half = number // 5 % 2 == 1
        self.weighted = number % 3 == 1
        self.k = int(rng.integers(1, 12))
        self.name = f"typical {number}"
        self.query_name = f"asked {number}"
        self.table = f"typical_{number}"
        self.query_table = f"asked_{number}"
        dim = int(rng.integers(3, 24))
        classes = [str(c) for c in rng.choice(data.LABELS, 4, replace=False)]
        self.support, self.queries = data.split(rng, 530, 150, dim, classes, 0.8, half=self.half)
        if self.weighted:
            self.support.weight = np.round(rng.uniform(0, 4, 530), 3) * (rng.random(530) > 0.1)
        self.support.label[1] = None
        self.support.x[2] = np.nan
        for i in range(3, 10):
            self.queries.label[i] = None
        self.queries.x[10] = np.nan
        # some that are far from everything, or copies of supports
        self.queries.x[20:40] *= 4
        self.queries.x[40:45] = self.support.x[40:45]
        supports = self.support.supports()
        asked = self.queries.queries()
        self.ids = asked.id
        own = farness(self.kernel, supports.x, supports.x)
        self.own = kth(own, np.eye(len(supports.id), dtype=bool), self.k)
        other = farness(self.kernel, asked.x, supports.x)
        self.other = kth(other, np.zeros_like(other, dtype=bool), self.k)

    def load(self, server):
        """Create and register both sets."""
        server.load(self.table, self.support, self.half)
        server.load(self.query_table, self.queries, self.half)
        options = {"weight": "weight"} if self.weighted else {}
        server.register(self.name, self.table, kernel=self.kernel, tau=0.5, **options)
        server.register(self.query_name, self.query_table)

    def describe(self):
        """Name the case."""
        return (f"{self.kernel}{', halfvec' if self.half else ''}"
                f"{', weighted' if self.weighted else ''}, k = {self.k}")


def agree(got, expected, reference, d, name):
    """Compare p-values; where rounding can decide, any rank between the two will do."""
    wrong = []
    for g, e, v in zip(got, expected, d):
        slack = 1e-9 * max(1.0, abs(v))
        low = (1 + np.sum(reference >= v + slack)) / (len(reference) + 1)
        high = (1 + np.sum(reference >= v - slack)) / (len(reference) + 1)
        if not low - 1e-15 <= g <= high + 1e-15:
            wrong.append((g, e, v))
    check(not wrong, name, *wrong[:5])
    return sum(g == e for g, e in zip(got, expected))


def check_learned(server, s, name):
    """Compare what is stored with NumPy, distance by distance."""
    row = server.row(f"SELECT * FROM nw_learn_typicality('{s.name}', k => {s.k})")
    equal((row["support_set"], row["query_set"], row["k"], row["n"]),
          (s.name, s.name, s.k, len(s.own)), f"{name}: what was learned")
    stored = server.value(f"""SELECT array_to_string(r.scores, ',') FROM nw_reference AS r
                                JOIN nw_registry AS s USING (set_id)
                               WHERE s.name = '{s.name}' AND r.kind = 'neighbour'""")
    got = np.array([float(v) for v in stored.split(",")])
    expected = np.sort(s.own)
    worst = np.abs(got - expected).max() / max(1.0, np.abs(expected).max())
    check(len(got) == len(expected) and worst < 1e-7, f"{name}: the distances", worst)
    near(row["median_distance"], got[(len(got) - 1) // 2], f"{name}: median", 0)
    near(row["largest_distance"], got[-1], f"{name}: largest", 0)
    near(row["least_typicality"], 1 / (len(got) + 1), f"{name}: least", 0)
    return got


def check_answers(server, s, reference, name):
    """Compare p-values with NumPy's, and all ways to them with each other."""
    def predicted(settings=""):
        rows = server.rows(f"""SELECT query_id, typicality
                                 FROM nw_predict_set('{s.name}', '{s.query_name}')""", settings)
        return {r["query_id"]: r["typicality"] for r in rows}

    by_id = predicted()
    got = [by_id[i] for i in s.ids]
    expected = typicality(reference, s.other)
    same = agree(got, expected, reference, s.other, f"{name}: p-values")
    check(same > 0.9 * len(got), f"{name}: most to the last bit", same)
    equal(predicted(SMALL_CACHE), by_id, f"{name}: streamed")
    for how, settings in (("packed", ""), ("streamed", "SET nwhead.statement_cache = 0;")):
        rows = server.rows(f"""SELECT q.id, c.typicality
                                 FROM {s.query_table} AS q,
                                      nw_classify(q.embedding, '{s.name}') AS c
                                WHERE q.embedding IS NOT NULL""", settings)
        equal({r["id"]: r["typicality"] for r in rows}, by_id, f"{name}: one by one, {how}")
    bound = float(np.median(got))
    refused = server.rows(f"""SELECT q.id FROM {s.query_table} AS q
                               WHERE q.embedding IS NOT NULL
                                 AND nw_predict(q.embedding, '{s.name}', min_typicality => {bound!r})
                                     IS NULL""")
    equal(sorted(r["id"] for r in refused), sorted(i for i, v in by_id.items() if v < bound),
          f"{name}: what min_typicality refuses")
    # leave-one-out: a row of the set ranks among all of them, itself included
    own = server.rows(f"SELECT typicality FROM nw_predict_set('{s.name}', '{s.name}') ORDER BY 1")
    supports = len(s.support.queries().id)
    equal(len(own), supports, f"{name}: rows of the set")
    if not s.weighted and s.support.label.count(None) == 1:
        ranks = np.sort([np.sum(reference >= v) + 1 for v in reference]) / (len(reference) + 1)
        mine = sorted(r["typicality"] for r in server.rows(
            f"SELECT typicality FROM nw_predict_set('{s.name}', '{s.name}') WHERE truth IS NOT NULL"))
        equal(mine, list(ranks), f"{name}: own rows")
    return got


def check_drift(server, s, got, reference, name):
    """Compare nw_drift with SciPy."""
    n = len(reference)
    row = server.row(f"SELECT * FROM nw_drift('{s.name}', '{s.query_name}')")
    p = np.array(got)
    equal((row["support_set"], row["query_set"], row["k"], row["n"]),
          (s.name, s.query_name, s.k, len(p)), f"{name}: drift, of what")
    near(row["mean_typicality"], p.mean(), f"{name}: mean", 1e-12)
    near(row["below_1_percent"], (p < 0.01).mean(), f"{name}: below 1 percent", 1e-12)
    near(row["below_5_percent"], (p < 0.05).mean(), f"{name}: below 5 percent", 1e-12)
    grid = np.unique([1, *(1 + np.sum(reference > v) for v in reference), n + 1]) / (n + 1)
    share = np.array([(p <= v).mean() for v in grid])
    ks = np.abs(share - grid).max()
    near(row["ks"], ks, f"{name}: statistic", 1e-12)
    # own rows depend on each other: three count for two
    size = math.sqrt(n * len(p) / (n + len(p)) / 1.5)
    chance = stats.kstwobign.sf((size + 0.12 + 0.11 / size) * ks)
    near(row["p_value"], chance, f"{name}: p-value", 1e-12)
    verdict = "alike" if chance >= 0.01 else (
        "farther" if (share - grid).max() >= (grid - share).max() else "closer")
    equal(row["verdict"], verdict, f"{name}: verdict")


def check_queries(server, s, name):
    """Learn from queries, labelled or not, in place of own rows."""
    row = server.row(f"SELECT * FROM nw_learn_typicality('{s.name}', '{s.query_name}', k => {s.k})")
    equal((row["query_set"], row["n"]), (s.query_name, len(s.other)), f"{name}: learned from queries")
    near(row["median_distance"], np.sort(s.other)[(len(s.other) - 1) // 2], f"{name}: their median", 1e-7)
    drift = server.row(f"SELECT * FROM nw_drift('{s.name}', '{s.query_name}')")
    equal((drift["verdict"], drift["n"]), ("alike", len(s.other)), f"{name}: no drift from themselves")


def check_validity(server, rng):
    """Check that a typicality of at most a has a probability of at most a."""
    dim, n, queries, rounds, k = 4, 60, 40, 50, 3
    size = rounds * (n + queries)
    x = rng.standard_normal((size, dim)) * rng.gamma(2, 1, (size, 1))
    place = np.arange(size) % (n + queries)
    server.load("valid", model.Rows([f"{i // (n + queries)}.{place[i]}" for i in range(size)], x,
                                    rng.integers(0, 3, size)))
    server.run(f"""DO $$ BEGIN FOR r IN 0 .. {rounds - 1} LOOP
        EXECUTE format('CREATE VIEW valid_%s AS SELECT * FROM valid WHERE split_part(id, ''.'', 1) = %L
                                                     AND split_part(id, ''.'', 2)::int < {n}', r, r);
        EXECUTE format('CREATE VIEW valid_asked_%s AS SELECT * FROM valid WHERE split_part(id, ''.'', 1) = %L
                                                     AND split_part(id, ''.'', 2)::int >= {n}', r, r);
        PERFORM nw_register('valid ' || r, ('valid_' || r)::regclass),
                nw_register('valid asked ' || r, ('valid_asked_' || r)::regclass),
                nw_learn_typicality('valid ' || r, k => {k});
        END LOOP; END $$;""")
    rows = server.rows(f"""SELECT n, typicality FROM generate_series(0, {rounds - 1}) AS n,
                           nw_predict_set('valid ' || n, 'valid asked ' || n, leave_one_out => false)""")
    equal(len(rows), rounds * queries, "validity: queries")
    p = np.array([[v["typicality"] for v in rows if v["n"] == r] for r in range(rounds)])
    for a in (0.05, 0.1, 0.2, 0.5, 0.8):
        # queries of one set share its distances: rounds are what is independent
        share = (p <= a).mean(axis=1)
        limit = a + 4 * share.std(ddof=1) / math.sqrt(rounds)
        check(share.mean() <= limit, f"P(typicality <= {a}) <= {a}", f"{share.mean():.4f}, limit {limit:.4f}")
        check(share.mean() >= a - 0.1, f"P(typicality <= {a}) is not far below", f"{share.mean():.4f}")


def auroc(known, novel):
    """Return the share of pairs in which the novel one is less typical; ties count half."""
    known, novel = np.asarray(known), np.asarray(novel)
    less = (novel[:, None] < known[None, :]).mean()
    return less + (novel[:, None] == known[None, :]).mean() / 2


def check_held_out(server, rng):
    """Tell classes that the set does not have from those it has."""
    dim = 16
    centres = rng.standard_normal((8, dim)) * 1.2
    label = rng.integers(0, 8, 4000)
    x = centres[label] + rng.standard_normal((4000, dim)) * 0.7
    known = label < 6
    support, asked = np.flatnonzero(known)[:1500], np.r_[np.flatnonzero(known)[1500:2100], np.flatnonzero(~known)[:600]]
    server.load("held", model.Rows(support, x[support], label[support]))
    server.load("held_asked", model.Rows(asked, x[asked], label[asked]))
    server.register("held", "held")
    server.register("held asked", "held_asked")
    server.run("SELECT nw_learn_typicality('held');")
    rows = server.rows("SELECT truth, typicality FROM nw_predict_set('held', 'held asked')")
    got = auroc([r["typicality"] for r in rows if int(r["truth"]) < 6],
                [r["typicality"] for r in rows if int(r["truth"]) >= 6])
    check(got > 0.95, "classes held out: AUROC", got)
    print(f"classes held out: AUROC {got:.3f}", flush=True)
    equal(server.row("SELECT verdict FROM nw_drift('held', 'held asked')")["verdict"], "farther",
          "classes held out: drift")


def check_fashion(server):
    """Tell pictures of clothes from others by their pixels; skipped where there are none."""
    clothes = data.fashion(5000)
    if clothes is None:
        return
    known = clothes.take(range(3000, 4000))
    pixels = clothes.take(range(4000, 5000)).x
    square = pixels.reshape(-1, 14, 14)
    rng = np.random.default_rng(SEED)
    others = {"inverted": 255 - pixels,
              "turned": np.rot90(square, axes=(1, 2)).reshape(-1, 196),
              "upside down": square[:, ::-1].reshape(-1, 196),
              "shuffled": rng.permuted(pixels, axis=1)}
    server.load("clothes", clothes.take(range(3000)))
    server.register("clothes", "clothes")
    server.run("SELECT nw_learn_typicality('clothes');")
    typical = {}
    for name, x in {"known": known.x, **others}.items():
        table = name.replace(" ", "_")
        server.load(table, model.Rows(range(len(x)), x, [None] * len(x)))
        server.register(name, table)
        typical[name] = [r["typicality"] for r in server.rows(
            f"SELECT typicality FROM nw_predict_set('clothes', '{name}')")]
        drift = server.row(f"SELECT * FROM nw_drift('clothes', '{name}')")
        equal(drift["verdict"], "alike" if name == "known" else "farther", f"clothes: {name}")
        print(f"clothes, {name}: below 5 %: {drift['below_5_percent']:.3f}"
              + ("" if name == "known" else f", AUROC {auroc(typical['known'], typical[name]):.3f}"), flush=True)
    # four standard deviations of 1,000 queries and 3,000 distances
    check((np.array(typical["known"]) <= 0.05).mean() < 0.05 + 4 * math.sqrt(0.05 * 0.95 / 750),
          "clothes: false alarms")
    check(auroc(typical["known"], typical["inverted"]) > 0.95, "clothes: inverted")


def check_large(server, rng):
    """Learn from a sample, the same whatever the order of rows."""
    n = 20100
    rows = model.Rows(range(n), np.round(rng.standard_normal((n, 3)), 3), rng.integers(0, 2, n))
    order = rng.permutation(n)
    stored = []
    for name, part in (("large", rows), ("reordered", rows.take(order))):
        server.load(name, part)
        server.register(name, name)
        row = server.row(f"SELECT * FROM nw_learn_typicality('{name}', k => 2)")
        equal(row["n"], 20000, f"{name}: a sample")
        stored.append(server.value(f"""SELECT md5(r.scores::text) FROM nw_reference AS r
                                         JOIN nw_registry AS s USING (set_id) WHERE s.name = '{name}'"""))
    equal(stored[0], stored[1], "a sample does not show the order of rows")
    row = server.row("SELECT * FROM nw_learn_typicality('large', 'reordered', k => 2, leave_one_out => false)")
    equal(row["n"], 20000, "a sample of queries")


def run(server):
    """Run this part."""
    rng = np.random.default_rng(SEED)
    for number in range(10):
        s = Setup(rng, number)
        s.load(server)
        name = s.describe()
        reference = check_learned(server, s, name)
        got = check_answers(server, s, reference, name)
        check_drift(server, s, got, reference, name)
        check_queries(server, s, name)
    check_validity(server, rng)
    check_held_out(server, rng)
    check_fashion(server)
    check_large(server, rng)
