-- nw_distill and nw_prototypes
\pset null '(null)'
CREATE TABLE d_rows (id int, embedding vector(2), label text, w float8);
INSERT INTO d_rows VALUES
    (1, '[0,0]', 'a', 1), (2, '[2,0]', 'a', 1), (3, '[0,2]', 'a', 2), (4, '[2,2]', 'a', 4),
    (5, '[10,0]', 'a', 1), (6, '[12,0]', 'a', 1), (7, '[11,3]', 'a', 1),
    (8, '[0,9]', 'b', 1), (9, '[0,11]', 'b', 1), (10, '[5,5]', 'c', 1),
    (11, NULL, 'a', 1), (12, '[7,7]', NULL, 1);
SELECT nw_register('d', 'd_rows', tau => 2, kernel => 'gaussian');

-- one prototype a class is the class's mean
SELECT nw_distill('d', 'd one', calibrate => false);
SELECT * FROM nw_prototypes WHERE set = 'd one' ORDER BY label;
SELECT p.label, (p.embedding <-> avg(r.embedding)) < 1e-6 AS is_mean, p.members = count(*) AS all_rows
  FROM nw_prototypes AS p JOIN d_rows AS r USING (label)
 WHERE p.set = 'd one' AND r.embedding IS NOT NULL GROUP BY p.label, p.embedding, p.members ORDER BY p.label;

-- a distilled set is a set: the parent's columns and kernel
SELECT name, mode, parent, relation, embedding, label, id, weight FROM nw_sets ORDER BY name;
SELECT name, kernel, tau, k, seed, dim FROM nw_sets ORDER BY name;
SELECT nw_predict('[6,4]', 'd one'), nw_predict('[6,4]', 'd');

-- two clusters that are plain to see; classes of one and two rows
SELECT nw_distill('d', 'd two', k => 2, seed => 7);
SELECT label, ordinal, members, source_id, weight FROM nw_prototypes WHERE set = 'd two' ORDER BY label, ordinal;
SELECT label, embedding FROM nw_prototypes WHERE set = 'd two' AND label <> 'a' ORDER BY label, embedding;
SELECT min(embedding <-> '[1,1]') < 1e-6 AS near, min(embedding <-> '[11,1]') < 1e-6 AS far FROM nw_prototypes WHERE set = 'd two';
SELECT k, seed, tau > 0 AS own_tau, (tau, temper) <> (2, 1) AS another FROM nw_sets WHERE name = 'd two';

-- real rows: the nearest to each centroid, no row twice
SELECT nw_distill('d', 'd close', 'closest', 2, calibrate => false);
SELECT p.label, p.members, p.source_id, p.embedding = r.embedding AS same
  FROM nw_prototypes AS p JOIN d_rows AS r ON r.id = p.source_id::int AND r.label = p.label
 WHERE set = 'd close' ORDER BY p.source_id::int;
SELECT nw_distill('d', 'd random', 'random', 2, calibrate => false);
SELECT p.label, count(*), count(DISTINCT source_id), sum(members), bool_and(p.embedding = r.embedding AND r.label = p.label) AS same
  FROM nw_prototypes AS p JOIN d_rows AS r ON r.id = p.source_id::int WHERE set = 'd random' GROUP BY p.label ORDER BY p.label;

-- weights
SELECT nw_register('d weighted', 'd_rows', tau => 2, weight => 'w');
SELECT nw_distill('d', 'd heavy', k => 2, weights => 'members', calibrate => false);
SELECT label, members, weight FROM nw_prototypes WHERE set = 'd heavy' ORDER BY label, members;
SELECT nw_distill('d weighted', 'd heavier', k => 2, weights => 'members', calibrate => false);
SELECT label, members, round(weight::numeric, 9) AS weight FROM nw_prototypes WHERE set = 'd heavier' ORDER BY label, members;
SELECT label, round(weight::numeric, 6) AS weight FROM nw_weights('[6,1]', 'd heavy', 3);
SELECT label, round((w * exp(-d / 2) / sum(w * exp(-d / 2)) OVER ())::numeric, 6) AS by_hand
  FROM (VALUES ('c', 1, 17.0), ('a', 4, 25), ('a', 3, 25), ('b', 1, 100), ('b', 1, 136)) AS v (label, w, d) LIMIT 3;

-- distilling anew replaces; a set that was not distilled is not replaced
SELECT version AS before FROM nw_registry WHERE name = 'd two' \gset
SELECT nw_distill('d', 'd two', 'random', k => 1, calibrate => false);
SELECT mode, k, version > :before AS newer FROM nw_registry WHERE name = 'd two';
SELECT count(*) FROM nw_prototypes WHERE set = 'd two';
SELECT nw_distill('d', 'd weighted');
SELECT nw_distill('d', 'd');
SELECT nw_distill('d two', 'd two');

