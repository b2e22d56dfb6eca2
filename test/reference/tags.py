"""nw_predict_tags and nw_evaluate_tags."""

import numpy as np
from sklearn.metrics import precision_recall_fscore_support

import data
import model
from case import check, equal, near
from server import vector_text

SEED = 49
TAGS = ("a", "B", "c d", "NULL", "ä", 'say "so"', "{x}", "back\\slash", "1,2", "")


def array_text(tags):
    """Write an array as PostgreSQL reads it."""
    return "{" + ",".join('"' + t.replace("\\", "\\\\").replace('"', '\\"') + '"' for t in tags) + "}"


def draw_tags(rng, rows, names):
    """Give each row the tags of the near corner of a cube, and a little noise."""
    result = []
    for x in rows.x:
        carried = [t for j, t in enumerate(names) if (x[j % len(x)] > 0.3 * (j // len(x))) != (rng.random() < 0.05)]
        result.append(carried)
    rows.label = [array_text(t) for t in result]
    return result


def probabilities(head, of_support, names, tau):
    """Return how probable each tag is, [queries][tags]."""
    terms = head.terms(tau)
    weight = np.exp(terms - model.log_sum_exp(terms)[:, None])
    carried = np.array([[t in tags for t in names] for tags in of_support], dtype=float)
    return weight @ carried


def check_set(server, rng, number):
    """Check the predictions of some queries, and an evaluation of all."""
    kernel = model.KERNELS[number % 5]
    own = number % 3 == 2
    weighted = number % 2 == 1
    names = [str(t) for t in rng.choice(TAGS, int(rng.integers(2, len(TAGS) + 1)), replace=False)]
    title = f"tags {number} ({kernel}{', own rows' if own else ''}{', weighted' if weighted else ''})"
    rows, queries = data.split(rng, 150, 40, 3, ["x", "y", "z"], 1.0)
    of_rows, of_queries = draw_tags(rng, rows, names), draw_tags(rng, queries, names)
    if weighted:
        rows.weight = np.round(rng.uniform(0.2, 3, 150), 2)
    name, asked = f"s{number}", f"q{number}"
    tau = float(np.ptp(model.scores(kernel, rows.x, rows.x), axis=1).mean() * 0.1)
    for table, content in ((name, rows), (asked, queries)):
        server.load(table, content)
        server.run(f"ALTER TABLE {table} ALTER COLUMN label TYPE text[] USING label::text[];")
        server.run(f"SELECT nw_register('{table}', '{table}', kernel => '{kernel}', tau => {tau!r}, tags => true"
                   f"{', weight => ' + repr('weight') if weighted and table == name else ''});")

    head = model.Head(rows, queries, kernel)
    p = probabilities(head, of_rows, names, tau)
    for i in range(5):
        got = server.rows(f"SELECT * FROM nw_predict_tags('{vector_text(queries.x[i])}', '{name}', exclude => '{{}}')")
        expected = {t: p[i, j] for j, t in enumerate(names) if any(t in tags for tags in of_rows)}
        if equal(sorted(r["tag"] for r in got), sorted(expected), f"{title}: tags of query {i}"):
            worst = max((abs(r["probability"] - expected[r["tag"]]) for r in got), default=0)
            check(worst < 1e-9, f"{title}: probabilities of query {i}", f"an error of {worst:g}")
            check(all((a["probability"], b["tag"].encode()) >= (b["probability"], a["tag"].encode())
                      for a, b in zip(got, got[1:])), f"{title}: order of query {i}")

    if own:
        head, of_queries = model.Head(rows, rows, kernel, leave_one_out=True), of_rows
        p = probabilities(head, of_rows, names, tau)
        asked = name
    bound = float(rng.choice([0.3, 0.5, 0.7]))
    truth = np.array([[t in tags for t in names] for tags in of_queries])
    given = p >= bound
    precision, recall, f1, n = precision_recall_fscore_support(truth, given, average=None, zero_division=0)
    brier = ((p - truth) ** 2).mean(axis=0)
    got = {r["tag"]: r for r in server.rows(f"SELECT * FROM nw_evaluate_tags('{name}', '{asked}', {bound})")}
    for j, t in enumerate(names):
        if not truth[:, j].any() and not any(t in tags for tags in of_rows):
            check(t not in got, f"{title}: no {t!r}")
            continue
        row = got[t]
        equal((row["n"], row["predicted"], row["correct"]),
              (int(n[j]), int(given[:, j].sum()), int((truth & given)[:, j].sum())), f"{title}: counts of {t!r}")
        near(row["brier"], brier[j], f"{title}: brier of {t!r}")
        near(row["precision"], precision[j] if given[:, j].any() else None, f"{title}: precision of {t!r}")
        near(row["recall"], recall[j] if truth[:, j].any() else None, f"{title}: recall of {t!r}")
        near(row["f1"], f1[j] if given[:, j].any() or truth[:, j].any() else None, f"{title}: f1 of {t!r}")


def run(server):
    """Compare tags of random sets."""
    rng = np.random.default_rng(SEED)
    for number in range(12):
        check_set(server, rng, number)
