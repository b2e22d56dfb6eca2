"""nw_influence: equal to really removing the row."""

import math
from decimal import Decimal, getcontext

import numpy as np

import data
import model
from case import check, equal, near
from server import vector_text

SEED = 44
CASES = 120  # each with all of its supports

getcontext().prec = 400


def ask(server, cases):
    """Ask about all queries of all sets in one session."""
    for name, rows, kernel, tau, weighted, half in cases["sets"]:
        server.load(name, rows, half)
        options = {"weight": "weight"} if weighted else {}
        server.register(name, name, kernel=kernel, tau=tau, **options)
    values = ", ".join(f"({n}, '{name}', '{vector_text(x)}'::vector, '{truth}')"
                       for n, (name, x, truth) in enumerate(cases["queries"]))
    rows = server.rows(f"SELECT v.n, i.* FROM (VALUES {values}) AS v (n, name, x, truth),"
                       " nw_influence(v.x, v.truth, v.name, top => NULL) AS i")
    result = [[] for _ in cases["queries"]]
    for r in rows:
        result[r["n"]].append(r)
    return result


def check_random(server, rng):
    """Check random sets of all kernels, each support of each query."""
    cases = {"sets": [], "queries": []}
    models = []
    for number in range(CASES // 4):
        kernel = model.KERNELS[number % 5]
        weighted = number % 4 == 1
        half = number % 6 == 2
        n = int(rng.integers(2, 40))
        classes = [str(c) for c in range(int(rng.integers(1, 5)))]
        rows = data.draw(rng, n, int(rng.integers(1, 12)), classes, 0.8, half=half)
        if weighted:
            rows.weight = np.round(rng.uniform(0.01, 5, n), 3)
        spread = float(np.ptp(model.scores(kernel, rows.x[:1], rows.x))) or 1.0
        tau = spread * 10 ** rng.uniform(-2, 1)
        cases["sets"].append((f"random_{number}", rows, kernel, tau, weighted, half))
        for _ in range(4):
            x = rows.x[rng.integers(0, n)] if rng.random() < 0.3 else data.rounded(
                rows.x.mean(axis=0) + rng.normal(size=rows.x.shape[1]))
            truth = rows.label[rng.integers(0, n)]
            cases["queries"].append((f"random_{number}", x, truth))
            models.append((model.Head(rows, model.Rows(["q"], [x], [truth]), kernel), tau, rows, truth))
    pairs = 0
    for number, (answer, (head, tau, rows, truth)) in enumerate(zip(ask(server, cases), models)):
        expected = dict(zip(head.support.id, head.influences(tau)[0]))
        weight = dict(zip(head.support.id, np.exp(head.terms(tau) - model.log_sum_exp(head.terms(tau)))[0]))
        label = dict(zip(rows.id, rows.label))
        name = f"random {number}"
        equal(sorted(r["support_id"] for r in answer), sorted(expected), f"{name}: every support once")
        wrong = []
        for r in answer:
            own = r["support_id"]
            value = float(r["influence"])
            pairs += 1
            good = value == expected[own] if math.isinf(expected[own]) else (
                abs(value - expected[own]) <= 1e-9 * max(1, abs(expected[own])))
            if not good or r["label"] != label[own] or abs(r["weight"] - weight[own]) > 1e-9:
                wrong.append((r, expected[own], weight[own]))
            if (r["effect"] == "helpful") != (r["label"] == truth) or (value > 0) > (r["effect"] == "helpful"):
                wrong.append((r, "effect"))
        check(not wrong, f"{name}: influences as removing the row", *wrong[:3])
        helpful = [float(r["influence"]) for r in answer if r["effect"] == "helpful"]
        harmful = [float(r["influence"]) for r in answer if r["effect"] == "harmful"]
        check(helpful == sorted(helpful, reverse=True) and harmful == sorted(harmful),
              f"{name}: most helpful first, then most harmful first", answer[:3])
    check(pairs > 300, f"{pairs} pairs of query and support")


def check_removal(server, rng):
    """Check against the losses of nw_predict_set with a row removed for real."""
    rows, queries = data.split(rng, 30, 12, 5, ["a", "b", "c"], 1.0)
    server.load("kept", rows)
    server.load("asked", queries)
    server.register("kept", "kept", tau=0.7)
    server.register("asked", "asked")
    server.run("CREATE VIEW rest AS SELECT * FROM kept WHERE id IS DISTINCT FROM current_setting('test.gone', true);")
    server.register("rest", "rest", tau=0.7)
    got = server.rows("""
        SELECT max(abs(i.influence - (w.loss - f.loss))) AS worst, count(*) AS pairs
          FROM kept AS k
         CROSS JOIN LATERAL set_config('test.gone', k.id, false) AS gone
         CROSS JOIN LATERAL nw_predict_set(CASE WHEN gone IS NOT NULL THEN 'rest' END, 'asked') AS w
          JOIN nw_predict_set('kept', 'asked') AS f USING (query_id)
          JOIN asked AS q ON q.id = query_id
          JOIN LATERAL nw_influence(q.embedding, q.label, 'kept', NULL) AS i ON i.support_id = k.id""")[0]
    equal(got["pairs"], 360, "360 rows removed for real")
    check(got["worst"] < 1e-9, "each changes the loss by its influence", got)
    different = server.value("""
        SELECT count(*) FROM asked AS q
         CROSS JOIN LATERAL nw_influence(q.embedding, q.label, 'kept', NULL) AS i
         CROSS JOIN LATERAL nw_predict_proba(q.embedding, 'kept') AS f
         CROSS JOIN LATERAL nw_predict_proba(q.embedding, 'kept', exclude => ARRAY[i.support_id]) AS w
         WHERE f.label = q.label AND w.label = q.label
           AND abs(i.influence - (ln(f.probability) - ln(w.probability))) > 1e-9""")
    equal(different, "0", "and so it does with exclude")


def exact(terms, truth, which):
    """Return an influence with hundreds of digits; terms are pairs of label and score."""
    masses = {True: Decimal(0), False: Decimal(0)}
    less = {True: Decimal(0), False: Decimal(0)}
    for i, (label, score) in enumerate(terms):
        mass = Decimal(score).exp()
        masses[label == truth] += mass
        if i != which:
            less[label == truth] += mass
    if less[True] == 0:
        return math.inf
    before = masses[True] / (masses[True] + masses[False])
    after = less[True] / (less[True] + less[False])
    return float(before.ln() - after.ln())


def check_extremes(server):
    """Check weights next to 1 and next to 0 to nearly all digits.

    Points of a line: scores are exact in binary, so a computation with
    enough digits knows what the influence is.
    """
    cases = {"sets": [], "queries": []}
    expected = []
    lines = {
        "near_1": [("a", 0), ("a", 30), ("b", 40), ("b", 41)],
        "near_1_other": [("b", 0), ("a", 30), ("a", 31), ("b", 60)],
        "near_0": [("a", 0), ("b", 1), ("a", 200), ("b", 300), ("a", 500)],
        "far": [("a", 1000), ("b", 2000), ("b", 2500), ("a", 4000)],
        "equal": [("a", 5), ("a", 5), ("b", 5), ("b", 5)],
        "tiny": [("a", 0), ("a", 650), ("b", 0.125), ("c", 690)],
    }
    for name, line in lines.items():
        for tau in (1.0, 0.25):
            table = f"{name}_{int(tau * 4)}"
            rows = model.Rows(range(len(line)), [[x] for _, x in line], [c for c, _ in line])
            cases["sets"].append((table, rows, "euclidean", tau, False, False))
            for truth in ("a", "b"):
                cases["queries"].append((table, [0.0], truth))
                terms = [(c, -x / tau) for c, x in line]
                expected.append([exact(terms, truth, i) for i in range(len(line))])
    for (table, _, truth), answer, exactly in zip(cases["queries"], ask(server, cases), expected):
        equal(len(answer), len(exactly), f"{table}, {truth}: all supports")
        for r in answer:
            value, right = float(r["influence"]), exactly[int(r["support_id"])]
            good = value == right or abs(value - right) <= 1e-12 * abs(right)
            # about as small as numbers get
            good = good or (abs(right) < 1e-300 and abs(value) < 1e-300)
            check(good, f"{table}, {truth}, support {r['support_id']}", f"{value!r}, not {right!r}")


def check_special(server):
    """Check what has no finite influence."""
    rows = model.Rows(range(4), [[0], [1], [2], [3]], ["only", "b", "b", "c"])
    server.load("special", rows)
    server.register("special", "special", tau=0.5)
    got = server.rows("SELECT * FROM nw_influence('[0]', 'only', 'special')")
    equal([(r["support_id"], r["influence"], r["effect"]) for r in got[:1]], [("0", "Infinity", "helpful")],
          "the only support of the truth")
    check(all(math.isfinite(float(r["influence"])) for r in got[1:]), "the others are finite", got)
    got = server.rows("SELECT * FROM nw_influence('[0]', 'nobody', 'special')")
    equal([(r["influence"], r["effect"]) for r in got], [(None, None)] * 4, "a truth without support")
    near(sum(r["weight"] for r in got), 1, "still has weights")
    got = server.rows("SELECT * FROM nw_influence('[0]', 'b', 'special', classes => '{c}')")
    equal([(r["support_id"], r["influence"]) for r in got], [("3", None)], "a truth that classes leave out")
    got = server.rows("SELECT * FROM nw_influence('[0]', 'b', 'special', exclude => '{1}')")
    equal([(r["support_id"], r["influence"]) for r in got][:1], [("2", "Infinity")],
          "exclude makes a support the only one")
    got = server.rows("SELECT * FROM nw_influence('[0]', 'b', 'special', classes => '{b}')")
    equal([float(r["influence"]) for r in got], [0, 0], "within one class nothing changes")


def run(server):
    """Check influences."""
    rng = np.random.default_rng(SEED)
    check_random(server, rng)
    check_removal(server, rng)
    check_extremes(server)
    check_special(server)
