-- the state of sets: status and stamps in nw_sets, nw_todo, and reasons in nw_index_work
\pset null '(null)'
CREATE TABLE st_rows (id int PRIMARY KEY, embedding vector(2), label text) WITH (autovacuum_enabled = off);
INSERT INTO st_rows SELECT i, ARRAY[i % 7, i % 5]::real[]::vector, 'c' || i % 3 FROM generate_series(1, 100) AS i;
CREATE FUNCTION st_set(text) RETURNS TABLE (status text, calibrated bool, calibrated_rows bigint, distilled bool, distilled_rows bigint) LANGUAGE sql
	AS 'SELECT status, calibrated_at = now(), calibrated_rows, distilled_at = now(), distilled_rows FROM nw_sets WHERE name = $1';

-- never calibrated
SELECT nw_register('a', 'st_rows');
SELECT * FROM st_set('a');
SELECT * FROM nw_todo();
SELECT nw_register('queries', 'st_rows', label => NULL);
SELECT count(*) FROM nw_todo() WHERE set = 'queries';

-- calibrated, on all rows of the relation
BEGIN;
SELECT count(*) FROM nw_calibrate('a');
SELECT * FROM st_set('a');
COMMIT;
SELECT * FROM nw_todo();
-- the statement that nw_todo gives is the one that helps
SELECT nw_set_tau('a', 3);
SELECT format('SELECT count(*) FROM (%s) AS s', sql) FROM nw_todo() \gexec
SELECT temper <> 1 AS found, calibrated_rows FROM nw_sets WHERE name = 'a';
SELECT * FROM nw_todo();
-- a temperature set by hand is not calibrated, unless it is the same
SELECT nw_set_tau('a', tau) FROM nw_sets WHERE name = 'a';
SELECT calibrated_rows FROM nw_sets WHERE name = 'a';

-- rows that change: nothing of twenty, a note of twenty-one
UPDATE st_rows SET label = label WHERE id <= 20;
SELECT * FROM nw_todo();
UPDATE st_rows SET label = label WHERE id = 1;
SELECT * FROM nw_todo();
SELECT count(*) FROM nw_calibrate('a');
SELECT * FROM nw_todo();
-- rows that come, as the planner knows them
INSERT INTO st_rows SELECT 1000 + i, '[1,1]', 'c1' FROM generate_series(1, 20) AS i;
ANALYZE st_rows;
SELECT * FROM nw_todo();
INSERT INTO st_rows VALUES (2000, '[1,1]', 'c1');
ANALYZE st_rows;
SELECT * FROM nw_todo();
-- rows that go
SELECT count(*) FROM nw_calibrate('a');
DELETE FROM st_rows WHERE id > 1000;
ANALYZE st_rows;
SELECT what FROM nw_todo();
DELETE FROM st_rows WHERE id > 90;
ANALYZE st_rows;
SELECT set, what, why FROM nw_todo();
-- of a table with row-level security nobody knows how many were seen
ALTER TABLE st_rows ENABLE ROW LEVEL SECURITY;
SELECT count(*) FROM nw_todo();
ALTER TABLE st_rows DISABLE ROW LEVEL SECURITY;
SELECT count(*) FROM nw_calibrate('a');

