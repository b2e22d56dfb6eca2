-- every kind of bad input to the whole-set functions: SQLSTATE, message, detail and hint
\pset format unaligned
\pset tuples_only
CREATE FUNCTION s_try(command text) RETURNS text LANGUAGE plpgsql AS $$
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
CREATE TABLE s_rows (id int, other int, embedding vector(2), label text, w float8);
INSERT INTO s_rows SELECT i, -i, ARRAY[i % 5, i % 7]::vector, 'l' || i % 2, 1 FROM generate_series(1, 20) AS i;
CREATE TABLE s_empty (id int, embedding vector(2), label text);
CREATE TABLE s_three (id int, embedding vector(3), label text);
INSERT INTO s_three VALUES (1, '[1,2,3]', 'l1');
CREATE TABLE s_queries AS SELECT id, other, embedding + '[0.25,0]' AS embedding, label, w FROM s_rows;

-- no sets at all
SELECT s_try($$SELECT * FROM nw_evaluate('s', 's')$$);
SELECT nw_register('s', 's_rows', tau => 2);
SELECT nw_register('other', 's_rows', id => 'other', tau => 2);
SELECT nw_register('empty', 's_empty');
SELECT nw_register('three', 's_three', tau => 2);
SELECT nw_register('q', 's_queries', tau => 2);
SELECT nw_register('unlabelled', 's_queries', label => NULL);
SELECT nw_distill('s', 'means', k => 2, calibrate => false);
SELECT nw_distill('means', 'mean rows', 'closest', calibrate => false);

-- unknown and null names, as support and as queries
SELECT f, a, s_try(format('SELECT * FROM %s(%s)', f, a))
  FROM unnest('{nw_predict_set,nw_evaluate,nw_confusion,nw_reliability,nw_temperature_sweep,nw_calibrate,nw_diagnose}'::text[]) AS f,
       unnest(ARRAY[$$'none', 'q'$$, $$'s', 'none'$$, $$NULL, 'q'$$, $$'s', NULL$$]) AS a
 WHERE NOT (f = 'nw_calibrate' AND a = $$'s', NULL$$);
SELECT s_try($$SELECT * FROM nw_suspects('none')$$);
SELECT s_try($$SELECT * FROM nw_suspects(NULL)$$);
SELECT s_try($$SELECT nw_distill('none', 'new')$$);
SELECT s_try($$SELECT nw_distill(NULL, 'new')$$);
SELECT s_try($$SELECT nw_distill('s', NULL)$$);
SELECT s_try($$SELECT nw_distill('s', '')$$);
SELECT s_try($$SELECT * FROM nw_influence('[1,2]', 'l1', 'none')$$);
SELECT s_try($$SELECT * FROM nw_influence('[1,2]', 'l1', NULL)$$);

-- dimensions
SELECT s_try($$SELECT * FROM nw_predict_set('s', 'three')$$);
SELECT s_try($$SELECT * FROM nw_evaluate('three', 's')$$);
SELECT s_try($$SELECT * FROM nw_calibrate('s', 'three')$$);
SELECT s_try($$SELECT * FROM nw_temperature_sweep('s', 'three')$$);
SELECT s_try($$SELECT nw_diagnose('s', 'three')$$);
SELECT s_try($$SELECT * FROM nw_influence('[1]', 'l1', 's')$$);
SET nwhead.statement_cache = 0;
SELECT s_try($$SELECT * FROM nw_predict_set('s', 'three')$$);
RESET nwhead.statement_cache;
ALTER TABLE s_three ALTER embedding TYPE vector;
INSERT INTO s_three VALUES (2, '[1,2]', 'l2');
SELECT s_try($$SELECT * FROM nw_suspects('three')$$);
SELECT s_try($$SELECT nw_distill('three', 'new')$$);
SELECT s_try($$SELECT * FROM nw_evaluate('three', 'q')$$);
SELECT s_try($$SELECT * FROM nw_evaluate('q', 'three')$$);

