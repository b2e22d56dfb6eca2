-- the nw index: as many classes as there are rows, and labels of changing types
\pset format unaligned
\pset tuples_only

-- the answers that both engines give, or what each of them says
CREATE FUNCTION ic_both(call text) RETURNS text LANGUAGE plpgsql SET nwhead.statement_cache = 0 AS $$
DECLARE
    one text;
    answer text[];
BEGIN
    FOR i IN 1 .. 2 LOOP
        PERFORM set_config('nwhead.engine', (ARRAY['executor', 'index'])[i], true);
        BEGIN
            EXECUTE 'SELECT string_agg(r::text, '' '') FROM (SELECT * FROM ' || call || ') AS r' INTO one;
        EXCEPTION WHEN OTHERS THEN
            one := SQLSTATE || ' ' || SQLERRM;
        END;
        answer[i] := one;
    END LOOP;
    RESET nwhead.engine;
    RETURN CASE WHEN answer[1] IS DISTINCT FROM answer[2] THEN
        format('DIFFERENT %s: %s, %s', call, left(answer[1], 200), left(answer[2], 200)) ELSE left(answer[1], 60) END;
END
$$;
-- how many of the points around a grid get the same label, and by which engine
CREATE FUNCTION ic_agree(support text, n int) RETURNS TABLE (same bigint, engines text) LANGUAGE plpgsql SET nwhead.statement_cache = 0 AS $$
DECLARE
    executor text[];
    index text[];
    points vector[] := ARRAY(SELECT ARRAY[i * 37 % 61 + 0.3, i * 23 % 53 + 0.4]::vector FROM generate_series(1, n) AS i);
BEGIN
    SET LOCAL nwhead.engine = executor;
    executor := ARRAY(SELECT nw_predict(p, support) FROM unnest(points) WITH ORDINALITY AS u (p, i) ORDER BY i);
    SET LOCAL nwhead.engine = index;
    index := ARRAY(SELECT nw_predict(p, support) FROM unnest(points) WITH ORDINALITY AS u (p, i) ORDER BY i);
    SELECT string_agg(DISTINCT w.engine, ' ') INTO engines FROM unnest(points) AS p, nw_index_work(p, support) AS w;
    SELECT count(*) INTO same FROM unnest(executor, index) AS t (a, b) WHERE a = b;
    RESET nwhead.engine;
    RETURN NEXT;
END
$$;

-- an index made for nothing, then a class for every row: trees split, pages of labels follow each other
CREATE TABLE ic_rows (id int, embedding vector(2), label text) WITH (autovacuum_enabled = off);
CREATE INDEX ic_rows_nw ON ic_rows USING nw (embedding) INCLUDE (label);
SELECT nw_register('ic', 'ic_rows', tau => 0.3);
SELECT ic_both($$nw_predict('[1,2]', 'ic')$$);
SELECT classes, lists, rows FROM nw_index_health('ic_rows_nw');
SELECT nw_check_index('ic_rows_nw');
INSERT INTO ic_rows SELECT i, ARRAY[i % 61, i / 61]::vector, 'item ' || i FROM generate_series(1, 3233) AS i;
SELECT classes, lists, rows FROM nw_index_health('ic_rows_nw');
SELECT nw_check_index('ic_rows_nw');
SELECT * FROM ic_agree('ic', 20);
-- all of them are found again
INSERT INTO ic_rows SELECT -id, embedding, label FROM ic_rows;
SELECT classes, lists, rows FROM nw_index_health('ic_rows_nw');
SELECT nw_check_index('ic_rows_nw');
VACUUM ic_rows;
SELECT * FROM ic_agree('ic', 20);
-- REINDEX helps classes that are large enough for lists
SELECT rows, unlisted_rows, reindex FROM nw_index_health('ic_rows_nw');
INSERT INTO ic_rows SELECT i, ARRAY[i % 61, 100]::vector, 'large' FROM generate_series(1, 1700) AS i;
SELECT rows, unlisted_rows, reindex FROM nw_index_health('ic_rows_nw');
DELETE FROM ic_rows WHERE label = 'large';
VACUUM ic_rows;
REINDEX INDEX ic_rows_nw;
SELECT classes, lists, rows FROM nw_index_health('ic_rows_nw');
SELECT nw_check_index('ic_rows_nw');
SELECT * FROM ic_agree('ic', 20);
-- and with others beside them, after a build
INSERT INTO ic_rows SELECT 10000 + i, ARRAY[i % 61 + 0.5, i / 61]::vector, 'later ' || i FROM generate_series(1, 2000) AS i;
INSERT INTO ic_rows SELECT 20000 + i, ARRAY[i % 10, 60 + i % 7]::vector, 'large ' || i % 2 FROM generate_series(1, 400) AS i;
SELECT classes, lists, rows FROM nw_index_health('ic_rows_nw');
SELECT nw_check_index('ic_rows_nw');
SELECT * FROM ic_agree('ic', 20);
REINDEX INDEX ic_rows_nw;
SELECT classes, lists > 1 AS lists, rows FROM nw_index_health('ic_rows_nw');
SELECT * FROM ic_agree('ic', 20);