-- prototypes
BEGIN;
SELECT nw_distill('a', 'few', 'closest', 2, seed => 7, weights => 'members');
SELECT nw_distill('a', 'fewer', k => 1, calibrate => false);
SELECT nw_distill('few', 'nested', 'closest', 1);
SELECT * FROM st_set('few');
SELECT * FROM st_set('fewer');
SELECT * FROM st_set('nested');
COMMIT;
SELECT set, what, sql FROM nw_todo() ORDER BY set;
UPDATE st_rows SET label = label WHERE id <= 19;
SELECT set, what, why, sql FROM nw_todo() ORDER BY set;
SELECT sql FROM nw_todo() WHERE what = 'prototypes outdated' \gexec
SELECT set, what, why FROM nw_todo() ORDER BY set;
SELECT count(*) FROM nw_calibrate('a');
SELECT sql FROM nw_todo() \gexec
SELECT * FROM nw_todo();
SELECT nw_alter_set('a', kernel => 'gaussian', tau => 2);
SELECT set, what, why FROM nw_todo() ORDER BY set;
SELECT nw_alter_set('a', kernel => 'euclidean', model => 'one');
SELECT nw_distill('a', 'few', 'closest', 2);
SELECT nw_alter_set('a', model => 'two');
SELECT set, what, why FROM nw_todo() WHERE set <> 'a' ORDER BY set;
SELECT nw_unregister('few'), nw_unregister('fewer'), nw_unregister('nested'), nw_unregister('queries');
SELECT count(*) FROM nw_calibrate('a');

-- what is gone or has changed
ALTER TABLE st_rows RENAME label TO kind;
SELECT status FROM nw_sets;
SELECT * FROM nw_todo();
ALTER TABLE st_rows RENAME kind TO label;
ALTER TABLE st_rows RENAME TO st_other;
SELECT status FROM nw_sets;
SELECT * FROM nw_todo();
CREATE SEQUENCE st_rows;
SELECT status FROM nw_sets;
SELECT * FROM nw_todo();
DROP SEQUENCE st_rows;
CREATE MATERIALIZED VIEW st_rows AS SELECT * FROM st_other WITH NO DATA;
SELECT status FROM nw_sets;
SELECT * FROM nw_todo();
SELECT sql FROM nw_todo() \gexec
SELECT status FROM nw_sets;
DROP MATERIALIZED VIEW st_rows;
ALTER TABLE st_other RENAME TO st_rows;
ALTER TABLE st_rows ALTER embedding TYPE vector(3) USING '[1,2,3]'::vector;
SELECT status FROM nw_sets;
SELECT * FROM nw_todo();
SELECT sql FROM nw_todo() \gexec
SELECT status, dim FROM nw_sets;
ALTER TABLE st_rows ALTER embedding TYPE text;
SELECT status FROM nw_sets;
SELECT * FROM nw_todo();
SELECT nw_unregister('a');
DROP TABLE st_rows;

-- rows in partitions and inheritance, of which something may be unknown
CREATE TABLE st_parts (id int PRIMARY KEY, embedding vector(1), label text) PARTITION BY RANGE (id);
CREATE TABLE st_part1 PARTITION OF st_parts FOR VALUES FROM (0) TO (100) WITH (autovacuum_enabled = off);
CREATE TABLE st_part2 PARTITION OF st_parts FOR VALUES FROM (100) TO (200) WITH (autovacuum_enabled = off);
INSERT INTO st_parts SELECT i, ARRAY[i % 7]::real[]::vector, 'c' || i % 2 FROM generate_series(60, 139) AS i;
SELECT nw_register('parts', 'st_parts');
SELECT count(*) FROM nw_calibrate('parts');
SELECT calibrated_rows FROM nw_sets;
ANALYZE st_part1;
SELECT count(*) FROM nw_todo();
INSERT INTO st_parts SELECT i, '[1]', 'c1' FROM generate_series(1, 17) AS i;
SELECT set, what, why FROM nw_todo();
ANALYZE st_part1, st_part2;
SELECT set, what, why FROM nw_todo();
CREATE VIEW st_view AS SELECT * FROM st_parts;
SELECT nw_register('view', 'st_view');
SELECT count(*) FROM nw_calibrate('view');
DELETE FROM st_parts WHERE id < 100;
ANALYZE st_part1, st_part2;
SELECT set, what FROM nw_todo();
SELECT nw_unregister(name) FROM nw_sets;
DROP TABLE st_parts CASCADE;

