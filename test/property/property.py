"""Compare random predictions with an independent computation in float64.

A case is one query to one random support; all functions must agree with NumPy
about it.  The support is read once by streaming and once packed in the
statement cache, and the two must agree to the last digit.
"""

import json
import math
import subprocess
import sys

import numpy as np

SEED = int(sys.argv[1]) if len(sys.argv) > 1 else 20240229
SUPPORTS = 130
QUERIES = 5  # for each support
ELEMENTS = 12000  # of a support, about
LARGE = (20, 60, 100)  # supports of the largest dimension
MAX_DIM = 16000
KERNELS = ("euclidean", "gaussian", "hypersphere", "cosine", "dot")
TEXT_LABELS = ("a", "B", "cc", "ä", "z z", "", "A", "b", "quo'te", "{x}", "10", "9")


# ------------------------------------------------------------ random cases

def random_label_pool(rng, numeric):
    """Choose the classes of a support."""
    n = int(rng.integers(1, 9))
    if numeric:
        return [str(x) for x in rng.choice(np.arange(-50, 50) / 4, n, replace=False)]
    return [str(x) for x in rng.choice(TEXT_LABELS, n, replace=False)]


def random_vectors(rng, style, n, dim, half):
    """Make vectors that the server's type holds exactly."""
    if style == "integer":
        x = rng.integers(-3, 4, (n, dim)).astype(np.float64)
    elif style == "unit":
        x = rng.normal(size=(n, dim))
        x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-30)
    else:
        x = rng.normal(size=(n, dim)) * 10 ** rng.uniform(-2, 2)
    if rng.random() < 0.2:
        x[rng.integers(0, n)] = 0
    if n > 2 and rng.random() < 0.3:
        x[rng.integers(0, n)] = x[0]
    return x.astype(np.float16 if half else np.float32).astype(np.float64)


