"""nw_diagnose and its views, and nw_suspects."""

import math

import numpy as np

import data
import model
from case import check, equal, near

SEED = 46


def suspects(head, tau):
    """Return what the other supports say of each: own class, best other, probability, margins."""
    log_p = head.log_probabilities(tau)
    result = {}
    for i, own in enumerate(head.queries.id):
        truth = head.truth[i]
        others = np.delete(log_p[i], truth)
        if not np.isfinite(log_p[i][truth]) or not np.isfinite(others).any():
            continue
        best = int(others.argmax())
        label = head.classes[best + (best >= truth)]
        result[own] = (head.queries.label[i], label, math.exp(log_p[i][truth]), log_p[i][truth] - others[best],
                       math.exp(log_p[i][truth]) - math.exp(others[best]))
    return result


def check_suspects(got, expected, name):
    """Check rows of nw_suspects or nw_suspect_supports that hold all suspects."""
    if not equal(sorted(r["support_id"] for r in got), sorted(expected), f"{name}: the suspects"):
        return
    worst = 0.0
    for r in got:
        e = expected[r["support_id"]]
        if (r["label"], r["suggested_label"]) != e[:2]:
            check(False, f"{name}: labels of {r['support_id']}", f"{r}, not {e}")
        worst = max(worst, abs(r["probability"] - e[2]), abs(r["margin"] - e[4]),
                    abs(r["log_margin"] - e[3]) / max(1, abs(e[3])))
    check(worst < 1e-9, f"{name}: probability, log_margin and margin", f"an error of {worst:g}")


def check_diagnosis(server, rng, number):
    """Check a diagnosis of one support with queries, or with itself."""
    kernel = model.KERNELS[number % 5]
    own = number % 3 == 2
    weighted = number % 4 == 1
    title = f"diagnosis {number} ({kernel}{', own rows' if own else ''}{', weighted' if weighted else ''})"
    rows, queries = data.split(rng, 90, 60, 6, ["a", "b", "c", "d"], 1.0, half=number == 3, flipped=0.05)
    if weighted:
        rows.weight = np.round(rng.uniform(0.2, 3, 90), 2)
    # the only row of its class, far from everything; a query without support, one without label
    rows.label[0] = "single"
    queries.label[0] = "unseen"
    queries.label[1] = None
    name, asked = f"s{number}", f"q{number}"
    spread = np.ptp(model.scores(kernel, rows.x, rows.x), axis=1).mean()
    tau = float(spread * rng.choice([0.03, 0.1, 0.3]))
    server.load(name, rows, half=number == 3)
    server.load(asked, queries, half=number == 3)
    options = {"weight": "weight"} if weighted else {}
    server.register(name, name, kernel=kernel, tau=tau, **options)
    server.register(asked, asked)
    if own:
        asked, queries = name, rows
    head = model.Head(rows, queries, kernel, leave_one_out=own)
    influence = head.influences(tau)
    seen = [i for i in range(len(head.queries.id)) if np.isfinite(head.losses(tau)[i])]
    top = 3
    written = int(server.value(f"SELECT nw_diagnose('{name}', '{asked}', {top})"))

    stored = {kind: server.rows(f"SELECT * FROM nw_{kind}_supports WHERE support = '{name}' AND queries = '{asked}'"
                                " ORDER BY query_id, rank") for kind in ("helpful", "harmful")}
    suspect = server.rows(f"SELECT * FROM nw_suspect_supports WHERE support = '{name}'")
    equal(written, len(stored["helpful"]) + len(stored["harmful"]) + len(suspect), f"{title}: rows written")

    # the lists of each query
    label = np.array(head.support.label, dtype=object)
    weights = np.exp(head.terms(tau) - model.log_sum_exp(head.terms(tau))[:, None])
    predicted = [head.classes[c] for c in head.log_probabilities(tau).argmax(axis=1)]
    place = {key: i for i, key in enumerate(head.support.id)}
    times = dict.fromkeys(head.support.id, 0)
    wrong = []
    for i in seen:
        truth = head.queries.label[i]
        for kind, sign in (("helpful", -1), ("harmful", 1)):
            mine = [r for r in stored[kind] if r["query_id"] == head.queries.id[i]]
            candidates = [s for s in range(len(label)) if (label[s] == truth) == (kind == "helpful")
                          and not head.left_out[i, s]]
            candidates.sort(key=lambda s: sign * influence[i, s])
            if [r["rank"] for r in mine] != list(range(1, min(top, len(candidates)) + 1)):
                wrong.append((kind, head.queries.id[i], "ranks", mine))
            for r, s in zip(mine, candidates):
                value = float(r["influence"])
                got = place[r["support_id"]]
                right = influence[i, s]
                if (not (value == right or abs(value - right) <= 1e-9 * max(1, abs(right)))
                        or (r["label"], r["truth"], r["predicted"]) != (label[got], truth, predicted[i])
                        or abs(r["weight"] - weights[i, got]) > 1e-9):
                    wrong.append((kind, r, right, weights[i, got]))
                if kind == "harmful":
                    times[r["support_id"]] += 1
    check(not wrong, f"{title}: helpful and harmful supports", *wrong[:3])
    equal(len({r["query_id"] for r in stored["helpful"] + stored["harmful"]}), len(seen),
          f"{title}: the queries that count")

    # as nw_influence says
    if not own:
        different = server.value(f"""
            SELECT count(*) FROM (
                SELECT query_id, support_id, label, weight, influence, 'helpful' AS effect
                  FROM nw_helpful_supports WHERE support = '{name}'
                UNION ALL SELECT query_id, support_id, label, weight, influence, 'harmful'
                  FROM nw_harmful_supports WHERE support = '{name}') AS d
            FULL JOIN (SELECT q.id, i.* FROM {asked} AS q, nw_influence(q.embedding, q.label, '{name}', {top}) AS i
                        WHERE i.influence IS NOT NULL) AS n
              ON d.query_id = n.id AND d.support_id = n.support_id
             AND d.label = n.label AND d.weight = n.weight AND d.influence = n.influence AND d.effect = n.effect
             WHERE d.query_id IS NULL OR n.id IS NULL""")
        equal(different, "0", f"{title}: to the last digit what nw_influence says")

    # totals
    alone = model.Head(rows, rows, kernel, leave_one_out=True)
    check_suspects(suspect, suspects(alone, tau), title)
    total = np.where(np.isnan(influence[seen]), 0, influence[seen]).sum(axis=0)
    worst = 0.0
    for r in suspect:
        right = total[place[r["support_id"]]]
        got = float(r["total_influence"])
        worst = max(worst, 0.0 if got == right else abs(got - right) / max(1, abs(right)))
        if r["times_harmful"] != times[r["support_id"]]:
            check(False, f"{title}: times harmful", r)
    check(worst < 1e-9, f"{title}: total influence", f"an error of {worst:g}")

    # again, it replaces
    equal(int(server.value(f"SELECT nw_diagnose('{name}', '{asked}', {top})")), written, f"{title}: again")
    equal(server.rows(f"SELECT * FROM nw_helpful_supports WHERE support = '{name}' AND queries = '{asked}'"
                      " ORDER BY query_id, rank"), stored["helpful"], f"{title}: the same rows, once")
    return name


