# Prepared transactions: what they did counts when they are committed, and not before.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use NwIndex;
use NwSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "max_prepared_transactions = 10\nautovacuum = off\nlock_timeout = '10s'");
$node->start;
install_helpers($node);
$node->safe_psql(
	'postgres', q{
	CREATE TABLE rows (id int, embedding vector(8), label text);
	INSERT INTO rows SELECT i, spot(i, i % 4, 8, 0.5), 'c' || i % 4 FROM generate_series(1, 400) AS i;
	CREATE INDEX rows_nw ON rows USING nw (embedding) INCLUDE (label);
	CREATE TABLE queries AS SELECT i AS id, spot(i + 9000, i % 4, 8, 0.5) AS e FROM generate_series(1, 3) AS i;
	SELECT nw_register('s', 'rows', tau => 0.2);
});
$node->safe_psql('postgres', 'VACUUM rows');

my $sets = "SELECT string_agg(name || ' ' || tau, ' ' ORDER BY name) FROM nw_sets";
my $sound = "SELECT nw_check_index('rows_nw') >= count(*), differences('s'), engines('s') FROM rows";
my $far = "SELECT nw_predict(array_fill(50, ARRAY[8])::vector, 's')";

# Everything that a transaction can do with the extension
my $work = q{
	SELECT count(nw_predict(e, 's')) FROM queries;
	INSERT INTO rows SELECT 1000 + i, array_fill(50 + i % 3, ARRAY[8])::vector, 'far' FROM generate_series(1, 30) AS i;
	DELETE FROM rows WHERE id % 10 = 3;
	UPDATE rows SET embedding = spot(id, 7, 8, 0.5) WHERE id % 10 = 4;
	SELECT nw_register('new', 'rows', tau => 0.75);
	SELECT nw_set_tau('s', 0.25);
	SELECT nw_distill('s', 'few', k => 2, calibrate => false);
	SELECT nw_diagnose('new', 'new', 1);
	SELECT nw_predict(e, 'few'), nw_predict(e, 's') FROM queries;
};

# Prepare that work, and return what a prediction inside it said.
sub prepare
{
	my ($name) = @_;
	my $before = $node->safe_psql('postgres', $far);
	isnt($before, 'far', "$name: before");
	my $inside = $node->safe_psql('postgres', "BEGIN; $work $far; PREPARE TRANSACTION '$name'");
	is((split /\n/, $inside)[-1], 'far', "$name: a prediction inside sees the transaction's own rows");
	return;
}

# What others see while the transaction is prepared.
sub unchanged
{
	my ($name) = @_;
	is($node->safe_psql('postgres', $sets), 's 0.2', "$name: no set is changed yet");
	isnt($node->safe_psql('postgres', $far), 'far', "$name: no row counts yet");
	is($node->safe_psql('postgres', "SELECT differences('s'), engines('s')"), '0|index', "$name: both engines agree");
	is($node->safe_psql('postgres', "SELECT count(*) FROM nw_prototypes"), '0', "$name: no prototypes yet");
	my ($ret, $stdout, $stderr) = $node->psql('postgres', "SELECT nw_predict('[1,2,3,4,5,6,7,8]', 'few')");
	like($stderr, qr/"few" does not exist|set "few"/, "$name: and no such set");
	return;
}

prepare('undone');
unchanged('undone');
$node->safe_psql('postgres', "ROLLBACK PREPARED 'undone'");
unchanged('rolled back');
$node->safe_psql('postgres', 'VACUUM rows');
is($node->safe_psql('postgres', $sound), 't|0|index', 'the index is sound after the rollback');

# Prepared, then a crash: it is there still, and its locks with it
prepare('kept');
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', 'SELECT gid FROM pg_prepared_xacts'), 'kept', 'a prepared transaction outlives a crash');
unchanged('after a crash');
my ($ret, $stdout, $stderr) = $node->psql('postgres', "SET lock_timeout = '200ms'; SELECT nw_set_tau('s', 3)");
like($stderr, qr/lock timeout/, 'a set that it changes is locked');
$node->safe_psql('postgres', 'VACUUM rows');
is($node->safe_psql('postgres', "SELECT differences('s'), engines('s')"), '0|index', 'vacuum goes on');

# A session that has everything cached sees the commit
my $session = open_session($node);
isnt($session->query_safe($far), 'far', 'a session before the commit');
$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
my $old = $session->query_safe("SELECT md5(string_agg(a, '')) FROM answers('s', 'index') AS a");
$node->safe_psql('postgres', "COMMIT PREPARED 'kept'");
is($session->query_safe("SELECT md5(string_agg(a, '')) FROM answers('s', 'index') AS a"), $old, 'a snapshot stays');
is($session->query_safe("SELECT differences('s')"), '0', 'in both engines');
$session->query_safe('COMMIT');
is($session->query_safe($far), 'far', 'and then sees the rows');
$session->quit;
is($node->safe_psql('postgres', $sets), 'few 0.25 new 0.75 s 0.25', 'the sets are there');
is($node->safe_psql('postgres', "SELECT count(*) > 0, bool_and(set = 'few') FROM nw_prototypes"), 't|t', 'and the prototypes');
is($node->safe_psql('postgres', "SELECT count(*) > 0 FROM nw_suspect_supports WHERE support = 'new'"), 't', 'and the diagnosis');
is($node->safe_psql('postgres', $sound), 't|0|index', 'the index is sound');

# A prepared build, and a prepared removal
$node->safe_psql('postgres', q{
	BEGIN;
	DROP INDEX rows_nw;
	CREATE INDEX rows_nw ON rows USING nw (embedding) INCLUDE (label) WITH (lists = 3);
	SELECT nw_unregister('new');
	PREPARE TRANSACTION 'build'});
$node->restart;
is($node->safe_psql('postgres', "SELECT count(*) FROM nw_sets WHERE name = 'new'"), '1', 'a set is removed');
$node->safe_psql('postgres', "COMMIT PREPARED 'build'");
is($node->safe_psql('postgres', "SELECT count(*) FROM nw_sets WHERE name = 'new'"), '0', 'once that is committed');
is($node->safe_psql('postgres', $sound), 't|0|index', 'an index built in a prepared transaction is sound');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts'), '0', 'nothing is left');

unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal|leak/, 'no complaint in the log');
$node->stop;
done_testing();
