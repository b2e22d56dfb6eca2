# Distilling: memory, cancellation, progress, and two at once.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use NwSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nmax_parallel_workers_per_gather = 0\njit = off");
$node->start;

$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION nwhead CASCADE;
	CREATE UNLOGGED TABLE rows AS
		SELECT i AS id, (SELECT array_agg(sin(i * 0.37 * (j + 1))) FROM generate_series(1, 64) AS j)::vector AS embedding, 'c' || i % 4 AS label
		  FROM generate_series(1, 16000) AS i;
	CREATE TABLE small AS SELECT id, subvector(embedding, 1, 4)::vector(4) AS embedding, label FROM rows WHERE id <= 80;
	SELECT nw_register('s', 'rows', tau => 0.5);
	SELECT nw_register('cosine', 'rows', kernel => 'cosine', tau => 0.1);
	SELECT nw_register('small', 'small', tau => 0.5);
	CREATE VIEW state AS SELECT (SELECT string_agg(concat_ws(' ', name, mode, k, version), ', ' ORDER BY name) FROM nw_registry) AS sets,
		(SELECT md5(string_agg(p::text, ';' ORDER BY set, label, ordinal)) FROM nw_prototypes AS p) AS prototypes;
	SELECT nw_distill('small', 'few', k => 3);
});
my $state = 'SELECT * FROM state';
my $before = $node->safe_psql('postgres', $state);

# Run a statement; return its error.
sub error_of
{
	my ($sql) = @_;
	my ($ret, $stdout, $stderr) = $node->psql('postgres', $sql);
	return $stderr;
}

# Memory: checked before anything is written, whichever part is too large
foreach my $case (
	[ "the set's rows", "SET maintenance_work_mem = '1MB'; SELECT nw_distill('s', 'few')" ],
	[ 'k-means', "SET maintenance_work_mem = '12MB'; SELECT nw_distill('s', 'few', k => 2000, calibrate => false)" ],
	[ 'copies of length 1', "SET maintenance_work_mem = '5MB'; SELECT nw_distill('cosine', 'few', calibrate => false)" ])
{
	like(error_of("\\set VERBOSITY verbose\n$case->[1]"), qr/ERROR:  54000: distilling needs more memory than maintenance_work_mem.*HINT:  Raise/s,
		"too little memory for $case->[0]");
	is($node->safe_psql('postgres', $state), $before, 'nothing is written');
}

# The bound holds for what is really taken: the process stays near it
SKIP:
{
	skip 'no /proc here', 2 unless -r "/proc/$$/status";
	my %peak;
	foreach my $set ('s', 'cosine')
	{
		my $session = open_session($node);
		my $pid = $session->query_safe('SELECT pg_backend_pid()');
		$session->query_safe("SET maintenance_work_mem = '32MB'");
		# what the process takes anyway: table and catalogs in shared buffers
		$session->query_safe("SELECT count(embedding) FROM rows");
		$session->query_safe("SELECT nw_distill('small', 'warm')");
		my $peak = sub { slurp_file("/proc/$pid/status") =~ /VmHWM:\s+(\d+) kB/ ? $1 : die };
		my $start = $peak->();
		$session->query_safe("SELECT nw_distill('$set', 'measured', k => 2)");
		$peak{$set} = $peak->() - $start;
		cmp_ok($peak{$set}, '<', 2 * 32 * 1024, "a distillation takes less than twice maintenance_work_mem ($set: $peak{$set} kB)");
		$session->query_safe("SELECT nw_unregister('measured'); SELECT nw_unregister('warm');");
		$session->quit;
	}
}

