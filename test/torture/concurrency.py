"""Write, vacuum, rebuild and alter while others predict; every answer is compared.

A reader takes a snapshot and asks the same of the index and of the executor, and
now and then of plain SQL.  On a standby likewise, with and without feedback.
Predictions inside writing statements are compared with those of a session that
keeps nothing between calls.
"""

import multiprocessing
import time

import psycopg2

from server import HELPERS, Lost, Report, Server, Session, both_engines, generator, near_vector

DIM = 12
TAU = 0.3

SCHEMA = HELPERS + f"""
CREATE SEQUENCE ids;
CREATE TABLE rows (id int DEFAULT nextval('ids'), embedding vector({DIM}), label text, note text) WITH (fillfactor = 80);
INSERT INTO rows (embedding, label) SELECT near(i % 6, {DIM}, 1), 'c' || i % 6 FROM generate_series(1, 1200) AS i;
CREATE INDEX rows_nw ON rows USING nw (embedding) INCLUDE (label);
CREATE INDEX ON rows (id);
CREATE TABLE parts (id int DEFAULT nextval('ids'), embedding halfvec({DIM}), label int, note text) PARTITION BY LIST (label);
CREATE TABLE parts0 PARTITION OF parts FOR VALUES IN (0, 2, 4);
CREATE TABLE parts1 PARTITION OF parts DEFAULT;
INSERT INTO parts (embedding, label) SELECT near(i % 6, {DIM}, 1)::halfvec, i % 6 FROM generate_series(1, 600) AS i;
CREATE INDEX parts_nw ON parts USING nw (embedding) INCLUDE (label);
SELECT nw_register('rows', 'rows', tau => {TAU}), nw_register('parts', 'parts', tau => {TAU});
CREATE FUNCTION predict_label() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN NEW.note := nw_predict(NEW.embedding, TG_TABLE_NAME); RETURN NEW; END $$;
CREATE TRIGGER predict BEFORE INSERT OR UPDATE ON rows FOR EACH ROW WHEN (NEW.note = 'predict') EXECUTE FUNCTION predict_label();
CREATE FUNCTION predict_now(q vector) RETURNS text LANGUAGE plpgsql VOLATILE AS
$$ BEGIN RETURN nw_predict(q, 'rows') || ' ' || (SELECT round(confidence::numeric, 12) FROM nw_classify(q, 'rows')); END $$;
"""

# deadlocks, serialization failures, lock timeouts; a table that was rewritten under a snapshot
ALLOWED = {"40001", "40P01", "55P03"}
ON_STANDBY = {"40001", "40P01", "57P01", "57P04", "25006"}

WRITES = [
    "INSERT INTO rows (embedding, label) SELECT near(i %% 7, {dim}, 1), 'c' || i %% {c} FROM generate_series(1, {n}) AS i",
    "INSERT INTO rows (embedding, label) VALUES (near({c}, {dim}, 1), 'new' || {k})",
    "DELETE FROM rows WHERE id IN (SELECT id FROM rows ORDER BY random() LIMIT {n})",
    "UPDATE rows SET embedding = near({c}, {dim}, 1), label = 'c' || id %% 7 WHERE id %% 61 = {k} %% 61",
    "UPDATE rows SET note = 'x' WHERE id %% 31 = {k} %% 31",
    "INSERT INTO parts (embedding, label) SELECT near(i %% 7, {dim}, 1)::halfvec, i %% {c} FROM generate_series(1, {n}) AS i",
    "UPDATE parts SET label = (label + 1) %% 7 WHERE id %% 41 = {k} %% 41",
    "DELETE FROM parts WHERE id %% 37 = {k} %% 37",
]
MAINTENANCE = [
    "VACUUM rows, parts", "VACUUM rows", "VACUUM rows", "VACUUM (INDEX_CLEANUP OFF) rows", "VACUUM (FREEZE) parts", "ANALYZE rows",
    "REINDEX INDEX rows_nw", "REINDEX INDEX CONCURRENTLY rows_nw", "REINDEX TABLE CONCURRENTLY parts", "CHECKPOINT",
    "CREATE INDEX CONCURRENTLY IF NOT EXISTS more_nw ON rows USING nw (embedding) INCLUDE (label)", "DROP INDEX IF EXISTS more_nw",
    "DROP INDEX CONCURRENTLY IF EXISTS more_nw",
    "ALTER TABLE rows ADD COLUMN IF NOT EXISTS extra int DEFAULT 1", "ALTER TABLE rows DROP COLUMN IF EXISTS extra",
    "ALTER TABLE rows SET (fillfactor = 70)", "ALTER TABLE rows ALTER label TYPE varchar", "ALTER TABLE rows ALTER label TYPE text",
    "ALTER INDEX rows_nw RENAME TO rows_nw2; ALTER INDEX rows_nw2 RENAME TO rows_nw",
    "DELETE FROM rows WHERE id < (SELECT min(id) FROM (SELECT id FROM rows ORDER BY id DESC LIMIT 1500) AS r)",
    "ALTER TABLE parts DETACH PARTITION parts1; ALTER TABLE parts ATTACH PARTITION parts1 DEFAULT",
]


