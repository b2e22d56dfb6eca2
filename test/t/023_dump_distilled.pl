# Dump and restore: distilled sets come back with prototypes and tau, diagnoses do not.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;

my $dir = PostgreSQL::Test::Utils::tempdir();

# Everything that is to come back, as text.
sub contents
{
	my ($database, $schema) = @_;
	return $node->safe_psql($database, qq{
		SELECT r.*, s.owner FROM $schema.nw_sets AS s, LATERAL (SELECT to_jsonb(r) - 'set_id' - 'version' - 'calibrated_changes' - 'distilled_changes' FROM $schema.nw_registry AS r WHERE r.name = s.name) AS r ORDER BY name;
		SELECT * FROM $schema.nw_prototypes ORDER BY set, label, ordinal;});
}

# Answers of every set, to the last digit.
sub answers
{
	my ($database, $schema) = @_;
	return $node->safe_psql($database, qq{
		SELECT name, c.label, c.confidence FROM $schema.nw_sets, LATERAL $schema.nw_classify('[2,2]', name) AS c ORDER BY name});
}

# Register, distil in all modes, calibrate and diagnose.
sub make_sets
{
	my ($schema) = @_;
	return qq{
		CREATE TABLE public.birds AS SELECT i AS id, ARRAY[i % 7, i % 5]::real[] AS e, 'it''s "' || i % 3 || '"\t' AS label FROM generate_series(1, 40) AS i;
		SELECT $schema.nw_register('birds', 'public.birds_v', tau => 0.5, temper => 0.3, model => 'a "model" sha256:00');
		SELECT $schema.nw_distill('birds', 'means', k => 2);
		SELECT $schema.nw_distill('birds', 'the "rows"', 'closest', 3, weights => 'members');
		SELECT $schema.nw_distill('birds', 'some', 'random', 4, seed => -7, calibrate => false);
		SELECT $schema.nw_distill('the "rows"', 'nested', 'closest', 1);
		SELECT $schema.nw_set_tau('nested', 1.0000000000000002);
		SELECT $schema.nw_calibrate('birds');
		SELECT $schema.nw_diagnose('birds', 'birds', 2);
	};
}

my $superuser = $node->safe_psql('postgres', 'SELECT current_user');
$node->safe_psql('postgres', 'CREATE ROLE owner LOGIN; CREATE DATABASE one; CREATE DATABASE two OWNER owner');

# By a superuser, everything in schemas that are on no search_path
(my $make = make_sets('"nw Head"')) =~ s/(SELECT "nw Head".nw_register)/CREATE VIEW public.birds_v AS SELECT id, e::vectors.vector(2) AS embedding, label FROM public.birds; $1/;
$node->safe_psql('one', qq{
	CREATE SCHEMA vectors;
	CREATE SCHEMA "nw Head";
	CREATE EXTENSION vector SCHEMA vectors;
	CREATE EXTENSION nwhead SCHEMA "nw Head";
	$make});
cmp_ok($node->safe_psql('one', 'SELECT count(*) FROM "nw Head".nw_diagnosed_influence'), '>', 0, 'there are diagnoses');
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$dir/one.dump", '-d', $node->connstr('one') ], 'dump as a superuser');
$node->safe_psql('postgres', 'CREATE DATABASE one_again TEMPLATE template0');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr('one_again'), "$dir/one.dump" ], 'restore');
is(contents('one_again', '"nw Head"'), contents('one', '"nw Head"'), 'sets, tau and prototypes are the same');
is(answers('one_again', '"nw Head"'), answers('one', '"nw Head"'), 'and answer the same');
is( $node->safe_psql('one_again', q{
		SELECT name, model, status, calibrated_at IS NOT NULL, calibrated_rows, distilled_at IS NOT NULL, distilled_rows
		  FROM "nw Head".nw_sets ORDER BY name}),
	join("\n",
		'birds|a "model" sha256:00|ready|t|40|f|',
		'means|a "model" sha256:00|ready|t|40|t|40',
		'nested|a "model" sha256:00|ready|f||t|9',
		'some|a "model" sha256:00|ready|f||t|40',
		'the "rows"|a "model" sha256:00|ready|t|40|t|40'),
	'models and stamps came along');
is($node->safe_psql('one_again', 'SELECT count(*) FROM "nw Head".nw_registry WHERE coalesce(calibrated_changes, distilled_changes) IS NOT NULL'),
	'0', 'what another server counted does not');
is( $node->safe_psql('one_again', 'SELECT (SELECT count(*) FROM "nw Head".nw_diagnosed_influence) + (SELECT count(*) FROM "nw Head".nw_diagnosed_suspect)'),
	'0', 'diagnoses stay behind');