# Cancellation leaves nothing
foreach my $mode ('cluster', 'closest', 'random')
{
	like(error_of("SET statement_timeout = '250ms'; SELECT nw_distill('s', 'few', '$mode', k => 1500)"),
		qr/canceling statement due to statement timeout/, "$mode: a timeout");
	is($node->safe_psql('postgres', $state), $before, 'the set is as it was');
}
$node->safe_psql('postgres', 'CREATE VIEW endless AS SELECT a.id, a.embedding, a.label FROM rows AS a, rows AS b');
$node->safe_psql('postgres', "SELECT nw_register('endless', 'endless', tau => 0.5)");
foreach my $statement (
	"SELECT nw_distill('endless', 'new')",
	"SELECT count(*) FROM nw_predict_set('s', 'endless')",
	"SELECT nw_evaluate('endless', 's')",
	"SELECT count(*) FROM nw_temperature_sweep('s', 's', 0.01, 1, 10000)",
	"SELECT nw_calibrate('endless')",
	"SELECT nw_calibrate('s', 's', 0.01, 1, 10000)",
	"SELECT count(*) FROM nw_suspects('s')",
	"SELECT nw_diagnose('s', 's')",
	"SET nwhead.statement_cache = '64kB'; SELECT count(*) FROM nw_predict_set('s', 's')")
{
	like(error_of("SET statement_timeout = '250ms'; SET maintenance_work_mem = '1GB'; $statement"),
		qr/canceling statement due to statement timeout/, "a timeout ends $statement");
}
is($node->safe_psql('postgres', 'SELECT count(*) FROM nw_suspect_supports'), '0', 'no diagnosis is left');
$node->safe_psql('postgres', "SELECT nw_unregister('endless')");
is($node->safe_psql('postgres', $state), $before, 'nor anything else');

# Progress is where people look, and is gone afterwards
my $session = open_session($node, on_error_stop => 0);
my $pid = $session->query_safe('SELECT pg_backend_pid()');
foreach my $case (
	[ "SELECT nw_distill('s', 'new', k => 400, calibrate => false)", 'distilling class \d+ of 4' ],
	[ "SELECT nw_distill('s', 'new', k => 400)", 'calibrating class \d+ of 4' ],
	[ "SELECT count(*) FROM nw_suspects('s')", 'checking support \d+ of 16000' ],
	[ "SELECT nw_diagnose('s', 's')", 'diagnosing query \d+' ])
{
	my ($statement, $shown) = @$case;
	$session->query_until(qr/begin/, "\\echo begin\n$statement;\n");
	my $seen = $node->poll_query_until('postgres', "SELECT query ~ '/\\* $shown \\*/' FROM pg_stat_activity WHERE pid = $pid");
	ok($seen, "progress of $statement");
	like($node->safe_psql('postgres', "SELECT state || ' ' || query FROM pg_stat_activity WHERE pid = $pid"),
		qr/^active \Q$statement\E/, 'behind the statement');
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
	$session->query('SELECT 1');
	like($session->{stderr}, qr/canceling statement due to user request/, 'and it can be cancelled');
	$session->{stderr} = '';
}
is($session->query_safe("SELECT nw_distill('small', 'again', k => 2)"), '8', 'the session distils as before');
like($node->safe_psql('postgres', "SELECT query FROM pg_stat_activity WHERE pid = $pid"),
	qr/^SELECT nw_distill\('small', 'again', k => 2\)\s*;?$/, 'no progress is left behind a statement that is done');
$session->query_safe("SELECT nw_unregister('again')");
is($session->query("SELECT coalesce(sum(total_bytes), 0) < 200000 FROM pg_backend_memory_contexts WHERE name LIKE 'nwhead%'"),
	't', 'and no memory');
is($node->safe_psql('postgres', $state), $before, 'no set was left half-made');

# Two at once: the second waits, then fails or finds the name taken
my $other = open_session($node, on_error_stop => 0);
my $other_pid = $other->query_safe('SELECT pg_backend_pid()');
foreach my $case (
	[ 'few', qr/ERROR:  40001: set "few" was changed by a concurrent transaction/, 'distilling anew' ],
	[ 'fresh', qr/ERROR:  42710: set "fresh" is already registered/, 'distilling under a new name' ])
{
	my ($name, $error, $title) = @$case;
	$session->query_safe("BEGIN; SELECT nw_distill('small', '$name', k => 1, calibrate => false);");
	$other->query_until(qr/begin/, "\\set VERBOSITY verbose\n\\echo begin\nSELECT nw_distill('small', '$name', k => 2, calibrate => false);\n");
	ok( $node->poll_query_until('postgres', "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $other_pid"),
		"$title: the second waits");
	$session->query_safe('COMMIT');
	$other->query('SELECT 1');
	like($other->{stderr}, $error, 'and says why it cannot');
	$other->{stderr} = '';
	is($node->safe_psql('postgres', "SELECT k, (SELECT count(*) FROM nw_prototypes WHERE set = name) FROM nw_sets WHERE name = '$name'"),
		'1|4', 'the first counts, alone');
}
$_->quit for $session, $other;

