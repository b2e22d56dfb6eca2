"""nw_predict_set, nw_evaluate and whatever else judges whole sets."""

import math

import numpy as np
from sklearn.metrics import precision_recall_fscore_support, recall_score

import data
import model
from case import check, equal, near

SEED = 42
SMALL_CACHE = "SET nwhead.statement_cache = '64kB';"


class Setup:
    """A support, queries, and how they are compared."""

    def __init__(self, rng, number):
        self.kernel = model.KERNELS[number % len(model.KERNELS)]
        self.half = number // 5 % 2 == 1
        self.weighted = number % 3 == 1
        self.support_name = f"support {number}"
        self.query_name = f"queries {number}"
        self.support_table = f"support_{number}"
        self.query_table = f"queries_{number}"
        dim = int(rng.integers(3, 24))
        classes = [str(c) for c in rng.choice(data.LABELS, int(rng.integers(3, 8)), replace=False)]
        self.support, self.queries = data.split(rng, 530, 150, dim, classes, float(rng.uniform(0.4, 1.2)),
                                                half=self.half)
        if self.weighted:
            self.support.weight = np.round(rng.uniform(0, 4, 530), 3) * (rng.random(530) > 0.1)
        # a class of one row, a class without support, rows without label and without vector
        self.support.label[0] = "single"
        self.support.weight[0] = 1
        self.support.label[1] = None
        self.support.x[2] = np.nan
        self.queries.label[0] = "single"
        self.queries.label[1] = self.queries.label[2] = "unseen"
        for i in range(3, 10):
            self.queries.label[i] = None
        self.queries.x[10] = np.nan
        head = model.Head(self.support, self.queries, self.kernel)
        spread = np.median(head.raw.max(axis=1) - np.median(head.raw, axis=1))
        self.tau = float(spread * rng.uniform(0.05, 0.6))

    def load(self, server):
        """Create and register both sets."""
        server.load(self.support_table, self.support, self.half)
        server.load(self.query_table, self.queries, self.half)
        options = {"weight": "weight"} if self.weighted else {}
        server.register(self.support_name, self.support_table, kernel=self.kernel, tau=self.tau, **options)
        server.register(self.query_name, self.query_table)

    def describe(self):
        """Name the case."""
        return (f"{self.kernel}{', halfvec' if self.half else ''}"
                f"{', weighted' if self.weighted else ''}")


def check_predictions(rows, head, tau, name, sets=None):
    """Check the rows of nw_predict_set."""
    log_p = head.log_probabilities(tau)
    losses = head.losses(tau)
    if not equal(sorted(r["query_id"] for r in rows), sorted(head.queries.id), f"{name}: the queries"):
        return
    by_id = {r["query_id"]: r for r in rows}
    worst = dict.fromkeys(("confidence", "truth_probability", "loss", "brier"), 0.0)
    wrong = []
    for i, own in enumerate(head.queries.id):
        r = by_id[own]
        best = log_p[i].max()
        if r["truth"] != head.queries.label[i]:
            wrong.append((own, "truth", r["truth"]))
        if r["label"] not in head.classes or log_p[i][head.classes.index(r["label"])] < best - 1e-12:
            wrong.append((own, "label", r["label"]))
        worst["confidence"] = max(worst["confidence"], abs(r["confidence"] - math.exp(best)))
        if head.queries.label[i] is None:
            if r["truth_probability"] is not None or r["loss"] is not None or r["brier"] is not None:
                wrong.append((own, "unlabelled", r))
            continue
        hit = np.array([c == head.queries.label[i] for c in head.classes], float)
        brier = ((np.exp(log_p[i]) - hit) ** 2).sum() + (1 - hit.sum())
        worst["brier"] = max(worst["brier"], abs(r["brier"] - brier))
        p = math.exp(-losses[i])
        worst["truth_probability"] = max(worst["truth_probability"],
                                         abs(r["truth_probability"] - p) / max(p, 1e-300))
        if math.isinf(losses[i]):
            if float(r["loss"]) != math.inf or r["truth_probability"] != 0:
                wrong.append((own, "unseen", r))
        else:
            worst["loss"] = max(worst["loss"], abs(r["loss"] - losses[i]) / max(1, losses[i]))
    check(not wrong, f"{name}: labels and truths", *wrong[:5])
    for column, error in worst.items():
        check(error < 1e-9, f"{name}: {column}", f"an error of {error:g}")
    if sets:
        check(all((r["support_set"], r["query_set"], r["tau"]) == (*sets, tau) for r in rows),
              f"{name}: names and tau")


