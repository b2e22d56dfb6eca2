-- nw_predict_set and nw_evaluate
SET jit = off;
\pset null '(null)'
CREATE TABLE v_rows (id int, embedding vector(2), label text);
INSERT INTO v_rows VALUES
    (1, '[0,0]', 'a'), (2, '[0,3]', 'a'), (3, '[4,0]', 'a'),
    (4, '[10,0]', 'b'), (5, '[10,3]', 'b'), (6, '[6,0]', 'b'), (7, '[5,12]', 'c'),
    (8, NULL, 'a'), (9, '[1,1]', NULL);
CREATE TABLE v_queries (id text, embedding vector(2), label text);
INSERT INTO v_queries VALUES
    ('q1', '[0,0]', 'a'), ('q2', '[10,0]', 'b'), ('q3', '[4.75,0]', 'b'), ('q4', '[5,12]', 'heron'),
    ('q5', '[3,0]', NULL), ('q6', NULL, 'a'), (NULL, '[5,9]', 'c');
SELECT nw_register('v', 'v_rows', tau => 2);
SELECT nw_register('q', 'v_queries');

-- every row with an embedding; names and tau show a swapped call
SELECT query_id, truth, label, round(confidence::numeric, 6) AS confidence, round(truth_probability::numeric, 6) AS truth_probability,
       CASE WHEN loss < 'Infinity' THEN round(loss::numeric, 6)::text ELSE loss::text END AS loss
  FROM nw_predict_set('v', 'q') ORDER BY query_id;
SELECT DISTINCT support_set, query_set, tau FROM nw_predict_set('v', 'q');
SELECT DISTINCT support_set, query_set, tau FROM nw_predict_set('q', 'v');

-- the same, written out in SQL
CREATE VIEW v_naive AS
    SELECT id, truth, label, p, max(p) OVER (PARTITION BY id) = p AS best
      FROM (SELECT q.id, q.label AS truth, s.label, sum(exp(-(s.embedding <-> q.embedding) / 2))
                   / sum(sum(exp(-(s.embedding <-> q.embedding) / 2))) OVER (PARTITION BY q.id) AS p
              FROM v_queries AS q, v_rows AS s WHERE q.embedding IS NOT NULL AND s.embedding IS NOT NULL AND s.label IS NOT NULL
             GROUP BY q.id, q.label, s.label) AS m;
SELECT count(*) AS queries,
       bool_and(p.label = n.label) AS label, bool_and(abs(p.confidence - n.p) < 1e-12) AS confidence,
       bool_and(abs(coalesce(p.truth_probability - t.p, 0)) < 1e-12) AS truth_probability,
       bool_and(abs(coalesce(p.loss + ln(t.p), 0)) < 1e-12) AS loss
  FROM nw_predict_set('v', 'q') AS p JOIN v_naive AS n ON n.id IS NOT DISTINCT FROM p.query_id AND n.best
  LEFT JOIN v_naive AS t ON t.id IS NOT DISTINCT FROM p.query_id AND t.label = p.truth;

-- n, unlabelled and unseen
SELECT support_set, query_set, tau, n, unlabelled, unseen, error_rate FROM nw_evaluate('v', 'q');
SELECT abs(e.nll - (SELECT avg(-ln(p)) FROM v_naive WHERE label = truth)) < 1e-12 AS nll,
       abs(e.brier - (SELECT sum((p - (label = truth)::int) ^ 2) + 1 FROM v_naive WHERE truth IS NOT NULL) / 5) < 1e-12 AS brier,
       abs(e.ece - (SELECT nw_ece(p, label = truth) FROM v_naive WHERE best AND truth IS NOT NULL)) < 1e-12 AS ece,
       abs(e.mce - (SELECT nw_mce(p, label = truth) FROM v_naive WHERE best AND truth IS NOT NULL)) < 1e-12 AS mce
  FROM nw_evaluate('v', 'q') AS e;
SELECT abs(e.ece - (SELECT nw_ece(p, label = truth, 3) FROM v_naive WHERE best AND truth IS NOT NULL)) < 1e-12 AS three_bins
  FROM nw_evaluate('v', 'q', 3) AS e;
SELECT label_match FROM nw_evaluate('v', 'q');

-- no labels, no rows
SELECT nw_register('unlabelled', 'v_queries', label => NULL);
SELECT n, unlabelled, unseen, error_rate, nll, brier, ece, mce, label_match FROM nw_evaluate('v', 'unlabelled');
SELECT truth, label, truth_probability, loss FROM nw_predict_set('v', 'unlabelled') WHERE query_id = 'q1';
CREATE TABLE v_empty (id int, embedding vector(2), label text);
SELECT nw_register('empty', 'v_empty');
SELECT n, unlabelled, unseen, error_rate, nll, brier, ece, mce, label_match FROM nw_evaluate('v', 'empty');
SELECT * FROM nw_predict_set('v', 'empty');
-- only classes without support
INSERT INTO v_empty VALUES (101, '[0,0]', 'x'), (102, '[9,9]', 'y');
SELECT n, unseen, error_rate, nll, brier IS NULL AS brier FROM nw_evaluate('v', 'empty');

-- a set with itself: each row is predicted from the others
SELECT query_id, label, round(confidence::numeric, 6) AS confidence, loss = 'Infinity' AS alone FROM nw_predict_set('v', 'v') ORDER BY query_id;
SELECT count(*) AS equal FROM nw_predict_set('v', 'v') AS p JOIN v_rows AS r ON r.id::text = p.query_id,
       LATERAL nw_classify(r.embedding, 'v', exclude => ARRAY[p.query_id]) AS c
 WHERE c.label = p.label AND c.confidence = p.confidence;
