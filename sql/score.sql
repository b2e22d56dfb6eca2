-- nw_score, nw_class_report, nw_coverage and nw_threshold, against plain SQL
\pset null '(null)'
CREATE TABLE sc_rows (id int PRIMARY KEY, embedding vector(2), label text);
INSERT INTO sc_rows SELECT i, ARRAY[i * 37 % 61 / 10.0 + i % 3, i * 53 % 41 / 10.0]::vector, chr(97 + i % 3) FROM generate_series(1, 60) AS i;
CREATE TABLE sc_queries (id int PRIMARY KEY, embedding vector(2), label text, tenant int);
INSERT INTO sc_queries SELECT i, ARRAY[i * 31 % 59 / 10.0 + i % 3, i * 17 % 43 / 10.0]::vector, chr(97 + i % 3), i % 4 FROM generate_series(1, 200) AS i;
UPDATE sc_queries SET label = NULL WHERE id % 20 = 0;
UPDATE sc_queries SET label = 'unseen' WHERE id % 33 = 0;
SELECT nw_register('sc', 'sc_rows');
SELECT nw_register('sc q', 'sc_queries');
CREATE TABLE sc_predicted AS SELECT p.*, q.tenant FROM nw_predict_set('sc', 'sc q') AS p JOIN sc_queries AS q ON q.id = p.query_id::int;

-- a Brier score is that of the probabilities
SELECT bool_and(abs(p.brier - s.brier) < 1e-12) AS same, count(p.brier), count(*)
  FROM sc_predicted AS p JOIN sc_queries AS q ON q.id = p.query_id::int,
       LATERAL (SELECT CASE WHEN p.truth = 'unseen' THEN 1 ELSE 0 END + sum((probability - (c.label = p.truth)::int) ^ 2) AS brier FROM nw_predict_proba(q.embedding, 'sc') AS c) AS s
 WHERE p.truth IS NOT NULL;
SELECT count(*), count(brier) FROM sc_predicted WHERE truth IS NULL;

-- of all rows: the digits of nw_evaluate
SELECT s.n = e.n AND s.unlabelled = e.unlabelled AND s.unseen = e.unseen AS counts, s.error_rate = e.error_rate AND s.nll = e.nll AND s.brier = e.brier AND s.ece = e.ece AND s.mce = e.mce AS digits
  FROM nw_evaluate('sc', 'sc q') AS e, (SELECT (nw_score(truth, label, confidence, loss, brier)).* FROM sc_predicted) AS s;
SELECT s.ece = e.ece AND s.mce = e.mce AS digits
  FROM nw_evaluate('sc', 'sc q', 7) AS e, (SELECT (nw_score(truth, label, confidence, loss, brier, 7)).* FROM sc_predicted) AS s;

-- by group: plain SQL
CREATE VIEW sc_naive AS
SELECT tenant, count(truth) AS n, count(*) - count(truth) AS unlabelled, count(*) FILTER (WHERE loss = 'Infinity') AS unseen,
       avg((truth <> label)::int::float8) AS error_rate, avg(loss) FILTER (WHERE loss < 'Infinity') AS nll, avg(brier) AS brier,
       nw_ece(confidence, truth = label) AS ece, nw_mce(confidence, truth = label) AS mce,
       (SELECT avg(r) FROM (SELECT avg((truth = label)::int::float8) AS r FROM sc_predicted AS i WHERE i.tenant = o.tenant AND truth IS NOT NULL GROUP BY truth) AS c) AS macro_recall
  FROM sc_predicted AS o GROUP BY tenant;
