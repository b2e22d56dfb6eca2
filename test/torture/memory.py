"""Run statements with too little memory; they end with "out of memory" at worst."""

import math

from server import HELPERS, Lost, Server, Session, generator, test_module
from statements import SCHEMA, STATEMENTS

# out of memory; a limit of the extension's own; a shared memory segment that cannot be made
ALLOWED = {"53200", "54000", "53000"}

LEFT = "SELECT coalesce(sum(total_bytes), 0)::bigint FROM pg_backend_memory_contexts WHERE name ILIKE 'nw%'"


def run(report, amount, seed):
    """Run so many statements, each with memory of its own size."""
    report.unit = "statements"
    rng = generator(seed, "memory")
    with Server("memory", "max_parallel_workers_per_gather = 0\njit = off\n") as server:
        session = Session(server)
        session.run(HELPERS)
        for part in SCHEMA.split(";\n"):
            if part.strip():
                session.run(part)
        test_module(session)
        session.close()
        names = list(STATEMENTS)
        while report.done < amount:
            session = server.await_ready()
            try:
                session.run("SELECT nw_predict(embedding, 'queries') FROM queries LIMIT 1")
                session.run(f"SET work_mem = '{rng.choice((64, 64, 1000, 4000))}kB'; SET maintenance_work_mem = '{rng.choice((1, 1, 4, 64))}MB';"
                            f"SET nwhead.statement_cache = '{rng.choice((0, 64, 1000, 100000))}kB'; SET statement_timeout = '60s'")
                # the libraries have to be there: loading them is no matter of the extension
                session.run("LOAD 'vector'; DO 'BEGIN END'")
                before = session.value(LEFT)
                session.run("SELECT limit_memory(%s)", (int(math.exp(rng.uniform(math.log(2e4), math.log(3e7)))),))
                for name in rng.sample(names, 4):
                    report.done += 1
                    session.attempt("BEGIN")
                    answer = session.attempt(STATEMENTS[name])
                    session.attempt("ROLLBACK")
                    code = answer[0] if isinstance(answer, tuple) else "00000"
                    report.note({"00000": "done", "53200": "out of memory"}.get(code, "SQLSTATE " + code))
                    if code not in ALLOWED | {"00000"}:
                        report.fail("another error than out of memory", (name, answer))
                # ROLLBACK wants some memory, too
                if isinstance(session.attempt("ROLLBACK"), tuple):
                    report.note("a session that could not even roll back")
                    session.close()
                    continue
                session.run("SELECT limit_memory(-1)")
                session.run("SELECT nw_predict(embedding, 'queries') FROM queries LIMIT 1")
                if session.value(LEFT) > before + (1 << 20):
                    report.fail("memory is left")
                session.close()
            except Lost as lost:
                report.fail("a session was lost", lost)
        session = server.await_ready()
        for index in ("rows_nw", "halves_nw"):
            answer = session.attempt(f"SELECT nw_check_index('{index}')")
            if isinstance(answer, tuple):
                report.fail("an index is damaged", answer)
        session.close()
        report.check_log(server)
