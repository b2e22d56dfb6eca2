"""Servers that may be killed, sessions that may not hang, and counts of what failed."""

import glob
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter

import psycopg2
import psycopg2.extensions

MODULE = os.environ.get("NW_TORTURE_MODULE", "")
SOURCES = {os.path.basename(f) for f in glob.glob(os.environ.get("NW_ROOT", ".") + "/src/**/*.[ch]", recursive=True)}

# What the server's log must never have.  A process that was killed on purpose has
# signal 9.
COMPLAINT = re.compile(
    r"PANIC:|TRAP:|terminated by signal (?!9\b)|runtime error:"
    r"|(WARNING|ERROR):.*(reference leak|refcount leak|memory leak|file leak|was not closed"
    r"|still referenced|don't own a lock|problem in alloc set|detected write past)")

CONF = """
listen_addresses = ''
fsync = off
wal_level = replica
max_wal_senders = 5
max_connections = 40
max_prepared_transactions = 10
autovacuum = off
log_line_prefix = '%m [%p] %e '
log_error_verbosity = verbose
log_min_messages = warning
log_min_error_statement = panic
"""


class Hang(Exception):
    """A statement went on although it was cancelled."""


class Lost(Exception):
    """The server ended a session that nobody wanted ended."""


def wait(connection):
    """Wait for a connection as psycopg2 does, but not for ever."""
    import select
    end = time.time() + 120
    cancelled = False
    while True:
        state = connection.poll()
        if state == psycopg2.extensions.POLL_OK:
            return
        ready = select.select([connection.fileno()] if state == psycopg2.extensions.POLL_READ else [],
                              [connection.fileno()] if state == psycopg2.extensions.POLL_WRITE else [], [], 1)
        if not any(ready) and time.time() > end:
            if cancelled:
                raise Hang("a statement did not end on being cancelled")
            cancelled = True
            end = time.time() + 30
            connection.cancel()


psycopg2.extensions.set_wait_callback(wait)


class Session:
    """A connection; every statement by itself unless a transaction is begun."""

    def __init__(self, server, **options):
        self.connection = psycopg2.connect(host=server.socket, dbname="postgres", **{"user": "postgres", **options})
        self.connection.autocommit = True
        self.cursor = self.connection.cursor()
        self.run("SET client_min_messages = error")

    @property
    def pid(self):
        return self.connection.get_backend_pid()

    def run(self, sql, args=None):
        """Run statements; return the rows of the last."""
        self.cursor.execute(sql, args)
        return self.cursor.fetchall() if self.cursor.description else None

    def value(self, sql, args=None):
        """Run a query of one value."""
        return self.run(sql, args)[0][0]

    def attempt(self, sql, args=None):
        """Run statements; return the rows, or the SQLSTATE and the message of an error."""
        try:
            return self.run(sql, args)
        except UnicodeDecodeError:
            return "not UTF-8"
        except psycopg2.Error as error:
            if self.connection.closed or error.pgcode is None:
                raise Lost(f"{sql[:300]}: {str(error).strip()[:200]}") from error
            return error.pgcode, error.diag.message_primary

    def close(self):
        self.connection.close()


