-- nw_predict, nw_classify and nw_predict_proba, wherever SQL allows a function
\pset null '(null)'
-- distances from the origin are whole, and tau makes a weight 2^-distance:
-- cat 1/2 + 1/32 = 17/32, dog 1/4 + 1/4 = 16/32, so 17/33 and 16/33
CREATE TABLE pr_pets (id int PRIMARY KEY, embedding vector(2), label text);
INSERT INTO pr_pets VALUES
    (1, '[1,0]', 'cat'), (2, '[3,4]', 'cat'), (3, '[0,2]', 'dog'), (4, '[0,-2]', 'dog'),
    (5, NULL, 'cat'), (6, '[0,0]', NULL);
SELECT nw_register('pets', 'pr_pets', tau => 1 / ln(2));
CREATE TABLE pr_inbox (id int, e vector(2));
INSERT INTO pr_inbox VALUES (1, '[0,0]'), (2, '[0,3]'), (3, NULL), (4, '[3,4]');

-- positional and named
SELECT nw_predict('[0,0]', 'pets');
SELECT nw_predict(query => '[0,0]', support => 'pets');
SELECT nw_predict(support => 'pets', query => '[0,3]'::vector, min_confidence => 0.1, classes => NULL);
SELECT nw_predict('[0,0]', 'pets', NULL, NULL, NULL);
SELECT label, round(confidence::numeric, 12) = round(17 / 33.0, 12) AS right
  FROM nw_classify('[0,0]', 'pets');
SELECT label, round(probability::numeric, 12) IN (round(17 / 33.0, 12), round(16 / 33.0, 12)) AS right
  FROM nw_predict_proba('[0,0]', 'pets');
SELECT label FROM nw_predict_proba('[0,0]', 'pets', top => 1);
SELECT label FROM nw_predict_proba('[0,0]', 'pets', top => 100);

-- a class is equal to a hand-written query
SELECT p.label, abs(p.probability - n.mass / sum(n.mass) OVER ()) < 1e-12 AS right
  FROM nw_predict_proba('[1,2]', 'pets') AS p
  JOIN (SELECT label, sum(exp(-(embedding <-> '[1,2]') * ln(2))) AS mass
          FROM pr_pets WHERE embedding IS NOT NULL AND label IS NOT NULL GROUP BY label) AS n
    USING (label);

-- a query as text is what pgvector makes of it
SELECT q, (SELECT array_agg((support_id, distance) ORDER BY support_id) FROM nw_weights(q, 'pets')) =
          (SELECT array_agg((support_id, distance) ORDER BY support_id) FROM nw_weights(q::vector, 'pets')) AS same
  FROM unnest(ARRAY['[0.1,-2.5]', '[1e-3,1E+1]', '[.5,5.]', '[ 1 , 2 ]', ' [1,2] ', '[1e-40,16777217]', '[-0,3.4028235e38]']) AS q;
