-- queries that are rows of the support, too: partitions, views, children, copies
SET jit = off;
CREATE SCHEMA shared_rows;
SET search_path = shared_rows, public;
CREATE TABLE tickets (id int NOT NULL, month int NOT NULL, kind text, embedding vector(2))
	PARTITION BY LIST (month);
CREATE TABLE tickets_1 PARTITION OF tickets FOR VALUES IN (1);
CREATE TABLE tickets_2 PARTITION OF tickets FOR VALUES IN (2);

-- neighbours differ in kind as often as not, so honest answers are often wrong
INSERT INTO tickets
SELECT i, 1 + i % 2, CASE WHEN i * 7 % 5 < 2 THEN 'red' ELSE 'blue' END,
	   format('[%s,%s]', i * 13 % 17, i * 29 % 23)::vector
  FROM generate_series(1, 60) AS i;

-- the honest error of the rows of one month, each without itself
CREATE FUNCTION honest(of_month int) RETURNS float8 LANGUAGE sql AS $$
	SELECT avg((best <> kind)::int)
	  FROM (SELECT q.kind,
				   (SELECT s.kind FROM tickets AS s WHERE s.id <> q.id
					 GROUP BY s.kind ORDER BY sum(exp(-(s.embedding <-> q.embedding))) DESC LIMIT 1) AS best
			  FROM tickets AS q WHERE q.month = of_month OR of_month = 0) AS judged
$$;
CREATE FUNCTION agrees(support text, queries text, of_month int, loo boolean DEFAULT NULL)
RETURNS boolean LANGUAGE sql AS
	'SELECT abs(error_rate - honest(of_month)) < 1e-9 FROM nw_evaluate(support, queries, leave_one_out => loo)';
SELECT honest(0) > 0.1 AS wrong_at_times, honest(1) > 0.1 AS in_1, honest(2) > 0.1 AS in_2;

SELECT nw_register('tickets', 'tickets', label => 'kind');
SELECT nw_register('january', 'tickets_1', label => 'kind');

-- a partition
SELECT agrees('tickets', 'january', 1), agrees('tickets', 'january', 1, true);
SELECT error_rate FROM nw_evaluate('tickets', 'january', leave_one_out => false);

-- the other way round: rows of other partitions have nothing to leave out
SELECT n, error_rate > 0 AS wrong_at_times FROM nw_evaluate('january', 'tickets');

-- views that show rows: by other names, through joins, subqueries and other views
CREATE VIEW renamed AS SELECT embedding AS e, id AS ticket, kind FROM tickets WHERE month = 2;
SELECT nw_register('renamed', 'renamed', embedding => 'e', label => 'kind', id => 'ticket');
SELECT agrees('tickets', 'renamed', 2);
CREATE TABLE months (month int PRIMARY KEY, name text);
INSERT INTO months VALUES (1, 'january'), (2, 'february');
CREATE VIEW deep AS
	SELECT r.* FROM (SELECT t.id, t.kind, t.embedding, month, name FROM tickets t JOIN months m USING (month)) AS r
	 WHERE r.name = 'january' LIMIT 1000;
CREATE VIEW deeper AS SELECT id, kind, embedding FROM deep;
SELECT nw_register('deeper', 'deeper', label => 'kind');
SELECT agrees('tickets', 'deeper', 1);
CREATE MATERIALIZED VIEW stored AS SELECT * FROM tickets WHERE month = 1;
SELECT nw_register('stored', 'stored', label => 'kind');
SELECT agrees('tickets', 'stored', 1);

-- a view as the support
CREATE VIEW all_tickets AS SELECT id, kind, embedding FROM tickets;
SELECT nw_register('all_tickets', 'all_tickets', label => 'kind');
SELECT agrees('all_tickets', 'january', 1), agrees('all_tickets', 'tickets', 0);

-- a view whose ids are made up is no view of rows: its rows are found by a sample
CREATE VIEW casts AS SELECT id::text AS id, kind, embedding FROM tickets WHERE month = 1;
SELECT nw_register('casts', 'casts', label => 'kind');
SELECT error_rate FROM nw_evaluate('tickets', 'casts');
SELECT agrees('tickets', 'casts', 1, true);
SELECT error_rate FROM nw_evaluate('tickets', 'casts', leave_one_out => false);
CREATE VIEW shifted AS SELECT id + 100 AS id, kind, embedding FROM tickets WHERE month = 1;
SELECT nw_register('shifted', 'shifted', label => 'kind');
SELECT error_rate FROM nw_evaluate('tickets', 'shifted');
SELECT error_rate FROM nw_evaluate('tickets', 'shifted', leave_one_out => true);
CREATE VIEW crossed AS
	SELECT a.id, a.kind, b.embedding FROM tickets a JOIN tickets b ON b.id = a.id % 60 + 1;
SELECT nw_register('crossed', 'crossed', label => 'kind');
SELECT n FROM nw_evaluate('tickets', 'crossed');
SELECT n FROM nw_evaluate('tickets', 'crossed', leave_one_out => true);
CREATE VIEW both_months AS
	SELECT id, kind, embedding FROM tickets_1 UNION ALL SELECT id, kind, embedding FROM tickets_2;
SELECT nw_register('both_months', 'both_months', label => 'kind');
SELECT agrees('tickets', 'both_months', 0, true);
SELECT count(*) FROM nw_predict_set('tickets', 'both_months');

-- a copy of the rows
CREATE TABLE copy AS SELECT * FROM tickets;
SELECT nw_register('copy', 'copy', label => 'kind');
SELECT error_rate FROM nw_evaluate('tickets', 'copy');
SELECT agrees('tickets', 'copy', 0, true);

