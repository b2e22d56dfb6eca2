-- nw_shapley
\pset null '(null)'
CREATE TABLE sh_rows (id text PRIMARY KEY, embedding vector(2), label text);
CREATE TABLE sh_queries (id int PRIMARY KEY, embedding vector(2), label text);
-- 3 and 4 are equally far from the first query; 5 and 6 are copies of one vector
INSERT INTO sh_rows VALUES
    ('1', '[0,0]', 'a'), ('2', '[1,0]', 'a'), ('3', '[0,2]', 'a'), ('4', '[2,0]', 'b'),
    ('5', '[3,3]', 'b'), ('6', '[3,3]', 'a'), ('7', '[4,3]', 'b'), ('none', NULL, 'a'), ('unlabelled', '[3,0]', NULL);
INSERT INTO sh_queries VALUES (11, '[0,0]', 'a'), (12, '[3,2]', 'b'), (13, '[1,1]', 'a'), (14, '[5,5]', 'unseen'), (15, '[2,2]', NULL);
SELECT nw_register('sh', 'sh_rows');
SELECT nw_register('shq', 'sh_queries');

-- by the definition: what a support adds to the votes of any others, over all sets of these
CREATE FUNCTION sh_by_definition(k int) RETURNS TABLE (support_id text, value float8) LANGUAGE sql AS $$
    WITH supports AS (SELECT *, row_number() OVER (ORDER BY id) - 1 AS bit FROM sh_rows WHERE embedding IS NOT NULL AND label IS NOT NULL),
    size AS (SELECT count(*)::int AS n FROM supports),
    sets AS (SELECT s, length(replace(s::bit(7)::text, '0', '')) AS members FROM size, generate_series(0, (1 << n) - 1) AS s),
    queries AS (SELECT * FROM sh_queries WHERE label IS NOT NULL),
    votes AS (SELECT s, members, q.id AS query, coalesce(sum(least(1, greatest(0, (sh_by_definition.k - near.nearer) / near.equal::float8)))
                     FILTER (WHERE x.label = q.label), 0) / sh_by_definition.k AS worth
                FROM sets CROSS JOIN queries AS q LEFT JOIN supports AS x ON s >> x.bit::int & 1 = 1
                LEFT JOIN LATERAL (SELECT count(*) FILTER (WHERE y.embedding <-> q.embedding < x.embedding <-> q.embedding) AS nearer,
                                          count(*) FILTER (WHERE y.embedding <-> q.embedding = x.embedding <-> q.embedding) AS equal
                                     FROM supports AS y WHERE s >> y.bit::int & 1 = 1) AS near ON true
               GROUP BY s, members, q.id)
    SELECT x.id, sum((w.worth - v.worth) * factorial(v.members) * factorial(n - v.members - 1) / factorial(n))::float8 / (SELECT count(*) FROM queries)
      FROM size CROSS JOIN supports AS x JOIN votes AS v ON v.s >> x.bit::int & 1 = 0
      JOIN votes AS w ON w.s = v.s | (1 << x.bit::int) AND w.query = v.query
     GROUP BY x.id
$$;
SELECT k, count(*), count(*) FILTER (WHERE abs(s.value - d.value) < 1e-12) AS equal
  FROM (VALUES (1), (2), (3), (5), (7), (9)) AS ks (k), LATERAL nw_shapley('sh', 'shq', k) AS s JOIN LATERAL sh_by_definition(k) AS d USING (support_id)
 GROUP BY k ORDER BY k;

-- least valuable first
SELECT support_id, label, round(value::numeric, 6) AS value, support_set, query_set, n, rank FROM nw_shapley('sh', 'shq', 3);
SELECT support_id, rank FROM nw_shapley('sh', 'shq', 3, top => 2);
SELECT count(*) FROM nw_shapley('sh', 'shq', top => NULL);

