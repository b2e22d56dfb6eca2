-- Plausible labels and intervals: scores of labelled queries, and what they promise
\pset null '(null)'
SET client_min_messages = warning;
CREATE SCHEMA conformal;
SET search_path = conformal, public;
CREATE TABLE rows AS
	SELECT i AS id, ARRAY[(i * 7) % 13, (i * 5) % 11 + i % 3 * 2]::real[]::vector(2) AS embedding,
		   (i % 3)::text AS label
	  FROM generate_series(1, 240) AS i;
CREATE VIEW support AS SELECT * FROM rows WHERE id <= 120;
CREATE VIEW scored AS SELECT * FROM rows WHERE id BETWEEN 121 AND 159;
CREATE VIEW tried AS SELECT * FROM rows WHERE id > 180;
SELECT nw_register(s, s::regclass, tau => 1) FROM unnest('{support, scored, tried}'::text[]) AS s;
RESET client_min_messages;

-- nothing is known before queries are scored
SELECT nw_plausible('[1,2]', 'support');
SELECT nw_regress_interval('[1,2]', 'support');
SELECT * FROM nw_conformal_evaluate('support', 'tried');

-- what is stored: what the probability of the truth lacks
SELECT * FROM nw_conformal('support', 'scored');
SELECT set, kind, class, queries, k, n, current FROM nw_reference_scores;
SELECT bool_and(abs(stored - (1 - probability)) < 1e-15) AS same, count(*)
  FROM (SELECT probability, row_number() OVER (ORDER BY probability DESC) AS i
		  FROM scored AS q, nw_predict_proba(q.embedding, 'support') AS p WHERE p.label = q.label) AS p
  JOIN (SELECT * FROM nw_reference_scores, unnest(scores) WITH ORDINALITY AS u (stored, i)) AS s USING (i);

-- the labels that score no more than the score of rank ceil((n + 1) c): by numeric, which does not round
CREATE FUNCTION naive(q vector, c numeric) RETURNS text[] LANGUAGE sql AS $$
	SELECT coalesce(array_agg(label ORDER BY rank) FILTER (WHERE 1 - probability <=
				coalesce((SELECT scores[ceil((n + 1) * c)::int] FROM nw_reference_scores WHERE set = 'support' AND kind = 'threshold'), 2)), '{}')
	  FROM nw_predict_proba(q, 'support') $$;
SELECT c, count(*) FILTER (WHERE nw_plausible(embedding, 'support', c) <> naive(embedding, c::text::numeric)) AS different,
	   round(avg(cardinality(nw_plausible(embedding, 'support', c))), 3) AS mean_size
  FROM tried, unnest('{0.1, 0.3, 0.55, 0.8, 0.9, 0.975, 0.976, 1}'::float8[]) AS c GROUP BY c ORDER BY c;
SELECT e.n, covered, round(covered_share::numeric, 3) AS share, round(mean_size::numeric, 3) AS mean_size, empty, all_classes,
	   (SELECT count(*) FILTER (WHERE label = ANY (nw_plausible(embedding, 'support', 0.8))) FROM tried) AS one_by_one
  FROM nw_conformal_evaluate('support', 'tried', 0.8) AS e;

-- the other method: the truth and all that is more probable
SELECT scored_by, n, guarantee FROM nw_conformal('support', 'scored', 'adaptive');
SELECT set, kind, n FROM nw_reference_scores;
SELECT bool_and(abs(stored - mass) < 1e-15) AS same, count(*)
  FROM (SELECT mass, row_number() OVER (ORDER BY mass) AS i
		  FROM scored AS q, LATERAL (SELECT p.label, sum(probability) OVER (ORDER BY rank) AS mass FROM nw_predict_proba(q.embedding, 'support') AS p) AS p
		 WHERE p.label = q.label) AS p
  JOIN (SELECT * FROM nw_reference_scores, unnest(scores) WITH ORDINALITY AS u (stored, i)) AS s USING (i);
SELECT covered, round(mean_size::numeric, 3) AS mean_size FROM nw_conformal_evaluate('support', 'tried', 0.8);

