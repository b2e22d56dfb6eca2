# Dump and restore: sets come back, whoever restores and wherever things live.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;

my $dir = PostgreSQL::Test::Utils::tempdir();
my $sets = 'SELECT name, relation, embedding, label, id, kernel, tau, dim, owner, model, balance, status, calibrated_at, calibrated_rows FROM %s.nw_sets ORDER BY name';

# Dump a database and restore it into a new one that belongs to a role.
sub dump_restore
{
	my ($source, $target, $role, @options) = @_;

	$node->command_ok(
		[ 'pg_dump', '-U', $role, '-Fc', '-f', "$dir/$source.dump", @options, '-d', $node->connstr($source) ],
		"dump $source as $role");
	$node->safe_psql('postgres', qq{CREATE DATABASE $target OWNER $role TEMPLATE template0});
	$node->command_ok(
		[ 'pg_restore', '-U', $role, '--exit-on-error', '-d', $node->connstr($target), "$dir/$source.dump" ],
		"restore $target as $role");
}

my $superuser = $node->safe_psql('postgres', 'SELECT current_user');
$node->safe_psql(
	'postgres', q{
	CREATE ROLE owner LOGIN;
	CREATE ROLE other;
	CREATE DATABASE one;
	CREATE DATABASE two OWNER owner;
});

# Everything in a schema of its own, none of them on the search_path
$node->safe_psql(
	'one', q{
	CREATE SCHEMA vectors;
	CREATE SCHEMA "nw Head";
	CREATE SCHEMA data;
	CREATE EXTENSION vector SCHEMA vectors;
	CREATE EXTENSION nwhead SCHEMA "nw Head";
	CREATE TABLE data.birds (id int, embedding vectors.vector(2), label text);
	INSERT INTO data.birds VALUES (1, '[3,4]', 'gull'), (2, '[6,8]', 'heron');
	CREATE VIEW data.views AS SELECT * FROM data.birds;
	SELECT "nw Head".nw_register('birds', 'data.birds', tau => 0.1);
	SELECT "nw Head".nw_register('views', 'data.views', kernel => 'gaussian', id => 'id');
	SELECT * FROM "nw Head".nw_calibrate('birds');
	SELECT "nw Head".nw_set_tau('birds', 1.0000000000000002);
	SELECT * FROM "nw Head".nw_calibrate('views', 'birds', leave_one_out => false);
	SELECT "nw Head".nw_alter_set('birds', model => E'a\tmodel\n sha256:00');
	CREATE VIEW data.answers AS SELECT "nw Head".nw_predict(embedding, 'birds') FROM data.birds;
	GRANT CREATE, USAGE ON SCHEMA "nw Head" TO other;
	GRANT USAGE ON SCHEMA data TO other;
	GRANT SELECT ON data.birds TO other;
	SET ROLE other;
	SELECT "nw Head".nw_register('others', 'data.birds', balance => '{"gull": 0.75}');
});
is($node->safe_psql('one', q{SELECT "nw Head".nw_predict('[0,0]', 'birds')}), 'gull', 'predict without a search_path');
dump_restore('one', 'one_again', $superuser);
is($node->safe_psql('one_again', sprintf($sets, '"nw Head"')),
	$node->safe_psql('one', sprintf($sets, '"nw Head"')), 'the sets are the same');
is($node->safe_psql('one_again', q{SELECT balance FROM "nw Head".nw_sets WHERE name = 'others'}),
	'{"gull": 0.75}', 'priors of classes came along');
is( $node->safe_psql('one_again', q{SELECT tau = 1.0000000000000002 FROM "nw Head".nw_sets WHERE name = 'birds'}),
	't', 'tau to the last digit');
is($node->safe_psql('one_again', q{SELECT "nw Head".nw_predict('[0,0]', name) FROM "nw Head".nw_sets ORDER BY name}),
	"gull\ngull\ngull", 'they predict');
is($node->safe_psql('one_again', 'SELECT * FROM data.answers'), "gull\nheron", 'a view on a prediction came along');
$node->safe_psql('one_again', q{SELECT "nw Head".nw_set_tau('birds', 3)});
is( $node->safe_psql('one_again', q{
		SELECT version > (SELECT max(version) FROM "nw Head".nw_registry WHERE name <> 'birds')
		  FROM "nw Head".nw_registry WHERE name = 'birds'}),
	't',
	'new versions follow the old ones');
is($node->safe_psql('one_again', q{SET ROLE other; SELECT "nw Head".nw_set_tau('others', 2)}), '', 'owners still own');

