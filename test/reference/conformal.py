"""Plausible labels and intervals: scores, ranks and sets written from their definitions."""

import math
import warnings
from fractions import Fraction

import numpy as np
from scipy.stats import betabinom
from sklearn.neural_network import MLPClassifier

import data
import model
from case import check, equal, near
from evaluation import SMALL_CACHE

SEED = 19
COVERAGES = ("0.5", "0.8", "0.9", "0.55", "0.99")
DRAWS = 40


def rank(n, coverage):
    """Return ceil((n + 1) c) of a decimal c, in whole numbers."""
    return math.ceil((n + 1) * Fraction(coverage))


def bound(scores, coverage):
    """Return the score that this share is bound by; infinity where there are too few."""
    k = rank(len(scores), coverage)
    return np.sort(scores)[k - 1] if k <= len(scores) else np.inf


class Setup:
    """A support, queries to calibrate on and queries to try, and how they are compared."""

    def __init__(self, rng, number):
        self.kernel = model.KERNELS[number % len(model.KERNELS)]
        self.half = number % 4 == 3
        self.temper = (1, 0.5, 1.7)[number % 3]
        self.support_name = f"support {number}"
        self.table = f"support_{number}"
        self.classes = [str(c) for c in rng.choice(data.LABELS, 5, replace=False)]
        self.support, queries = data.split(rng, 300, 260, 6, self.classes, 1.3, half=self.half)
        self.weighted = number % 2 == 1
        if self.weighted:
            self.support.weight = np.round(rng.uniform(0.1, 4, 300), 3)
        queries.label[0] = queries.label[1] = queries.label[200] = "unseen"
        queries.label[2] = queries.label[201] = None
        # too few of a class for its own guarantee
        for i in range(3, 160):
            if queries.label[i] == self.classes[0] and rng.random() < 0.9:
                queries.label[i] = self.classes[1]
        self.scored, self.tried = queries.take(range(160)), queries.take(range(160, 260))
        head = model.Head(self.support, queries, self.kernel)
        spread = np.median(head.raw.max(axis=1) - np.median(head.raw, axis=1))
        self.tau = float(spread * rng.uniform(0.3, 0.8))
        self.tables = {"scored": f"scored_{number}", "tried": f"tried_{number}"}

    def load(self, server):
        """Create and register the sets."""
        server.load(self.table, self.support, self.half)
        server.register(self.support_name, self.table, kernel=self.kernel, tau=self.tau,
                        temper=self.temper, weight="weight" if self.weighted else None)
        for name, table in self.tables.items():
            server.load(table, getattr(self, name), self.half)
            server.register(table, table)

    def probabilities(self, head):
        """Return tempered probabilities, [queries][classes]."""
        log_p = head.log_probabilities(self.tau) / self.temper
        return np.exp(log_p - model.log_sum_exp(log_p)[:, None])


def score_labels(p, method):
    """Return the scores of all labels, [queries][classes]."""
    if method == "threshold":
        return 1 - p
    before = p[:, None, :] >= p[:, :, None]
    return np.where(before.all(axis=2), 1, np.minimum((before * p[:, None, :]).sum(axis=2), 1))


def truth_scores(scores, head):
    """Return the scores of the labelled queries' truths."""
    safe = np.maximum(head.truth, 0)
    own = np.where(head.truth < 0, 1, scores[np.arange(len(scores)), safe])
    return own[head.labelled]


def bounds(head, own, by_class, coverage):
    """Return the bound of each class."""
    truth = head.truth[head.labelled]
    if by_class:
        return np.array([bound(own[truth == c], coverage) for c in range(len(head.classes))])
    return np.full(len(head.classes), bound(own, coverage))


