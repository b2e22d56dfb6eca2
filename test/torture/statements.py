"""One or more statements for every function of the extension, on tables of some size.

For scenarios that break off statements; each leaves nothing behind if it is
rolled back.
"""

DIM = 32
POINT = "'[" + ",".join(["0.5"] * DIM) + "]'"

SCHEMA = f"""
CREATE TABLE rows AS SELECT i AS id, near(i % 10, {DIM}, 2) AS embedding, 'c' || i % 10 AS label, i % 3 AS w FROM generate_series(1, 4000) AS i;
ALTER TABLE rows ALTER embedding TYPE vector({DIM});
CREATE TABLE halves AS SELECT id, embedding::halfvec({DIM}), id % 5 AS label FROM rows LIMIT 1500;
CREATE TABLE queries AS SELECT * FROM rows ORDER BY id DESC LIMIT 400;
CREATE INDEX rows_nw ON rows USING nw (embedding) INCLUDE (label);
CREATE INDEX halves_nw ON halves USING nw (embedding) INCLUDE (label);
CREATE TABLE parts (id int, embedding vector({DIM}), label text) PARTITION BY HASH (id);
CREATE TABLE parts0 PARTITION OF parts FOR VALUES WITH (modulus 2, remainder 0);
CREATE TABLE parts1 PARTITION OF parts FOR VALUES WITH (modulus 2, remainder 1);
INSERT INTO parts SELECT id, embedding, label FROM rows WHERE id <= 1000;
CREATE INDEX parts_nw ON parts USING nw (embedding) INCLUDE (label);
CREATE VIEW sight AS SELECT * FROM rows WHERE id % 2 = 0;
SELECT nw_register(n, r::regclass, tau => 0.2) FROM (VALUES ('rows', 'rows'), ('halves', 'halves'), ('queries', 'queries'), ('parts', 'parts'), ('sight', 'sight')) AS t (n, r);
SELECT nw_register('heavy', 'rows', weight => 'w', kernel => 'cosine', tau => 0.1);
SELECT nw_distill('queries', 'prototypes', k => 3);
CREATE FUNCTION predict_label() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN NEW.label := coalesce(NEW.label, nw_predict(NEW.embedding, 'rows')); RETURN NEW; END $$;
CREATE TRIGGER predict BEFORE INSERT ON rows FOR EACH ROW EXECUTE FUNCTION predict_label();
VACUUM ANALYZE;
"""