is( $node->safe_psql('one_again', q{
		SELECT "nw Head".nw_diagnose('birds', 'birds', 2) > 0;
		SELECT "nw Head".nw_distill('birds', 'means', k => 2);
		SELECT count(*) FROM "nw Head".nw_prototypes WHERE set = 'means';
		SELECT version > (SELECT max(version) FROM "nw Head".nw_registry WHERE name <> 'means') FROM "nw Head".nw_registry WHERE name = 'means';}),
	"t\n6\n6\nt",
	'and everything can be done anew');
is($node->safe_psql('one_again', q{SELECT md5(string_agg(embedding::text, ';' ORDER BY label, ordinal)) FROM "nw Head".nw_prototypes WHERE set = 'means'}),
	$node->safe_psql('one', q{SELECT md5(string_agg(embedding::text, ';' ORDER BY label, ordinal)) FROM "nw Head".nw_prototypes WHERE set = 'means'}),
	'with the same result');

# By a database owner who is no superuser
$node->safe_psql('two', 'CREATE SCHEMA v; CREATE EXTENSION vector SCHEMA v; GRANT USAGE ON SCHEMA v TO PUBLIC; GRANT CREATE ON SCHEMA public TO owner');
($make = make_sets('h')) =~ s/(SELECT h.nw_register)/CREATE VIEW public.birds_v AS SELECT id, e::v.vector(2) AS embedding, label FROM public.birds; $1/;
$node->safe_psql('two', qq{
	SET SESSION AUTHORIZATION owner;
	CREATE SCHEMA h;
	CREATE EXTENSION nwhead SCHEMA h;
	$make});
is( $node->safe_psql('two', q{SELECT DISTINCT pg_get_userbyid(relowner) FROM pg_class WHERE relname LIKE 'nw\_%' AND relkind IN ('r', 'v', 'S')}),
	$superuser, 'none of the relations is his');
$node->command_ok(
	[ 'pg_dump', '-U', 'owner', '-n', 'public', '-n', 'h', '-e', 'nwhead', '-f', "$dir/two.sql", '-d', $node->connstr('two') ],
	'dump as a database owner');
$node->safe_psql('postgres', 'CREATE DATABASE two_again OWNER owner TEMPLATE template0');
$node->safe_psql('two_again', 'CREATE SCHEMA v; CREATE EXTENSION vector SCHEMA v; GRANT USAGE ON SCHEMA v TO PUBLIC; GRANT CREATE ON SCHEMA public TO owner');
# the schema public is there already, and not his to create
my $script = slurp_file("$dir/two.sql");
$script =~ s/^(CREATE SCHEMA public|COMMENT ON SCHEMA public|ALTER SCHEMA public).*;$//mg;
append_to_file("$dir/two_again.sql", $script);
$node->command_ok(
	[ 'psql', '-X', '-q', '-U', 'owner', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/two_again.sql", '-d', $node->connstr('two_again') ],
	'restore as a database owner');
is(contents('two_again', 'h'), contents('two', 'h'), 'his sets and prototypes are the same');
is(answers('two_again', 'h'), answers('two', 'h'), 'and answer the same');
is($node->safe_psql('two_again', 'SELECT count(*) FROM h.nw_diagnosed_influence'), '0', 'diagnoses stay behind');
is($node->safe_psql('two_again', "SET ROLE owner; SELECT count(*) FROM h.nw_prototypes WHERE set = 'means'"), '6', 'he reads his prototypes');
is( $node->safe_psql('two_again', "SET ROLE owner; SELECT h.nw_distill('birds', 'means', k => 1, calibrate => false); SELECT h.nw_unregister('some')"),
	"3\n", 'and distils and removes');

# Data only, into a database that has the extension
$node->command_ok([ 'pg_dump', '--data-only', '-Fc', '-f', "$dir/data.dump", '-d', $node->connstr('one') ], 'dump data only');
my $listed = $node->safe_psql('one', 'SELECT 1') && `pg_restore -l "$dir/data.dump"`;
like($listed, qr/TABLE DATA nw Head nw_saved/, 'prototypes are among the data');
unlike($listed, qr/nw_diagnosed/, 'diagnoses are not');

# A copy of the whole server
$node->command_ok([ 'pg_dumpall', '-f', "$dir/all.sql", '-d', $node->connstr('postgres') ], 'pg_dumpall');
like(slurp_file("$dir/all.sql"), qr/COPY "nw Head"\.nw_saved /, 'holds prototypes');

$node->stop;
done_testing();
