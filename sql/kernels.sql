-- the five kernels, with vectors whose distances can be worked out by hand
CREATE TABLE k_points (id int, embedding vector(2), label text);
INSERT INTO k_points VALUES (1, '[3,4]', 'a'), (2, '[0,3]', 'b'), (3, '[-6,8]', 'c');
SELECT nw_register('k ' || k, 'k_points', kernel => k, tau => 2)
  FROM unnest('{euclidean,gaussian,hypersphere,cosine,dot}'::text[]) AS k;

-- from (3,0):  a is 4 away, b sqrt 18, c sqrt 145
--  on the unit circle the query is (1,0), a (.6,.8), b (0,1), c (-.6,.8):
--  squared distances 0.8, 2 and 3.2, cosines 0.6, 0 and -0.6; products 9, 0 and -18
SELECT s.kernel, w.label, round(w.distance::numeric, 6) AS distance,
       round((w.distance ^ 2)::numeric, 6) AS square
  FROM nw_sets AS s, nw_weights('[3,0]', s.name) AS w ORDER BY s.kernel COLLATE "C", w.label;

-- the weight of each support, against the definition
WITH score (kernel, label, s) AS (
    SELECT 'euclidean', label, -(embedding <-> '[3,0]') / 2 FROM k_points
    UNION ALL SELECT 'gaussian', label, -((embedding <-> '[3,0]') ^ 2) / 2 FROM k_points
    UNION ALL SELECT 'hypersphere', label, -(l2_normalize(embedding) <-> '[1,0]') / 2 FROM k_points
    UNION ALL SELECT 'cosine', label, (1 - (embedding <=> '[3,0]')) / 2 FROM k_points
    UNION ALL SELECT 'dot', label, -(embedding <#> '[3,0]') / 2 FROM k_points
)
SELECT s.kernel, w.label,
       abs(w.weight - exp(s.s) / sum(exp(s.s)) OVER (PARTITION BY s.kernel)) < 1e-7 AS right
  FROM score AS s JOIN nw_sets USING (kernel), nw_weights('[3,0]', name) AS w
 WHERE w.label = s.label ORDER BY s.kernel COLLATE "C", w.label;

-- one support a class, so that weights are probabilities
SELECT kernel, bool_and(w.weight = p.probability) AS same
  FROM nw_sets, nw_weights('[3,0]', name) AS w, nw_predict_proba('[3,0]', name) AS p
 WHERE p.label = w.label GROUP BY kernel ORDER BY kernel COLLATE "C";

-- the length of a vector: only direction counts for two kernels
SELECT kernel, bool_and(abs(a.distance - b.distance) < 1e-12) AS "length does not count"
  FROM nw_sets, nw_weights('[3,0]', name) AS a, nw_weights('[300,0]', name) AS b
 WHERE a.label = b.label GROUP BY kernel ORDER BY kernel COLLATE "C";

-- a zero vector stays zero: at distance 1 from all directions, at cosine 0
SELECT s.kernel, w.label, w.distance + 0 AS distance, round(w.weight::numeric, 12) AS weight
  FROM nw_sets AS s, nw_weights('[0,0]', s.name) AS w
 WHERE s.kernel IN ('cosine', 'hypersphere', 'dot') ORDER BY s.kernel COLLATE "C", w.label;
INSERT INTO k_points VALUES (4, '[0,0]', 'zero');
SELECT s.kernel, w.distance + 0 AS distance FROM nw_sets AS s, nw_weights('[3,0]', s.name) AS w
 WHERE w.label = 'zero' ORDER BY s.kernel COLLATE "C";

-- equal to the query: distance 0, and the whole weight at a small tau
SELECT nw_set_tau(name, 1e-6) FROM nw_sets;
SELECT s.kernel, w.label, round(w.distance::numeric, 12) AS distance, w.weight
  FROM nw_sets AS s, nw_weights('[3,4]', s.name, top => 1, exclude => '{}') AS w
 WHERE s.kernel <> 'dot' ORDER BY s.kernel COLLATE "C";

-- large and small components
TRUNCATE k_points;
INSERT INTO k_points VALUES (1, '[3e38,0]', 'far'), (2, '[1e-38,0]', 'near');
SELECT s.kernel, w.label, w.weight FROM nw_sets AS s, nw_weights('[-3e38,0]', s.name) AS w
 WHERE s.kernel IN ('euclidean', 'gaussian') ORDER BY s.kernel COLLATE "C", w.label;
SELECT kernel, nw_predict('[3e38,1]', name) FROM nw_sets
 WHERE kernel NOT IN ('cosine', 'hypersphere') ORDER BY kernel COLLATE "C";

SELECT nw_unregister(name) FROM nw_sets;
DROP TABLE k_points;