def label_match(head, tau, leave_one_out):
    """Return the share of the 10 heaviest supports that carry the query's label."""
    if min(len(m) for m in head.members) < (11 if leave_one_out else 10):
        return None
    terms = head.terms(tau)
    heaviest = np.argsort(-terms, axis=1, kind="stable")[:, :10]
    label = np.array(head.support.label, dtype=object)
    truth = np.array(head.queries.label, dtype=object)
    return float((label[heaviest] == truth[:, None])[head.labelled].mean())


def check_evaluation(row, head, tau, name, bins=15, leave_one_out=False):
    """Check the row of nw_evaluate."""
    p = np.exp(head.log_probabilities(tau))[head.labelled]
    truth = head.truth[head.labelled]
    # a class whose only support is left out is unseen as well
    seen = np.isfinite(head.losses(tau)[head.labelled])
    confidence, correct = head.confidences(tau)
    onehot = np.zeros_like(p)
    onehot[np.flatnonzero(truth >= 0), truth[truth >= 0]] = 1
    brier = ((p - onehot) ** 2).sum(axis=1) + (truth < 0)
    equal(row["n"], int(head.labelled.sum()), f"{name}: n")
    equal(row["unlabelled"], int((~head.labelled).sum()), f"{name}: unlabelled")
    equal(row["unseen"], int((~seen).sum()), f"{name}: unseen")
    near(row["error_rate"], 1 - correct.mean(), f"{name}: error_rate", 1e-12)
    near(row["nll"], head.nll(tau), f"{name}: nll")
    near(row["brier"], brier.mean(), f"{name}: brier")
    near(row["ece"], model.ece(confidence, correct, bins), f"{name}: ece")
    near(row["mce"], model.mce(confidence, correct, bins), f"{name}: mce")
    near(row["label_match"], label_match(head, tau, leave_one_out), f"{name}: label_match")
    equal(row["tau"], tau, f"{name}: tau")


def check_confusion(rows, head, tau, name):
    """Check the rows of nw_confusion."""
    log_p = head.log_probabilities(tau)
    cells = {}
    for i in np.flatnonzero(head.labelled):
        key = (head.queries.label[i], head.classes[int(log_p[i].argmax())])
        cells.setdefault(key, []).append(math.exp(log_p[i].max()))
    order = sorted(cells, key=lambda k: tuple(c.encode("utf-8") for c in k))
    equal([(r["truth"], r["predicted"]) for r in rows], order, f"{name}: cells in byte order")
    equal({(r["truth"], r["predicted"]): r["n"] for r in rows}, {k: len(v) for k, v in cells.items()},
          f"{name}: n")
    worst = max(abs(r["mean_confidence"] - np.mean(cells[r["truth"], r["predicted"]])) for r in rows)
    check(worst < 1e-9, f"{name}: mean_confidence", f"an error of {worst:g}")


def check_class_report(rows, predictions, name):
    """Check the rows of nw_class_report, against scikit-learn."""
    labelled = [r for r in predictions if r["truth"] is not None]
    truth, label = [r["truth"] for r in labelled], [r["label"] for r in labelled]
    names = sorted({*truth, *label}, key=lambda c: c.encode("utf-8"))
    equal([r["label"] for r in rows], names, f"{name}: labels in byte order")
    precision, recall, f1, n = precision_recall_fscore_support(truth, label, labels=names, zero_division=0)
    for i, r in enumerate(rows):
        equal((r["n"], r["predicted"]), (n[i], label.count(names[i])), f"{name}: counts of {names[i]}")
        near(r["precision"], precision[i] if r["predicted"] else None, f"{name}: precision of {names[i]}", 1e-12)
        near(r["recall"], recall[i] if n[i] else None, f"{name}: recall of {names[i]}", 1e-12)
        near(r["f1"], f1[i], f"{name}: F1 of {names[i]}", 1e-12)


