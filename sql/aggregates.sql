-- nw_vote and nw_argmax
\pset null '(null)'
CREATE TABLE ag_rows (id int, embedding vector(2), label text, part int);
INSERT INTO ag_rows SELECT i, ARRAY[i % 7, i % 5]::vector, chr(97 + i % 3), i % 2 FROM generate_series(1, 60) AS i;
SELECT nw_register('ag', 'ag_rows');
SELECT nw_register('ag half', 'ag_rows', tau => 0.5);

-- 1/2 against 1/4 + 1/8
SELECT round((nw_vote(label, d, 1 / ln(2)) -> 'x')::numeric, 12) = round(4 / 7.0, 12) AS right, nw_argmax(label, d, 1 / ln(2))
  FROM (VALUES ('x', 1), ('y', 2), ('y', 3)) AS v (label, d);
SELECT nw_vote(label, d), nw_argmax(label, d) FROM (VALUES ('y', 0), ('x', 0), ('é', 0), ('', 0)) AS v (label, d);

-- the digits of nw_predict_proba, for the same rows
SELECT q, nw_vote(label, embedding <-> q) = (SELECT jsonb_object_agg(label, probability) FROM nw_predict_proba(q, 'ag')) AS one,
       nw_vote(label, embedding <-> q, 0.5) = (SELECT jsonb_object_agg(label, probability) FROM nw_predict_proba(q, 'ag half')) AS half,
       nw_argmax(label, embedding <-> q, 0.5) = nw_predict(q, 'ag half') AS argmax
  FROM ag_rows, (VALUES ('[0,0]'::vector), ('[1,1]'), ('[3,2]'), ('[-5,9]')) AS v (q) GROUP BY q ORDER BY q;

-- with FILTER, WHERE, GROUP BY, JOIN, ORDER BY, windows and grouping sets
SELECT part, nw_argmax(label, embedding <-> '[0,0]'),
       (SELECT label FROM ag_rows AS i WHERE i.part = o.part GROUP BY label ORDER BY sum(exp(-(embedding <-> '[0,0]'))) DESC LIMIT 1) AS naive
  FROM ag_rows AS o GROUP BY part ORDER BY part;
SELECT nw_vote(label, embedding <-> '[0,0]') FILTER (WHERE label <> 'a') =
       (SELECT jsonb_object_agg(label, probability) FROM nw_predict_proba('[0,0]', 'ag', classes => '{b,c}')) AS same FROM ag_rows;
SELECT nw_vote(label, embedding <-> '[0,0]') =
       (SELECT jsonb_object_agg(label, probability) FROM nw_predict_proba('[0,0]', 'ag', exclude => '{3,4,5}')) AS same
  FROM ag_rows WHERE id NOT IN (3, 4, 5);
SELECT count(DISTINCT v) FROM (SELECT nw_vote(label, embedding <-> '[1,2]' ORDER BY id) AS v FROM ag_rows
    UNION ALL SELECT nw_vote(label, embedding <-> '[1,2]' ORDER BY id DESC) FROM ag_rows
    UNION ALL SELECT nw_vote(label, embedding <-> '[1,2]' ORDER BY random()) FROM ag_rows) AS v;
SELECT id, nw_argmax(label, id) OVER (ORDER BY id) , nw_argmax(label, -id) OVER (ORDER BY id ROWS 1 PRECEDING)
  FROM ag_rows WHERE id <= 4;
SELECT part, nw_argmax(label, embedding <-> '[0,0]') FROM ag_rows GROUP BY ROLLUP (part) ORDER BY part;
SELECT nw_argmax(DISTINCT label, embedding <-> '[0,0]') FROM ag_rows;

-- no rows, NULLs
SELECT nw_vote(label, 1), nw_argmax(label, 1) FROM ag_rows WHERE false;
SELECT nw_vote(label, d), nw_argmax(label, d) FROM (VALUES ('a', NULL), (NULL, 1)) AS v (label, d);
SELECT nw_vote(label, d) FROM (VALUES ('a', NULL), (NULL, 1), ('b', 3.0)) AS v (label, d);

-- far classes keep their probability; any tau; negative distances
SELECT nw_vote(label, d, 1e-3) FROM (VALUES ('a', 0), ('b', 1e6)) AS v (label, d);
SELECT (v -> 'b')::float8 BETWEEN 1e-87 AND 1e-86 AS small FROM (SELECT nw_vote(label, d) AS v FROM (VALUES ('a', 0), ('b', 200)) AS v (label, d)) AS v;
SELECT nw_argmax(label, d, 0.1) FROM (VALUES ('a', -3), ('b', -4)) AS v (label, d);

-- votes so far away that an exponent has no room for their number
SELECT d, (v -> 'a')::numeric(6,4) AS a, (v -> 'b')::numeric(6,4) AS b, most FROM (SELECT d, nw_vote(label, d) AS v, nw_argmax(label, d) AS most FROM (VALUES ('a'), ('b'), ('b')) AS r (label), unnest(ARRAY[1e3, 1e16, 1e17, 1e30, 1e140]::float8[]) AS d GROUP BY d) AS v ORDER BY d;

-- bad input
SELECT nw_vote('a', 'NaN'::float8);
SELECT nw_vote('a', 'Infinity'::float8);
SELECT nw_vote('a', 1, 0);
SELECT nw_vote('a', 1, -1);
SELECT nw_argmax('a', 1, 'NaN');
SELECT nw_argmax('a', 1, 'Infinity');
SELECT nw_argmax('a', 1, NULL);

SELECT nw_unregister(name) FROM nw_sets;
DROP TABLE ag_rows;
