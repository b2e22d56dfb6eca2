"""Mixtures: the average of what the members say."""

import math

import numpy as np
from sklearn.linear_model import LogisticRegression

import data
import model
from case import check, equal, near
from server import vector_text

SEED = 61
CASES = 30


class Member:
    """A set of a mixture, in NumPy."""

    def __init__(self, name, rows, kernel, tau, temper=1.0, share=1.0, weighted=False):
        self.name, self.rows, self.kernel = name, rows, kernel
        self.tau, self.temper, self.share = tau, temper, share
        self.weighted = weighted

    def load(self, server, half=False):
        """Create and register it."""
        server.load(self.name, self.rows, half)
        options = {"weight": "weight"} if self.weighted else {}
        server.register(self.name, self.name, kernel=self.kernel, tau=self.tau, temper=self.temper,
                        **options)

    def answers(self, queries, leave_one_out=False, tempered=True):
        """Return the probabilities of each query, by label; {} where nothing is left."""
        head = model.Head(self.rows, queries, self.kernel, leave_one_out)
        mass = head.log_masses(self.tau)
        result = []
        for row in mass:
            if np.isneginf(row).all():
                result.append({})
                continue
            log_p = (row - row.max()) / (self.temper if tempered else 1)
            p = np.exp(log_p - model.log_sum_exp(log_p[None, :])[0])
            result.append({c: v for c, v, m in zip(head.classes, p, row) if m > -np.inf})
        return result


def mix(members, queries, temper=1.0, leave_one_out=(), tempered=True):
    """Return the probabilities of each query under a mixture, by label."""
    answers = [m.answers(queries, m.name in leave_one_out, tempered) for m in members]
    result = []
    for i in range(len(queries.id)):
        present = [(m.share, a[i]) for m, a in zip(members, answers) if a[i]]
        whole = sum(share for share, _ in present)
        p = {}
        for share, answer in present:
            for label, value in answer.items():
                p[label] = p.get(label, 0.0) + share / whole * value
        power = {c: v ** (1 / temper) for c, v in p.items()}
        total = sum(power.values())
        result.append({c: v / total for c, v in power.items()})
    return result


def register(server, name, members, temper):
    """Register a mixture."""
    sets = ",".join(m.name for m in members)
    shares = ",".join(repr(m.share) for m in members)
    server.run(f"SELECT nw_register_mixture('{name}', '{{{sets}}}', '{{{shares}}}', temper => {temper!r});")


def draw(rng, number):
    """Draw the members of a mixture."""
    dim = int(rng.integers(1, 9))
    members = []
    for place in range(int(rng.integers(1, 5))):
        kernel = model.KERNELS[(number + place) % 5]
        first = int(rng.integers(0, 4))
        classes = [f"c{c}" for c in range(first, first + int(rng.integers(1, 4)))]
        n = int(rng.integers(2, 40))
        rows = data.draw(rng, n, dim, classes, 0.8)
        weighted = rng.random() < 0.3
        if weighted:
            rows.weight = np.round(rng.uniform(0.01, 5, n), 3)
        spread = float(np.ptp(model.scores(kernel, rows.x[:1], rows.x))) or 1.0
        members.append(Member(f"m{number}_{place}", rows, kernel, spread * 10 ** rng.uniform(-1, 1),
                              float(rng.choice([1.0, 0.5, 2.0])), float(np.round(10 ** rng.uniform(-2, 2), 4)),
                              weighted))
    return members, dim


def check_random(server, rng):
    """Check probabilities, whole sets and influences of random mixtures."""
    for number in range(CASES):
        members, dim = draw(rng, number)
        temper = float(rng.choice([1.0, 0.4, 3.0]))
        name = f"mix {number}"
        for m in members:
            m.load(server)
        register(server, name, members, temper)
        labels = [f"c{c}" for c in range(8)]
        queries = data.draw(rng, 12, dim, labels, 1.0, prefix="q")
        server.load(f"q{number}", queries)
        server.register(f"q{number}", f"q{number}")
        expected = mix(members, queries, temper)

        got = [{} for _ in queries.id]
        for r in server.rows(f"SELECT q.id, p.label, p.probability FROM q{number} AS q,"
                             f" nw_predict_proba(q.embedding, '{name}') AS p"):
            got[queries.id.index(r["id"])][r["label"]] = r["probability"]
        wrong = [(g, e) for g, e in zip(got, expected)
                 if set(g) != set(e) or max(abs(g[c] - e[c]) for c in e) > 1e-11]
        check(not wrong, f"{name}: probabilities", *wrong[:2])

        losses = []
        for r in server.rows(f"SELECT * FROM nw_predict_set('{name}', 'q{number}', leave_one_out => false)"):
            p = expected[queries.id.index(r["query_id"])]
            truth = p.get(r["truth"], 0.0)
            loss = -math.log(truth) if truth > 0 else math.inf
            losses.append(loss)
            near(r["confidence"], max(p.values()), f"{name}: confidence", 1e-11)
            near(r["truth_probability"], truth, f"{name}: probability of the truth", 1e-11)
            near(float(r["loss"]), loss, f"{name}: loss", 1e-9)
            near(p[r["label"]], max(p.values()), f"{name}: label", 1e-11)
        finite = [v for v in losses if math.isfinite(v)]
        row = server.row(f"SELECT * FROM nw_evaluate('{name}', 'q{number}', leave_one_out => false)")
        equal((row["n"], row["unseen"], row["tau"]), (12, 12 - len(finite), None), f"{name}: counts")
        near(row["nll"], np.mean(finite) if finite else None, f"{name}: nll")
        check_influence(server, name, members, queries)


