-- nw_register, nw_unregister, nw_set_tau and nw_sets
\pset null '(null)'
CREATE TABLE reg_birds (id int PRIMARY KEY, embedding vector(2), label text);
INSERT INTO reg_birds VALUES (1, '[3,4]', 'gull'), (2, '[6,8]', 'heron');

-- defaults
SELECT nw_register('birds', 'reg_birds');
SELECT name, mode, parent, relation, embedding, label, id, weight
  FROM nw_sets WHERE name = 'birds';
SELECT kernel, tau, k, seed, dim, owner = current_user AS mine
  FROM nw_sets WHERE name = 'birds';
SELECT nw_predict('[0,0]', 'birds');

-- a name is taken once
SELECT nw_register('birds', 'reg_birds');

-- replace: what is given, under a new version
SELECT version AS before FROM nw_registry WHERE name = 'birds' \gset
SELECT nw_register('birds', 'reg_birds', kernel => 'gaussian', tau => 25, replace => true);
SELECT kernel, tau, version > :before AS newer FROM nw_registry WHERE name = 'birds';
-- replace where there is nothing to replace
SELECT nw_register('other birds', 'reg_birds', replace => true);

-- tau
SELECT version AS before FROM nw_registry WHERE name = 'birds' \gset
SELECT nw_set_tau('birds', 0.5);
SELECT tau, version > :before AS newer FROM nw_registry WHERE name = 'birds';

-- several changes in one command see each other
SELECT nw_set_tau('birds', t) FROM (VALUES (2.0), (3.0)) AS v (t);
SELECT tau FROM nw_sets WHERE name = 'birds';

-- a change that is rolled back
BEGIN;
SELECT nw_unregister('birds');
SELECT count(*) FROM nw_sets WHERE name = 'birds';
ROLLBACK;
SELECT count(*) FROM nw_sets WHERE name = 'birds';

-- unregister leaves the relation alone
SELECT nw_unregister('birds');
SELECT nw_unregister('other birds');
SELECT count(*) FROM nw_sets;
SELECT count(*) FROM reg_birds;
-- versions are never used again
SELECT nw_register('birds', 'reg_birds');
SELECT version > :before AS newer FROM nw_registry WHERE name = 'birds';
SELECT nw_unregister('birds');

-- names that need quotes, in a schema of their own
CREATE SCHEMA "reg Schema";
CREATE TABLE "reg Schema"."Odd ""Table" ("The Id" int, "Select" vector, "La,bel" text);
INSERT INTO "reg Schema"."Odd ""Table" VALUES (1, '[1,1]', 'x');
SELECT nw_register('it''s "odd"', '"reg Schema"."Odd ""Table"', 'Select', 'La,bel', 'The Id');
SELECT name, relation, embedding, label, id, dim FROM nw_sets;
SELECT * FROM nw_weights('[1,1]', 'it''s "odd"');
SELECT nw_unregister('it''s "odd"');
DROP SCHEMA "reg Schema" CASCADE;

-- an empty relation has a dimension where its column declares one
CREATE TABLE reg_empty (id int, embedding vector, label text);
SELECT nw_register('empty', 'reg_empty');
SELECT dim FROM nw_sets WHERE name = 'empty';
ALTER TABLE reg_empty ALTER embedding TYPE vector(7);
SELECT nw_register('empty', 'reg_empty', replace => true);
SELECT dim FROM nw_sets WHERE name = 'empty';
SELECT nw_unregister('empty');

-- every kind of relation
CREATE TABLE reg_parts (id int, embedding vector(2), label text) PARTITION BY LIST (label);
CREATE TABLE reg_part1 PARTITION OF reg_parts FOR VALUES IN ('gull');
CREATE TABLE reg_part2 PARTITION OF reg_parts FOR VALUES IN ('heron');
INSERT INTO reg_parts SELECT * FROM reg_birds;
CREATE VIEW reg_view AS SELECT id + 100 AS id, embedding, upper(label) AS label FROM reg_birds;
CREATE MATERIALIZED VIEW reg_matview AS SELECT * FROM reg_birds;
CREATE UNLOGGED TABLE reg_unlogged AS SELECT * FROM reg_birds;
CREATE EXTENSION file_fdw;
CREATE SERVER reg_files FOREIGN DATA WRAPPER file_fdw;
CREATE FOREIGN TABLE reg_foreign (id int, embedding vector(2), label text) SERVER reg_files
    OPTIONS (program $$printf '1\t[3,4]\tgull\n2\t[6,8]\theron\n'$$);
