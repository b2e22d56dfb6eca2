# Read-only servers and transactions: predictions work, changes are refused.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use NwSession;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->start;
$primary->safe_psql(
	'postgres', q{
	CREATE EXTENSION nwhead CASCADE;
	CREATE TABLE rows (id int, embedding vector(2), label text);
	INSERT INTO rows SELECT i, ARRAY[i % 13, i % 7]::vector, 'c' || i % 5 FROM generate_series(1, 300) AS i;
	CREATE TABLE queries AS SELECT id, embedding AS e FROM rows WHERE id <= 20;
	SELECT nw_register('s', 'rows');
});

$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;

my $answers = q{SELECT string_agg(q.id || p::text, ' ' ORDER BY q.id, p.label) FROM queries AS q, nw_predict_proba(e, 's') AS p};
my $expected = $primary->safe_psql('postgres', $answers);
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('write'));
is($standby->safe_psql('postgres', $answers), $expected, 'a standby gives the same digits');

# Changes arrive, also between two statements of a transaction
my $session = open_session($standby);
my $predict = "SELECT nw_predict('[100,100]', 's')";
$session->query_safe('BEGIN');
isnt($session->query_safe($predict), 'new', 'before a change');
$primary->safe_psql('postgres', "INSERT INTO rows VALUES (1000, '[100,100]', 'new')");
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('write'));
is($session->query_safe($predict), 'new', 'after it');
$session->query_safe('COMMIT');
$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
is($session->query_safe($predict), 'new', 'a snapshot');
$primary->safe_psql('postgres', "DELETE FROM rows WHERE id = 1000; SELECT nw_set_tau('s', 2)");
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('write'));
is($session->query_safe($predict), 'new', 'that stays');
$session->query_safe('COMMIT');
is($session->query_safe("SELECT tau FROM nw_sets"), '2', 'a changed tau arrives');
is( $session->query_safe(q{
		SELECT bool_and(x = y) FROM (SELECT nw_predict(e, 's') AS x, nw_argmax(r.label, r.embedding <-> q.e, 2) AS y
			FROM queries AS q, rows AS r GROUP BY q.e) AS t}),
	't',
	'and is used');
$session->quit;

# Nothing is written
foreach my $change ("nw_register('t', 'rows')", "nw_set_tau('s', 3)", "nw_unregister('s')",
	"nw_register('s', 'rows', replace => true)")
{
	my ($ret, $stdout, $stderr) = $standby->psql('postgres', "SELECT $change");
	like($stderr, qr/read-only transaction|during recovery/, "a standby refuses $change");
	($ret, $stdout, $stderr) = $primary->psql('postgres', "BEGIN READ ONLY; SELECT $change");
	like($stderr, qr/read-only transaction/, 'and so does a read-only transaction');
}
is($primary->safe_psql('postgres', "BEGIN READ ONLY; SELECT nw_predict('[0,0]', 's') IS NOT NULL"), 't', 'which predicts');

$standby->stop;
$primary->stop;
done_testing();