def check_sets(server, s, support_name, heads, method, by_class):
    """Check stored scores, the sets at some coverages, and their evaluation."""
    scored, tried = heads
    name = f"{s.kernel}, {support_name}, {method}{', by class' if by_class else ''}"
    found = server.row(f"SELECT * FROM nw_conformal('{support_name}', '{s.tables['scored']}', '{method}', "
                       f"by_class => {by_class})")
    seen = scored.truth[scored.labelled] >= 0
    equal(found["guarantee"], "by class" if by_class else "marginal", f"{name}: guarantee")
    equal((found["n"], found["unlabelled"], found["unseen"]),
          (int(seen.sum() if by_class else len(seen)), int((~scored.labelled).sum()), int((~seen).sum())),
          f"{name}: counts")
    own = truth_scores(score_labels(s.probabilities(scored), method), scored)
    stored = server.rows("SELECT class, scores FROM nw_reference_scores "
                         f"WHERE set = '{support_name}' AND current ORDER BY class COLLATE \"C\"")
    truth = scored.truth[scored.labelled]
    expected = ([(c, np.sort(own[truth == i])) for i, c in enumerate(scored.classes) if (truth == i).any()]
                if by_class else [(None, np.sort(own))])
    equal([r["class"] for r in stored], [c for c, _ in expected], f"{name}: classes")
    worst = max(np.abs(np.array(r["scores"]) - e).max() for r, (_, e) in zip(stored, expected))
    check(worst < 1e-9, f"{name}: scores", f"an error of {worst:g}")

    p = s.probabilities(tried)
    scores = score_labels(p, method)
    order = np.argsort(-p, axis=1, kind="stable")
    for coverage in COVERAGES:
        limit = bounds(scored, own, by_class, coverage)
        got = {r["id"]: r["labels"] for r in server.rows(
            f"SELECT id, nw_plausible(embedding, '{support_name}', {coverage}) AS labels FROM {s.tables['tried']}")}
        close = np.abs(scores - limit) < 1e-10
        close &= limit < 1
        wrong = []
        sizes, covered = [], 0
        for i, own_id in enumerate(tried.queries.id):
            labels = [tried.classes[c] for c in order[i] if scores[i, c] <= limit[c]]
            if labels != got[own_id] and not close[i].any():
                wrong.append((own_id, got[own_id], labels))
            if tried.labelled[i]:
                sizes.append(len(got[own_id]))
                covered += tried.queries.label[i] in got[own_id]
        check(not wrong, f"{name}, {coverage}: labels", *wrong[:5])
        check(close.any(axis=1).mean() < 0.1, f"{name}, {coverage}: few are too close to tell")
        row = server.row(f"SELECT * FROM nw_conformal_evaluate('{support_name}', '{s.tables['tried']}', {coverage})")
        equal((row["n"], row["covered"], row["empty"], row["all_classes"], row["scored_by"]),
              (len(sizes), covered, sizes.count(0), sizes.count(len(tried.classes)), method),
              f"{name}, {coverage}: evaluation")
        near(row["mean_size"], np.mean(sizes), f"{name}, {coverage}: mean_size")
        k = rank(len(own), coverage)
        if by_class or k > len(own):
            equal((row["low"], row["high"]), (None, None), f"{name}, {coverage}: no limits")
        else:
            law = betabinom(len(sizes), k, len(own) + 1 - k)
            near(row["low"], law.ppf(0.005) / len(sizes), f"{name}, {coverage}: low")
            near(row["high"], law.ppf(0.995) / len(sizes), f"{name}, {coverage}: high")
    return scores


