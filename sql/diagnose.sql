-- nw_diagnose, nw_helpful_supports, nw_harmful_supports and nw_suspect_supports
\pset null '(null)'
CREATE TABLE g_rows (id int, embedding vector(1), label text);
INSERT INTO g_rows VALUES (1, '[0]', 'a'), (2, '[1]', 'a'), (3, '[2]', 'b'), (4, '[8]', 'b'), (5, '[9]', 'b'), (6, '[20]', 'c');
CREATE TABLE g_queries (id text, embedding vector(1), label text);
INSERT INTO g_queries VALUES ('x', '[0.5]', 'a'), ('y', '[8.5]', 'b'), ('z', '[20]', 'c'), ('unseen', '[3]', 'd'), ('unlabelled', '[3]', NULL);
SELECT nw_register('g', 'g_rows', tau => 2);
SELECT nw_register('q', 'g_queries');

-- x and y have helpful and harmful supports, z one helpful; then five suspects
SELECT nw_diagnose('g', 'q', 2);
SELECT support, queries, query_id, truth, predicted, rank, support_id, label, round(weight::numeric, 6) AS weight,
       CASE WHEN influence < 'Infinity' THEN round(influence::numeric, 6)::text ELSE influence::text END AS influence
  FROM nw_helpful_supports ORDER BY query_id, rank;
SELECT query_id, truth, predicted, rank, support_id, label, round(weight::numeric, 6) AS weight, round(influence::numeric, 6) AS influence
  FROM nw_harmful_supports ORDER BY query_id, rank;
-- what nw_influence says, to the last digit
SELECT count(*) AS equal
  FROM (SELECT query_id, rank, support_id, label, weight, influence, 'helpful' AS effect FROM nw_helpful_supports
        UNION ALL SELECT query_id, rank, support_id, label, weight, influence, 'harmful' FROM nw_harmful_supports) AS d
  JOIN (SELECT q.id, i.*
          FROM g_queries AS q, nw_influence(q.embedding, q.label, 'g', 2) AS i) AS n
    ON n.id = d.query_id AND (n.rank, n.support_id, n.label, n.weight, n.influence, n.effect) = (d.rank, d.support_id, d.label, d.weight, d.influence, d.effect);

-- what nw_suspects says, with the sums over all queries
SELECT s.support_id, round(d.total_influence::numeric, 6) AS total_influence, d.times_harmful,
       (d.label, d.suggested_label, d.probability, d.log_margin, d.margin) = (s.label, s.suggested_label, s.probability, s.log_margin, s.margin) AS equal
  FROM nw_suspects('g') AS s LEFT JOIN nw_suspect_supports AS d USING (support_id);
SELECT i.support_id, round(sum(i.influence)::numeric, 6) AS total_influence
  FROM g_queries AS q, nw_influence(q.embedding, q.label, 'g', NULL) AS i WHERE i.influence < 'Infinity' GROUP BY i.support_id ORDER BY i.support_id;

-- another pair adds, the same pair replaces
SELECT nw_diagnose('g', 'g', 1);
SELECT queries, count(*) FROM nw_helpful_supports GROUP BY queries ORDER BY queries;
SELECT query_id, support_id FROM nw_helpful_supports WHERE queries = 'g' ORDER BY query_id;
SELECT nw_diagnose('g', 'q', 1);
SELECT queries, count(*) FROM nw_helpful_supports GROUP BY queries ORDER BY queries;
SELECT nw_diagnose('g', 'g', 1, leave_one_out => false);
SELECT query_id, support_id FROM nw_helpful_supports WHERE queries = 'g' ORDER BY query_id;

-- rolled back
BEGIN;
SELECT nw_diagnose('g', 'q', 5);
ROLLBACK;
SELECT max(rank) FROM nw_harmful_supports WHERE queries = 'q';

-- a diagnosis goes with either of its sets
SELECT nw_register('other', 'g_rows', tau => 2);
SELECT nw_diagnose('other', 'q', 1);
SELECT nw_diagnose('other', 'other', 1);
SELECT nw_unregister('q');
SELECT support, queries, count(*) FROM nw_harmful_supports GROUP BY support, queries ORDER BY support, queries;
SELECT support, queries, count(*) FROM nw_suspect_supports GROUP BY support, queries ORDER BY support, queries;
-- and stays where the rows do
SELECT nw_register('other', 'g_rows', tau => 3, replace => true);
SELECT DISTINCT support FROM nw_suspect_supports ORDER BY support;

-- distilled supports
SELECT nw_distill('g', 'few', 'closest', 1, calibrate => false);
SELECT nw_diagnose('few', 'other', 1);
SELECT count(*), count(support_id) FROM nw_helpful_supports WHERE support = 'few';

-- nobody writes directly
CREATE ROLE regress_nw_writer;
SET ROLE regress_nw_writer;
INSERT INTO nw_diagnosed_influence SELECT * FROM nw_diagnosed_influence;
UPDATE nw_suspect_supports SET margin = 0;
DELETE FROM nw_diagnosed_suspect;
SELECT count(*) FROM nw_helpful_supports;
SELECT count(*) FROM nw_suspect_supports;
RESET ROLE;
DROP ROLE regress_nw_writer;

SELECT nw_unregister(name) FROM nw_sets \g /dev/null
SELECT (SELECT count(*) FROM nw_diagnosed_influence) + (SELECT count(*) FROM nw_diagnosed_suspect) AS left;
DROP TABLE g_rows, g_queries;