-- by class: 13 scores of each serve 0.9, and not 0.95
SELECT n, classes, guarantee FROM nw_conformal('support', 'scored', by_class => true);
SELECT kind, class, n FROM nw_reference_scores ORDER BY class;
SELECT covered >= 54 AS covers, low, high, all_classes < n AS fewer FROM nw_conformal_evaluate('support', 'tried', 0.9);
SELECT covered, all_classes FROM nw_conformal_evaluate('support', 'tried', 0.95);

-- classes picks from the plausible ones; rows can be left out; no support, no answer
SELECT nw_plausible('[1,2]', 'support', 0.95) AS all, nw_plausible('[1,2]', 'support', 0.95, '{0,2}') AS picked,
	   nw_plausible('[1,2]', 'support', 0.95, '{x}', empty_ok => true) AS none;
SELECT nw_plausible('[1,2]', 'support', 0.95, '{x}');
SELECT nw_plausible('[1,2]', 'support', exclude => ARRAY(SELECT id FROM support WHERE label <> '1')) AS left;
SELECT nw_plausible('[1,2]', 'support', exclude => ARRAY(SELECT id FROM support), empty_ok => true) AS nothing,
	   nw_plausible(NULL::vector, 'support') AS no_query;
SELECT nw_plausible('[1,2]', 'support', exclude => ARRAY(SELECT id FROM support));

-- own rows give an estimate, rows that support themselves nothing
SELECT query_set, n, guarantee FROM nw_conformal('support');
SELECT query_set, n, guarantee FROM nw_conformal('support', 'support');
SELECT n, guarantee FROM nw_conformal('support', 'support', leave_one_out => false);
SELECT n FROM nw_conformal_evaluate('support', 'support');

-- a label without support is never covered, and a query without one not counted
CREATE TABLE odd AS SELECT id, embedding, CASE WHEN id % 4 = 0 THEN 'new' WHEN id % 5 > 0 THEN label END AS label FROM tried;
SELECT nw_register('odd', 'odd', tau => 1);
SELECT n, unlabelled, unseen FROM nw_conformal('support', 'odd');
SELECT nw_plausible('[1,2]', 'support', 0.8);
SELECT n, unlabelled, unseen, covered_share FROM nw_conformal_evaluate('support', 'odd', 0.8);
SELECT n, unlabelled, unseen, classes FROM nw_conformal('support', 'odd', by_class => true);

-- scores are of the set as it was
SELECT nw_set_tau('support', 2);
SELECT nw_plausible('[1,2]', 'support');
SELECT set, what, why, sql FROM nw_todo() WHERE what = 'scores outdated';
SELECT scored_by FROM nw_conformal('support', queries => 'odd', method => 'threshold', by_class => true);
SELECT nw_alter_set('support', new_name => 'renamed');
SELECT nw_plausible('[1,2]', 'renamed') IS NOT NULL AS follows;
SELECT nw_alter_set('renamed', new_name => 'support', temper => 0.5);
SELECT nw_plausible('[1,2]', 'support');
SELECT nw_alter_set('support', temper => 1);

-- numbers
SELECT n, guarantee FROM nw_conformal('support', 'scored', 'residual');
SELECT bool_and(abs(stored - residual) < 1e-14) AS same, count(*)
  FROM (SELECT abs(nw_regress(embedding, 'support') - label::float8) AS residual,
			   row_number() OVER (ORDER BY abs(nw_regress(embedding, 'support') - label::float8)) AS i FROM scored) AS p
  JOIN (SELECT * FROM nw_reference_scores, unnest(scores) WITH ORDINALITY AS u (stored, i) WHERE kind = 'residual') AS s USING (i);
SELECT bool_and(r.mean = nw_regress(q.embedding, 'support')) AS mean,
	   bool_and(abs(r.variance - (SELECT sum(probability * (label::float8 - r.mean) ^ 2) FROM nw_predict_proba(q.embedding, 'support'))) < 1e-14) AS variance,
	   bool_and(abs(r.high - r.mean - s.scores[36]) < 1e-14 AND abs(r.mean - r.low - s.scores[36]) < 1e-14) AS width
  FROM tried AS q, nw_regress_interval(q.embedding, 'support') AS r, nw_reference_scores AS s WHERE s.kind = 'residual';
