--
-- The files that bench/flowers ends with, out of the tables "result" and "reliability":
-- results.csv, curves.csv and reliability.csv in the folder at hand, Markdown to stdout.
--
SET client_min_messages = warning;

CREATE VIEW run AS
	SELECT split_part(name, '_', 1) AS head, split_part(name, '_', 2) AS loss, split_part(name, '_', 3) AS seed, *
	FROM result;

\copy (SELECT head, loss, seed, mode, k, fitted, tau, temper, n, error, ece, gap, nll, brier, label_match FROM run ORDER BY 1, 2, 3, 4, 5, 6) TO results.csv CSV HEADER
\copy (SELECT split_part(name, '_', 1) AS head, split_part(name, '_', 2) AS loss, split_part(name, '_', 3) AS seed, mode, k, bin, lower, upper, n, confidence, accuracy FROM reliability ORDER BY 1, 2, 3, 4, 5, 6) TO reliability.csv CSV HEADER
\copy (SELECT head, loss, mode, k, fitted, count(*) AS seeds, avg(error) AS error, stddev_samp(error) AS error_sd, avg(ece) AS ece, stddev_samp(ece) AS ece_sd, avg(nll) AS nll, stddev_samp(nll) AS nll_sd FROM run WHERE mode IN ('fc', 'full', 'random', 'cluster', 'closest') AND head ~ '^r?(nw[124]|fc)$' GROUP BY head, loss, mode, k, fitted ORDER BY 1, 2, 3, 4, 5) TO curves.csv CSV HEADER

-- A mean and its standard deviation, as tables show them.
CREATE FUNCTION shown(float8[]) RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(to_char(avg(v), 'FM999990.000') ||
		coalesce(' ± ' || to_char(stddev_samp(v), 'FM999990.000'), ''), '') FROM unnest($1) AS v $$;

-- What a table calls a head and a support.
CREATE FUNCTION called(head text, loss text, mode text, k int) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN head LIKE '%fc' THEN 'FC' ELSE 'NW' END ||
		CASE mode WHEN 'fc' THEN '' WHEN 'features' THEN ' features as supports' WHEN 'full' THEN ' full'
			ELSE format(' %s, k = %s', mode, k) END ||
		CASE WHEN head ~ 'nw[14]$' THEN format(', %s a class in training', right(head, 1)) ELSE '' END ||
		CASE loss WHEN 'smooth' THEN ', label smoothing' WHEN 'slow' THEN ', rate 0.02' ELSE '' END $$;

CREATE VIEW summary AS
	SELECT head, loss, mode, k, fitted, called(head, loss, mode, k) AS what, count(*) AS seeds,
		shown(array_agg(error)) AS error, shown(array_agg(ece)) AS ece, shown(array_agg(gap)) AS gap,
		shown(array_agg(nll)) AS nll, shown(array_agg(tau)) AS tau, shown(array_agg(temper)) AS temper,
		shown(array_agg(label_match)) AS label_match
	FROM run GROUP BY head, loss, mode, k, fitted;

