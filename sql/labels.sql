-- labels and ids of many types: a class is the text of its label
\pset null '(null)'
CREATE TYPE l_colour AS ENUM ('red', 'blue');
CREATE TYPE l_pair AS (a int, b text);
CREATE DOMAIN l_code AS text CHECK (value <> '');
CREATE TABLE l_rows (
    id int, embedding vector(1),
    t text, v varchar(9), c char(4), n name, i2 smallint, i4 int, i8 bigint, num numeric, f4 float4, f8 float8,
    b bool, e l_colour, d date, ts timestamp, iv interval, u uuid, j jsonb, by bytea, arr int[], ip inet, ch "char",
    dom l_code, pair l_pair, bits bit(3), r int4range);
INSERT INTO l_rows VALUES
    (1, '[1]', 'one', 'one', 'one', 'one', 1, 1, 1, 1.50, 1.5, 1e100, true, 'red', '2024-02-29', '2024-02-29 12:00', '1 day',
     '00000000-0000-0000-0000-000000000001', '{"a": 1}', '\x01', '{1,NULL}', '10.0.0.1', 'x', 'one', '(1,one)', '101', '[1,5)'),
    (2, '[2]', 'two', 'two', 'two', 'two', -2, -2, -9223372036854775808, 2, -0, -2, false, 'blue', '1999-12-31', '1999-12-31', '2 h',
     '00000000-0000-0000-0000-00000000000F', '[]', '\xff00', '{}', '::1/64', 'y', 'two', '(2,"t w")', '000', 'empty');
SET datestyle = 'ISO, MDY';
SELECT nw_register('l ' || a.attname, 'l_rows', label => a.attname, id => a.attname)
  FROM pg_attribute AS a WHERE attrelid = 'l_rows'::regclass AND attnum > 2;

-- the label and the id of the nearest row of two
SELECT s.label, quote_literal(near.label) AS near, quote_literal(far.label) AS far, near.support_id = near.label AS id,
       nw_predict('[0]', s.name, exclude => ARRAY[near.label]) = far.label AS exclude,
       nw_predict('[0]', s.name, classes => ARRAY[far.label]) = far.label AS classes
  FROM nw_sets AS s, nw_weights('[0]', s.name, 1) AS near, nw_weights('[3]', s.name, 1) AS far
 ORDER BY s.label COLLATE "C";

-- packed rows give the same as streamed ones
SELECT s.label, array_agg(nw_predict(ARRAY[3 * (n % 2)]::vector, s.name) ORDER BY n) FROM nw_sets AS s, generate_series(1, 4) AS n
 WHERE s.label IN ('t', 'c', 'i8', 'num', 'd', 'u', 'ch') GROUP BY s.label ORDER BY s.label COLLATE "C";

-- different bytes with one text are one class; equal values with different texts are two
CREATE TABLE l_same (id int, embedding vector(1), label numeric, j jsonb);
INSERT INTO l_same VALUES (1, '[1]', 1.0, '{"b":1,  "a":2}'), (2, '[1]', 1.00, '{"a":2,"b":1}'), (3, '[1]', 1.0, '{}');
SELECT nw_register('l same', 'l_same');
SELECT nw_register('l json', 'l_same', label => 'j');
SELECT label, round((probability * 3)::numeric, 9) AS "of 3" FROM nw_predict_proba('[0]', 'l same');
SELECT label, round((probability * 3)::numeric, 9) AS "of 3" FROM nw_predict_proba('[0]', 'l json');

-- long labels and ids, compressed and out of line
CREATE TABLE l_long (id text, embedding vector(1), label text);
ALTER TABLE l_long ALTER label SET STORAGE EXTERNAL;
INSERT INTO l_long VALUES (repeat('i', 100000), '[1]', repeat('x', 10000)), ('short', '[1]', repeat('x', 9999) || 'y'), ('', '[1]', repeat('x', 10000));
SELECT nw_register('l long', 'l_long');
SELECT length(label), right(label, 1), round((probability * 3)::numeric, 9) AS "of 3" FROM nw_predict_proba('[0]', 'l long');
SELECT length(support_id), length(label) FROM nw_weights('[0]', 'l long');
SELECT length(nw_predict('[0]', 'l long', ARRAY[repeat('x', 9999) || 'y'])), right(nw_predict('[0]', 'l long', exclude => ARRAY['', repeat('i', 100000)]), 1);

-- the empty string is a label
INSERT INTO l_long VALUES ('e', '[0]', '');
SELECT quote_literal(nw_predict('[0]', 'l long', ARRAY[''])), quote_literal(label) FROM nw_predict_proba('[0]', 'l long', '{""}');

-- many classes
CREATE TABLE l_many AS SELECT i AS id, ARRAY[i]::vector AS embedding, 'class ' || i AS label FROM generate_series(1, 5000) AS i;
SELECT nw_register('l many', 'l_many');
SELECT nw_predict('[1234]', 'l many'), nw_predict('[1234]', 'l many', exclude => '{1234,1233}');
SELECT count(*), count(DISTINCT label), abs(sum(probability) - 1) < 1e-9 AS one FROM nw_predict_proba('[2500]', 'l many');
SELECT count(*) FROM generate_series(1, 20) AS i WHERE nw_predict(ARRAY[i]::vector, 'l many') <> 'class ' || i;

-- a label's text follows the settings of the moment, also inside one statement
SELECT nw_predict('[0]', 'l d');
SET datestyle = 'German';
SELECT nw_predict('[0]', 'l d');
DO $$
DECLARE
    q vector := '[0]';
    answer text[];
BEGIN
    FOR i IN 1..6 LOOP
        PERFORM set_config('datestyle', CASE WHEN i <= 3 THEN 'ISO' ELSE 'German' END, false);
        answer := answer || nw_predict(q, 'l d');
    END LOOP;
    RAISE NOTICE '%', answer;
END
$$;
RESET datestyle;

-- system columns are columns
SELECT nw_register('l tableoid', 'l_rows', label => 'tableoid', id => 'ctid');
SELECT support_id, label = 'l_rows'::regclass::oid::text AS right FROM nw_weights('[0]', 'l tableoid');

SELECT nw_unregister(name) FROM nw_sets;
DROP TABLE l_rows, l_same, l_long, l_many;
DROP TYPE l_colour, l_pair;
DROP DOMAIN l_code;
