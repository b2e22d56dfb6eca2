# The nw index: predictions see exactly the rows that the executor sees.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use NwIndex;
use NwSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', 'client_min_messages = error'); # a session of the test fails at any message
$node->append_conf('postgresql.conf', "max_prepared_transactions = 5\nautovacuum = off");
$node->start;
install_helpers($node);
$node->safe_psql(
	'postgres', q{
	CREATE TABLE rows (id int, embedding vector(6), label text, note text) WITH (fillfactor = 50);
	INSERT INTO rows SELECT i, spot(i, i % 4, 6, 1), 'c' || i % 4 FROM generate_series(1, 800) AS i;
	CREATE TABLE queries (id int, e vector(6));
	INSERT INTO queries VALUES (1, '[9,9,9,9,9,9]'), (2, spot(5000, 2, 6, 1)), (3, '[0,0,0,0,0,0]');
	CREATE INDEX rows_nw ON rows USING nw (embedding) INCLUDE (label);
	VACUUM rows;
	SELECT nw_register('s', 'rows', tau => 0.05);
});
my $far = q{'[9,9,9,9,9,9]'};
my $predict = "SELECT nw_predict($far, 's')";
my $differences = "SELECT differences('s')";

my $session = open_session($node);
my $other = open_session($node);
$_->query_safe('SET nwhead.engine = index') foreach $session, $other;
is($session->query_safe("SELECT engines('s')"), 'index', 'the index answers');

# Insist on a label, in a session that asks for the index, and that all else is
# what the executor says under the same snapshot.
sub sees
{
	my ($who, $label, $name) = @_;
	is($who->query_safe($predict), $label, $name);
	is($who->query_safe($differences), '0', "$name: both engines");
	return;
}

# Put the table back as it was, with or without a visibility map.
sub reset_rows
{
	$node->safe_psql('postgres', 'DELETE FROM rows WHERE id > 800');
	$node->safe_psql('postgres', 'VACUUM rows') if shift;
	return;
}

my $near = $session->query_safe($predict);

# Uncommitted changes: one's own only
foreach my $vacuum (1, 0)
{
	$session->query_safe("BEGIN; INSERT INTO rows VALUES (801, $far, 'own');");
	sees($session, 'own', "the transaction's own insertion");
	sees($other, $near, 'which nobody else sees');
	$session->query_safe("UPDATE rows SET label = 'changed' WHERE id = 801");
	sees($session, 'changed', 'its own update');
	$session->query_safe("UPDATE rows SET note = 'hot' WHERE id = 801");
	sees($session, 'changed', 'its own update that leaves the index alone');
	$session->query_safe('DELETE FROM rows WHERE id = 801');
	sees($session, $near, 'its own deletion');
	$session->query_safe("UPDATE rows SET label = 'all'");
	sees($session, 'all', 'its own change of every row');
	sees($other, $near, 'of which others see nothing');
	$session->query_safe('ROLLBACK');
	sees($session, $near, 'rolled back');
	$session->query_safe("INSERT INTO rows VALUES (801, $far, 'committed')");
	sees($session, 'committed', 'committed');
	sees($other, 'committed', 'for others, too');
	$session->query_safe('BEGIN; DELETE FROM rows WHERE id = 801;');
	sees($session, $near, 'deleted');
	sees($other, 'committed', 'for others not yet');
	$session->query_safe('COMMIT');
	sees($other, $near, 'deleted for all');
	reset_rows($vacuum);
}

# Savepoints
foreach my $isolation ('READ COMMITTED', 'REPEATABLE READ')
{
	$session->query_safe("BEGIN ISOLATION LEVEL $isolation");
	sees($session, $near, "$isolation: at first");
	$session->query_safe("SAVEPOINT a; INSERT INTO rows VALUES (801, $far, 'inner');");
	sees($session, 'inner', 'within a savepoint');
	$session->query_safe('ROLLBACK TO a');
	sees($session, $near, 'after ROLLBACK TO');
	$session->query_safe("INSERT INTO rows VALUES (802, '[8,8,8,8,8,8]', 'again');");
	sees($session, 'again', 'another insertion');
	$session->query_safe("SAVEPOINT b; INSERT INTO rows VALUES (803, $far, 'third'); RELEASE b;");
	sees($session, 'third', 'a savepoint that was released');
	$session->query_safe('ROLLBACK TO a');
	sees($session, $near, 'is undone with the outer one');
	$session->query_safe('ROLLBACK');
}