SELECT low, high FROM nw_regress_interval('[1,2]', 'support', 0.98);
SELECT mean IS NOT NULL AS mean, low, high FROM nw_regress_interval('[1,2]', 'support', NULL);
SELECT nw_regress_interval('[1,2]', 'support', exclude => ARRAY(SELECT id FROM support), empty_ok => true) AS nothing;
SELECT e.n, e.unlabelled, abs(e.rmse - n.rmse) < 1e-14 AS rmse, abs(e.mae - n.mae) < 1e-14 AS mae, abs(e.bias - n.bias) < 1e-14 AS bias, abs(e.r2 - n.r2) < 1e-14 AS r2
  FROM nw_evaluate_regression('support', 'tried') AS e,
	   (SELECT sqrt(avg((p - y) ^ 2)) AS rmse, avg(abs(p - y)) AS mae, avg(p - y) AS bias, 1 - avg((p - y) ^ 2) / var_pop(y) AS r2
		  FROM (SELECT nw_regress(embedding, 'support') AS p, label::float8 AS y FROM tried) AS t) AS n;
CREATE TABLE alike AS SELECT id, embedding, CASE WHEN id % 2 = 0 THEN '1.5' END AS label FROM tried;
SELECT nw_register('alike', 'alike', tau => 1);
SELECT n, unlabelled, rmse > 0 AS rmse, r2 FROM nw_evaluate_regression('support', 'alike');

-- errors
SELECT nw_conformal('support', 'scored', 'nonsense');
SELECT nw_conformal('support', 'scored', NULL);
SELECT nw_conformal('support', 'scored', 'residual', by_class => true);
SELECT nw_conformal('support', 'odd', 'residual');
SELECT nw_conformal('odd', 'scored', 'residual');
SELECT nw_evaluate_regression('support', 'odd');
SELECT nw_regress_interval('[1,2]', 'odd', NULL);
SELECT nw_plausible('[1,2]', 'support', 0), 1;
SELECT nw_plausible('[1,2]', 'support', 1.01);
SELECT nw_plausible('[1,2]', 'support', 'NaN');
SELECT nw_plausible('[1,2]', 'support', NULL);
SELECT nw_conformal_evaluate('support', 'tried', -1);
SELECT nw_conformal('support', leave_one_out => false);
CREATE VIEW nobody AS SELECT id, embedding, NULL::text AS label FROM tried;
CREATE VIEW strangers AS SELECT id, embedding, 'new' AS label FROM tried;
SELECT nw_register(s, s::regclass, tau => 1) FROM unnest('{nobody, strangers}'::text[]) AS s;
SELECT nw_conformal('support', 'nobody');
SELECT nw_conformal('support', 'strangers', by_class => true);
SELECT nw_distill('support', 'few', calibrate => false);
SELECT nw_conformal('few');
SELECT guarantee FROM nw_conformal('few', 'scored');
SELECT guarantee FROM nw_conformal('few', 'support');
SELECT guarantee FROM nw_conformal('few', 'support', leave_one_out => false);

-- what comes from elsewhere is not taken for granted
CREATE FUNCTION damage(change text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	message text;
BEGIN
	BEGIN
		EXECUTE format('UPDATE nw_reference SET %s WHERE kind = ''residual''', change);
		PERFORM nw_regress_interval('[1,2]', 'support');
		RAISE EXCEPTION 'not noticed';
	EXCEPTION WHEN others THEN
		message := SQLSTATE || ' ' || SQLERRM;
	END;
	RETURN message;
END $$;
SELECT change, damage(change) FROM unnest(ARRAY[
	$$scores = '{}'$$, $$scores = '{1,NULL}'$$, $$scores = '{1,NaN}'$$, $$scores = '{2,1}'$$, $$scores = '{{1},{2}}'$$,
	$$k = 0$$, $$version = version - 1$$]) AS change;
INSERT INTO nw_reference SELECT * FROM nw_reference WHERE kind = 'residual';
SELECT nw_regress_interval('[1,2]', 'support');
SELECT scored_by FROM nw_conformal('support', 'scored', 'residual');
SELECT low < high AS repaired FROM nw_regress_interval('[1,2]', 'support');
RESET search_path;
SET client_min_messages = warning;
DROP SCHEMA conformal CASCADE;
SELECT nw_unregister(s) FROM unnest('{support, scored, tried, odd, alike, nobody, strangers, few}'::text[]) AS s;
SELECT count(*) FROM nw_reference;
