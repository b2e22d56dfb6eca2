-- classes and exclude
\pset null '(null)'
-- from the origin: a 1 (row 1) and 3 (row 2), b 2 (row 3), c 2 (row 4) and 5 (row 5)
CREATE TABLE ce_rows (id int, embedding vector(2), label text);
INSERT INTO ce_rows VALUES (1, '[1,0]', 'a'), (2, '[0,3]', 'a'), (3, '[2,0]', 'b'), (4, '[0,2]', 'c'), (5, '[3,4]', 'c');
SELECT nw_register('ce', 'ce_rows', tau => 1 / ln(2));

-- weights in 32nds: a 16 + 4, b 8, c 8 + 1
SELECT label, round(probability * 37) AS "of 37" FROM nw_predict_proba('[0,0]', 'ce');
-- the others are left out before weights are normalised
SELECT label, round((probability * 17)::numeric, 9) AS "of 17" FROM nw_predict_proba('[0,0]', 'ce', classes => '{b,c}');
SELECT nw_predict('[0,0]', 'ce', '{b,c}'), nw_predict('[0,0]', 'ce', '{b}'), nw_predict('[0,0]', 'ce', '{c,b,c}');
SELECT label, confidence FROM nw_classify('[0,0]', 'ce', '{b}');
SELECT support_id, round((weight * 17)::numeric, 9) AS "of 17" FROM nw_weights('[0,0]', 'ce', classes => '{b,c}');
SELECT nw_predict('[0,0]', 'ce', NULL);

-- without some supports, with nothing deleted
SELECT label, round((probability * 21)::numeric, 9) AS "of 21" FROM nw_predict_proba('[0,0]', 'ce', exclude => '{1}');
SELECT nw_predict('[0,0]', 'ce', exclude => '{1}'), nw_predict('[0,0]', 'ce', exclude => '{1,5}'), nw_predict('[0,0]', 'ce', NULL, '{}');
SELECT support_id FROM nw_weights('[0,0]', 'ce', exclude => '{1,3,no such id,NULL}');
SELECT count(*) FROM ce_rows;
-- a class whose every row is left out is gone
SELECT label FROM nw_predict_proba('[0,0]', 'ce', exclude => '{3}');
-- equal to the same prediction after a deletion
BEGIN;
SELECT array_agg(p::text) AS excluded FROM nw_predict_proba('[1,1]', 'ce', exclude => '{2,4}') AS p \gset
DELETE FROM ce_rows WHERE id IN (2, 4);
SELECT array_agg(p::text) = :'excluded' AS same FROM nw_predict_proba('[1,1]', 'ce') AS p;
ROLLBACK;

-- both together, and as columns of the outer query
SELECT nw_predict('[0,0]', 'ce', '{a,b}', '{1,2}');
SELECT x, nw_predict('[0,0]', 'ce', exclude => ARRAY[x::text]) FROM generate_series(1, 5) AS x;
SELECT x, nw_predict('[0,0]', 'ce', classes => ARRAY[x]) FROM unnest('{c,b,a}'::text[]) AS x;

-- a class with no support
SELECT nw_predict('[0,0]', 'ce', '{a,zebra}');
SELECT nw_predict('[0,0]', 'ce', '{b}', '{3}');
SELECT nw_predict('[0,0]', 'ce', '{}');
SELECT nw_predict('[0,0]', 'ce', '{a,NULL}');
-- every support left out
SELECT nw_predict('[0,0]', 'ce', exclude => '{1,2,3,4,5}');

-- case and blanks count: a class is its bytes
SELECT nw_predict('[0,0]', 'ce', '{A}');
SELECT nw_predict('[0,0]', 'ce', ARRAY['a ']);

-- rows without an id cannot be left out, and their id shows as NULL
INSERT INTO ce_rows VALUES (NULL, '[0,0]', 'd');
SELECT * FROM nw_weights('[0,0]', 'ce', top => 1, exclude => '{NULL,""}');

SELECT nw_unregister('ce');
DROP TABLE ce_rows;