def check_listing(server, rng, number):
    """Check nw_suspects on its own."""
    kernel = model.KERNELS[number % 5]
    rows = data.draw(rng, 200, 5, ["a", "b", "c"], 0.9, flipped=0.05)
    rows.label[0] = "single"
    if number % 2:
        rows.weight = np.round(rng.uniform(0.2, 3, 200), 2)
    name = f"listing_{number}"
    spread = np.ptp(model.scores(kernel, rows.x, rows.x), axis=1).mean()
    tau = float(spread * rng.choice([0.02, 0.1, 0.5]))
    server.load(name, rows)
    server.register(name, name, kernel=kernel, tau=tau, **({"weight": "weight"} if number % 2 else {}))
    got = server.rows(f"SELECT * FROM nw_suspects('{name}', NULL)")
    expected = suspects(model.Head(rows, rows, kernel, leave_one_out=True), tau)
    check("single" not in {r["label"] for r in got}, f"{name}: a singleton class is left out")
    check_suspects(got, expected, name)
    margins = [r["log_margin"] for r in got]
    check(margins == sorted(margins), f"{name}: most suspect first")
    equal(server.rows(f"SELECT * FROM nw_suspects('{name}', 7)"), got[:7], f"{name}: the first 7")
    equal(server.rows(f"SELECT * FROM nw_suspects('{name}')"), got[:100], f"{name}: 100 unless told")
    equal({(r["support_set"], r["tau"]) for r in got}, {(name, tau)}, f"{name}: name and tau")


def check_tied_suspects(server):
    """Check that equals come in the order of their ids."""
    rows = model.Rows(["9", "10", "b", "a"], [[0], [0], [1], [1]], ["x", "x", "y", "y"])
    server.load("tied", rows)
    server.register("tied", "tied", tau=0.5)
    got = server.rows("SELECT * FROM nw_suspects('tied')")
    equal([r["support_id"] for r in got], ["10", "9", "a", "b"], "equal suspects by id, bytewise")
    near(got[0]["log_margin"], got[3]["log_margin"], "which are equal")


def check_tiny(server):
    """Check sets that tell nothing."""
    server.load("lonely", model.Rows([1], [[1, 2]], ["a"]))
    server.register("lonely", "lonely", tau=0.5)
    equal(server.rows("SELECT * FROM nw_suspects('lonely')"), [], "one row: no suspects")
    equal(server.value("SELECT nw_diagnose('lonely', 'lonely', leave_one_out => false)"), "1",
          "one row: it helps itself")
    equal(server.row("SELECT influence FROM nw_helpful_supports WHERE support = 'lonely'")["influence"], "Infinity",
          "without end")
    server.load("alike", model.Rows([1, 2, 3], [[1], [2], [3]], ["a"] * 3))
    server.register("alike", "alike", tau=0.5)
    equal(server.rows("SELECT * FROM nw_suspects('alike')"), [], "one class: no suspects")


def check_gone(server, name):
    """Check that a diagnosis goes with its sets."""
    server.run(f"SELECT nw_unregister('{name}');")
    left = server.value(f"""SELECT (SELECT count(*) FROM nw_helpful_supports WHERE support = '{name}')
        + (SELECT count(*) FROM nw_harmful_supports WHERE support = '{name}')
        + (SELECT count(*) FROM nw_suspect_supports WHERE support = '{name}')""")
    equal(left, "0", "unregistering removes the diagnosis")


def run(server):
    """Check diagnoses of all kernels."""
    rng = np.random.default_rng(SEED)
    names = [check_diagnosis(server, rng, number) for number in range(9)]
    for number in range(6):
        check_listing(server, rng, number)
    check_tied_suspects(server)
    check_tiny(server)
    check_gone(server, names[0])
