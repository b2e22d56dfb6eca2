-- nw_explain: a prediction, its probabilities and its reasons in one call
\pset null '(null)'
CREATE TABLE ex_rows (id int UNIQUE, embedding vector(2), label text);
INSERT INTO ex_rows VALUES (1, '[1,0]', 'a'), (2, '[0,3]', 'a'), (3, '[2,0]', 'b'), (4, '[0,2]', 'c'), (5, '[3,4]', 'c');
SELECT nw_register('ex', 'ex_rows', tau => 2);
SELECT jsonb_pretty(nw_explain('[0,0]', 'ex', top => 2)) ~ '"label": "a"' AS label;
SELECT key, jsonb_typeof(value) FROM jsonb_each(nw_explain('[0,0]', 'ex')) ORDER BY key COLLATE "C";
SELECT e ->> 'label' AS label, e ->> 'support' AS support, e -> 'tau' AS tau FROM nw_explain('[0,0]', 'ex') AS e;
SELECT p ->> 'label' AS label FROM jsonb_array_elements(nw_explain('[0,0]', 'ex') -> 'probabilities') AS p;
SELECT r ->> 'id' AS id, r ->> 'label' AS label, r -> 'distance' AS distance FROM jsonb_array_elements(nw_explain('[0,0]', 'ex', 3) -> 'reasons') AS r;

-- the digits of nw_classify, nw_predict_proba and nw_weights, whatever the session prints
SET extra_float_digits = 0;
CREATE TABLE ex_queries (id int, q vector(2));
INSERT INTO ex_queries SELECT i, ARRAY[i / 7.0, (i * i) % 11 / 3.0]::vector FROM generate_series(1, 40) AS i;
SELECT bool_and(e ->> 'label' = c.label AND (e ->> 'confidence')::float8 = c.confidence) AS classified,
       bool_and((SELECT array_agg((x ->> 'label', (x ->> 'probability')::float8)::text ORDER BY n) FROM jsonb_array_elements(e -> 'probabilities') WITH ORDINALITY AS x (x, n))
              = (SELECT array_agg((label, probability)::text ORDER BY rank) FROM nw_predict_proba(q, 'ex'))) AS probable,
       bool_and((SELECT array_agg((x ->> 'probability')::float8 ORDER BY n) FROM jsonb_array_elements(e -> 'probabilities') WITH ORDINALITY AS x (x, n))
              = (SELECT array_agg(probability ORDER BY rank) FROM nw_predict_proba(q, 'ex'))) AS digits,
       bool_and((SELECT array_agg((x ->> 'id') || (x ->> 'label') ORDER BY n) FROM jsonb_array_elements(e -> 'reasons') WITH ORDINALITY AS x (x, n))
              = (SELECT array_agg(support_id || label ORDER BY rank) FROM nw_weights(q, 'ex', 4))) AS named,
       bool_and((SELECT array_agg((x ->> 'weight')::float8 ORDER BY n) || array_agg((x ->> 'distance')::float8 ORDER BY n) FROM jsonb_array_elements(e -> 'reasons') WITH ORDINALITY AS x (x, n))
              = (SELECT array_agg(weight ORDER BY rank) || array_agg(distance ORDER BY rank) FROM nw_weights(q, 'ex', 4))) AS weighed,
       count(*)
  FROM ex_queries, nw_explain(q, 'ex', 4) AS e, nw_classify(q, 'ex') AS c;
-- and of a vote
SELECT bool_and((v ->> p.label)::float8 = p.probability) AS vote
  FROM (SELECT nw_vote(label, embedding <-> '[1,1]', 2) AS v FROM ex_rows) AS t, nw_predict_proba('[1,1]', 'ex') AS p;
RESET extra_float_digits;

-- classes, exclude, all reasons, no query, no id
SELECT e ->> 'label' AS label, jsonb_array_length(e -> 'probabilities') AS classes, jsonb_array_length(e -> 'reasons') AS reasons
  FROM nw_explain('[0,0]', 'ex', NULL, '{b,c}', ARRAY[4]) AS e;
SELECT jsonb_array_length(nw_explain('[0,0]', 'ex', NULL) -> 'reasons') AS all_rows;
SELECT nw_explain(NULL::vector, 'ex'), nw_explain(NULL, 'ex');
INSERT INTO ex_rows VALUES (NULL, '[0,0]', 'a');
SELECT nw_explain('[0,0]', 'ex', 1) #> '{reasons,0,id}' AS id;
SELECT nw_explain('[0,0]', 'ex', 0);
SELECT nw_explain('[0,0]', 'no such set');

-- through an index, from prototypes and by each engine
DELETE FROM ex_rows WHERE id IS NULL;
CREATE INDEX ex_index ON ex_rows USING nw (embedding) INCLUDE (label);
SET nwhead.engine = index;
SELECT md5(string_agg(nw_explain(q, 'ex')::text, ' ' ORDER BY id)) AS by_index FROM ex_queries \gset
SET nwhead.engine = executor;
SELECT md5(string_agg(nw_explain(q, 'ex')::text, ' ' ORDER BY id)) = :'by_index' AS same FROM ex_queries;
RESET nwhead.engine;
SELECT nw_distill('ex', 'ex few', 'closest', calibrate => false);
SELECT e ->> 'support' AS support, jsonb_array_length(e -> 'reasons') AS reasons FROM nw_explain('[0,0]', 'ex few') AS e;

SELECT nw_unregister('ex few');
SELECT nw_unregister('ex');
DROP TABLE ex_rows, ex_queries;
