-- nw_suspects
\pset null '(null)'
CREATE TABLE s_rows (id text, embedding vector(1), label text);
INSERT INTO s_rows VALUES
    ('1', '[0]', 'a'), ('2', '[1]', 'a'), ('3', '[2]', 'a'), ('4', '[10]', 'b'), ('5', '[11]', 'b'), ('6', '[12]', 'b'),
    ('wrong', '[1.5]', 'b'), ('single', '[30]', 'c'), ('none', NULL, 'a'), ('unlabelled', '[3]', NULL);
SELECT nw_register('s', 's_rows', tau => 2);

-- most suspect first; the only row of a class tells nothing
SELECT support_id, label, suggested_label, round(probability::numeric, 6) AS probability, round(log_margin::numeric, 6) AS log_margin,
       round(margin::numeric, 6) AS margin, support_set, tau
  FROM nw_suspects('s');
-- by the definition, from nw_predict_proba without the row
SELECT count(*) AS equal FROM nw_suspects('s') AS s JOIN s_rows AS r ON r.id = s.support_id,
       LATERAL (SELECT max(probability) FILTER (WHERE label = s.label) AS own, max(probability) FILTER (WHERE label <> s.label) AS other
                  FROM nw_predict_proba(r.embedding, 's', exclude => ARRAY[r.id])) AS p
 WHERE s.probability = p.own AND s.margin = p.own - p.other AND abs(s.log_margin - (ln(p.own) - ln(p.other))) < 1e-12;

-- top
SELECT support_id FROM nw_suspects('s', 2);
SELECT count(*) FROM nw_suspects('s', NULL);
SELECT count(*) FROM nw_suspects('s', 1000);

-- a far class does not underflow: the margin stays a number
SELECT nw_set_tau('s', 1e-3);
SELECT support_id, probability = 0 AS nothing_left, round(log_margin::numeric, 3) AS log_margin FROM nw_suspects('s', 1);

-- equals by id
TRUNCATE s_rows;
INSERT INTO s_rows VALUES ('b', '[0]', 'x'), ('B', '[0]', 'x'), ('10', '[1]', 'y'), ('9', '[1]', 'y');
SELECT support_id, suggested_label FROM nw_suspects('s');

-- sets that tell nothing
DELETE FROM s_rows WHERE label = 'y';
SELECT * FROM nw_suspects('s');
DELETE FROM s_rows WHERE id = 'b';
SELECT * FROM nw_suspects('s');
INSERT INTO s_rows VALUES ('c', '[3]', 'z');
SELECT * FROM nw_suspects('s');

-- distilled sets
INSERT INTO s_rows SELECT i::text, ARRAY[i % 3]::vector, 'l' || i % 2 FROM generate_series(1, 20) AS i;
SELECT nw_distill('s', 'few', 'closest', 3, calibrate => false);
SELECT count(*), count(support_id) FROM nw_suspects('few');
SELECT nw_distill('s', 'means', 'cluster', 3, calibrate => false);
SELECT count(*) > 0 AS some, count(support_id) FROM nw_suspects('means');

SELECT nw_unregister(name) FROM nw_sets \g /dev/null
DROP TABLE s_rows;
