"""Talk to the server through psql, in a database of one's own."""

import json
import os
import subprocess

import numpy as np


def vector_text(x):
    """Write a vector without losing a bit of its float."""
    return "[" + ",".join("%.9g" % v for v in x) + "]"


def copy_field(value):
    """Write a field for COPY."""
    if value is None:
        return "\\N"
    return str(value).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


class Failed(Exception):
    """A statement failed."""


class Server:
    """A database that lives as long as a part of the tests."""

    def __init__(self, database):
        self.database = database

    def __enter__(self):
        for sql in (f"DROP DATABASE IF EXISTS {self.database}", f"CREATE DATABASE {self.database}"):
            self._psql(sql + ";", os.environ.get("PGDATABASE", "postgres"))
        self.run("CREATE EXTENSION nwhead CASCADE;")
        return self

    def __exit__(self, *unused):
        self._psql(f"DROP DATABASE {self.database};", os.environ.get("PGDATABASE", "postgres"))

    def _psql(self, script, database):
        done = subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-v", "VERBOSITY=verbose",
                               "-d", database, "-f", "-"],
                              input="SET client_min_messages = warning;\n" + script,
                              encoding="utf-8", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode != 0:
            raise Failed(done.stderr)
        return done.stdout

    def run(self, script):
        """Run statements; return what they print."""
        return self._psql(script, self.database)

    def rows(self, query, settings=""):
        """Run a query; return its rows as dictionaries."""
        text = self.run(f"{settings}\nSELECT to_json(r) FROM ({query}) AS r;\n")
        return [json.loads(line) for line in text.splitlines()]

    def row(self, query, settings=""):
        """Run a query of one row."""
        (row,) = self.rows(query, settings)
        return row

    def value(self, query):
        """Run a query of one value."""
        return self.run(f"{query};").strip()

    def error(self, query, settings=""):
        """Run a query that fails; return its SQLSTATE, or None."""
        try:
            self.run(f"{settings}\n{query};")
        except Failed as failure:
            return str(failure).split("ERROR:")[1].split(":")[0].strip()
        return None

    def load(self, table, rows, half=False):
        """Create a table of rows (see model.Rows); NaN stands for a vector that is NULL."""
        kind = "halfvec" if half else "vector"
        lines = [f"CREATE TABLE {table} (id text, embedding {kind}, label text, weight float8);\n",
                 f"COPY {table} FROM STDIN;\n"]
        for i in range(len(rows.id)):
            vector = None if np.isnan(rows.x[i, 0]) else vector_text(rows.x[i])
            fields = (rows.id[i], vector, rows.label[i], rows.weight[i])
            lines.append("\t".join(copy_field(f) for f in fields) + "\n")
        self.run("".join(lines) + "\\.\n")

    def index(self, table, dim, half=False):
        """Create an nw index on a table that was loaded."""
        kind = "halfvec" if half else "vector"
        self.run(f"ALTER TABLE {table} ALTER embedding TYPE {kind}({dim}); "
                 f"CREATE INDEX ON {table} USING nw (embedding) INCLUDE (label);")

    def register(self, name, table, **options):
        """Register a set."""
        more = "".join(f", {k} => " + ("NULL" if v is None else repr(v))
                       for k, v in options.items())
        self.run(f"SELECT nw_register('{name}', '{table}'{more});")
