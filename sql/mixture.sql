-- nw_register_mixture: predictions averaged over several sets
\pset null '(null)'
SET client_min_messages = warning;
CREATE SCHEMA mixture;
SET search_path = mixture, public;
CREATE TABLE near_rows (id int PRIMARY KEY, label text, x vector(2));
INSERT INTO near_rows VALUES (1, 'a', '[0,0]'), (2, 'a', '[1,0]'), (3, 'b', '[3,1]'),
	(4, 'b', '[2,2]'), (5, 'c', '[0,3]'), (6, 'a', '[1,1]');
CREATE TABLE far_rows (key text PRIMARY KEY, kind text, v vector(2), mass float8);
INSERT INTO far_rows VALUES ('1', 'b', '[0.5,0.5]', 2), ('k2', 'd', '[2,1]', 0.5),
	('k3', 'c', '[1,2]', 1), ('k4', 'd', '[3,3]', 3);
CREATE TABLE heads (id int PRIMARY KEY, label text, w vector(2), weight float8);
INSERT INTO heads VALUES (1, 'a', '[0.5,-1]', exp(0.25)), (2, 'b', '[1,0.5]', exp(-0.5)),
	(3, 'c', '[-1,1]', 1);
SELECT nw_register('near', 'near_rows', embedding => 'x');
SELECT nw_register('far', 'far_rows', embedding => 'v', label => 'kind', id => 'key',
	kernel => 'gaussian', tau => 2.5, weight => 'mass');
SELECT nw_register('head', 'heads', embedding => 'w', kernel => 'dot', weight => 'weight');
SELECT nw_distill('near', 'small', 'cluster', k => 2, calibrate => false);
SELECT nw_register_mixture('both', '{near,far}', '{1,3}');
SELECT nw_register_mixture('all', '{near,far,head,small}');
SELECT nw_register_mixture('one', '{far}', '{0.1}');
SELECT name, mode, relation, kernel, tau, dim, temper, members, shares, status FROM nw_sets
 WHERE mode = 'mixture' ORDER BY name;
CREATE TABLE q (id int PRIMARY KEY, label text, x vector(2));
INSERT INTO q SELECT g, (ARRAY['a','b','c','d','e'])[1 + g % 5],
	ARRAY[(g * 7 % 13) / 4.0, (g * 5 % 11) / 3.0]::vector FROM generate_series(1, 300) AS g;
INSERT INTO q VALUES (301, NULL, '[1,1]');
SELECT nw_register('q', 'q', embedding => 'x');

-- the naive average of what the members say
CREATE FUNCTION naive(mixture text, query vector)
RETURNS TABLE (label text, probability float8) STABLE LANGUAGE sql AS $$
	SELECT p.label, sum(m.share / t.total * p.probability)
	  FROM nw_sets AS s,
		   unnest(s.members, s.shares) AS m(name, share),
		   LATERAL (SELECT sum(u) AS total FROM unnest(s.shares) AS u) AS t,
		   LATERAL nw_predict_proba(query, m.name) AS p
	 WHERE s.name = mixture GROUP BY p.label
$$;
CREATE VIEW differences AS
	SELECT s.name, count(*) AS n, count(n.label) AS met,
		   max(abs(p.probability - n.probability)) AS difference
	  FROM nw_sets AS s, q, LATERAL nw_predict_proba(q.x, s.name) AS p
	  LEFT JOIN LATERAL naive(s.name, q.x) AS n ON n.label = p.label
	 WHERE s.mode = 'mixture' GROUP BY s.name;
SELECT name, n, n = met AS same_classes, difference < 1e-14 AS same FROM differences ORDER BY name;
SELECT name, abs(sum - 1) < 1e-14 AS sums_to_1
  FROM (SELECT s.name, sum(p.probability)
		  FROM nw_sets AS s, nw_predict_proba('[1,2]', s.name) AS p
		 WHERE s.mode = 'mixture' GROUP BY s.name) AS s ORDER BY name;

