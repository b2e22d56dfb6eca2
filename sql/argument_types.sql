-- Types that people have: queries, classes, ids and labels of all kinds, and what is written without a type
\pset null '(null)'
CREATE TYPE at_color AS ENUM ('red', 'green', 'blue');
CREATE TABLE at_rows (id bigint PRIMARY KEY, key uuid UNIQUE, embedding vector(2), color at_color, number int);
INSERT INTO at_rows SELECT i, ('00000000-0000-0000-0000-00000000000' || i)::uuid, ARRAY[CASE WHEN i > 3 THEN 10 ELSE 1 END * i, 0]::vector,
    (enum_range(NULL::at_color))[(i - 1) % 3 + 1], i * 10
  FROM generate_series(1, 6) AS i;
SELECT nw_register('at', 'at_rows', label => 'color');
SELECT nw_register('at keys', 'at_rows', label => 'number', id => 'key');

-- every combination of what may stand for query, set, classes and ids: all succeed, and none
-- depends on the types of the others
CREATE TABLE at_trials (call text, answer text);
DO $$
DECLARE
    q text; s text; c text; e text; call text; answer text; expected text;
BEGIN
    FOREACH q IN ARRAY ARRAY[$q$'[1,0]'$q$, $q$'{1,0}'$q$, $q$'[1,0]'::text$q$, $q$'[1,0]'::varchar$q$, $q$'[1,0]'::vector$q$, $q$'[1,0]'::halfvec$q$,
                             'ARRAY[1,0]', 'ARRAY[1.0,0]', 'ARRAY[1,0]::float4[]', 'ARRAY[1,0]::float8[]', 'ARRAY[1,0]::bigint[]'] LOOP
    FOREACH s IN ARRAY ARRAY[$s$'at'$s$, $s$'at'::text$s$, $s$'at'::varchar$s$] LOOP
    FOREACH c IN ARRAY ARRAY['', 'NULL', $c$'{green,blue}'$c$, $c$ARRAY['green','blue']$c$, $c$'{green,blue}'::varchar[]$c$, $c$'{green,blue}'::at_color[]$c$] LOOP
    FOREACH e IN ARRAY ARRAY['', 'NULL', $e$'{2}'$e$, $e$ARRAY['2']$e$, $e$'{2}'::varchar[]$e$, 'ARRAY[2]', 'ARRAY[2]::smallint[]', 'ARRAY[2]::bigint[]', 'ARRAY[2]::numeric[]',
                             $e$'{00000000-0000-0000-0000-000000000002}'::uuid[]$e$] LOOP
        call := format('nw_predict(%s, %s%s%s)', q, s, ', classes => ' || nullif(c, ''), ', exclude => ' || nullif(e, ''));
        BEGIN
            EXECUTE 'SELECT ' || call INTO answer;
        EXCEPTION WHEN OTHERS THEN
            answer := SQLERRM;
        END;
        expected := CASE WHEN c IN ('', 'NULL') THEN 'red' WHEN e LIKE '%{2}%' OR e LIKE 'ARRAY%' THEN 'blue' ELSE 'green' END;
        IF answer IS DISTINCT FROM expected THEN
            INSERT INTO at_trials VALUES (call, answer);
        END IF;
    END LOOP; END LOOP; END LOOP; END LOOP;
END $$;
SELECT * FROM at_trials LIMIT 10;
-- the same for every function, by position where it can be
SET client_min_messages = error; -- queries that are rows
DO $$
DECLARE
    q text; c text; e text; f text; answer text;
