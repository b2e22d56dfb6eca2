"""nw_shapley: against the recursion over sorted supports, and against the definition."""

import itertools
import math

import numpy as np

import data
import model
from case import check, equal, near

SEED = 48


def recursion(head, k):
    """Return the mean value of each support, from the farthest to the nearest; no ties."""
    label = np.array(head.support.label, dtype=object)
    total = np.zeros(len(label))
    for i in np.flatnonzero(head.labelled):
        near_first = [s for s in np.argsort(-head.raw[i], kind="stable") if not head.left_out[i][s]]
        match = (label[near_first] == head.queries.label[i]).astype(float)
        n = len(near_first)
        value = np.zeros(n)
        for j in reversed(range(n)):
            if j == n - 1:
                value[j] = match[j] * min(k, n) / (n * k)
            else:
                value[j] = value[j + 1] + (match[j] - match[j + 1]) / k * min(k, j + 1) / (j + 1)
        total[near_first] += value
    return total / head.labelled.sum()


def vote(head, i, members, k):
    """Return the probability of a query's label among the k nearest of some supports; ties share."""
    members = np.array(members, dtype=int)
    score = head.raw[i][members]
    nearer = (score[None, :] > score[:, None]).sum(axis=1)
    as_near = (score[None, :] == score[:, None]).sum(axis=1)
    match = np.array(head.support.label, dtype=object)[members] == head.queries.label[i]
    return float((np.clip((k - nearer) / np.maximum(as_near, 1), 0, 1) * match).sum() / k)


def definition(head, k):
    """Return the mean value of each support, over all sets of the others."""
    total = np.zeros(len(head.support.id))
    for i in np.flatnonzero(head.labelled):
        members = [s for s in range(len(total)) if not head.left_out[i][s]]
        n = len(members)
        worth = {c: vote(head, i, c, k) for size in range(n + 1) for c in itertools.combinations(members, size)}
        for c, without in worth.items():
            share = math.factorial(len(c)) * math.factorial(n - len(c) - 1) / math.factorial(n) if len(c) < n else 0
            for s in members:
                if s not in c:
                    total[s] += share * (worth[tuple(sorted(c + (s,)))] - without)
    return total / head.labelled.sum()


def compare(server, call, head, expected, k, title):
    """Check all rows of a call, their order, and what they add up to."""
    rows = server.rows(f"SELECT * FROM {call}")
    got = {r["support_id"]: r["value"] for r in rows}
    if not equal(sorted(got), sorted(head.support.id), f"{title}: the supports"):
        return
    worst = max(abs(got[s] - e) for s, e in zip(head.support.id, expected))
    check(worst < 1e-12, f"{title}: values", f"an error of {worst:g}")
    check(all(a["value"] <= b["value"] for a, b in zip(rows, rows[1:])), f"{title}: the least first")
    equal([r["rank"] for r in rows], list(range(1, len(rows) + 1)), f"{title}: ranks")
    equal({r["n"] for r in rows}, {int(head.labelled.sum())}, f"{title}: n")
    worth = np.mean([vote(head, i, np.flatnonzero(~head.left_out[i]), k) for i in np.flatnonzero(head.labelled)])
    near(sum(got.values()), worth, f"{title}: the values add up to the vote of all", 1e-12)


def check_random(server, rng, number):
    """Check a set of many rows without ties."""
    kernel = model.KERNELS[number % 5]
    own = number % 3 == 2
    k = (1, 5, 17, 300)[number % 4]
    rows, queries = data.split(rng, 120, 40, 5, ["a", "b", "c"], 1.0, half=number == 4, flipped=0.1)
    rows.weight = np.round(rng.uniform(0.2, 3, 120), 2)
    queries.label[0] = "unseen"
    queries.label[1] = None
    name, asked = f"s{number}", f"q{number}"
    server.load(name, rows, half=number == 4)
    server.load(asked, queries, half=number == 4)
    server.register(name, name, kernel=kernel, tau=0.1, weight="weight")
    server.register(asked, asked)
    head = model.Head(rows, rows if own else queries, kernel, leave_one_out=own)
    call = f"nw_shapley('{name}', k => {k}, top => NULL)" if own else f"nw_shapley('{name}', '{asked}', {k}, NULL)"
    compare(server, call, head, recursion(head, k), k, f"shapley {number} ({kernel}, k {k}{', own rows' if own else ''})")


def check_ties(server, rng, number):
    """Check a small set of many ties by the definition."""
    n = int(rng.integers(2, 9))
    k = int(rng.integers(1, 11))
    own = number % 2 == 1
    rows = model.Rows(range(n), rng.integers(0, 3, (n, 1)), rng.choice(["a", "b"], n))
    queries = model.Rows(["q1", "q2", "q3"], rng.integers(0, 3, (3, 1)), rng.choice(["a", "b"], 3))
    name, asked = f"small_s{number}", f"small_q{number}"
    server.load(name, rows)
    server.load(asked, queries)
    server.register(name, name)
    server.register(asked, asked)
    head = model.Head(rows, rows if own else queries, "euclidean", leave_one_out=own)
    call = f"nw_shapley('{name}', {'NULL' if own else repr(asked)}, {k}, NULL)"
    compare(server, call, head, definition(head, k), k, f"ties {number} (n {n}, k {k}{', own rows' if own else ''})")


def run(server):
    """Compare values on random sets, large without ties and small with many."""
    rng = np.random.default_rng(SEED)
    for number in range(15):
        check_random(server, rng, number)
    for number in range(20):
        check_ties(server, rng, number)
