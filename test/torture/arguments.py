"""Call every function with random arguments of the right types."""

from server import HELPERS, Lost, Server, functions, generator

SCHEMA = """
CREATE TABLE rows AS SELECT i AS id, ARRAY[i % 7, i, 1]::real[]::vector(3) AS embedding, 'c' || i % 4 AS label, i % 3 AS w FROM generate_series(1, 300) AS i;
CREATE TABLE halves AS SELECT i AS id, ARRAY[i % 7, i, 2]::real[]::vector::halfvec(3) AS embedding, i % 4 AS label FROM generate_series(1, 40) AS i;
CREATE TABLE nothing (id int, embedding vector(3), label text);
CREATE INDEX rows_nw ON rows USING nw (embedding) INCLUDE (label);
CREATE INDEX rows_id ON rows (id);
CREATE VIEW sight AS SELECT * FROM rows;
SELECT nw_register('rows', 'rows'), nw_register('halves', 'halves', kernel => 'cosine'), nw_register('nothing', 'nothing'),
	nw_register('heavy', 'rows', weight => 'w'), nw_register('unlabelled', 'rows', label => NULL), nw_register('sight', 'sight', kernel => 'dot');
SELECT nw_distill('rows', 'prototypes', k => 3);
"""

SETS = ["rows", "halves", "nothing", "heavy", "unlabelled", "sight", "prototypes", "absent", "", "new", "we\"ird'", "x" * 3000]
VALUES = {
    "vector": ["[1,2,3]", "[0,0,0]", "[3e38,-3e38,1]", "[1e-45,0,0]", "[1]", "[1,2,3,4]"],
    "halfvec": ["[1,2,3]", "[0,0,0]", "[65504,-65504,1]", "[1]"],
    "text": SETS + ["rows", "rows", "halves", "prototypes", "[1,2,3]", "[1,", "[", "]", "[]", "[1,2,3", "[1e999,1,1]", "[nan,1,1]", "[ 1, 2 ,3 ]",
                    "c1", "1", "cluster", "closest", "random", "euclidean", "cosine", "members", "equal"],
    "text[]": ["{}", "{c1}", "{c1,c2}", "{NULL}", "{c1,NULL}", "{{c1,c2},{c3,c0}}", "{1,2,3}", "{absent}", "[5:6]={c1,c2}"],
    "integer": ["0", "1", "-1", "5", "100", "2147483647", "-2147483648", "1000"],
    "bigint": ["0", "1", "-1", "5", "9223372036854775807", "-9223372036854775808"],
    "double precision": ["0", "1", "-1", "0.5", "nan", "inf", "-inf", "1e-320", "1e300", "1e-100", "2", "-0"],
    "boolean": ["true", "false"],
    "regclass": ["rows_nw", "rows", "rows_id", "pg_class", "0", "nw_registry", "nw_registry_pkey", "999999", "pg_class_oid_index", "sight"],
    "name": ["embedding", "label", "id", "w", "absent", "", "ctid", "tableoid", "xmin"],
    "bytea": ["\\x", "\\x00", "\\x" + "ff" * 40, "\\x" + "00" * 64],
}
SETTINGS = ["nwhead.engine = index", "nwhead.engine = auto", "nwhead.engine = executor", "nwhead.statement_cache = 0",
            "nwhead.statement_cache = '64kB'", "nwhead.statement_cache = '256MB'", "work_mem = '64kB'", "work_mem = '4MB'"]


def argument(rng, kind):
    """Write a random literal of a type."""
    if kind not in VALUES or rng.random() < 0.08:
        return f"NULL::{kind}"
    return "'" + rng.choice(VALUES[kind]).replace("'", "''") + f"'::{kind}"


def call(rng, function):
    """Write a random call of a function."""
    name, prokind, types, names, _ = function
    args = [argument(rng, kind) for kind in types]
    if prokind == "a":
        # now and then something that differs from row to row
        args = [rng.choice((a, {"text": "'c' || i % 3", "double precision": "(i * 0.37)", "boolean": "(i % 2 = 0)"}.get(t, a)))
                for a, t in zip(args, types)]
        return (f"SELECT {name}({', '.join(args)}{rng.choice(('', '', ' ORDER BY i'))}) "
                + rng.choice(("", "FILTER (WHERE i % 2 = 0) ", "OVER (ORDER BY i ROWS 3 PRECEDING) "))
                + f"FROM generate_series(1, {rng.choice((0, 1, 5, 300))}) AS i")
    # leave out some of the last, so that defaults are tried
    if rng.random() < 0.5 and names:
        given = rng.randrange(min(2, len(args)), len(args) + 1)
        picked = args[:given] + [f"{n} => {a}" for n, a in list(zip(names, args))[given:] if rng.random() < 0.4]
        args = picked
    return ("SELECT * FROM " if rng.random() < 0.6 else "SELECT ") + f"{name}({', '.join(args)})"


def run(report, amount, seed):
    """Make so many calls."""
    report.unit = "calls"
    rng = generator(seed, "arguments")
    with Server("arguments", "restart_after_crash = on\n") as server:
        session = server.await_ready()
        session.run(HELPERS)
        session.run(SCHEMA)
        session.run("VACUUM rows")
        everything = functions(session)
        callable_ = [f for f in everything if "internal" not in f[2]]
        # those for aggregates and access methods are refused, or do no harm
        for name, _, types, *_ in everything:
            if "internal" in types:
                sql = f"SELECT {name}({', '.join('NULL' if t == 'internal' else argument(rng, t) for t in types)})"
                report.done += 1
                answer = session.attempt(sql)
                if isinstance(answer, tuple) and answer[0] == "XX000" and "handler" not in name:
                    report.note("aggregate support functions that refuse")
        while report.done < amount:
            setting, sql = rng.choice(SETTINGS), call(rng, rng.choice(callable_))
            try:
                session.run(f"SET {setting}; SET statement_timeout = '20s'")
                session.run("BEGIN")
                answer = session.attempt(sql)
                code = answer[0] if isinstance(answer, tuple) else "00000"
                report.note(code)
                if code[:2] == "XX" or code in ("57014", "53200", "58000"):
                    report.fail(f"SQLSTATE {code}", (answer, setting, sql[:600]))
                session.attempt("ROLLBACK")
            except Lost as lost:
                report.fail("a session was lost", (setting, sql[:600], lost))
                session = server.await_ready()
            report.done += 1
        session.close()
        report.check_log(server)
