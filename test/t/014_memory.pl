# Memory: bounded while a statement runs, given back when it ends.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use NwSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', 'client_min_messages = error'); # a session of the test fails at any message
$node->append_conf('postgresql.conf', "autovacuum = off\nmax_parallel_workers_per_gather = 0");
$node->start;

$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION nwhead CASCADE;
	CREATE TABLE small (id int, embedding vector(4), label text);
	INSERT INTO small SELECT i, ARRAY[i, i % 7, i % 5, 1]::vector, 'class ' || i % 5 FROM generate_series(1, 20) AS i;
	CREATE VIEW view AS SELECT * FROM small;
	CREATE UNLOGGED TABLE large (id int, embedding vector(256), label text);
	INSERT INTO large SELECT i, array_fill((i % 97)::float4, ARRAY[256])::vector, 'class ' || i % 50 FROM generate_series(1, 20000) AS i;
	SELECT nw_register('small', 'small');
	SELECT nw_register('view', 'view');
	SELECT nw_register('large', 'large');
	CREATE FUNCTION many(command text, n int) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		q vector := '[1,2,3,4]';
	BEGIN
		FOR i IN 1..n LOOP
			EXECUTE command USING q;
		END LOOP;
	END $$;
	CREATE FUNCTION failing(n int) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		FOR i IN 1..n LOOP
			BEGIN
				PERFORM nw_predict('[1]'::vector, 'small');
			EXCEPTION WHEN data_exception THEN
				NULL;
			END;
		END LOOP;
	END $$;
});

# Bytes of all memory contexts between two statements.
my $session = open_session($node);
my $bytes = 'SELECT sum(total_bytes) FROM pg_backend_memory_contexts';

# Run a statement a few times to warm up, then again; memory must not grow.
sub no_growth
{
	my ($name, $statement) = @_;
	$session->query_safe($statement) for 1 .. 2;
	my $before = $session->query_safe($bytes);
	$session->query_safe($statement);
	my $after = $session->query_safe($bytes);
	cmp_ok($after - $before, '<', 64 * 1024, "$name: memory after it does not grow");
	return;
}
no_growth('10,000 packed predictions',
	"SELECT count(nw_predict(s.embedding, 'small')) FROM small AS s, generate_series(1, 500)");
no_growth('10,000 lists of weights',
	"SELECT count(w) FROM small AS s, generate_series(1, 500), nw_weights(s.embedding, 'small', exclude => '{1}') AS w");
no_growth('statements of their own', "SELECT many('SELECT nw_predict(\$1, ''small'')', 2000)");
no_growth('classes and exclusions', "SELECT many('SELECT nw_predict_proba(\$1, ''small'', ''{class 1,class 2}'', ''{1,2,3}'')', 1000)");
no_growth('a view as source', "SELECT many('SELECT nw_predict(\$1, ''view'')', 1000)");
no_growth('errors', 'SELECT failing(500)');
no_growth('votes', "SELECT count(*) FROM (SELECT nw_vote(label, id) FROM small, generate_series(1, 2000) AS g GROUP BY g) AS v");
no_growth('registering', "SELECT many('SELECT nw_register(''x'', ''small'', replace => true)', 100)");
$session->query_safe('BEGIN');
no_growth('one transaction', "SELECT count(nw_predict(s.embedding, 'small')) FROM small AS s, generate_series(1, 500)");
$session->query_safe('COMMIT');

# Within one statement: what a function called at its end still finds in use
$node->safe_psql(
	'postgres', q{
	CREATE FUNCTION in_use() RETURNS bigint LANGUAGE sql VOLATILE
		RETURN (SELECT sum(total_bytes) FROM pg_backend_memory_contexts);
	CREATE FUNCTION kept() RETURNS bigint LANGUAGE sql VOLATILE
		RETURN (SELECT coalesce(sum(total_bytes), 0) FROM pg_backend_memory_contexts WHERE name LIKE 'nwhead%');
});
my $growth = $session->query_safe(q{
	SELECT max(b) - min(b) FROM (
		SELECT CASE WHEN i % 1000 = 999 THEN in_use() END AS b, nw_predict(ARRAY[i, 1, 1, 1]::vector, 'small') AS p
		  FROM generate_series(1, 10000) AS i) AS t HAVING count(p) = 10000});