STATEMENTS = {
    "nw_predict by executor": "SET LOCAL nwhead.engine = executor; SELECT count(nw_predict(embedding, 'rows')) FROM queries",
    "nw_predict by index": "SET LOCAL nwhead.engine = index; SELECT count(nw_predict(embedding, 'rows')) FROM queries",
    "nw_predict uncached": "SET LOCAL nwhead.statement_cache = 0; SELECT count(nw_predict(embedding, 'rows')) FROM queries",
    "nw_predict of parts": "SET LOCAL nwhead.engine = index; SELECT count(nw_predict(embedding, 'parts')) FROM queries",
    "nw_predict of a view": "SELECT count(nw_predict(embedding, 'sight')) FROM queries",
    "nw_predict of prototypes": "SELECT count(nw_predict(embedding, 'prototypes')) FROM rows",
    "nw_predict excluding": "SELECT count(nw_predict(embedding, 'rows', exclude => ARRAY[id::text])) FROM queries",
    "nw_predict of halves": "SELECT count(nw_predict(embedding::halfvec, 'halves')) FROM queries",
    "nw_predict of text": "SELECT count(nw_predict(embedding::text, 'heavy')) FROM queries",
    "nw_classify": "SELECT count(c.label) FROM queries AS q, nw_classify(q.embedding, 'rows') AS c",
    "nw_predict_proba": "SELECT count(*) FROM queries AS q, nw_predict_proba(q.embedding, 'rows')",
    "nw_weights": "SELECT count(*) FROM queries AS q, nw_weights(q.embedding, 'rows', 5)",
    "nw_weights by index": "SET LOCAL nwhead.engine = index; SELECT count(*) FROM queries AS q, nw_weights(q.embedding, 'rows', 2000)",
    "nw_explain": "SELECT count(nw_explain(q.embedding, 'rows', 5, ARRAY[q.label], ARRAY[q.id])) FROM queries AS q",
    "nw_predict of arrays": "SELECT count(nw_predict(embedding::real[]::float8[], 'rows')) FROM queries",
    "nw_influence": "SELECT count(*) FROM queries AS q, nw_influence(q.embedding, q.label, 'rows')",
    "nw_regress": "SELECT sum(nw_regress(embedding, 'halves')) FROM queries",
    "nw_predict_set": "SELECT count(*) FROM nw_predict_set('rows', 'queries')",
    "nw_evaluate": "SELECT * FROM nw_evaluate('rows', 'queries')",
    "nw_confusion": "SELECT count(*) FROM nw_confusion('heavy', 'queries')",
    "nw_class_report": "SELECT count(*) FROM nw_class_report('heavy', 'queries')",
    "nw_coverage": "SELECT count(*) FROM nw_coverage('rows', 'queries')",
    "nw_threshold": "SELECT * FROM nw_threshold('rows', 'queries', 0.1)",
    "nw_score": "SELECT count(*) FROM (SELECT nw_score(i % 7, i % 5, random(), random(), random()) FROM generate_series(1, 50000) AS i GROUP BY i % 500) AS t",
    "nw_reliability": "SELECT count(*) FROM nw_reliability('sight', 'queries')",
    "nw_temperature_sweep": "SELECT count(*) FROM nw_temperature_sweep('rows', 'queries')",
    "nw_calibrate": "SELECT * FROM nw_calibrate('queries')",
    "nw_distill": "SELECT nw_distill('rows', 'other', k => 4)",
    "nw_suspects": "SELECT count(*) FROM nw_suspects('queries')",
    "nw_diagnose": "SELECT nw_diagnose('queries', 'queries')",
    "nw_register": "SELECT nw_register('r' || i, 'rows') FROM generate_series(1, 60) AS i",
    "nw_unregister": "SELECT nw_unregister(name) FROM nw_sets WHERE name <> 'queries'",
    "nw_set_tau": "SELECT nw_set_tau('rows', i) FROM generate_series(1, 200) AS i",
    "nw_vote": f"SELECT nw_vote(label, embedding <-> {POINT}) FROM rows, generate_series(1, 20)",
    "nw_argmax": f"SELECT nw_argmax(id::text, embedding <-> {POINT}, 0.5) FROM rows, generate_series(1, 5)",
    "nw_ece": "SELECT nw_ece(random(), random() < 0.5), nw_mce(random(), true, 40) FROM generate_series(1, 100000)",
    "nw_mce by groups": "SELECT count(*) FROM (SELECT nw_mce(random(), true) FROM generate_series(1, 50000) AS i GROUP BY i % 500) AS t",
    "nw_index_work": "SELECT count(*) FROM queries AS q, nw_index_work(q.embedding, 'rows')",
    "nw_index_lists": "SELECT count(*) FROM generate_series(1, 20), nw_index_lists('rows_nw')",
    "nw_index_health": "SELECT count(*) FROM generate_series(1, 20), nw_index_health('rows_nw')",
    "nw_check_index": "SELECT nw_check_index('rows_nw'), nw_check_index('halves_nw')",
    "nw_dump": "SELECT count(*) FROM generate_series(1, 50), nw_dump() WHERE nw_is_owner('postgres')",
    "a restored set": "INSERT INTO nw_saved SELECT s.name || i, s.owner, s.mode, s.parent, s.schema, s.relation, s.embedding, s.label, s.id,"
        " s.weight, s.kernel, s.tau, s.k, s.seed, s.dim, s.centroids FROM generate_series(1, 30) AS i, nw_dump() AS s WHERE s.ordinal IS NULL",
    "restored prototypes": "INSERT INTO nw_saved SELECT s.* FROM generate_series(1, 10), nw_dump() AS s WHERE ordinal IS NOT NULL",
    "CREATE INDEX": "CREATE INDEX more_nw ON rows USING nw (embedding) INCLUDE (label)",
    "REINDEX": "REINDEX INDEX rows_nw",
    "INSERT": "INSERT INTO rows SELECT id + 100000, embedding, 'new' || id % 50, 1 FROM rows LIMIT 1500",
    "INSERT with a trigger": "INSERT INTO rows SELECT id + 100000, embedding, NULL, 1 FROM queries LIMIT 40",
    "UPDATE": "UPDATE rows SET embedding = embedding + embedding WHERE id % 5 = 0",
    "errors caught": """DO $$ DECLARE x text; BEGIN FOR i IN 1 .. 30 LOOP BEGIN
        SELECT nw_predict(embedding, 'rows') INTO x FROM queries OFFSET i LIMIT 1; INSERT INTO queries SELECT * FROM queries LIMIT 1;
        PERFORM 1 / (i % 3); EXCEPTION WHEN division_by_zero THEN NULL; END; END LOOP; END $$""",
    "a cursor": "DECLARE c CURSOR FOR SELECT nw_predict(embedding, 'rows') FROM queries; FETCH 100 FROM c; FETCH ALL FROM c",
}


def uncovered(functions):
    """Return the names of functions that no statement calls."""
    text = " ".join(STATEMENTS.values())
    return sorted({name for name, kind, types, *_ in functions if "internal" not in types and name + "(" not in text})
