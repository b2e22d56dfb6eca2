"""Cancel statements at random moments; the session must be as good as new."""

import threading
import time

from server import HELPERS, Server, Session, functions, generator
from statements import SCHEMA, STATEMENTS, uncovered

# Memory that may be held beyond what there was after the first runs
SLACK = 1 << 20

LEFT_LOCKS = """
SELECT count(*) FROM pg_locks AS l WHERE pid = pg_backend_pid() AND NOT (locktype = 'virtualxid' OR relation = 'pg_locks'::regclass)"""
MEMORY = """
SELECT coalesce(sum(total_bytes) FILTER (WHERE name ILIKE 'nw%'), 0)::bigint, sum(total_bytes)::bigint FROM pg_backend_memory_contexts"""


class Canceller(threading.Thread):
    """Cancels another session's statement a given time after being told to."""

    def __init__(self, server, pid):
        super().__init__(daemon=True)
        self.session = Session(server)
        self.pid = pid
        self.go = threading.Event()
        self.idle = threading.Event()
        self.idle.set()
        self.delay = 0

    def arm(self, delay):
        self.delay = delay
        self.idle.clear()
        self.go.set()

    def run(self):
        while True:
            self.go.wait()
            self.go.clear()
            time.sleep(self.delay)
            self.session.run(f"SELECT pg_cancel_backend({self.pid})")
            self.idle.set()


def break_off(session, canceller, sql, rng, duration):
    """Run a statement and cancel it; return what came of it."""
    # most end before they are cancelled if the moments are spread over the whole
    delay = duration * rng.random() * rng.choice((1, 1, 0.3))
    session.run("BEGIN")
    if rng.random() < 0.5:
        session.run("SAVEPOINT before")
        nested = True
    else:
        nested = False
    if rng.random() < 0.5 and delay >= 0.0015:
        session.run(f"SET LOCAL statement_timeout = {max(1, int(delay * 1000))}")
        answer = session.attempt(sql)
    else:
        canceller.arm(delay)
        answer = session.attempt(sql)
        # the signal may come after the statement: take it before going on
        while not canceller.idle.is_set():
            session.attempt("SELECT 1")
        session.attempt("SELECT 1")
    if nested:
        session.attempt("ROLLBACK TO before")
        session.attempt("SELECT nw_predict(embedding, 'queries') FROM queries LIMIT 1")
    # a signal that comes late may hit this, too
    while isinstance(session.attempt("ROLLBACK"), tuple):
        pass
    return answer


def run(report, amount, seed):
    """Cancel so many statements, going round all of them."""
    report.unit = "cancels"
    rng = generator(seed, "cancel")
    with Server("cancel") as server:
        session = Session(server)
        session.run(HELPERS)
        for part in SCHEMA.split(";\n"):
            if part.strip():
                session.run(part)
        for name in uncovered(functions(session)):
            report.fail("a function that is not tried", name)
        session.run("SET extra_float_digits = 1")
        durations = {}
        for _ in range(2):
            for name, sql in STATEMENTS.items():
                start = time.time()
                session.run("BEGIN")
                answer = session.attempt(sql)
                durations[name] = max(time.time() - start, 0.0005)
                session.run("ROLLBACK")
                if isinstance(answer, tuple):
                    report.fail("a statement fails by itself", (name, answer))
        ours, all_before = session.run(MEMORY)[0]
        canceller = Canceller(server, session.pid)
        canceller.start()
        attempts = 0
        while report.done < amount and attempts < 5 * amount + 100:
            for name, sql in STATEMENTS.items():
                attempts += 1
                answer = break_off(session, canceller, sql, rng, durations[name])
                if not isinstance(answer, tuple):
                    report.note("too late")
                elif answer[0] == "57014":
                    report.done += 1
                else:
                    report.fail("another error than the cancel", (name, answer))
                if session.value("SELECT 1") != 1 or session.value("SELECT nw_predict(embedding, 'queries') IS NOT NULL FROM queries LIMIT 1") is not True:
                    report.fail("the session is of no use", name)
                if session.value(LEFT_LOCKS):
                    report.fail("locks are left", (name, session.run("SELECT * FROM pg_locks WHERE pid = pg_backend_pid()")))
                mine, everything = session.run(MEMORY)[0]
                if mine > ours + SLACK or everything > all_before + 8 * SLACK:
                    report.fail("memory is left", (name, ours, mine, all_before, everything))
                    ours, all_before = max(mine, ours), max(everything, all_before)
                if report.done >= amount:
                    break
        for index in ("rows_nw", "halves_nw"):
            answer = session.attempt(f"SELECT nw_check_index('{index}')")
            if isinstance(answer, tuple):
                report.fail("an index is damaged", answer)
        session.close()
        report.check_log(server)
