# Hot standby under vacuum: a snapshot there keeps its answers, whichever engine and
# cache gives them, or is cancelled; it is never wrong.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use NwIndex;
use NwSession;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', "autovacuum = off\nwal_receiver_status_interval = 1");
$primary->start;
install_helpers($primary);
$primary->safe_psql(
	'postgres', q{
	CREATE TABLE rows (id int, embedding vector(12), label text, note text) WITH (fillfactor = 70);
	INSERT INTO rows SELECT i, spot(i, i % 5, 12, 1), 'c' || i % 5 FROM generate_series(1, 1200) AS i;
	CREATE INDEX rows_nw ON rows USING nw (embedding) INCLUDE (label);
	CREATE TABLE queries AS SELECT i AS id, spot(i + 9000, i % 5, 12, 1) AS e FROM generate_series(1, 6) AS i;
	SELECT nw_register('s', 'rows', tau => 0.1);
	SELECT nw_distill('s', 'few', k => 2, calibrate => false);
	-- the probabilities of all queries in one statement, with a cache of some size
	CREATE FUNCTION cached(size text, engine text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		answer text;
	BEGIN
		PERFORM set_config('nwhead.statement_cache', size, true), set_config('nwhead.engine', engine, true);
		SELECT md5(string_agg(q.id || p::text, ' ' ORDER BY q.id, p.label)) || ' ' || string_agg(DISTINCT nw_predict(e, 's'), ' ')
			|| ' ' || string_agg(DISTINCT nw_predict(e, 'few'), ' ')
		  INTO answer FROM queries AS q, nw_predict_proba(q.e, 's') AS p;
		RETURN answer;
	END $$;
	-- probabilities by plain SQL
	CREATE FUNCTION naive() RETURNS text LANGUAGE sql AS $$
		SELECT string_agg(id || l || round(p::numeric, 4), ' ' ORDER BY id, l) FROM (
			SELECT q.id, label AS l, sum(exp(-(embedding <-> e) / 0.1)) / sum(sum(exp(-(embedding <-> e) / 0.1))) OVER (PARTITION BY q.id) AS p
			  FROM queries AS q, rows GROUP BY q.id, label) AS t $$;
	CREATE FUNCTION by_index() RETURNS text LANGUAGE sql SET nwhead.engine = index AS $$
		SELECT string_agg(id || label || round(probability::numeric, 4), ' ' ORDER BY id, label) FROM queries, nw_predict_proba(e, 's') $$;
});
$primary->safe_psql('postgres', 'VACUUM rows');
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->append_conf('postgresql.conf', "max_standby_streaming_delay = -1\nhot_standby_feedback = on");
$standby->start;

# Wait until the standby has all that the primary has done.
sub catch_up
{
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	return;
}

# Ask a session everything; all ways have to agree.
sub consistent
{
	my ($session, $name) = @_;
	my %answer;
	foreach my $engine ('index', 'executor', 'auto')
	{
		$answer{ $session->query_safe("SELECT cached('$_', '$engine')") } = 1 foreach '0', '64MB';
	}
	is(scalar keys %answer, 1, "$name: engines and caches agree");
	is($session->query_safe('SELECT naive() = by_index()'), 't', "$name: and plain SQL with them");
	is($session->query_safe("SELECT differences('s', 6)"), '0', "$name: label by label, weight by weight");
	return (keys %answer)[0];
}

my @rounds = (
	q{DELETE FROM rows WHERE id % 3 = 0},
	q{UPDATE rows SET embedding = spot(id, 8, 12, 1), label = 'moved' WHERE id % 4 = 1},
	q{INSERT INTO rows SELECT 5000 + i, spot(i, i % 9, 12, 1), 'new' || i % 9 FROM generate_series(1, 400) AS i},
	q{UPDATE rows SET note = 'hot' WHERE id % 5 = 0; SELECT nw_set_tau('s', 0.2); SELECT nw_distill('s', 'few', k => 1, calibrate => false)},
	q{DELETE FROM rows WHERE id % 2 = 0; INSERT INTO rows SELECT 7000 + i, spot(i, 3, 12, 1), 'again' FROM generate_series(1, 300) AS i});

# With feedback: the primary keeps what the snapshot needs
catch_up();
my $session = open_session($standby);
$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
my $first = consistent($session, 'at first');
$primary->poll_query_until('postgres', 'SELECT backend_xmin IS NOT NULL FROM pg_stat_replication');
my $number = 0;
foreach my $change (@rounds)
{
	$number++;
	$primary->safe_psql('postgres', $change);
	$primary->safe_psql('postgres', 'VACUUM rows');
	catch_up();
	is(consistent($session, "round $number"), $first, "round $number: the snapshot has not moved");
}
is($standby->safe_psql('postgres', "SELECT nw_check_index('rows_nw') > 0"), 't', 'the index is sound there meanwhile');
$session->query_safe('COMMIT');
# naive() has the temperature of the beginning
$primary->safe_psql('postgres', "SELECT nw_set_tau('s', 0.1)");
catch_up();
isnt(consistent($session, 'a new snapshot'), $first, 'a new snapshot has the changes');

# An index that was made while the snapshot was there may lack rows that only it can see
foreach my $rebuild ('REINDEX INDEX CONCURRENTLY page_nw', 'REINDEX INDEX page_nw', 'VACUUM FULL page',
	'DROP INDEX page_nw; CREATE INDEX CONCURRENTLY page_nw ON page USING nw (embedding) INCLUDE (label)')
{
	$primary->safe_psql('postgres', q{
		DROP TABLE IF EXISTS page;
		CREATE TABLE page AS SELECT i AS id, spot(i, i % 3, 12, 1)::vector(12) AS embedding, 'p' || i % 3 AS label FROM generate_series(1, 30) AS i;
		CREATE INDEX page_nw ON page USING nw (embedding) INCLUDE (label);
		SELECT nw_register('page', 'page', tau => 0.1, replace => true)});
	catch_up();
	$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
	# the table of the set is not locked by this
	$session->query_safe('SELECT count(*) FROM queries');
	$primary->poll_query_until('postgres', 'SELECT backend_xmin IS NOT NULL FROM pg_stat_replication');
	$primary->safe_psql('postgres', 'DELETE FROM page WHERE id % 2 = 0');
	$primary->safe_psql('postgres', $_) foreach split /; /, $rebuild;
	catch_up();
	is($session->query_safe("SELECT count(*), differences('page') FROM page"), '30|0', "$rebuild: an older snapshot has all its rows");
	$session->query_safe('COMMIT');
	is($session->query_safe("SELECT engines('page'), differences('page')"), 'index|0', "$rebuild: the index serves again");
}

# Without feedback: replay waits for the snapshot, and goes on when that is gone
$standby->append_conf('postgresql.conf', 'hot_standby_feedback = off');
$standby->reload;
$primary->poll_query_until('postgres', 'SELECT backend_xmin IS NULL FROM pg_stat_replication');
$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
$first = consistent($session, 'without feedback');
$primary->safe_psql('postgres', 'DELETE FROM rows WHERE id % 5 = 1');
$primary->safe_psql('postgres', 'VACUUM rows');
my $end = $primary->lsn('insert');
$primary->wait_for_catchup($standby, 'flush', $end);
is(consistent($session, 'while replay waits'), $first, 'while replay waits: the snapshot has not moved');
is($standby->safe_psql('postgres', "SELECT pg_last_wal_replay_lsn() < '$end'"), 't', 'replay does wait');
$session->query_safe('COMMIT');
catch_up();
isnt(consistent($session, 'after that'), $first, 'and goes on afterwards');

# Without patience: the session is cancelled, and never told anything wrong
$standby->append_conf('postgresql.conf', 'max_standby_streaming_delay = 0');
$standby->reload;
my $impatient = open_session($standby, on_error_stop => 0);
$impatient->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
$first = $impatient->query_safe("SELECT cached('0', 'index')");
$primary->safe_psql('postgres', 'DELETE FROM rows WHERE id % 7 = 1');
$primary->safe_psql('postgres', 'VACUUM rows');
catch_up();
# the session may be ended, too
my $answer = eval { $impatient->query("SELECT cached('0', 'index')") } // '';
my $complaint = $impatient->{stderr} . $@;
ok($complaint =~ /conflict with recovery|terminating connection/ || $answer eq $first, 'a snapshot that is in the way is cancelled, or right')
	or diag("$answer\n$complaint");
eval { $impatient->quit };
is(consistent($session, 'in the end'), $session->query_safe("SELECT cached('0', 'executor')"), 'the standby answers as before');
$session->quit;

is( $standby->safe_psql('postgres', "SELECT cached('64MB', 'index')"),
	$primary->safe_psql('postgres', "SELECT cached('64MB', 'index')"),
	'and as its primary');
foreach my $node ($primary, $standby)
{
	unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal|leak/, 'no complaint in the log of ' . $node->name);
}
$standby->stop;
$primary->stop;
done_testing();