class Server:
    """A cluster of its own, owned by whoever runs this."""

    def __init__(self, name, conf="", checksums=False, primary=None):
        self.home = tempfile.mkdtemp(prefix=name + ".", dir=os.environ.get("NW_TORTURE_WORK"))
        self.socket = tempfile.mkdtemp(prefix="nwt.", dir="/tmp")
        self.data = self.home + "/data"
        self.logfile = self.home + "/log"
        self.seen = 0
        if primary is None:
            self._call("initdb", "-D", self.data, "-U", "postgres", "--auth=trust", "--locale=C.UTF-8", "-E", "UTF8",
                       "--no-sync", *(["--data-checksums"] if checksums else []))
            self.configure(CONF + conf)
        else:
            self._call("pg_basebackup", "-h", primary.socket, "-U", "postgres", "-D", self.data, "-R", "-c", "fast")
            self.configure(conf)
        self.configure(f"unix_socket_directories = '{self.socket}'\n")
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.stop("immediate")
        keep = os.environ.get("NW_TORTURE_LOGS")
        if keep and os.path.exists(self.logfile):
            shutil.copy(self.logfile, f"{keep}/{os.path.basename(self.home).split('.')[0]}-server.log")
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.rmtree(self.socket, ignore_errors=True)

    def _call(self, *command):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            raise RuntimeError(f"{command}: {done.stdout.decode(errors='replace')}")

    def configure(self, lines):
        with open(self.data + "/postgresql.conf", "a") as file:
            file.write(lines)

    def reload(self):
        os.kill(self.postmaster(), signal.SIGHUP)

    def start(self):
        """Start, and wait until the server answers."""
        done = subprocess.run(["pg_ctl", "-D", self.data, "-l", self.logfile, "-w", "-t", "120", "start"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if done.returncode != 0:
            raise RuntimeError("the server did not start: " + self.log()[-3000:])

    def stop(self, mode="fast"):
        subprocess.run(["pg_ctl", "-D", self.data, "-w", "-m", mode, "stop"],
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def postmaster(self):
        with open(self.data + "/postmaster.pid") as file:
            return int(file.readline())

    def children(self):
        pid = self.postmaster()
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(p) for p in file.read().split()]

    def kill_all(self):
        """Kill the postmaster and all it started; nothing may end in order."""
        postmaster = self.postmaster()
        os.kill(postmaster, signal.SIGSTOP)
        pids = [postmaster] + self.children()
        for pid in pids:
            end(pid)
        while any(is_running(pid) for pid in pids):
            time.sleep(0.01)
        for file in (self.data + "/postmaster.pid", self.socket + "/.s.PGSQL.5432.lock"):
            if os.path.exists(file):
                os.unlink(file)

    def await_ready(self, seconds=120):
        """Wait until sessions can be had."""
        limit = time.time() + seconds
        while True:
            try:
                return Session(self)
            except psycopg2.Error:
                if time.time() > limit:
                    raise
                time.sleep(0.05)

    def log(self):
        with open(self.logfile, errors="replace") as file:
            return file.read()

    def complaints(self):
        """Return the lines logged since the last call that tell of a defect."""
        text = self.log()
        new, self.seen = text[self.seen:], len(text)
        found = [line for line in new.splitlines() if COMPLAINT.search(line + "\n")]
        return found + internal_errors(new)


def end(pid):
    """Kill a process."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def is_running(pid):
    """Say whether a process is there, and not just a name on a list of the dead."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def internal_errors(log):
    """Return the internal errors of a log whose location is a file of the extension."""
    lines = log.splitlines()
    found = []
    for i, line in enumerate(lines):
        if " XX000 " not in line or "ERROR:" not in line:
            continue
        place = next((l for l in lines[i + 1:i + 8] if "LOCATION:" in l), "")
        if place.rpartition(" ")[2].split(":")[0] in SOURCES:
            found.append(line + " | " + place.partition("LOCATION:")[2].strip())
    return found


class Report:
    """Counts of a scenario; prints the first failures of each sort."""

    def __init__(self, name, unit):
        self.name, self.unit = name, unit
        self.done = self.failed = 0
        self.sorts = Counter()
        self.notes = Counter()
        self.lock = threading.Lock()

    def fail(self, sort, detail=""):
        """Count a failure."""
        with self.lock:
            self.failed += 1
            self.sorts[sort] += 1
            if self.sorts[sort] <= 3:
                print(f"  {self.name}: {sort}: {str(detail)[:1500]}", flush=True)

    def note(self, what, count=1):
        """Count something that is no failure."""
        with self.lock:
            self.notes[what] += count

    def check_log(self, server):
        """Count what the server's log complains about."""
        for line in server.complaints():
            self.fail("in the server's log", line)

    def finish(self):
        """Print the counts."""
        for sort, count in self.sorts.items():
            print(f"  {self.name}: {count} x {sort}")
        if self.notes:
            print(f"  {self.name}: " + ", ".join(f"{count} {what}" for what, count in sorted(self.notes.items())))
        if self.done == 0:
            self.fail("nothing was done")
        print(f"{self.name}: {self.done} {self.unit}, {self.failed} failed", flush=True)


# Made-up vectors, near one point for each class, and a prediction by plain SQL.
HELPERS = """
CREATE EXTENSION IF NOT EXISTS nwhead CASCADE;
CREATE FUNCTION centre(class int, j int) RETURNS float8 LANGUAGE sql IMMUTABLE AS
$$ SELECT ((class::bigint * 7919 + j * 104729 + class::bigint * j * 613) % 1000003 * 2654435761 % 1000003) / 1000003.0 $$;
CREATE FUNCTION near(class int, dim int, noise float8) RETURNS vector LANGUAGE sql VOLATILE AS
$$ SELECT array_agg((centre(class, j) + noise * (random() - 0.5))::float4 ORDER BY j)::vector FROM generate_series(1, dim) AS j $$;
CREATE FUNCTION naive(q vector, relation regclass, tau float8) RETURNS TABLE (label text, probability float8) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('WITH d AS (SELECT label::text AS l, -(embedding <-> $1) / $2 AS s FROM %s WHERE embedding IS NOT NULL AND label IS NOT NULL),
		e AS (SELECT l, sum(exp(s - (SELECT max(s) FROM d))) AS m FROM d GROUP BY l)
		SELECT l, (m / sum(m) OVER ())::float8 FROM e', relation) USING q, tau;
END $$;
"""


def test_module(session):
    """Make the functions of the module for tests, by its path."""
    session.run(f"""
        CREATE FUNCTION flip(regclass, int8, int4) RETURNS bool LANGUAGE c STRICT AS '{MODULE}', 'nwtest_flip';
        CREATE FUNCTION poke(regclass, int8, bytea) RETURNS bytea LANGUAGE c STRICT AS '{MODULE}', 'nwtest_poke';
        CREATE FUNCTION limit_memory(int8) RETURNS void LANGUAGE c STRICT AS '{MODULE}', 'nwtest_limit_memory'""")


def functions(session):
    """Return the extension's functions but for triggers': name, kind, types of arguments, names, whether a set."""
    return session.run("""
        SELECT p.proname, p.prokind, p.proargtypes::oid[]::regtype[]::text[], p.proargnames, p.proretset
          FROM pg_proc AS p JOIN pg_depend AS d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
          JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'nwhead'
         WHERE p.prorettype <> 'trigger'::regtype ORDER BY p.oid::regprocedure::text""")


def both_engines(session, calls, local=True):
    """Ask each call of the executor and of the index; return the calls they disagree about."""
    differing = []
    for sql, args in calls:
        answers = []
        for engine in ("executor", "index"):
            if local:
                session.run(f"SAVEPOINT engine; SET LOCAL nwhead.engine = {engine}")
            else:
                session.run(f"SET nwhead.engine = {engine}")
            answers.append(session.attempt(sql, args))
            if local:
                session.run("ROLLBACK TO engine")
        if repr(answers[0]) != repr(answers[1]):
            differing.append((sql, args, answers))
    return differing


def near_vector(rng, dim, classes=8, noise=1.0):
    """Make a vector of the sort that near() makes, without the server."""
    c = rng.randrange(classes)
    return "[" + ",".join("%.7g" % (((c * 7919 + j * 104729 + c * j * 613) % 1000003 * 2654435761 % 1000003) / 1000003.0
                                    + noise * (rng.random() - 0.5)) for j in range(1, dim + 1)) + "]"


def generator(seed, name):
    """Make random numbers that depend on the seed of the run and a name."""
    return random.Random(f"{seed} {name}")
