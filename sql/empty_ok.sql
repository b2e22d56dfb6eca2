-- A set that has no rows yet: an error, or no answer where the caller says so
\pset null '(null)'
CREATE TABLE eo_rows (id int PRIMARY KEY, embedding vector(2), label text);
SELECT nw_register('eo', 'eo_rows');
SELECT nw_predict('[1,0]', 'eo');
SELECT nw_predict('[1,0]', 'eo', empty_ok => false);
SELECT nw_predict('[1,0]', 'eo', empty_ok => NULL);
SELECT nw_predict('[1,0]', 'eo', empty_ok => true), nw_predict('[1,0]'::halfvec, 'eo', empty_ok => true, min_confidence => 0.5),
       nw_predict('[1,0]', 'eo', classes => '{a,b}', empty_ok => true), nw_predict('[1,0]', 'eo', exclude => ARRAY[1], empty_ok => true);
SELECT * FROM nw_classify('[1,0]', 'eo', empty_ok => true);
SELECT * FROM nw_predict_proba('[1,0]', 'eo', empty_ok => true);
SELECT * FROM nw_weights('[1,0]', 'eo', empty_ok => true);
SELECT * FROM nw_influence('[1,0]', 'a', 'eo', empty_ok => true);
SELECT nw_explain('[1,0]', 'eo', empty_ok => true), nw_regress('[1,0]', 'eo', empty_ok => true);
-- what else is wrong is wrong all the same
SELECT nw_predict('[1,0]', 'eo nowhere', empty_ok => true);
SELECT nw_predict('[1,0]', 'eo', classes => '{}', empty_ok => true);

-- rows without a label or an embedding are no support, nor are those left out
INSERT INTO eo_rows VALUES (1, '[1,1]', NULL), (2, NULL, 'a');
SELECT nw_predict('[1,0]', 'eo', empty_ok => true);
INSERT INTO eo_rows VALUES (3, '[1,1]', 'a');
SELECT nw_predict('[1,0]', 'eo', empty_ok => true), nw_predict('[1,0]', 'eo', exclude => ARRAY[3], empty_ok => true);
SELECT nw_predict('[1,0]', 'eo', exclude => ARRAY[3]);
SELECT nw_predict('[1,0,0]', 'eo', empty_ok => true);
-- of classes, those that have support answer
SELECT nw_predict('[1,0]', 'eo', classes => '{a,b}');
SELECT nw_predict('[1,0]', 'eo', classes => '{a,b}', empty_ok => true), nw_predict('[1,0]', 'eo', classes => '{b}', empty_ok => true);

-- from packed rows and their half-size copies
INSERT INTO eo_rows SELECT i, ARRAY[i % 7, i % 11]::vector, 'c' || i % 3 FROM generate_series(10, 300) AS i;
SELECT nw_predict(ARRAY[i, 1], 'eo', classes => '{b}', empty_ok => true) AS answer, count(*) FROM generate_series(1, 20) AS i GROUP BY answer;
SELECT sum((nw_predict(ARRAY[i, 1], 'eo', empty_ok => true) = nw_predict(ARRAY[i, 1], 'eo'))::int) AS same FROM generate_series(1, 20) AS i;

-- through an index
DELETE FROM eo_rows;
CREATE INDEX ON eo_rows USING nw (embedding) INCLUDE (label);
SET nwhead.engine = index;
SELECT nw_predict('[1,0]', 'eo', empty_ok => true);
SELECT nw_predict('[1,0]', 'eo');
INSERT INTO eo_rows VALUES (3, '[1,1]', 'a');
SELECT nw_predict('[1,0]', 'eo', empty_ok => true), nw_predict('[1,0]', 'eo', classes => '{b}', empty_ok => true);
SELECT * FROM nw_classify('[1,0]', 'eo', classes => '{b}', empty_ok => true);
RESET nwhead.engine;

-- a trigger that suggests labels from the first row on
CREATE TABLE eo_tickets (id int PRIMARY KEY, embedding vector(2), label text, suggested text);
SELECT nw_register('eo tickets', 'eo_tickets');
CREATE FUNCTION eo_suggest() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.suggested := nw_predict(NEW.embedding, 'eo tickets', empty_ok => true);
    RETURN NEW;
END $$;
CREATE TRIGGER suggest BEFORE INSERT ON eo_tickets FOR EACH ROW EXECUTE FUNCTION eo_suggest();
INSERT INTO eo_tickets VALUES (1, '[0,0]', NULL);
INSERT INTO eo_tickets VALUES (2, '[0,1]', 'bill');
INSERT INTO eo_tickets VALUES (3, '[0,2]', NULL);
TABLE eo_tickets;

-- leave this database as it was
SELECT nw_unregister(name) FROM nw_sets WHERE name LIKE 'eo%';
DROP TABLE eo_rows, eo_tickets;
DROP FUNCTION eo_suggest;