def check_influence(server, name, members, queries):
    """Check each support of one query by removing it."""
    query = queries.take([0])
    truth = members[0].rows.label[0]
    before = mix(members, query, tempered=False)[0][truth]
    rows = server.rows(f"SELECT * FROM nw_influence('{vector_text(query.x[0])}', '{truth}', '{name}', top => NULL)")
    equal(len(rows), sum(len(m.rows.supports().id) for m in members), f"{name}: every support once")
    wrong = []
    for r in rows:
        less = []
        for m in members:
            keep = [i for i, own in enumerate(m.rows.id) if (m.name, own) != (r["member"], r["support_id"])]
            less.append(Member(m.name, m.rows.take(keep), m.kernel, m.tau, share=m.share))
        less = [m for m in less if len(m.rows.id) > 0]
        after = mix(less, query)[0].get(truth, 0.0) if less else 0.0
        expected = math.log(before / after) if after > 0 else math.inf
        value = float(r["influence"])
        if value != expected and not abs(value - expected) <= 1e-9 * max(1, abs(expected)):
            wrong.append((r, expected))
    check(not wrong, f"{name}: influences as removing the row", *wrong[:3])
    for effect in ("helpful", "harmful"):
        size = [abs(float(r["influence"])) for r in rows if r["effect"] == effect]
        check(size == sorted(size, reverse=True), f"{name}: the most {effect} first")


def check_own_rows(server, rng):
    """Check queries that are rows of one member, which alone leaves them out."""
    classes = ["a", "b", "c"]
    members = [Member("own_1", data.draw(rng, 30, 4, classes, 1.0), "euclidean", 0.7, share=2.0),
               Member("own_2", data.draw(rng, 20, 4, classes, 1.0, prefix="x"), "gaussian", 3.0)]
    for m in members:
        m.load(server)
    register(server, "own", members, 1.0)
    expected = mix(members, members[0].rows, leave_one_out=("own_1",))
    for r in server.rows("SELECT * FROM nw_predict_set('own', 'own_1')"):
        p = expected[members[0].rows.id.index(r["query_id"])]
        near(r["confidence"], max(p.values()), "own rows: confidence", 1e-11)
        near(r["truth_probability"], p[r["truth"]], "own rows: probability of the truth", 1e-11)


def check_layer(server, rng):
    """Check that a linear layer is a set whose prediction is the softmax of its outputs."""
    classes = ["a", "b", "c", "d", "e"]
    w = data.rounded(rng.normal(size=(5, 6)))
    bias = rng.normal(size=5)
    rows = model.Rows(classes, w, classes, np.exp(bias))
    Member("layer", rows, "dot", 1.0, weighted=True).load(server)
    for _ in range(10):
        x = data.rounded(rng.normal(size=6) * 3)
        z = w @ x + bias
        softmax = np.exp(z - model.log_sum_exp(z[None, :])[0])
        for r in server.rows(f"SELECT * FROM nw_predict_proba('{vector_text(x)}', 'layer')"):
            near(r["probability"], softmax[classes.index(r["label"])], "layer: softmax", 1e-12)


def check_fashion(server):
    """Mix rows with a layer that was fitted to them, on pictures; says the figures."""
    rows, queries = data.fashion(3000), data.fashion(2000, 3000)
    if rows is None:
        return
    rows.x, queries.x = data.rounded(rows.x / 255), data.rounded(queries.x / 255)
    fit = LogisticRegression(C=0.1, max_iter=1000).fit(rows.x, rows.label)
    layer = model.Rows(fit.classes_, data.rounded(fit.coef_), fit.classes_, np.exp(fit.intercept_))
    members = [Member("pictures", rows, "euclidean", 0.1, share=1.0),
               Member("fitted", layer, "dot", 1.0, share=1.0, weighted=True)]
    for m in members:
        m.load(server)
    server.load("new_pictures", queries)
    server.register("new_pictures", "new_pictures")
    server.run("SELECT nw_calibrate('pictures');")
    members[0].tau = float(server.value("SELECT tau FROM nw_sets WHERE name = 'pictures'"))
    members[0].temper = float(server.value("SELECT temper FROM nw_sets WHERE name = 'pictures'"))
    register(server, "mixed_pictures", members, 1.0)
    expected = mix(members, queries)
    wrong = sum(max(p, key=p.get) != c for p, c in zip(expected, queries.label))
    nll = np.mean([-math.log(p[c]) for p, c in zip(expected, queries.label)])
    for name in ("pictures", "fitted", "mixed_pictures"):
        got = server.row(f"SELECT * FROM nw_evaluate('{name}', 'new_pictures', leave_one_out => false)")
        print(f"  {name}: error {got['error_rate']:.4f}, nll {got['nll']:.4f}, ece {got['ece']:.4f}")
    near(got["error_rate"], wrong / len(queries.id), "pictures: error of the mixture", 1e-12)
    near(got["nll"], nll, "pictures: loss of the mixture", 1e-8)


def run(server):
    """Check mixtures."""
    rng = np.random.default_rng(SEED)
    check_layer(server, rng)
    check_random(server, rng)
    check_own_rows(server, rng)
    check_fashion(server)
