-- Priors of classes: what rows weigh where classes have a say of their own
\pset null '(null)'
SET extra_float_digits = -3;
CREATE TABLE ba_rows (id int PRIMARY KEY, embedding vector(2), label text, weight float8);
-- the rare classes lie among the rows of the frequent one
INSERT INTO ba_rows SELECT i, CASE i % 10 WHEN 0 THEN ARRAY[8 + i / 10 % 3, 5 + i / 10 % 4] WHEN 5 THEN ARRAY[1 + i / 10 % 3, 1 + i / 10 % 4] ELSE ARRAY[i % 13, i * 7 % 11] END::vector,
    CASE i % 10 WHEN 0 THEN 'rare' WHEN 5 THEN 'few' ELSE 'many' END, i % 4 + 0.5
  FROM generate_series(1, 200) AS i;
SELECT nw_register('ba', 'ba_rows', tau => 2);
SELECT nw_register('ba uniform', 'ba_rows', tau => 2, balance => 'uniform');
SELECT nw_register('ba weighted', 'ba_rows', tau => 2, weight => 'weight', balance => 'uniform');
SELECT nw_register('ba given', 'ba_rows', tau => 2, weight => 'weight', balance => '{"rare": 0.5, "few": 0.1, "nobody": 0.05}');
SELECT nw_register('ba all', 'ba_rows', tau => 2, balance => '{"rare": 0.3, "few": 0.7}');
SELECT name, balance FROM nw_sets WHERE name LIKE 'ba%' ORDER BY name COLLATE "C";

-- the same in plain SQL: of each class, weight / (weight of its rows) * prior
CREATE VIEW ba_priors (set, label, prior) AS
VALUES ('ba uniform', 'rare', 1.0), ('ba uniform', 'few', 1), ('ba uniform', 'many', 1), ('ba weighted', 'rare', 1), ('ba weighted', 'few', 1), ('ba weighted', 'many', 1),
       ('ba given', 'rare', 0.5), ('ba given', 'few', 0.1), ('ba given', 'many', 0.35), ('ba all', 'rare', 0.3), ('ba all', 'few', 0.7);
CREATE VIEW ba_naive AS
SELECT set, q.id AS query, r.id, label, exp(-(r.embedding <-> q.embedding) / 2) * w / sum(w) OVER (PARTITION BY set, q.id, label) * prior AS say
  FROM ba_priors JOIN ba_rows AS r USING (label), LATERAL (SELECT CASE WHEN set IN ('ba weighted', 'ba given') THEN r.weight ELSE 1 END AS w) AS w,
       (SELECT id, ARRAY[id + 0.5, 3 - id]::vector AS embedding FROM generate_series(1, 5) AS id) AS q;
CREATE FUNCTION ba_differences() RETURNS TABLE (what text, asked bigint, wrong bigint) LANGUAGE sql AS $$
    SELECT 'probabilities', count(*), count(*) FILTER (WHERE p.probability IS NULL OR abs(p.probability - n.say) > 1e-12)
      FROM (SELECT set, query, label, sum(say) / sum(sum(say)) OVER (PARTITION BY set, query) AS say FROM ba_naive GROUP BY set, query, label) AS n
      LEFT JOIN LATERAL nw_predict_proba(ARRAY[query + 0.5, 3 - query], set) AS p ON p.label = n.label
    UNION ALL
    SELECT 'weights', count(*), count(*) FILTER (WHERE w.weight IS NULL OR abs(w.weight - n.say) > 1e-12)
      FROM (SELECT set, query, id, say / sum(say) OVER (PARTITION BY set, query) AS say, rank() OVER (PARTITION BY set, query ORDER BY say DESC, id) FROM ba_naive) AS n
      LEFT JOIN LATERAL nw_weights(ARRAY[query + 0.5, 3 - query], set, NULL) AS w ON w.support_id::int = n.id
$$;
SELECT * FROM ba_differences();
-- one by one, without packed rows
SET nwhead.statement_cache = 0;
SELECT * FROM ba_differences();
RESET nwhead.statement_cache;
-- classes that are given no part of 1 have no say
SELECT label, probability::numeric(6,4), rank FROM nw_predict_proba('[1,1]', 'ba all');
SELECT nw_predict('[1,1]', 'ba all', classes => '{many}');

-- whole sets: the same answers, and a row that is left out is counted all the same
SELECT count(*), count(*) FILTER (WHERE s.label = c.label AND s.confidence = c.confidence) AS same
  FROM nw_predict_set('ba given', 'ba given') AS s, LATERAL (SELECT * FROM ba_rows WHERE id = s.query_id::int) AS r, nw_classify(r.embedding, 'ba given', exclude => ARRAY[r.id]) AS c;