class Support:
    """A random support with its queries."""

    def __init__(self, rng, number):
        large = number in LARGE
        self.name = f"set {number}"
        self.table = f"property_{number}"
        self.kernel = KERNELS[number % len(KERNELS)]
        self.tau = 10 ** rng.uniform(-3, 3)
        self.half = bool(rng.random() < 0.3)
        self.numeric = bool(rng.random() < 0.5)
        self.weighted = bool(rng.random() < 0.25)
        self.style = str(rng.choice(["normal", "unit", "integer"]))
        self.dim = MAX_DIM if large else int(round(10 ** rng.uniform(0, math.log10(2000))))
        self.query_type = str(rng.choice(["vector", "halfvec", "text"]))
        n = int(rng.integers(2, max(3, min(600, ELEMENTS // self.dim) + 1)))
        self.n = min(n, 5) if large else n
        pool = random_label_pool(rng, self.numeric)
        self.x = random_vectors(rng, self.style, self.n, self.dim, self.half)
        self.label = np.array([str(v) for v in rng.choice(pool, self.n)], dtype=object)
        if self.style == "integer" and len(pool) > 1:
            # mirrored rows under two labels: exact ties from the origin
            self.x = np.concatenate([self.x, -self.x])
            self.label = np.concatenate([np.full(self.n, pool[0], dtype=object),
                                         np.full(self.n, pool[1], dtype=object)])
            self.n *= 2
        self.weight = np.ones(self.n)
        if self.weighted:
            self.weight = np.round(rng.uniform(0, 5, self.n), 3) * (rng.random(self.n) > 0.1)
            self.weight[0] = 1
        self.id = np.array([str(v) for v in rng.permutation(self.n * 3)[:self.n]], dtype=object)
        self.no_vector = rng.random(self.n) < 0.05
        self.no_label = rng.random(self.n) < 0.05
        self.no_vector[0] = self.no_label[0] = False
        self.queries = [Query(rng, self, i) for i in range(QUERIES)]

    def usable(self):
        """Tell which rows can support a prediction."""
        return ~self.no_vector & ~self.no_label & (self.weight > 0)


class Query:
    """A random query with its arguments."""

    def __init__(self, rng, support, number):
        half = support.half or support.query_type == "halfvec"
        self.x = random_vectors(rng, support.style, 1, support.dim, half)[0]
        if number == 0:
            self.x = np.zeros(support.dim)
        elif number == 1:
            self.x = support.x[rng.integers(0, support.n)]
            if half:
                self.x = self.x.astype(np.float16).astype(np.float64)
        self.top = None if rng.random() < 0.6 else int(rng.integers(1, support.n + 3))
        self.min_confidence = float(np.round(rng.random(), 3))

        kept = support.usable()
        self.exclude = None
        if rng.random() < 0.4:
            out = rng.random(support.n) < 0.3
            if (kept & ~out).any():
                self.exclude = list(support.id[out]) + ["no such id"]
                kept &= ~out
        self.classes = None
        left = sorted(set(support.label[kept]))
        if rng.random() < 0.4:
            self.classes = [str(c) for c in rng.choice(left, int(rng.integers(1, len(left) + 1)),
                                                       replace=False)]


# ------------------------------------------------------------ the server's answers

def vector_text(x):
    """Write a vector without losing a bit of its float."""
    return "[" + ",".join("%.9g" % v for v in x) + "]"


def copy_field(value):
    """Write a field for COPY."""
    if value is None:
        return "\\N"
    return str(value).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def array_text(values):
    """Write a text array, or None."""
    if values is None:
        return None
    quoted = [v.replace("\\", "\\\\").replace('"', '\\"') for v in values]
    return "{" + ",".join(f'"{v}"' for v in quoted) + "}"


def statement(support):
    """Write the statement that answers all queries of a support."""
    query = {"vector": "q.e", "halfvec": "q.e::halfvec", "text": "q.e::text"}[support.query_type]
    name = f"'{support.name}'"
    power = " ^ 2" if support.kernel == "gaussian" else ""
    regress = f"nw_regress({query}, {name}, q.exclude)" if support.numeric else "NULL"
    return f"""COPY (SELECT json_build_object(
        'predict', nw_predict({query}, {name}, q.classes, q.exclude),
        'confident', nw_predict({query}, {name}, q.classes, q.exclude, q.min_confidence),
        'classify', (SELECT to_json(c) FROM nw_classify({query}, {name}, q.classes, q.exclude) AS c),
        'proba', (SELECT json_agg(p) FROM nw_predict_proba({query}, {name}, q.classes, q.exclude) AS p),
        'weights', (SELECT json_agg(w) FROM nw_weights({query}, {name}, NULL, q.classes, q.exclude) AS w),
        'heaviest', (SELECT json_agg(w) FROM nw_weights({query}, {name}, q.top, q.classes, q.exclude) AS w),
        'vote', (SELECT nw_vote(w.label, w.distance{power}, {support.tau!r})
                   FROM nw_weights({query}, {name}, NULL, q.classes, q.exclude) AS w),
        'argmax', (SELECT nw_argmax(w.label, w.distance{power}, {support.tau!r})
                     FROM nw_weights({query}, {name}, NULL, q.classes, q.exclude) AS w),
        'regress', {regress})
      FROM property_queries AS q WHERE q.support = {name} ORDER BY q.number) TO STDOUT;
"""


def script(supports):
    """Write the whole session."""
    yield "SET client_min_messages = warning;\n"
    yield "CREATE EXTENSION IF NOT EXISTS nwhead CASCADE;\n"
    yield ("CREATE TABLE property_queries (support text, number int, e vector, classes text[],"
           " exclude text[], top int, min_confidence float8);\n")
    yield "COPY property_queries FROM STDIN;\n"
    for s in supports:
        for i, q in enumerate(s.queries):
            fields = (s.name, i, vector_text(q.x), array_text(q.classes), array_text(q.exclude),
                      q.top, q.min_confidence)
            yield "\t".join(copy_field(f) for f in fields) + "\n"
    yield "\\.\n"
    for s in supports:
        kind = "halfvec" if s.half else "vector"
        declared = f"({s.dim})" if s.dim % 2 else ""
        yield (f"CREATE TABLE {s.table} (id int, embedding {kind}{declared}, label text,"
               " weight float8);\n")
        yield f"COPY {s.table} FROM STDIN;\n"
        for i in range(s.n):
            fields = (s.id[i], None if s.no_vector[i] else vector_text(s.x[i]),
                      None if s.no_label[i] else s.label[i], s.weight[i])
            yield "\t".join(copy_field(f) for f in fields) + "\n"
        yield "\\.\n"
        weight = ", weight => 'weight'" if s.weighted else ""
        yield (f"SELECT nw_register('{s.name}', '{s.table}', kernel => '{s.kernel}',"
               f" tau => {s.tau!r}{weight}) \\g /dev/null\n")
        yield "RESET nwhead.statement_cache;\n" + statement(s)
        yield "SET nwhead.statement_cache = 0;\n" + statement(s)


def ask(supports):
    """Run the session; return the answers, packed and streamed, case by case."""
    done = subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-f", "-"],
                          input="".join(script(supports)), encoding="utf-8",
                          stdout=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit("the session failed")
    # COPY writes json_agg's line ends as \\n
    lines = [line.replace("\\n", " ") for line in done.stdout.splitlines()]
    if len(lines) != 2 * QUERIES * len(supports):
        sys.exit(f"the session returned {len(lines)} lines")
    for i in range(0, len(lines), 2 * QUERIES):
        for j in range(QUERIES):
            yield lines[i + j], lines[i + QUERIES + j]


# ------------------------------------------------------------ the same, computed here

def unit(x):
    """Scale vectors to length 1; zero stays zero."""
    norm = np.linalg.norm(x, axis=-1, keepdims=True)
    return np.divide(x, norm, out=np.zeros_like(x), where=norm > 0)


def measure(kernel, q, x):
    """Return the distances shown to users, and the scores times tau."""
    if kernel in ("hypersphere", "cosine"):
        q, x = unit(q), unit(x)
    if kernel in ("cosine", "dot"):
        product = x @ q
        return (1 - product if kernel == "cosine" else -product), product
    square = ((x - q) ** 2).sum(axis=1)
    return np.sqrt(square), (-square if kernel == "gaussian" else -np.sqrt(square))


def softmax(score):
    """Normalise exponentials."""
    e = np.exp(score - score.max())
    return e / e.sum()


class Expected:
    """What the functions should return for a query."""

    def __init__(self, s, q):
        every = s.usable()
        if q.exclude is not None:
            every &= ~np.isin(s.id, q.exclude)
        self.mean = self.regress(s, q, every)
        kept = every.copy()
        if q.classes is not None:
            kept &= np.isin(s.label, q.classes)
        self.ids = s.id[kept]
        self.labels = s.label[kept]
        distance, score = measure(s.kernel, q.x, s.x[kept])
        self.distance = dict(zip(self.ids, distance))
        weight = softmax(score / s.tau + np.log(s.weight[kept]))
        self.weight = dict(zip(self.ids, weight))
        self.label = dict(zip(self.ids, self.labels))
        self.mass = {c: float(weight[self.labels == c].sum()) for c in set(self.labels)}
        self.terms = {c: tuple(np.sort(distance[self.labels == c])) for c in self.mass}
        # absolute error allowed beside the relative one, where terms cancel
        scale = 1.0 if s.kernel in ("hypersphere", "cosine") else 0.0
        if s.kernel == "dot":
            scale = float((np.abs(s.x[kept]) @ np.abs(q.x)).max())
        self.slack = 1e-9 * scale

    @staticmethod
    def regress(s, q, rows):
        """Return the weighted mean of the labels, over all classes."""
        if not s.numeric:
            return None
        _, score = measure(s.kernel, q.x, s.x[rows])
        weight = softmax(score / s.tau + np.log(s.weight[rows]))
        return float(weight @ s.label[rows].astype(np.float64))


def key(text):
    """Order texts as the server orders labels: by their bytes."""
    return text.encode("utf-8")


def check_weights(s, e, rows, problems):
    """Check the list of all supports."""
    if sorted(r["support_id"] for r in rows) != sorted(e.ids):
        problems.append("weights: other supports")
        return
    for r in rows:
        i = r["support_id"]
        if r["label"] != e.label[i]:
            problems.append(f"weights: label of {i}")
        if abs(r["distance"] - e.distance[i]) > 1e-6 * abs(e.distance[i]) + e.slack:
            problems.append(f"weights: distance {r['distance']!r}, not {e.distance[i]!r}")
        if abs(r["weight"] - e.weight[i]) > 1e-5:
            problems.append(f"weights: weight {r['weight']!r}, not {e.weight[i]!r}")
    if abs(math.fsum(r["weight"] for r in rows) - 1) > 1e-9:
        problems.append("weights: do not add up to 1")
    for a, b in zip(rows, rows[1:]):
        if a["weight"] < b["weight"]:
            problems.append("weights: not in order")
        # cosines may differ where the distances shown are equal
        if (s.kernel != "cosine" and a["weight"] == b["weight"] > 0 and
                a["distance"] == b["distance"] and
                (key(a["label"]), key(a["support_id"])) > (key(b["label"]), key(b["support_id"]))):
            problems.append("weights: equals not by label and id")


def check_classes(e, answer, problems):
    """Check the functions that return classes."""
    rows = answer["proba"]
    if sorted(r["label"] for r in rows) != sorted(e.mass):
        problems.append("proba: other classes")
        return
    for r in rows:
        if abs(r["probability"] - e.mass[r["label"]]) > 1e-5:
            problems.append(f"proba: {r['probability']!r}, not {e.mass[r['label']]!r}")
    if abs(math.fsum(r["probability"] for r in rows) - 1) > 1e-9:
        problems.append("proba: do not add up to 1")
    for a, b in zip(rows, rows[1:]):
        if a["probability"] < b["probability"]:
            problems.append("proba: not in order")
    best = max(e.mass.values())
    if e.mass[answer["predict"]] < best - 1e-9:
        problems.append("predict: another class is more probable")
    if answer["predict"] != rows[0]["label"] or answer["classify"]["label"] != rows[0]["label"]:
        problems.append("predict, classify and proba differ")
    if answer["classify"]["confidence"] != rows[0]["probability"]:
        problems.append("classify: another confidence than proba's")


def check_ties(s, q, e, answer, problems):
    """Check that exact ties go to the bytewise smallest label."""
    if s.style != "integer" or s.kernel not in ("euclidean", "gaussian") or s.weighted:
        return
    tied = [c for c, terms in e.terms.items() if terms == e.terms[answer["predict"]]]
    if answer["predict"] != min(tied, key=key):
        problems.append(f"predict: {answer['predict']!r} of the tied {sorted(tied)}")


def check_vote(s, e, answer, problems):
    """Check the aggregates, which know nothing of row weights."""
    if s.weighted:
        return
    for label, probability in answer["vote"].items():
        if abs(probability - e.mass[label]) > 1e-5:
            problems.append(f"vote: {probability!r}, not {e.mass[label]!r}")
    if len(answer["vote"]) != len(e.mass):
        problems.append("vote: other classes")
    if e.mass[answer["argmax"]] < max(e.mass.values()) - 1e-9:
        problems.append("argmax: another class is more probable")


def check(s, q, packed, streamed):
    """Return what is wrong with the answers to a query."""
    problems = []
    if packed != streamed:
        problems.append("packed and streamed supports give different digits")
    answer = json.loads(packed)
    e = Expected(s, q)
    check_weights(s, e, answer["weights"], problems)
    if answer["heaviest"] != answer["weights"][:q.top]:
        problems.append("weights: the first are not the beginning of all")
    check_classes(e, answer, problems)
    check_ties(s, q, e, answer, problems)
    check_vote(s, e, answer, problems)
    sure = answer["classify"]["confidence"] >= q.min_confidence
    if answer["confident"] != (answer["predict"] if sure else None):
        problems.append("predict: abstains wrongly")
    if e.mean is not None:
        size = max(1.0, float(np.abs(s.label[s.usable()].astype(np.float64)).max()))
        if abs(answer["regress"] - e.mean) > 1e-5 * size:
            problems.append(f"regress: {answer['regress']!r}, not {e.mean!r}")
    return problems


def main():
    """Run all cases and count."""
    print(f"seed {SEED}")
    rng = np.random.default_rng(SEED)
    supports = [Support(rng, i) for i in range(SUPPORTS)]
    cases = [(s, i) for s in supports for i in range(QUERIES)]
    passed = failed = 0
    for (s, i), (packed, streamed) in zip(cases, ask(supports)):
        problems = check(s, s.queries[i], packed, streamed)
        if not problems:
            passed += 1
            continue
        failed += 1
        print(f"{s.name}, query {i} ({s.kernel}, tau {s.tau:g}, {s.n} rows, {s.dim} dimensions,"
              f" {s.style}{', halfvec' if s.half else ''}{', weighted' if s.weighted else ''}):")
        for problem in problems[:5]:
            print(f"  {problem}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