# A snapshot that stays, while others change, vacuum and reuse what was freed
$node->safe_psql('postgres', "INSERT INTO rows VALUES (801, $far, 'old')");
$node->safe_psql('postgres', 'VACUUM rows');
$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
sees($session, 'old', 'REPEATABLE READ: at first');
my $before = $session->query_safe("SELECT md5(string_agg(a, '')) FROM answers('s', 'index') AS a");
$node->safe_psql('postgres', $_)
  foreach (
	"UPDATE rows SET label = 'new' WHERE id = 801",
	'VACUUM rows',
	'DELETE FROM rows WHERE id % 3 = 0 AND id <= 800',
	'VACUUM rows',
	"INSERT INTO rows SELECT i, spot(i, i % 4, 6, 1), 'c' || i % 4 FROM generate_series(901, 1200) AS i",
	"INSERT INTO rows SELECT i, $far, 'unheard' || i FROM generate_series(1201, 1300) AS i",
	'UPDATE rows SET embedding = spot(id, 7, 6, 1) WHERE id % 5 = 0',
	'VACUUM rows',
	"UPDATE rows SET note = 'hot'");
sees($session, 'old', 'the snapshot stays');
is($session->query_safe("SELECT md5(string_agg(a, '')) FROM answers('s', 'index') AS a"), $before, 'to the last digit');
is($session->query_safe("SELECT engines('s')"), 'index', 'by the index');
$session->query_safe('COMMIT');
is($session->query_safe($differences), '0', 'the next transaction sees it all');
is($session->query_safe("SELECT nw_predict($far, 's', '{new}')"), 'new', 'the update');
$node->safe_psql('postgres', 'VACUUM rows');
is($session->query_safe($differences), '0', 'and after VACUUM');
$node->safe_psql('postgres', q{
	TRUNCATE rows;
	INSERT INTO rows SELECT i, spot(i, i % 4, 6, 1), 'c' || i % 4 FROM generate_series(1, 800) AS i;
});
$node->safe_psql('postgres', 'VACUUM rows');
sees($session, $near, 'emptied and filled again');

# Prepared transactions
$node->safe_psql('postgres', "BEGIN; INSERT INTO rows VALUES (801, $far, 'prepared'); DELETE FROM rows WHERE id % 2 = 0; PREPARE TRANSACTION 'one'");
sees($session, $near, 'a prepared transaction');
$node->restart;
$_ = open_session($node) foreach $session, $other;
$_->query_safe('SET nwhead.engine = index') foreach $session, $other;
sees($session, $near, 'after a restart');
$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
sees($session, $near, 'in a snapshot');
$node->safe_psql('postgres', "COMMIT PREPARED 'one'");
sees($session, $near, 'that stays when it commits');
sees($other, 'prepared', 'as others see');
$session->query_safe('COMMIT');
$node->safe_psql('postgres', "BEGIN; INSERT INTO rows VALUES (802, $far, 'a'); PREPARE TRANSACTION 'two'");
$node->safe_psql('postgres', "ROLLBACK PREPARED 'two'");
sees($session, 'prepared', 'one that is rolled back');
$node->safe_psql('postgres', q{TRUNCATE rows;
	INSERT INTO rows SELECT i, spot(i, i % 4, 6, 1), 'c' || i % 4 FROM generate_series(1, 800) AS i;});

