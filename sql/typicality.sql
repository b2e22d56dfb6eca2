-- nw_learn_typicality, the column typicality, min_typicality and nw_drift
\pset null '(null)'
CREATE TABLE ty_rows (id int PRIMARY KEY, embedding vector(2), label text);
INSERT INTO ty_rows SELECT i, ARRAY[i * i % 37, i * 7 % 23]::vector, 'c' || i % 3 FROM generate_series(1, 60) AS i;
CREATE TABLE ty_queries (id int PRIMARY KEY, embedding vector(2));
INSERT INTO ty_queries SELECT i, ARRAY[i * 5 % 41, i * 3 % 29]::vector FROM generate_series(1, 40) AS i;
INSERT INTO ty_queries VALUES (41, '[100,100]'), (42, '[-40,12]'), (43, NULL);
SELECT nw_register('ty', 'ty_rows');
SELECT nw_register('ty queries', 'ty_queries', label => NULL);

-- nothing is known yet: predictions are as they were, and a bound is an error
SELECT label, typicality FROM nw_classify('[1,1]', 'ty');
SELECT count(*), count(typicality) FROM nw_predict_set('ty', 'ty queries');
SELECT nw_predict('[1,1]', 'ty', min_typicality => 0), nw_predict('[1,1]', 'ty', min_typicality => NULL);
SELECT nw_predict('[1,1]', 'ty', min_typicality => 0.05);
SELECT * FROM nw_classify('[1,1]', 'ty', min_typicality => 0.05);
SELECT * FROM nw_drift('ty', 'ty queries');

-- the distances to the third neighbour, by sorting
SELECT support_set, query_set, k, n, median_distance, largest_distance, least_typicality = 1 / 61.0::float8 AS least
  FROM nw_learn_typicality('ty', k => 3);
CREATE VIEW ty_naive AS
SELECT a.id, (SELECT a.embedding <-> b.embedding FROM ty_rows AS b WHERE b.id <> a.id ORDER BY 1 OFFSET 2 LIMIT 1) AS d FROM ty_rows AS a;
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY d) AS median, max(d) FROM ty_naive;
SELECT r.kind, r.k, r.queries, r.scores = (SELECT array_agg(d ORDER BY d) FROM ty_naive) AS same
  FROM nw_reference AS r JOIN nw_registry AS s USING (set_id) WHERE s.name = 'ty';

-- typicality by its definition
CREATE VIEW ty_expected AS
SELECT q.id, (1 + count(*) FILTER (WHERE n.d >= q.d)) / (count(*) + 1)::float8 AS typicality
  FROM (SELECT a.id, (SELECT a.embedding <-> b.embedding FROM ty_rows AS b ORDER BY 1 OFFSET 2 LIMIT 1) AS d
          FROM ty_queries AS a WHERE a.embedding IS NOT NULL) AS q, ty_naive AS n GROUP BY q.id;
SELECT count(*), count(*) FILTER (WHERE c.typicality = e.typicality) AS same, min(e.typicality) = 1 / 61.0::float8 AS least, max(e.typicality)
  FROM ty_expected AS e JOIN ty_queries AS q USING (id), nw_classify(q.embedding, 'ty') AS c;
SELECT count(*), count(*) FILTER (WHERE p.typicality = e.typicality) AS same
  FROM ty_expected AS e JOIN nw_predict_set('ty', 'ty queries') AS p ON p.query_id = e.id::text;
-- the same one at a time, of every type of query and of exclude
SELECT (nw_classify('[36,28]'::vector, 'ty')).typicality = all_types.typicality AS same FROM
 (VALUES ((nw_classify('[36,28]', 'ty')).typicality), ((nw_classify(ARRAY[36, 28], 'ty')).typicality),
  ((nw_classify('[36,28]'::halfvec, 'ty', exclude => '{}'::text[])).typicality), ((nw_classify('[36,28]', 'ty', exclude => ARRAY[0])).typicality),
  ((nw_classify('[36,28]', 'ty', exclude => ARRAY['00000000-0000-0000-0000-000000000000'::uuid])).typicality)) AS all_types (typicality);
-- min_typicality is a bound like min_confidence: below it there is no label
SELECT count(*), count(*) FILTER (WHERE (nw_predict(q.embedding, 'ty', min_typicality => 0.2) IS NULL) = (e.typicality < 0.2)) AS predict,
       count(*) FILTER (WHERE (c.label IS NULL) = (e.typicality < 0.2)) AS classify,
       count(*) FILTER (WHERE c.confidence IS NOT NULL AND c.typicality = e.typicality) AS columns, count(c.label) AS labels
  FROM ty_expected AS e JOIN ty_queries AS q USING (id), nw_classify(q.embedding, 'ty', min_typicality => 0.2) AS c;
SELECT nw_predict('[100,100]', 'ty'), nw_predict('[100,100]', 'ty', min_typicality => 0.05), nw_predict('[9,9]', 'ty', min_typicality => 0.05),
       nw_predict('[9,9]', 'ty', min_typicality => 0.05, min_confidence => 1);
