-- nw_calibrate: tau and temper together, at no cost in errors
\pset null '(null)'
SET client_min_messages = warning;
-- classes that overlap, of unequal size, one of a single row
CREATE TABLE c_rows AS
    SELECT i AS id, ARRAY[i * 37 % 23, i * 11 % 19, i * i % 17, i * 5 % 13]::vector AS embedding, 'class ' || ((i * 37 % 23) / 6) AS label,
           1 + i % 3 AS weight FROM generate_series(1, 150) AS i;
UPDATE c_rows SET label = 'class 0' WHERE id % 7 = 0;
INSERT INTO c_rows VALUES (1000, '[5,5,5,5]', 'single', 1);
ALTER TABLE c_rows ADD PRIMARY KEY (id);
SELECT nw_register('c', 'c_rows', tau => 3);

-- what comes back is what the set has, and what nw_evaluate says before and after
CREATE TABLE c_before AS SELECT * FROM nw_evaluate('c', 'c');
CREATE TABLE c_found AS SELECT * FROM nw_calibrate('c');
CREATE TABLE c_after AS SELECT * FROM nw_evaluate('c', 'c');
SELECT f.support_set, f.query_set, f.tau_before, f.temper_before, f.n, f.tau = s.tau AS tau, f.temper = s.temper AS temper
  FROM c_found AS f, nw_sets AS s WHERE s.name = 'c';
SELECT f.error_before = b.error_rate AS error_before, f.error_after = a.error_rate AS error_after,
       abs(f.nll_before - b.nll) < 1e-12 AS nll_before, abs(f.nll_after - a.nll) < 1e-12 AS nll_after,
       abs(f.ece_before - b.ece) < 1e-12 AS ece_before, abs(f.ece_after - a.ece) < 1e-12 AS ece_after,
       f.nll_after < f.nll_before AS better, f.error_after <= f.error_before AS no_more_errors
  FROM c_found AS f, c_before AS b, c_after AS a;

-- no tau of a fine grid that has as few errors does better, each with its own best temper
CREATE FUNCTION c_best(low float8, high float8, steps int, errors float8) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    least float8 := 'infinity';
    found record;
BEGIN
    FOR i IN 0..steps LOOP
        PERFORM nw_alter_set('c', tau => low * (high / low) ^ (i::float8 / steps), temper => 1);
        SELECT * INTO found FROM nw_calibrate('c', fit => 'temper');
        IF found.error_after <= errors THEN
            least := least(least, found.nll_after);
        END IF;
    END LOOP;
    RETURN least;
END
$$;
SELECT abs(nll_after - c_best(0.1, 30, 120, error_before)) < 2e-3 AS least FROM c_found;

-- temper alone: no label changes, and the figures of a set that is tempered by hand are worse
SELECT nw_alter_set('c', tau => 3, temper => 1);
SELECT tau, error_after = error_before AS labels, nll_after < nll_before AS better, temper AS t, nll_after AS least FROM nw_calibrate('c', fit => 'temper') \gset
SELECT :tau AS tau, :'labels' AS labels, :'better' AS better;
SELECT nw_alter_set('c', temper => :t * 1.02);
SELECT nll > :least AS worse FROM nw_evaluate('c', 'c');
SELECT nw_alter_set('c', temper => :t / 1.02);
SELECT nll > :least AS worse FROM nw_evaluate('c', 'c');

-- tau alone, as in the paper: temper becomes 1; the NOTICE tells what it costs
SET client_min_messages = notice;
SELECT nw_alter_set('c', tau => 3, temper => 1);
SELECT error_after <= error_before AS no_more_errors FROM nw_calibrate('c');
SELECT temper, temper_before < 1 AS tempered_before, error_after > error_before AS more_errors, nll_after > nll_before AS worse FROM nw_calibrate('c', fit => 'tau');
SELECT nw_alter_set('c', tau => 3, temper => 1);
SELECT tau BETWEEN 2 AND 4 AS within, error_after <= error_before AS no_more_errors FROM nw_calibrate('c', low => 2, high => 4, steps => 9);
SET client_min_messages = warning;