-- all or nothing
BEGIN;
SELECT nw_distill('d', 'd two', k => 3, calibrate => false);
SELECT mode, k, (SELECT count(*) FROM nw_prototypes WHERE set = name) FROM nw_sets WHERE name = 'd two';
ROLLBACK;
SELECT mode, k, (SELECT count(*) FROM nw_prototypes WHERE set = name) FROM nw_sets WHERE name = 'd two';

-- sets of sets
SELECT nw_distill('d close', 'd nested', 'closest', 1, calibrate => false);
SELECT name, mode, parent, relation FROM nw_sets WHERE name = 'd nested';
SELECT p.label, p.members, p.embedding = r.embedding AS same FROM nw_prototypes AS p JOIN d_rows AS r ON r.id = p.source_id::int
 WHERE set = 'd nested' ORDER BY p.label;
SELECT nw_distill('d nested', 'd again', calibrate => false);
SELECT count(*) FROM nw_prototypes AS a JOIN nw_prototypes AS b ON a.embedding = b.embedding AND a.label = b.label
 WHERE a.set = 'd again' AND b.set = 'd nested';

-- the same for a seed, whatever the order of rows and the plan
CREATE TABLE d_many AS
    SELECT i AS id, ARRAY[i * 37 % 101, i * 53 % 89, i * i % 31]::vector AS embedding, 'class ' || i % 3 AS label FROM generate_series(1, 150) AS i;
SELECT nw_register('many', 'd_many');
CREATE FUNCTION d_print(seed bigint, OUT digest text) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM nw_distill('many', 'd ' || mode, mode, 6, d_print.seed) FROM unnest('{random,cluster,closest}'::text[]) AS mode;
    SELECT md5(string_agg(concat_ws(' ', p.set, p.label, p.ordinal, p.embedding, p.members, p.source_id, p.weight, s.tau), ';'
                          ORDER BY p.set, p.label, p.ordinal))
      INTO digest FROM nw_prototypes AS p JOIN nw_sets AS s ON s.name = p.set WHERE p.set IN ('d random', 'd cluster', 'd closest');
END
$$;
SELECT d_print(1) AS first \gset
SELECT d_print(1) = :'first' AS again;
SELECT d_print(2) <> :'first' AS another_seed;
SELECT d_print(-9223372036854775808) <> :'first' AS the_smallest_seed;
CREATE INDEX d_many_order ON d_many (md5(id::text));
CLUSTER d_many USING d_many_order;
SELECT d_print(1) = :'first' AS other_order;
CREATE INDEX d_many_id ON d_many (id);
SET enable_seqscan = off;
SELECT d_print(1) = :'first' AS other_plan;
RESET enable_seqscan;
UPDATE d_many SET id = id WHERE id % 2 = 0;
SELECT d_print(1) = :'first' AS after_update;
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SELECT d_print(1) = :'first' AS in_parallel;
RESET ALL;
CREATE VIEW d_view AS SELECT id, embedding, label FROM d_many ORDER BY embedding <-> '[50,50,15]';
SELECT nw_register('many', 'd_view', replace => true);
SELECT d_print(1) = :'first' AS through_a_view;
UPDATE d_many SET embedding = '[1,2,3]' WHERE id = 5;
SELECT d_print(1) <> :'first' AS another_row;

-- kernels that compare directions have centroids of length 1
SELECT nw_register('many unit', 'd_many', kernel => 'cosine', tau => 0.1);
SELECT nw_distill('many unit', 'unit', k => 3);
SELECT bool_and(abs(vector_norm(embedding) - 1) < 1e-6) FROM nw_prototypes WHERE set = 'unit';

-- unregistering removes the prototypes, and leaves children alone
SELECT nw_unregister('d close');
SELECT count(*) FROM nw_prototypes WHERE set = 'd close';
SELECT nw_predict('[1,1]', 'd nested');
-- so does registering another set under the name
SELECT nw_register('d two', 'd_rows', tau => 2, replace => true);
SELECT count(*) FROM nw_prototypes WHERE set = 'd two';

-- nobody writes to prototypes directly
CREATE ROLE regress_nw_writer;
SET ROLE regress_nw_writer;
INSERT INTO nw_prototype SELECT * FROM nw_prototype;
UPDATE nw_prototypes SET members = 1;
DELETE FROM nw_prototype;
TRUNCATE nw_prototype;
SELECT count(*) FROM nw_prototypes;
RESET ROLE;
DROP ROLE regress_nw_writer;

SELECT nw_unregister(name) FROM nw_sets \g /dev/null
SELECT count(*) FROM nw_prototypes;
DROP FUNCTION d_print;
DROP VIEW d_view;
DROP TABLE d_rows, d_many;