SELECT nw_predict('[1,1]', 'ty', min_typicality => -0.1);
SELECT nw_predict('[1,1]', 'ty', min_typicality => 'NaN');

-- a row of the set without itself is as typical as it ranks
SELECT count(*), count(*) FILTER (WHERE p.typicality = e.typicality) AS same FROM nw_predict_set('ty', 'ty') AS p
  JOIN (SELECT a.id, (SELECT 1 + count(*) FROM ty_naive AS b WHERE b.d >= a.d) / 61.0::float8 AS typicality FROM ty_naive AS a) AS e ON p.query_id = e.id::text;
SELECT count(*), count(*) FILTER (WHERE c.typicality = p.typicality) AS same
  FROM nw_predict_set('ty', 'ty') AS p JOIN ty_rows AS r ON r.id::text = p.query_id, nw_classify(r.embedding, 'ty', exclude => ARRAY[r.id]) AS c;
-- classes decide what is answered, not what is known
SELECT c.label, c.typicality = a.typicality AS same FROM nw_classify('[9,9]', 'ty', classes => '{c1}') AS c, nw_classify('[9,9]', 'ty') AS a;
-- where no third neighbour is left, none is near
SELECT (nw_classify(r.embedding, 'ty', exclude => (SELECT array_agg(id) FROM ty_rows WHERE id > 2))).typicality = 1 / 61.0::float8 AS least FROM ty_rows AS r WHERE id = 1;
SELECT * FROM nw_classify('[1,1]', 'ty', exclude => (SELECT array_agg(id) FROM ty_rows), empty_ok => true, min_typicality => 0.05);

-- neither temperatures matter nor a name
SELECT nw_set_tau('ty', 0.1);
SELECT nw_alter_set('ty', new_name => 'ty 2', temper => 0.5);
SELECT count(*), count(*) FILTER (WHERE p.typicality = e.typicality) AS same
  FROM ty_expected AS e JOIN nw_predict_set('ty 2', 'ty queries') AS p ON p.query_id = e.id::text;
SELECT nw_alter_set('ty 2', new_name => 'ty');

-- an index, or none; in every way that rows are read
CREATE INDEX ON ty_rows USING nw (embedding) INCLUDE (label);
SET nwhead.engine = index;
SELECT count(*), count(*) FILTER (WHERE c.typicality = e.typicality) AS same
  FROM ty_expected AS e JOIN ty_queries AS q USING (id), nw_classify(q.embedding, 'ty') AS c;
SELECT e.id, (nw_classify('[5,3]', 'ty')).typicality = e.typicality AS same FROM ty_expected AS e WHERE id = 1;
SELECT (nw_classify('[36,28]', 'ty', classes => '{c0}')).typicality = (nw_classify('[36,28]', 'ty')).typicality AS same;
SET nwhead.engine = executor;
SET nwhead.statement_cache = 0;
SELECT count(*), count(*) FILTER (WHERE c.typicality = e.typicality) AS same
  FROM ty_expected AS e JOIN ty_queries AS q USING (id), nw_classify(q.embedding, 'ty') AS c;
SELECT count(*), count(*) FILTER (WHERE p.typicality = e.typicality) AS same
  FROM ty_expected AS e JOIN nw_predict_set('ty', 'ty queries') AS p ON p.query_id = e.id::text;
RESET nwhead.engine;
RESET nwhead.statement_cache;

-- a statement sees what it began with; the next one what was learned
CREATE FUNCTION ty_learn(k int) RETURNS float8 LANGUAGE sql VOLATILE AS
 'SELECT median_distance FROM nw_learn_typicality(''ty'', k => $1)';
SELECT count(DISTINCT t), count(t) FROM (SELECT (nw_classify('[9,9]'::vector, 'ty')).typicality AS t, CASE WHEN i = 3 THEN ty_learn(20) END FROM generate_series(1, 6) AS i) AS x;
SELECT scores[30] = (SELECT median_distance FROM nw_learn_typicality('ty', k => 20)) AS same, k FROM nw_reference;
BEGIN;
SELECT median_distance FROM nw_learn_typicality('ty', k => 3);
SELECT count(DISTINCT t), count(t) FROM (SELECT (nw_classify(ARRAY[9, 9 + 0 * i], 'ty')).typicality AS t FROM generate_series(1, 6) AS i) AS x;
ROLLBACK;
SELECT k FROM nw_reference;
SELECT k FROM nw_learn_typicality('ty', k => 3);