-- classes by name
SELECT ic_both($$nw_predict('[5,5]', 'ic', '{item 7,item 3000,large 1}')$$);
SELECT ic_both($$nw_predict('[5,61]', 'ic', '{item 7,item 3000,large 1}')$$);
SELECT ic_both($$nw_predict('[5,61]', 'ic', '{item 7,unheard}')$$);
SELECT ic_both($$nw_predict('[5,61]', 'ic', '{}')$$);
DELETE FROM ic_rows WHERE label IN ('item 7', 'large 0');
SELECT ic_both($$nw_predict('[5,61]', 'ic', '{item 7,item 8}')$$);
SELECT ic_both($$nw_predict('[5,61]', 'ic', '{large 0,item 8}')$$);
SELECT ic_both($$nw_predict('[5,61]', 'ic', '{large 1,item 8}')$$);
SELECT ic_both($$nw_predict_proba('[5,61]', 'ic', '{large 1,item 8}')$$);
-- a class that is rolled back stays without rows
BEGIN;
INSERT INTO ic_rows VALUES (0, '[5,5]', 'never');
SELECT ic_both($$nw_predict('[5,5]', 'ic', '{never,item 8}')$$);
ROLLBACK;
SELECT ic_both($$nw_predict('[5,5]', 'ic', '{never,item 8}')$$);
VACUUM ic_rows;
SELECT nw_check_index('ic_rows_nw') = count(*) FROM ic_rows;

-- everything the same: the first label in byte order
TRUNCATE ic_rows;
INSERT INTO ic_rows SELECT i, '[1,2]', 'b' || i FROM generate_series(1, 1500) AS i;
INSERT INTO ic_rows VALUES (0, '[1,2]', 'b'), (0, '[1,2]', 'a~'), (0, '[1,2]', 'ä');
SELECT ic_both($$nw_predict('[5,5]', 'ic')$$);
SELECT ic_both($$nw_predict('[5,5]', 'ic', '{b7,b66,ä,b1000}')$$);
REINDEX INDEX ic_rows_nw;
SELECT ic_both($$nw_predict('[5,5]', 'ic')$$);

-- labels of one hash (an index hashes texts as the server does)
TRUNCATE ic_rows;
CREATE TEMP TABLE ic_alike AS
SELECT array_agg(i) AS i FROM generate_series(1, 300000) AS i GROUP BY hashtext('twin ' || i) HAVING count(*) > 1;
SELECT count(*) > 2 FROM ic_alike;
INSERT INTO ic_rows SELECT n, ARRAY[n % 10, n / 10]::vector, 'twin ' || n FROM ic_alike, unnest(i) AS n;
INSERT INTO ic_rows SELECT -id, embedding, label FROM ic_rows;
SELECT nw_check_index('ic_rows_nw') = count(*), (SELECT classes FROM nw_index_health('ic_rows_nw')) = count(DISTINCT label) FROM ic_rows;
SELECT count(*) FILTER (WHERE label <> nw_predict(embedding, 'ic', ARRAY[label])) FROM ic_rows;
REINDEX INDEX ic_rows_nw;
SELECT nw_check_index('ic_rows_nw') = count(*), (SELECT classes FROM nw_index_health('ic_rows_nw')) = count(DISTINCT label) FROM ic_rows;

-- labels that fill pages
TRUNCATE ic_rows;
INSERT INTO ic_rows SELECT i, ARRAY[i, i]::vector, repeat(chr(97 + i % 26), i * 37 % 2001) || i FROM generate_series(1, 300) AS i WHERE i * 37 % 2001 < 1997;
INSERT INTO ic_rows VALUES (0, '[0,0]', ''), (0, '[0,0]', repeat('x', 2000));
INSERT INTO ic_rows VALUES (0, '[0,0]', repeat('x', 2001));
SELECT nw_check_index('ic_rows_nw') = count(*) FROM ic_rows;
SELECT * FROM ic_agree('ic', 10);

-- memory: a build says what it lacks
TRUNCATE ic_rows;
DROP INDEX ic_rows_nw;
INSERT INTO ic_rows SELECT i, ARRAY[i % 100, i / 100]::vector, 'item ' || i FROM generate_series(1, 40000) AS i;
SET maintenance_work_mem = '1MB';
CREATE INDEX ic_rows_nw ON ic_rows USING nw (embedding) INCLUDE (label);
SET maintenance_work_mem = '3MB';
CREATE INDEX ic_rows_nw ON ic_rows USING nw (embedding) INCLUDE (label);
RESET maintenance_work_mem;
SELECT nw_check_index('ic_rows_nw');
SELECT * FROM ic_agree('ic', 10);