def write(server, until, rng, report):
    """Change rows, in transactions of several statements, some of them undone."""
    session = Session(server)
    session.run("SET lock_timeout = '5s'")
    while time.time() < until:
        session.run("BEGIN")
        for _ in range(rng.randrange(1, 4)):
            sql = rng.choice(WRITES).format(dim=DIM, c=rng.choice((5, 7, 60)), n=rng.randrange(1, 25), k=rng.randrange(400)).replace("%%", "%")
            nested = rng.random() < 0.3
            if nested:
                session.run("SAVEPOINT s")
            answer = session.attempt(sql)
            if isinstance(answer, tuple):
                if answer[0] not in ALLOWED:
                    report.fail("a writer failed", (sql, answer))
                break
            if nested and rng.random() < 0.5:
                session.run("ROLLBACK TO s")
        session.attempt(rng.choice(("COMMIT", "COMMIT", "COMMIT", "ROLLBACK")))
        report.note("writing transactions")


def maintain(server, until, rng, report):
    """Vacuum, rebuild and alter."""
    session = Session(server)
    session.run("SET lock_timeout = '2s'")
    while time.time() < until:
        sql = rng.choice(MAINTENANCE)
        answer = session.attempt(sql)
        report.note("maintenance")
        if isinstance(answer, tuple) and answer[0] not in ALLOWED:
            report.fail("maintenance failed", (sql, answer))
        for (index,) in session.run("SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid AND indrelid IN ('rows'::regclass, 'parts0'::regclass, 'parts1'::regclass)"):
            session.attempt(f"DROP INDEX {index}")
        if rng.random() < 0.1:
            answer = session.attempt("SELECT nw_check_index('rows_nw')")
            if isinstance(answer, tuple) and answer[0] not in ALLOWED:
                report.fail("an index is damaged", answer)
        time.sleep(0.05 * rng.random())


def calls(rng):
    """Write what a reader asks within a snapshot."""
    q = near_vector(rng, DIM)
    name, kind = rng.choice((("rows", "vector"), ("parts", "halfvec")))
    return [(f"SELECT nw_predict(%s::{kind}, '{name}')", (q,)),
            (f"SELECT * FROM nw_predict_proba(%s::{kind}, '{name}')", (q,)),
            (f"SELECT * FROM nw_weights(%s::{kind}, '{name}', 20)", (q,)),
            (f"SELECT nw_predict(embedding, '{name}') FROM {name} WHERE id %% 200 = 7 ORDER BY id", ())]


def read(server, until, rng, report, standby=False):
    """Compare engines, and plain SQL, under one snapshot."""
    session = None
    while time.time() < until:
        try:
            if session is None:
                session = Session(server)
            session.run("BEGIN ISOLATION LEVEL REPEATABLE READ")
            for _ in range(rng.randrange(1, 4)):
                compare(session, rng, report, standby)
                time.sleep(0.1 * rng.random())
            session.run("COMMIT")
            report.done += 1
        except psycopg2.Error as error:
            if not standby or error.pgcode not in ON_STANDBY | {None}:
                report.fail("a reader failed", error)
            report.note("conflicts with recovery")
            try:
                if session:
                    session.run("ROLLBACK")
            except psycopg2.Error:
                session = None
        except Lost as lost:
            # a conflict ends a session without a word, now and then; a crash shows in the log
            if not standby:
                report.fail("a session was lost", lost)
            session = None


def compare(session, rng, report, standby):
    """Ask a few things of both engines in the transaction that is open."""
    for sql, args, answers in both_engines(session, calls(rng)):
        codes = {a[0] for a in answers if isinstance(a, tuple)}
        if standby and codes & ON_STANDBY:
            report.note("conflicts with recovery")
        else:
            report.fail("the engines differ" + (" on the standby" if standby else ""), (sql, args, answers))
    report.note("comparisons" + (" on the standby" if standby else ""), 4)
    if rng.random() < 0.3:
        q = near_vector(rng, DIM)
        answer = session.attempt(f"""
            SELECT max(abs(coalesce(n.probability, 0) - coalesce(p.probability, 0)))
              FROM naive(%s, 'rows', {TAU}) AS n FULL JOIN nw_predict_proba(%s::vector, 'rows') AS p USING (label)""", (q, q))
        if isinstance(answer, tuple):
            if not (standby and answer[0] in ON_STANDBY):
                report.fail("plain SQL failed", answer)
        elif answer[0][0] is not None and answer[0][0] > 1e-5:
            report.fail("plain SQL has another answer", (q, answer))
        report.note("comparisons with plain SQL")