-- support without rows, without labels
SELECT s_try($$SELECT * FROM nw_predict_set('empty', 'q')$$);
SELECT s_try($$SELECT * FROM nw_evaluate('empty', 'q')$$);
SELECT s_try($$SELECT * FROM nw_calibrate('empty')$$);
SELECT s_try($$SELECT * FROM nw_calibrate('s', 'empty')$$);
SELECT s_try($$SELECT * FROM nw_suspects('empty')$$);
SELECT s_try($$SELECT nw_distill('empty', 'new')$$);
SELECT s_try($$SELECT nw_diagnose('empty', 'q')$$);
SELECT s_try($$SELECT * FROM nw_influence('[1,2]', 'l1', 'empty')$$);
SELECT s_try($$SELECT * FROM nw_predict_set('unlabelled', 'q')$$);
SELECT s_try($$SELECT * FROM nw_calibrate('unlabelled')$$);
SELECT s_try($$SELECT * FROM nw_calibrate('s', 'unlabelled')$$);
SELECT s_try($$SELECT * FROM nw_suspects('unlabelled')$$);
SELECT s_try($$SELECT nw_distill('unlabelled', 'new')$$);
SELECT s_try($$SELECT nw_diagnose('unlabelled', 'q')$$);
SELECT s_try($$SELECT * FROM nw_influence('[1,2]', 'l1', 'unlabelled')$$);
INSERT INTO s_empty VALUES (1, '[1,2]', 'l1');
SELECT s_try($$SELECT * FROM nw_evaluate('empty', 'empty')$$);
SELECT s_try($$SELECT * FROM nw_calibrate('empty')$$);
SELECT s_try($$SELECT * FROM nw_suspects('empty')$$);
SELECT s_try($$SELECT nw_diagnose('empty', 'empty')$$);
SELECT s_try($$SELECT nw_diagnose('empty', 'q')$$);

-- leave_one_out where there is nothing to leave out
SELECT f, s_try(format('SELECT * FROM %s(%L, %L, leave_one_out => true)', f, 's', 'q'))
  FROM unnest('{nw_predict_set,nw_evaluate,nw_confusion,nw_reliability,nw_temperature_sweep,nw_calibrate,nw_diagnose}'::text[]) AS f;
SELECT s_try($$SELECT * FROM nw_predict_set('s', 'other')$$);
SELECT s_try($$SELECT * FROM nw_predict_set('s', 'other', true)$$);
SELECT s_try($$SELECT * FROM nw_predict_set('s', 'other', false)$$);
SELECT s_try($$SELECT * FROM nw_predict_set('means', 's', true)$$);
SELECT s_try($$SELECT * FROM nw_predict_set('s', 'means', true)$$);
SELECT s_try($$SELECT * FROM nw_predict_set('mean rows', 's', true)$$);
SELECT s_try($$SELECT * FROM nw_calibrate('means')$$);
SELECT s_try($$SELECT * FROM nw_calibrate('mean rows')$$);

-- bins
SELECT f, b, s_try(format('SELECT * FROM %s(%L, %L, %s)', f, 's', 'q', b))
  FROM unnest('{nw_evaluate,nw_reliability}'::text[]) AS f, unnest(ARRAY['0', '-1', '10001', 'NULL']) AS b;

SELECT s_try($$SELECT nw_ece(1.001, true)$$);
SELECT s_try($$SELECT nw_mce(-1e-300, true)$$);
SELECT s_try($$SELECT nw_ece('NaN', true)$$);
SELECT s_try($$SELECT nw_ece('Infinity', false)$$);
SELECT s_try($$SELECT nw_ece(0.5, true, 0)$$);
SELECT s_try($$SELECT nw_mce(0.5, true, -1)$$);
SELECT s_try($$SELECT nw_ece(0.5, true, 10001)$$);
SELECT s_try($$SELECT nw_ece(0.5, true, NULL)$$);
SELECT s_try($$SELECT nw_ece(0.5, true, n) FROM (VALUES (10), (15)) AS v (n)$$);

-- low, high and steps
SELECT f, r, s_try(format('SELECT * FROM %s(%L, %L, %s)', f, 's', 'q', r))
  FROM unnest('{nw_temperature_sweep,nw_calibrate}'::text[]) AS f,
       unnest(ARRAY['0, 1', '-1, 1', '2, 1', $$'NaN', 1$$, $$1, 'Infinity'$$, 'NULL, 1', '1, NULL', '1, 2, 0', '1, 2, -5', '1, 2, 10001', '1, 2, NULL', '1e-101, 1']) AS r;
SELECT s_try($$SELECT * FROM nw_temperature_sweep('s', 'q', NULL, NULL)$$);

