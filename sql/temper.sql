-- temper: probabilities that are sharper or flatter, and labels that stay
CREATE TABLE t (id int PRIMARY KEY, label text, embedding vector(2), size float8);
INSERT INTO t SELECT i, chr(97 + i % 4), ARRAY[(i % 4) + sin(i), cos(3 * i) * 1.5], i % 7
  FROM generate_series(1, 200) AS i;
CREATE TABLE t_query (id int PRIMARY KEY, label text, embedding vector(2));
INSERT INTO t_query SELECT i, chr(97 + i % 5), ARRAY[(i % 4) + sin(2 * i + 1), cos(5 * i)]
  FROM generate_series(1, 60) AS i;
SELECT nw_register('plain', 't'), nw_register('tempered', 't', temper => 0.4), nw_register('q', 't_query');
SELECT name, temper FROM nw_sets ORDER BY name;

-- against the formula, for every temper; every query has the label and the order that it had
CREATE VIEW by_hand AS
SELECT q.id, p.label, p.rank, p.probability, h.temper,
       p.probability ^ (1 / h.temper) / sum(p.probability ^ (1 / h.temper)) OVER (PARTITION BY h.temper, q.id) AS tempered
  FROM t_query AS q, nw_predict_proba(q.embedding, 'plain') AS p,
       (VALUES (0.05::float8), (0.4), (1), (3), (1000)) AS h (temper);
CREATE FUNCTION compare(t float8) RETURNS TABLE (rows bigint, same_rank boolean, same boolean, off boolean)
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM nw_alter_set('tempered', temper => t);
	RETURN QUERY
	SELECT count(*), bool_and(p.rank = h.rank), bool_and(p.probability = h.probability),
	       max(abs(p.probability - h.tempered)) > 1e-13
	  FROM t_query AS q, nw_predict_proba(q.embedding, 'tempered') AS p
	  JOIN by_hand AS h USING (label) WHERE h.id = q.id AND h.temper = t;
END $$;
SELECT h.temper, c.* FROM (VALUES (0.05), (0.4), (1), (3), (1000)) AS h (temper), compare(h.temper) AS c;

-- one number whatever the way to it
SELECT nw_alter_set('tempered', temper => 0.4);
SELECT bool_and(nw_predict(q.embedding, 'tempered') = nw_predict(q.embedding, 'plain')) AS predict,
       bool_and((nw_classify(q.embedding, 'tempered')).label = nw_predict(q.embedding, 'plain')) AS classify,
       bool_and((nw_classify(q.embedding, 'tempered')).confidence = p.probability) AS confidence,
       bool_and((nw_explain(q.embedding, 'tempered') ->> 'confidence')::float8 = p.probability) AS explain,
       bool_and(s.confidence = p.probability AND s.label = p.label) AS predict_set,
       bool_and(nw_predict(q.embedding, 'tempered', min_confidence => p.probability) IS NOT NULL) AS sure,
       bool_or(nw_predict(q.embedding, 'tempered', min_confidence => p.probability + 1e-9) IS NOT NULL) AS unsure
  FROM t_query AS q, nw_predict_proba(q.embedding, 'tempered', top => 1) AS p,
       nw_predict_set('tempered', 'q') AS s WHERE s.query_id = q.id::text AND p.probability < 1 - 1e-9;
SELECT nw_explain('[0,0]', 'tempered') ->> 'temper' AS temper;

-- what is made of the probabilities of a whole set
SELECT abs(e.nll - s.nll) < 1e-13 AS nll, abs(e.brier - s.brier) < 1e-13 AS brier,
       e.error_rate = p.error_rate AS error_rate, e.nll <> p.nll AS differs, e.temper, p.temper AS plain
  FROM nw_evaluate('tempered', 'q') AS e, nw_evaluate('plain', 'q') AS p,
       (SELECT avg(-ln(h.tempered)) FILTER (WHERE h.label = q.label) AS nll,
               sum(h.tempered ^ 2 - CASE WHEN h.label = q.label THEN 2 * h.tempered - 1 ELSE 0 END)
               / 60 + count(DISTINCT q.id) FILTER (WHERE q.label = 'e') / 60.0 AS brier
          FROM by_hand AS h JOIN t_query AS q USING (id) WHERE h.temper = 0.4) AS s;
SELECT abs(e.ece - s.ece) < 1e-13 AS ece, abs(e.mce - s.mce) < 1e-13 AS mce
  FROM nw_evaluate('tempered', 'q') AS e,
       (SELECT nw_ece(h.tempered, h.label = q.label), nw_mce(h.tempered, h.label = q.label)
          FROM by_hand AS h JOIN t_query AS q USING (id)
         WHERE h.temper = 0.4 AND h.rank = 1) AS s (ece, mce);
