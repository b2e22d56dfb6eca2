"""The proof of use: flip labels of real images, and look where they are ranked."""

import numpy as np

import data
from case import check, equal
from model import Rows

SEED = 47
ROWS = 4000
QUERIES = 1000
SHARE = 0.02

# Generous floors of the precision in the first 2%, by kind of flip and ranking.
FLOORS = {
    "random": {"log margin": 0.6, "margin": 0.3, "total influence": 0.15},
    "confusable": {"log margin": 0.3, "margin": 0.3, "total influence": 0.1},
}


def confusable(rows):
    """Return for each class the most frequent wrong class of a nearest neighbour."""
    label = np.array(rows.label)
    square = (rows.x ** 2).sum(axis=1)
    distance = square[:, None] + square[None, :] - 2 * rows.x @ rows.x.T
    np.fill_diagonal(distance, np.inf)
    neighbour = label[distance.argmin(axis=1)]
    result = {}
    for c in sorted(set(rows.label)):
        wrong = neighbour[(label == c) & (neighbour != c)]
        names, counts = np.unique(wrong, return_counts=True)
        result[c] = str(names[counts.argmax()])
    return result


def flip(rng, rows, kind, nearest):
    """Return the rows with some labels flipped, and which."""
    label = list(rows.label)
    classes = sorted(set(label))
    chosen = rng.permutation(len(label))[:int(SHARE * len(label))]
    for i in chosen:
        if kind == "confusable":
            label[i] = nearest[label[i]]
        else:
            label[i] = str(rng.choice([c for c in classes if c != label[i]]))
    return Rows(rows.id, rows.x, label), {rows.id[i] for i in chosen}


def check_flips(server, rng, rows, queries, kind, nearest):
    """Flip, calibrate, rank in three ways, and count."""
    flipped, which = flip(rng, rows, kind, nearest)
    server.load(kind, flipped)
    server.register(kind, kind, tau=50.0)
    server.run(f"SELECT nw_calibrate('{kind}'); SELECT nw_diagnose('{kind}', 'clean', 1);")
    first = len(which)
    rankings = {
        "log margin": f"SELECT support_id FROM nw_suspects('{kind}', {first})",
        "margin": f"SELECT support_id FROM nw_suspects('{kind}', NULL) ORDER BY margin, support_id LIMIT {first}",
        "total influence": f"SELECT support_id FROM nw_suspect_supports WHERE support = '{kind}'"
                           f" ORDER BY total_influence, support_id LIMIT {first}",
    }
    tau = float(server.value(f"SELECT tau FROM nw_sets WHERE name = '{kind}'"))
    for ranking, query in rankings.items():
        got = [r["support_id"] for r in server.rows(query)]
        equal(len(got), first, f"{kind}, {ranking}: the first 2%")
        precision = len(which & set(got)) / first
        print(f"# mislabels, {len(rows.id)} images, flips {kind}, tau {tau:.1f}:"
              f" precision of {ranking} in the first {first}: {precision:.3f}")
        check(precision >= FLOORS[kind][ranking], f"{kind}, {ranking}: precision",
              f"{precision:.3f}, below {FLOORS[kind][ranking]}")
    same = server.value(f"""SELECT count(*) FROM nw_suspects('{kind}', NULL) AS s
        JOIN nw_suspect_supports AS d ON d.support = '{kind}' AND d.support_id = s.support_id
         AND d.log_margin = s.log_margin AND d.margin = s.margin AND d.suggested_label = s.suggested_label""")
    equal(int(same), len(rows.id), f"{kind}: the view and the function say the same")


def run(server):
    """Flip labels at random, and to the class most easily confused."""
    rng = np.random.default_rng(SEED)
    rows = data.fashion(ROWS)
    if rows is None:
        print("# no Fashion-MNIST here: skipped the mislabels")
        return
    queries = data.fashion(QUERIES, first=ROWS)
    server.load("clean", queries)
    server.register("clean", "clean", tau=50.0)
    nearest = confusable(rows)
    for kind in FLOORS:
        check_flips(server, rng, rows, queries, kind, nearest)