SELECT tenant, s.n = e.n AND s.unlabelled = e.unlabelled AND s.unseen = e.unseen AND s.unanswered = 0 AS counts,
       abs(s.error_rate - e.error_rate) < 1e-12 AND abs(s.nll - e.nll) < 1e-12 AND abs(s.brier - e.brier) < 1e-12 AND s.ece = e.ece AND s.mce = e.mce AND abs(s.macro_recall - e.macro_recall) < 1e-12 AS right
  FROM sc_naive AS e JOIN (SELECT tenant, (nw_score(truth, label, confidence, loss, brier)).* FROM sc_predicted GROUP BY tenant) AS s USING (tenant) ORDER BY tenant;
-- FILTER, ROLLUP, windows, any order
SELECT (nw_score(truth, label, confidence, loss, brier) FILTER (WHERE tenant = 1)) = (SELECT nw_score(truth, label, confidence, loss, brier) FROM sc_predicted WHERE tenant = 1) AS filtered FROM sc_predicted;
SELECT count(*), count(DISTINCT s) FROM (SELECT nw_score(truth, label, confidence, loss, brier) AS s FROM sc_predicted GROUP BY ROLLUP (tenant)) AS t;
SELECT count(DISTINCT s) FROM (SELECT nw_score(truth, label, confidence, loss, brier ORDER BY id) AS s FROM (SELECT *, query_id::int AS id FROM sc_predicted) AS t
    UNION ALL SELECT nw_score(truth, label, confidence, loss, brier ORDER BY id DESC) FROM (SELECT *, query_id::int AS id FROM sc_predicted) AS t
    UNION ALL SELECT nw_score(truth, label, confidence, loss, brier ORDER BY random()) FROM sc_predicted) AS t;
SELECT array_agg((s).n) FROM (SELECT nw_score(truth, label, confidence, loss, brier) OVER (ORDER BY query_id::int) AS s FROM sc_predicted LIMIT 3) AS t;

-- types of any kind, compared as text; NULLs; own predictions without losses
SELECT nw_score(t, p, NULL, NULL, NULL) FROM (VALUES (1, '1'), (2, '3'), (2, '2'), (NULL, '1'), (5, NULL)) AS v (t, p);
SELECT nw_score('a', 'a', 1, 0, 0), nw_score('a', 'b', 0.5, 'Infinity', 2);
SELECT nw_score('a'::varchar, 'a'::name, NULL, NULL, NULL) AS one, nw_score(true, 't', NULL, NULL, NULL) AS other;
SELECT nw_score(NULL, NULL, NULL, NULL, NULL);
SELECT nw_score(truth, label, confidence, loss, brier) FROM sc_predicted WHERE false;
SELECT nw_score('a', 'a', 1.5, 0, 0);
SELECT nw_score('a', 'a', 1, -1, 0);
SELECT nw_score('a', 'a', 1, 'NaN', 0);
SELECT nw_score('a', 'a', 1, 0, -1);
SELECT nw_score('a', 'a', 1, 0, 'Infinity');
SELECT nw_score('a', 'a', 1, 0, 0, 0);
SELECT nw_score('a', 'a', 1, 0, 0, i) FROM generate_series(1, 2) AS i;

-- in parallel
ALTER TABLE sc_predicted SET (parallel_workers = 2);
SELECT nw_score(truth, label, confidence, loss, brier)::text AS serial FROM sc_predicted \gset
SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
EXPLAIN (COSTS OFF) SELECT nw_score(truth, label, confidence, loss, brier) FROM sc_predicted;
SELECT nw_score(truth, label, confidence, loss, brier)::text = :'serial' AS same FROM sc_predicted;
RESET min_parallel_table_scan_size; RESET parallel_setup_cost; RESET parallel_tuple_cost;

