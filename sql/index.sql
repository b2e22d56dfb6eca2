-- the nw index: both engines give the same answers, to the last digit
\pset format unaligned
\pset tuples_only

-- the error of a statement, without its place, which not every server names
CREATE FUNCTION ix_error(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement;
    RETURN NULL;
EXCEPTION WHEN OTHERS THEN
    RETURN 'ERROR:  ' || SQLERRM;
END $$;

-- the answer of a call, or its error; that a query is a row of the set is meant here
CREATE FUNCTION ix_ask(call text) RETURNS text LANGUAGE plpgsql SET client_min_messages = error AS $$
DECLARE
    answer text;
BEGIN
    EXECUTE 'SELECT string_agg(r::text, E''\n'') FROM (SELECT * FROM ' || call || ') AS r' INTO answer;
    RETURN answer;
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE || ' ' || SQLERRM;
END
$$;

-- the answer that both engines give, or what each of them says
-- (rows packed by one engine must not answer for the other)
CREATE FUNCTION ix_both(call text, cache text DEFAULT '0') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    executor text;
    index text;
BEGIN
    PERFORM set_config('nwhead.statement_cache', cache, true);
    PERFORM set_config('nwhead.engine', 'executor', true);
    executor := ix_ask(call);
    PERFORM set_config('nwhead.engine', 'index', true);
    index := ix_ask(call);
    RESET nwhead.engine;
    RESET nwhead.statement_cache;
    IF executor IS DISTINCT FROM index THEN
        RETURN format(E'DIFFERENT %s\nexecutor: %s\nindex: %s', call, executor, index);
    END IF;
    RETURN executor;
END
$$;

-- ask everything there is to ask of a set; say what differs, and count what does not
CREATE FUNCTION ix_compare(support text, queries text, classes text DEFAULT 'NULL') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    q text;
    call text;
    answer text;
    same int := 0;
    engine text;
BEGIN
    FOR q IN EXECUTE format('SELECT quote_literal(e) || ''::'' || pg_typeof(e) FROM %I AS q ORDER BY id', queries) LOOP
        FOREACH call IN ARRAY ARRAY['nw_predict(%2$s, %1$L, %3$s)', 'nw_classify(%2$s, %1$L, %3$s)',
            'nw_predict_proba(%2$s, %1$L, %3$s)', 'nw_weights(%2$s, %1$L, 7, %3$s)',
            'nw_influence(%2$s, ''c1'', %1$L, 4, %3$s)'] LOOP
            answer := ix_both(format(call, support, q, classes));
            IF answer LIKE 'DIFFERENT%' THEN
                RETURN NEXT answer;
            ELSE
                same := same + 1;
            END IF;
        END LOOP;
        EXECUTE format('SET LOCAL nwhead.engine = index; SET LOCAL nwhead.statement_cache = 0');
        EXECUTE format('SELECT concat_ws('' '', engine, label = nw_predict(%2$s, %1$L, %3$s)) FROM nw_index_work(%2$s, %1$L, %3$s)',
            support, q, classes) INTO answer;
        RESET nwhead.engine;
        RESET nwhead.statement_cache;
        IF engine IS DISTINCT FROM answer THEN
            RETURN NEXT 'engine: ' || answer;
            engine := answer;
        END IF;
    END LOOP;
    RETURN NEXT same || ' the same';
END
$$;

-- a number between -0.5 and 0.5
CREATE FUNCTION ix_number(i int, j int) RETURNS float8 LANGUAGE sql IMMUTABLE AS
$$ SELECT ((i::bigint * 7919 + j::bigint * 104729 + i::bigint * j * 613) % 1000003 * 2654435761 % 1000003) / 1000003.0 - 0.5 $$;
-- a vector near the place of a class
CREATE FUNCTION ix_vector(i int, class int, dim int, noise float8) RETURNS vector LANGUAGE sql IMMUTABLE AS
$$ SELECT array_agg((ix_number(class, j) + noise * ix_number(i + 1000, j))::float4 ORDER BY j)::vector FROM generate_series(1, dim) AS j $$;

CREATE TABLE ix_rows (id int, embedding vector(12), label text) WITH (autovacuum_enabled = off);
INSERT INTO ix_rows SELECT i, ix_vector(i, i % 5, 12, 1), 'c' || i % 5 FROM generate_series(1, 1500) AS i;
-- classes too small for lists of their own, ties, and rows that are no supports
INSERT INTO ix_rows SELECT 2000 + i, ix_vector(i, i % 7, 12, 1.5), 's' || i % 7 FROM generate_series(1, 90) AS i;
INSERT INTO ix_rows SELECT 3000 + id, embedding, 'tied' FROM ix_rows WHERE label = 's3';
INSERT INTO ix_rows VALUES (4001, NULL, 'c1'), (4002, ix_vector(1, 1, 12, 1), NULL), (4003, NULL, NULL), (4004, NULL, 'none');
CREATE TABLE ix_queries (id int, e vector(12));
INSERT INTO ix_queries SELECT i, ix_vector(i + 5000, i % 6, 12, 1.2) FROM generate_series(1, 6) AS i;
INSERT INTO ix_queries VALUES (7, array_fill(0, ARRAY[12])::vector), (8, array_fill(1000, ARRAY[12])::vector),
    (9, (SELECT embedding FROM ix_rows WHERE id = 2003)), (10, (SELECT embedding FROM ix_rows WHERE id = 17));

CREATE INDEX ix_rows_nw ON ix_rows USING nw (embedding) INCLUDE (label);
SELECT nw_check_index('ix_rows_nw');
SELECT list > 0 AS listed, label, count(*), sum(rows), sum(slots), bool_and(radius > 0) AS radius, bool_and(pages > 0) AS pages
  FROM nw_index_lists('ix_rows_nw') GROUP BY 1, 2 ORDER BY label NULLS FIRST;
SELECT classes, lists, rows, built_rows, unlisted_rows, fill, size = pg_relation_size('ix_rows_nw') AS size, reindex
  FROM nw_index_health('ix_rows_nw');

-- every kernel, wide and narrow
SELECT count(nw_register('ix ' || k, 'ix_rows', kernel => k, tau => 0.25)) FROM unnest('{euclidean,gaussian,hypersphere,cosine,dot}'::text[]) AS k;
SELECT count(nw_register('ix narrow ' || k, 'ix_rows', kernel => k, tau => 0.001)) FROM unnest('{euclidean,gaussian,hypersphere,cosine,dot}'::text[]) AS k;
SELECT count(nw_register('ix huge ' || k, 'ix_rows', kernel => k, tau => 1e6)) FROM unnest('{euclidean,gaussian,hypersphere,cosine,dot}'::text[]) AS k;
SELECT name, ix_compare(name, 'ix_queries') FROM nw_sets WHERE name LIKE 'ix %' ORDER BY name COLLATE "C";

-- some of the classes: with lists, without, tied
SELECT ix_compare('ix euclidean', 'ix_queries', $$'{c1,c3}'$$);
SELECT ix_compare('ix cosine', 'ix_queries', $$'{s1,c4,tied}'$$);
SELECT ix_compare('ix narrow euclidean', 'ix_queries', $$'{tied,s3}'$$);
SELECT ix_compare('ix dot', 'ix_queries', $$'{s6}'$$);

-- classes without support, dimensions, and no rows at all
SELECT ix_both($$nw_predict('[1,2,3,4,5,6,7,8,9,10,11,12]', 'ix euclidean', '{c1,unheard}')$$);
SELECT ix_both($$nw_predict('[1,2,3,4,5,6,7,8,9,10,11,12]', 'ix euclidean', '{none}')$$);
SELECT ix_both($$nw_predict_proba('[1,2,3,4,5,6,7,8,9,10,11,12]', 'ix euclidean', '{c1,none}')$$);
SELECT ix_both($$nw_weights('[1,2,3,4,5,6,7,8,9,10,11,12]', 'ix euclidean', classes => '{none}')$$);
SELECT ix_both($$nw_predict('[1,2,3]', 'ix euclidean')$$);
SELECT ix_both($$nw_predict_proba('[1,2,3]', 'ix euclidean')$$);
SELECT ix_both($$nw_weights('[1,2,3]', 'ix euclidean')$$);
SELECT ix_both($$nw_predict(NULL::vector, 'ix euclidean')$$);
SET nwhead.engine = index;
SELECT label, engine FROM nw_index_work('[1,2,3]', 'ix euclidean');
SELECT label, engine FROM nw_index_work('[1,2,3,4,5,6,7,8,9,10,11,12]', 'ix euclidean', '{none}');
SELECT label, engine FROM nw_index_work('[1,2,3,4,5,6,7,8,9,10,11,12]', 'ix euclidean', '{unheard}');
SELECT nw_index_work(NULL::vector, 'ix euclidean') IS NULL;

-- what is read: all is accounted for, and lists are passed over
SELECT label, engine, settled_by, lists > 10 AS lists, lists_pruned > 0 AS pruned, supports, by_list + by_code + exact = supports AS all,
       exact < supports / 2 AS few, pages > 0 AS pages
  FROM nw_index_work((SELECT embedding FROM ix_rows WHERE id = 17), 'ix narrow euclidean');
-- (a row of one's own transaction: not yet visible to all, whoever reads its page)
BEGIN;
INSERT INTO ix_rows SELECT 5000, embedding, label FROM ix_rows WHERE id = 17;
SELECT heap_checks > 0 FROM nw_index_work((SELECT embedding FROM ix_rows WHERE id = 17), 'ix narrow euclidean');
ROLLBACK;
VACUUM ix_rows;
SELECT heap_checks FROM nw_index_work((SELECT embedding FROM ix_rows WHERE id = 17), 'ix narrow euclidean');
SET nwhead.engine = executor;
SELECT * FROM nw_index_work((SELECT embedding FROM ix_rows WHERE id = 17), 'ix narrow euclidean');
RESET nwhead.engine;
SELECT engine FROM nw_index_work((SELECT embedding FROM ix_rows WHERE id = 17), 'ix narrow euclidean');
SET nwhead.engine = indexed;
SHOW nwhead.engine;

-- with all rows visible to all, and with packed rows in one statement
SELECT ix_compare('ix euclidean', 'ix_queries');
SET nwhead.engine = executor;
CREATE TEMP TABLE ix_executor AS
SELECT id, nw_predict(e, s) AS label, (SELECT array_agg(p::text) FROM nw_predict_proba(e, s) AS p) AS proba,
       (SELECT array_agg(w::text) FROM nw_weights(e, s, 5) AS w) AS weights, s
  FROM ix_queries, unnest('{ix euclidean,ix narrow cosine}'::text[]) AS s;
SET nwhead.engine = index;
CREATE TEMP TABLE ix_index AS
SELECT id, nw_predict(e, s) AS label, (SELECT array_agg(p::text) FROM nw_predict_proba(e, s) AS p) AS proba,
       (SELECT array_agg(w::text) FROM nw_weights(e, s, 5) AS w) AS weights, s
  FROM ix_queries, unnest('{ix euclidean,ix narrow cosine}'::text[]) AS s;
RESET nwhead.engine;
(TABLE ix_executor EXCEPT TABLE ix_index) UNION ALL (TABLE ix_index EXCEPT TABLE ix_executor);
SELECT count(*) FROM ix_index;

-- whole sets
CREATE TABLE ix_test (id int, embedding vector(12), label text);
INSERT INTO ix_test SELECT i, ix_vector(i + 7000, i % 5, 12, 1.4), 'c' || i % 5 FROM generate_series(1, 120) AS i;
SELECT nw_register('ix test', 'ix_test', tau => 0.25);
SELECT call, ix_both(call, '64MB') = ix_ask(call) AS same, length(ix_ask(call)) > 20 AS something
  FROM unnest(ARRAY[$$nw_predict_set('ix euclidean', 'ix test')$$, $$nw_evaluate('ix euclidean', 'ix test')$$,
       $$nw_confusion('ix cosine', 'ix test')$$, $$nw_reliability('ix gaussian', 'ix test')$$,
       $$nw_temperature_sweep('ix euclidean', 'ix test', 0.1, 1, 10)$$, $$nw_predict_set('ix test', 'ix test')$$,
       $$nw_suspects('ix euclidean', 10)$$, $$nw_evaluate('ix dot', 'ix euclidean')$$]) AS call;
SELECT call, ix_both(call) = ix_ask(call) AS same FROM unnest(ARRAY[$$nw_predict_set('ix euclidean', 'ix test')$$,
       $$nw_evaluate('ix narrow cosine', 'ix test')$$, $$nw_evaluate('ix test', 'ix euclidean')$$]) AS call;
-- the index is read where ids do not matter
CREATE FUNCTION ix_scans(call text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    before bigint := pg_stat_get_xact_numscans('ix_rows_nw'::regclass);
BEGIN
    PERFORM ix_ask(call);
    RETURN pg_stat_get_xact_numscans('ix_rows_nw'::regclass) - before;
END
$$;
SET nwhead.engine = index;
SELECT call, ix_scans(call)
  FROM unnest(ARRAY[$$nw_predict_set('ix euclidean', 'ix test')$$, $$nw_evaluate('ix euclidean', 'ix test')$$,
       $$nw_confusion('ix cosine', 'ix test')$$, $$nw_reliability('ix gaussian', 'ix test')$$,
       $$nw_temperature_sweep('ix euclidean', 'ix test', 0.1, 1, 10)$$, $$nw_evaluate('ix euclidean', 'ix euclidean')$$,
       $$nw_suspects('ix euclidean', 10)$$]) AS call;
SELECT nw_register('ix warm', 'ix_rows', tau => 0.5);
SELECT ix_scans($$nw_calibrate('ix warm', 'ix test')$$);
SELECT nw_set_tau('ix warm', 0.5);
CREATE TEMP TABLE ix_warm AS SELECT * FROM nw_calibrate('ix warm', 'ix test');
SET nwhead.engine = executor;
SELECT nw_set_tau('ix warm', 0.5);
SELECT count(*) FROM (SELECT * FROM nw_calibrate('ix warm', 'ix test') INTERSECT TABLE ix_warm) AS w;
SELECT nw_unregister('ix warm');
SELECT nw_distill('ix euclidean', 'ix distilled', k => 2);
CREATE TEMP TABLE ix_distilled AS SELECT p.*, tau FROM nw_prototypes AS p JOIN nw_sets ON name = set WHERE set = 'ix distilled';
SELECT nw_unregister('ix distilled');
SET nwhead.engine = index;
SELECT nw_distill('ix euclidean', 'ix distilled', k => 2);
SELECT count(*) FROM (SELECT p.*, tau FROM nw_prototypes AS p JOIN nw_sets ON name = set INTERSECT TABLE ix_distilled) AS p;
RESET nwhead.engine;

-- other arguments
SELECT count(*) FROM ix_queries, unnest(ARRAY['nw_predict_proba(%L, ''ix euclidean'', top => 2)', 'nw_weights(%L, ''ix euclidean'', NULL)',
       'nw_weights(%L, ''ix narrow dot'', 1000)', 'nw_weights(%L, ''ix euclidean'', 1001)',
       'nw_predict(%L, ''ix euclidean'', min_confidence => 0.5)', 'nw_weights(%L, ''ix euclidean'', 3, NULL, ''{1,17,2003}'')',
       'nw_predict(%L, ''ix narrow euclidean'', NULL, ''{1,17,2003}'')', 'nw_influence(%L, ''s3'', ''ix hypersphere'', 1)',
       'nw_influence(%L, ''unheard'', ''ix hypersphere'')']) AS call
 WHERE ix_both(format(call, e)) LIKE 'DIFFERENT%';

-- classes that come later; one that disappears
INSERT INTO ix_rows SELECT 5000 + i, ix_vector(i, 50, 12, 0.1), 'new' FROM generate_series(1, 200) AS i;
DELETE FROM ix_rows WHERE label = 'c4';
UPDATE ix_rows SET label = 'moved', embedding = ix_vector(id, 60, 12, 0.2) WHERE id BETWEEN 100 AND 140;
SELECT nw_check_index('ix_rows_nw') >= count(*) FROM ix_rows WHERE embedding IS NOT NULL AND label IS NOT NULL;
INSERT INTO ix_queries VALUES (11, ix_vector(1, 50, 12, 0.1)), (12, ix_vector(1, 60, 12, 0.1)), (13, ix_vector(1, 4, 12, 0.1));
SELECT ix_compare('ix euclidean', 'ix_queries');
SELECT ix_compare('ix narrow hypersphere', 'ix_queries');
SELECT ix_both(format('nw_predict(%L, ''ix euclidean'', ''{c4}'')', e)) FROM ix_queries WHERE id = 13;
SELECT ix_both(format('nw_predict(%L, ''ix euclidean'', ''{c4,c1}'')', e)) FROM ix_queries WHERE id = 13;
SELECT ix_both(format('nw_predict(%L, ''ix euclidean'')', e)) FROM ix_queries WHERE id IN (11, 12) ORDER BY id;
VACUUM ix_rows;
SELECT nw_check_index('ix_rows_nw') = count(*) FROM ix_rows WHERE embedding IS NOT NULL AND label IS NOT NULL;
SELECT ix_compare('ix euclidean', 'ix_queries');
SELECT ix_both(format('nw_predict(%L, ''ix euclidean'', ''{c4}'')', e)) FROM ix_queries WHERE id = 13;
SELECT classes, rows, unlisted_rows, reindex FROM nw_index_health('ix_rows_nw');
INSERT INTO ix_rows SELECT 6000 + i, ix_vector(i, i, 12, 0.1), 'many' || i FROM generate_series(1, 3000) AS i;
SELECT classes, rows, unlisted_rows, reindex FROM nw_index_health('ix_rows_nw');
SELECT ix_compare('ix narrow euclidean', 'ix_queries');
REINDEX INDEX ix_rows_nw;
SELECT classes, rows, built_rows, unlisted_rows, reindex FROM nw_index_health('ix_rows_nw');
SELECT nw_check_index('ix_rows_nw'), nw_check_index('ix_rows_nw', false);
SELECT ix_compare('ix narrow euclidean', 'ix_queries');
DELETE FROM ix_rows WHERE id > 6000;
VACUUM ix_rows;
SELECT rows, fill < 0.5 AS sparse, reindex FROM nw_index_health('ix_rows_nw');
REINDEX INDEX ix_rows_nw;
SELECT rows = built_rows AS fresh, late_rows, reindex FROM nw_index_health('ix_rows_nw');
UPDATE ix_rows SET embedding = embedding + ix_vector(id, 1, 12, 0.001) WHERE id / 50 % 4 = 1;
VACUUM ix_rows;
UPDATE ix_rows SET embedding = embedding + ix_vector(id, 1, 12, 0.001) WHERE id / 50 % 4 = 2;
VACUUM ix_rows;
UPDATE ix_rows SET embedding = embedding + ix_vector(id, 1, 12, 0.001) WHERE id / 50 % 4 = 3;
VACUUM ix_rows;
SELECT rows = built_rows AS as_many, late_rows > rows / 2 AS most_are_late, reindex FROM nw_index_health('ix_rows_nw');
SELECT nw_check_index('ix_rows_nw') = count(*) FROM ix_rows WHERE embedding IS NOT NULL AND label IS NOT NULL;
SELECT ix_compare('ix euclidean', 'ix_queries');
SELECT ix_compare('ix narrow cosine', 'ix_queries');
SELECT ix_compare('ix gaussian', 'ix_queries');
DELETE FROM ix_rows;
SELECT ix_both($$nw_predict('[1,2,3,4,5,6,7,8,9,10,11,12]', 'ix euclidean')$$);
SELECT ix_both($$nw_predict('[1,2,3,4,5,6,7,8,9,10,11,12]', 'ix euclidean', '{c1}')$$);
VACUUM ix_rows;
SELECT nw_check_index('ix_rows_nw');
SELECT ix_both($$nw_predict_proba('[1,2,3,4,5,6,7,8,9,10,11,12]', 'ix euclidean')$$);
TRUNCATE ix_rows;
SELECT ix_both($$nw_predict('[1,2,3,4,5,6,7,8,9,10,11,12]', 'ix euclidean')$$);
SELECT ix_both($$nw_predict('[1,2,3]', 'ix euclidean')$$);

-- an index made before its rows
CREATE TABLE ix_empty (id int, embedding vector(3), label text);
CREATE INDEX ON ix_empty USING nw (embedding) INCLUDE (label);
SELECT nw_check_index('ix_empty_embedding_label_idx');
SELECT nw_register('ix empty', 'ix_empty');
SELECT ix_both($$nw_predict('[1,2,3]', 'ix empty')$$);
INSERT INTO ix_empty SELECT i, ix_vector(i, i % 3, 3, 1), 'c' || i % 3 FROM generate_series(1, 700) AS i;
SELECT nw_check_index('ix_empty_embedding_label_idx');
CREATE TABLE ix_queries3 (id int, e vector(3));
INSERT INTO ix_queries3 SELECT i, ix_vector(i + 5000, i % 6, 3, 1.2) FROM generate_series(1, 5) AS i;
SELECT ix_compare('ix empty', 'ix_queries3');
SELECT * FROM nw_index_lists('ix_empty_embedding_label_idx');
INSERT INTO ix_empty SELECT i, ix_vector(i, i % 3, 3, 1), 'c' || i % 3 FROM generate_series(701, 1400) AS i;
SELECT classes, lists, rows, built_rows, unlisted_rows, fill, reindex FROM nw_index_health('ix_empty_embedding_label_idx');

-- halfvec; labels that are no texts
CREATE TABLE ix_half (id int, embedding halfvec(12), label int, kind bool, price numeric, code uuid, word name, parts text[], day date, letter "char") WITH (autovacuum_enabled = off);
INSERT INTO ix_half SELECT i, ix_vector(i, i % 6, 12, 1), i % 6 - 3, i % 2 = 0, (i % 4) * 1.50, md5((i % 3)::text)::uuid,
       'word' || i % 3, ARRAY['p', (i % 3)::text], date '2020-01-01' + i % 4, chr(65 + i % 5)::"char" FROM generate_series(1, 800) AS i;
SELECT count(nw_register('ix half ' || c, 'ix_half', label => c::name, tau => 0.1)) FROM unnest('{label,kind,price,code,word,parts,day,letter}'::text[]) AS c;
CREATE INDEX ON ix_half USING nw (embedding) INCLUDE (label);
CREATE INDEX ON ix_half USING nw (embedding) INCLUDE (kind);
CREATE INDEX ON ix_half USING nw (embedding) INCLUDE (price);
CREATE INDEX ON ix_half USING nw (embedding) INCLUDE (code);
CREATE INDEX ON ix_half USING nw (embedding) INCLUDE (word);
CREATE INDEX ON ix_half USING nw (embedding) INCLUDE (parts);
CREATE INDEX ON ix_half USING nw (embedding) INCLUDE (day);
CREATE INDEX ON ix_half USING nw (embedding) INCLUDE (letter);
-- the same text by two images, and an update that moves rows
INSERT INTO ix_half SELECT i, ix_vector(i, i % 6, 12, 1), i % 6 - 3, NULL, (i % 4) * 1.5, NULL, 'later', ARRAY['p', NULL], 'infinity', '' FROM generate_series(801, 900) AS i;
UPDATE ix_half SET embedding = ix_vector(id, 3, 12, 0.5), label = label + 1 WHERE id % 10 = 0;
SELECT indexrelid::regclass, nw_check_index(indexrelid) FROM pg_index WHERE indrelid = 'ix_half'::regclass ORDER BY indexrelid;
ALTER TABLE ix_queries ADD h halfvec(12);
UPDATE ix_queries SET h = e;
CREATE VIEW ix_halves AS SELECT id, h AS e FROM ix_queries WHERE id <> 8;
SELECT name, ix_compare(name, 'ix_halves') FROM nw_sets WHERE name LIKE 'ix half %' ORDER BY name COLLATE "C";
SELECT ix_compare('ix half label', 'ix_queries');
SELECT ix_both($$nw_regress('[1,2,3,4,5,6,7,8,9,10,11,12]', 'ix half price')$$) IS NOT NULL;
SET DateStyle = 'German';
SELECT ix_compare('ix half day', 'ix_halves');
RESET DateStyle;

-- partitioned tables: the index serves where every partition has one
CREATE TABLE ix_parts (label text, id int, embedding vector(12)) PARTITION BY LIST (label);
CREATE TABLE ix_parts_1 PARTITION OF ix_parts FOR VALUES IN ('c0', 'c1', 'c2');
CREATE TABLE ix_parts_2 (dropped int, embedding vector(12), id int, label text);
ALTER TABLE ix_parts_2 DROP dropped;
ALTER TABLE ix_parts ATTACH PARTITION ix_parts_2 FOR VALUES IN ('c3', 'c4');
CREATE TABLE ix_parts_3 PARTITION OF ix_parts DEFAULT PARTITION BY HASH (id);
CREATE TABLE ix_parts_3a PARTITION OF ix_parts_3 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE ix_parts_3b PARTITION OF ix_parts_3 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO ix_parts SELECT 'c' || i % 7, i, ix_vector(i, i % 7, 12, 1) FROM generate_series(1, 1200) AS i;
SELECT nw_register('ix parts', 'ix_parts', tau => 0.1);
CREATE INDEX ON ix_parts_1 USING nw (embedding) INCLUDE (label);
SELECT ix_compare('ix parts', 'ix_queries');
CREATE INDEX ix_parts_nw ON ix_parts USING nw (embedding) INCLUDE (label);
SELECT ix_compare('ix parts', 'ix_queries');
SELECT ix_compare('ix parts', 'ix_queries', $$'{c1,c6}'$$);
SELECT nw_check_index('ix_parts_3a_embedding_label_idx') + nw_check_index('ix_parts_3b_embedding_label_idx')
     + nw_check_index('ix_parts_1_embedding_label_idx') + nw_check_index('ix_parts_2_embedding_label_idx');
SELECT nw_check_index('ix_parts_nw');
UPDATE ix_parts SET label = 'c3' WHERE id % 50 = 1;
CREATE TABLE ix_parts_4 PARTITION OF ix_parts FOR VALUES IN ('late');
INSERT INTO ix_parts SELECT 'late', i, ix_vector(i, 8, 12, 1) FROM generate_series(1, 100) AS i;
SELECT ix_compare('ix parts', 'ix_queries');
SELECT ix_both($$nw_predict('[1,2,3,4,5,6,7,8,9,10,11,12]', 'ix parts', '{c1,gone}')$$);

-- what else the executor reads
CREATE TABLE ix_other (id int, embedding vector(12), label text, weight float8 DEFAULT 1) WITH (autovacuum_enabled = off);
INSERT INTO ix_other SELECT i, ix_vector(i, i % 3, 12, 1), 'c' || i % 3 FROM generate_series(1, 300) AS i;
CREATE INDEX ix_other_partial ON ix_other USING nw (embedding) INCLUDE (label) WHERE id > 10;
SELECT nw_register('ix other', 'ix_other');
SELECT ix_compare('ix other', 'ix_queries');
CREATE INDEX ix_other_nw ON ix_other USING nw (embedding) INCLUDE (label) WITH (lists = 3);
SELECT ix_compare('ix other', 'ix_queries');
SELECT nw_register('ix weight', 'ix_other', weight => 'weight');
SELECT ix_compare('ix weight', 'ix_queries');
CREATE VIEW ix_view AS SELECT * FROM ix_other;
SELECT nw_register('ix view', 'ix_view');
SELECT ix_compare('ix view', 'ix_queries');
CREATE MATERIALIZED VIEW ix_matview AS SELECT * FROM ix_other;
CREATE INDEX ix_matview_nw ON ix_matview USING nw (embedding) INCLUDE (label);
SELECT nw_register('ix matview', 'ix_matview');
SELECT ix_compare('ix matview', 'ix_queries');
REFRESH MATERIALIZED VIEW ix_matview WITH NO DATA;
SELECT ix_both($$nw_predict('[1,2,3,4,5,6,7,8,9,10,11,12]', 'ix matview')$$);
CREATE TABLE ix_child () INHERITS (ix_other);
INSERT INTO ix_child SELECT i, ix_vector(i, 9, 12, 1), 'child' FROM generate_series(1, 30) AS i;
SELECT ix_compare('ix other', 'ix_queries');
DROP TABLE ix_child;
SELECT ix_compare('ix other', 'ix_queries');
-- a row without NULLs in the columns that count; another label column
ALTER TABLE ix_other ADD other text;
UPDATE ix_other SET other = 'o' || id % 2;
SELECT nw_register('ix another', 'ix_other', label => 'other');
SELECT ix_compare('ix another', 'ix_queries');

-- lists
SELECT label, count(*) FROM nw_index_lists('ix_other_nw') GROUP BY label ORDER BY label;
ALTER INDEX ix_other_nw SET (lists = 5);
REINDEX INDEX ix_other_nw;
SELECT label, count(*), sum(rows) FROM nw_index_lists('ix_other_nw') GROUP BY label ORDER BY label;
ALTER INDEX ix_other_nw SET (lists = 32768);
REINDEX INDEX ix_other_nw;
SELECT label, count(*) <= 25, sum(rows) FROM nw_index_lists('ix_other_nw') GROUP BY label ORDER BY label;
SELECT ix_compare('ix other', 'ix_queries');
ALTER INDEX ix_other_nw RESET (lists);
CREATE INDEX ON ix_other USING nw (embedding) INCLUDE (label) WITH (lists = -1);
CREATE INDEX ON ix_other USING nw (embedding) INCLUDE (label) WITH (lists = 32769);
CREATE INDEX ON ix_other USING nw (embedding) INCLUDE (label) WITH (lists = many);
CREATE INDEX ON ix_other USING nw (embedding) INCLUDE (label) WITH (probes = 1);

-- indexes that make no sense
CREATE TABLE ix_bad (id int, embedding vector, wide vector(8001), label text, other vector(3), words text);
CREATE INDEX ON ix_bad USING nw (other);
CREATE INDEX ON ix_bad USING nw (other) INCLUDE (label, id);
CREATE INDEX ON ix_bad USING nw (other, label);
CREATE INDEX ON ix_bad USING nw (embedding) INCLUDE (label);
CREATE INDEX ON ix_bad USING nw (wide) INCLUDE (label);
CREATE INDEX ON ix_bad USING nw (label) INCLUDE (other);
CREATE INDEX ON ix_bad USING nw (id) INCLUDE (label);
CREATE INDEX ON ix_bad USING nw ((other::halfvec(3))) INCLUDE (label);
CREATE INDEX ON ix_bad USING nw ((embedding::vector(3))) INCLUDE (label);
SELECT ix_error('CREATE INDEX ON ix_bad USING nw (other) INCLUDE (lower(label))');
CREATE UNIQUE INDEX ON ix_bad USING nw (other) INCLUDE (label);
SELECT ix_error('CREATE INDEX ON ix_bad USING nw (other DESC) INCLUDE (label)');
ALTER TABLE ix_bad ADD EXCLUDE USING nw (other WITH =) INCLUDE (label);
ALTER TABLE ix_bad DROP wide;

-- labels at their largest
CREATE INDEX ix_bad_nw ON ix_bad USING nw (other) INCLUDE (label);
INSERT INTO ix_bad (other, label) VALUES ('[1,2,3]', repeat('x', 2000)), ('[1,2,3]', repeat('y', 1999) || 'z'), ('[4,5,6]', '');
INSERT INTO ix_bad (other, label) VALUES ('[1,2,3]', repeat('x', 2001));
INSERT INTO ix_bad (other, label) VALUES (NULL, repeat('x', 2001));
UPDATE ix_bad SET label = repeat('é', 1001) WHERE label = '';
INSERT INTO ix_bad (other, label) SELECT '[1,2,3]', repeat(chr(64 + i), 2000) FROM generate_series(1, 20) AS i;
SELECT nw_check_index('ix_bad_nw');
SELECT nw_register('ix bad', 'ix_bad', embedding => 'other', id => NULL);
SELECT left(ix_both($$nw_predict('[1,2,3]', 'ix bad')$$), 3), left(ix_both($$nw_predict('[4,5,6]', 'ix bad')$$), 3),
       md5(ix_both($$nw_weights('[1,2,3]', 'ix bad', 1000)$$)) = md5(ix_ask($$nw_weights('[1,2,3]', 'ix bad', 1000)$$));
DROP INDEX ix_bad_nw;
INSERT INTO ix_bad (other, label) VALUES ('[1,2,3]', repeat('x', 2001));
CREATE INDEX ix_bad_nw ON ix_bad USING nw (other) INCLUDE (label);
DROP TABLE ix_bad;

-- functions for the owner of an index
SELECT nw_check_index('ix_rows');
SELECT nw_index_lists('ix_queries');
SELECT nw_index_health('pg_class_oid_index');
SELECT nw_check_index('pg_class_oid_index');
SELECT nw_check_index(NULL), nw_check_index(1);
SELECT nw_index_lists(0);
SELECT nw_index_health(1);
CREATE ROLE regress_nw_nobody;
GRANT SELECT ON ix_other TO regress_nw_nobody;
SET ROLE regress_nw_nobody;
SELECT nw_check_index('ix_other_nw');
SELECT nw_index_lists('ix_other_nw');
SELECT nw_index_health('ix_other_nw');
SELECT engine FROM nw_index_work('[1,2,3,4,5,6,7,8,9,10,11,12]', 'ix other');
RESET ROLE;
REVOKE SELECT ON ix_other FROM regress_nw_nobody;
DROP ROLE regress_nw_nobody;

-- the planner has no use for it
CREATE FUNCTION ix_plan(statement text) RETURNS SETOF text LANGUAGE plpgsql SET enable_seqscan = off AS
$$ BEGIN RETURN QUERY EXECUTE 'EXPLAIN (COSTS OFF) ' || statement; END $$;
SELECT count(*) FROM ix_plan($$SELECT label FROM ix_other ORDER BY embedding <-> '[1,2,3,4,5,6,7,8,9,10,11,12]' LIMIT 1$$) AS line WHERE line ~ 'nw';
SELECT count(*) FROM ix_plan('SELECT embedding, label FROM ix_other') AS line WHERE line ~ 'nw';

DROP TABLE ix_rows, ix_queries, ix_test, ix_empty, ix_queries3, ix_half, ix_parts, ix_other CASCADE;
SELECT count(nw_unregister(name)) FROM nw_sets WHERE name LIKE 'ix %';
DROP FUNCTION ix_plan, ix_ask, ix_both, ix_compare, ix_number, ix_vector;