def check_coverage(rows, predictions, name):
    """Check the rows of nw_coverage, against NumPy."""
    labelled = [r for r in predictions if r["truth"] is not None]
    confidence = np.minimum([r["confidence"] for r in labelled], 1)
    wrong = np.array([r["label"] != r["truth"] for r in labelled])
    thresholds = np.unique(confidence)[::-1]
    equal([r["threshold"] for r in rows], list(thresholds), f"{name}: thresholds")
    equal([(r["n"], r["wrong"]) for r in rows],
          [((confidence >= t).sum(), wrong[confidence >= t].sum()) for t in thresholds], f"{name}: counts")
    for r in rows[::7]:
        near(r["coverage"], r["n"] / len(labelled), f"{name}: coverage", 1e-12)
        near(r["error_rate"], wrong[confidence >= r["threshold"]].mean(), f"{name}: error rate", 1e-12)


def check_threshold(server, arguments, coverage, name):
    """Check nw_threshold, against the rows of nw_coverage."""
    for limit in (0, 0.03, 0.1, 0.2, 0.5, 1):
        kept = [r for r in coverage if r["error_rate"] <= limit]
        got = server.row(f"SELECT threshold, n FROM nw_threshold({arguments}, max_error => {limit})")
        equal((got["threshold"], got["n"]), (kept[-1]["threshold"], kept[-1]["n"]) if kept else (None, 0),
              f"{name}: at {limit}")


def check_score(server, arguments, predictions, name):
    """Check nw_score by groups, against scikit-learn and NumPy."""
    got = server.rows(f"""SELECT length(truth) AS g, (nw_score(truth, label, confidence, loss, brier, 7)).*
                            FROM nw_predict_set({arguments}) GROUP BY g""")
    for r in got:
        group = [p for p in predictions if r["g"] == (None if p["truth"] is None else len(p["truth"]))]
        labelled = [p for p in group if p["truth"] is not None]
        equal((r["n"], r["unlabelled"], r["unanswered"]), (len(labelled), len(group) - len(labelled), 0),
              f"{name}: counts of group {r['g']}")
        if not labelled:
            equal([v for k, v in r.items() if isinstance(v, float)], [], f"{name}: nothing of nothing")
            continue
        truth, label = [p["truth"] for p in labelled], [p["label"] for p in labelled]
        correct = np.array(truth) == np.array(label)
        confidence = np.array([p["confidence"] for p in labelled])
        losses = np.array([float(p["loss"]) for p in labelled])
        finite = losses[np.isfinite(losses)]
        equal(r["unseen"], len(losses) - len(finite), f"{name}: unseen of group {r['g']}")
        near(r["error_rate"], 1 - correct.mean(), f"{name}: error rate of group {r['g']}", 1e-12)
        near(r["nll"], finite.mean() if len(finite) else None, f"{name}: nll of group {r['g']}", 1e-12)
        near(r["brier"], np.mean([p["brier"] for p in labelled]), f"{name}: brier of group {r['g']}", 1e-12)
        near(r["ece"], model.ece(confidence, correct, 7), f"{name}: ece of group {r['g']}", 1e-12)
        near(r["mce"], model.mce(confidence, correct, 7), f"{name}: mce of group {r['g']}", 1e-12)
        recall = recall_score(truth, label, labels=sorted(set(truth)), average="macro", zero_division=0)
        near(r["macro_recall"], recall, f"{name}: recall of group {r['g']}", 1e-12)


def check_reliability(rows, head, tau, name, bins):
    """Check the rows of nw_reliability."""
    expected = model.reliability(*head.confidences(tau), bins)
    equal([(r["bin"], r["lower"], r["upper"], r["n"]) for r in rows],
          [(i + 1, i / bins, (i + 1) / bins, e[0]) for i, e in enumerate(expected)], f"{name}: bins")
    for r, (n, confidence, accuracy) in zip(rows, expected):
        near(r["confidence"], confidence, f"{name}: confidence of bin {r['bin']}")
        near(r["accuracy"], accuracy, f"{name}: accuracy of bin {r['bin']}")
        near(r["gap"], accuracy - confidence if n else None, f"{name}: gap of bin {r['bin']}")


