# Odd inputs and odd moments: errors at worst, and the server goes on.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use NwSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', 'restart_after_crash = on');
$node->start;

$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION nwhead CASCADE;
	CREATE TABLE rows (id int, embedding vector, label text);
	INSERT INTO rows VALUES (1, '[1,2]', 'a'), (2, '[5,5]', 'b');
	SELECT nw_register('s', 'rows', tau => 0.1);
});

# Insist that a statement ends, well or badly, and that the server goes on.
sub survives
{
	my ($statement, $name) = @_;
	my ($ret, $stdout, $stderr) = $node->psql('postgres', $statement);
	my $lost = $stderr =~ /server closed the connection|PANIC|connection to server .* failed/;
	ok(!$lost, $name // $statement) or diag(substr($stderr, 0, 500));
	$node->poll_query_until('postgres', 'SELECT true') if $lost;
	return $ret == 0 ? $stdout : $stderr;
}

# Types that change while a prediction waits for its table
sub swap
{
	my ($name, $swap, $back) = @_;
	my $writer = open_session($node);
	my $reader = open_session($node, on_error_stop => 0);
	$writer->query_safe('BEGIN');
	$writer->query_safe($swap);
	$reader->query_until(qr/begin/,
		"\\echo begin\nSELECT support_id IS NOT NULL FROM nw_weights('[1,2,3,4,5,6,7,8]', 'swapped', 1, exclude => '{99}');\n");
	$node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%nw_weights%' AND pid <> pg_backend_pid()");
	# a crash of the reader takes the writer with it
	eval { $writer->query('COMMIT') };
	eval { $reader->query('SELECT 1') };
	unlike($reader->{stderr}, qr/query has 8 dimensions/, "$name: nothing else is taken for a vector");
	eval { $reader->quit };
	ok($node->poll_query_until('postgres', 'SELECT true'), "$name: the server accepts connections");
	eval { $writer->query_safe('SELECT 1'); };
	is($@, '', "$name: and no session was lost");
	eval { $writer->quit };
	$node->safe_psql('postgres', $back);
	return;
}
$node->safe_psql(
	'postgres', q{
	CREATE TABLE swapped (id int, embedding vector(8), label text, other text DEFAULT 'x');
	INSERT INTO swapped SELECT i, array_fill(i::float4, ARRAY[8])::vector, 'l' || i FROM generate_series(1, 50) AS i;
	CREATE TABLE spare (id text, embedding halfvec(8), label int);
	INSERT INTO spare SELECT 'i' || i, array_fill(i::float4, ARRAY[8])::vector::halfvec, i FROM generate_series(1, 50) AS i;
	CREATE TABLE texts (id int, embedding text, label text);
	INSERT INTO texts SELECT i, 'x', 'l' FROM generate_series(1, 50) AS i;
	SELECT nw_register('swapped', 'swapped');
});
swap('another table under the name',
	'ALTER TABLE swapped RENAME TO away; ALTER TABLE spare RENAME TO swapped;',
	'ALTER TABLE swapped RENAME TO spare; ALTER TABLE away RENAME TO swapped;');
swap('a table without vectors under the name',
	'ALTER TABLE swapped RENAME TO away; ALTER TABLE texts RENAME TO swapped;',
	'ALTER TABLE swapped RENAME TO texts; ALTER TABLE away RENAME TO swapped;');
swap('columns renamed',
	'ALTER TABLE swapped RENAME embedding TO was; ALTER TABLE swapped RENAME other TO embedding;',
	'ALTER TABLE swapped RENAME embedding TO other; ALTER TABLE swapped RENAME was TO embedding;');
swap('label and id exchanged',
	'ALTER TABLE swapped RENAME label TO was; ALTER TABLE swapped RENAME id TO label; ALTER TABLE swapped RENAME was TO id;',
	'ALTER TABLE swapped RENAME label TO was; ALTER TABLE swapped RENAME id TO label; ALTER TABLE swapped RENAME was TO id;');
swap('the table dropped', 'DROP TABLE swapped;', 'SELECT 1');

# A set that needs itself
$node->safe_psql(
	'postgres', q{
	CREATE VIEW self AS SELECT 1 AS id, '[1,2]'::vector AS embedding, 'x'::text AS label;
	SELECT nw_register('self', 'self');
	CREATE OR REPLACE VIEW self AS SELECT 1 AS id, '[1,2]'::vector AS embedding, nw_predict('[1,2]'::vector, 'self') AS label;
});
like(survives("SELECT nw_predict('[1,2]', 'self')", 'a set that needs itself'),
	qr/stack depth limit exceeded|recursion|too many/, 'is an error');
is(survives("SELECT nw_predict('[1,2]', 's')", 'and then'), 'a', 'all is well');

# Vectors of every size, and extreme numbers
is( survives(q{
		CREATE TABLE widest (id int, embedding vector(16000), label text);
		INSERT INTO widest SELECT i, array_fill(i::float4, ARRAY[16000])::vector, 'w' || i FROM generate_series(1, 3) AS i;
		SELECT nw_register('widest', 'widest');
		SELECT nw_predict(embedding, 'widest') FROM widest;}, '16,000 dimensions'),
	"\nw1\nw2\nw3",
	'the largest vectors');
foreach my $kernel ('euclidean', 'gaussian', 'hypersphere', 'cosine', 'dot')
{
	foreach my $tau ('1e-100', '1', '1e100')
	{
		my $answer = survives(qq{
			SET client_min_messages = warning;
			BEGIN;
			CREATE TABLE extreme (id int, embedding vector(3), label text);
			INSERT INTO extreme VALUES (1, '[3.4e38,3.4e38,3.4e38]', 'huge'), (2, '[-3.4e38,-3.4e38,3.4e38]', 'other'),
				(3, '[1e-45,1e-45,-1e-45]', 'tiny'), (4, '[0,0,0]', 'zero');
			SELECT nw_register('extreme', 'extreme', kernel => '$kernel', tau => $tau);
			SELECT abs(sum(probability) - 1) < 1e-9 AND bool_and(probability BETWEEN 0 AND 1)
			  FROM extreme, nw_predict_proba(embedding, 'extreme') GROUP BY id;
			SELECT bool_and(weight BETWEEN 0 AND 1) FROM extreme, nw_weights(embedding, 'extreme');
			ROLLBACK;}, "$kernel at tau $tau");
		is($answer, "\nt\nt\nt\nt\nt", 'probabilities are numbers that add up to 1');
	}
}
is( survives(q{
		SELECT nw_vote(chr(65 + i % 3), (i - 50) * 1e148, 1e-100) IS NOT NULL FROM generate_series(1, 99) AS i;}, 'extreme votes'),
	't',
	'give an answer');

# Odd arguments
survives("SELECT nw_predict('[1,2]', repeat('x', 10000))", 'a long name');
survives("SELECT nw_predict('[1,2]', 's', array_fill('a'::text, ARRAY[100000]))", 'a hundred thousand classes');
is(survives("SELECT nw_predict('[1,2]', 's', exclude => (SELECT array_agg(i::text) FROM generate_series(3, 200000) AS i))", 'as many ids to leave out'),
	'a', 'an answer');
is(survives("SELECT nw_predict('[1,2]', 's', '{{a,b},{b,a}}')", 'classes in two dimensions'), 'a', 'an answer');
is(survives("SELECT nw_predict('[1,2]', 's', '[5:6]={a,b}')", 'classes with other bounds'), 'a', 'an answer');
survives("SELECT * FROM nw_weights('[1,2]', 's', 2147483647)", 'the largest number of rows');
survives("SELECT nw_register(repeat('n', 3000), 'rows')", 'registering under a long name');
survives("SELECT nw_register(E'a\\nb', 'rows'); SELECT nw_predict('[1,2]', E'a\\nb')", 'a line end in a name');
survives('SELECT nw_vote(NULL, NULL), nw_argmax(NULL, NULL, NULL)', 'NULLs');
survives('SELECT nw_vote_final(NULL)', 'a support function by itself');
survives('SELECT nw_vote_serialize(NULL), nw_vote_accum(NULL, NULL, 1)', 'and others');
survives('SELECT nw_vote_deserialize(NULL, NULL)', 'and one more');
survives("SELECT nw_vote(repeat('x', 1000000), i) FROM generate_series(1, 3) AS i", 'a long label in a vote');
survives("SELECT nw_vote('x' || i, i) IS NULL FROM generate_series(1, 200000) AS i", 'many labels in a vote');

# A registry that its owner has written to
foreach my $damage (
	'relation = NULL', 'schema = NULL', 'embedding = NULL', 'label = NULL, id = NULL, weight = NULL',
	'tau = 0', "tau = 'NaN'", "tau = 'Infinity'", 'tau = -1', "kernel = 'none'", "mode = 'none'", "owner = 'nobody'",
	'dim = -1', 'version = -1', "schema = 'no such schema'", "embedding = 'no such column'", "weight = 'label'")
{
	foreach my $call ("nw_predict('[1,2]', 's')", "nw_weights('[1,2]', 's')", "nw_set_tau('s', 1)",
		"nw_register('s', 'rows', replace => true)")
	{
		survives("BEGIN; UPDATE nw_registry SET $damage WHERE name = 's'; SELECT $call; ROLLBACK;", "$damage: $call");
	}
}
survives("BEGIN; ALTER TABLE nw_registry ALTER kernel DROP NOT NULL, ALTER tau DROP NOT NULL, ALTER version DROP NOT NULL;
	UPDATE nw_registry SET kernel = NULL, tau = NULL, version = NULL; SELECT nw_predict('[1,2]', 's')", 'NULLs where none should be');

$node->safe_psql(
	'postgres', q{
	CREATE DATABASE altered;
	\c altered
	CREATE EXTENSION nwhead CASCADE;
	CREATE TABLE rows (id int, embedding vector, label text);
	INSERT INTO rows VALUES (1, '[1,2]', 'a');
	SELECT nw_register('s', 'rows', tau => 0.1);
	DO $$
	BEGIN
		EXECUTE (SELECT 'CREATE OR REPLACE VIEW nw_sets AS SELECT ' || string_agg(format('NULL::%s%s AS %I', atttypid::regtype,
				CASE WHEN atttypid = 'text'::regtype THEN format(' COLLATE %I', c.collname) END, attname), ', ' ORDER BY attnum)
			FROM pg_attribute AS a LEFT JOIN pg_collation AS c ON c.oid = a.attcollation WHERE attrelid = 'nw_sets'::regclass);
	END $$;
});
foreach my $column ('kernel', 'owner', 'mode', 'tau', 'relation', 'embedding', 'version')
{
	my ($ret, $stdout, $stderr) = $node->psql('altered', qq{
		BEGIN;
		ALTER TABLE nw_registry ALTER $column TYPE int USING 1;
		SELECT nw_predict('[1,2]', 's');
		ROLLBACK;});
	my $lost = $stderr =~ /server closed the connection/;
	ok(!$lost, "column $column of another type");
	$node->poll_query_until('postgres', 'SELECT true') if $lost;
}

# SQL in names is only a name
survives(q{CREATE TABLE "t; DROP TABLE rows; --" ("e"" FROM rows" vector, "l'" text, "i\d" int);
	INSERT INTO "t; DROP TABLE rows; --" VALUES ('[1,2]', 'safe', 1);
	SELECT nw_register('x''; DROP TABLE rows; --', '"t; DROP TABLE rows; --"', 'e" FROM rows', 'l''', 'i\d')}, 'SQL in names');
is(survives("SELECT nw_predict('[1,2]', 'x''; DROP TABLE rows; --')"), 'safe', 'SQL in a name is a name');
is($node->safe_psql('postgres', 'SELECT count(*) FROM rows'), '2', 'and nothing was dropped');

# Modules loaded at other moments
$node->append_conf('postgresql.conf', "session_preload_libraries = 'nwhead'");
$node->reload;
is(survives("SELECT nw_predict('[1,2]', 's')", 'loaded for the session'), 'a', 'predicts');
$node->append_conf('postgresql.conf', "session_preload_libraries = ''\nshared_preload_libraries = 'nwhead'");
$node->restart;
is(survives("SELECT nw_predict('[1,2]', 's')", 'loaded by the server'), 'a', 'predicts');
is(survives("SET nwhead.statement_cache = '1MB'; SHOW nwhead.statement_cache"), '1MB', 'with its setting');

# After a crash of the server, the registry is as it was committed
$node->safe_psql('postgres', "SELECT nw_set_tau('s', 0.125)");
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', "SELECT tau FROM nw_sets WHERE name = 's'"), '0.125', 'a crash loses no set');
is($node->safe_psql('postgres', "SELECT nw_predict('[1,2]', 's')"), 'a', 'and they predict');
ok(slurp_file($node->logfile) !~ /was terminated by signal/, 'no session was ended by a signal');

$node->stop;
done_testing();
