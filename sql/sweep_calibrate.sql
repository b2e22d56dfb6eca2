-- nw_temperature_sweep and nw_calibrate
\pset null '(null)'
CREATE TABLE t_rows AS
    SELECT i AS id, ARRAY[i * 37 % 23, i * 11 % 19, i * i % 17]::vector AS embedding, 'class ' || (i * 37 % 23) / 8 AS label FROM generate_series(1, 60) AS i;
UPDATE t_rows SET label = 'class 0' WHERE id % 9 = 0;
CREATE TABLE t_queries AS
    SELECT i AS id, ARRAY[i * 29 % 23, i * 7 % 19, i * i % 13]::vector AS embedding, 'class ' || (i * 29 % 23) / 8 AS label FROM generate_series(1, 40) AS i;
UPDATE t_queries SET label = 'class 1' WHERE id % 8 = 0;
INSERT INTO t_queries VALUES (41, '[1,1,1]', 'unseen'), (42, '[2,2,2]', NULL), (43, NULL, 'class 1');
SELECT nw_register('t', 't_rows');
SELECT nw_register('q', 't_queries');

-- 100 values from 0.5 to 3 unless told
SELECT count(*), min(tau), max(tau), bool_and(abs(tau - (0.5 + 2.5 * (n - 1) / 99)) < 1e-14) AS even
  FROM (SELECT tau, row_number() OVER () AS n FROM nw_temperature_sweep('t', 'q')) AS s;
SELECT tau, n, unseen, support_set, query_set FROM nw_temperature_sweep('t', 'q', 1, 3, 3);
SELECT tau FROM nw_temperature_sweep('t', 'q', 2, 2, 1);
SELECT tau FROM nw_temperature_sweep('t', 'q', 2, 5, 1);

-- the same as setting tau and evaluating
CREATE FUNCTION t_one_by_one(OUT tau float8, OUT nll float8, OUT ece float8, OUT error_rate float8, OUT unseen bigint)
    RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
    before float8 := (SELECT s.tau FROM nw_sets AS s WHERE name = 't');
BEGIN
    FOR step IN 0..4 LOOP
        tau := 0.25 + step * 0.75;
        PERFORM nw_set_tau('t', tau);
        SELECT e.nll, e.ece, e.error_rate, e.unseen INTO nll, ece, error_rate, unseen FROM nw_evaluate('t', 'q') AS e;
        RETURN NEXT;
    END LOOP;
    PERFORM nw_set_tau('t', before);
END
$$;
SELECT s.tau, abs(s.nll - o.nll) < 1e-12 AS nll, abs(s.ece - o.ece) < 1e-12 AS ece, abs(s.error_rate - o.error_rate) < 1e-12 AS error_rate,
       s.unseen = o.unseen AS unseen
  FROM nw_temperature_sweep('t', 'q', 0.25, 3.25, 5) AS s JOIN t_one_by_one() AS o USING (tau);
SELECT tau FROM nw_sets WHERE name = 't';

-- the best of an even grid, for tau alone
SELECT tau AS best FROM nw_temperature_sweep('t', 'q') ORDER BY nll LIMIT 1 \gset
SELECT support_set, query_set, tau = :best AS best, tau_before, temper, n, nll_after < nll_before AS better
  FROM nw_calibrate('t', 'q', 0.5, 3, fit => 'tau');
SELECT tau = :best AS stored FROM nw_sets WHERE name = 't';
-- never worse: no point of this grid is as good
SELECT tau = :best AS kept, nll_after = nll_before AS same, ece_after = ece_before AS too FROM nw_calibrate('t', 'q', 50, 60, 3, fit => 'tau');
SELECT version AS before FROM nw_registry WHERE name = 't' \gset
SELECT n FROM nw_calibrate('t', 'q', 50, 60, 3, fit => 'tau');
SELECT version = :before AS unchanged FROM nw_registry WHERE name = 't';

-- without a range: at least as good as any fine grid
SELECT nw_set_tau('t', 100);
SELECT tau, nll_after AS nll FROM nw_calibrate('t', 'q', fit => 'tau') \gset
SELECT min(nll) >= :nll - 1e-9 AS nothing_better, abs((array_agg(tau ORDER BY nll))[1] / :tau - 1) < 0.01 AS near
  FROM nw_temperature_sweep('t', 'q', :tau * 0.5, :tau * 2, 1501);
SELECT abs(nll - :nll) < 1e-12 AS nll FROM nw_evaluate('t', 'q');

-- without queries: each row from the others
SELECT nw_set_tau('t', 100);
SELECT support_set, query_set, n, tau_before FROM nw_calibrate('t', fit => 'tau');
SELECT tau AS own FROM nw_sets WHERE name = 't' \gset
SELECT nw_set_tau('t', 100);
SELECT tau = :own AS same FROM nw_calibrate('t', 't', fit => 'tau');
SELECT abs((array_agg(tau ORDER BY nll))[1] / :own - 1) < 0.01 AS near FROM nw_temperature_sweep('t', 't', :own * 0.5, :own * 2, 1501);
SELECT n, abs(nll_before - (SELECT nll FROM nw_evaluate('t', 't', leave_one_out => false))) < 1e-12 AS nll
  FROM nw_calibrate('t', 't', 1e-3, 1e-3, 1, leave_one_out => false);

-- rolled back, and seen by what follows in a statement
SELECT nw_set_tau('t', 100);
SELECT nw_alter_set('t', temper => 1);
BEGIN;
SELECT tau < 100 AS calibrated FROM nw_calibrate('t');
ROLLBACK;
SELECT tau, temper FROM nw_sets WHERE name = 't';

-- distilled sets: real rows leave themselves out, centroids need queries
SELECT nw_distill('t', 'few', 'closest', 10);
SELECT n, nll_after <= nll_before AS no_worse FROM nw_calibrate('few', 't');
SELECT n, nll_after <= nll_before AS no_worse FROM nw_calibrate('few');
SELECT nw_distill('t', 'means', k => 3);
SELECT n, nll_after <= nll_before AS no_worse FROM nw_calibrate('means', 'q');
SELECT n FROM nw_calibrate('means');

-- the newcomer's session: unit vectors, one call
CREATE TABLE t_unit AS SELECT id, l2_normalize(embedding) AS embedding, label FROM t_rows;
SELECT nw_register('unit', 't_unit');
SELECT tau < 0.2 AS small, nll_after < nll_before AS better FROM nw_calibrate('unit');

-- queries whose classes have no support: there is nothing to choose by
UPDATE t_queries SET label = 'unseen';
SELECT n, tau = tau_before AS kept, nll_before, nll_after FROM nw_calibrate('t', 'q');
SELECT tau, nll, error_rate, n, unseen FROM nw_temperature_sweep('t', 'q', 1, 1, 1);
DELETE FROM t_queries;
SELECT tau, nll, ece, error_rate, n, unseen FROM nw_temperature_sweep('t', 'q', 1, 1, 1);

SELECT nw_unregister(name) FROM nw_sets \g /dev/null
DROP FUNCTION t_one_by_one;
DROP TABLE t_rows, t_queries, t_unit;