-- nw_class_report
SELECT label, n, predicted, correct, round("precision"::numeric, 4) AS precision, round(recall::numeric, 4) AS recall, round(f1::numeric, 4) AS f1, support_set, query_set, tau FROM nw_class_report('sc', 'sc q');
SELECT bool_and(r.n = e.n AND r.predicted = e.predicted AND r.correct = e.correct
           AND r."precision" IS NOT DISTINCT FROM e.correct / nullif(e.predicted, 0)::float8 AND r.recall IS NOT DISTINCT FROM e.correct / nullif(e.n, 0)::float8
           AND abs(r.f1 - coalesce(2 / (1 / nullif(r."precision", 0) + 1 / nullif(r.recall, 0)), 0)) < 1e-12) AS right, count(*)
  FROM nw_class_report('sc', 'sc q') AS r FULL JOIN
       (SELECT c AS label, count(*) FILTER (WHERE truth = c) AS n, count(*) FILTER (WHERE label = c) AS predicted, count(*) FILTER (WHERE truth = c AND label = c) AS correct
          FROM sc_predicted, unnest('{a,b,c,unseen}'::text[]) AS c WHERE truth IS NOT NULL GROUP BY c) AS e USING (label);
SELECT label, n FROM nw_class_report('sc', 'sc');
SELECT * FROM nw_class_report('sc', NULL);

-- nw_coverage: every threshold, as nw_predict abstains
SELECT bool_and(c.n = e.n AND c.wrong = e.wrong AND c.coverage = e.n / e.labelled::float8 AND c.error_rate = e.wrong / e.n::float8) AS right, count(*) = (SELECT count(DISTINCT confidence) FROM sc_predicted WHERE truth IS NOT NULL) AS all
  FROM nw_coverage('sc', 'sc q') AS c, LATERAL (SELECT count(*) AS labelled, count(*) FILTER (WHERE confidence >= c.threshold) AS n, count(*) FILTER (WHERE confidence >= c.threshold AND truth <> label) AS wrong FROM sc_predicted WHERE truth IS NOT NULL) AS e;
SELECT bool_and(threshold < before) AS falling, max(coverage) AS most FROM (SELECT *, lag(threshold) OVER () AS before FROM nw_coverage('sc', 'sc q')) AS c;
SELECT c.n = count(nw_predict(q.embedding, 'sc', min_confidence => c.threshold)) AS as_predicted
  FROM sc_queries AS q, (SELECT * FROM nw_coverage('sc', 'sc q') OFFSET 50 LIMIT 1) AS c WHERE q.label IS NOT NULL GROUP BY c.n;
-- nw_threshold: the lowest that keeps to the error
SELECT e AS max_error, t.threshold IS NOT DISTINCT FROM c.threshold AND t.n = coalesce(c.n, 0) AND t.wrong = coalesce(c.wrong, 0) AND t.error_rate IS NOT DISTINCT FROM c.error_rate AND t.coverage = coalesce(c.coverage, 0) AS right
  FROM unnest('{0,0.01,0.1,0.25,0.5,1}'::float8[]) AS e, nw_threshold('sc', 'sc q', e) AS t
  LEFT JOIN LATERAL (SELECT * FROM nw_coverage('sc', 'sc q') WHERE error_rate <= e ORDER BY threshold LIMIT 1) AS c ON true;
-- no threshold is high enough; no query has a label
UPDATE sc_queries SET label = 'unseen';
SELECT * FROM nw_threshold('sc', 'sc q', 0.1);
UPDATE sc_queries SET label = NULL;
SELECT * FROM nw_threshold('sc', 'sc q', 0.1);
SELECT count(*) FROM nw_coverage('sc', 'sc q');
SELECT count(*) FROM nw_class_report('sc', 'sc q');
SELECT threshold IS NOT NULL AS own_rows FROM nw_threshold('sc', 'sc', 0.9, true);
SELECT nw_threshold('sc', 'sc q', 1.5);
SELECT nw_threshold('sc', 'sc q', NULL);
SELECT nw_threshold('sc', NULL, 0.5);
SELECT nw_coverage('sc', 'sc q', true);

SELECT nw_unregister(name) FROM nw_sets WHERE name LIKE 'sc%';
DROP VIEW sc_naive;
DROP TABLE sc_rows, sc_queries, sc_predicted;
