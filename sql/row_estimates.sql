-- ranks, and what the planner expects of functions with an argument top
CREATE TABLE re_rows (id bigint PRIMARY KEY, embedding vector(2), label text);
INSERT INTO re_rows SELECT i, ARRAY[i % 101, i % 89]::vector, chr(97 + i % 3) FROM generate_series(1, 5000) AS i;
ANALYZE re_rows;
SELECT nw_register('re', 're_rows');

-- ranks count from 1 in the order of the rows
SELECT bool_and(rank = n) AS ranked, max(n) FROM nw_weights('[1,1]', 're') WITH ORDINALITY AS t (support_id, label, distance, weight, rank, member, n);
SELECT bool_and(rank = n) AS ranked, max(n) FROM nw_predict_proba('[1,1]', 're') WITH ORDINALITY AS t (label, probability, rank, n);
SELECT bool_and(rank = n) AS ranked, max(n) FROM nw_suspects('re', 7) WITH ORDINALITY AS t (support_id, label, suggested, probability, log_margin, margin, set, tau, rank, n);
SELECT effect, array_agg(rank ORDER BY abs(influence) DESC) FROM nw_influence('[1,1]', 'a', 're', 3) GROUP BY effect ORDER BY effect;

-- the rows that a plan expects
CREATE FUNCTION re_rows_expected(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    RETURN plan #>> '{0,Plan,Plan Rows}';
END $$;
SELECT call, re_rows_expected('SELECT * FROM ' || call) AS rows FROM (VALUES
    ('nw_weights(''[1,1]'', ''re'')'), ('nw_weights(''[1,1]'', ''re'', 3)'), ('nw_weights(''[1,1]''::vector, ''re'', top => 2 + 2)'),
    ('nw_weights(ARRAY[1,1], ''re'', exclude => ARRAY[1], top => 6)'), ('nw_influence(''[1,1]'', ''a'', ''re'')'), ('nw_influence(''[1,1]'', ''a'', ''re'', 7)'),
    ('nw_suspects(''re'')'), ('nw_suspects(''re'', 8)'), ('nw_shapley(''re'')'), ('nw_shapley(''re'', k => 3, top => 8)'), ('nw_predict_proba(''[1,1]'', ''re'', top => 2)')) AS v (call);
-- unknown while it is planned: no worse than before
SELECT call, re_rows_expected('SELECT * FROM ' || call) AS rows FROM (VALUES
    ('nw_weights(''[1,1]'', ''re'', NULL)'), ('nw_predict_proba(''[1,1]'', ''re'')'), ('nw_weights(''[1,1]'', ''re'', (random() * 5)::int)')) AS v (call);
-- a bad top is an error when it is run, not when it is planned
SELECT re_rows_expected('SELECT * FROM nw_weights(''[1,1]'', ''re'', -5)') > 0 AS planned;

-- so a join with the table goes by its index
EXPLAIN (COSTS OFF) SELECT w.rank, r.embedding FROM nw_weights('[1,1]', 're', 3) AS w JOIN re_rows AS r ON r.id = w.support_id::bigint;
EXPLAIN (COSTS OFF) SELECT w.rank, r.embedding FROM nw_weights('[1,1]', 're') AS w JOIN re_rows AS r ON r.id = w.support_id::bigint;
SELECT w.rank, r.embedding FROM nw_weights('[1,1]', 're', 3) AS w JOIN re_rows AS r ON r.id = w.support_id::bigint ORDER BY w.rank;

SELECT nw_unregister('re');
DROP FUNCTION re_rows_expected(text);
DROP TABLE re_rows;
