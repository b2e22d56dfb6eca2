-- nw_weights: the supports behind a prediction
\pset null '(null)'
CREATE TABLE w_rows (id int, embedding vector(2), label text);
INSERT INTO w_rows VALUES
    (10, '[0,5]', 'b'), (9, '[3,4]', 'b'), (2, '[4,3]', 'b'), (7, '[5,0]', 'a'), (8, '[-5,0]', 'a'),
    (1, '[0,1]', 'c'), (3, '[0,7]', 'a'), (4, NULL, 'a'), (5, '[1,1]', NULL);
SELECT nw_register('w', 'w_rows');

-- heaviest first; equals by label, then by id as text
SELECT support_id, label, distance FROM nw_weights('[0,0]', 'w');
SELECT support_id FROM nw_weights('[0,0]', 'w', 4);
SELECT support_id FROM nw_weights('[0,0]', 'w', top => 1);
-- cut in the middle of equals, the list is the beginning of the whole one
SELECT n, array_agg(support_id) FROM generate_series(1, 8) AS n, nw_weights('[0,0]', 'w', n) GROUP BY n ORDER BY n;
-- weights are e^-distance over their sum, add up to 1 and to the class probabilities
SELECT support_id, abs(weight - exp(-distance) / sum(exp(-distance)) OVER ()) < 1e-12 AS right FROM nw_weights('[0,0]', 'w');
SELECT abs(sum(weight) - 1) < 1e-9 AS one FROM nw_weights('[1,3]', 'w', NULL);
SELECT p.label, abs(p.probability - sum(w.weight)) < 1e-12 AS right
  FROM nw_predict_proba('[1,3]', 'w') AS p, nw_weights('[1,3]', 'w', NULL) AS w
 WHERE w.label = p.label GROUP BY p.label, p.probability ORDER BY p.label;

-- ten rows unless asked for another number; NULL means all
INSERT INTO w_rows SELECT 100 + i, ARRAY[i, 100]::vector, 'd' FROM generate_series(1, 600) AS i;
SELECT count(*) FROM nw_weights('[0,0]', 'w');
SELECT count(*), count(DISTINCT support_id) FROM nw_weights('[0,0]', 'w', NULL);
SELECT count(*) FROM nw_weights('[0,0]', 'w', 300);
-- a cut list is the beginning of the whole list
SELECT bool_and(a IS NOT DISTINCT FROM b) AS same
  FROM (SELECT row_number() OVER (), w FROM nw_weights('[0,90]', 'w', 300) AS w) AS a (n, a)
  JOIN (SELECT row_number() OVER (), w FROM nw_weights('[0,90]', 'w', NULL) AS w) AS b (n, b) USING (n);

-- joined to their rows
SELECT w.label, r.embedding FROM nw_weights('[0,0]', 'w', 2) AS w JOIN w_rows AS r ON r.id = w.support_id::int ORDER BY w.rank;
SELECT * FROM nw_weights(NULL::vector, 'w');
SELECT * FROM nw_weights('[0,0]', 'w', 0);

-- a weight column multiplies: 3 × 1/2 against 1/2, and 0 or NULL leave a row out
CREATE TABLE w_weighted (id int, embedding vector(1), label text, n int);
INSERT INTO w_weighted VALUES (1, '[1]', 'a', 3), (2, '[-1]', 'b', 1), (3, '[0]', 'c', 0), (4, '[0]', 'c', NULL);
SELECT nw_register('ww', 'w_weighted', weight => 'n');
SELECT support_id, label, distance, round(weight::numeric, 12) AS weight FROM nw_weights('[0]', 'ww');
SELECT label, round(probability::numeric, 12) AS probability FROM nw_predict_proba('[0]', 'ww');
-- packed or streamed
SELECT nw_predict(ARRAY[x]::vector, 'ww') FROM generate_series(1, 3) AS x;
-- as many rows would do
CREATE TABLE w_repeated AS SELECT id, embedding, label FROM w_weighted, generate_series(1, n);
SELECT nw_register('wr', 'w_repeated');
SELECT bool_and(abs(a.probability - b.probability) < 1e-12) AS same, count(*)
  FROM generate_series(-3, 3) AS x, nw_predict_proba(ARRAY[x]::vector, 'ww') AS a, nw_predict_proba(ARRAY[x]::vector, 'wr') AS b
 WHERE a.label = b.label;
UPDATE w_weighted SET n = -1 WHERE id = 1;
SELECT nw_predict('[0]', 'ww');
ALTER TABLE w_weighted ALTER n TYPE float8 USING 'NaN';
SELECT nw_predict('[0]', 'ww');
UPDATE w_weighted SET n = 'Infinity';
SELECT nw_predict('[0]', 'ww');
UPDATE w_weighted SET n = 0;
SELECT nw_predict('[0]', 'ww');
-- numbers of every kind, large and small
UPDATE w_weighted SET n = CASE id WHEN 1 THEN 1e300 WHEN 2 THEN 1e-300 END;
SELECT label, weight FROM nw_weights('[0]', 'ww');
ALTER TABLE w_weighted ALTER n TYPE numeric USING id;
SELECT label, round((weight * 10)::numeric, 9) FROM nw_weights('[7]', 'ww', classes => '{c}');

SELECT nw_unregister(name) FROM nw_sets;
DROP TABLE w_rows, w_weighted, w_repeated;
