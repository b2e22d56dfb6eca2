"""Kill a server that is being written to, and see that nothing committed is lost.

Each writer notes in a table, in the same transaction, what it did; so after
recovery the notes say what must be there.  A writer that was told of a commit
must find its note.
"""

import multiprocessing
import os
import time

import psycopg2

from server import HELPERS, Lost, Server, Session, both_engines, end, generator, near_vector

WRITERS = 3
DIM = 12

SCHEMA = HELPERS + """
CREATE TABLE rows (id bigserial, embedding vector(12), label text, writer int, seq int) WITH (fillfactor = 80);
CREATE TABLE halves (id bigserial, embedding halfvec(12), label int, writer int, seq int);
INSERT INTO rows (embedding, label, writer, seq) SELECT near(i % 6, 12, 1), 'c' || i % 6, -1, 0 FROM generate_series(1, 600) AS i;
INSERT INTO halves (embedding, label, writer, seq) SELECT near(i % 6, 12, 1)::halfvec, i % 6, -1, 0 FROM generate_series(1, 300) AS i;
CREATE INDEX rows_nw ON rows USING nw (embedding) INCLUDE (label);
CREATE INDEX halves_nw ON halves USING nw (embedding) INCLUDE (label);
CREATE INDEX ON rows (writer, seq);
CREATE TABLE notes (writer int, seq int, op text, n numeric, PRIMARY KEY (writer, seq));
SELECT nw_register('rows', 'rows', tau => 0.2), nw_register('halves', 'halves', tau => 0.2);
CREATE TABLE small AS SELECT id, embedding, label FROM rows LIMIT 120;
SELECT nw_register('small', 'small', tau => 0.2);
"""

# Rows that the notes promise and that are not there, or are there too often
MISSING = """
SELECT count(*) FROM (
	SELECT n.writer, n.seq, CASE WHEN d.seq IS NULL THEN n.n ELSE 0 END AS want,
		   (SELECT count(*) FROM {0} AS r WHERE r.writer = n.writer AND r.seq = n.seq) AS have
	  FROM notes AS n LEFT JOIN notes AS d ON d.writer = n.writer AND d.op = 'delete {0}' AND d.n = n.seq
	 WHERE n.op = 'insert {0}') AS t WHERE want <> have"""
UNKNOWN = """
SELECT count(*) FROM {0} AS r WHERE writer >= 0 AND NOT EXISTS (SELECT 1 FROM notes AS n WHERE n.writer = r.writer AND n.seq = r.seq)"""
# Sets of writers whose temperature or prototypes are not those of their last note
SETS = """
SELECT count(*) FROM (SELECT DISTINCT ON (writer) writer, op, n FROM notes WHERE op IN ('tau', 'unregister') ORDER BY writer, seq DESC) AS t
	FULL JOIN (SELECT name, tau FROM nw_sets WHERE name LIKE 'w%') AS s ON s.name = 'w' || t.writer
 WHERE CASE WHEN op = 'tau' THEN s.tau::numeric IS DISTINCT FROM n ELSE s.name IS NOT NULL END"""
PROTOTYPES = """
SELECT count(*) FROM (SELECT DISTINCT ON (writer) writer, n FROM notes WHERE op = 'distill' ORDER BY writer, seq DESC) AS t
 WHERE n <> (SELECT count(*) FROM nw_prototypes WHERE set = 'p' || writer)
	OR n > 0 AND NOT EXISTS (SELECT 1 FROM nw_sets WHERE name = 'p' || writer AND mode = 'cluster')"""


def write(server, writer, seq, rng, pipe):
    """Write until the server is gone; send the numbers of the commits that were told."""
    told = []
    mine = []
    try:
        session = Session(server)
        while True:
            seq += 1
            table = rng.choice(("rows", "rows", "halves"))
            label = "'{}' || (i + {})" if table == "rows" else "i + {1}"
            label = label.format("new" if rng.random() < 0.2 else "c", rng.randrange(8))
            kind = rng.random()
            session.run("BEGIN")
            if kind < 0.5 or not mine:
                n = rng.randrange(1, 15)
                session.run(f"INSERT INTO {table} (embedding, label, writer, seq)"
                            f" SELECT near(i % 7, {DIM}, 1), {label}, {writer}, {seq} FROM generate_series(1, {n}) AS i")
                op, n = f"insert {table}", n
            elif kind < 0.65:
                table, n = mine.pop(rng.randrange(len(mine)))
                session.run(f"DELETE FROM {table} WHERE writer = {writer} AND seq = {n}")
                op = f"delete {table}"
            elif kind < 0.75:
                table, which = rng.choice(mine)
                session.run(f"UPDATE {table} SET embedding = near(id::int % 9, {DIM}, 1) WHERE writer = {writer} AND seq = {which}")
                op, n = "update", which
            elif kind < 0.88:
                n = seq / 8
                if rng.random() < 0.5:
                    session.run(f"SELECT nw_register('w{writer}', 'rows', tau => {n}, replace => true)")
                else:
                    session.run(f"SELECT nw_register('w{writer}', 'rows', replace => true); SELECT nw_set_tau('w{writer}', {n})")
                op = "tau"
            elif kind < 0.92:
                op, n = "unregister", 0
                if session.value(f"SELECT count(*) FROM nw_sets WHERE name = 'w{writer}'"):
                    session.run(f"SELECT nw_unregister('w{writer}')")
            else:
                n = session.value(f"SELECT nw_distill('small', 'p{writer}', k => {rng.randrange(1, 4)}, calibrate => false)")
                op = "distill"
            session.run(f"INSERT INTO notes VALUES ({writer}, {seq}, '{op}', {n})")
            if rng.random() < 0.15:
                session.run("ROLLBACK")
                continue
            session.run("COMMIT")
            told.append(seq)
            if op.startswith("insert"):
                mine.append((table, seq))
    except (psycopg2.Error, Lost) as error:
        # anything but the end of the server is a finding
        pipe.send((told, None if getattr(error, "pgcode", None) in (None, "57P02", "57P01", "57P03") else str(error)))
    pipe.close()