CREATE FUNCTION pr_error(q text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    ours text := 'none';
    theirs text := 'none';
BEGIN
    BEGIN PERFORM nw_predict(q, 'pets'); EXCEPTION WHEN OTHERS THEN ours := sqlstate || ' ' || sqlerrm; END;
    BEGIN PERFORM q::vector; EXCEPTION WHEN OTHERS THEN theirs := sqlstate || ' ' || sqlerrm; END;
    RETURN CASE WHEN ours <> theirs THEN format('%s, but %s', ours, theirs) WHEN ours = 'none' THEN 'no error' ELSE 'the same' END;
END $$;
SELECT q, pr_error(q)
  FROM unnest(ARRAY['', '[', '[]', '[1', '[1,2', '[1,]', '[,1]', '[1,,2]', '[1,2]]', '[1,2]x', '[1e,2]', '[--1,2]', '[1 2,3]',
                    '[nan,1]', '[inf,1]', '[1e39,1]', '1,2', '(1,2)', '[1,a]']) AS q;
SELECT pr_error('[' || repeat('1,', 16000) || '1]');

-- vector, halfvec, text and untyped
SELECT nw_predict('[0,3]'::vector, 'pets'), nw_predict('[0,3]'::halfvec, 'pets'),
       nw_predict('[0,3]'::text, 'pets'), nw_predict('[0,3]', 'pets');
SELECT nw_predict('[0,3]'::varchar, 'pets'), nw_predict('[0,3]'::char(10), 'pets');
SELECT a.label, b.label, c.label
  FROM nw_classify('[0,3]'::vector, 'pets') AS a, nw_classify('[0,3]'::halfvec, 'pets') AS b,
       nw_classify('[0,3]', 'pets') AS c;
SELECT a.probability = b.probability AS "vector and halfvec", a.probability = c.probability AS "vector and text"
  FROM nw_predict_proba('[0,3]'::vector, 'pets', top => 1) AS a,
       nw_predict_proba('[0,3]'::halfvec, 'pets', top => 1) AS b,
       nw_predict_proba('[0,3]', 'pets', top => 1) AS c;

-- SELECT list, WHERE, ORDER BY, LATERAL, aggregate, CASE
SELECT id, nw_predict(e, 'pets') FROM pr_inbox ORDER BY id;
SELECT id FROM pr_inbox WHERE nw_predict(e, 'pets') = 'dog';
SELECT id FROM pr_inbox ORDER BY nw_predict(e, 'pets') DESC NULLS LAST, id;
SELECT i.id, c.label, c.confidence > 0.5 AS sure
  FROM pr_inbox AS i, nw_classify(i.e, 'pets') AS c ORDER BY i.id;
SELECT i.id, p.label FROM pr_inbox AS i, nw_predict_proba(i.e, 'pets', top => 1) AS p ORDER BY i.id;
SELECT i.id, p.label FROM pr_inbox AS i LEFT JOIN nw_predict_proba(i.e, 'pets', top => 1) AS p ON true ORDER BY i.id;
SELECT nw_predict(e, 'pets') AS label, count(*) FROM pr_inbox GROUP BY 1 ORDER BY 1;
SELECT id, CASE WHEN id = 1 THEN nw_predict(e, 'pets') END FROM pr_inbox ORDER BY id;
SELECT (SELECT nw_predict(e, 'pets')) FROM pr_inbox WHERE id = 2;
-- in the target list, as a set
SELECT id, nw_predict_proba(e, 'pets') IS NOT NULL AS row FROM pr_inbox ORDER BY id;

-- the set's name may come from the row
SELECT s, nw_predict('[0,0]', s) FROM (VALUES ('pets')) AS v (s);

-- a view
CREATE VIEW pr_view AS SELECT id, nw_predict(e, 'pets') AS label FROM pr_inbox;
SELECT * FROM pr_view ORDER BY id;

-- a prepared statement, with custom plans and with a generic one
PREPARE pr_query (vector) AS SELECT nw_predict($1, 'pets');
EXECUTE pr_query ('[0,0]');
EXECUTE pr_query ('[0,3]');
EXECUTE pr_query (NULL);
SET plan_cache_mode = force_generic_plan;
EXECUTE pr_query ('[0,0]');
EXECUTE pr_query ('[0,3]');
RESET plan_cache_mode;
PREPARE pr_rows (int, text) AS SELECT id, nw_predict(e, $2) FROM pr_inbox WHERE id <= $1 ORDER BY id;
EXECUTE pr_rows (2, 'pets');
PREPARE pr_untyped AS SELECT nw_predict($1, $2);
EXECUTE pr_untyped ('[0,3]', 'pets');
DEALLOCATE ALL;

-- PL/pgSQL: simple expressions, embedded queries, loops, dynamic SQL
CREATE FUNCTION pr_function(q vector) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
    answer text;
    direct text := nw_predict(q, 'pets');
    dynamic text;
BEGIN
    SELECT label INTO answer FROM nw_classify(q, 'pets');
    EXECUTE 'SELECT nw_predict($1, $2)' INTO dynamic USING q, 'pets';
    RETURN concat_ws(' ', direct, answer, dynamic);
END
$$;
SELECT pr_function('[0,0]'), pr_function('[0,3]');
DO $$
DECLARE
    r record;
BEGIN
    FOR r IN SELECT * FROM pr_inbox WHERE e IS NOT NULL ORDER BY id LOOP
        RAISE NOTICE '% %', r.id, nw_predict(r.e, 'pets');
    END LOOP;
END
$$;

-- a SQL function, a generated value of a write, a cursor, CREATE TABLE AS
CREATE FUNCTION pr_sql(q vector) RETURNS text LANGUAGE sql STABLE RETURN nw_predict(q, 'pets');
SELECT pr_sql('[0,0]'), pr_sql('[0,3]');
CREATE TABLE pr_answers AS SELECT id, nw_predict(e, 'pets') AS label FROM pr_inbox;
INSERT INTO pr_answers SELECT 10 + id, nw_predict(e, 'pets') FROM pr_inbox;
UPDATE pr_answers AS a SET label = nw_predict(i.e, 'pets') || '!' FROM pr_inbox AS i WHERE i.id = a.id;
SELECT * FROM pr_answers ORDER BY id;
BEGIN;
DECLARE pr_cursor CURSOR FOR SELECT id, nw_predict(e, 'pets') FROM pr_inbox ORDER BY id;
FETCH 2 FROM pr_cursor;
FETCH 2 FROM pr_cursor;
COMMIT;

-- a query that is NULL has no answer: NULL, a row of NULLs, no rows
SELECT nw_predict(NULL::vector, 'pets'), nw_predict(NULL::halfvec, 'pets'), nw_predict(NULL::text, 'pets');
SELECT * FROM nw_classify(NULL::vector, 'pets');
SELECT * FROM nw_predict_proba(NULL::vector, 'pets');
SELECT nw_predict(NULL::vector, 'no such set');

-- EXPLAIN runs nothing
EXPLAIN (COSTS OFF) SELECT nw_predict('[0,0]', 'no such set') FROM pr_inbox;
EXPLAIN (COSTS OFF) SELECT FROM pr_inbox WHERE nw_predict(e, 'no such set') = 'cat';

-- ties go to the bytewise smallest label, whatever the order of rows or the collation
CREATE TABLE pr_ties (id int, embedding vector(1), label text);
INSERT INTO pr_ties VALUES (1, '[1]', 'b'), (2, '[-1]', 'a'), (3, '[1]', 'Z'), (4, '[-1]', 'é');
SELECT nw_register('ties', 'pr_ties');
SELECT nw_predict('[0]', 'ties');
SELECT label, probability FROM nw_predict_proba('[0]', 'ties');

-- any tau: far classes never vanish into 0 or take over
SELECT nw_set_tau('pets', 1e-100);
SELECT label, confidence FROM nw_classify('[0,0]', 'pets');
SELECT nw_set_tau('pets', 1e100);
SELECT label, round(confidence::numeric, 12) FROM nw_classify('[0,0]', 'pets');
SELECT nw_set_tau('pets', 1e-3);
SELECT label, round(probability::numeric, 12) FROM nw_predict_proba('[0,0]', 'pets');

SELECT nw_unregister(name) FROM nw_sets;
DROP VIEW pr_view;
DROP FUNCTION pr_function, pr_sql;
DROP TABLE pr_pets, pr_inbox, pr_answers, pr_ties;
