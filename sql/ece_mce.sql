-- nw_ece and nw_mce
\pset null '(null)'
\set ulp 1.1102230246251565e-16

-- nothing, or nothing that counts
SELECT nw_ece(c, k), nw_mce(c, k) FROM (VALUES (0.5, true)) AS v (c, k) WHERE false;
SELECT nw_ece(c, k), nw_mce(c, k) FROM (VALUES (NULL::float8, true), (0.5, NULL)) AS v (c, k);

-- by hand: bins of 15, (6/15, 7/15] holds 0.45 twice
SELECT nw_ece(c, k) AS ece, nw_mce(c, k) AS mce FROM (VALUES (0.45, true), (0.45, false), (0.95, true), (0.75, true)) AS v (c, k);
SELECT (2 * 0.05 + 0.05 + 0.25) / 4 AS ece, 0.25 AS mce;
-- rows without confidence or answer do not count
SELECT nw_ece(c, k) AS ece FROM (VALUES (0.45, true), (0.45, false), (0.95, true), (0.75, true), (NULL, true), (0.1, NULL)) AS v (c, k);

-- 0 belongs to the first bin, 1 and what rounding puts above it to the last
SELECT nw_ece(c, k) FROM (VALUES (0.0, false), (0.05, false)) AS v (c, k);
SELECT nw_ece(c, k) FROM (VALUES (1.0, true), (1 + 2 * :ulp, true), (0.95, true)) AS v (c, k);
SELECT nw_ece(c, k) FROM (VALUES (1.0::float8, false), (0.95, true)) AS v (c, k);
SELECT nw_ece(1 + 2 * :ulp::float8, true), nw_mce(1 + 2 * :ulp::float8, false);

-- a border belongs to the bin below it: beside the middle of that bin, errors cancel
SELECT count(*) FILTER (WHERE together) AS bin_below, count(*) FILTER (WHERE NOT together) AS bin_above
  FROM (SELECT abs(nw_ece(c, k) - abs(i / 15.0::float8 + (i - 0.5) / 15 - 1) / 2) < 1e-12 AS together
          FROM generate_series(1, 15) AS i,
               LATERAL (VALUES (i / 15.0::float8, false), ((i - 0.5) / 15, true)) AS v (c, k)
         GROUP BY i) AS s;
-- a last digit above, it belongs to the bin above
SELECT count(*) FILTER (WHERE together) AS bin_above, count(*) FILTER (WHERE NOT together) AS bin_below
  FROM (SELECT abs(nw_ece(c, k) - abs(i / 15.0::float8 + (i + 0.5) / 15 - 1) / 2) < 1e-12 AS together
          FROM generate_series(1, 14) AS i,
               LATERAL (VALUES (i / 15.0::float8 * (1 + 4 * :ulp), false), ((i + 0.5) / 15, true)) AS v (c, k)
         GROUP BY i) AS s;

-- bins
SELECT bins, nw_ece(c, k, bins) AS ece, nw_mce(c, k, bins) AS mce
  FROM (VALUES (0.25, true), (0.5, false), (0.75, true), (1.0, false)) AS v (c, k), unnest('{1,2,4,10000}'::int[]) AS bins
 GROUP BY bins ORDER BY bins;
SELECT nw_ece(c, k) = nw_ece(c, k, 15) AS fifteen FROM (VALUES (0.3, true), (0.8, false)) AS v (c, k);

-- groups, filters, windows
SELECT g, nw_ece(c, c > 0.5) FILTER (WHERE c < 1) AS ece
  FROM (SELECT i % 2 AS g, i / 8.0 AS c FROM generate_series(0, 8) AS i) AS s GROUP BY g ORDER BY g;
SELECT c, nw_mce(c, true) OVER (ORDER BY c DESC) FROM (VALUES (0.5), (0.25), (1)) AS v (c);

-- the same digits in parallel
CREATE TABLE ece_rows AS SELECT i, (i * 7919 % 10007) / 10007.0::float8 AS c, i % 3 > 0 AS k FROM generate_series(1, 20000) AS i;
ALTER TABLE ece_rows SET (parallel_workers = 2);
ANALYZE ece_rows;
SET max_parallel_workers_per_gather = 0;
SELECT nw_ece(c, k) AS ece, nw_mce(c, k, 10) AS mce FROM ece_rows \gset
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT nw_ece(c, k) AS ece, nw_mce(c, k, 10) AS mce FROM ece_rows;
SELECT nw_ece(c, k) = :ece AS ece, nw_mce(c, k, 10) = :mce AS mce FROM ece_rows;
SELECT nw_ece(c, k) IS NULL AS nothing FROM ece_rows WHERE i < 0;
RESET ALL;
SELECT nw_ece(c, k) = :ece AS ece, nw_mce(c, k, 10) = :mce AS mce FROM (SELECT * FROM ece_rows ORDER BY c DESC) AS s;
-- as the definition says
WITH bins AS (SELECT ceil(c * 15) AS bin, count(*) AS n, abs(avg(c) - avg(k::int)) AS gap FROM ece_rows GROUP BY 1)
SELECT abs(sum(n * gap) / sum(n) - :ece) < 1e-12 AS ece FROM bins;
DROP TABLE ece_rows;
