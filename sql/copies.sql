-- half-size copies of a large packed support settle labels only where they
-- must be right: many predictions in one statement against exact ones
CREATE TABLE wide (id int PRIMARY KEY, label text, embedding vector(512));
INSERT INTO wide
SELECT i, 'c' || i % 7,
       (SELECT array_agg(((i::bigint * 7919 + j * 104729 + (i % 7) * j * 31 + i::bigint * j * 613) % 1000003) / 100000.0)
          FROM generate_series(1, 512) AS j)::vector(512)
  FROM generate_series(1, 9000) AS i;
-- every tenth row once more under another label: ties for its own vector
INSERT INTO wide SELECT id + 10000, 'a twin', embedding FROM wide WHERE id % 10 = 0;
ANALYZE wide;
CREATE TABLE asked AS SELECT id, embedding FROM wide WHERE id % 400 = 0 ORDER BY id;
SELECT count(*) FROM asked;

SELECT s.kernel, s.tau, nw_register('wide_' || s.kernel || s.tau, 'wide', kernel => s.kernel, tau => s.tau)
  FROM (VALUES ('euclidean', 0.01), ('euclidean', 5), ('gaussian', 1), ('gaussian', 2000), ('hypersphere', 0.1)) AS s (kernel, tau);

-- nw_classify never uses copies
SET nwhead.statement_cache = '64MB';
SELECT s.name, count(*) AS n, count(*) FILTER (WHERE p.label = c.label) AS same
  FROM nw_sets AS s,
       LATERAL (SELECT id, nw_predict(embedding, s.name) AS label FROM asked) AS p,
       LATERAL (SELECT c.label FROM asked AS a, nw_classify(a.embedding, s.name) AS c WHERE a.id = p.id) AS c
 WHERE s.name LIKE 'wide%'
 GROUP BY s.name ORDER BY s.name COLLATE "C";

-- a vector that two classes hold in equal numbers: the smaller label wins
SELECT DISTINCT nw_predict(embedding, 'wide_euclidean0.01') FROM asked;

-- without room for copies the answers are the same
CREATE TEMP TABLE roomy AS SELECT id, nw_predict(embedding, 'wide_euclidean5') AS label FROM asked;
SET nwhead.statement_cache = '20MB';
SELECT count(*) FILTER (WHERE r.label <> nw_predict(a.embedding, 'wide_euclidean5')) AS different
  FROM asked AS a JOIN roomy AS r USING (id);
RESET nwhead.statement_cache;

SELECT nw_unregister(name) FROM nw_sets WHERE name LIKE 'wide%';
DROP TABLE wide, asked;
