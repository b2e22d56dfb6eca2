"""Have sqlsmith write queries over a database with sets and indexes."""

import os
import re
import subprocess
from collections import Counter

from server import HELPERS, Server, Session, SOURCES
from statements import SCHEMA

# Names of sets are hard to guess, so some stand in functions and views
ROLE = """
CREATE FUNCTION predict_rows(vector) RETURNS text LANGUAGE sql STABLE AS $$ SELECT nw_predict($1, 'rows') $$;
CREATE FUNCTION predict_parts(vector) RETURNS text LANGUAGE sql STABLE AS $$ SELECT nw_predict($1, 'parts') $$;
CREATE FUNCTION predict_sight(vector, text[]) RETURNS text LANGUAGE sql STABLE AS $$ SELECT nw_predict($1, 'sight', $2) $$;
CREATE FUNCTION predict_halves(halfvec) RETURNS text LANGUAGE sql STABLE AS $$ SELECT nw_predict($1, 'halves') $$;
CREATE FUNCTION regress_halves(vector) RETURNS float8 LANGUAGE sql STABLE AS $$ SELECT nw_regress($1, 'halves') $$;
CREATE FUNCTION sure(vector) RETURNS float8 LANGUAGE sql STABLE AS $$ SELECT confidence FROM nw_classify($1, 'rows') $$;
CREATE VIEW weights AS SELECT q.id, w.* FROM queries AS q, nw_weights(q.embedding, 'rows', 3) AS w;
CREATE VIEW influences AS SELECT q.id, i.* FROM queries AS q, nw_influence(q.embedding, q.label, 'rows', 2) AS i;
CREATE VIEW probabilities AS SELECT q.id, p.* FROM queries AS q, nw_predict_proba(q.embedding, 'heavy') AS p;
CREATE VIEW predictions AS SELECT * FROM nw_predict_set('rows', 'queries');
CREATE VIEW evaluation AS SELECT * FROM nw_evaluate('sight', 'queries');
CREATE VIEW suspects AS SELECT * FROM nw_suspects('queries', 5);
CREATE VIEW work AS SELECT q.id, w.* FROM queries AS q, nw_index_work(q.embedding, 'rows') AS w;
CREATE VIEW lists AS SELECT * FROM nw_index_lists('rows_nw');
CREATE VIEW votes AS SELECT q.id, nw_vote(r.label, r.embedding <-> q.embedding) AS vote, nw_argmax(r.label, r.embedding <-> q.embedding, 0.5) AS label
	FROM queries AS q, rows AS r GROUP BY q.id;
CREATE ROLE smith LOGIN;
GRANT CREATE, USAGE ON SCHEMA public TO smith;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO smith;
ALTER ROLE smith SET statement_timeout = '2s';
ALTER ROLE smith SET lock_timeout = '1s';
ALTER ROLE smith SET nwhead.engine = index;
"""


def read_errors(log, report):
    """Count the errors of the log by SQLSTATE, and those of the extension by place."""
    counts = Counter()
    lines = log.splitlines()
    for i, line in enumerate(lines):
        match = re.match(r"\S+ \S+ \S+ \[\d+\] (\w{5}) ERROR: ", line)
        if not match:
            continue
        place = next((l for l in lines[i + 1:i + 8] if "LOCATION:" in l), "").partition("LOCATION:")[2].strip()
        ours = place.rpartition(" ")[2].split(":")[0] in SOURCES
        counts[match[1] + (" of nwhead" if ours else "")] += 1
    for code, n in counts.items():
        report.note(code, n)


def run(report, amount, seed):
    """Let it run so many queries, as an ordinary role."""
    report.unit = "queries"
    with Server("sqlsmith", "restart_after_crash = on\ntrack_functions = all\n") as server:
        session = Session(server)
        session.run(HELPERS)
        for part in SCHEMA.split(";\n"):
            if part.strip():
                session.run(part)
        # smaller, for queries that cross it with itself
        session.run("DELETE FROM rows WHERE id > 300; DELETE FROM halves WHERE id > 100; DELETE FROM queries WHERE id % 20 > 0")
        session.run(ROLE)
        session.close()
        started = 0
        while report.done < amount and started < 20:
            started += 1
            done = subprocess.run(
                ["sqlsmith", f"--target=host={server.socket} dbname=postgres user=smith", f"--seed={seed + started}",
                 f"--max-queries={amount - report.done}", "--exclude-catalog", "--verbose"],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace",
                timeout=7200, cwd=os.environ.get("NW_TORTURE_WORK"))
            numbers = re.findall(r"queries: (\d+)", done.stderr)
            report.done += int(numbers[-1]) if numbers else 0
            if done.returncode != 0 and not numbers:
                report.fail("sqlsmith does not start", done.stderr[-1500:])
                break
        read_errors(server.log(), report)
        session = server.await_ready()
        session.run("SELECT pg_sleep(1)")
        report.note("calls of the extension's functions", int(session.value("SELECT coalesce(sum(calls), 0) FROM pg_stat_user_functions WHERE funcname LIKE 'nw\\_%'")))
        answer = session.attempt("SELECT nw_check_index('rows_nw')")
        if isinstance(answer, tuple):
            report.fail("an index is damaged", answer)
        session.close()
        report.check_log(server)
