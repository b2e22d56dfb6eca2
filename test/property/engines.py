"""Compare the two engines on random sets: they must agree to the last digit.

A case is one query to one random set, whose table was filled, indexed, changed
and vacuumed in a random way.  Every function is asked through the nw index and
through the executor; the texts of the answers, or of the errors, must be equal.
"""

import subprocess
import sys

import numpy as np

SEED = int(sys.argv[1]) if len(sys.argv) > 1 else 20240229
SETS = 150
QUERIES = 3  # for each set
ELEMENTS = 150000  # of a set, at the most
KERNELS = ("euclidean", "gaussian", "hypersphere", "cosine", "dot")
STYLES = ("clustered", "clustered", "normal", "unit", "integer", "cross", "few", "huge", "tiny", "sparse")

HELPERS = r"""
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS nwhead CASCADE;
CREATE FUNCTION engine_ask(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    EXECUTE 'SELECT string_agg(r::text, E''\n'') FROM (SELECT * FROM ' || call || ') AS r' INTO answer;
    RETURN answer;
EXCEPTION WHEN no_data_found OR object_not_in_prerequisite_state OR data_exception OR program_limit_exceeded THEN
    RETURN SQLSTATE || ' ' || SQLERRM;
END
$$;
-- what differs between the engines, and which engine the index is
CREATE FUNCTION engine_compare(s text, q text, classes text[], top int, truth text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    call text;
    executor text;
    index text;
    differing text := '';
    engine text := 'error';
BEGIN
    FOREACH call IN ARRAY ARRAY['nw_predict(%2$s, %1$L, %3$L)', 'nw_classify(%2$s, %1$L, %3$L)',
        'nw_predict_proba(%2$s, %1$L, %3$L)', 'nw_weights(%2$s, %1$L, %4$s, %3$L)', 'nw_influence(%2$s, %5$L, %1$L, %4$s, %3$L)'] LOOP
        call := format(call, s, q, classes, top, truth);
        PERFORM set_config('nwhead.engine', 'executor', true);
        executor := engine_ask(call);
        PERFORM set_config('nwhead.engine', 'index', true);
        index := engine_ask(call);
        IF executor IS DISTINCT FROM index THEN
            differing := differing || format(' %s: executor %s, index %s;', left(call, 20), left(executor, 300), left(index, 300));
        END IF;
    END LOOP;
    BEGIN
        EXECUTE format('SELECT engine FROM nw_index_work(%2$s, %1$L, %3$L)', s, q, classes) INTO engine;
    EXCEPTION WHEN no_data_found OR object_not_in_prerequisite_state THEN
        NULL;
    END;
    RETURN engine || replace(differing, E'\n', ' ');
END
$$;
SET nwhead.statement_cache = 0;
"""


