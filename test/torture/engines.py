"""Random tables, changes and queries, asked of both engines in several snapshots."""

import psycopg2

from server import HELPERS, Server, Session, both_engines, generator

KERNELS = ["euclidean", "gaussian", "hypersphere", "cosine", "dot"]
TAUS = [1, 0.05, 1e-3, 100, 1e-100, 1e100, 1e-30]
LABELS = {
    "text": lambda rng, i: f"'l{i}'",
    "int": lambda rng, i: str(i - 3),
    "numeric": lambda rng, i: rng.choice([f"'{i}'", f"'{i}.0'", "'NaN'", "'-0'"]),
    "bool": lambda rng, i: ["true", "false"][i % 2],
    "varchar(9)": lambda rng, i: f"'v{i}'",
    '"char"': lambda rng, i: f"'{'abcdefgh'[i % 8]}'",
    "name": lambda rng, i: f"'n{i}'",
    "float8": lambda rng, i: rng.choice(["'-0'", "'0'", "'NaN'", f"'{i / 3:g}'"]),
    "uuid": lambda rng, i: f"'00000000-0000-0000-0000-0000000000{i:02x}'",
    "bytea": lambda rng, i: f"'\\x{i:02x}00'",
    "date": lambda rng, i: f"(date '2000-01-01' + {i})",
    "text[]": lambda rng, i: f"ARRAY['a', NULL, '{i}']",
    "char(5)": lambda rng, i: f"'c{i}'",
}
# How large numbers are
NUMBERS = [
    lambda rng: rng.gauss(0, 1), lambda rng: rng.gauss(0, 1), lambda rng: rng.gauss(0, 1),
    lambda rng: rng.choice([0.0, 1.0, -1.0]),
    lambda rng: rng.choice([1e38, -1e38, 3.4e38, 1e-45, 1e-38, 0.0, 1.0, -3.4e38]),
    lambda rng: rng.gauss(0, 1) * 10 ** rng.uniform(-30, 30),
    lambda rng: 1000 + rng.gauss(0, 1e-3),
    lambda rng: rng.gauss(0, 1e-20),
]