def check_sweep(rows, head, name, low, high, steps):
    """Check the rows of nw_temperature_sweep."""
    grid = [low + (high - low) * i / max(steps - 1, 1) for i in range(steps)]
    equal([r["tau"] for r in rows], grid, f"{name}: an even grid")
    for r in rows:
        confidence, correct = head.confidences(r["tau"])
        near(r["nll"], head.nll(r["tau"]), f"{name}: nll at {r['tau']:g}")
        near(r["ece"], model.ece(confidence, correct), f"{name}: ece at {r['tau']:g}")
        near(r["error_rate"], 1 - correct.mean(), f"{name}: error_rate at {r['tau']:g}")
        equal((r["n"], r["unseen"]), (int(head.labelled.sum()),
                                      int(np.isinf(head.losses(r["tau"])[head.labelled]).sum())),
              f"{name}: n and unseen")


def check_single(server, s):
    """Check that one prediction at a time gives the same digits."""
    for name, column in ((s.query_name, s.query_table), (s.support_name, s.support_table)):
        own = name == s.support_name
        exclude = "ARRAY[q.id]" if own else "NULL"
        different = server.value(f"""
            SELECT count(*) FILTER (WHERE p.label IS DISTINCT FROM c.label
                                       OR p.confidence IS DISTINCT FROM c.confidence
                                       OR p.label IS DISTINCT FROM
                                          nw_predict(q.embedding, '{s.support_name}', exclude => {exclude})
                                       OR coalesce(a.probability, 0) IS DISTINCT FROM coalesce(p.truth_probability, 0))
                   || ' of ' || count(*)
              FROM nw_predict_set('{s.support_name}', '{name}') AS p
              JOIN {column} AS q ON q.id = p.query_id
              CROSS JOIN LATERAL nw_classify(q.embedding, '{s.support_name}', exclude => {exclude}) AS c
              LEFT JOIN LATERAL nw_predict_proba(q.embedding, '{s.support_name}', exclude => {exclude}) AS a
                ON a.label = p.truth""")
        n = len((s.support if own else s.queries).queries().id)
        equal(different, f"0 of {n}", f"{s.describe()}: nw_predict_set('{name}') as one by one")


def check_setup(server, s):
    """Check all functions on one pair of sets, and on the support with itself."""
    sets = (s.support_name, s.query_name)
    pair = f"'{s.support_name}', '{s.query_name}'"
    own = f"'{s.support_name}', '{s.support_name}'"
    heads = {
        f"{pair}": (model.Head(s.support, s.queries, s.kernel), "queries"),
        f"{own}": (model.Head(s.support, s.support, s.kernel, leave_one_out=True), "own rows"),
        f"{own}, leave_one_out => true": (model.Head(s.support, s.support, s.kernel, leave_one_out=True),
                                          "own rows, true"),
        f"{own}, leave_one_out => false": (model.Head(s.support, s.support, s.kernel), "own rows, false"),
    }
    for arguments, (head, title) in heads.items():
        name = f"{s.describe()}: {title}"
        left_out = bool(head.left_out.any())
        bins = 15 if title == "queries" else 7
        queries = {
            "predictions": f"SELECT * FROM nw_predict_set({arguments})",
            "evaluation": f"SELECT * FROM nw_evaluate({arguments}, bins => {bins})",
            "confusion": f"SELECT * FROM nw_confusion({arguments})",
            "reliability": f"SELECT * FROM nw_reliability({arguments}, bins => {bins})",
            "class report": f"SELECT * FROM nw_class_report({arguments})",
            "coverage": f"SELECT * FROM nw_coverage({arguments})",
        }
        got = {key: server.rows(q) for key, q in queries.items()}
        check_predictions(got["predictions"], head, s.tau, name, sets if title == "queries" else None)
        check_evaluation(got["evaluation"][0], head, s.tau, name, bins, left_out)
        if title == "own rows, true":
            continue
        check_confusion(got["confusion"], head, s.tau, name)
        check_reliability(got["reliability"], head, s.tau, name, bins)
        check_class_report(got["class report"], got["predictions"], f"{name}: class report")
        check_coverage(got["coverage"], got["predictions"], f"{name}: coverage")
        check_threshold(server, arguments, got["coverage"], f"{name}: threshold")
        check_score(server, arguments, got["predictions"], f"{name}: score")
        for key, q in queries.items():
            equal(server.rows(q, SMALL_CACHE), got[key], f"{name}: {key} streamed, to the last digit")
    low, high = s.tau / 3, s.tau * 3
    for arguments, title in ((pair, "queries"), (own, "own rows")):
        sweep = f"SELECT * FROM nw_temperature_sweep({arguments}, {low!r}, {high!r}, 7)"
        check_sweep(server.rows(sweep), heads[arguments][0], f"{s.describe()}: sweep of {title}", low, high, 7)
    equal(server.error(sweep, SMALL_CACHE), "54000", f"{s.describe()}: 64 kB are too little for a sweep")