def check_engines(server, s):
    """Check that neither an index nor a small cache shows, and what classes and exclude do."""
    calls = [f"nw_plausible(embedding, '{s.support_name}', 0.8)",
             f"nw_plausible(embedding, '{s.support_name}', 0.8, classes => ARRAY{s.classes[:2]})",
             f"nw_plausible(embedding, '{s.support_name}', 0.8, exclude => ARRAY['{s.support.id[0]}', '{s.support.id[1]}'])",
             f"nw_plausible(embedding, '{s.support_name}', 0.8, exclude => ARRAY(SELECT id FROM {s.table}), empty_ok => true)"]
    ask = [f"SELECT id, {call} AS labels FROM {s.tables['tried']} ORDER BY id" for call in calls]
    scores = f"SELECT scores FROM nw_reference_scores WHERE set = '{s.support_name}' AND kind = 'adaptive'"
    make = f"SELECT * FROM nw_conformal('{s.support_name}', '{s.tables['scored']}', 'adaptive')"
    server.row(make)
    before = server.value(scores)
    plain = [server.rows(q, "SET nwhead.engine = executor;") for q in ask]
    settings = [SMALL_CACHE, "SET nwhead.engine = executor;"]
    if not s.weighted:
        server.index(s.table, s.support.x.shape[1], s.half)
        settings.append("SET nwhead.engine = index;")
    for q, rows in zip(ask, plain):
        for setting in settings:
            equal(server.rows(q, setting), rows, f"{s.kernel}: {setting} {q}")
    for setting in settings:
        server.row(make, setting)
        equal(server.value(scores), before, f"{s.kernel}: {setting} scores, to the last digit")
    equal([[c for c in r["labels"] if c in s.classes[:2]] for r in plain[0]], [r["labels"] for r in plain[1]],
          f"{s.kernel}: classes picks from the plausible ones")
    check(all(r["labels"] is None for r in plain[3]), f"{s.kernel}: no support, no answer")


def check_own_rows(server, s):
    """Check scores of a set's own rows."""
    head = model.Head(s.support, s.support, s.kernel, leave_one_out=True)
    own = truth_scores(score_labels(s.probabilities(head), "threshold"), head)
    for arguments in (f"'{s.support_name}'", f"'{s.support_name}', '{s.support_name}'"):
        equal(server.row(f"SELECT n, guarantee FROM nw_conformal({arguments})"),
              {"n": len(own), "guarantee": "estimate"}, f"{s.kernel}: own rows")
        stored = server.row(f"SELECT scores FROM nw_reference_scores WHERE set = '{s.support_name}'")["scores"]
        check(np.abs(np.array(stored) - np.sort(own)).max() < 1e-9, f"{s.kernel}: scores of own rows")
    equal(server.row(f"SELECT guarantee FROM nw_conformal('{s.support_name}', '{s.support_name}', leave_one_out => false)"),
          {"guarantee": "none"}, f"{s.kernel}: own rows that support themselves")


def check_distilled(server, s):
    """Check sets of prototypes."""
    for mode in ("closest", "cluster"):
        server.run(f"SELECT nw_distill('{s.support_name}', 'few', '{mode}', k => 4, calibrate => false);")
        prototypes = server.rows("SELECT label, embedding::text AS x, weight FROM nw_prototypes WHERE set = 'few'")
        x = np.array([[float(v) for v in r["x"][1:-1].split(",")] for r in prototypes])
        few = model.Rows(range(len(prototypes)), data.rounded(x),
                         [r["label"] for r in prototypes], [r["weight"] for r in prototypes])
        heads = [model.Head(few, q, s.kernel) for q in (s.scored, s.tried)]
        check_sets(server, s, "few", heads, "threshold", False)
        equal(server.error("SELECT nw_conformal('few')"), "22023", "prototypes are no queries")
    equal(server.row(f"SELECT guarantee FROM nw_conformal('few', '{s.support_name}')"), {"guarantee": "none"},
          "rows that centroids were made of")