# By a database owner who is no superuser: pgvector is not his to create, so it is there
$node->safe_psql('two', 'CREATE SCHEMA v; CREATE EXTENSION vector SCHEMA v; GRANT USAGE ON SCHEMA v TO PUBLIC');
$node->safe_psql(
	'two', q{
	SET SESSION AUTHORIZATION owner;
	CREATE SCHEMA h;
	CREATE EXTENSION nwhead SCHEMA h;
	CREATE TABLE birds (id int, embedding v.vector(2), label text);
	INSERT INTO birds VALUES (1, '[3,4]', 'gull'), (2, '[6,8]', 'heron');
	SELECT h.nw_register('birds', 'birds', tau => 0.25);
});
is( $node->safe_psql('two', q{
		SELECT DISTINCT pg_get_userbyid(relowner) FROM pg_class WHERE relname LIKE 'nw\_%' AND relkind IN ('r', 'v', 'S', 'i')}),
	$superuser,
	"a trusted extension: its relations are the superuser's, whoever created it");
$node->safe_psql('postgres', 'CREATE DATABASE two_again OWNER owner TEMPLATE template0');
$node->safe_psql('two_again', 'CREATE SCHEMA v; CREATE EXTENSION vector SCHEMA v; GRANT USAGE ON SCHEMA v TO PUBLIC');
$node->command_ok(
	[ 'pg_dump', '-U', 'owner', '-n', 'public', '-n', 'h', '-e', 'nwhead', '-f', "$dir/two.sql", '-d', $node->connstr('two') ],
	'dump as a database owner');
# the schema public is there already, and not his to create
my $script = slurp_file("$dir/two.sql");
$script =~ s/^(CREATE SCHEMA public|COMMENT ON SCHEMA public|ALTER SCHEMA public).*;$//mg;
append_to_file("$dir/two_again.sql", $script);
$node->safe_psql('two_again', 'GRANT CREATE ON SCHEMA public TO owner');
$node->command_ok(
	[ 'psql', '-X', '-q', '-U', 'owner', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/two_again.sql", '-d', $node->connstr('two_again') ],
	'restore as a database owner');
is($node->safe_psql('two_again', sprintf($sets, 'h')), 'birds|public.birds|embedding|label|id|euclidean|0.25|2|owner|||ready||',
	'his sets are there');
is($node->safe_psql('two_again', "SET ROLE owner; SELECT h.nw_predict('[0,0]', 'birds')"), 'gull', 'and predict');
is( $node->safe_psql('two_again', "SET ROLE owner; SELECT h.nw_set_tau('birds', 1); SELECT tau FROM h.nw_sets"),
	"\n1", 'and can be changed');

# The data without the schema
$node->safe_psql('postgres', 'CREATE DATABASE three');
$node->safe_psql('three', 'CREATE EXTENSION nwhead CASCADE');
$node->command_ok([ 'pg_dump', '-s', '-f', "$dir/schema.sql", '-d', $node->connstr('one') ], 'dump the schema alone');
unlike(slurp_file("$dir/schema.sql"), qr/COPY.*nw_/, 'it holds no sets');

# A role that did not come along
$node->safe_psql('postgres', 'CREATE DATABASE four TEMPLATE template0');
$node->safe_psql('one', 'SET ROLE other; SELECT 1');
$node->command_ok(
	[ 'pg_dump', '-O', '-x', '-f', "$dir/four.sql", '-d', $node->connstr('one') ], 'dump without owners');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/four.sql", '-d', $node->connstr('four') ],
	'restore without owners');
is($node->safe_psql('four', q{SELECT count(*) FROM "nw Head".nw_sets}), '3', 'all sets are there');

# The chain of versions ends at the default version
is( $node->safe_psql('one', q{
		SELECT extversion = (SELECT default_version FROM pg_available_extensions WHERE name = 'nwhead')
		  FROM pg_extension WHERE extname = 'nwhead'}),
	't',
	'the default version is installed');
is($node->safe_psql('one', "SELECT count(*) FROM pg_extension_update_paths('nwhead') WHERE path IS NULL AND target =
		(SELECT default_version FROM pg_available_extensions WHERE name = 'nwhead')"),
	'0', 'every version leads to the default version');
$node->safe_psql('one', 'ALTER EXTENSION nwhead UPDATE');

# Nothing is left behind
$node->safe_psql('one', 'DROP EXTENSION nwhead CASCADE');
is( $node->safe_psql('one', q{
		SELECT count(*) FROM pg_proc WHERE probin LIKE '%nwhead%'}),
	'0',
	'DROP EXTENSION removes all functions');
is($node->safe_psql('one', q{SELECT count(*) FROM pg_class WHERE relname LIKE 'nw\_%'}), '0', 'and all relations');
is($node->safe_psql('one', 'SELECT count(*) FROM data.birds'), '2', 'but no data');

$node->stop;
done_testing();