# Writes while distilling: one snapshot for all
is( $node->safe_psql('postgres', q{
		BEGIN ISOLATION LEVEL REPEATABLE READ;
		SELECT count(*) FROM small;
		SELECT nw_distill('small', 'few', k => 1, calibrate => false);
		INSERT INTO small VALUES (1000, '[9,9,9,9]', 'own');
		SELECT nw_distill('small', 'few', k => 1, calibrate => false);
		SELECT string_agg(label, ' ' ORDER BY label) FROM nw_prototypes WHERE set = 'few';
		ROLLBACK;}),
	"80\n4\n5\nc0 c1 c2 c3 own",
	'a transaction distils its own rows');

# Read-only transactions evaluate and predict, and distil nothing
is( $node->safe_psql('postgres', q{
		BEGIN READ ONLY;
		SELECT nw_predict('[1,1,1,1]', 'few') IS NOT NULL;
		SELECT n FROM nw_evaluate('few', 'small');
		SELECT count(*) > 0 FROM nw_suspects('small');
		ROLLBACK;}),
	"t\n80\nt",
	'a read-only transaction');
foreach my $write ("nw_distill('small', 'few')", "nw_calibrate('small')", "nw_diagnose('small', 'small')")
{
	like(error_of("BEGIN READ ONLY; SELECT $write"), qr/cannot execute \w+ in a read-only transaction/, "$write does not run in one");
}

# Renamed schemas, and an extension created anew, in a session that has them cached
$node->safe_psql('postgres', 'CREATE DATABASE moved');
is( $node->safe_psql('moved', q{
		CREATE EXTENSION vector;
		CREATE SCHEMA x;
		CREATE EXTENSION nwhead SCHEMA x;
		CREATE TABLE rows AS SELECT i AS id, ARRAY[i % 5, i % 7]::vector(2) AS embedding, 'old' AS label FROM generate_series(1, 20) AS i;
		SELECT x.nw_register('s', 'rows', tau => 1);
		SELECT x.nw_distill('s', 'few', calibrate => false);
		SELECT x.nw_predict('[1,1]', 'few');
		ALTER SCHEMA x RENAME TO y;
		SELECT y.nw_predict('[1,1]', 'few');
		UPDATE rows SET label = 'new';
		SELECT y.nw_distill('s', 'few', calibrate => false);
		SELECT y.nw_set_tau('few', 2);
		SELECT y.nw_predict('[1,1]', 'few');
		SELECT y.nw_diagnose('s', 's', 1) > 0;
		SELECT y.nw_unregister('few');}),
	"\n1\nold\nold\n1\n\nnew\nt\n",
	'a schema renamed in the middle of a session');
is( $node->safe_psql('moved', q{
		DROP EXTENSION nwhead;
		CREATE EXTENSION nwhead;
		UPDATE rows SET label = 'first';
		SELECT nw_register('s', 'rows', tau => 1);
		SELECT nw_distill('s', 'few', calibrate => false);
		SELECT nw_predict('[1,1]', 'few');
		DROP EXTENSION nwhead;
		CREATE EXTENSION nwhead;
		UPDATE rows SET label = 'second';
		SELECT nw_register('s', 'rows', tau => 1);
		SELECT nw_distill('s', 'few', calibrate => false);
		SELECT nw_predict('[1,1]', 'few');}),
	"\n1\nfirst\n\n1\nsecond",
	'an extension dropped and created anew');

$node->stop;
done_testing();
