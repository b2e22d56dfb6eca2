-- nw_regress: the weighted mean of a numeric label
\pset null '(null)'
-- weights from the origin are 4/7, 2/7 and 1/7, the mean is 40/7 + 40/7 + 40/7
CREATE TABLE r_rows (id int, embedding vector(1), label int);
INSERT INTO r_rows VALUES (1, '[1]', 10), (2, '[2]', 20), (3, '[3]', 40), (4, NULL, 1000), (5, '[0]', NULL);
SELECT nw_register('r', 'r_rows', tau => 1 / ln(2));
SELECT round(nw_regress('[0]', 'r')::numeric, 9) = round(120 / 7.0, 9) AS right;
SELECT round(nw_regress('[0]', 'r', '{3}')::numeric, 9) = round(40 / 3.0, 9) AS right;
SELECT nw_regress('[0]', 'r', exclude => '{1,2}');
SELECT nw_regress(NULL::vector, 'r'), nw_regress('[0]'::vector, 'r') = nw_regress('[0]'::halfvec, 'r') AS same;
SELECT bool_and(abs(nw_regress(q, 'r') - n) < 1e-9) AS right FROM (
    SELECT q, sum(label * exp(-(embedding <-> q) * ln(2))) / sum(exp(-(embedding <-> q) * ln(2))) AS n
      FROM r_rows, (SELECT ARRAY[i]::vector AS q FROM generate_series(-5, 5) AS i) AS q
     WHERE label IS NOT NULL AND embedding IS NOT NULL GROUP BY q) AS naive;

-- other types of number
ALTER TABLE r_rows ALTER label TYPE numeric USING label / 8.0;
SELECT round(nw_regress('[0]', 'r')::numeric, 9) = round(15 / 7.0, 9) AS right;
ALTER TABLE r_rows ALTER label TYPE float4;
SELECT round(nw_regress('[0]', 'r')::numeric, 9) = round(15 / 7.0, 9) AS right;
ALTER TABLE r_rows ALTER label TYPE text USING (label * -1e300)::text;
SELECT nw_regress('[0]', 'r') / -1e300 BETWEEN 15 / 7.0 - 1e-9 AND 15 / 7.0 + 1e-9 AS right;

-- labels that are no numbers
ALTER TABLE r_rows ALTER label TYPE text USING 'red';
SELECT nw_regress('[0]', 'r');
UPDATE r_rows SET label = 'NaN';
SELECT nw_regress('[0]', 'r');
UPDATE r_rows SET label = '';
SELECT nw_regress('[0]', 'r');
ALTER TABLE r_rows ALTER label TYPE boolean USING true;
SELECT nw_regress('[0]', 'r');

SELECT nw_unregister('r');
DROP TABLE r_rows;