-- k, mode, seed, weights
SELECT s_try($$SELECT nw_distill('s', 'new', k => 0)$$);
SELECT s_try($$SELECT nw_distill('s', 'new', k => -1)$$);
SELECT s_try($$SELECT nw_distill('s', 'new', k => NULL)$$);
SELECT s_try($$SELECT nw_distill('s', 'new', seed => NULL)$$);
SELECT s_try($$SELECT nw_distill('s', 'new', 'full')$$);
SELECT s_try($$SELECT nw_distill('s', 'new', 'Cluster')$$);
SELECT s_try($$SELECT nw_distill('s', 'new', NULL)$$);
SELECT s_try($$SELECT nw_distill('s', 'new', weights => 'heavy')$$);
SELECT s_try($$SELECT nw_distill('s', 'new', weights => NULL)$$);
SELECT s_try($$SELECT nw_distill('s', 's')$$);
SELECT s_try($$SELECT nw_distill('s', 'q')$$);
SELECT s_try($$SELECT nw_distill('means', 'means')$$);
SELECT s_try($$SELECT nw_register('means', 's_rows')$$);

-- top
SELECT s_try($$SELECT * FROM nw_suspects('s', 0)$$);
SELECT s_try($$SELECT * FROM nw_suspects('s', -1)$$);
SELECT s_try($$SELECT nw_diagnose('s', 'q', 0)$$);
SELECT s_try($$SELECT * FROM nw_influence('[1,2]', 'l1', 's', 0)$$);
SELECT s_try($$SELECT * FROM nw_influence('[1,2]', 'l1', 's', classes => '{zebra}')$$);
SELECT s_try($$SELECT * FROM nw_influence('[1,2]', 'l1', 's', exclude => ARRAY(SELECT generate_series(1, 20)::text))$$);
SELECT s_try($$SELECT * FROM nw_influence('no vector', 'l1', 's')$$);

-- memory
INSERT INTO s_queries SELECT i, -i, ARRAY[i, 1]::vector, 'l' || i % 2, 1 FROM generate_series(100, 1000) AS i;
SET nwhead.statement_cache = '64kB';
SELECT s_try($$SELECT * FROM nw_temperature_sweep('q', 's')$$);
SELECT s_try($$SELECT * FROM nw_calibrate('q')$$);
SELECT s_try($$SELECT * FROM nw_calibrate('s', 'q')$$);
SELECT s_try($$SELECT * FROM nw_suspects('q')$$);
SELECT s_try($$SELECT nw_diagnose('q', 's')$$);
SELECT s_try($$SELECT * FROM nw_evaluate('q', 's')$$);
RESET nwhead.statement_cache;
SET maintenance_work_mem = '1MB';
INSERT INTO s_queries SELECT i, -i, ARRAY[i, 1]::vector, 'l' || i % 2, 1 FROM generate_series(1001, 60000) AS i;
SELECT s_try($$SELECT nw_distill('q', 'new')$$);
RESET maintenance_work_mem;

-- weights that are none
SELECT nw_register('weighted', 's_rows', tau => 2, weight => 'w');
UPDATE s_rows SET w = -1 WHERE id = 3;
SELECT s_try($$SELECT * FROM nw_evaluate('weighted', 'weighted')$$);
SELECT s_try($$SELECT nw_distill('weighted', 'new')$$);
SELECT s_try($$SELECT * FROM nw_suspects('weighted')$$);
UPDATE s_rows SET w = 0;
SELECT s_try($$SELECT * FROM nw_evaluate('weighted', 'weighted')$$);
SELECT s_try($$SELECT nw_distill('weighted', 'new')$$);

-- a relation that is gone: prototypes stay
ALTER TABLE s_rows RENAME TO s_gone;
SELECT s_try($$SELECT * FROM nw_evaluate('s', 'means')$$);
SELECT s_try($$SELECT nw_distill('s', 'new')$$);
SELECT nw_predict('[1,2]', 'means') IS NOT NULL;

-- nothing is left behind by what failed
SELECT name FROM nw_sets ORDER BY name;
SELECT DISTINCT set FROM nw_prototypes ORDER BY set;
SELECT count(*) FROM nw_suspect_supports;
SELECT nw_unregister(name) FROM nw_sets \g /dev/null
DROP TABLE s_gone, s_empty, s_three, s_queries;
DROP FUNCTION s_try;