# HOT updates: the row has moved, its entry has not
foreach my $id ('id', 'NULL')
{
	my $named = $id eq 'id' ? "'id'" : 'NULL';
	$node->safe_psql('postgres', "SELECT nw_register('h', 'rows', id => $named, tau => 0.05, replace => true); VACUUM rows");
	foreach my $round (1 .. 3)
	{
		is($node->safe_psql('postgres', "SELECT differences('h')"), '0', "$named as the id: HOT chains of $round");
		is($node->safe_psql('postgres', q{
			SELECT bool_and(w.support_id = (CASE WHEN '} . $id . q{' = 'id' THEN r.id::text ELSE r.ctid::text END)) AND count(*) = 12
			  FROM queries AS q, nw_weights(q.e, 'h', 4) AS w JOIN rows AS r
			    ON w.support_id = (CASE WHEN '} . $id . q{' = 'id' THEN r.id::text ELSE r.ctid::text END) AND r.label = w.label}),
			't', 'ids are those of rows there are');
		foreach my $engine ('executor', 'index')
		{
			my $set = "SET nwhead.engine = $engine; ";
			is($node->safe_psql('postgres', $set . q{
				SELECT count(*) FROM queries AS q, LATERAL (SELECT array_agg(support_id) AS ids FROM nw_weights(q.e, 'h', 4)) AS w,
				  nw_weights(q.e, 'h', 4, exclude => w.ids) AS x WHERE x.support_id = ANY (w.ids)}), '0', "$engine: exclude leaves them out");
			is($node->safe_psql('postgres', $set . q{
				SELECT count(*) FROM queries AS q, LATERAL (SELECT array_agg(support_id ORDER BY weight DESC, label, support_id COLLATE "C") AS ids FROM nw_weights(q.e, 'h', 8)) AS w,
				  LATERAL (SELECT array_agg(support_id ORDER BY weight DESC, label, support_id COLLATE "C") AS ids FROM nw_weights(q.e, 'h', 4, exclude => w.ids[1:4])) AS x
				  WHERE x.ids <> w.ids[5:8]}), '0', 'and nothing else');
			is($node->safe_psql('postgres', $set . q{SELECT count(*) FROM nw_predict_set('h', 'h') AS p JOIN nw_predict_set('h', 'h', false) AS w
				USING (query_id) WHERE p.truth_probability >= w.truth_probability}), '0', 'leave_one_out leaves out each row itself');
		}
		$node->safe_psql('postgres', "UPDATE rows SET note = 'round $round' WHERE id % 3 = $round - 1");
	}
	cmp_ok($node->safe_psql('postgres', "SELECT pg_stat_force_next_flush(); SELECT n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'rows'"), '>', 700, 'updates were HOT');
}

# SERIALIZABLE: write skew is caught with the index there
$node->safe_psql(
	'postgres', q{
	CREATE TABLE skew (id int, embedding vector(1), label text);
	INSERT INTO skew SELECT i, ARRAY[i % 10 + 5]::vector, 'c' || i % 3 FROM generate_series(1, 600) AS i;
	CREATE INDEX ON skew USING nw (embedding) INCLUDE (label);
	VACUUM skew;
	SELECT nw_register('skew', 'skew');
});
$other->quit;
$other = open_session($node, on_error_stop => 0);
$_->query_safe('BEGIN ISOLATION LEVEL SERIALIZABLE') foreach $session, $other;
$session->query_safe("SELECT nw_predict('[0]', 'skew', '{c1,c2}')");
$other->query_safe("SELECT nw_predict('[1]', 'skew', '{c1,c2}')");
is($session->query_safe("SELECT engine FROM nw_index_work('[0]', 'skew')"), 'executor', 'SERIALIZABLE is for the executor');
$session->query_safe("INSERT INTO skew VALUES (1001, '[0]', 'c1')");
$other->query_safe("INSERT INTO skew VALUES (1002, '[1]', 'c2')");
$session->query_safe('COMMIT');
$other->query('COMMIT');
like($other->{stderr}, qr/could not serialize access/, 'write skew is caught');
$other->{stderr} = '';
$_->quit foreach $session, $other;
is($node->safe_psql('postgres', "SELECT count(*) FROM skew WHERE id > 1000"), '1', 'only one of the two is there');

# Privileges and row-level security: by the executor where it must be
$node->safe_psql(
	'postgres', q{
	VACUUM rows;
	CREATE ROLE reader;
	CREATE ROLE partly;
	CREATE ROLE nobody;
	GRANT SELECT ON rows, queries TO reader;
	GRANT SELECT ON queries TO partly, nobody;
	GRANT SELECT (embedding, label) ON rows TO partly;
	CREATE VIEW watched AS SELECT * FROM rows;
	GRANT SELECT ON watched TO nobody;
	SELECT nw_register('watched', 'watched', tau => 0.05);
});
is($node->safe_psql('postgres', "SET ROLE reader; SELECT engines('s'), differences('s')"), 'index|0', 'SELECT on the table');
is($node->safe_psql('postgres', "SET ROLE partly; SELECT engines('s'); SELECT count(DISTINCT p.label) FROM queries, nw_predict_proba(e, 's') AS p"),
	"index\n4", 'SELECT on the columns');