BEGIN
    FOREACH q IN ARRAY ARRAY[$q$'[1,0]'$q$, $q$'[1,0]'::vector$q$, $q$'[1,0]'::halfvec$q$, 'ARRAY[1,0]', 'ARRAY[1.5,0]', 'NULL'] LOOP
    FOREACH c IN ARRAY ARRAY['NULL', $c$'{green,blue}'$c$, $c$'{green,blue}'::at_color[]$c$] LOOP
    FOREACH e IN ARRAY ARRAY['NULL', $e$'{2}'$e$, 'ARRAY[2]', 'ARRAY[gen_random_uuid()]'] LOOP
    FOREACH f IN ARRAY ARRAY['nw_predict(%s, ''at'', %s, %s)', 'nw_classify(%s, ''at'', %s, %s)', 'nw_predict_proba(%s, ''at'', %s, %s)', 'nw_weights(%s, ''at'', 2, %s, %s)',
                             'nw_explain(%s, ''at'', 2, %s, %s)', 'nw_influence(%s, ''green'', ''at'', 2, %s, %s)', 'nw_regress(%1$s, ''at keys'', exclude => %3$s)',
                             'nw_predict(%s, ''at'', %s, %s, 0.1)', 'nw_classify(%s, ''at'', %s, %s, 0.1)', 'nw_predict_proba(%s, ''at'', %s, %s, 1)'] LOOP
        BEGIN
            EXECUTE format('SELECT count(*) FROM ' || f, q, c, e) INTO answer;
        EXCEPTION WHEN OTHERS THEN
            INSERT INTO at_trials VALUES (format(f, q, c, e), SQLERRM);
        END;
    END LOOP; END LOOP; END LOOP; END LOOP;
END $$;
RESET client_min_messages;
SELECT * FROM at_trials LIMIT 10;

-- names of sets of rarer types
SELECT nw_predict('[1,0]', 'at'::name), nw_predict('[1,0]', 'at'::name, '{green}', '{1}');
\set VERBOSITY terse
SELECT nw_predict('[1,0]', 'at'::name, exclude => ARRAY[1]);
SELECT nw_predict('[1,0]', 'at'::char(5));
\set VERBOSITY default
SELECT nw_predict('[1,0]', 'at'::char(5)::text, exclude => ARRAY[1]);

-- parameters without a type, as drivers send them, are what they always were
PREPARE at_1 AS SELECT nw_predict($1, $2);
PREPARE at_2 AS SELECT nw_predict($1, $2, $3, $4, $5);
PREPARE at_3 AS SELECT nw_classify($1, $2, classes => $3), nw_weights($1, $2, $4, exclude => $5);
PREPARE at_4 AS SELECT nw_predict(embedding, $1, classes => $2, exclude => ARRAY[id]) FROM at_rows;
PREPARE at_5 AS SELECT nw_predict($1, $2, classes => ARRAY['red']::at_color[], exclude => $3);
PREPARE at_6 AS SELECT nw_influence($1, $2, $3, $4, $5, $6), nw_regress($1, $3, $6), nw_explain($1, $3, $4, $5, $6);
SELECT name, parameter_types FROM pg_prepared_statements WHERE name LIKE 'at_%' ORDER BY name;
EXECUTE at_1('{"1","0"}', 'at');
EXECUTE at_2('[1,0]', 'at', '{"green","blue"}', '{"2"}', NULL);
EXECUTE at_4('at', '{red,green}');
DEALLOCATE ALL;

-- compared by output text, as labels and ids are
SELECT nw_predict('[1,0]', 'at keys', classes => ARRAY[20, 30]), nw_predict('[1,0]', 'at keys', classes => ARRAY[20, 30]::bigint[]), nw_predict('[1,0]', 'at keys', classes => '{20,30}');
SELECT nw_predict('[1,0]', 'at keys', exclude => array_agg(key) FILTER (WHERE number < 30)) FROM at_rows;
SELECT id, nw_predict(embedding, 'at', exclude => ARRAY[id]), nw_predict(embedding, 'at keys', exclude => ARRAY[key]) FROM at_rows ORDER BY id;
SELECT nw_predict('[1,0]', 'at', classes => ARRAY['red', NULL]::at_color[]);
SELECT nw_predict('[1,0]', 'at', classes => '{}'::at_color[]);
SELECT nw_predict('[1,0]', 'at keys', classes => ARRAY[20, 30.0]);
SELECT nw_predict('[1,0]', 'at', exclude => ARRAY[1, NULL, 2]), nw_predict('[1,0]', 'at', exclude => '{}'::int[]);
-- ids of other types are written as text
\set VERBOSITY terse
SELECT nw_predict('[1,0]', 'at', exclude => ARRAY[1.5::float8]);
\set VERBOSITY default
SELECT nw_predict('[1,0]', 'at', exclude => ARRAY[1.5::float8]::text[]);