class Workload:
    """A table with an index, and what is done to it."""

    def __init__(self, rng, session):
        self.rng, self.session = rng, session
        self.half = rng.random() < 0.3
        self.kind = "halfvec" if self.half else "vector"
        self.dim = rng.choice([1, 2, 3, 5, 16, 17, 33, 64, 100, 384, 1000, 2100])
        self.number = rng.choice(NUMBERS)
        self.classes = rng.choice([1, 2, 3, 10, 100])
        self.label = rng.choice(sorted(LABELS))
        self.parts = rng.random() < 0.25
        self.kernel, self.tau = rng.choice(KERNELS), rng.choice(TAUS)
        self.next_id = 0

    def __str__(self):
        return (f"{self.kind}({self.dim}), numbers {NUMBERS.index(self.number)}, {self.classes} classes of {self.label},"
                f" {self.kernel}, tau {self.tau:g}{', parts' if self.parts else ''}")

    def vector(self):
        most = 60000 if self.half else 3.4e38
        return "[" + ",".join("%.9g" % max(-most, min(most, self.number(self.rng))) for _ in range(self.dim)) + "]"

    def insert(self, n, session=None):
        """Insert rows, a few of them without a vector or a label."""
        rows = []
        for _ in range(n):
            vector = "NULL" if self.rng.random() < 0.02 else f"'{self.vector()}'"
            label = "NULL" if self.rng.random() < 0.02 else LABELS[self.label](self.rng, self.rng.randrange(self.classes))
            rows.append(f"({self.next_id}, {vector}, {label})")
            self.next_id += 1
        if rows:
            (session or self.session).run("INSERT INTO work (id, embedding, label) VALUES " + ", ".join(rows))

    def create(self):
        run, rng = self.session.run, self.rng
        run("DROP TABLE IF EXISTS work")
        columns = f"id int, embedding {self.kind}({self.dim}), label {self.label}"
        if self.parts:
            run(f"CREATE TABLE work ({columns}) PARTITION BY HASH (id);"
                "CREATE TABLE work0 PARTITION OF work FOR VALUES WITH (modulus 2, remainder 0);"
                f"CREATE TABLE work1 (gone int, label {self.label}, id int, embedding {self.kind}({self.dim}));"
                "ALTER TABLE work1 DROP gone; ALTER TABLE work ATTACH PARTITION work1 FOR VALUES WITH (modulus 2, remainder 1)")
        else:
            run(f"CREATE TABLE work (gone text, {columns}); ALTER TABLE work DROP gone")
        n = rng.choice([0, 1, 2, 30, 64, 65, 200, 700, 1500] if self.dim < 400 else [1, 70, 200])
        early = rng.random() < 0.7
        if early:
            self.insert(n)
        run("CREATE INDEX work_nw ON work USING nw (embedding) INCLUDE (label)"
            + ("" if self.parts else f" WITH (lists = {rng.choice([0, 0, 1, 3, 20])})"))
        if not early:
            self.insert(n)
        run("SELECT nw_register('work', 'work', kernel => %s, tau => %s, replace => true)", (self.kernel, self.tau))

    def change(self, other):
        """Change the table in some way; the other session does not commit."""
        what = self.rng.randrange(9)
        try:
            if what < 2:
                self.insert(self.rng.choice([1, 5, 80]))
            elif what < 4:
                self.session.run("DELETE FROM work WHERE random() < %s", (self.rng.random(),))
            elif what == 4:
                self.session.run("UPDATE work SET embedding = (SELECT embedding FROM work AS w WHERE w.embedding IS NOT NULL ORDER BY random() LIMIT 1)"
                                 " WHERE random() < 0.3")
            elif what == 5:
                self.session.run(self.rng.choice(("REINDEX INDEX work_nw", "REINDEX INDEX CONCURRENTLY work_nw")))
            elif what == 6:
                self.session.run("UPDATE work SET id = id WHERE random() < 0.5")
            elif what == 7:
                self.session.run("UPDATE work SET label = NULL WHERE random() < 0.05")
            else:
                self.insert(20, other)
            if self.rng.random() < 0.4:
                self.session.run("VACUUM work")
        except psycopg2.errors.LockNotAvailable:
            pass

    def calls(self):
        """Write calls for a query."""
        q = self.vector()
        cast = f"%s::{self.kind}"
        return [
            (f"SELECT nw_predict({cast}, 'work')", (q,)),
            (f"SELECT * FROM nw_classify({cast}, 'work')", (q,)),
            (f"SELECT * FROM nw_predict_proba({cast}, 'work')", (q,)),
            (f"SELECT * FROM nw_weights({cast}, 'work', 7)", (q,)),
            (f"SELECT label FROM nw_index_work({cast}, 'work')", (q,)),
            ("SELECT nw_predict(%s, 'work', exclude => ARRAY['3', '5'])", (q,)),
            (f"SELECT nw_predict({cast}, 'work', classes => (SELECT array_agg(label::text) FROM (SELECT label FROM work WHERE label IS NOT NULL ORDER BY id LIMIT 2) AS t))", (q,)),
            (f"SELECT * FROM nw_influence({cast}, (SELECT label::text FROM work WHERE label IS NOT NULL ORDER BY id LIMIT 1), 'work')", (q,)),
            ("SELECT nw_predict(embedding, 'work') FROM (SELECT embedding FROM work WHERE embedding IS NOT NULL ORDER BY id LIMIT 4) AS t", None),
            ("SELECT * FROM nw_evaluate('work', 'work')", None),
        ]


def run(report, amount, seed):
    """Try so many workloads."""
    report.unit = "workloads"
    with Server("engines") as server:
        setup = Session(server)
        setup.run(HELPERS)
        setup.close()
        while report.done < amount:
            rng = generator(seed, f"engines {report.done}")
            sessions = {name: Session(server) for name in ("committed", "old", "uncommitted")}
            for session in sessions.values():
                session.run("SET lock_timeout = '300ms'")
            work = Workload(rng, sessions["committed"])
            work.create()
            sessions["old"].run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class")
            if rng.random() < 0.5:
                sessions["old"].run("SELECT count(*) FROM work")
            sessions["uncommitted"].run("BEGIN")
            for _ in range(rng.randrange(1, 5)):
                work.change(sessions["uncommitted"])
                for name, session in sessions.items():
                    for difference in both_engines(session, work.calls(), local=name != "committed"):
                        report.fail("the engines differ", (str(work), name, difference))
                    report.note("comparisons", 10)
            for session in list(sessions.values())[1:]:
                session.run("ROLLBACK")
            session = sessions["committed"]
            for (index,) in session.run("SELECT indexrelid::regclass::text FROM pg_index JOIN pg_class AS c ON c.oid = indexrelid JOIN pg_am AS a ON a.oid = relam"
                                        " WHERE amname = 'nw' AND indisvalid AND relkind = 'i'"):
                answer = session.attempt(f"SELECT nw_check_index('{index}')")
                if isinstance(answer, tuple):
                    report.fail("an index is damaged", (str(work), answer))
            for session in sessions.values():
                session.close()
            report.done += 1
        report.check_log(server)