def check_coverage(server, rng):
    """Check the promise itself, over many draws."""
    classes = [str(c) for c in range(6)]
    centres = rng.normal(size=(6, 4))
    support = data.draw(rng, 200, 4, classes, 1.0, centres=centres)
    server.load("s", support)
    server.register("s", "s", tau=0.5)
    for method, coverage in (("threshold", 0.8), ("adaptive", 0.8)):
        outside, shares = 0, []
        for number in range(DRAWS):
            table = f"draw_{method}_{number}"
            rows = data.draw(rng, 59 + 300, 4, classes, 1.0, centres=centres, prefix="q")
            server.load(table, rows)
            server.run(f"""
                CREATE TABLE scored AS SELECT * FROM {table} WHERE id IN (SELECT id FROM {table} LIMIT 59);
                CREATE TABLE tried AS SELECT * FROM {table} WHERE id NOT IN (SELECT id FROM scored);
                SELECT nw_register('scored', 'scored'), nw_register('tried', 'tried');
                SELECT nw_conformal('s', 'scored', '{method}');""")
            row = server.row(f"SELECT * FROM nw_conformal_evaluate('s', 'tried', {coverage})")
            server.run("SELECT nw_unregister('scored'), nw_unregister('tried'); DROP TABLE scored, tried;")
            outside += not row["low"] <= row["covered_share"] <= row["high"]
            shares.append(row["covered_share"])
        spread = math.sqrt(coverage * (1 - coverage) * (1 / 61 + 1 / 300) / DRAWS)
        # of 40 draws at 1 in 100, 5 are outside with a probability of 5e-5
        check(outside <= 4, f"{method}: coverage within its limits", f"{outside} of {DRAWS} outside")
        check(np.mean(shares) > coverage - 4 * spread, f"{method}: coverage", f"{np.mean(shares)}")
        if method == "threshold":
            check(np.mean(shares) < coverage + 4 * spread, f"{method}: no more than that", f"{np.mean(shares)}")


def check_regression(server, rng):
    """Check predicted numbers, their evaluation and intervals."""
    for number, kernel in enumerate(model.KERNELS):
        x = data.rounded(rng.normal(size=(400, 3)))
        y = np.round(100 + 5 * x[:, 0] - 3 * np.abs(x[:, 1]) + rng.normal(size=400), 1)
        weighted = number % 2 == 1
        weight = np.round(rng.uniform(0.1, 2, 400), 2) if weighted else np.ones(400)
        label = [f"{v:.1f}" for v in y]
        rows = model.Rows(range(400), x, label, weight)
        names = [f"r{number}", f"rq{number}", f"rt{number}"]
        parts = [rows.take(range(200)), rows.take(range(200, 300)), rows.take(range(300, 400))]
        for name, part in zip(names, parts):
            server.load(name, part)
        tau = 0.3 if kernel != "dot" else 0.7
        server.register(names[0], names[0], kernel=kernel, tau=tau, temper=3, weight="weight" if weighted else None)
        for name in names[1:]:
            server.register(name, name)

        def predict(queries, leave_one_out=False):
            head = model.Head(parts[0], queries, kernel, leave_one_out)
            share = np.exp(head.terms(tau) - model.log_sum_exp(head.terms(tau))[:, None])
            number = np.array([float(v) for v in head.support.label])
            mean = share @ number
            return mean, (share * (number - mean[:, None]) ** 2).sum(axis=1), \
                np.array([float(v) for v in queries.label])

        for queries, part, loo in ((names[2], parts[2], False), (names[0], parts[0], True)):
            mean, _, truth = predict(part, loo)
            row = server.row(f"SELECT * FROM nw_evaluate_regression('{names[0]}', '{queries}')")
            error = mean - truth
            equal((row["n"], row["unlabelled"]), (len(truth), 0), f"{kernel}: counts")
            near(row["rmse"], math.sqrt((error ** 2).mean()), f"{kernel}: rmse")
            near(row["mae"], np.abs(error).mean(), f"{kernel}: mae")
            near(row["bias"], error.mean(), f"{kernel}: bias")
            near(row["r2"], 1 - (error ** 2).sum() / ((truth - truth.mean()) ** 2).sum(), f"{kernel}: r2")
            query = f"SELECT * FROM nw_evaluate_regression('{names[0]}', '{queries}')"
            equal(server.row(query, SMALL_CACHE), row, f"{kernel}: streamed, to the last digit")
        equal(server.error(f"SELECT nw_regress_interval('[0,0,0]', '{names[0]}')"), "55000", f"{kernel}: no scores")
        server.run(f"SELECT nw_conformal('{names[0]}', '{names[1]}', 'residual');")
        mean, _, truth = predict(parts[1])
        residual = np.abs(mean - truth)
        mean, variance, truth = predict(parts[2])
        if not weighted:
            server.index(names[0], 3)
        for coverage in ("0.5", "0.9", "0.995"):
            query = (f"SELECT q.id, i.* FROM {names[2]} AS q, "
                     f"nw_regress_interval(embedding, '{names[0]}', {coverage}) AS i ORDER BY q.id::int")
            got = server.rows(query, "SET nwhead.engine = executor;")
            for setting in (SMALL_CACHE, "" if weighted else "SET nwhead.engine = index;"):
                equal(server.rows(query, setting), got, f"{kernel}: {setting} to the last digit")
            radius = bound(residual, coverage)
            for column, expected in (("mean", mean), ("variance", variance), ("low", mean - radius),
                                     ("high", mean + radius)):
                values = np.array([float(r[column]) for r in got])
                good = (np.array_equal(values, expected) if np.isinf(expected).any()
                        else np.abs(values - expected).max() < 1e-9)
                check(good, f"{kernel}, {coverage}: {column}")
        got = server.rows(f"SELECT i.*, nw_regress(embedding, '{names[0]}') AS again FROM {names[2]}, "
                          f"nw_regress_interval(embedding, '{names[0]}', NULL) AS i")
        check(all(r["low"] is None and r["high"] is None and r["mean"] == r["again"] for r in got),
              f"{kernel}: no coverage, no interval")