-- queries in place of own rows, labelled or not
SELECT query_set, n FROM nw_learn_typicality('ty', 'ty queries', k => 3);
SELECT queries FROM nw_reference;
SELECT count(*), count(*) FILTER (WHERE p.typicality = e.typicality) AS same FROM nw_predict_set('ty', 'ty queries') AS p
  JOIN (SELECT a.id, (1 + count(*) FILTER (WHERE b.d >= a.d)) / 43.0::float8 AS typicality
          FROM (SELECT q.id, (SELECT q.embedding <-> r.embedding FROM ty_rows AS r ORDER BY 1 OFFSET 2 LIMIT 1) AS d FROM ty_queries AS q WHERE q.embedding IS NOT NULL) AS a,
               (SELECT q.id, (SELECT q.embedding <-> r.embedding FROM ty_rows AS r ORDER BY 1 OFFSET 2 LIMIT 1) AS d FROM ty_queries AS q WHERE q.embedding IS NOT NULL) AS b GROUP BY a.id) AS e
    ON p.query_id = e.id::text;

-- drift: the queries against themselves, and some that have moved
SELECT support_set, query_set, k, n, round(mean_typicality::numeric, 4) AS mean, below_1_percent, below_5_percent, round(ks::numeric, 4) AS ks, round(p_value::numeric, 4) AS p_value, verdict
  FROM nw_drift('ty', 'ty queries');
UPDATE ty_queries SET embedding = ARRAY[id * 5 % 41 + 30, id * 3 % 29]::vector WHERE id <= 40;
SELECT n, mean_typicality < 0.3 AS mean, below_5_percent = (SELECT avg((nw_predict(embedding, 'ty', min_typicality => 0.05) IS NULL)::int) FROM ty_queries WHERE embedding IS NOT NULL) AS refused,
       ks > 0.5 AS ks, p_value < 1e-6 AS p_value, verdict FROM nw_drift('ty', 'ty queries');
SELECT n FROM nw_learn_typicality('ty', k => 1);
UPDATE ty_queries SET embedding = (SELECT r.embedding FROM ty_rows AS r WHERE r.id = ty_queries.id);
SELECT n, mean_typicality, verdict FROM nw_drift('ty', 'ty queries', leave_one_out => false);
DELETE FROM ty_queries;
SELECT n, mean_typicality, below_1_percent, below_5_percent, ks, p_value, verdict FROM nw_drift('ty', 'ty queries');

-- a measure that grows with likeness: farther is less of it
CREATE TABLE ty_dot (id int PRIMARY KEY, embedding vector(3), label text);
INSERT INTO ty_dot SELECT i, ARRAY[i % 5 - 2, i % 7 - 3, i % 3]::vector, i % 2 FROM generate_series(1, 40) AS i;
SELECT nw_register('ty dot', 'ty_dot', kernel => 'dot');
SELECT median_distance, largest_distance FROM nw_learn_typicality('ty dot', k => 2);
WITH naive AS (SELECT (SELECT a.embedding <#> b.embedding FROM ty_dot AS b WHERE b.id <> a.id ORDER BY 1 OFFSET 1 LIMIT 1) AS d FROM ty_dot AS a),
     moved AS (SELECT id, embedding - '[1,0,2]' AS embedding FROM ty_dot),
     asked AS (SELECT a.*, (SELECT a.embedding <#> b.embedding FROM ty_dot AS b ORDER BY 1 OFFSET 1 LIMIT 1) AS d FROM moved AS a)
SELECT count(*), count(*) FILTER (WHERE (nw_classify(a.embedding, 'ty dot')).typicality = (SELECT 1 + count(*) FROM naive AS n WHERE n.d >= a.d) / 41.0::float8) AS same,
       (SELECT max(d) FROM naive) AS largest FROM asked AS a;

-- what cannot be learned
SELECT * FROM nw_learn_typicality('ty', k => 0);
SELECT * FROM nw_learn_typicality('ty', k => NULL);
SELECT * FROM nw_learn_typicality('ty', k => 1001);
SELECT * FROM nw_learn_typicality('ty', k => 60);
SELECT n FROM nw_learn_typicality('ty', k => 59);
SELECT * FROM nw_learn_typicality('ty', 'ty queries');
SELECT * FROM nw_learn_typicality('ty queries');
SELECT * FROM nw_learn_typicality('ty nowhere');
SELECT * FROM nw_learn_typicality('ty', leave_one_out => false);
SELECT * FROM nw_drift('ty', NULL);
SELECT nw_distill('ty', 'ty small', k => 2);
SELECT * FROM nw_learn_typicality('ty small', k => 1);
SELECT query_set, n FROM nw_learn_typicality('ty small', 'ty', k => 1);
SELECT (nw_classify('[9,9]', 'ty small')).typicality > 0.1 AS near, (nw_classify('[90,90]', 'ty small')).typicality = 1 / 61.0::float8 AS far;
-- what was learned goes with the set
SELECT nw_unregister('ty small');
SELECT nw_unregister('ty');
SELECT count(*) FROM nw_reference WHERE kind = 'neighbour';

SELECT nw_unregister(name) FROM nw_sets \g /dev/null
DROP VIEW ty_expected, ty_naive;
DROP FUNCTION ty_learn;
DROP TABLE ty_rows, ty_queries, ty_dot;
