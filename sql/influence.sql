-- nw_influence
\pset null '(null)'
CREATE TABLE i_rows (id int, embedding vector(2), label text);
INSERT INTO i_rows VALUES
    (1, '[0,0]', 'a'), (2, '[3,4]', 'a'), (3, '[6,8]', 'a'),
    (4, '[0,5]', 'b'), (5, '[5,0]', 'b'), (6, '[9,12]', 'c');
SELECT nw_register('i', 'i_rows', tau => 5);

-- helpful ones first, then harmful ones, each with the most influential first
SELECT support_id, label, distance, round(weight::numeric, 6) AS weight, round(influence::numeric, 6) AS influence, effect
  FROM nw_influence('[0,0]', 'a', 'i');
-- by the definition: the loss without the row, minus the loss with it
CREATE VIEW i_naive AS
    SELECT q.truth, s.id, -ln(sum(exp(-(r.embedding <-> '[0,0]') / 5)) FILTER (WHERE r.label = q.truth AND r.id <> s.id)
                              / sum(exp(-(r.embedding <-> '[0,0]') / 5)) FILTER (WHERE r.id <> s.id))
           + ln(sum(exp(-(r.embedding <-> '[0,0]') / 5)) FILTER (WHERE r.label = q.truth) / sum(exp(-(r.embedding <-> '[0,0]') / 5))) AS influence
      FROM (VALUES ('a'), ('b'), ('c')) AS q (truth), i_rows AS s, i_rows AS r GROUP BY q.truth, s.id;
SELECT n.truth, count(*) AS supports, bool_and(abs(i.influence - n.influence) < 1e-12) AS equal, count(*) FILTER (WHERE n.influence IS NULL) AS only_one
  FROM i_naive AS n JOIN LATERAL nw_influence('[0,0]', n.truth, 'i', NULL) AS i ON i.support_id::int = n.id
 GROUP BY n.truth ORDER BY n.truth;

-- the only support of the truth
SELECT support_id, influence = 'Infinity' AS infinite, influence < 0 AS below_0, effect FROM nw_influence('[0,0]', 'c', 'i', 1);
-- a truth without support
SELECT support_id, label, influence, effect FROM nw_influence('[0,0]', 'heron', 'i', 2);
-- nothing asked, nothing answered
SELECT * FROM nw_influence(NULL::vector, 'a', 'i');
SELECT * FROM nw_influence('[0,0]', NULL, 'i');

-- top
SELECT top, count(*) FILTER (WHERE effect = 'helpful') AS helpful, count(*) FILTER (WHERE effect = 'harmful') AS harmful
  FROM unnest('{1,2,3,100,NULL}'::int[]) AS top, nw_influence('[1,1]', 'a', 'i', top) GROUP BY top ORDER BY top;

-- classes and exclude
SELECT support_id, effect FROM nw_influence('[0,0]', 'a', 'i', classes => '{a,c}');
SELECT support_id, round(influence::numeric, 6) AS influence FROM nw_influence('[0,0]', 'a', 'i', classes => '{a}');
SELECT support_id, influence = 'Infinity' AS infinite, effect FROM nw_influence('[0,0]', 'b', 'i', 1, exclude => '{4}');
SELECT support_id, influence FROM nw_influence('[0,0]', 'b', 'i', 1, classes => '{a}');

-- what a weight near 1 and a weight near 0 leave: every digit
UPDATE i_rows SET embedding = '[300,400]' WHERE id > 1;
SELECT nw_set_tau('i', 1);
SELECT support_id, weight = 1 AS one, round(influence::numeric, 12) AS influence, round(ln(5 / 2.0), 12) AS by_hand FROM nw_influence('[0,0]', 'a', 'i', 1) LIMIT 1;
SELECT support_id, round(influence::numeric, 9) AS influence, round(by_hand, 9) AS by_hand
  FROM nw_influence('[0,0]', 'b', 'i', 1) JOIN (VALUES ('4', ln(2.0)), ('1', ln(5.0) - 500)) AS v (support_id, by_hand) USING (support_id);
SELECT count(*) FROM nw_influence('[0,0]', 'a', 'i', NULL) WHERE influence = 'NaN';

-- all three forms of a query, and both types of support
SELECT support_id FROM nw_influence('[0,0]'::vector, 'a', 'i', 1) WHERE effect = 'helpful';
SELECT support_id FROM nw_influence('[0,0]'::halfvec, 'a', 'i', 1) WHERE effect = 'helpful';
SELECT support_id FROM nw_influence('[0,0]'::text, 'a', 'i', 1) WHERE effect = 'helpful';
CREATE TABLE i_half AS SELECT id, embedding::halfvec(2) AS embedding, label FROM i_rows;
SELECT nw_register('half', 'i_half');
SELECT count(*) FROM nw_influence('[0,0]', 'a', 'i', NULL) AS a JOIN nw_influence('[0,0]', 'a', 'half', NULL) AS b
    USING (support_id, label, distance, weight, influence, effect);

-- through a distilled set
SELECT nw_distill('i', 'few', 'closest', calibrate => false);
SELECT p.source_id = i.support_id AS named, i.label, i.influence > 0 AS above_0 FROM nw_influence('[0,0]', 'a', 'few') AS i
  LEFT JOIN nw_prototypes AS p ON p.set = 'few' AND p.label = i.label ORDER BY i.label;
SELECT nw_unregister(name) FROM nw_sets \g /dev/null
DROP TABLE i_rows, i_half CASCADE;
