# The nw index on a streaming standby, while the primary writes and vacuums.
use strict;
use warnings;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use NwIndex;
use NwSession;

my $rounds = $ENV{NW_STANDBY_ROUNDS} // 60;

my $primary = PostgreSQL::Test::Cluster->new('primary');
# every page that is replayed is compared with the primary's
$primary->init(allows_streaming => 1, extra => ['--data-checksums']);
$primary->append_conf('postgresql.conf', "autovacuum = off\nmax_standby_streaming_delay = 5s\nwal_consistency_checking = 'generic'");
$primary->start;
install_helpers($primary);
$primary->safe_psql(
	'postgres', q{
	CREATE SEQUENCE ids;
	CREATE TABLE rows (id int DEFAULT nextval('ids'), embedding vector(24), label text, note text) WITH (fillfactor = 80);
	INSERT INTO rows (embedding, label) SELECT spot(i, i % 6, 24, 1), 'c' || i % 6 FROM generate_series(1, 1500) AS i;
	CREATE INDEX rows_nw ON rows USING nw (embedding) INCLUDE (label);
	SELECT nw_register('s', 'rows', tau => 0.05);
	CREATE TABLE queries (id int, e vector(24));
	INSERT INTO queries SELECT i, spot(i + 9000, i % 6, 24, 1) FROM generate_series(1, 3) AS i;
	CREATE TABLE wide (id int DEFAULT nextval('ids'), embedding vector(5000), label text);
	INSERT INTO wide (embedding, label) SELECT array_fill(i, ARRAY[5000])::vector, 'w' || i % 3 FROM generate_series(1, 100) AS i;
	CREATE INDEX wide_nw ON wide USING nw (embedding) INCLUDE (label);
	CREATE UNLOGGED TABLE unlogged (id int, embedding vector(24), label text);
	CREATE INDEX unlogged_nw ON unlogged USING nw (embedding) INCLUDE (label);
	INSERT INTO unlogged SELECT id, embedding, label FROM rows;
});
$primary->safe_psql('postgres', 'VACUUM rows');
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;

# Wait until the standby has all that the primary has done.
sub catch_up
{
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	return;
}

catch_up();
is($standby->safe_psql('postgres', "SELECT engines('s'), differences('s')"), 'index|0', 'the index serves on a standby');
is($standby->safe_psql('postgres', "SELECT engine FROM nw_index_work((SELECT e FROM queries WHERE id = 1), 's')"), 'index', 'by itself');
cmp_ok($standby->safe_psql('postgres', "SELECT nw_check_index('rows_nw')"), '==', 1500, 'and is sound');
is( $standby->safe_psql('postgres', "SELECT md5(string_agg(a, '')) FROM answers('s', 'index') AS a"),
	$primary->safe_psql('postgres', "SELECT md5(string_agg(a, '')) FROM answers('s', 'index') AS a"),
	'with the answers of the primary');

# A snapshot of the standby, which the primary knows of, while that changes rows
# and vacuums
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nwal_receiver_status_interval = 1");
$standby->reload;
my $session = open_session($standby);
$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
$session->query_safe('SELECT 1');
$primary->safe_psql('postgres', 'SELECT pg_current_xact_id()');
$primary->poll_query_until('postgres', 'SELECT backend_xmin IS NOT NULL FROM pg_stat_replication');
my $before = $session->query_safe("SELECT md5(string_agg(a, '')) FROM answers('s', 'index') AS a");
$primary->safe_psql('postgres', q{
	DELETE FROM rows WHERE id % 3 = 0;
	UPDATE rows SET embedding = spot(id, 8, 24, 1), label = 'moved' WHERE id % 4 = 0;
	INSERT INTO rows (embedding, label) SELECT spot(i, i % 9, 24, 1), 'new' || i % 9 FROM generate_series(1, 300) AS i;
	UPDATE rows SET note = 'hot' WHERE id % 5 = 0});
$primary->safe_psql('postgres', 'VACUUM rows');
catch_up();
is($session->query_safe("SELECT md5(string_agg(a, '')) FROM answers('s', 'index') AS a"), $before, 'a snapshot stays');
is($session->query_safe("SELECT differences('s'), engines('s')"), '0|index', 'and is right');
$session->query_safe('COMMIT');
is($session->query_safe("SELECT differences('s')"), '0', 'the changes arrive');
$session->quit;
$standby->append_conf('postgresql.conf', 'hot_standby_feedback = off');
$standby->reload;

