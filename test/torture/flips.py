"""Change bytes of index pages in shared buffers, and use the index.

Errors are welcome.  A crash, a loop, or a session that cannot be cancelled is a
failure, and so is a wrong answer about which nw_check_index has nothing to say.
"""

import struct

from server import HELPERS, Hang, Lost, Server, generator, near_vector, test_module

DIM = 16
BLOCK = 8192
ROWS = 700
KINDS = {1: "meta", 2: "labels", 3: "lists", 4: "centres", 5: "codes", 6: "vectors", 7: "trees"}
LABELS = {
    "text": "'label' || {0} % 7",
    "int": "{0} % 7",
    "int[]": "ARRAY[{0} % 7, 3, NULL]",
    "numeric": "({0} % 7)::numeric / 3",
}
LIMIT = "15s"

READ = {
    "nw_predict": "SET nwhead.statement_cache = 0; SELECT nw_predict(e, 's') FROM queries ORDER BY id",
    "nw_predict of some": "SELECT nw_predict(e, 's', classes => (SELECT array_agg(DISTINCT label::text) FROM rows WHERE id % 7 < 3)) FROM queries ORDER BY id",
    "nw_predict_proba": "SELECT * FROM queries, nw_predict_proba(e, 's') WHERE id = 1",
    "nw_weights": "SELECT * FROM queries, nw_weights(e, 's', 5) WHERE id = 2",
    "nw_influence": "SELECT * FROM queries, nw_influence(e, (SELECT label::text FROM rows WHERE rows.id = 1), 's') WHERE queries.id = 1",
    "nw_predict_set": "SELECT * FROM nw_predict_set('s', 'q') ORDER BY query_id",
    "nw_suspects": "SET nwhead.statement_cache = '10MB'; SELECT * FROM nw_suspects('s', 3)",
}
LOOK = {
    "nw_index_work": "SELECT count(*) FROM queries, nw_index_work(e, 's')",
    "nw_index_lists": "SELECT count(*) FROM nw_index_lists('rows_nw')",
    "nw_index_health": "SELECT * FROM nw_index_health('rows_nw')",
    "nw_check_index without the table": "SELECT nw_check_index('rows_nw', false)",
}
WRITE = {
    "INSERT": "INSERT INTO rows SELECT 5000 + i, near(i % 8, {dim}, 1), {label} FROM generate_series(1, 12) AS i",
    "UPDATE": "UPDATE rows SET embedding = near(id % 5, {dim}, 1) WHERE id % 40 = 0",
    "VACUUM": "VACUUM rows",
    "ANALYZE": "ANALYZE rows",
}


class Target:
    """A table, its index, and what the index answers while it is whole."""

    def __init__(self, server, session, label):
        self.server, self.session, self.label = server, session, label
        value = LABELS[label].format("i")
        session.run(f"DROP TABLE IF EXISTS rows, queries; CREATE TABLE rows (id int, embedding vector({DIM}), label {label})")
        session.run(f"INSERT INTO rows SELECT i, near(i % 7, {DIM}, 1.5), {value} FROM generate_series(1, {ROWS}) AS i")
        session.run(f"CREATE TABLE queries AS SELECT i AS id, near(i % 7, {DIM}, 1.5) AS e FROM generate_series(1, 3) AS i")
        session.run("CREATE INDEX rows_nw ON rows USING nw (embedding) INCLUDE (label)")
        session.run(f"INSERT INTO rows SELECT 1000 + i, near(i % 7, {DIM}, 1.5), {LABELS[label].format('(i + 4)')} FROM generate_series(1, 30) AS i")
        session.run("SELECT nw_register('s', 'rows', tau => 0.3, replace => true)")
        session.run("SELECT nw_register('q', 'queries', embedding => 'e', label => NULL, replace => true)")
        self.restore()

    def restore(self):
        """Build the index anew, and note its pages and answers."""
        session = self.session
        session.run("SET statement_timeout = 0; DELETE FROM rows WHERE id >= 5000; REINDEX INDEX rows_nw")
        session.run("VACUUM rows")
        session.run("CHECKPOINT")
        with open(self.server.data + "/" + session.value("SELECT pg_relation_filepath('rows_nw')"), "rb") as file:
            data = file.read()
        self.pages = [data[i:i + BLOCK] for i in range(0, len(data), BLOCK)]
        self.kinds = {}
        for block, page in enumerate(self.pages):
            self.kinds.setdefault(KINDS[struct.unpack_from("<H", page, BLOCK - 4)[0]], []).append(block)
        session.run(f"SET nwhead.engine = index; SET statement_timeout = '{LIMIT}'")
        self.answers = {name: session.run(sql) for name, sql in READ.items()}

    def choose(self, rng):
        """Choose a byte: kinds of pages alike, and heads and ends of pages more often."""
        kind = rng.choice(sorted(self.kinds))
        block = rng.choice(self.kinds[kind])
        lower, upper = struct.unpack_from("<HH", self.pages[block], 12)
        part = rng.random()
        if part < 0.15:
            place = rng.randrange(24)
        elif part < 0.5:
            place = rng.randrange(24, 24 + 48)
        elif part < 0.6:
            place = rng.randrange(BLOCK - 8, BLOCK)
        elif part < 0.8 and upper < BLOCK - 8:
            place = rng.randrange(upper, BLOCK)
        else:
            place = rng.randrange(24, max(lower, 25))
        return kind, block * BLOCK + place, rng.choice((1 << rng.randrange(8), 255, rng.randrange(1, 256)))