cmp_ok($growth, '<', 256 * 1024, '10,000 predictions of one statement');
$growth = $session->query_safe(q{
	SELECT max(b) - min(b) FROM (
		SELECT CASE WHEN i % 1000 = 999 THEN in_use() END AS b, w.weight
		  FROM generate_series(1, 10000) AS i, nw_weights(ARRAY[i, 1, 1, 1]::vector, 'small', 1) AS w) AS t HAVING count(weight) = 10000});
cmp_ok($growth, '<', 256 * 1024, '10,000 lists of weights of one statement');
is( $session->query_safe(q{
		DO $$
		DECLARE
			q vector := '[1,2,3,4]';
			first bigint;
			answer text;
		BEGIN
			FOR i IN 1..10000 LOOP
				answer := nw_predict(q, 'small');
				IF i = 1000 THEN
					first := in_use();
				END IF;
			END LOOP;
			PERFORM set_config('test.growth', (in_use() - first < 256 * 1024)::text, false);
		END $$;
		SELECT current_setting('test.growth');}),
	'true',
	'10,000 predictions of one loop');
is( $session->query_safe(q{
		DO $$
		DECLARE
			q vector := '[1,2,3,4]';
			first bigint;
			answer text;
		BEGIN
			FOR i IN 1..2000 LOOP
				answer := nw_predict(q, 'view');
				IF i = 500 THEN
					first := in_use();
				END IF;
			END LOOP;
			PERFORM set_config('test.growth', (in_use() - first < 256 * 1024)::text, false);
		END $$;
		SELECT current_setting('test.growth');}),
	'true',
	'2,000 predictions from a view in one loop');

# The bound: 20,000 x 256 floats are 20 MB
my $peak = q{SELECT max(b) FROM (SELECT nw_predict(embedding, 'large') AS p, kept() AS b FROM large LIMIT 3) AS t HAVING count(p) = 3};
cmp_ok($session->query_safe($peak), '>', 20_000_000, 'a packed support takes its place');
foreach my $bound (64, 4096, 16384)
{
	$session->query_safe("SET nwhead.statement_cache = '${bound}kB'");
	cmp_ok($session->query_safe($peak), '<', $bound * 1024 + 1024 * 1024, "at most ${bound}kB are kept where that is the bound");
}
$session->query_safe("SET nwhead.statement_cache = '32MB'");
$session->query_safe("SELECT nw_register('large again', 'large')");
cmp_ok(
	$session->query_safe(
		q{SELECT max(b) FROM (SELECT nw_predict(embedding, 'large') AS p, nw_predict(embedding, 'large again') AS q, kept() AS b FROM large LIMIT 3) AS t
			HAVING count(p) + count(q) = 6}),
	'<', 33 * 1024 * 1024, 'also by two supports together');
$session->query_safe('RESET nwhead.statement_cache');
cmp_ok($session->query_safe('SELECT kept()'), '<', 100_000, 'nothing is kept after a statement');

# Many sets in one statement
$session->query_safe("SELECT nw_register('set ' || i, 'small') FROM generate_series(1, 500) AS i");
is($session->query_safe("SELECT count(nw_predict('[1,2,3,4]'::vector, 'set ' || i)) FROM generate_series(1, 500) AS i, generate_series(1, 3)"),
	'1500', 'many sets');
cmp_ok($session->query_safe('SELECT kept()'), '<', 100_000, 'nothing is kept after them');

$session->quit;
$node->stop;
done_testing();