SELECT nw_register('reg ' || r, ('reg_' || r)::regclass)
  FROM unnest('{parts,part1,view,matview,unlogged,foreign}'::text[]) AS r;
SELECT relation, w.support_id, w.label, w.distance
  FROM nw_sets, nw_weights('[0,0]', name) AS w
 WHERE name LIKE 'reg %' ORDER BY relation COLLATE "C", w.distance;
SELECT nw_unregister(name) FROM nw_sets;

-- without an id column, the row's place in its table stands in
SELECT nw_register('reg ctid', 'reg_birds', id => NULL);
SELECT nw_register('reg ctid matview', 'reg_matview', id => NULL);
SELECT support_id, label FROM nw_weights('[0,0]', 'reg ctid');
SELECT support_id, label FROM nw_weights('[0,0]', 'reg ctid matview');
SELECT nw_predict('[0,0]', 'reg ctid', exclude => ARRAY[ctid::text]) FROM reg_birds WHERE id = 1;
SELECT id, name FROM nw_sets ORDER BY name;
SELECT nw_unregister(name) FROM nw_sets;

-- unlabelled rows serve as queries only
SELECT nw_register('reg queries', 'reg_birds', label => NULL);
SELECT label FROM nw_sets;
SELECT nw_predict('[0,0]', 'reg queries');
SELECT nw_unregister('reg queries');

-- a weight column
ALTER TABLE reg_birds ADD w numeric DEFAULT 1;
SELECT nw_register('reg weighted', 'reg_birds', weight => 'w');
SELECT weight FROM nw_sets;
SELECT nw_unregister('reg weighted');

-- embeddings of length 1 want a smaller tau than 1
CREATE TABLE reg_unit (id int, embedding vector(2), label text);
INSERT INTO reg_unit VALUES (1, '[1,0]', 'east'), (2, '[0,1]', 'north'), (3, '[0.6,0.8]', 'north');
SELECT nw_register('reg unit', 'reg_unit');
SELECT nw_register('reg unit', 'reg_unit', tau => 0.05, replace => true);
SELECT nw_register('reg unit', 'reg_unit', kernel => 'gaussian', tau => 1, replace => true);
SELECT nw_register('reg unit', 'reg_unit', kernel => 'dot', replace => true);
-- two kernels make any embedding that long
SELECT nw_register('reg cosine', 'reg_birds', kernel => 'cosine');
SELECT nw_register('reg sphere', 'reg_birds', kernel => 'hypersphere');
SELECT nw_register('reg sphere', 'reg_birds', kernel => 'hypersphere', tau => 0.02, replace => true);
-- one longer row, and the notice is not needed
INSERT INTO reg_unit VALUES (4, '[2,0]', 'east');
SELECT nw_register('reg unit', 'reg_unit', replace => true);
SELECT nw_unregister(name) FROM nw_sets;

-- a domain over vector
CREATE DOMAIN reg_embedding AS vector(2);
CREATE TABLE reg_domain (id int, embedding reg_embedding, label text);
INSERT INTO reg_domain VALUES (1, '[3,4]', 'gull');
SELECT nw_register('reg domain', 'reg_domain');
SELECT dim FROM nw_sets;
SELECT distance FROM nw_weights('[0,0]', 'reg domain');
SELECT nw_unregister('reg domain');

DROP TABLE reg_birds, reg_empty, reg_parts, reg_unit, reg_unlogged, reg_domain CASCADE;
DROP DOMAIN reg_embedding;
DROP EXTENSION file_fdw CASCADE;