foreach my $engine ('executor', 'index')
{
	my ($ret, $stdout, $stderr) = $node->psql('postgres', "SET ROLE partly; SET nwhead.engine = $engine; SELECT * FROM nw_weights($far, 's')");
	like($stderr, qr/permission denied for table rows/, "$engine: not on the id");
	($ret, $stdout, $stderr) = $node->psql('postgres', "SET ROLE nobody; SET nwhead.engine = $engine; $predict");
	like($stderr, qr/permission denied for table rows/, "$engine: no privilege at all");
	($ret, $stdout, $stderr) = $node->psql('postgres', "SET ROLE nobody; SET nwhead.engine = $engine; SELECT * FROM nw_index_work($far, 's')");
	like($stderr, qr/permission denied for table rows/, "$engine: nor to see the work");
	($ret, $stdout, $stderr) = $node->psql('postgres', "SET ROLE nobody; SET nwhead.engine = $engine; SELECT nw_predict($far, 'watched')");
	is($stdout, $near, "$engine: but through a view");
}
is($node->safe_psql('postgres', "SELECT engines('watched'), differences('watched')"), 'executor|0', 'a view is for the executor');
$node->safe_psql(
	'postgres', q{
	ALTER TABLE rows ENABLE ROW LEVEL SECURITY;
	CREATE POLICY p ON rows USING (label = current_setting('my.label'));
});
my $policy = "SET ROLE reader; SET my.label = 'c3'; SET nwhead.engine = index;";
is($node->safe_psql('postgres', "$policy SELECT nw_predict(e, 's') FROM queries GROUP BY 1; SELECT engines('s'), differences('s')"), "c3\nexecutor|0", 'row-level security is for the executor');
is($node->safe_psql('postgres', "SELECT engines('s'), differences('s')"), 'index|0', 'who is not subject to it uses the index');
$node->safe_psql('postgres', 'ALTER TABLE rows OWNER TO reader; ALTER TABLE rows FORCE ROW LEVEL SECURITY');
is($node->safe_psql('postgres', "$policy SELECT nw_predict($far, 's'); SELECT engines('s')"), "c3\nexecutor", 'forced on the owner');
my ($ret, $stdout, $stderr) = $node->psql('postgres', "$policy SET row_security = off; SELECT nw_predict($far, 's')");
like($stderr, qr/query would be affected by row-level security/, 'row_security = off');
$node->safe_psql('postgres', 'ALTER TABLE rows NO FORCE ROW LEVEL SECURITY; ALTER TABLE rows DISABLE ROW LEVEL SECURITY; ALTER TABLE rows OWNER TO CURRENT_USER');

# Which engine, by itself
is($node->safe_psql('postgres', "SELECT engine FROM nw_index_work($far, 's')"), 'index', 'auto: the index, after VACUUM');
$node->safe_psql('postgres', "UPDATE rows SET note = 'x'");
is($node->safe_psql('postgres', "SELECT engine FROM nw_index_work($far, 's')"), 'executor', 'auto: the executor, where little is visible to all');
$node->safe_psql('postgres', 'VACUUM rows');

# Scans are counted
$node->safe_psql('postgres', "SELECT pg_stat_reset()");
$node->safe_psql('postgres', "SET nwhead.engine = index; SELECT nw_predict(e, 's') FROM queries; SELECT count(*) FROM nw_predict_proba($far, 's')");
ok($node->poll_query_until('postgres', "SELECT idx_scan >= 4 AND idx_tup_read >= 800 FROM pg_stat_user_indexes WHERE indexrelname = 'rows_nw'"),
	'scans are counted');

# An index not valid yet, and one that rows of broken HOT chains keep away from
# old snapshots
$session = open_session($node);
$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SET nwhead.engine = index;');
$session->query_safe("SELECT count(*) FROM rows");
$node->safe_psql('postgres', q{
	CREATE TABLE broken (id int, embedding vector(6), label text) WITH (fillfactor = 50);
	INSERT INTO broken SELECT * FROM (SELECT id, embedding, label FROM rows) AS r;
	SELECT nw_register('broken', 'broken', tau => 0.05);});
$session->query_safe('COMMIT');
$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
is($session->query_safe("SELECT nw_predict($far, 'broken')"), $near, 'without an index');
$node->safe_psql('postgres', "UPDATE broken SET label = 'changed' WHERE id % 2 = 0; CREATE INDEX broken_nw ON broken USING nw (embedding) INCLUDE (label)");
is($session->query_safe("SELECT engine FROM nw_index_work($far, 'broken')"), 'executor', 'a snapshot older than the index, of rows updated before');
is($session->query_safe("SELECT differences('broken')"), '0', 'is right');
is($session->query_safe("SELECT nw_predict($far, 'broken')"), $near, 'and sees the old rows');
$session->query_safe('COMMIT');
is($session->query_safe("SELECT engines('broken'), differences('broken')"), 'index|0', 'later it uses the index');
$session->quit;

is($node->safe_psql('postgres', "SELECT nw_check_index('rows_nw') > 0, nw_check_index('broken_nw') > 0"), 't|t', 'the indexes are sound');
$node->stop;
done_testing();