-- copies that went through half precision, behind other rows
CREATE TABLE halves (id int PRIMARY KEY, kind text, embedding vector(2));
INSERT INTO halves SELECT i, 'x', ARRAY[i + 0.1, -i]::vector FROM generate_series(100001, 100400) AS i;
CREATE TABLE thirds (id int PRIMARY KEY, kind text, embedding vector(2));
INSERT INTO thirds SELECT i, CASE WHEN i % 3 = 0 THEN 'a' ELSE 'b' END, ARRAY[i / 3.0, -i / 7.0]::vector FROM generate_series(1, 200) AS i;
INSERT INTO halves SELECT id, kind, embedding::halfvec::vector FROM thirds;
SELECT nw_register('halves', 'halves', label => 'kind'), nw_register('thirds', 'thirds', label => 'kind', tau => 0.01);
SELECT n, error_rate < 0.7 AS flattering FROM nw_evaluate('thirds', 'halves');
SELECT n, error_rate > 0.7 AS honest FROM nw_evaluate('thirds', 'halves', leave_one_out => true);
DELETE FROM halves WHERE id > 1000;
SELECT n, error_rate FROM nw_evaluate('thirds', 'halves');
SELECT n, error_rate > 0.5 AS honest FROM nw_evaluate('thirds', 'halves', leave_one_out => true);
SELECT nw_unregister('halves'), nw_unregister('thirds');
DROP TABLE halves, thirds;

-- the same ids of other rows: nothing is left out
CREATE TABLE others AS SELECT id, kind, ('[' || id || ',99]')::vector(2) AS embedding FROM tickets;
SELECT nw_register('others', 'others', label => 'kind');
SELECT n FROM nw_evaluate('tickets', 'others');
SELECT n FROM nw_evaluate('tickets', 'others', leave_one_out => true);

-- tables that inherit
CREATE TABLE parent (id int PRIMARY KEY, kind text, embedding vector(2));
CREATE TABLE child () INHERITS (parent);
INSERT INTO parent SELECT id, kind, embedding FROM tickets WHERE month = 2;
INSERT INTO child SELECT id, kind, embedding FROM tickets WHERE month = 1;
SELECT nw_register('parent', 'parent', label => 'kind'), nw_register('child', 'child', label => 'kind');
SELECT agrees('parent', 'child', 1), agrees('parent', 'parent', 0);

-- rows of one table that different columns name
ALTER TABLE child ADD COLUMN code int;
UPDATE child SET code = id + 1000;
SELECT nw_register('coded', 'child', label => 'kind', id => 'code');
SELECT n FROM nw_evaluate('parent', 'coded');
SELECT n FROM nw_evaluate('parent', 'coded', leave_one_out => false);

-- all functions of whole sets agree
SELECT count(*), abs(avg((truth <> label)::int) - honest(1)) < 1e-9 AS honest
  FROM nw_predict_set('tickets', 'january');
SELECT abs(sum(n) FILTER (WHERE truth <> predicted) / sum(n) - honest(1)) < 1e-9 AS honest
  FROM nw_confusion('tickets', 'january');
SELECT abs(1 - sum(n * accuracy) / sum(n) - honest(1)) < 1e-9 AS honest
  FROM nw_reliability('tickets', 'january');
SELECT abs(error_rate - honest(1)) < 1e-9 AS honest
  FROM nw_temperature_sweep('tickets', 'january', 1, 1, 1);
SELECT nw_diagnose('tickets', 'january', top => 3);
SELECT count(*) FROM nw_helpful_supports WHERE support_id = query_id;
SELECT nll_before > 0.1 AS honest FROM nw_calibrate('tickets', 'january');
SELECT nw_set_tau('tickets', 1);

-- distilled sets of such rows
SELECT nw_distill('tickets', 'few', mode => 'random', k => 25, calibrate => false);
SELECT error_rate > 0 AS honest FROM nw_evaluate('few', 'january');
SELECT error_rate > 0 AS honest FROM nw_evaluate('few', 'january', leave_one_out => false);
SELECT abs(e.error_rate - (
	SELECT avg((best <> kind)::int)
	  FROM (SELECT q.kind,
				   (SELECT p.label FROM nw_prototypes AS p WHERE p.set = 'few' AND p.source_id <> q.id::text
					 GROUP BY p.label ORDER BY sum(p.weight * exp(-(p.embedding <-> q.embedding))) DESC LIMIT 1) AS best
			  FROM tickets_1 AS q) AS judged)) < 1e-9 AS by_hand
  FROM nw_evaluate('few', 'january') AS e;
SELECT nw_distill('tickets', 'centres', mode => 'cluster', k => 2, calibrate => false);
SELECT n FROM nw_evaluate('centres', 'january');
SELECT n FROM nw_evaluate('centres', 'january', leave_one_out => true);

-- a caller who may not read the ids is warned by the vectors alone
CREATE ROLE regress_nw_reader;
GRANT USAGE ON SCHEMA shared_rows TO regress_nw_reader;
GRANT SELECT (kind, embedding) ON tickets TO regress_nw_reader;
GRANT SELECT ON casts, shifted, others TO regress_nw_reader;
SET ROLE regress_nw_reader;
SELECT error_rate FROM nw_evaluate('tickets', 'casts');
SELECT n FROM nw_evaluate('tickets', 'others');
RESET ROLE;
DROP OWNED BY regress_nw_reader;
DROP ROLE regress_nw_reader;
SELECT count(nw_unregister(name)) FROM nw_sets WHERE relation LIKE 'shared_rows.%';
SET client_min_messages = warning;
DROP SCHEMA shared_rows CASCADE;