-- own rows, each without itself: the values add up to the mean probability of the true label
SELECT k, count(*), abs(sum(value) - (SELECT avg(p) FROM sh_rows AS q, LATERAL (
           SELECT coalesce(sum(least(1, greatest(0, (k - nearer) / equal::float8))) FILTER (WHERE label = q.label), 0) / k AS p
             FROM (SELECT label, rank() OVER (ORDER BY embedding <-> q.embedding) - 1 AS nearer,
                          count(*) OVER (PARTITION BY embedding <-> q.embedding) AS equal
                     FROM sh_rows WHERE id <> q.id AND embedding IS NOT NULL AND label IS NOT NULL) AS others) AS v
          WHERE q.embedding IS NOT NULL AND q.label IS NOT NULL)) < 1e-12 AS adds_up
  FROM (VALUES (1), (2), (4), (6), (8)) AS ks (k), LATERAL nw_shapley('sh', k => k) GROUP BY k ORDER BY k;
-- the same as asking the set about itself
SELECT count(*) AS equal FROM nw_shapley('sh') AS a JOIN nw_shapley('sh', 'sh') AS b USING (support_id, label, value, n, rank);
-- and with its rows as strangers
SELECT round(sum(value)::numeric, 6) FROM nw_shapley('sh', 'sh', 1, leave_one_out => false);

-- neither weights nor temperature have a say, nor has the order of rows
CREATE TABLE sh_before AS SELECT * FROM nw_shapley('sh', 'shq', 2);
CREATE TABLE sh_sorted AS SELECT *, ascii(id)::float8 AS weight FROM sh_rows ORDER BY label DESC, id DESC;
ALTER TABLE sh_sorted ADD PRIMARY KEY (id);
SELECT nw_register('sh2', 'sh_sorted', weight => 'weight', tau => 0.01);
SELECT count(*) AS equal FROM nw_shapley('sh2', 'shq', 2) JOIN sh_before USING (support_id, label, value, rank);

-- all kernels
SELECT kernel, count(*), bool_and(value BETWEEN -1 AND 1) FROM unnest(ARRAY['euclidean', 'gaussian', 'hypersphere', 'cosine', 'dot']) AS kernel,
       LATERAL (SELECT nw_alter_set('sh2', kernel => kernel) OFFSET 0) AS _, LATERAL nw_shapley('sh2', 'shq') GROUP BY kernel ORDER BY kernel;

-- generated mislabels come first
CREATE TABLE sh_flipped AS SELECT i AS id, ARRAY[i % 2 * 10 + i * 37 % 100 / 50.0, i * 59 % 100 / 50.0]::vector AS embedding,
       chr(97 + (i % 2 + (i % 20 = 0)::int) % 2) AS label FROM generate_series(1, 200) AS i;
ALTER TABLE sh_flipped ADD PRIMARY KEY (id);
SELECT nw_register('flipped', 'sh_flipped');
SELECT count(*) FILTER (WHERE support_id::int % 20 = 0) AS flipped, max(value) < 0 AS harmful FROM nw_shapley('flipped', top => 10);

-- distilled sets
SELECT nw_distill('flipped', 'few', 'closest', 3, calibrate => false);
SELECT count(*), count(support_id) FROM nw_shapley('few', 'shq');
SELECT count(*), count(support_id) FROM nw_shapley('few');

-- no labelled query tells nothing
SELECT nw_register('unlabelled', 'sh_queries', label => NULL);
SELECT * FROM nw_shapley('sh', 'unlabelled');
-- one row has nobody to vote for it
CREATE TABLE sh_one (id int PRIMARY KEY, embedding vector, label text);
INSERT INTO sh_one VALUES (1, '[2]', 'a');
SELECT nw_register('one', 'sh_one');
SELECT support_id, value, n FROM nw_shapley('one');

SELECT nw_shapley('sh', 'shq', 0);
SELECT nw_shapley('sh', 'shq', NULL);
SELECT nw_shapley('sh', 'shq', top => 0);
SELECT nw_shapley('sh', leave_one_out => false);
SELECT nw_shapley('unlabelled');
SELECT nw_shapley('missing');
SELECT nw_shapley(NULL);

SELECT nw_unregister(name) FROM nw_sets \g /dev/null
DROP FUNCTION sh_by_definition(int);
DROP TABLE sh_rows, sh_queries, sh_before, sh_sorted, sh_flipped, sh_one;
