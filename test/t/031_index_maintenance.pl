# The nw index under every command that writes, rebuilds or moves tables.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use NwIndex;
use NwSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nmax_parallel_maintenance_workers = 2\nmin_parallel_index_scan_size = 0");
$node->start;
install_helpers($node);
$node->safe_psql(
	'postgres', q{
	CREATE TABLE queries (id int, e vector(16));
	INSERT INTO queries SELECT i, spot(i + 9000, i % 5, 16, 1) FROM generate_series(1, 3) AS i;
	CREATE TABLE rows (id int PRIMARY KEY, embedding vector(16), label text);
	SELECT nw_register('s', 'rows', tau => 0.1);
	CREATE FUNCTION fill(a int, b int) RETURNS void LANGUAGE sql AS
	$$ INSERT INTO rows SELECT i, spot(i, i % 5, 16, 1), 'c' || i % 5 FROM generate_series(a, b) AS i $$;
	SELECT fill(1, 2000);
});

# Insist that an index is sound, and that predictions are right.
sub sound
{
	my ($name, $index, $set) = @_;
	my $rows = $node->safe_psql('postgres', "SELECT nw_check_index('" . ($index // 'rows_nw') . "')");
	is($node->safe_psql('postgres', "SELECT differences('" . ($set // 's') . "'), engines('" . ($set // 's') . "')"), '0|index', $name);
	return $rows;
}

my $create = 'CREATE INDEX rows_nw ON rows USING nw (embedding) INCLUDE (label)';

# Builds in little and in much memory
foreach my $memory ('1MB', '2MB', '16MB', '64MB')
{
	$node->safe_psql('postgres', "SET maintenance_work_mem = '$memory'; DROP INDEX IF EXISTS rows_nw; $create");
	is(sound("built in $memory"), '2000', 'with all rows');
}

# Memory: more lists than can be made in it, and labels that are compressed
$node->safe_psql('postgres', q{
	CREATE TABLE large (id int, embedding vector(4), label text, note text);
	ALTER TABLE large ALTER note SET STORAGE plain;
	INSERT INTO large SELECT i, spot(i, 1, 4, 1), repeat('x', 1900), repeat('y', 1200) FROM generate_series(1, 12000) AS i;});
my $session = open_session($node);
$session->query_safe("SET maintenance_work_mem = '8MB'; SELECT count(*) FROM large;");
my $pid = $session->query_safe('SELECT pg_backend_pid()');

# The memory of the session's process that is its own, at its highest; in kB
sub own_memory
{
	my ($peak) = slurp_file("/proc/$pid/status") =~ /RssAnon:\s+(\d+)/;
	return $peak;
}
my $before = own_memory();
my $most = 0;
$session->query_until(qr/begin/, "\\echo begin\nCREATE INDEX large_nw ON large USING nw (embedding) INCLUDE (label) WITH (lists = 32768);\n");
do
{
	my $now = own_memory();
	$most = $now if $now > $most;
} until $node->safe_psql('postgres', "SELECT count(*) FROM pg_index WHERE indexrelid = to_regclass('large_nw') AND indisvalid") eq '1';
cmp_ok($most - $before, '<', (8 + 24) * 1024, 'a build keeps to its memory');
$session->query_safe('SELECT 1');
$session->quit;
is($node->safe_psql('postgres', "SELECT nw_check_index('large_nw')"), '12000', 'and is sound');
$node->safe_psql('postgres', 'DROP TABLE large');

my $built = $node->safe_psql('postgres', "SELECT pg_relation_size('rows_nw')");

# Rounds of change: the size stays within bounds
foreach my $round (1 .. 5)
{
	my $from = 2000 * $round;
	$node->safe_psql('postgres', "DELETE FROM rows; SELECT fill($from + 1, $from + 2000)");
	sound("round $round: replaced");
	$node->safe_psql('postgres', "UPDATE rows SET label = 'c' || (id + 1) % 5 WHERE id % 10 = 0");
	$node->safe_psql('postgres', 'VACUUM (PARALLEL 2) rows');
	is(sound('vacuumed'), '2000', 'with all rows that are left');
}
my $size = $node->safe_psql('postgres', "SELECT pg_relation_size('rows_nw')");
# two generations of rows at a time, and the updates
cmp_ok($size, '<', 3 * $built, 'space is used again');
foreach my $round (6 .. 9)
{
	my $from = 2000 * $round;
	$node->safe_psql('postgres', "DELETE FROM rows; SELECT fill($from + 1, $from + 2000)");
	$node->safe_psql('postgres', 'VACUUM rows');
}
cmp_ok($node->safe_psql('postgres', "SELECT pg_relation_size('rows_nw')"), '<', 1.1 * $size, 'again and again');
sound('after nine generations');
is($node->safe_psql('postgres', "SELECT reindex FROM nw_index_health('rows_nw')"), 'much of the index is free space', 'free space shows');

# COPY, with a class unheard of
my $csv = $node->basedir . '/rows.csv';
$node->safe_psql('postgres', "COPY (SELECT id + 100000, embedding, label || 'x' FROM rows) TO '$csv'; COPY rows FROM '$csv'");
is(sound('COPY'), '4000', 'copied');

# REINDEX, plain and concurrent; other commands that rebuild
$node->safe_psql('postgres', 'REINDEX INDEX rows_nw');
is(sound('REINDEX'), '4000', 'all rows');
is($node->safe_psql('postgres', "SELECT reindex IS NULL, fill FROM nw_index_health('rows_nw')"), 't|1', 'which mends it');
$node->safe_psql('postgres', 'REINDEX TABLE CONCURRENTLY rows');
sound('REINDEX CONCURRENTLY');
$node->safe_psql('postgres', 'VACUUM FULL rows');
sound('VACUUM FULL');
$node->safe_psql('postgres', 'CLUSTER rows USING rows_pkey');
sound('CLUSTER by another index');
my ($ret, $stdout, $stderr) = $node->psql('postgres', 'CLUSTER rows USING rows_nw');
like($stderr, qr/cannot cluster on index "rows_nw"/, 'but not by this one');
$node->safe_psql('postgres', 'ALTER TABLE rows ADD added float8 DEFAULT random(), ALTER id TYPE bigint');
sound('ALTER TABLE that rewrites');
$node->safe_psql('postgres', 'ALTER TABLE rows ALTER label TYPE varchar(100)');
sound('ALTER TABLE that does not');
$node->safe_psql('postgres', 'ALTER TABLE rows ALTER embedding TYPE halfvec(16)');
sound('another type of vector');
$node->safe_psql('postgres', 'ALTER TABLE rows ALTER embedding TYPE vector(16), ALTER label TYPE text, DROP added');
sound('and back');
$node->safe_psql('postgres', 'ALTER TABLE rows RENAME label TO l2; ALTER TABLE rows RENAME l2 TO label; ALTER INDEX rows_nw RENAME TO r; ALTER INDEX r RENAME TO rows_nw');
sound('renamed');
$node->safe_psql('postgres', "BEGIN; TRUNCATE rows; SELECT fill(1, 10); ROLLBACK");
is(sound('TRUNCATE rolled back'), '4000', 'nothing is lost');
$node->safe_psql('postgres', 'TRUNCATE rows');
is($node->safe_psql('postgres', "SELECT nw_check_index('rows_nw'), differences('s')"), '0|0', 'TRUNCATE');
$node->safe_psql('postgres', 'SELECT fill(1, 500)');
is(sound('and filled again'), '500', 'all rows');
$node->safe_psql('postgres', 'BEGIN; TRUNCATE rows; SELECT fill(1, 2000); COMMIT; REINDEX TABLE rows');
sound('filled in the transaction');

# CREATE INDEX CONCURRENTLY, while a writer brings classes that the first pass
# of the build has not seen
foreach my $command ("DROP INDEX rows_nw; CREATE INDEX CONCURRENTLY rows_nw ON rows USING nw (embedding) INCLUDE (label)", 'REINDEX INDEX CONCURRENTLY rows_nw')
{
	my ($drop, $build) = $command =~ /^(?:(DROP.*?); )?(.*)$/;
	$node->safe_psql('postgres', $drop) if $drop;
	my $blocker = open_session($node);
	my $builder = open_session($node);
	my $late = $drop ? 'first' : 'second';
	# the build waits for this transaction before its first pass
	$blocker->query_safe("BEGIN; INSERT INTO rows SELECT 50000 + i, spot(i, 9, 16, 1), '$late early' FROM generate_series(1, 90) AS i;");
	$builder->query_until(qr/begin/, "\\echo begin\n$build;\n");
	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_progress_create_index WHERE phase LIKE 'waiting for writers%'");
	# and, later, for this one before its second
	my $second = open_session($node);
	$second->query_safe("BEGIN; INSERT INTO rows SELECT 60000 + i, spot(i, 10, 16, 1), '$late late' FROM generate_series(1, 90) AS i;");
	$blocker->query_safe('COMMIT');
	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_progress_create_index WHERE phase = 'waiting for writers before validation'");
	$second->query_safe("INSERT INTO rows SELECT 70000 + i, spot(i, 11, 16, 1), '$late last' FROM generate_series(1, 90) AS i; UPDATE rows SET label = '$late changed' WHERE id % 7 = 1 AND id < 5000;");
	$second->query_safe('COMMIT');
	$builder->query_safe('SELECT 1');
	$_->quit foreach $blocker, $second, $builder;
	is($node->safe_psql('postgres', "SELECT indisvalid FROM pg_index WHERE indexrelid = 'rows_nw'::regclass"), 't', "$late: built while others write");
	sound('and right');
	is($node->safe_psql('postgres', "SET nwhead.engine = index; SELECT nw_predict(spot(1, 10, 16, 1), 's', '{c1,$late late}'), nw_predict(spot(1, 11, 16, 1), 's', '{c1,$late last}'), nw_predict(spot(1, 9, 16, 1), 's', '{c1,$late early}')"), "$late late|$late last|$late early", 'with all classes');
	$node->safe_psql('postgres', 'DELETE FROM rows WHERE id > 50000');
	$node->safe_psql('postgres', 'VACUUM rows');
	sound('vacuumed');
}
# a failure leaves an index that nothing uses
$node->safe_psql('postgres', "CREATE TABLE failing AS TABLE rows; INSERT INTO failing VALUES (1, spot(1, 1, 16, 1), repeat('x', 3000)); SELECT nw_register('failing', 'failing', tau => 0.1)");
($ret, $stdout, $stderr) = $node->psql('postgres', 'CREATE INDEX CONCURRENTLY failing_nw ON failing USING nw (embedding) INCLUDE (label)');
like($stderr, qr/label of 3000 bytes is too long/, 'a build that fails');
is($node->safe_psql('postgres', "SELECT indisvalid FROM pg_index WHERE indexrelid = 'failing_nw'::regclass"), 'f', 'leaves an index that is not valid');
is($node->safe_psql('postgres', "SELECT engines('failing'), differences('failing')"), 'executor|0', 'and not used');
$node->safe_psql('postgres', 'DELETE FROM failing WHERE length(label) > 2000');
$node->safe_psql('postgres', 'REINDEX INDEX CONCURRENTLY failing_nw');
sound('REINDEX makes it valid', 'failing_nw', 'failing');

# Progress: a long build shows its phase, and can be cancelled
$node->safe_psql(
	'postgres', q{
	CREATE TABLE many (embedding vector(16), label text);
	INSERT INTO many SELECT (SELECT array_agg((i::bigint * (7919 + 2 * j) % 10007)::float4) FROM generate_series(1, 16) AS j)::vector, 'one' FROM generate_series(1, 40000) AS i;
});
my $builder = open_session($node, on_error_stop => 0);
$builder->query_until(qr/begin/, "\\echo begin\nCREATE INDEX many_nw ON many USING nw (embedding) INCLUDE (label) WITH (lists = 10000);\n");
ok( $node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_progress_create_index WHERE phase = 'building index: clustering the sample'"),
	'progress shows the phase');
$node->safe_psql('postgres', 'SELECT pg_cancel_backend(pid) FROM pg_stat_progress_create_index');
ok($node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_stat_progress_create_index'), 'a build can be cancelled');
$builder->quit;
$node->safe_psql('postgres', 'DROP TABLE many');

# Tablespaces
my $place = $node->basedir . '/place';
mkdir $place;
$node->safe_psql('postgres', "CREATE TABLESPACE place LOCATION '$place'");
$node->safe_psql('postgres', 'ALTER INDEX rows_nw SET TABLESPACE place');
sound('another tablespace');
$node->safe_psql('postgres', 'REINDEX (TABLESPACE pg_default) INDEX rows_nw; SELECT fill(5001, 5100)');
sound('and back by REINDEX');

# Unlogged: empty after a crash, and usable
$node->safe_psql(
	'postgres', q{
	CREATE UNLOGGED TABLE unlogged (id int, embedding vector(16), label text);
	INSERT INTO unlogged SELECT id, embedding, label FROM rows;
	CREATE INDEX unlogged_nw ON unlogged USING nw (embedding) INCLUDE (label);
	SELECT nw_register('unlogged', 'unlogged', tau => 0.1);
	CREATE UNLOGGED TABLE empty (id int, embedding halfvec(3000), label text);
	CREATE INDEX empty_nw ON empty USING nw (embedding) INCLUDE (label);
	INSERT INTO unlogged SELECT id + 100000, embedding, 'later' || id FROM rows WHERE id < 100;
});
sound('an unlogged table', 'unlogged_nw', 'unlogged');
$node->restart;
sound('restarted', 'unlogged_nw', 'unlogged');
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', "SELECT count(*), nw_check_index('unlogged_nw'), nw_check_index('empty_nw'), differences('unlogged') FROM unlogged"), '0|0|0|0', 'empty after a crash');
$node->safe_psql('postgres', "INSERT INTO unlogged SELECT id, embedding, label FROM rows; INSERT INTO empty SELECT 1, array_fill(1, ARRAY[3000])::vector, 'a'");
is(sound('and usable', 'unlogged_nw', 'unlogged'), $node->safe_psql('postgres', 'SELECT count(*) FROM rows'), 'all rows');
is($node->safe_psql('postgres', "SELECT nw_check_index('empty_nw')"), '1', 'of many dimensions, too');
$node->safe_psql('postgres', 'ALTER TABLE unlogged SET LOGGED');
sound('made logged', 'unlogged_nw', 'unlogged');
$node->stop('immediate');
$node->start;
sound('survives a crash', 'unlogged_nw', 'unlogged');
$node->safe_psql('postgres', 'ALTER TABLE unlogged SET UNLOGGED');
sound('made unlogged', 'unlogged_nw', 'unlogged');
sound('the logged one has lost nothing');

# Materialised views
$node->safe_psql(
	'postgres', q{
	CREATE MATERIALIZED VIEW kept AS SELECT id, embedding, label FROM rows WHERE id % 2 = 0;
	CREATE UNIQUE INDEX ON kept (id);
	CREATE INDEX kept_nw ON kept USING nw (embedding) INCLUDE (label);
	SELECT nw_register('kept', 'kept', tau => 0.1);
});
sound('a materialised view', 'kept_nw', 'kept');
$node->safe_psql('postgres', 'SELECT fill(8001, 8200); REFRESH MATERIALIZED VIEW kept');
sound('refreshed', 'kept_nw', 'kept');
$node->safe_psql('postgres', 'DELETE FROM rows WHERE id % 3 = 0; REFRESH MATERIALIZED VIEW CONCURRENTLY kept');
sound('refreshed concurrently', 'kept_nw', 'kept');

# ON CONFLICT, and a speculative insertion that is taken back
$node->safe_psql('postgres', "INSERT INTO rows SELECT id, spot(id::int, 3, 16, 1), 'again' FROM rows WHERE id % 2 = 0 ON CONFLICT (id) DO UPDATE SET label = excluded.label");
sound('ON CONFLICT');
$node->safe_psql('postgres', q{
	CREATE TABLE parted (id int, embedding vector(16), label text) PARTITION BY RANGE (id);
	CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (1000);
	CREATE INDEX parted_nw ON parted USING nw (embedding) INCLUDE (label);
	INSERT INTO parted SELECT i, spot(i, i % 5, 16, 1), 'c' || i % 5 FROM generate_series(1, 999) AS i;
	CREATE TABLE parted_2 AS SELECT id::int, embedding, label FROM rows WHERE id BETWEEN 1000 AND 1999;
	ALTER TABLE parted ATTACH PARTITION parted_2 FOR VALUES FROM (1000) TO (2000);
	SELECT nw_register('parted', 'parted', tau => 0.1);
});
sound('partitions, one attached', 'parted_2_embedding_label_idx', 'parted');
$node->safe_psql('postgres', 'ALTER TABLE parted DETACH PARTITION parted_1 CONCURRENTLY');
sound('one detached', 'parted_2_embedding_label_idx', 'parted');

# Many dimensions: vectors over several pages, insertions over several records
foreach my $shape ([ 'vector', 2000 ], [ 'vector', 3000 ], [ 'vector', 8000 ], [ 'halfvec', 4000 ], [ 'vector', 1 ], [ 'vector', 1535 ], [ 'halfvec', 8000 ])
{
	my ($type, $dim) = @$shape;
	my $set = "${type}_$dim";
	$node->safe_psql(
		'postgres', qq{
		TRUNCATE queries;
		ALTER TABLE queries ALTER e TYPE vector;
		INSERT INTO queries SELECT i, spot(i + 9000, i % 3, $dim, 1) FROM generate_series(1, 3) AS i;
		CREATE TABLE $set (id int, embedding $type($dim), label text);
		SELECT nw_register('$set', '$set', tau => 0.5);
		INSERT INTO $set SELECT i, spot(i, i % 3, $dim, 1), 'c' || i % 3 FROM generate_series(1, 30) AS i;
		INSERT INTO $set SELECT id + 1000 * i, embedding, label FROM $set, generate_series(1, 7) AS i;
		SET maintenance_work_mem = '1MB';
		CREATE INDEX ${set}_nw ON $set USING nw (embedding) INCLUDE (label);
	});
	is(sound("$set: built", "${set}_nw", $set), '240', 'all rows');
	$node->safe_psql('postgres', "INSERT INTO $set SELECT i, spot(i, i % 5, $dim, 1), 'c' || i % 5 FROM generate_series(101, 120) AS i; DELETE FROM $set WHERE id % 4 = 0");
	$node->safe_psql('postgres', "VACUUM $set");
	sound('changed and vacuumed', "${set}_nw", $set);
	$node->safe_psql('postgres', "INSERT INTO $set SELECT i, spot(i, i % 3, $dim, 1), 'c' || i % 3 FROM generate_series(201, 240) AS i");
	sound('and filled again', "${set}_nw", $set);
}
$node->stop('immediate');
$node->start;
foreach my $set ('vector_8000', 'halfvec_4000', 'vector_3000')
{
	is($node->safe_psql('postgres', "SELECT nw_check_index('${set}_nw') = count(*) FROM $set"), 't', "$set: after a crash");
}

# Dump and restore
$node->safe_psql('postgres', 'TRUNCATE queries; INSERT INTO queries SELECT i, spot(i + 9000, i % 5, 16, 1) FROM generate_series(1, 3) AS i; DROP TABLE vector_8000, halfvec_8000');
my $answers = $node->safe_psql('postgres', "SELECT md5(string_agg(a, '')) FROM answers('s', 'index') AS a");
my $dump = $node->basedir . '/dump';
$node->command_ok([ 'pg_dump', '-Fc', '-f', $dump, '-d', $node->connstr('postgres') ], 'dump');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok([ 'pg_restore', '-j', '2', '-d', $node->connstr('restored'), $dump ], 'restore');
is($node->safe_psql('restored', "SELECT md5(string_agg(a, '')) FROM answers('s', 'index') AS a"), $answers, 'the same answers');
is($node->safe_psql('restored', "SELECT engines('s'), differences('s'), nw_check_index('rows_nw') = count(*) FROM rows"), 'index|0|t', 'by a sound index');

$node->stop;
done_testing();