# Readers on the standby, each under one snapshot, while the primary goes on
my %script = (
	insert => [ 6, q{
		\set n random(1, 20)
		\set k random(1, 1000000)
		INSERT INTO rows (embedding, label) SELECT spot(:k + i, (:k + i) % 6, 24, 1), 'c' || (:k + i) % 6 FROM generate_series(1, :n) AS i;} ],
	newcomer => [ 2, q{
		\set k random(1, 300)
		INSERT INTO rows (embedding, label) VALUES (spot(:k, :k, 24, 1), 'new' || :k);} ],
	update => [ 3, q{
		\set k random(0, 60)
		UPDATE rows SET embedding = spot(id + :k, id % 7, 24, 1), label = 'c' || id % 7 WHERE id % 61 = :k;} ],
	hot => [ 2, q{
		\set k random(0, 30)
		UPDATE rows SET note = 'x' WHERE id % 31 = :k;} ],
	delete => [ 3, q{
		\set k random(0, 18)
		DELETE FROM rows WHERE id % 19 = :k;} ],
	wide => [ 1, q{
		\set k random(1, 200)
		INSERT INTO wide (embedding, label) VALUES (array_fill(:k, ARRAY[5000])::vector, 'w' || :k % 5);
		DELETE FROM wide WHERE id % 200 = :k;} ],
	vacuum => [ 2, 'VACUUM rows, wide;' ]);
my @options;
foreach my $name (sort keys %script)
{
	my $file = $primary->basedir . "/$name.sql";
	append_to_file($file, $script{$name}[1] . "\n");
	push @options, '-f', "$file\@$script{$name}[0]";
}
my ($out, $err) = ('', '');
my $load = IPC::Run::start([ 'pgbench', '-n', '-c', '2', '-T', '600', '-R', '200', @options, $primary->connstr('postgres') ],
	'<', \undef, '>', \$out, '2>', \$err);
my ($right, $conflicts, $wrong) = (0, 0, 0);
foreach my $round (1 .. $rounds)
{
	my ($ret, $stdout, $stderr) = $standby->psql('postgres',
		"BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT differences('s'), engines('s'); SELECT pg_sleep(0.05); SELECT differences('s'), engines('s'); COMMIT");
	if ($ret == 0 && $stdout eq "0|index\n\n0|index")
	{
		$right++;
	}
	elsif ($stderr =~ /conflict with recovery/)
	{
		$conflicts++;
	}
	else
	{
		$wrong++;
		diag("$stdout\n$stderr");
	}
}
is($wrong, 0, 'no wrong answer, and no error but conflicts with recovery');
cmp_ok($right, '>', $rounds / 2, "right $right times ($conflicts conflicts)");

# The index can be checked while replay is paused
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
$standby->poll_query_until('postgres', "SELECT pg_get_wal_replay_pause_state() = 'paused'");
is($standby->safe_psql('postgres', "SELECT nw_check_index('rows_nw') > 0, nw_check_index('wide_nw') >= 0"), 't|t', 'sound in the midst of it');
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
$load->kill_kill(grace => 10);
unlike($err, qr/aborted|ERROR/, 'the primary went on meanwhile');

# Both are sound, and alike, once what the clients began has ended
$primary->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");
catch_up();
foreach my $index ('rows_nw', 'wide_nw')
{
	is( $standby->safe_psql('postgres', "SELECT nw_check_index('$index')"),
		$primary->safe_psql('postgres', "SELECT nw_check_index('$index')"),
		"$index is sound on both");
}
my $answers = $primary->safe_psql('postgres', "SELECT md5(string_agg(a, '')) FROM answers('s', 'index') AS a");
is($standby->safe_psql('postgres', "SELECT md5(string_agg(a, '')) FROM answers('s', 'index') AS a"), $answers, 'with the same answers');

# An index made anew, and one of an unlogged table
$primary->safe_psql('postgres', 'REINDEX INDEX CONCURRENTLY rows_nw');
catch_up();
is($standby->safe_psql('postgres', "SELECT engines('s'), differences('s'), nw_check_index('rows_nw') > 0"), 'index|0|t', 'after REINDEX CONCURRENTLY');

# Promotion
$primary->stop('immediate');
$standby->promote;
is($standby->safe_psql('postgres', "SELECT md5(string_agg(a, '')) FROM answers('s', 'index') AS a"), $answers, 'promoted, with the same answers');
is($standby->safe_psql('postgres', "SELECT nw_check_index('rows_nw') >= count(*), nw_check_index('unlogged_nw') FROM rows"), 't|0', 'and sound indexes');
$standby->safe_psql('postgres', q{
	INSERT INTO unlogged SELECT id, embedding, label FROM rows;
	INSERT INTO rows (embedding, label) SELECT spot(i, i % 9, 24, 1), 'later' || i % 9 FROM generate_series(1, 300) AS i;
	DELETE FROM rows WHERE id % 3 = 0});
$standby->safe_psql('postgres', 'VACUUM rows');
is($standby->safe_psql('postgres', "SELECT engines('s'), differences('s'), nw_check_index('rows_nw') = count(*), nw_check_index('unlogged_nw') > 0 FROM rows"), 'index|0|t|t', 'that take rows');
$standby->stop;
done_testing();
