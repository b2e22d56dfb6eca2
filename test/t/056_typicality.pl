# What is typical of a set: who may learn it and who is told, when it changes, and that a
# dump has it.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;

my $dir = PostgreSQL::Test::Utils::tempdir();

# Run statements; return their output, or the error.
sub result
{
	my ($sql, $database) = @_;
	my ($ret, $stdout, $stderr) = $node->psql($database // 'one', $sql);
	return $ret == 0 ? $stdout : $stderr;
}

# The same as a role.
sub as_role
{
	my ($role, $sql) = @_;
	return result("SET SESSION AUTHORIZATION $role; $sql");
}

$node->safe_psql('postgres', 'CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN; CREATE ROLE eve LOGIN; CREATE DATABASE one');
$node->safe_psql(
	'one', q{
	CREATE EXTENSION nwhead CASCADE;
	GRANT CREATE ON SCHEMA public TO alice;
	SET SESSION AUTHORIZATION alice;
	CREATE TABLE rows (id int PRIMARY KEY, embedding vector(1), label text, tenant name);
	INSERT INTO rows SELECT i, ARRAY[i]::vector, 'l' || i % 2, CASE WHEN i <= 10 THEN 'bob' ELSE 'alice' END FROM generate_series(1, 99) AS i;
	GRANT SELECT ON rows TO bob;
	SELECT nw_register('s', 'rows');
	SELECT nw_distill('s', 'few', mode => 'closest', k => 5);
});

my $typicality = "SELECT typicality FROM nw_classify('[150]', 's')";

# Who may learn, and who is told
like(as_role('bob', "SELECT nw_learn_typicality('s')"), qr/must be owner of set "s"/, 'only an owner has a set learn');
is(as_role('bob', $typicality), '', 'nothing is learned yet');
is(as_role('alice', "SELECT k, n, median_distance FROM nw_learn_typicality('s', k => 2)"), '2|99|1', 'the owner has it learn');
is(as_role('bob', $typicality), '0.01', 'whoever may predict is told');
is(as_role('bob', "SELECT typicality FROM nw_classify('[50]', 's')"), '1', 'that it is near, too');
is(as_role('bob', 'SELECT count(*) FROM nw_reference'), '0', 'but not shown the distances');
like(as_role('eve', $typicality), qr/permission denied for table rows/, 'whoever may not predict is told nothing');
like(as_role('eve', "SELECT nw_predict('[1]', 's', min_typicality => 0.5)"), qr/permission denied for table rows/, 'nor by a bound');
is(as_role('bob', "SELECT verdict FROM nw_drift('s', 's')"), 'alike', 'drift is for whoever may predict');

# Rows that the caller does not see are not near
$node->safe_psql('one', 'ALTER TABLE rows ENABLE ROW LEVEL SECURITY; CREATE POLICY tenants ON rows USING (tenant = current_user)');
is(as_role('bob', "SELECT typicality FROM nw_classify('[50]', 's')"), '0.01', 'policies hold');
is(as_role('alice', "SELECT typicality FROM nw_classify('[50]', 's')"), '1', "for others than the table's owner");
$node->safe_psql('one', 'ALTER TABLE rows DISABLE ROW LEVEL SECURITY');

# Which distances a call is compared with, while they change
$node->safe_psql(
	'one', q{
	CREATE FUNCTION told(q real) RETURNS float8 LANGUAGE sql VOLATILE AS $$ SELECT typicality FROM nw_classify(ARRAY[q]::vector, 's') $$;
	CREATE FUNCTION told_each(ks int[]) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
	DECLARE answer text; k int; t float8;
	BEGIN
		FOREACH k IN ARRAY ks LOOP
			EXECUTE format('SELECT nw_learn_typicality(''s'', k => %s)', k);
			FOR i IN 1 .. 3 LOOP
				SELECT typicality INTO t FROM nw_classify(ARRAY[99 + i * 0]::vector, 's');
			END LOOP;
			answer := concat_ws(' ', answer, round(t::numeric, 2));
		END LOOP;
		RETURN answer;
	END $$;
});
my @expected = map {
	$node->safe_psql('one', "SELECT nw_learn_typicality('s', k => $_)");
	$node->safe_psql('one', "SELECT round(typicality::numeric, 2) FROM nw_classify('[99]', 's')")
} (2, 60, 2);
isnt($expected[0], $expected[1], "$expected[0] and $expected[1] can be told apart");
is($node->safe_psql('one', 'SELECT told_each(ARRAY[2, 60, 2])'), "@expected", 'a function sees what it has just had learned');
is($node->safe_psql('one', q{
	BEGIN;
	SELECT round(told(99)::numeric, 2);
	SAVEPOINT a;
	SELECT k FROM nw_learn_typicality('s', k => 60);
	SELECT round(told(99)::numeric, 2);
	ROLLBACK TO a;
	SELECT round(told(99)::numeric, 2);
	COMMIT}), "$expected[0]\n60\n$expected[1]\n$expected[0]", 'what is rolled back is gone');
my $old = $node->background_psql('one');
$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
is($old->query_safe('SELECT round(told(99)::numeric, 2)'), $expected[0], 'a snapshot');
$node->safe_psql('one', "SELECT nw_learn_typicality('s', k => 60)");
is($old->query_safe('SELECT round(told(99)::numeric, 2)'), $expected[0], 'keeps what it had');
$old->query_safe('COMMIT');
is($old->query_safe('SELECT round(told(99)::numeric, 2)'), $expected[1], 'until it ends');

# Prototypes stay in memory from one statement to the next; what was learned does not
is($old->query_safe("SELECT typicality FROM nw_classify('[99]', 'few')"), '', 'a distilled set has learned nothing');
$node->safe_psql('one', "SET client_min_messages = error; SELECT nw_learn_typicality('few', 's', k => 1)");
my $near = $old->query_safe("SELECT round(typicality::numeric, 2) FROM nw_classify('[99]', 'few')");
$node->safe_psql('one', "SET client_min_messages = error; SELECT nw_learn_typicality('few', 's', k => 9)");
my $far = $old->query_safe("SELECT round(typicality::numeric, 2) FROM nw_classify('[99]', 'few')");
isnt($near, $far, "another neighbour, another typicality: $near, $far");
$old->quit;

# Other temperatures leave it alone, another model does not
$node->safe_psql('one', "SELECT nw_calibrate('s')");
is($node->safe_psql('one', "SELECT round(told(99)::numeric, 2)"), $expected[1], 'calibrated');
is($node->safe_psql('one', "SELECT nw_alter_set('s', model => 'a'); SELECT round(told(99)::numeric, 2)"), "\n$expected[1]", 'a model is named');
is($node->safe_psql('one', "SELECT nw_alter_set('s', model => 'b'); SELECT told(99)"), "\n", 'another model has other distances');
like(result("SELECT nw_predict('[99]', 's', min_typicality => 0.1)"), qr/set "s" cannot tell how typical a query is/, 'which is an error where they are needed');
like($node->safe_psql('one', "SELECT sql FROM nw_todo() WHERE set = 's' AND sql LIKE '%typicality%'"), qr/nw_learn_typicality\('s', k => 60\)/, 'nw_todo says what to do');
$node->safe_psql('one', "SELECT nw_learn_typicality('s', k => 60)");
is($node->safe_psql('one', "SELECT round(told(99)::numeric, 2)"), $expected[1], 'and that helps');
$node->safe_psql('one', "SELECT nw_alter_set('s', kernel => 'gaussian')");
is($node->safe_psql('one', "SELECT count(*) FROM nw_reference WHERE kind = 'neighbour' AND set_id = (SELECT set_id FROM nw_registry WHERE name = 's')"), '0', 'another kernel removes it');

# Dump and restore
$node->safe_psql('one', "SELECT nw_learn_typicality('s', k => 3)");
my $all = "SELECT s.name, c.typicality FROM nw_sets AS s, generate_series(1, 120, 7) AS i, nw_classify(ARRAY[i], s.name) AS c ORDER BY s.name, i";
my $before = $node->safe_psql('one', $all);
$node->command_ok([ 'pg_dump', '-f', "$dir/dump.sql", $node->connstr('one') ], 'dump');
$node->safe_psql('postgres', 'CREATE DATABASE two');
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/dump.sql", $node->connstr('two') ], 'restore');
is($node->safe_psql('two', $all), $before, 'what was learned is restored');
like($before, qr/few\|0\.\d+.*s\|0\.\d+/s, 'of both sets');

# Nothing on disk is taken for granted
foreach my $damage ('k = NULL', 'k = 0', 'k = 1001', "scores = '{}'", "scores = '{1,NULL}'", "scores = '{2,1}'", "scores = '{NaN}'", "class = 'l0'")
{
	$node->safe_psql('one', "BEGIN; UPDATE nw_reference SET $damage; COMMIT");
	like(result("SELECT * FROM nw_classify('[1]', 's')"), qr/reference scores of set "s" are damaged/, $damage);
	$node->safe_psql('one', "SELECT nw_learn_typicality('s', k => 3)");
}

done_testing();
