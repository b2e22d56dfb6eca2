-- labels of several values: tags
\pset null '(null)'
CREATE TABLE t_rows (id int PRIMARY KEY, embedding vector(1), label text[]);
INSERT INTO t_rows VALUES (1, '[0]', '{red,round}'), (2, '[1]', '{red}'), (3, '[2]', '{blue,round}'), (4, '[3]', '{}'),
    (5, '[4]', '{red,red,NULL}'), (6, '[5]', NULL), (7, '[6]', '{{blue,flat},{red,flat}}'), (8, NULL, '{green}');
SELECT nw_register('t', 't_rows', tau => 2, tags => true);
SELECT name, tags FROM nw_sets;

-- labels are still arrays, each a class
SELECT nw_predict('[0.4]', 't');
SELECT label, round(probability::numeric, 6) AS probability FROM nw_predict_proba('[0.4]', 't');
-- a tag has the weight of all rows that carry it
SELECT tag, round(probability::numeric, 6) AS probability, rank FROM nw_predict_tags('[0.4]', 't');
SELECT count(*), count(*) FILTER (WHERE abs(t.probability - w.weight) < 1e-12) AS equal
  FROM generate_series(-2, 8) AS x, LATERAL nw_predict_tags(ARRAY[x], 't') AS t
  JOIN LATERAL (SELECT tag, sum(exp(-abs(x - (embedding::float4[])[1]) / 2)) / (SELECT sum(exp(-abs(x - (embedding::float4[])[1]) / 2)) FROM t_rows WHERE label IS NOT NULL) AS weight
                  FROM t_rows, LATERAL (SELECT DISTINCT tag FROM unnest(label) AS tag WHERE tag IS NOT NULL) AS tags GROUP BY tag) AS w ON w.tag = t.tag;
SELECT count(*), count(*) FILTER (WHERE abs(t.probability - w.weight) < 1e-12) AS equal
  FROM generate_series(-2, 8) AS x, LATERAL nw_predict_tags(ARRAY[x]::vector, 't') AS t
  JOIN LATERAL (SELECT tag, sum(weight) AS weight FROM nw_weights(ARRAY[x], 't', 100, exclude => '{}') AS w, LATERAL (SELECT DISTINCT tag FROM unnest(w.label::text[]) AS tag) AS tags GROUP BY tag) AS w ON w.tag = t.tag;

-- top, min_probability, exclude, empty_ok
SELECT tag, rank FROM nw_predict_tags('[0.4]', 't', top => 2);
SELECT tag, rank FROM nw_predict_tags('[0.4]', 't', min_probability => 0.4);
SELECT tag, rank FROM nw_predict_tags('[0]', 't', exclude => ARRAY[1, 2, 3, 4, 5]);
SELECT tag, rank FROM nw_predict_tags('[0]'::vector, 't', '{1,2,3,4,5}');
SELECT tag, rank FROM nw_predict_tags('[0]', 't', exclude => '{1,2,3,4,5,7}', empty_ok => true);
SELECT tag, rank FROM nw_predict_tags('[0]', 't', exclude => '{1,2,3,4,5,7}');
SELECT * FROM nw_predict_tags(NULL::vector, 't');
SELECT * FROM nw_predict_tags('[0]', 't', min_probability => 1.5);
SELECT * FROM nw_predict_tags('[0]', 't', min_probability => 'NaN');
SELECT * FROM nw_predict_tags('[0]', 't', min_probability => NULL);
SELECT * FROM nw_predict_tags('[0]', 't', top => 0);
SELECT * FROM nw_predict_tags('[0,0]', 't');
-- at a small tau the nearest row has all
SELECT nw_set_tau('t', 1e-4);
SELECT tag, probability FROM nw_predict_tags('[6]', 't');
SELECT nw_set_tau('t', 2);
-- temper is for classes
CREATE TABLE t_before AS SELECT * FROM nw_predict_tags('[0.4]', 't');
SELECT nw_alter_set('t', temper => 0.5);
SELECT count(*) AS equal FROM nw_predict_tags('[0.4]', 't') JOIN t_before USING (tag, probability, rank);
SELECT nw_alter_set('t', temper => 1);