-- arrays as queries: the vector that pgvector's own cast makes of them
SELECT bool_and(c = nw_classify(a::vector, 'at')) AS same, count(*)
  FROM (SELECT ARRAY[i / 3.0, i % 4]::float8[] AS a FROM generate_series(1, 20) AS i) AS t, nw_classify(a, 'at') AS c;
SELECT nw_predict(ARRAY[1, NULL], 'at');
SELECT nw_predict(ARRAY[]::float8[], 'at');
SELECT nw_predict(ARRAY[[1, 2]], 'at');
SELECT nw_predict(ARRAY[1, 2, 3], 'at');
SELECT nw_predict(ARRAY[1, 'NaN']::float8[], 'at');
SELECT nw_predict(ARRAY[1, 1e300]::float8[], 'at');
SELECT nw_predict(array_fill(1::real, ARRAY[16001]), 'at');
SELECT nw_predict(NULL::float8[], 'at'), nw_predict('{1,0}', 'at'), nw_predict('[1,0]'::varchar, 'at');
SELECT nw_predict('{1,', 'at');
SELECT nw_predict(1, 'at');
SELECT nw_predict(ARRAY[true, false], 'at');
SELECT nw_predict('{"a": 1}'::jsonb, 'at');
CREATE DOMAIN at_embedding AS vector(2);
CREATE DOMAIN at_number AS float8 CHECK (VALUE < 100);
SELECT nw_predict('[1,0]'::at_embedding, 'at'), nw_predict(ARRAY[1, 0]::at_number[], 'at');

-- min_confidence in nw_classify keeps the confidence
SELECT label, confidence > 0.5 AS likely FROM nw_classify('[1,0]', 'at', min_confidence => 0.5);
SELECT label, confidence < 0.9 AS doubtful FROM nw_classify('[1,0]', 'at', min_confidence => 0.9);
SELECT nw_classify('[1,0]', 'at', min_confidence => 2);

-- votes over labels of any type; nw_argmax returns the label's own type
SELECT nw_argmax(color, embedding <-> '[3,0]') AS color, pg_typeof(nw_argmax(color, embedding <-> '[3,0]')) AS type,
       nw_argmax(number, embedding <-> '[3,0]') + 1 AS number, nw_argmax(key, embedding <-> '[3,0]', 0.5) AS key FROM at_rows;
SELECT nw_vote(color, 0) = nw_vote(color::text, 0) AS same, nw_vote(number, 0), nw_vote(id > 1, 0) FROM at_rows;
SELECT nw_argmax('x', 1), pg_typeof(nw_argmax('x', 1)), nw_argmax(NULL, 1), nw_argmax(NULL::int, 1);
SELECT pg_typeof(nw_argmax(color::text::varchar(9), 1)), pg_typeof(nw_argmax(ARRAY[id, 2], 1)), nw_argmax(ARRAY[id, 2], id) FROM at_rows;
SELECT nw_argmax(id::at_number, id), pg_typeof(nw_argmax(id::at_number, id)) FROM at_rows;
-- one answer whatever the order: of values that print alike, and of ties
SET extra_float_digits = 0;
SELECT nw_argmax(f, 0 ORDER BY f) = 0.3::float8 AS up, nw_argmax(f, 0 ORDER BY f DESC) = 0.3::float8 AS down FROM (VALUES (0.3::float8), (0.1::float8 + 0.2), (0.4)) AS v (f);
RESET extra_float_digits;
SELECT id, nw_argmax(color, -id) OVER (ORDER BY id) FROM at_rows;

SELECT nw_unregister(name) FROM nw_sets WHERE name LIKE 'at%';
DROP TABLE at_rows, at_trials;
DROP TYPE at_color;
DROP DOMAIN at_embedding, at_number;