def maintain(server, rng, pipe):
    """Vacuum, rebuild, checkpoint and predict until the server is gone."""
    try:
        session = Session(server)
        while True:
            session.attempt(rng.choice((
                "VACUUM rows, halves", "VACUUM rows", "CHECKPOINT", "REINDEX INDEX rows_nw", "REINDEX INDEX CONCURRENTLY halves_nw",
                "CREATE INDEX CONCURRENTLY IF NOT EXISTS extra_nw ON rows USING nw (embedding) INCLUDE (label)", "DROP INDEX IF EXISTS extra_nw",
                "SELECT count(nw_predict(embedding, 'rows')) FROM (SELECT embedding FROM rows LIMIT 20) AS t")))
    except (psycopg2.Error, Lost):
        pipe.send(([], None))
    pipe.close()


def inspect(report, session, told, rng):
    """See that all is as the notes and the writers say."""
    failed = report.failed
    for writer, seqs in told.items():
        lost = session.run("SELECT s FROM unnest(%s::int[]) AS s WHERE NOT EXISTS (SELECT 1 FROM notes WHERE writer = %s AND seq = s)", (seqs, writer))
        if lost:
            report.fail("commits were lost", (writer, lost))
    for table in ("rows", "halves"):
        if session.value(MISSING.format(table)):
            report.fail(f"rows of {table} are not those that were committed")
        if session.value(UNKNOWN.format(table)):
            report.fail(f"{table} has rows that were not committed")
    if session.value(SETS):
        report.fail("sets are not as they were registered", session.run("SELECT * FROM nw_sets"))
    if session.value(PROTOTYPES):
        report.fail("prototypes are not as they were distilled")
    for index, valid in session.run("SELECT i.indexrelid::regclass::text, i.indisvalid FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid"
                                    " JOIN pg_am AS a ON a.oid = c.relam WHERE a.amname = 'nw'"):
        if not valid:
            session.run(f"DROP INDEX {index}")
            continue
        answer = session.attempt(f"SELECT nw_check_index('{index}')")
        if isinstance(answer, tuple):
            report.fail(f"{index} is damaged", answer)
    calls = []
    for _ in range(3):
        q = near_vector(rng, DIM)
        for kind, name in (("vector", "rows"), ("halfvec", "halves")):
            calls += [(f"SELECT nw_predict(%s::{kind}, '{name}')", (q,)),
                      (f"SELECT * FROM nw_predict_proba(%s::{kind}, '{name}')", (q,)),
                      (f"SELECT * FROM nw_weights(%s::{kind}, '{name}', 7)", (q,))]
    for difference in both_engines(session, calls, local=False):
        report.fail("the engines differ", difference)
    return report.failed == failed


def run(report, rounds, seed):
    """Write, kill, recover, inspect; so many times."""
    report.unit = "rounds"
    rng = generator(seed, "kill")
    with Server("kill", "restart_after_crash = on\nwal_buffers = 64kB\nmax_wal_size = 64MB\n", checksums=True) as server:
        session = Session(server)
        session.run(SCHEMA)
        session.close()
        seq = {writer: 0 for writer in range(WRITERS)}
        for round in range(rounds):
            told = {}
            workers = []
            for writer in range(WRITERS + 1):
                mine, theirs = multiprocessing.Pipe(False)
                args = (server, writer, seq[writer], generator(seed, f"kill {round} {writer}"), theirs) if writer < WRITERS else \
                    (server, generator(seed, f"kill {round}"), theirs)
                process = multiprocessing.Process(target=write if writer < WRITERS else maintain, args=args, daemon=True)
                process.start()
                theirs.close()
                workers.append((writer, process, mine))
            time.sleep(0.1 + 1.2 * rng.random())
            way = rng.choice(("all", "all", "backend", "immediate"))
            report.note("ended by " + way)
            if way == "all":
                server.kill_all()
                server.start()
            elif way == "immediate":
                server.stop("immediate")
                server.start()
            else:
                end(rng.choice(server.children()))
            for writer, process, pipe in workers:
                # a victim that the others do not depend on, such as the statistics collector, does not end them
                if not pipe.poll(10):
                    server.kill_all()
                    server.start()
                    report.note("ended by all at last")
                if pipe.poll(30):
                    told[writer], error = pipe.recv()
                    if error:
                        report.fail("a writer failed", error)
                process.join(30)
                if process.is_alive():
                    report.fail("a writer did not end")
                    process.kill()
            session = server.await_ready()
            if inspect(report, session, told, rng):
                report.note("commits", sum(len(seqs) for seqs in told.values()))
            seq.update(session.run("SELECT writer, max(seq) FROM notes GROUP BY writer"))
            if session.value("SELECT count(*) FROM rows") > 8000:
                session.run("DELETE FROM rows WHERE writer >= 0; DELETE FROM halves WHERE writer >= 0; DELETE FROM notes WHERE op !~ 'tau|distill|unregister'")
            session.close()
            report.check_log(server)
            report.done += 1
