-- min_confidence: no answer rather than a doubtful one
\pset null '(abstains)'
-- from the origin 3/4 yes, 1/4 no
CREATE TABLE ab_rows (id int, embedding vector(1), label text);
INSERT INTO ab_rows VALUES (1, '[0]', 'yes'), (2, '[0]', 'yes'), (3, '[0]', 'yes'), (4, '[0]', 'no');
SELECT nw_register('ab', 'ab_rows');
SELECT c, nw_predict('[0]', 'ab', min_confidence => c)
  FROM unnest('{NULL,0,0.5,0.74,0.75,0.7500001,1}'::float8[]) AS c;
SELECT nw_predict('[0]', 'ab', '{yes}', NULL, 1);
SELECT nw_predict('[0]'::halfvec, 'ab', NULL, NULL, 0.8), nw_predict('[0]'::vector, 'ab', NULL, NULL, 0.8);
-- abstaining is for the most probable label only
SELECT nw_predict('[0]', 'ab', exclude => '{1,2}', min_confidence => 0.5);
SELECT nw_predict('[0]', 'ab', min_confidence => 1.1);
SELECT nw_predict('[0]', 'ab', min_confidence => -0.1);
SELECT nw_predict('[0]', 'ab', min_confidence => 'NaN');
SELECT nw_unregister('ab');
DROP TABLE ab_rows;