SELECT n, unlabelled, unseen, error_rate FROM nw_evaluate('v', 'v');
SELECT n, unlabelled, unseen, error_rate FROM nw_evaluate('v', 'v', leave_one_out => true);
SELECT n, unlabelled, unseen, error_rate FROM nw_evaluate('v', 'v', leave_one_out => false);
SELECT count(*) AS equal FROM nw_predict_set('v', 'v', false) AS p JOIN v_rows AS r ON r.id::text = p.query_id,
       LATERAL nw_classify(r.embedding, 'v') AS c
 WHERE c.label = p.label AND c.confidence = p.confidence;

-- two sets of one relation
SELECT nw_register('v too', 'v_rows', kernel => 'gaussian', tau => 9);
SELECT count(*) FROM nw_predict_set('v', 'v too') AS a JOIN nw_predict_set('v', 'v') AS b USING (query_id, label, confidence);
-- of one relation, but their ids do not match
SELECT nw_register('v other', 'v_rows', id => 'label');
SELECT n FROM nw_evaluate('v', 'v other');
SELECT n FROM nw_evaluate('v', 'v other', leave_one_out => false);
-- a view of the rows: each is left out, too
CREATE VIEW v_view AS SELECT * FROM v_rows;
SELECT nw_register('v view', 'v_view');
SELECT unseen FROM nw_evaluate('v', 'v view');
-- the row's place as id
SELECT nw_register('v ctid', 'v_rows', id => NULL, tau => 2);
SELECT n, unseen, error_rate FROM nw_evaluate('v ctid', 'v ctid');

-- through prototypes that are rows
SELECT nw_distill('v', 'v few', 'closest', 2, calibrate => false);
SELECT count(*) AS equal FROM nw_predict_set('v few', 'v') AS p JOIN v_rows AS r ON r.id::text = p.query_id,
       LATERAL nw_classify(r.embedding, 'v few', exclude => ARRAY[p.query_id]) AS c
 WHERE c.label = p.label AND c.confidence = p.confidence;
SELECT unseen FROM nw_evaluate('v few', 'v');
-- centroids are made of the queries
SELECT nw_distill('v', 'v means', calibrate => false);
SELECT n, unseen FROM nw_evaluate('v means', 'v');
SELECT n, unseen FROM nw_evaluate('v means', 'v', leave_one_out => false);
SELECT n, unseen FROM nw_evaluate('v means', 'q');

-- the share of the 10 heaviest supports with the right label
CREATE TABLE v_many AS SELECT i AS id, ARRAY[i, i % 2 * 1000]::vector AS embedding, (i % 2)::text AS label FROM generate_series(1, 40) AS i;
INSERT INTO v_many VALUES (41, '[7,0]', '1'), (42, '[9,0]', '1');
SELECT nw_register('many', 'v_many');
SELECT nw_register('some', 'v_many');
CREATE TABLE v_one AS SELECT 'one' AS id, '[8,0]'::vector AS embedding, '0' AS label;
SELECT nw_register('one', 'v_one');
SELECT label_match FROM nw_evaluate('many', 'one');
SELECT avg((label = '0')::int) FROM (SELECT label FROM v_many ORDER BY embedding <-> '[8,0]' LIMIT 10) AS nearest;
DELETE FROM v_many WHERE label = '1' AND id > 19;
SELECT count(*) FROM v_many WHERE label = '1';
SELECT label_match FROM nw_evaluate('many', 'one');
DELETE FROM v_many WHERE id = 1;
SELECT label_match FROM nw_evaluate('many', 'one');

-- the block of queries and the way of reading the support do not show
INSERT INTO v_many SELECT i, ARRAY[i * 7 % 101, i * 13 % 97]::vector, 'more ' || i % 7 FROM generate_series(100, 1099) AS i;
SELECT md5(string_agg(p::text, ';' ORDER BY query_id)) AS packed FROM nw_predict_set('many', 'some') AS p \gset
SELECT e::text AS evaluated FROM nw_evaluate('many', 'some') AS e \gset
SET nwhead.statement_cache = '64kB';
SELECT md5(string_agg(p::text, ';' ORDER BY query_id)) = :'packed' AS streamed FROM nw_predict_set('many', 'some') AS p;
SELECT e::text = :'evaluated' AS streamed FROM nw_evaluate('many', 'some') AS e;
RESET nwhead.statement_cache;

-- other kinds of relations hold the same rows
CREATE TABLE v_parts (id int, embedding vector, label text) PARTITION BY HASH (id);
CREATE TABLE v_part0 PARTITION OF v_parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE v_part1 PARTITION OF v_parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO v_parts SELECT * FROM v_many;
CREATE MATERIALIZED VIEW v_matview AS SELECT * FROM v_many ORDER BY label;
SELECT nw_register('parts', 'v_parts');
SELECT nw_register('matview', 'v_matview');
SELECT s AS name, (SELECT count(*) FROM nw_predict_set(s, s) JOIN nw_predict_set('many', 'many') AS m USING (query_id, truth, label, confidence, loss)) AS equal
  FROM unnest('{parts,matview}'::text[]) AS s;

-- labels and ids of any type
CREATE TABLE v_typed AS SELECT (i || ' days')::interval AS id, ARRAY[i]::vector AS embedding, (DATE '2000-02-28' + i / 2) AS label FROM generate_series(0, 3) AS i;
SELECT nw_register('typed', 'v_typed', tau => 0.3);
SELECT query_id, truth, label, loss < 1 AS close FROM nw_predict_set('typed', 'typed', false) ORDER BY query_id;

SELECT nw_unregister(name) FROM nw_sets \g /dev/null
DROP TABLE v_rows, v_queries, v_empty, v_many, v_parts, v_one, v_typed CASCADE;