def attempt(report, session, name, sql, where):
    """Run a statement on the damaged index; return its answer, and count what must not be."""
    answer = session.attempt(sql)
    if isinstance(answer, tuple):
        report.note("errors " + answer[0])
        if answer[0] == "57014":
            report.fail("does not end", (name, where))
        elif answer[0] == "XX000":
            report.fail("an internal error", (name, where, answer))
    return answer


def flip(report, target, rng, write):
    """Change a byte, use the index, and change the byte back."""
    session = target.session
    kind, offset, mask = target.choose(rng)
    where = f"{target.label}: {kind}, block {offset // BLOCK}, byte {offset % BLOCK}, mask {mask}"
    size = len(target.pages) * BLOCK
    if not session.value("SELECT flip('rows_nw', %s, %s)", (offset, mask)):
        report.note("that PostgreSQL itself would notice")
    wrong = []
    for name, sql in READ.items():
        answer = attempt(report, session, name, sql, where)
        if not isinstance(answer, tuple) and answer != target.answers[name]:
            wrong.append(name)
    for name, sql in LOOK.items():
        attempt(report, session, name, sql, where)
    checked = attempt(report, session, "nw_check_index", "SELECT nw_check_index('rows_nw')", where)
    if wrong:
        report.note("wrong answers")
        if not isinstance(checked, tuple):
            report.fail("wrong, and nw_check_index finds nothing", (wrong, where))
    if session.value("SELECT pg_relation_size('rows_nw')") != size:
        report.fail("reading made the index larger", where)
        write = True
    if write:
        for name, sql in WRITE.items():
            attempt(report, session, name, sql.format(dim=DIM, label=LABELS[target.label].format("i")), where)
        for name, sql in READ.items():
            attempt(report, session, name + " after writing", sql, where)
        if session.value("SELECT pg_relation_size('rows_nw')") > 3 * size + 100 * BLOCK:
            report.fail("writing made the index much larger", where)
        target.restore()
    else:
        session.run("SELECT flip('rows_nw', %s, %s)", (offset, mask))


def run(report, amount, seed):
    """Change so many bytes, in indexes with labels of several types."""
    report.unit = "flips"
    rng = generator(seed, "flips")
    with Server("flips", "restart_after_crash = on\nshared_buffers = 64MB\n") as server:
        session = server.await_ready()
        session.run(HELPERS)
        test_module(session)
        for label in LABELS:
            target = Target(server, session, label)
            for i in range(amount // len(LABELS)):
                try:
                    flip(report, target, rng, write=i % 8 == 0)
                except (Lost, Hang) as error:
                    report.fail("a session was lost or did not end", error)
                    if isinstance(error, Hang):
                        server.kill_all()
                        server.start()
                    session = target.session = server.await_ready()
                    target.restore()
                report.done += 1
        # answers again, out of whole pages
        target.restore()
        report.check_log(server)