-- an index that wants REINDEX, and why no index serves
CREATE TABLE st_index (id int PRIMARY KEY, embedding vector(4), label text, w float8, loose vector) WITH (autovacuum_enabled = off);
INSERT INTO st_index SELECT i, ARRAY[i % 7, i % 5, i % 3, 1]::real[]::vector, 'c' || i % 3, 1 FROM generate_series(1, 300) AS i;
VACUUM st_index;
SELECT nw_register('ix', 'st_index', tau => 0.1), nw_register('weighted', 'st_index', tau => 0.1, weight => 'w');
CREATE FUNCTION st_why(support text) RETURNS text LANGUAGE sql
	AS $$SELECT concat_ws(': ', engine, reason) FROM nw_index_work('[1,2,3,4]', support)$$;
SELECT st_why('ix');
CREATE INDEX st_nw ON st_index USING nw (embedding);
CREATE INDEX st_nw ON st_index USING nw (embedding) INCLUDE (w);
SELECT st_why('ix');
CREATE INDEX st_nw2 ON st_index USING nw (embedding) INCLUDE (label);
SELECT st_why('ix');
SELECT st_why('weighted');
SET nwhead.engine = 'executor';
SELECT st_why('ix');
RESET nwhead.engine;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT st_why('ix');
COMMIT;
CREATE VIEW st_index_view AS SELECT * FROM st_index;
SELECT nw_register('ix view', 'st_index_view', tau => 0.1);
SELECT st_why('ix view');
SELECT nw_distill('ix', 'ix few', 'closest', 1);
SELECT st_why('ix few');
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'st_nw2'::regclass;
SELECT st_why('ix');
SELECT what, why, sql FROM nw_todo() WHERE set = 'ix' AND what LIKE 'index%';
UPDATE pg_index SET indisvalid = true WHERE indexrelid = 'st_nw2'::regclass;
INSERT INTO st_index SELECT 1000 + i, ARRAY[i % 70, i % 50, i % 30, 1]::real[]::vector, 'new' FROM generate_series(1, 2000) AS i;
SELECT st_why('ix');
VACUUM st_index;
SELECT reindex IS NOT NULL AS wanted FROM nw_index_health('st_nw2');
SELECT set, what, why = 'index public.st_nw2: ' || (SELECT reindex FROM nw_index_health('st_nw2')) AS why, sql
  FROM nw_todo() WHERE what LIKE 'index%' AND why LIKE '%st_nw2%' ORDER BY set;
CREATE ROLE regress_nw_st;
GRANT SELECT ON st_index TO regress_nw_st;
ALTER TABLE st_index ENABLE ROW LEVEL SECURITY;
CREATE POLICY st_policy ON st_index USING (true);
SET ROLE regress_nw_st;
SELECT st_why('ix');
-- anybody sees the state of sets, and has nothing to do about those of others
SELECT name, status FROM nw_sets ORDER BY name;
SELECT count(*) FROM nw_todo();
RESET ROLE;
CREATE TABLE st_child () INHERITS (st_index);
SELECT st_why('ix');
-- dimensions
SELECT engine, reason FROM nw_index_work('[1,2]', 'ix');
SELECT nw_unregister(name) FROM nw_sets;
DROP TABLE st_index CASCADE;
DROP ROLE regress_nw_st;
DROP FUNCTION st_set, st_why;

-- rows of several dimensions: one of them is named
CREATE TABLE st_mixed (id text PRIMARY KEY, embedding vector, label text);
INSERT INTO st_mixed VALUES ('one', '[1,2]', 'a'), ('two', '[1,2]', 'b'), ('the third', '[1,2,3]', 'c');
SELECT nw_register('mixed', 'st_mixed');
SELECT nw_predict('[1,2]', 'mixed');
SELECT nw_calibrate('mixed');
SET nwhead.statement_cache = 0;
SELECT count(*) FROM nw_predict_set('mixed', 'mixed', leave_one_out => false);
RESET nwhead.statement_cache;
SELECT nw_unregister('mixed');
DROP TABLE st_mixed;