-- a tag that all rows have is certain; equals stand in byte order
CREATE TABLE t_all (id int PRIMARY KEY, embedding vector(1), label text[]);
INSERT INTO t_all SELECT i, ARRAY[i * 0.7]::vector, ARRAY['all', 'B', 'a', 't' || i % 7] FROM generate_series(1, 300) AS i;
SELECT nw_register('all', 't_all', tags => true);
SELECT count(*) FROM generate_series(0, 50) AS x, LATERAL nw_predict_tags(ARRAY[x], 'all', top => 3) AS t
 WHERE probability = 1 AND tag = (ARRAY['B', 'a', 'all'])[rank];

-- words that need quotes, in arrays of other types
CREATE TYPE t_mood AS ENUM ('so so', 'NULL', 'fine');
CREATE DOMAIN t_words AS varchar(20)[];
CREATE TABLE t_types (id int PRIMARY KEY, embedding vector(1), words t_words, numbers int[], moods t_mood[], one text, bounds text[], boxes box[], old int2vector);
INSERT INTO t_types VALUES
    (21, '[0]', ARRAY['a,b', '{c}', '"', '\', 'NULL', '', ' x ', 'ä', E'new\nline'], '{1,-2,1}', '{"so so","NULL",NULL}', '{a}', '[0:1]={x,y}', ARRAY['1,1,0,0'::box], '1 2');
SELECT nw_register('words', 't_types', label => 'words', tags => true);
SELECT count(*), bool_and(tag = ANY (words)) FROM nw_predict_tags('[1]', 'words'), t_types;
SELECT tag, length(tag) FROM nw_predict_tags('[1]', 'words');
SELECT nw_register('numbers', 't_types', label => 'numbers', tags => true);
SELECT tag FROM nw_predict_tags('[1]', 'numbers');
SELECT nw_register('moods', 't_types', label => 'moods', tags => true);
SELECT tag FROM nw_predict_tags('[1]', 'moods');
SELECT nw_register('bounds', 't_types', label => 'bounds', tags => true);
SELECT tag FROM nw_predict_tags('[1]', 'bounds');

-- what has no tags
SELECT nw_register('one', 't_types', label => 'one', tags => true);
SELECT nw_register('boxes', 't_types', label => 'boxes', tags => true);
SELECT nw_register('old', 't_types', label => 'old', tags => true);
SELECT nw_register('none', 't_types', label => NULL, tags => true);
SELECT nw_register('one', 't_types', label => 'one');
SELECT nw_predict_tags('[1]', 'one');
SELECT nw_alter_set('one', tags => true);
SELECT nw_alter_set('words', label => 'one');
SELECT nw_alter_set('words', label => 'one', tags => false);
SELECT nw_alter_set('words', label => 'numbers');
SELECT nw_alter_set('words', tags => true);
SELECT tag FROM nw_predict_tags('[1]', 'words');
-- registered anew, a set keeps that it has tags
SELECT nw_register('words', label => 'moods', replace => true);
SELECT tags FROM nw_sets WHERE name = 'words';
SELECT nw_register('words', label => 'one', replace => true);
-- a column that has become another
ALTER TABLE t_types ALTER COLUMN numbers TYPE int USING numbers[1];
SELECT nw_predict_tags('[1]', 'numbers');

-- evaluation, by the definition
CREATE FUNCTION t_evaluate(bound float8) RETURNS TABLE (tag text, n bigint, predicted bigint, correct bigint, brier float8) LANGUAGE sql AS $$
    WITH queries AS (SELECT * FROM t_rows WHERE embedding IS NOT NULL AND label IS NOT NULL),
    tags AS (SELECT DISTINCT tag FROM queries, unnest(label) AS tag WHERE tag IS NOT NULL),
    answers AS (SELECT q.id, t.tag, coalesce(p.probability, 0) AS probability, p.probability >= bound AS given, array_position(ARRAY(SELECT unnest(q.label)), t.tag) IS NOT NULL AS carried
                  FROM queries AS q CROSS JOIN tags AS t LEFT JOIN LATERAL nw_predict_tags(q.embedding, 't', exclude => ARRAY[q.id]) AS p ON p.tag = t.tag)
    SELECT tag, count(*) FILTER (WHERE carried), count(*) FILTER (WHERE given), count(*) FILTER (WHERE carried AND given), avg((probability - carried::int) ^ 2)
      FROM answers GROUP BY tag
$$;
SELECT tag, n, predicted, correct, round("precision"::numeric, 3) AS precision, round(recall::numeric, 3) AS recall, round(f1::numeric, 3) AS f1, round(brier::numeric, 6) AS brier, support_set, query_set, tau
  FROM nw_evaluate_tags('t', 't', 0.3);
SELECT bound, count(*), count(*) FILTER (WHERE abs(e.brier - d.brier) < 1e-12) AS equal
  FROM (VALUES (0::float8), (0.2), (0.5), (1)) AS v (bound), LATERAL nw_evaluate_tags('t', 't', bound) AS e JOIN LATERAL t_evaluate(bound) AS d USING (tag, n, predicted, correct)
 GROUP BY bound ORDER BY bound;
-- all tags of supports and queries, though no query carries them
CREATE TABLE t_queries (id int PRIMARY KEY, embedding vector(1), label text[]);
INSERT INTO t_queries VALUES (11, '[0]', '{red,new}'), (12, '[1]', NULL);
SELECT nw_register('q', 't_queries', tags => true);
SELECT tag, n, predicted, correct, "precision", recall, f1 FROM nw_evaluate_tags('t', 'q');
-- streamed and packed give the same bits
CREATE TABLE t_packed AS SELECT * FROM nw_evaluate_tags('t', 't') UNION ALL SELECT * FROM nw_evaluate_tags('all', 'all');
SET nwhead.statement_cache = 0;
SELECT count(*) AS equal, (SELECT count(*) FROM t_packed) AS all FROM (SELECT * FROM nw_evaluate_tags('t', 't') UNION ALL SELECT * FROM nw_evaluate_tags('all', 'all')) AS e
  JOIN t_packed USING (tag, n, predicted, correct, brier, support_set);
RESET nwhead.statement_cache;
SELECT nw_evaluate_tags('t', 'one');
SELECT nw_evaluate_tags('one', 't');
SELECT nw_evaluate_tags('t', 't', NULL);
SELECT nw_evaluate_tags('t', 't', -1);
SELECT nw_evaluate_tags('t', NULL);

-- engines: an index, the executor, packed rows
CREATE TABLE t_executor AS SELECT x, t.* FROM generate_series(0, 40) AS x, LATERAL nw_predict_tags(ARRAY[x * 5], 'all') AS t;
CREATE INDEX ON t_all USING nw (embedding) INCLUDE (label);
SET nwhead.engine = 'index';
CREATE TABLE t_index (x int, tag text, probability float8, rank int);
DO $$
BEGIN
    FOR x IN 0..40 LOOP
        INSERT INTO t_index SELECT x, t.* FROM nw_predict_tags(ARRAY[x * 5], 'all') AS t;
    END LOOP;
END $$;
SELECT count(*) AS equal, (SELECT count(*) FROM t_executor) AS all FROM t_index JOIN t_executor USING (x, tag, probability, rank);

RESET nwhead.engine;

-- prototypes have the text of arrays
SELECT nw_distill('all', 'few', 'closest', 2, calibrate => false);
SELECT tags FROM nw_sets WHERE name = 'few';
SELECT count(*), count(*) FILTER (WHERE abs(t.probability - w.weight) < 1e-12) AS equal
  FROM generate_series(0, 200, 20) AS x, LATERAL nw_predict_tags(ARRAY[x], 'few') AS t
  JOIN LATERAL (SELECT tag, sum(weight) AS weight FROM nw_weights(ARRAY[x], 'few', 100) AS w, unnest(w.label::text[]) AS tag GROUP BY tag) AS w ON w.tag = t.tag;
SELECT tag, n FROM nw_evaluate_tags('few', 'all', leave_one_out => false);
SELECT nw_alter_set('few', tags => false);
-- what the parent is now, prototypes learn when they are made anew
SELECT nw_alter_set('all', tags => false);
SELECT set, what, why FROM nw_todo() WHERE set = 'few' AND what LIKE 'prototypes%';
SELECT nw_distill('all', 'few', 'closest', 2, calibrate => false);
SELECT nw_predict_tags('[1]', 'few');
SELECT nw_alter_set('all', tags => true);
SELECT set, what, why FROM nw_todo() WHERE set = 'few' AND what LIKE 'prototypes%';
SELECT nw_distill('one', 'one few', 'closest', calibrate => false);
SELECT nw_predict_tags('[1]', 'one few');

SELECT nw_unregister(name) FROM nw_sets \g /dev/null
DROP FUNCTION t_evaluate(float8);
DROP TABLE t_rows, t_before, t_all, t_types, t_queries, t_packed, t_executor, t_index;
DROP DOMAIN t_words;
DROP TYPE t_mood;