SELECT count(*), count(*) FILTER (WHERE abs(s.truth_probability - n.say) < 1e-12) AS same
  FROM nw_predict_set('ba uniform', 'ba uniform') AS s,
       LATERAL (SELECT sum(say) FILTER (WHERE label = s.truth) / sum(say) AS say
                  FROM (SELECT r.id, r.label, exp(-(r.embedding <-> q.embedding) / 2) / count(*) OVER (PARTITION BY r.label) AS say FROM ba_rows AS r, ba_rows AS q WHERE q.id = s.query_id::int) AS n
                 WHERE id <> s.query_id::int) AS n;
-- rare classes are found more often, and frequent ones less
SELECT a.label, a.n, a.recall::numeric(4,3), b.recall::numeric(4,3) AS balanced FROM nw_class_report('ba', 'ba') AS a JOIN nw_class_report('ba uniform', 'ba uniform') AS b USING (label);

-- rows count as the statement sees them
BEGIN;
DELETE FROM ba_rows WHERE label = 'rare' AND id > 50;
SELECT * FROM ba_differences();
ROLLBACK;

-- calibration, suspects and prototypes follow
SELECT count(*) FROM nw_suspects('ba uniform', 5);
SELECT nw_distill('ba uniform', 'ba few', 'cluster', 3, weights => 'members');
SELECT label, sum(weight)::numeric(6,4) AS weight FROM nw_prototypes WHERE set = 'ba few' GROUP BY label ORDER BY label;
SELECT name, balance FROM nw_sets WHERE name = 'ba few';
SELECT nw_alter_set('ba few', balance => 'none');
SELECT what, why FROM nw_todo() WHERE set = 'ba few';
SELECT nw_alter_set('ba uniform', balance => '{"rare": 0.5}');
SELECT what, why FROM nw_todo() WHERE set = 'ba few';

-- an index has no counts
CREATE INDEX ON ba_rows USING nw (embedding) INCLUDE (label);
SELECT engine, reason FROM nw_index_work('[1,1]', 'ba uniform');
SELECT nw_alter_set('ba uniform', balance => 'none');
SELECT engine, reason FROM nw_index_work('[1,1]', 'ba uniform');

-- nothing given keeps the balance
SELECT nw_register('ba given', tau => 3, replace => true), nw_alter_set('ba given', new_name => 'ba renamed');
SELECT balance, tau FROM nw_sets WHERE name = 'ba renamed';

-- what is no balance
SELECT nw_register('ba wrong', 'ba_rows', balance => 'even');
SELECT nw_register('ba wrong', 'ba_rows', balance => '[0.5]');
SELECT nw_register('ba wrong', 'ba_rows', balance => '{}');
SELECT nw_register('ba wrong', 'ba_rows', balance => '{"rare": "much"}');
SELECT nw_register('ba wrong', 'ba_rows', balance => '{"rare": 0}');
SELECT nw_register('ba wrong', 'ba_rows', balance => '{"rare": {"x": 1}}');
SELECT nw_register('ba wrong', 'ba_rows', balance => '{"rare": 0.7, "few": 0.4}');
SELECT nw_register('ba wrong', 'ba_rows', balance => '{"rare": 0.7');
SELECT nw_register('ba wrong', 'ba_rows', label => NULL, balance => 'uniform');
SELECT nw_register('ba plain', 'ba_rows', tau => 2, balance => 'uniform');
SELECT nw_register('ba thirds', 'ba_rows', balance => '{"rare": 0.1, "few": 0.2, "many": 0.7}');
SELECT nw_register('ba wrong', 'ba_rows', balance => '{"rare": 1e400}'), nw_register('ba wrong', 'ba_rows', balance => '{"rare": 1e-5000}');
-- weights that are too small or too much, and rows that change while they are read
UPDATE ba_rows SET weight = 5e-324;
SELECT label, probability::numeric(6,4) FROM nw_predict_proba('[1,1]', 'ba weighted') EXCEPT SELECT label, probability::numeric(6,4) FROM nw_predict_proba('[1,1]', 'ba plain');
UPDATE ba_rows SET weight = 1.5e308 WHERE id IN (10, 20);
SELECT nw_predict('[1,1]', 'ba weighted');
CREATE SEQUENCE ba_times;
CREATE VIEW ba_moving AS SELECT id, embedding, label || nextval('ba_times') AS label FROM ba_rows;
SELECT nw_register('ba moving', 'ba_moving', balance => 'uniform');
SELECT nw_predict('[1,1]', 'ba moving');

SELECT count(nw_unregister(name)) FROM nw_sets WHERE name LIKE 'ba%';
DROP VIEW ba_moving, ba_naive, ba_priors;
DROP FUNCTION ba_differences;
DROP SEQUENCE ba_times;
DROP TABLE ba_rows;
