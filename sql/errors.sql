-- every kind of bad input: SQLSTATE, message, detail and hint
\pset format unaligned
\pset tuples_only
CREATE FUNCTION e_try(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    message text;
    detail text;
    hint text;
BEGIN
    EXECUTE command;
    RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    RETURN concat_ws(E'\n  ', SQLSTATE || ' ' || message, nullif(detail, ''), nullif(hint, ''));
END
$$;
CREATE TABLE e_rows (id int, embedding vector, label text, number int);
CREATE TABLE e_empty (id int, embedding vector(2), label text);
INSERT INTO e_rows VALUES (1, '[1,2]', 'a', 1), (2, '[2,1]', 'b', 2);

-- no sets at all
SELECT e_try($$SELECT nw_predict('[1,2]', 'e')$$);

SELECT nw_register('e', 'e_rows');
SELECT nw_register('e empty', 'e_empty');
SELECT nw_register('e queries', 'e_rows', label => NULL);

-- unknown set
SELECT e_try($$SELECT nw_predict('[1,2]', 'nothing')$$);
SELECT e_try($$SELECT * FROM nw_classify('[1,2]', 'E')$$);
SELECT e_try($$SELECT * FROM nw_predict_proba('[1,2]', '')$$);
SELECT e_try($$SELECT * FROM nw_weights('[1,2]', 'nothing')$$);
SELECT e_try($$SELECT nw_regress('[1,2]', 'nothing')$$);
SELECT e_try($$SELECT nw_set_tau('nothing', 1)$$);
SELECT e_try($$SELECT nw_unregister('nothing')$$);

-- dimensions
SELECT e_try($$SELECT nw_predict('[1,2,3]', 'e')$$);
SELECT e_try($$SELECT nw_predict('[1]'::halfvec, 'e')$$);
SELECT e_try($$SELECT nw_predict(q, 'e') FROM (VALUES ('[1,2]'::vector), ('[1,2,3]')) AS v (q)$$);
INSERT INTO e_rows VALUES (3, '[1,2,3]', 'c', 3);
SELECT e_try($$SELECT nw_predict('[1,2]', 'e')$$);
SELECT e_try($$SELECT nw_predict('[1,2]', 'e', classes => '{a}')$$);
DELETE FROM e_rows WHERE id = 3;
SELECT e_try($$SELECT nw_predict('not a vector', 'e')$$);
SELECT e_try($$SELECT nw_predict('[1,NaN]', 'e')$$);
SELECT e_try($$SELECT nw_predict('[]', 'e')$$);

-- tau
SELECT t, e_try(format('SELECT nw_set_tau(%L, %L)', 'e', t))
  FROM unnest('{0,-1,NaN,Infinity,-Infinity,1e-101,1e101}'::float8[]) AS t;
SELECT e_try($$SELECT nw_set_tau('e', NULL)$$);
SELECT e_try($$SELECT nw_register('e2', 'e_rows', tau => 0)$$);
SELECT e_try($$SELECT nw_register('e2', 'e_rows', tau => 'NaN')$$);

-- kernel
SELECT e_try($$SELECT nw_register('e2', 'e_rows', kernel => 'manhattan')$$);

-- empty support, no labels, no such class
SELECT e_try($$SELECT nw_predict('[1,2]', 'e empty')$$);
SELECT e_try($$SELECT * FROM nw_classify('[1,2]', 'e empty')$$);
SELECT e_try($$SELECT * FROM nw_predict_proba('[1,2]', 'e empty')$$);
SELECT e_try($$SELECT * FROM nw_weights('[1,2]', 'e empty')$$);
SELECT e_try($$SELECT nw_regress('[1,2]', 'e empty')$$);
SELECT e_try($$SELECT nw_predict(embedding, 'e empty') FROM e_rows$$);
SELECT e_try($$SELECT nw_predict('[1,2]', 'e', exclude => '{1,2}')$$);
SELECT e_try($$SELECT nw_predict('[1,2]', 'e queries')$$);
SELECT e_try($$SELECT nw_predict('[1,2]', 'e', '{a,zebra}')$$);
SELECT e_try($$SELECT nw_predict('[1,2]', 'e', '{a}', '{1}')$$);
SELECT e_try($$SELECT nw_predict('[1,2]', 'e empty', '{a}')$$);
SELECT e_try($$SELECT nw_predict('[1,2]', 'e', '{}')$$);
SELECT e_try($$SELECT nw_predict('[1,2]', 'e', '{NULL}')$$);

-- columns that do not exist or have the wrong type
SELECT e_try($$SELECT nw_register('e2', 'e_rows', embedding => 'vec')$$);
SELECT e_try($$SELECT nw_register('e2', 'e_rows', label => 'species')$$);
SELECT e_try($$SELECT nw_register('e2', 'e_rows', id => 'key')$$);
SELECT e_try($$SELECT nw_register('e2', 'e_rows', weight => 'importance')$$);
SELECT e_try($$SELECT nw_register('e2', 'e_rows', embedding => 'label')$$);
SELECT e_try($$SELECT nw_register('e2', 'e_rows', weight => 'label')$$);
SELECT e_try($$SELECT nw_register('e2', 'e_rows', embedding => '')$$);

-- relations that cannot be sets
CREATE SEQUENCE e_sequence;
CREATE INDEX e_index ON e_rows (id);
CREATE TYPE e_type AS (id int, embedding vector, label text);
CREATE TEMP TABLE e_temp (id int, embedding vector, label text);
CREATE TABLE e_parts (id int, embedding vector, label text) PARTITION BY LIST (label);
CREATE VIEW e_view AS SELECT * FROM e_rows;
SELECT e_try($$SELECT nw_register('e2', 'e_sequence')$$);
SELECT e_try($$SELECT nw_register('e2', 'e_index')$$);
SELECT e_try($$SELECT nw_register('e2', 'e_type')$$);
SELECT e_try($$SELECT nw_register('e2', 'e_temp')$$);
SELECT e_try($$SELECT nw_register('e2', 'e_nothing')$$);
SELECT e_try($$SELECT nw_register('e2', 0)$$);
SELECT e_try($$SELECT nw_register('e2', NULL)$$);
SELECT e_try($$SELECT nw_register('e2', 'e_parts', id => NULL)$$);
SELECT e_try($$SELECT nw_register('e2', 'e_view', id => NULL)$$);
SELECT e_try($$SELECT nw_register('', 'e_rows')$$);
SELECT e_try($$SELECT nw_register(repeat('x', 1025), 'e_rows')$$);
SELECT e_try($$SELECT nw_register(NULL, 'e_rows')$$);
SELECT e_try($$SELECT nw_register('e', 'e_rows')$$);

-- other arguments
SELECT e_try($$SELECT nw_predict('[1,2]', NULL)$$);
SELECT e_try($$SELECT nw_predict('[1,2]', 'e', min_confidence => 1.5)$$);
SELECT e_try($$SELECT * FROM nw_predict_proba('[1,2]', 'e', top => 0)$$);
SELECT e_try($$SELECT * FROM nw_weights('[1,2]', 'e', -3)$$);
SELECT e_try($$SELECT nw_regress('[1,2]', 'e')$$);
SELECT e_try($$SELECT nw_unregister(NULL)$$);
SELECT e_try($$SELECT nw_set_tau(NULL, 1)$$);

-- what changed after registering
CREATE TABLE e_later AS SELECT * FROM e_rows;
SELECT nw_register('later', 'e_later', weight => 'number');
ALTER TABLE e_later RENAME label TO species;
SELECT e_try($$SELECT nw_predict('[1,2]', 'later')$$);
ALTER TABLE e_later RENAME species TO label;
ALTER TABLE e_later DROP number;
SELECT e_try($$SELECT nw_predict('[1,2]', 'later')$$);
ALTER TABLE e_later ADD number text;
SELECT e_try($$SELECT nw_predict('[1,2]', 'later')$$);
ALTER TABLE e_later DROP number, ADD number int DEFAULT 1;
ALTER TABLE e_later ALTER embedding TYPE text;
SELECT e_try($$SELECT nw_predict('[1,2]', 'later')$$);
ALTER TABLE e_later ALTER embedding TYPE halfvec USING embedding::halfvec;
SELECT e_try($$SELECT nw_predict('[1,2]', 'later')$$);
ALTER TABLE e_later RENAME TO e_much_later;
SELECT e_try($$SELECT nw_predict('[1,2]', 'later')$$);
DROP TABLE e_much_later;
CREATE VIEW e_later AS SELECT * FROM e_rows;
SELECT e_try($$SELECT nw_predict('[1,2]', 'later')$$);
DROP VIEW e_later;
SELECT e_try($$SELECT nw_set_tau('later', 2)$$);
SELECT e_try($$SELECT nw_unregister('later')$$);
CREATE MATERIALIZED VIEW e_matview AS SELECT * FROM e_rows WITH NO DATA;
SELECT e_try($$SELECT nw_register('e matview', 'e_matview')$$);

-- nothing is left behind, and the list of names has an end
SELECT name FROM nw_sets ORDER BY name;
SELECT nw_register('many ' || i, 'e_rows') FROM generate_series(100, 130) AS i \g /dev/null
SELECT e_try($$SELECT nw_predict('[1,2]', 'nothing')$$);

-- OIDs of nothing
SELECT e_try('SELECT nw_register(''x'', 1::oid)');
SELECT e_try('SELECT nw_index_lists(1::oid)');
SELECT e_try('SELECT nw_index_health(1::oid)');
SELECT e_try('SELECT nw_check_index(1::oid)');
SELECT e_try('SELECT nw_check_index(0::oid, false)');

-- weights that do not add up
CREATE TABLE e_heavy AS SELECT i AS id, ARRAY[i, 1]::real[]::vector AS embedding, 'a' AS label, 1e308::float8 AS w FROM generate_series(1, 3) AS i;
SELECT nw_register('heavy', 'e_heavy', weight => 'w', tau => 2);
SELECT e_try($$SELECT nw_distill('heavy', 'e few', weights => 'members')$$);
SELECT e_try($$SELECT nw_distill('heavy', 'e few', 'random', weights => 'members', calibrate => false)$$);
SELECT nw_distill('heavy', 'e few', k => 3, weights => 'members', calibrate => false);
SELECT weight < 'Infinity' FROM nw_prototypes WHERE set = 'e few';
SELECT nw_distill('heavy', 'e few', calibrate => false);
SELECT nw_predict('[1,1]', 'e few');
DROP TABLE e_heavy;

-- settings
SELECT left(e_try('SET nwhead.statement_cache = -1'), 5);
SELECT e_try('SET nwhead.no_such_setting = 1');
SELECT e_try('SET nwhead.statement_cache = 0');
SELECT e_try($$SET nwhead.statement_cache = '64kB'$$);
SHOW nwhead.statement_cache;
RESET nwhead.statement_cache;
SHOW nwhead.statement_cache;

SELECT nw_unregister(name) FROM nw_sets \g /dev/null
DROP TABLE e_rows, e_empty, e_temp, e_parts CASCADE;
DROP SEQUENCE e_sequence;
DROP TYPE e_type;
DROP FUNCTION e_try;
