-- nw_register with replace, nw_alter_set, and models
\pset null '(null)'
CREATE TABLE a_rows (id int PRIMARY KEY, embedding vector(2), label text, w float8 DEFAULT 1, other vector(2), kind text);
INSERT INTO a_rows SELECT i, ARRAY[i % 7, i % 5]::real[]::vector, 'c' || i % 3, 1, ARRAY[i % 4, i % 3]::real[]::vector, 'k' || i % 2
  FROM generate_series(1, 40) AS i;
CREATE TABLE a_more AS SELECT * FROM a_rows;
ALTER TABLE a_more ADD PRIMARY KEY (id);
CREATE FUNCTION a_set(text) RETURNS TABLE (r text, e name, l name, i name, w name, k text, t float8, m text) LANGUAGE sql
	AS 'SELECT relation, embedding, label, id, weight, kernel, tau, model FROM nw_sets WHERE name = $1';
CREATE FUNCTION a_diagnoses(text) RETURNS bigint LANGUAGE sql
	AS 'SELECT count(*) FROM nw_suspect_supports WHERE support = $1';

-- what is not given stays
SELECT nw_register('a', 'a_rows', embedding => 'other', label => 'kind', weight => 'w', kernel => 'gaussian', tau => 3, model => 'm1');
SELECT * FROM a_set('a');
SELECT nw_register('a', replace => true);
SELECT * FROM a_set('a');
SELECT nw_register('a', 'a_more', replace => true);
SELECT * FROM a_set('a');
SELECT nw_register('a', tau => 2, replace => true);
SELECT nw_register('a', label => 'label', kernel => 'euclidean', replace => true);
SELECT * FROM a_set('a');
-- NULL is none where there can be none, and '' leaves it
SELECT nw_register('a', label => NULL, id => NULL, weight => NULL, model => NULL, replace => true);
SELECT * FROM a_set('a');
SELECT nw_register('a', label => '', id => '', weight => '', model => '', replace => true);
SELECT * FROM a_set('a');
-- a new set has to have a relation
SELECT nw_register('b');
SELECT nw_register('b', replace => true);
SELECT nw_unregister('a');

-- a calibration survives
SELECT nw_register('a', 'a_rows');
SELECT tau AS tau FROM nw_calibrate('a') \gset
SELECT nw_register('a', 'a_rows', replace => true);
SELECT tau = :tau AS same_tau, calibrated_at IS NOT NULL AS calibrated FROM nw_sets WHERE name = 'a';

-- diagnoses stay with their rows, and go with them
SELECT nw_diagnose('a', 'a', 2) > 0 AS found;
SELECT a_diagnoses('a') AS before \gset
SELECT nw_register('a', 'a_rows', tau => 2, model => 'm', replace => true);
SELECT a_diagnoses('a') = :before AS stay;
SELECT nw_alter_set('a', tau => 3, model => 'm2');
SELECT a_diagnoses('a') = :before AS stay;
SELECT nw_alter_set('a', id => 'id');
SELECT a_diagnoses('a') = :before AS stay;
SELECT nw_alter_set('a', kernel => 'gaussian');
SELECT a_diagnoses('a');
SELECT tau, calibrated_at FROM nw_sets WHERE name = 'a';
SELECT nw_diagnose('a', 'a', 2) > 0 AS found;
SELECT nw_alter_set('a', id => NULL);
SELECT a_diagnoses('a');
SELECT nw_diagnose('a', 'a', 2) > 0 AS found;
SELECT nw_register('a', 'a_more', replace => true);
SELECT a_diagnoses('a');

-- nw_alter_set changes what it is told
SELECT nw_alter_set('a', relation => 'a_rows', embedding => 'other', label => 'kind', id => 'id', weight => 'w', kernel => 'cosine', tau => 0.5, model => 'NAME sha256:00');
SELECT * FROM a_set('a');
SELECT nw_alter_set('a');
SELECT * FROM a_set('a');
SELECT nw_alter_set('a', weight => NULL, model => NULL);
SELECT * FROM a_set('a');
SELECT nw_predict('[1,1]', 'a');

-- renamed things
ALTER TABLE a_rows RENAME other TO vectors;
SELECT nw_predict('[1,1]', 'a');
SELECT nw_alter_set('a', embedding => 'vectors');
ALTER TABLE a_rows RENAME TO a_table;
SELECT nw_predict('[1,1]', 'a');
SELECT nw_alter_set('a', tau => 0.6, new_name => 'a2');
SELECT nw_alter_set('a2', relation => 'a_table');
SELECT nw_predict('[1,1]', 'a2');

-- a rename keeps prototypes, diagnoses and children
SELECT nw_register('p', 'a_table', model => 'one');
SELECT nw_distill('p', 'p few', 'closest', 1);
SELECT nw_distill('p few', 'p fewer', 'closest', 1);
SELECT nw_diagnose('p', 'p', 1) > 0 AS found;
SELECT nw_diagnose('p few', 'p', 1) > 0 AS found;
SELECT nw_alter_set('p', new_name => 'q');
SELECT name, parent, model FROM nw_sets WHERE name LIKE 'p%' OR name = 'q' ORDER BY name;
SELECT DISTINCT support, queries FROM nw_suspect_supports ORDER BY support;
SELECT nw_alter_set('p few', new_name => 'q few', model => 'two', tau => 0.25);
SELECT name, parent, model FROM nw_sets WHERE name LIKE 'p%' OR name LIKE 'q%' ORDER BY name;
SELECT set, count(*) FROM nw_prototypes GROUP BY set ORDER BY set;
SELECT DISTINCT support, queries FROM nw_suspect_supports ORDER BY support;
SELECT nw_predict('[1,1]', 'q few'), nw_predict('[1,1]', 'q');
-- within one statement, too
SELECT nw_predict('[1,1]', 'q few') AS one, nw_alter_set('q few', new_name => 'r') AS two, nw_alter_set('r', new_name => 'q few') AS three;