def random_vectors(rng, style, n, dim, classes, label):
    """Make n vectors of a style; those of a class may be near each other."""
    if style == "clustered":
        centre = rng.normal(size=(classes, dim)) * rng.uniform(0.5, 4)
        return centre[label] + rng.normal(size=(n, dim))
    if style == "unit":
        x = rng.normal(size=(classes, dim))[label] + rng.normal(size=(n, dim))
        return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-30)
    if style == "integer":
        return rng.integers(-2, 3, (n, dim)).astype(float)
    if style == "cross":  # all at one distance from 0
        x = np.zeros((n, dim))
        x[np.arange(n), rng.integers(0, dim, n)] = rng.choice([-1.0, 1.0], n)
        return x
    if style == "few":  # most are equal to others
        pool = rng.normal(size=(max(1, n // 20), dim))
        return pool[rng.integers(0, len(pool), n)] if n else pool[:0]
    if style == "sparse":
        return rng.normal(size=(n, dim)) * (rng.random((n, dim)) < 0.1)
    scale = {"normal": 10 ** rng.uniform(-2, 2), "huge": 1e36, "tiny": 1e-38}[style]
    return rng.normal(size=(n, dim)) * scale


class Set:
    """A random set, how its table came to be, and its queries."""

    def __init__(self, rng, number):
        self.name = f"engines {number}"
        self.table = f"engines_{number}"
        self.kernel = str(rng.choice(KERNELS))
        self.half = bool(rng.random() < 0.25)
        self.style = str(rng.choice(STYLES[:7] if self.half else STYLES))
        self.dim = int(min(300, np.ceil(10 ** rng.uniform(0, 2.48))))
        most = max(1, min(5000, ELEMENTS // self.dim))
        self.n = 0 if rng.random() < 0.03 else int(10 ** rng.uniform(0, np.log10(most)))
        self.classes = int(rng.integers(1, 61))
        label = np.minimum(rng.geometric(rng.uniform(0.02, 0.9), self.n) - 1, self.classes - 1)
        if rng.random() < 0.5:
            label = rng.integers(0, self.classes, self.n)
        x = random_vectors(rng, self.style, self.n, self.dim, self.classes, label)
        if self.n > 3 and rng.random() < 0.3:
            x[rng.integers(0, self.n, 3)] = 0
        if self.n > 3 and rng.random() < 0.3:  # the same rows in two classes: ties
            copied = rng.integers(0, self.n, self.n // 2)
            x[: len(copied)] = x[copied]
        self.x = np.clip(x, -60000, 60000) if self.half else x.astype(np.float32)
        self.label = [None if rng.random() < 0.01 else "%s%d" % ("äb'\\{ "[i % 6], i) for i in label]
        self.no_vector = rng.random(self.n) < 0.01
        self.indexed_after = int(self.n * rng.choice([0, 0.5, 1, 1]))
        self.lists = int(rng.choice([0, 0, 0, 1, 7, 1000]))
        self.memory = str(rng.choice(["1MB", "64MB"]))
        self.changes = self.random_changes(rng)
        size = float(np.median(np.linalg.norm(self.x.astype(float), axis=1))) if self.n else 1.0
        self.tau = self.random_tau(rng, size)
        self.queries = [self.random_query(rng) for _ in range(QUERIES)]

    def random_changes(self, rng):
        """Choose what happens to the table once it is indexed."""
        possible = (
            "DELETE FROM {t} WHERE id % {k} = 0",
            "UPDATE {t} SET note = 'hot' WHERE id % {k} = 1",
            "UPDATE {t} SET label = label || 'x' WHERE id % {k} = 1",
            "DELETE FROM {t} WHERE label = (SELECT min(label) FROM {t})",
            "INSERT INTO {t} SELECT id + 100000, embedding, 'later' || id % 7 FROM {t} WHERE id % {k} = 1",
            "BEGIN; DELETE FROM {t}; ROLLBACK",
            "BEGIN; INSERT INTO {t} SELECT id, embedding, 'never' FROM {t}; ROLLBACK",
            "VACUUM {t}",
            "VACUUM {t}",
        )
        chosen = rng.choice(possible, int(rng.integers(0, 6)))
        return [str(c).format(t=self.table, k=int(rng.integers(2, 12))) for c in chosen]

    def random_tau(self, rng, size):
        """Choose a temperature: mostly one that matters, now and then an extreme one."""
        if rng.random() < 0.1:
            return float(rng.choice([1e-100, 1e-15, 1e-12, 1e15, 1e100]))
        if self.kernel in ("hypersphere", "cosine"):
            size = 1.0
        elif self.kernel in ("gaussian", "dot"):
            size = size * size
        tau = (size or 1.0) * 10 ** rng.uniform(-3, 1.5)
        return float(min(max(tau, 1e-99), 1e99))

    def random_query(self, rng):
        """Choose a query near the rows, among them, or far away."""
        kind = rng.random()
        if self.n and kind < 0.7:
            q = self.x[rng.integers(0, self.n)].astype(float)
            if kind < 0.5:
                q = q + rng.normal(size=self.dim) * np.abs(q).mean()
        elif kind < 0.8:
            q = np.zeros(self.dim)
        else:
            q = rng.normal(size=self.dim) * 10 ** rng.uniform(-1, 3)
        q = q.astype(np.float16 if self.half else np.float32).astype(float)
        present = sorted({c for c in self.label if c is not None})
        classes = None
        if present and rng.random() < 0.35:
            classes = [str(c) for c in rng.choice(present, int(rng.integers(1, min(len(present), 8) + 1)))]
            if rng.random() < 0.1:
                classes.append("unheard of")
        truth = str(rng.choice(present)) if present else "none"
        return q, classes, int(rng.integers(1, 20)), truth


def vector_text(x):
    """Write a vector without losing a bit of its float."""
    return "[" + ",".join("%.9g" % v for v in x) + "]"


def copy_field(value):
    """Write a field for COPY."""
    return "\\N" if value is None else str(value).replace("\\", "\\\\")


def quote(text):
    """Write a literal."""
    return "E'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def copy_rows(s, first, last):
    """Write rows of a set."""
    yield f"COPY {s.table} (id, embedding, label) FROM STDIN;\n"
    for i in range(first, last):
        vector = None if s.no_vector[i] else vector_text(s.x[i])
        yield "\t".join(copy_field(f) for f in (i, vector, s.label[i])) + "\n"
    yield "\\.\n"


def script(sets):
    """Write the whole session."""
    yield HELPERS
    for s in sets:
        kind = "halfvec" if s.half else "vector"
        yield (f"CREATE TABLE {s.table} (id int, embedding {kind}({s.dim}), label text, note text)"
               " WITH (autovacuum_enabled = off, fillfactor = 70);\n")
        yield from copy_rows(s, 0, s.indexed_after)
        yield (f"SET maintenance_work_mem = '{s.memory}';\n"
               f"CREATE INDEX {s.table}_nw ON {s.table} USING nw (embedding) INCLUDE (label)"
               f" WITH (lists = {s.lists});\n")
        yield from copy_rows(s, s.indexed_after, s.n)
        for change in s.changes:
            yield change + ";\n"
        yield (f"SELECT nw_register('{s.name}', '{s.table}', kernel => '{s.kernel}',"
               f" tau => {s.tau!r}) \\g /dev/null\n")
        # a set of too few rows learns nothing, and has no typicality
        yield ("SET nwhead.statement_cache = '64MB';\n"
               f"SELECT engine_ask('nw_learn_typicality(''{s.name}'', k => 3)') \\g /dev/null\n"
               "SET nwhead.statement_cache = 0;\n")
        for q, classes, top, truth in s.queries:
            array = "NULL" if classes is None else "ARRAY[" + ",".join(quote(c) for c in classes) + "]"
            literal = "quote_literal(%s) || '::%s'" % (quote(vector_text(q)), kind)
            yield (f"SELECT engine_compare('{s.name}', {literal}, {array}::text[], {top},"
                   f" {quote(truth)});\n")
        yield f"SELECT nw_check_index('{s.table}_nw') >= 0;\n"
        yield f"DROP TABLE {s.table};\n"


def main():
    """Run all cases and count."""
    print(f"seed {SEED}")
    rng = np.random.default_rng(SEED)
    sets = [Set(rng, i) for i in range(SETS)]
    done = subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-f", "-"],
                          input="".join(script(sets)), encoding="utf-8", stdout=subprocess.PIPE)
    lines = done.stdout.splitlines()
    each = QUERIES + 1
    if done.returncode != 0 or len(lines) != each * len(sets):
        sys.exit(f"the session failed after {len(lines)} of {each * len(sets)} answers")
    passed = failed = by_index = 0
    for i, s in enumerate(sets):
        for j, line in enumerate(lines[i * each:(i + 1) * each]):
            if j == QUERIES:
                assert line == "t"
                continue
            engine, _, differing = line.partition(" ")
            by_index += engine == "index"
            if not differing and engine in ("index", "error"):
                passed += 1
                continue
            failed += 1
            print(f"{s.name}, query {j} ({s.kernel}, tau {s.tau:g}, {s.n} rows, {s.dim} dimensions, {s.classes} classes,"
                  f" {s.style}{', halfvec' if s.half else ''}, {'; '.join(s.changes)}): {line}")
    print(f"{by_index} answered by the index")
    if by_index < 0.7 * QUERIES * len(sets):
        failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