-- the order of rows does not matter, nor do weights that are all the same
SELECT nw_alter_set('c', tau => 3, temper => 1);
CREATE TABLE c_shuffled AS SELECT * FROM c_rows ORDER BY md5(id::text);
ALTER TABLE c_shuffled ADD PRIMARY KEY (id);
ALTER TABLE c_shuffled ADD one float8 DEFAULT 1;
SELECT nw_register('shuffled', 'c_shuffled', tau => 3), nw_register('weighted', 'c_shuffled', tau => 3, weight => 'one');
SELECT (f.tau, f.temper, f.nll_before, f.nll_after, f.ece_after) = (s.tau, s.temper, s.nll_before, s.nll_after, s.ece_after) AS same_bits,
       abs(w.nll_after - f.nll_after) < 1e-9 AS same
  FROM c_found AS f, nw_calibrate('shuffled') AS s, nw_calibrate('weighted') AS w;

-- weighted and balanced sets
SELECT nw_register('heavy', 'c_rows', tau => 3, weight => 'weight'), nw_register('even', 'c_rows', tau => 3, balance => 'uniform');
CREATE TABLE c_weighted AS SELECT * FROM nw_calibrate('heavy') UNION ALL SELECT * FROM nw_calibrate('even');
SELECT f.support_set, abs(f.nll_after - e.nll) < 1e-12 AS nll, f.error_after = e.error_rate AS error, f.error_after <= f.error_before AS no_more_errors
  FROM c_weighted AS f, LATERAL nw_evaluate(f.support_set, f.support_set) AS e;

-- rows that are there twice, under two labels: ties are resolved as predictions do
CREATE TABLE c_twice AS SELECT id, embedding, label FROM c_rows UNION ALL SELECT id + 5000, embedding, 'twin' FROM c_rows WHERE id % 3 = 0;
ALTER TABLE c_twice ADD PRIMARY KEY (id);
SELECT nw_register('twice', 'c_twice', tau => 1);
CREATE TABLE c_ties AS SELECT * FROM nw_calibrate('twice');
SELECT f.error_after = e.error_rate AS error, abs(f.nll_after - e.nll) < 1e-9 AS nll, f.error_after <= f.error_before AS no_more_errors
  FROM c_ties AS f, LATERAL nw_evaluate('twice', 'twice') AS e;

-- every query right: a coin toss of doubt over all of them, however sure the set was
SET client_min_messages = notice;
CREATE TABLE c_apart AS SELECT i AS id, ARRAY[i % 2 * 100 + i % 7, i % 5]::vector AS embedding, 'side ' || i % 2 AS label FROM generate_series(1, 60) AS i;
ALTER TABLE c_apart ADD PRIMARY KEY (id);
SELECT nw_register('apart', 'c_apart', tau => 20);
SELECT tau, n, error_before, error_after, abs(nll_after - ln(2) / n) < 1e-9 AS a_coin_toss FROM nw_calibrate('apart');
SELECT nw_alter_set('apart', temper => 0.01);
SELECT tau, abs(nll_after - ln(2) / n) < 1e-9 AS a_coin_toss, nll_after > nll_before AS less_sure FROM nw_calibrate('apart');
SELECT temper, nll_after <= ln(2) / n AS no_less_sure, nll_after > 0 AS not_certain FROM nw_calibrate('apart', fit => 'tau');
SET client_min_messages = warning;

-- distilled sets get both, or inherit both
SELECT nw_distill('c', 'few', k => 3) AS prototypes;
SELECT nw_alter_set('c', temper => 0.4);
SELECT nw_distill('c', 'alike', k => 3, calibrate => false) AS prototypes;
SELECT name, temper <> 1 AS tempered, tau = 3 AS of_parent, temper = 0.4 AS temper_of_parent FROM nw_sets WHERE mode <> 'full' ORDER BY name;

-- one prototype for each class: tau and temper do the same, and tau stays
SELECT nw_alter_set('c', tau => 3, temper => 1);
SELECT nw_distill('c', 'means', k => 1) AS prototypes;
SELECT tau, temper <> 1 AS tempered FROM nw_sets WHERE name = 'means';

-- what is refused
SELECT nw_calibrate('c', fit => 'everything');
SELECT nw_calibrate('c', fit => NULL);
SELECT nw_calibrate('c', low => 1, high => 2, fit => 'temper');

RESET client_min_messages;
SELECT nw_unregister(name) FROM nw_sets ORDER BY mode = 'full' \g /dev/null
DROP FUNCTION c_best;
DROP TABLE c_rows, c_before, c_found, c_after, c_shuffled, c_weighted, c_twice, c_ties, c_apart;