SELECT bool_and(a.n = b.n), bool_or(a.mean_confidence <> b.mean_confidence) AS confidence
  FROM nw_confusion('tempered', 'q') AS a JOIN nw_confusion('plain', 'q') AS b USING (truth, predicted);
SELECT sum(n * accuracy) = (SELECT sum(n * accuracy) FROM nw_reliability('plain', 'q')) AS right,
       abs(sum(n * confidence) / sum(n)
           - (SELECT avg(tempered) FROM by_hand WHERE temper = 0.4 AND rank = 1)) < 1e-12 AS confidence
  FROM nw_reliability('tempered', 'q');

-- what stays
SELECT count(*) FROM (SELECT * FROM nw_weights('[1,0]', 'tempered', top => 200)
	EXCEPT SELECT * FROM nw_weights('[1,0]', 'plain', top => 200)) AS differ;
SELECT count(*) FROM (SELECT * FROM nw_influence('[1,0]', 'b', 'tempered', 200)
	EXCEPT SELECT * FROM nw_influence('[1,0]', 'b', 'plain', 200)) AS differ;
SELECT count(*) FROM (SELECT support_id, label, suggested_label, probability, log_margin, margin, rank
	FROM nw_suspects('tempered', 200)
	EXCEPT SELECT support_id, label, suggested_label, probability, log_margin, margin, rank
	FROM nw_suspects('plain', 200)) AS differ;
SELECT nw_explain('[1,0]', 'tempered') -> 'reasons' = nw_explain('[1,0]', 'plain') -> 'reasons' AS reasons;
SELECT nw_register('sizes', 't', label => 'size'), nw_register('tempered sizes', 't', label => 'size', temper => 0.2);
SELECT bool_and(nw_regress(embedding, 'sizes') = nw_regress(embedding, 'tempered sizes')) FROM t_query;

-- the index certifies the same labels, and gives the same digits
CREATE TABLE answers AS SELECT q.id, p.* FROM t_query AS q, nw_predict_proba(q.embedding, 'tempered') AS p;
CREATE INDEX ON t USING nw (embedding) INCLUDE (label);
SET nwhead.engine = index;
SELECT bool_and(nw_predict(q.embedding, 'tempered') = a.label) AS labels
  FROM t_query AS q JOIN answers AS a USING (id) WHERE a.rank = 1;
SELECT count(*) FROM (SELECT q.id, p.* FROM t_query AS q, nw_predict_proba(q.embedding, 'tempered') AS p
	EXCEPT SELECT * FROM answers) AS differ;
RESET nwhead.engine;

-- sets made of it, replaced and changed
SELECT nw_distill('tempered', 'few', k => 3, calibrate => false);
SELECT temper FROM nw_sets WHERE name = 'few';
SELECT nw_register('tempered', replace => true);
SELECT temper FROM nw_sets WHERE name = 'tempered';
SELECT tau FROM nw_calibrate('plain', low => 1, high => 1, steps => 1);
SELECT calibrated_at IS NOT NULL AS calibrated FROM nw_sets WHERE name = 'plain';
SELECT nw_alter_set('plain', temper => 2);
SELECT temper, calibrated_at FROM nw_sets WHERE name = 'plain';

-- classes so far away that their probability is 0: nothing but numbers
INSERT INTO t VALUES (1000, 'far', '[1e30,1e30]', 1);
INSERT INTO t_query VALUES (1000, 'far', '[0,0]');
SELECT nw_alter_set('tempered', temper => 0.001);
SELECT label, probability FROM nw_predict_proba('[0,-0.5]', 'tempered') ORDER BY rank;
SELECT nll > 1e25 AND nll < 1e300 AS loss, brier BETWEEN 0 AND 2 AS brier FROM nw_evaluate('tempered', 'q');

-- what it cannot be
SELECT nw_alter_set('tempered', temper => 0);
SELECT nw_alter_set('tempered', temper => 'NaN');
SELECT nw_register('another', 't', temper => 1001);
SELECT nw_register('another', 't', temper => '-Infinity');

DROP FUNCTION compare;
DROP VIEW by_hand;
DROP TABLE t, t_query, answers;
SELECT nw_unregister(name) FROM nw_sets WHERE name IN ('plain', 'tempered', 'q', 'sizes', 'tempered sizes', 'few') ORDER BY mode, name;
