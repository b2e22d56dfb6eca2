-- half-precision supports and queries
CREATE TABLE h_rows (id int, embedding halfvec(3), label text);
INSERT INTO h_rows VALUES (1, '[1,2,2]', 'a'), (2, '[2,4,4]', 'b'), (3, '[0,3,-4]', 'c'), (4, NULL, 'd');
SELECT nw_register('h', 'h_rows', tau => 1 / ln(2));
SELECT dim FROM nw_sets WHERE name = 'h';
SELECT support_id, label, distance, round((weight * 11)::numeric, 9) AS "of 11" FROM nw_weights('[0,0,0]'::halfvec, 'h');
SELECT q.n, bool_and(w.distance = v.distance AND w.weight = v.weight) AS same
  FROM (VALUES (1, '[1,2,3]'), (2, '[0.5,-0.25,100]')) AS q (n, q),
       nw_weights(q.q::vector, 'h') AS w, nw_weights(q.q::halfvec, 'h') AS v
 WHERE w.support_id = v.support_id GROUP BY q.n ORDER BY q.n;

-- the same numbers as vectors
CREATE TABLE h_vectors AS SELECT id, embedding::vector(3), label FROM h_rows;
SELECT nw_register('hv', 'h_vectors', tau => 1 / ln(2));
SELECT bool_and(a.distance = b.distance AND a.weight = b.weight) AS same, count(*)
  FROM (VALUES ('[1,2,3]'::vector), ('[0.1,0.2,0.3]'), ('[-1e4,0,1]')) AS v (q), nw_weights(q, 'h') AS a, nw_weights(q, 'hv') AS b
 WHERE a.support_id = b.support_id;

-- the extremes of half precision: largest, smallest normal and subnormal numbers
TRUNCATE h_rows;
INSERT INTO h_rows VALUES (1, '[65504,0,0]', 'large'), (2, '[6.103515625e-05,0,0]', 'normal'), (3, '[5.9604644775390625e-08,0,0]', 'subnormal'), (4, '[-65504,0,0]', 'negative');
SELECT label, distance FROM nw_weights('[0,0,0]', 'h');
-- odd lengths
CREATE TABLE h_odd (id int, embedding halfvec, label text);
SELECT nw_register('h odd', 'h_odd');
DO $$
DECLARE
    q halfvec;
    bad int := 0;
BEGIN
    FOR n IN 1..70 LOOP
        TRUNCATE h_odd;
        q := '[' || repeat('1,', n - 1) || '2]';
        INSERT INTO h_odd VALUES (1, q, 'same'), (2, ('[' || repeat('1,', n - 1) || '5]')::halfvec, 'other');
        IF (SELECT array_agg(distance) FROM nw_weights(q, 'h odd', exclude => '{}')) IS DISTINCT FROM '{0,3}' THEN
            bad := bad + 1;
        END IF;
    END LOOP;
    RAISE NOTICE '% of 70 dimensions wrong', bad;
END
$$;

SELECT nw_unregister(name) FROM nw_sets;
DROP TABLE h_rows, h_vectors, h_odd;
