-- nw_confusion and nw_reliability
\pset null '(null)'
CREATE TABLE c_rows (id int, embedding vector(1), label text);
INSERT INTO c_rows VALUES (1, '[0]', 'cat'), (2, '[1]', 'cat'), (3, '[10]', 'Dog'), (4, '[11]', 'Dog'), (5, '[20]', 'ä');
CREATE TABLE c_queries (id int, embedding vector(1), label text);
INSERT INTO c_queries VALUES
    (11, '[0]', 'cat'), (12, '[1]', 'cat'), (13, '[9]', 'cat'), (14, '[10]', 'Dog'), (15, '[5.5]', 'Dog'),
    (16, '[20]', 'ä'), (17, '[15.5]', 'eel'), (18, '[3]', NULL), (19, NULL, 'cat');
SELECT nw_register('c', 'c_rows', tau => 1);
SELECT nw_register('q', 'c_queries');

-- cells in byte order, only those that hold queries; unlabelled queries do not count
SELECT truth, predicted, n, round(mean_confidence::numeric, 6) AS mean_confidence FROM nw_confusion('c', 'q');
SELECT DISTINCT support_set, query_set, tau FROM nw_confusion('c', 'q');
-- the same from the predictions
SELECT count(*) FROM nw_confusion('c', 'q') AS c
  JOIN (SELECT truth, label, count(*) AS n, avg(confidence) AS confidence FROM nw_predict_set('c', 'q') WHERE truth IS NOT NULL GROUP BY truth, label) AS p
    ON p.truth = c.truth AND p.label = c.predicted AND p.n = c.n AND abs(p.confidence - c.mean_confidence) < 1e-12;

-- bins
SELECT bin, round(lower::numeric, 4) AS lower, round(upper::numeric, 4) AS upper, n,
       round(confidence::numeric, 6) AS confidence, accuracy, round(gap::numeric, 6) AS gap
  FROM nw_reliability('c', 'q', 5);
SELECT count(*), sum(n), min(lower), max(upper), bool_and(upper - lower BETWEEN 0.0666666 AND 0.0666667) FROM nw_reliability('c', 'q');
SELECT DISTINCT support_set, query_set, tau FROM nw_reliability('c', 'q');
SELECT bool_and(lower = (bin - 1) / 15.0::float8 AND upper = bin / 15.0::float8) AS borders FROM nw_reliability('c', 'q');
-- what nw_evaluate sums up
SELECT abs(sum(n * abs(gap)) / sum(n) - (SELECT ece FROM nw_evaluate('c', 'q'))) < 1e-12 AS ece,
       abs(max(abs(gap)) - (SELECT mce FROM nw_evaluate('c', 'q'))) < 1e-12 AS mce,
       abs(1 - sum(n * accuracy) / sum(n) - (SELECT error_rate FROM nw_evaluate('c', 'q'))) < 1e-12 AS error_rate
  FROM nw_reliability('c', 'q');

-- a confidence of 1 is in the last bin, one of 1/2 in the bin below the border
SELECT nw_set_tau('c', 1e-6);
SELECT bin, n FROM nw_reliability('c', 'q', 2);
TRUNCATE c_rows;
INSERT INTO c_rows VALUES (1, '[-1]', 'cat'), (2, '[1]', 'Dog');
UPDATE c_queries SET embedding = '[0]';
SELECT bin, n, confidence, accuracy FROM nw_reliability('c', 'q', 2);
SELECT truth, predicted, n FROM nw_confusion('c', 'q');

-- leaving out
SELECT truth, predicted, n FROM nw_confusion('c', 'c');
SELECT truth, predicted, n FROM nw_confusion('c', 'c', leave_one_out => false);
SELECT n, confidence, accuracy FROM nw_reliability('c', 'c', 1);
SELECT n, confidence, accuracy FROM nw_reliability('c', 'c', 1, leave_one_out => false);

-- nothing to count
DELETE FROM c_queries;
SELECT * FROM nw_confusion('c', 'q');
SELECT bin, lower, upper, n, confidence, accuracy, gap FROM nw_reliability('c', 'q', 2);

SELECT nw_unregister(name) FROM nw_sets \g /dev/null
DROP TABLE c_rows, c_queries;