-- partitions share classes
CREATE TABLE ic_parts (id int, embedding vector(2), label text) PARTITION BY HASH (id);
CREATE TABLE ic_part0 PARTITION OF ic_parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE ic_part1 PARTITION OF ic_parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO ic_parts SELECT i, ARRAY[i % 61, i / 61]::vector, 'item ' || i % 1500 FROM generate_series(1, 3000) AS i;
CREATE INDEX ON ic_parts USING nw (embedding) INCLUDE (label);
SELECT nw_register('ic parts', 'ic_parts', tau => 0.3);
SELECT * FROM ic_agree('ic parts', 10);

-- a column's type may change without the index being made anew
CREATE FUNCTION ic_change(type text) RETURNS TABLE (kept boolean, rows bigint, answers text) LANGUAGE plpgsql AS $$
DECLARE
    old oid := pg_relation_filenode('ic_typed_nw');
BEGIN
    EXECUTE 'ALTER TABLE ic_typed ALTER label TYPE ' || type;
    kept := old = pg_relation_filenode('ic_typed_nw');
    rows := nw_check_index('ic_typed_nw');
    answers := ic_both($q$nw_predict_proba('[1,1]', 'ic typed')$q$);
    RETURN NEXT;
END
$$;
CREATE TABLE ic_typed (embedding vector(2), label int4);
INSERT INTO ic_typed SELECT ARRAY[i, 1]::vector, -i % 3 FROM generate_series(1, 10) AS i;
CREATE INDEX ic_typed_nw ON ic_typed USING nw (embedding) INCLUDE (label);
SELECT nw_register('ic typed', 'ic_typed', id => NULL, tau => 1e6);
SELECT ic_both($$nw_predict_proba('[1,1]', 'ic typed')$$);
SELECT * FROM ic_change('oid');
INSERT INTO ic_typed SELECT ARRAY[i, 1]::vector, 4294967295 FROM generate_series(1, 10) AS i;
SELECT classes FROM nw_index_health('ic_typed_nw');
SELECT nw_check_index('ic_typed_nw');
SELECT ic_both($$nw_predict_proba('[1,1]', 'ic typed')$$);
SELECT ic_both($$nw_predict('[1,1]', 'ic typed')$$);
SELECT ic_both($$nw_predict('[1,1]', 'ic typed', '{0,4294967294}')$$);
CREATE DOMAIN ic_oid AS oid CHECK (VALUE >= 0);
SELECT * FROM ic_change('ic_oid');
SELECT * FROM ic_change('int8');
SELECT * FROM ic_change('int2 USING label % 7');
SELECT * FROM ic_change('varchar(9)');
SELECT * FROM ic_change('varchar(12)');
SELECT * FROM ic_change('text');
CREATE DOMAIN ic_text AS text;
SELECT * FROM ic_change('ic_text');
SELECT * FROM ic_change('text');
SELECT * FROM ic_change('bpchar');
SELECT * FROM ic_change('name');
SELECT * FROM ic_change('int[] USING ARRAY[ascii(label::text) - 49, 3, NULL]');
SELECT * FROM ic_change('bool USING label[1] > 1');
SELECT * FROM ic_change($$"char" USING CASE WHEN label THEN 't' ELSE 'f' END$$);
SELECT * FROM ic_change($$uuid USING lpad(ascii(label)::text, 32, '0')::uuid$$);
CREATE TYPE ic_mood AS ENUM ('sad', 'happy');
SELECT * FROM ic_change($$ic_mood USING CASE WHEN label::text LIKE '%2' THEN 'sad' ELSE 'happy' END::ic_mood$$);
SELECT ic_both($$nw_predict('[1,1]', 'ic typed')$$);
SELECT ic_both($$nw_predict('[1,1]', 'ic typed', '{happy}')$$);

-- different bytes of one text are one class of a search
ALTER TABLE ic_typed ALTER label TYPE float8 USING 1;
TRUNCATE ic_typed;
INSERT INTO ic_typed SELECT ARRAY[i % 3, 1]::vector, 1 + i % 3 + i * 1e-12 FROM generate_series(1, 90) AS i;
SELECT classes FROM nw_index_health('ic_typed_nw');
SET extra_float_digits = -5;
SELECT nw_register('ic typed', 'ic_typed', id => NULL, tau => 0.5, replace => true);
SELECT ic_both($$nw_predict('[1,1]', 'ic typed')$$);
SELECT ic_both($$nw_predict_proba('[1,1]', 'ic typed')$$);
SELECT ic_both($$nw_predict('[1,1]', 'ic typed', '{1,3}')$$);
RESET extra_float_digits;
SELECT nw_unregister(name) FROM nw_sets;
DROP TABLE ic_rows, ic_parts, ic_typed;
DROP DOMAIN ic_oid, ic_text;
DROP TYPE ic_mood;
DROP FUNCTION ic_both, ic_agree, ic_change;