def check_trained(server):
    """Measure which rows keep the promise where a network was trained on the support.

    Only what is proved is checked: the coverage by rows kept apart.  The figures by the
    network's own rows are printed, for docs/results.md, whatever they are.
    """
    rows = data.fashion(6000)
    if rows is None:
        print("conformal: no Fashion-MNIST here, skipped", flush=True)
        return
    rows.x /= 255
    names = ("train", "valid", "scored", "tried")
    parts = [rows.take(range(*part)) for part in ((0, 2000), (2000, 2500), (2500, 3500), (3500, 6000))]
    network = MLPClassifier((128,), max_iter=80, random_state=0, alpha=0, tol=0, n_iter_no_change=80)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network.fit(parts[0].x, parts[0].label)
    for layer in ("hidden", "output"):
        for name, part in zip(names, parts):
            x = np.maximum(part.x @ network.coefs_[0] + network.intercepts_[0], 0)
            if layer == "output":
                x = x @ network.coefs_[1] + network.intercepts_[1]
            table = f"{layer}_{name}"
            server.load(table, model.Rows(part.id, data.rounded(x), part.label))
            server.register(table, table)
        support, tried = f"{layer}_train", f"{layer}_tried"
        server.run(f"SELECT nw_calibrate('{support}', '{layer}_valid');")
        error = server.row(f"SELECT error_rate FROM nw_evaluate('{support}', '{tried}')")["error_rate"]
        for queries in (f"'{layer}_scored'", "NULL"):
            for method in ("threshold", "adaptive"):
                found = server.row(f"SELECT guarantee FROM nw_conformal('{support}', {queries}, '{method}')")
                row = server.row(f"SELECT * FROM nw_conformal_evaluate('{support}', '{tried}', 0.9)")
                print(f"conformal: {layer} layer (error {error:.4f}), {found['guarantee']}, {method}: "
                      f"covered {row['covered_share']:.4f} of {row['n']}, size {row['mean_size']:.2f}, "
                      f"empty {row['empty']}, limits {row['low']:.3f} to {row['high']:.3f}", flush=True)
                if queries == "NULL":
                    equal(found["guarantee"], "estimate", f"{layer}, {method}: nothing is promised")
                else:
                    check(row["low"] <= row["covered_share"] <= row["high"],
                          f"{layer}, {method}: rows kept apart", row)


def run(server):
    """Check label sets over kernels, weights, tempers and types; then numbers."""
    rng = np.random.default_rng(SEED)
    for number in range(6):
        s = Setup(rng, number)
        s.load(server)
        heads = [model.Head(s.support, q, s.kernel) for q in (s.scored, s.tried)]
        for method in ("threshold", "adaptive"):
            for by_class in (False, True):
                check_sets(server, s, s.support_name, heads, method, by_class)
        check_engines(server, s)
        check_own_rows(server, s)
        if number in (0, 3):
            check_distilled(server, s)
    check_coverage(server, rng)
    check_regression(server, rng)
    check_trained(server)