def check_distilled(server, s):
    """Check leaving out through sets made of real rows."""
    for mode in ("random", "closest"):
        name = f"{s.describe()}, {mode}"
        server.run(f"SELECT nw_distill('{s.support_name}', 'few', '{mode}', k => 12, calibrate => false);")
        prototypes = server.rows("SELECT label, source_id, weight FROM nw_prototypes WHERE set = 'few'")
        place = {own: i for i, own in enumerate(s.support.id)}
        few = s.support.take(place[p["source_id"]] for p in prototypes)
        few.weight = np.array([p["weight"] for p in prototypes])
        for leave, argument in ((True, ""), (True, ", leave_one_out => true"), (False, ", leave_one_out => false")):
            head = model.Head(few, s.support, s.kernel, leave_one_out=leave)
            check_predictions(server.rows(f"SELECT * FROM nw_predict_set('few', '{s.support_name}'{argument})"),
                              head, s.tau, f"{name}{argument}")
            check_evaluation(server.row(f"SELECT * FROM nw_evaluate('few', '{s.support_name}'{argument})"),
                             head, s.tau, f"{name}{argument}", leave_one_out=leave)
        # and as queries
        head = model.Head(s.support, few, s.kernel, leave_one_out=True)
        check_predictions(server.rows(f"SELECT * FROM nw_predict_set('{s.support_name}', 'few')"),
                          head, s.tau, f"{name} as queries")


def check_ties(server):
    """Check that exact ties go to the bytewise smallest label, whatever the function."""
    rows = model.Rows(range(4), [[1, 0], [-1, 0], [0, 1], [0, -1]], ["b", "a", "ä", "z"])
    queries = model.Rows(["q0", "q1"], [[0, 0], [2, 2]], ["a", "b"])
    server.load("ties", rows)
    server.load("tied", queries)
    server.register("ties", "ties", tau=0.01)
    server.register("tied", "tied")
    got = {r["query_id"]: r for r in server.rows("SELECT * FROM nw_predict_set('ties', 'tied')")}
    equal(got["q0"]["label"], "a", "four classes at one distance: a")
    near(got["q0"]["confidence"], 0.25, "with a quarter of the mass each")
    equal(got["q1"]["label"], "b", "b and ä mirrored: b")
    equal(server.row("SELECT error_rate FROM nw_evaluate('ties', 'tied')")["error_rate"], 0, "no error")
    equal([r["predicted"] for r in server.rows("SELECT * FROM nw_confusion('ties', 'tied')")], ["a", "b"],
          "the confusion says the same")
    equal({r["error_rate"] for r in server.rows("SELECT * FROM nw_temperature_sweep('ties', 'tied')")}, {0},
          "and every temperature")


def run(server):
    """Check pairs of sets of all kernels, types and weights."""
    rng = np.random.default_rng(SEED)
    for number in range(10):
        s = Setup(rng, number)
        s.load(server)
        check_setup(server, s)
        if number in (0, 4, 7):
            check_single(server, s)
            check_distilled(server, s)
    check_ties(server)