-- One row for each support: as trained, then with tau fitted, then with both temperatures.
CREATE FUNCTION compared(heads text, losses text, modes text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT E'| | error | training error | ECE | gap | NLL | tau fitted | error | ECE | NLL | both fitted: tau | temper | error | ECE | NLL |\n'
		'|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|'
	UNION ALL
	(SELECT format('| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |', n.what, n.error,
			CASE WHEN n.mode IN ('full', 'fc') THEN t.error ELSE '' END, n.ece, n.gap, n.nll,
			f.tau, f.error, f.ece, f.nll, b.tau, b.temper, b.error, b.ece, b.nll)
	FROM summary AS n
	JOIN summary AS f USING (head, loss, mode, k)
	JOIN summary AS b USING (head, loss, mode, k)
	LEFT JOIN summary AS t ON t.head = n.head AND t.loss = n.loss AND t.mode = 'training' AND t.fitted = 'no'
	WHERE n.fitted = 'no' AND f.fitted = 'tau' AND b.fitted = 'both' AND n.head ~ heads AND n.loss ~ losses AND n.mode ~ modes
	ORDER BY n.head LIKE '%nw%', n.loss, n.head, array_position('{fc,full,cluster,closest,random,features}', n.mode), n.k) $$;

\pset format unaligned
\pset tuples_only on
\qecho
\qecho '### Heads'
\qecho
SELECT * FROM compared('^(fc|nw.)$', '^(plain|smooth|slow)$', '^(fc|full)$');
\qecho
\qecho '### Supports'
\qecho
SELECT * FROM compared('^nw2$', '^plain$', '^(full|cluster|closest|random)$');
\qecho
\qecho '### Supports, label smoothing'
\qecho
SELECT * FROM compared('^nw2$', '^smooth$', '^(full|cluster|closest|random)$');
\qecho
\qecho '### Supports, by the number of a class in training'
\qecho
SELECT * FROM compared('^nw[14]$', '^plain$', '^(full|cluster)$');
\qecho
\qecho '### The residual network'
\qecho
SELECT * FROM compared('^r(nw2|fc)$', '^plain$', '^(fc|full|cluster)$');
\qecho
\qecho '### Label match'
\qecho
SELECT E'| | label match |\n|---|---|';
SELECT format('| %s | %s |', what || CASE WHEN head LIKE 'r%' THEN ' (resnet18-small)' ELSE '' END, label_match)
	FROM summary WHERE mode IN ('full', 'features') AND fitted = 'no' AND head ~ '^r?(nw[124]|fc)$'
		AND loss IN ('plain', 'smooth') ORDER BY head LIKE 'r%', head, loss;
\qecho
\qecho '### A quarter of the classes'
\qecho
SELECT E'| supports a class in training | error | ECE | gap | NLL | both fitted: tau | temper | error | ECE | NLL |\n'
	'|---|---|---|---|---|---|---|---|---|---|';
SELECT format('| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |', right(n.head, 1), n.error, n.ece, n.gap, n.nll,
		b.tau, b.temper, b.error, b.ece, b.nll)
	FROM summary AS n JOIN summary AS b USING (head, loss, mode, k)
	WHERE n.head ~ '^quarter' AND n.mode = 'full' AND n.fitted = 'no' AND b.fitted = 'both' ORDER BY n.head;
\qecho
\qecho '### N_b and N_s'
\qecho
SELECT E'| N_b | N_s | rate | validation error | error | ECE | NLL | error, both fitted | ECE | NLL |\n|---|---|---|---|---|---|---|---|---|---|';
SELECT format('| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |', split_part(split_part(n.loss, 'lr', 1), 'x', 1),
		split_part(split_part(n.loss, 'lr', 1), 'x', 2), '0.' || split_part(n.loss, 'lr', 2), v.error, n.error, n.ece, n.nll,
		b.error, b.ece, b.nll)
	FROM summary AS n
	JOIN summary AS b USING (head, loss, mode, k)
	JOIN summary AS v ON v.head = n.head AND v.loss = n.loss AND v.mode = 'validation'
	WHERE n.head = 'batch' AND n.mode = 'full' AND n.fitted = 'no' AND b.fitted = 'both'
	ORDER BY split_part(n.loss, 'x', 1)::int, n.loss;
\qecho
\qecho '### Settings, by the validation images'
\qecho
SELECT E'| head | setting | error | ECE | NLL |\n|---|---|---|---|---|';
SELECT format('| %s | %s | %s | %s | %s |', CASE WHEN head = 'fc' THEN 'FC' ELSE 'NW' END,
		CASE WHEN loss = 'dim0' THEN 'features as they are, rate 0.05' ELSE '128 dimensions, rate 0.' || substr(loss, 3) END,
		error, ece, nll)
	FROM summary WHERE mode = 'validation' AND loss ~ '^(lr|dim)' AND head IN ('fc', 'nw2') ORDER BY head DESC, loss;