-- names switched in one transaction
CREATE TABLE a_new AS SELECT id, embedding, 'new ' || label AS label FROM a_table;
ALTER TABLE a_new ADD PRIMARY KEY (id);
SELECT nw_register('birds', 'a_table'), nw_register('birds_new', 'a_new');
SELECT nw_distill('birds', 'birds few', 'closest', 1);
BEGIN;
SELECT nw_predict('[1,1]', 'birds');
SELECT nw_alter_set('birds', new_name => 'birds_old');
SELECT nw_alter_set('birds_new', new_name => 'birds');
SELECT nw_predict('[1,1]', 'birds');
COMMIT;
SELECT nw_predict('[1,1]', 'birds'), nw_predict('[1,1]', 'birds_old');
SELECT name, parent, relation FROM nw_sets WHERE name LIKE 'birds%' ORDER BY name;
-- and back, in one command, and for one savepoint
SELECT nw_alter_set('birds', new_name => 'x'), nw_alter_set('birds_old', new_name => 'birds'), nw_alter_set('x', new_name => 'birds_old');
SELECT nw_predict('[1,1]', 'birds'), nw_predict('[1,1]', 'birds_old');
BEGIN;
SAVEPOINT s;
SELECT nw_alter_set('birds', new_name => 'gone');
SELECT nw_predict('[1,1]', 'gone');
ROLLBACK TO s;
SELECT nw_predict('[1,1]', 'birds');
COMMIT;

-- two models
SELECT nw_alter_set('birds', model => 'one'), nw_alter_set('birds_old', model => 'two');
SELECT n FROM nw_evaluate('birds', 'birds_old');
SELECT count(*) FROM nw_predict_set('birds', 'birds_old');
SELECT nw_alter_set('birds_old', model => 'one');
SELECT n FROM nw_evaluate('birds', 'birds_old');
SELECT nw_alter_set('birds_old', model => NULL);
SELECT n FROM nw_evaluate('birds', 'birds_old');
SELECT nw_distill('birds', 'birds few', k => 1);
SELECT model FROM nw_sets WHERE name = 'birds few';

-- errors
SELECT nw_alter_set('nothing', tau => 1);
SELECT nw_alter_set(NULL);
SELECT nw_alter_set('birds', new_name => '');
SELECT nw_alter_set('birds', new_name => 'birds_old');
SELECT nw_alter_set('birds', tau => 0);
SELECT nw_alter_set('birds', kernel => 'manhattan');
SELECT nw_alter_set('birds', label => 'nothing');
SELECT nw_alter_set('birds', weight => 'label');
SELECT nw_alter_set('birds', relation => 'a_new_pkey');
SELECT nw_alter_set('birds few', label => NULL);
SELECT nw_alter_set('birds few', kernel => 'dot');
SELECT nw_alter_set('birds few', relation => 'a_new');

-- ids that nothing keeps unique
CREATE TABLE a_ids (id int, two int, embedding vector(1), label text, UNIQUE (id, two));
SELECT nw_register('ids', 'a_ids');
CREATE UNIQUE INDEX ON a_ids (id) WHERE two > 0;
SELECT nw_register('ids', replace => true);
CREATE UNIQUE INDEX ON a_ids (id) INCLUDE (two);
SELECT nw_alter_set('ids', id => 'id');
SELECT nw_alter_set('ids', id => 'two');
SELECT nw_alter_set('ids', id => NULL);

-- views on tables with row-level security
CREATE TABLE a_secret (id int PRIMARY KEY, embedding vector(1), label text);
ALTER TABLE a_secret ENABLE ROW LEVEL SECURITY;
CREATE VIEW a_view AS SELECT * FROM a_secret;
CREATE VIEW a_invoker WITH (security_invoker) AS SELECT * FROM a_secret;
CREATE VIEW a_outer WITH (security_invoker) AS SELECT * FROM a_view;
CREATE VIEW a_below AS SELECT * FROM a_ids WHERE id IN (SELECT id FROM a_invoker);
SELECT nw_register('secret', 'a_secret');
SELECT nw_register('view', 'a_view');
SELECT nw_register('invoker', 'a_invoker');
SELECT nw_register('outer', 'a_outer');
SELECT nw_alter_set('outer', relation => 'a_below');
CREATE MATERIALIZED VIEW a_material AS SELECT * FROM a_secret;
CREATE VIEW a_shown WITH (security_invoker) AS SELECT * FROM a_material;
SELECT nw_register('material', 'a_material'), nw_register('shown', 'a_shown');
SELECT nw_unregister('material'), nw_unregister('shown');
DROP MATERIALIZED VIEW a_material CASCADE;
ALTER VIEW a_view SET (security_invoker = true);
SELECT nw_alter_set('outer', relation => 'a_outer');

SELECT nw_unregister(name) FROM nw_sets;
DROP FUNCTION a_set, a_diagnoses;
DROP TABLE a_table, a_more, a_new, a_ids, a_secret CASCADE;
