# Long predictions end when they are asked to.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);
use NwSession;

# Generous: a cancelled statement ends within milliseconds.
my $patience = 5;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nmax_parallel_workers_per_gather = 0");
$node->start;

$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION nwhead CASCADE;
	CREATE UNLOGGED TABLE rows AS SELECT i AS id, ARRAY[i, i % 100, i % 10, 1]::vector AS embedding, 'c' || i % 50 AS label
		FROM generate_series(1, 20000) AS i;
	SELECT nw_register('s', 'rows', tau => 1);
	CREATE VIEW endless AS SELECT a.id, a.embedding, a.label FROM rows AS a, rows AS b, rows AS c;
	SELECT nw_register('endless', 'endless', tau => 1);
	CREATE UNLOGGED TABLE many AS SELECT i AS id, ARRAY[i]::vector AS embedding, i % 1000 AS label FROM generate_series(1, 2000) AS i;
	SELECT nw_register('many', 'many', tau => 1);
});

# statements that take minutes at least
my %statements = (
	'a long scan' => "SELECT nw_predict('[1,2,3,4]', 'endless')",
	'a long scan for all weights' => "SELECT count(*) FROM nw_weights('[1,2,3,4]', 'endless', 10)",
	'many packed predictions' => "SELECT count(nw_predict(a.embedding, 's')) FROM rows AS a, rows AS b",
	'many packed predictions with ids' => "SELECT count(*) FROM rows AS a, rows AS b, nw_weights(a.embedding, 's') AS w",
	'many streamed predictions' =>
	  "SET nwhead.statement_cache = 0; SELECT count(nw_predict(a.embedding, 's')) FROM rows AS a, rows AS b",
	'a loop' => q{DO $$ DECLARE q vector := '[1,2,3,4]'; BEGIN LOOP PERFORM nw_predict(q, 's'); END LOOP; END $$},
	'many temperatures' => "SELECT count(*) FROM nw_temperature_sweep('many', 'many', steps => 10000)",
	'many values' => "SELECT count(*) FROM nw_shapley('s')",
	'a long calibration' => "SELECT nw_calibrate('many', low => 0.5, high => 3, steps => 10000)",
	'a long vote' =>
	  "SELECT nw_vote(label, embedding <-> '[1,2,3,4]') FROM endless");

foreach my $name (sort keys %statements)
{
	my $start = time;
	my ($ret, $stdout, $stderr) =
	  $node->psql('postgres', "SET statement_timeout = '300ms'; $statements{$name}");
	like($stderr, qr/canceling statement due to statement timeout/, "statement_timeout ends $name");
	cmp_ok(time - $start, '<', $patience, 'soon');
}

# pg_cancel_backend, and the session goes on
my $session = open_session($node, on_error_stop => 0);
my $pid = $session->query_safe('SELECT pg_backend_pid()');
foreach my $name ('a long scan', 'many packed predictions')
{
	$session->query_until(qr/begin/, "\\echo begin\n$statements{$name};\n");
	$node->poll_query_until('postgres',
		"SELECT state = 'active' AND query LIKE '%nw_predict%' AND now() - query_start > '300ms' FROM pg_stat_activity WHERE pid = $pid");
	my $start = time;
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
	$session->query('SELECT 1');
	like($session->{stderr}, qr/canceling statement due to user request/, "pg_cancel_backend ends $name");
	cmp_ok(time - $start, '<', $patience, 'soon');
	$session->{stderr} = '';
	is($session->query("SELECT nw_predict('[1,1,1,1]', 's')"), 'c1', 'the session predicts as before');
}
is($session->query("SELECT coalesce(sum(total_bytes), 0) < 100000 FROM pg_backend_memory_contexts WHERE name LIKE 'nwhead%'"),
	't', 'and holds no memory');

# in a subtransaction, and with work to go on with
is( $session->query(q{
		SET statement_timeout = '300ms';
		DO $$
		BEGIN
			PERFORM count(nw_predict(a.embedding, 's')) FROM rows AS a, rows AS b;
		EXCEPTION WHEN query_canceled THEN
			PERFORM set_config('test.answer', nw_predict('[1,1,1,1]'::vector, 's'), false);
		END
		$$;
		RESET statement_timeout;
		SELECT current_setting('test.answer');}),
	'c1',
	'a handler predicts after a cancellation');
$session->quit;

# pg_terminate_backend
my $doomed = open_session($node, on_error_stop => 0);
$pid = $doomed->query_safe('SELECT pg_backend_pid()');
$doomed->query_until(qr/begin/, "\\echo begin\n$statements{'many packed predictions'};\n");
$node->poll_query_until('postgres',
	"SELECT state = 'active' AND now() - query_start > '300ms' FROM pg_stat_activity WHERE pid = $pid");
my $start = time;
is($node->safe_psql('postgres', "SELECT pg_terminate_backend($pid, 10000)"), 't', 'pg_terminate_backend ends a session');
cmp_ok(time - $start, '<', $patience, 'soon');
eval { $doomed->quit };

is($node->safe_psql('postgres', "SELECT nw_predict('[1,1,1,1]', 's')"), 'c1', 'the server is well');

$node->stop;
done_testing();