-- one set alone is that set, to the last bit
SELECT count(*), bool_and(a.probability = b.probability AND a.label = b.label)
  FROM q, LATERAL nw_predict_proba(q.x, 'one') AS a
  JOIN LATERAL nw_predict_proba(q.x, 'far') AS b USING (rank);
SELECT bool_and(nw_predict(x, 'one') = nw_predict(x, 'far')),
	   bool_and(nw_classify(x, 'one') = nw_classify(x, 'far')) FROM q;

-- a head of a network: the softmax of its outputs
SELECT label, abs(probability - exp(z) / sum(exp(z)) OVER ()) < 1e-14 AS softmax
  FROM nw_predict_proba('[0.25,-0.75]', 'head')
  JOIN (SELECT label, -(w <#> '[0.25,-0.75]') + ln(weight) AS z FROM heads) AS z USING (label)
 ORDER BY label;

-- one query: label, confidence, mean
SELECT bool_and(nw_predict(q.x, 'both') = best.label),
	   bool_and((nw_classify(q.x, 'both')).label = best.label),
	   max(abs((nw_classify(q.x, 'both')).confidence - best.probability)) < 1e-14,
	   count(*) FILTER (WHERE nw_predict(q.x, 'both', min_confidence => 0.6) IS NULL) =
	   count(*) FILTER (WHERE best.probability < 0.6)
  FROM q, LATERAL (SELECT * FROM naive('both', q.x)
					ORDER BY probability DESC, label COLLATE "C" LIMIT 1) AS best;
SELECT label, round(probability::numeric, 6) AS probability, rank
  FROM nw_predict_proba('[1,1]', 'both', top => 2);
CREATE TABLE years (id int, label int, x vector(2));
INSERT INTO years VALUES (1, 10, '[0,0]'), (2, 20, '[1,1]'), (3, 40, '[2,0]');
SELECT nw_register('years', 'years', embedding => 'x');
SELECT nw_register('years2', 'years', embedding => 'x', tau => 0.25, temper => 3);
SELECT nw_register_mixture('time', '{years,years2}', '{1,2}');
SELECT abs(nw_regress('[1,0]', 'time') -
		   (nw_regress('[1,0]', 'years') + 2 * nw_regress('[1,0]', 'years2')) / 3) < 1e-13 AS mean;

-- temper, of members and of the mixture
SELECT nw_register('sharp', 'near_rows', embedding => 'x', temper => 0.25);
SELECT nw_register_mixture('tempered', '{sharp,far}', '{2,1}', temper => 1);
SELECT nw_register_mixture('sharpened', '{sharp,far}', '{2,1}', temper => 0.5);
SELECT name, same FROM (SELECT name, difference < 1e-14 AS same FROM differences) AS d
 WHERE name = 'tempered';
SELECT max(abs(s.probability - t.p2 / t.total)) < 1e-14 AS squared
  FROM nw_predict_proba('[1,1.5]', 'sharpened') AS s
  JOIN (SELECT label, probability ^ 2 AS p2, sum(probability ^ 2) OVER () AS total
		  FROM nw_predict_proba('[1,1.5]', 'tempered')) AS t USING (label);
SELECT nw_register_mixture('alone', '{sharp}', temper => 0.5);
SELECT nw_alter_set('near', temper => 0.125);
SELECT max(abs(a.probability - b.probability)) < 1e-15 AS both_tempers
  FROM nw_predict_proba('[1,1.5]', 'alone') AS a
  JOIN nw_predict_proba('[1,1.5]', 'near') AS b USING (label);
SELECT nw_alter_set('near', temper => 1), nw_alter_set('sharpened', temper => 2);
SELECT temper FROM nw_sets WHERE name = 'sharpened';

-- weights: a share of the member's, and whose they are
SELECT w.support_id, w.member, w.label, w.rank, m.distance = w.distance AS distance,
	   abs(w.weight - m.weight * CASE w.member WHEN 'near' THEN 0.25 ELSE 0.75 END) < 1e-15 AS weight
  FROM nw_weights('[1,2]', 'both', exclude => '{}') AS w,
	   LATERAL nw_weights('[1,2]', w.member, exclude => '{}') AS m
 WHERE m.support_id = w.support_id ORDER BY w.rank;
SELECT abs(sum(weight) - 1) < 1e-14 AS all_weights FROM nw_weights('[1,2]', 'all', top => NULL, exclude => '{}');
SELECT support_id, member, rank FROM nw_weights('[1,2]', 'both', top => 3, exclude => '{}');
SELECT support_id, member FROM nw_weights('[1,2]', 'near', top => 2);

-- influence: the loss without a support, found by taking it away
CREATE FUNCTION removal(query vector, truth text, what text, whose text)
RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	before float8;
	after float8;
BEGIN
	SELECT -ln(probability) INTO before FROM nw_predict_proba(query, 'both') WHERE label = truth;
	BEGIN
		IF whose = 'near' THEN
			DELETE FROM near_rows WHERE id = what::int;
		ELSE
			DELETE FROM far_rows WHERE key = what;
		END IF;
		SELECT -ln(probability) INTO after FROM nw_predict_proba(query, 'both') WHERE label = truth;
		RAISE EXCEPTION 'undo' USING ERRCODE = 'ZZ001';
	EXCEPTION WHEN SQLSTATE 'ZZ001' THEN
		NULL;
	END;
	RETURN coalesce(after, 'Infinity') - before;
END $$;
CREATE TABLE influences AS
	SELECT t.truth, i.*, removal('[1,2]', t.truth, i.support_id, i.member) AS removed
	  FROM unnest('{a,b,c,d}'::text[]) AS t(truth),
		   LATERAL nw_influence('[1,2]', t.truth, 'both', top => 20, exclude => '{}') AS i;
SELECT truth, count(*), count(*) FILTER (WHERE influence = removed OR abs(influence - removed) < 1e-12) AS same,
	   bool_and(effect = CASE WHEN label = truth THEN 'helpful' ELSE 'harmful' END) AS effect
  FROM influences GROUP BY truth ORDER BY truth;
SELECT bool_and(abs(influence) <= before) AS ordered
  FROM (SELECT abs(influence) AS influence,
			   lag(abs(influence)) OVER (PARTITION BY truth, effect ORDER BY rank) AS before FROM influences) AS i;
SELECT truth, support_id, member, influence FROM influences
 WHERE influence IN (0, 'Infinity') AND truth IN ('a', 'd') ORDER BY truth, effect, rank;
SELECT count(*), count(influence) FROM nw_influence('[1,2]', 'nobody', 'both', exclude => '{}');
-- a member that has nothing but this support
CREATE TABLE single (id int, label text, x vector(2));
INSERT INTO single VALUES (1, 'a', '[1,1]');
SELECT nw_register('single', 'single', embedding => 'x');
SELECT nw_register_mixture('lone', '{near,single}', '{2,1}');
SELECT t.truth, abs(i.influence - (ln(m.probability) - ln(n.probability))) < 1e-14 AS same
  FROM unnest('{a,b}'::text[]) AS t(truth),
	   LATERAL nw_influence('[1,2]', t.truth, 'lone', top => 20, exclude => '{}') AS i,
	   LATERAL nw_predict_proba('[1,2]', 'lone') AS m,
	   LATERAL nw_predict_proba('[1,2]', 'near') AS n
 WHERE i.member = 'single' AND m.label = t.truth AND n.label = t.truth;

-- all at once
SELECT jsonb_pretty(jsonb_set(nw_explain('[1,2]', 'both', top => 1, exclude => '{}')
		#- '{reasons,0,weight}' #- '{reasons,0,distance}', '{probabilities}', '[]') - 'confidence');

-- a query that is a row of a member
SELECT support_id, member FROM nw_weights('[1,1]', 'both', top => 5);

-- what counts: members without support take no part
SELECT label, abs(m.probability - f.probability) < 1e-15 AS far_alone
  FROM nw_predict_proba('[1,2]', 'both', classes => '{d}') AS m
  JOIN nw_predict_proba('[1,2]', 'far', classes => '{d}') AS f USING (label);
SELECT label, round(probability::numeric, 6) AS probability FROM nw_predict_proba('[1,2]', 'both', classes => '{d,a}');
SELECT nw_predict('[1,2]', 'both', classes => '{a,nobody}');
SELECT nw_predict('[1,2]', 'both', classes => '{a,nobody}', empty_ok => true);
SELECT nw_predict('[1,2]', 'both', classes => '{nobody}', empty_ok => true) IS NULL AS nothing;
SELECT bool_and(m.probability = f.probability) AS far_alone
  FROM nw_predict_proba('[1,2]', 'both', exclude => '{2,3,4,5,6,1}') AS m
  JOIN nw_predict_proba('[1,2]', 'far', exclude => '{2,3,4,5,6,1}') AS f USING (label);
SELECT nw_predict('[1,2]', 'both', exclude => '{1,2,3,4,5,6,k2,k3,k4}');
SELECT nw_predict('[1,2]', 'both', exclude => '{1,2,3,4,5,6,k2,k3,k4}', empty_ok => true) IS NULL AS nothing;
SELECT nw_predict('[1,2,3]', 'both');

-- whole sets say what single calls say
SELECT p.support_set, p.query_set, p.tau, count(*), count(p.truth) AS labelled,
	   bool_and(p.label = c.label AND p.confidence = c.confidence) AS same,
	   bool_and(p.truth_probability = coalesce(t.probability, 0)) FILTER (WHERE p.truth IS NOT NULL) AS truth
  FROM unnest('{both,all,one,tempered,sharpened}'::text[]) AS s(name),
	   LATERAL nw_predict_set(s.name, 'q', leave_one_out => false) AS p
  JOIN q ON q.id = p.query_id::int
  CROSS JOIN LATERAL nw_classify(q.x, s.name) AS c
  LEFT JOIN LATERAL nw_predict_proba(q.x, s.name) AS t ON t.label = p.truth
 GROUP BY 1, 2, 3 ORDER BY 1;
SELECT e.support_set, e.query_set, e.tau, e.n, e.unlabelled, e.unseen, e.label_match,
	   e.error_rate = p.error_rate AS error_rate, abs(e.nll - p.nll) < 1e-12 AS nll,
	   abs(e.brier - p.brier) < 1e-12 AS brier, abs(e.ece - p.ece) < 1e-12 AS ece
  FROM nw_evaluate('both', 'q', leave_one_out => false) AS e,
	   (SELECT avg((label <> truth)::int)::float8 AS error_rate,
			   avg(loss) FILTER (WHERE loss < 'Infinity') AS nll, avg(brier) AS brier,
			   nw_ece(confidence, label = truth) AS ece
		  FROM nw_predict_set('both', 'q', leave_one_out => false) WHERE truth IS NOT NULL) AS p;
SELECT sum(n), bool_and(tau IS NULL) FROM nw_confusion('both', 'q', leave_one_out => false);
SELECT label, n, predicted, tau FROM nw_class_report('both', 'q', leave_one_out => false);
SELECT sum(n), bool_and(tau IS NULL) FROM nw_reliability('both', 'q', leave_one_out => false);
SELECT max(n), max(tau) FROM nw_coverage('both', 'q', leave_one_out => false);
SELECT n, tau FROM nw_threshold('both', 'q', 1, leave_one_out => false);

-- each member leaves out the queries that are its own rows
SELECT p.query_id, p.label = c.label AND abs(p.confidence - c.confidence) < 1e-15 AS same
  FROM nw_predict_set('both', 'near') AS p JOIN near_rows AS r ON r.id = p.query_id::int,
	   LATERAL (SELECT label, probability AS confidence FROM (
			SELECT label, 0.25 * coalesce(n.probability, 0) + 0.75 * coalesce(f.probability, 0) AS probability
			  FROM nw_predict_proba(r.x, 'near', exclude => ARRAY[r.id]) AS n
			  FULL JOIN nw_predict_proba(r.x, 'far') AS f USING (label)) AS naive
		 ORDER BY probability DESC LIMIT 1) AS c;
SELECT error_rate FROM nw_evaluate('both', 'q', leave_one_out => true);

-- a small cache: members that do not fit are read again for each block
SET nwhead.statement_cache = '64kB';
CREATE TABLE wide (id int, label text, x vector(2));
INSERT INTO wide SELECT g, 'w' || g % 7, ARRAY[g % 97, g % 89]::vector FROM generate_series(1, 5000) AS g;
SELECT nw_register('wide', 'wide', embedding => 'x', tau => 0.5);
SELECT nw_register_mixture('streamed', '{wide,near,far}', '{1,2,3}');
CREATE TABLE streamed AS SELECT * FROM nw_predict_set('streamed', 'q', leave_one_out => false);
CREATE TABLE streamed_again AS SELECT q.id, c.* FROM q, LATERAL nw_classify(q.x, 'streamed') AS c;
RESET nwhead.statement_cache;
SELECT count(*), bool_and(a.label = b.label AND a.confidence = b.confidence AND a.brier IS NOT DISTINCT FROM b.brier)
  FROM streamed AS a JOIN nw_predict_set('streamed', 'q', leave_one_out => false) AS b USING (query_id);
SELECT count(*), bool_and(a.label = b.label AND a.confidence = b.confidence)
  FROM streamed_again AS a JOIN nw_predict_set('streamed', 'q', leave_one_out => false) AS b
    ON b.query_id = a.id::text;

-- engines
CREATE INDEX ON wide USING nw (x) INCLUDE (label);
SET nwhead.engine = 'index';
CREATE TABLE by_index AS SELECT q.id, p.* FROM q, LATERAL nw_predict_proba(q.x, 'streamed') AS p WHERE q.id < 20;
SET nwhead.engine = 'executor';
SELECT count(*), bool_and(p.probability = b.probability)
  FROM by_index AS b JOIN q USING (id), LATERAL nw_predict_proba(q.x, 'streamed') AS p WHERE p.label = b.label;
RESET nwhead.engine;

-- weights as large and as small as there are
SELECT nw_register_mixture('extreme', '{near,far}', '{1e308,1e308}');
SELECT max(abs(p.probability - n.probability)) < 1e-14 AS equal
  FROM nw_predict_proba('[1,2]', 'extreme') AS p,
	   LATERAL (SELECT sum(probability) / 2 AS probability FROM (
			SELECT * FROM nw_predict_proba('[1,2]', 'near') UNION ALL
			SELECT * FROM nw_predict_proba('[1,2]', 'far')) AS u WHERE u.label = p.label) AS n;
SELECT nw_register_mixture('extreme', '{near,far}', '{4.9e-324,1.7e308}', replace => true);
SELECT label, probability > 0 AS positive FROM nw_predict_proba('[1,2]', 'extreme') ORDER BY label;
SELECT query_id, label, confidence, loss < 'Infinity' AS finite
  FROM nw_predict_set('extreme', 'q', leave_one_out => false) WHERE query_id = '5';

-- names: rename, replace, remove
SELECT nw_alter_set('near', new_name => 'nigh'), nw_alter_set('both', new_name => 'pair');
SELECT name, members, shares FROM nw_sets WHERE mode = 'mixture' AND 'nigh' = ANY (members) ORDER BY name;
SELECT parent FROM nw_sets WHERE name = 'small';
SELECT nw_predict('[0,0]', 'pair');
SELECT nw_register_mixture('pair', '{nigh,head}');
SELECT nw_register_mixture('pair', '{nigh,head}', '{5,1}', replace => true);
SELECT members, shares FROM nw_sets WHERE name = 'pair';
SELECT nw_unregister('head');
SELECT name, status FROM nw_sets WHERE 'head' = ANY (members) ORDER BY name;
SELECT set, what, why, sql FROM nw_todo() WHERE set IN ('pair', 'all') ORDER BY set;
SELECT nw_predict('[0,0]', 'pair');
SELECT * FROM nw_evaluate('pair', 'q');
SELECT nw_register('head', 'heads', embedding => 'w', kernel => 'dot', weight => 'weight');
SELECT nw_predict('[0,0]', 'pair');
DROP TABLE heads;
SELECT name, status FROM nw_sets WHERE 'head' = ANY (members) ORDER BY name;
SELECT nw_predict('[0,0]', 'pair');

-- what cannot be
SELECT nw_register_mixture('bad', '{}');
SELECT nw_register_mixture('bad', NULL);
SELECT nw_register_mixture('bad', '{nigh,NULL}');
SELECT nw_register_mixture('bad', '{{nigh},{far}}');
SELECT nw_register_mixture('bad', '{nigh,far,nigh}');
SELECT nw_register_mixture('bad', '{nigh,nowhere}');
SELECT nw_register_mixture('bad', '{nigh,one}');
SELECT nw_register_mixture('bad', '{nigh,far}', '{1}');
SELECT nw_register_mixture('bad', '{nigh,far}', '{1,0}');
SELECT nw_register_mixture('bad', '{nigh,far}', '{1,NaN}');
SELECT nw_register_mixture('bad', '{nigh,far}', '{1,Infinity}');
SELECT nw_register_mixture('bad', '{nigh,far}', '{1,NULL}');
SELECT nw_register_mixture('bad', '{nigh,far}', temper => 0);
SELECT nw_register_mixture('', '{nigh}');
SELECT nw_register_mixture('nigh', '{far}', replace => true);
SELECT nw_register('unlabelled', 'q', embedding => 'x', label => NULL);
SELECT nw_register_mixture('bad', '{nigh,unlabelled}');
CREATE TABLE third (id int, label text, x vector(3));
SELECT nw_register('third', 'third', embedding => 'x');
SELECT nw_register_mixture('bad', '{nigh,third}');
SELECT nw_alter_set('nigh', model => 'net 1'), nw_alter_set('far', model => 'net 2');
SELECT nw_register_mixture('warned', '{nigh,far}');
SELECT nw_register('pair', 'q', embedding => 'x', replace => true);
SELECT nw_alter_set('pair', tau => 2);
SELECT nw_alter_set('pair', kernel => 'dot');
SELECT nw_alter_set('pair', relation => 'q');
SELECT nw_alter_set('pair', label => 'label');
SELECT nw_alter_set('pair', model => 'net 1');
SELECT nw_alter_set('pair', balance => 'uniform');
SELECT nw_set_tau('pair', 2);
SELECT nw_distill('pair', 'tiny', 'cluster');
SELECT nw_distill('nigh', 'pair', 'cluster');
SELECT * FROM nw_suspects('pair');
SELECT nw_calibrate('pair');
SELECT nw_learn_typicality('pair');
SELECT * FROM nw_temperature_sweep('pair', 'q');
SELECT nw_diagnose('pair', 'q');
SELECT * FROM nw_index_work('[1,2]', 'pair');
SELECT * FROM nw_predict_set('nigh', 'pair');

-- calibrated: temper alone, of the least loss, and every label stays
SELECT nw_register('m1', 'near_rows', embedding => 'x', temper => 0.7), nw_register('m2', 'far_rows', embedding => 'v', label => 'kind', id => 'key');
SELECT nw_register_mixture('mix', '{m1,m2}', '{1,2}');
CREATE TABLE q2 AS SELECT id, CASE WHEN id % 10 < 7 THEN nw_predict(x, 'mix') ELSE label END AS label, x FROM q;
SELECT nw_register('q2', 'q2', embedding => 'x');
CREATE TEMP TABLE plain AS SELECT q.id, q.label AS truth, p.label, p.probability
  FROM q2 AS q, nw_predict_proba(q.x, 'mix') AS p WHERE q.label IS NOT NULL;
CREATE FUNCTION pg_temp.loss(t float8) RETURNS float8 LANGUAGE sql AS
$$SELECT avg(-ln(p)) FROM (SELECT label = truth AS own,
	probability ^ (1 / t) / sum(probability ^ (1 / t)) OVER (PARTITION BY id) AS p FROM plain) AS h WHERE own$$;
CREATE TEMP TABLE found AS SELECT * FROM nw_calibrate('mix', 'q2', leave_one_out => false);
SELECT tau IS NULL AND tau_before IS NULL AS no_tau, temper_before, error_before = error_after AS same_error,
       nll_after < nll_before AS better, abs(nll_before - pg_temp.loss(1)) < 1e-12 AS before,
       abs(nll_after - pg_temp.loss(temper)) < 1e-12 AS after,
       nll_after <= pg_temp.loss(temper * 1.001) AND nll_after <= pg_temp.loss(temper / 1.001) AS least
  FROM found;
SELECT f.temper = s.temper AS kept, s.calibrated_at IS NOT NULL AS calibrated, abs(f.nll_after - e.nll) < 1e-12 AS nll,
       abs(f.ece_after - e.ece) < 1e-12 AS ece, f.error_after = e.error_rate AS error_rate
  FROM found AS f, nw_sets AS s, nw_evaluate('mix', 'q2', leave_one_out => false) AS e WHERE s.name = 'mix';

SELECT nw_register_mixture('m1 tempered', '{m1}', temper => 1.3);
CREATE TEMP TABLE found_single AS SELECT * FROM nw_calibrate('m1 tempered', 'q2', leave_one_out => false);
SELECT nll_after < nll_before AS better, abs(f.nll_after - e.nll) < 1e-12 AS nll, abs(f.ece_after - e.ece) < 1e-12 AS ece
  FROM found_single AS f, nw_evaluate('m1 tempered', 'q2', leave_one_out => false) AS e;
SELECT nw_calibrate('mix', 'q2', fit => 'tau');
SELECT nw_calibrate('mix', 'q2', 0.1, 1);
SELECT typicality FROM nw_classify('[1,2]', 'mix');
SELECT nw_predict('[1,2]', 'mix', min_typicality => 0.1);

-- plausible labels: scores of the mixture's own probabilities, until a member changes
SELECT query_set, scored_by, guarantee, n > 0 AS scored FROM nw_conformal('mix', 'q2', leave_one_out => false);
SELECT bool_and(nw_plausible(q.x, 'mix', 0.8) = (SELECT coalesce(array_agg(p.label ORDER BY rank), '{}')
	FROM nw_predict_proba(q.x, 'mix') AS p,
	     (SELECT scores[ceil((cardinality(scores) + 1) * 0.8 - 1e-9)] AS bound
	        FROM nw_reference_scores WHERE set = 'mix' AND kind = 'threshold') AS s
	WHERE 1 - p.probability <= s.bound + 1e-15)) AS plausible FROM q;
SELECT covered >= 0.8 * n AS covered FROM nw_conformal_evaluate('mix', 'q2', 0.8, leave_one_out => false);
SELECT nw_set_tau('m2', 0.123);
SELECT nw_plausible('[1,2]', 'mix', 0.8);
SELECT current FROM nw_reference_scores WHERE set = 'mix';
SELECT what, sql FROM nw_todo() WHERE set = 'mix';
-- and no change of a name makes them hold again
SELECT nw_alter_set('m2', new_name => 'm3'), nw_alter_set('mix', new_name => 'mixed');
SELECT nw_plausible('[1,2]', 'mixed', 0.8);
SELECT n > 0 AS scored FROM nw_conformal('mixed', 'q2', leave_one_out => false);
SELECT nw_plausible('[1,2]', 'mixed', 0.8) IS NOT NULL AS plausible;
SELECT count(*) FROM nw_dump() WHERE name = 'mixed' AND score_kind IS NOT NULL;
SELECT nw_plausible('[1,2]', 'mixed', 0.8, classes => '{eagle}');
SELECT nw_plausible('[1,2]', 'mixed', 0.8, classes => '{eagle}', empty_ok => true);

SELECT nw_unregister(name) FROM (SELECT name FROM nw_sets ORDER BY mode <> 'mixture', name) AS s;
RESET search_path;
DROP SCHEMA mixture CASCADE;
RESET client_min_messages;