# Statements that write to the set they predict from; each returns what was predicted
WITHIN = [
    "INSERT INTO rows (embedding, label, note) SELECT near_fixed(i, {dim}), 'mine' || i %% 3, 'predict' FROM generate_series({k}, {k} + 20) AS i RETURNING note",
    "UPDATE rows SET embedding = near_fixed(id, {dim}), note = 'predict', label = 'u' || id %% 3 WHERE id %% 97 = {k} %% 97 RETURNING id, note",
    "UPDATE rows SET embedding = near_fixed(id + 1, {dim}), label = 'v' WHERE id %% 97 = {k} %% 97 RETURNING id, predict_now(embedding)",
    "WITH gone AS (DELETE FROM rows WHERE id %% 89 = {k} %% 89 RETURNING embedding) SELECT predict_now(embedding) FROM gone",
    "INSERT INTO rows (embedding, label, note) SELECT embedding, predict_now(embedding), nw_predict(embedding, 'rows') FROM rows WHERE id %% 101 = {k} %% 101 ORDER BY id"
    " RETURNING label, note",
]


def within(server, until, rng, report):
    """Predict inside writing statements, twice from the same state: with and without a cache."""
    session = Session(server)
    session.run("SET lock_timeout = '5s'")
    while time.time() < until:
        sql = rng.choice(WITHIN).format(dim=DIM, k=rng.randrange(1000)).replace("%%", "%")
        answers = []
        session.run("BEGIN ISOLATION LEVEL REPEATABLE READ")
        for cache in ("64MB", "0"):
            session.run(f"SAVEPOINT s; SET LOCAL nwhead.statement_cache = '{cache}'")
            answer = session.attempt(sql)
            session.attempt("ROLLBACK TO s")
            if isinstance(answer, tuple) and answer[0] not in ALLOWED:
                report.fail("a writing statement failed", (sql, answer))
            answers.append(answer)
        session.attempt("ROLLBACK")
        if any(isinstance(a, tuple) for a in answers):
            continue
        report.note("comparisons within writing statements")
        report.done += 1
        if answers[0] != answers[1]:
            at = next(i for i, (a, b) in enumerate(zip(*answers)) if a != b)
            report.fail("a cache shows in a writing statement", (sql, at, answers[0][at], answers[1][at]))


def toggle(standby, until):
    """Have the standby tell the primary of its snapshots half of the time."""
    on = False
    while time.time() < until:
        on = not on
        standby.configure(f"hot_standby_feedback = {'on' if on else 'off'}\n")
        standby.reload()
        time.sleep(max(2, min(30, (until - time.time()) / 2)))


def work(job, name, seed, queue, args):
    """Run a job in a process of its own; send its counts."""
    report = Report("concurrency", "")
    try:
        job(*args, generator(seed, name), report)
    except (psycopg2.Error, Lost) as error:
        report.fail("a session was lost", f"{name}: {error}")
    except Exception as error:
        report.fail("a job broke", f"{name}: {error!r}")
    queue.put((report.done, report.failed, report.sorts, report.notes))


def run(report, seconds, seed):
    """Let all of them go on for so many seconds."""
    report.unit = "transactions compared"
    with Server("primary", "restart_after_crash = on\nmax_standby_streaming_delay = 2s\nwal_receiver_status_interval = 1\n", checksums=True) as primary:
        session = Session(primary)
        session.run(SCHEMA)
        # the same vector for the same numbers, unlike near
        session.run(f"CREATE FUNCTION near_fixed(i int, dim int) RETURNS vector LANGUAGE sql IMMUTABLE AS"
                    " $$ SELECT array_agg((centre(i % 6, j) + centre(i + 100, j) / 2)::float4 ORDER BY j)::vector FROM generate_series(1, dim) AS j $$")
        session.run("VACUUM rows, parts")
        with Server("standby", "max_standby_streaming_delay = 2s\n", primary=primary) as standby:
            until = time.time() + seconds
            queue = multiprocessing.Queue()
            jobs = [("writer 1", write, (primary, until)), ("writer 2", write, (primary, until)), ("maintenance", maintain, (primary, until)),
                    ("reader 1", read, (primary, until)), ("reader 2", read, (primary, until)), ("within", within, (primary, until)),
                    ("reader on the standby", lambda s, u, rng, r: read(s, u, rng, r, True), (standby, until))]
            processes = [multiprocessing.Process(target=work, args=(job, name, seed, queue, args)) for name, job, args in jobs]
            for process in processes:
                process.start()
            toggle(standby, until)
            for _ in processes:
                done, failed, sorts, notes = queue.get(timeout=600)
                report.done += done
                report.failed += failed
                report.sorts.update(sorts)
                report.notes.update(notes)
            for process in processes:
                process.join()
            for where, server in (("primary", primary), ("standby", standby)):
                last = server.await_ready()
                if where == "standby":
                    lsn = session.value("SELECT pg_current_wal_insert_lsn()")
                    while not last.value("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", (lsn,)):
                        time.sleep(0.1)
                for (index,) in last.run("SELECT indexrelid::regclass::text FROM pg_index JOIN pg_class AS c ON c.oid = indexrelid JOIN pg_am AS a ON a.oid = relam"
                                         " WHERE amname = 'nw' AND indisvalid AND relkind = 'i'"):
                    answer = last.attempt(f"SELECT nw_check_index('{index}')")
                    if isinstance(answer, tuple):
                        report.fail(f"an index of the {where} is damaged", answer)
                last.close()
                report.check_log(server)
        session.close()
