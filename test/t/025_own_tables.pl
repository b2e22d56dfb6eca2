# The extension's own tables: nobody but superusers alters or replaces them, nobody
# reads copies of others' rows, and what is not as it should be is not touched.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;

my $dir = PostgreSQL::Test::Utils::tempdir();

# Run statements in a database; return their output, or the error.
sub result
{
	my ($database, $sql) = @_;
	my ($ret, $stdout, $stderr) = $node->psql($database, $sql);
	return $ret == 0 ? $stdout : $stderr;
}

# eve creates the (trusted) extension in a schema of her own; alice uses it
$node->safe_psql('postgres', 'CREATE ROLE eve LOGIN; CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN; CREATE DATABASE own OWNER eve');
$node->safe_psql('own', 'CREATE EXTENSION vector; CREATE SCHEMA alice AUTHORIZATION alice; GRANT USAGE ON SCHEMA alice TO eve');
$node->safe_psql(
	'own', q{
	SET SESSION AUTHORIZATION eve;
	CREATE SCHEMA own;
	CREATE EXTENSION nwhead SCHEMA own;
	GRANT CREATE, USAGE ON SCHEMA own TO alice, bob;
	CREATE TABLE public.open AS SELECT i AS id, ARRAY[i, 1]::real[]::vector(2) AS embedding, 'l' || i % 2 AS label FROM generate_series(1, 8) AS i;
	GRANT SELECT ON public.open TO PUBLIC;
	SELECT own.nw_register('open', 'public.open', tau => 1);
	SELECT own.nw_distill('open', 'few');
});
$node->safe_psql(
	'own', q{
	SET SESSION AUTHORIZATION alice;
	CREATE TABLE alice.t AS SELECT 'patient-' || i AS id, ARRAY[i, 1]::real[]::vector(2) AS embedding, 'disease-' || i % 2 AS label FROM generate_series(1, 8) AS i;
	SELECT own.nw_register('s', 'alice.t', tau => 1);
	SELECT own.nw_distill('s', 'p', mode => 'closest');
	SELECT own.nw_diagnose('s', 's');
});

# Neither altered nor replaced, nor anything hung on them
my @tables = qw(nw_registry nw_prototype nw_diagnosed_influence nw_diagnosed_suspect nw_reference nw_saved);
$node->safe_psql('own', q{
	SET SESSION AUTHORIZATION eve;
	CREATE FUNCTION own.trap() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ALTER ROLE eve SUPERUSER; RETURN NEW; END $$;
	CREATE FUNCTION own.yes() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN ALTER ROLE eve SUPERUSER; RETURN true; END $$;});
foreach my $table (@tables)
{
	foreach my $change (
		"ALTER TABLE own.$table RENAME TO hidden",
		"ALTER TABLE own.$table SET SCHEMA public",
		"ALTER TABLE own.$table OWNER TO eve",
		"ALTER TABLE own.$table ADD COLUMN x int",
		"ALTER TABLE own.$table DISABLE ROW LEVEL SECURITY",
		"ALTER TABLE own.$table DISABLE TRIGGER ALL",
		"CREATE TRIGGER t BEFORE INSERT ON own.$table FOR EACH ROW EXECUTE FUNCTION own.trap()",
		"CREATE RULE r AS ON INSERT TO own.$table DO ALSO SELECT own.yes()",
		"CREATE POLICY p ON own.$table USING (own.yes())",
		"CREATE INDEX ON own.$table ((own.yes()))",
		"CREATE TABLE own.child () INHERITS (own.$table)",
		"CREATE TABLE own.referrer (x int8 REFERENCES own.$table)",
		"TRUNCATE own.$table",
		"UPDATE own.$table SET label = 'x'",
		"DELETE FROM own.$table",
		"DROP TABLE own.$table CASCADE",
		"ALTER EXTENSION nwhead DROP TABLE own.$table")
	{
		like(result('own', "SET SESSION AUTHORIZATION eve; $change"),
			qr/must be owner of|permission denied for|there is no primary key|cannot drop table .* because extension nwhead requires it/, "eve: $change");
	}
}
foreach my $change ('ALTER SEQUENCE own.nw_version RESTART', "SELECT setval('own.nw_version', 1)",
	'ALTER VIEW own.nw_prototypes RENAME TO x', 'CREATE OR REPLACE VIEW own.nw_sets AS SELECT 1 AS name',
	'ALTER FUNCTION own.nw_unregister(text) RENAME TO x', 'DROP INDEX own.nw_registry_name', 'ALTER INDEX own.nw_registry_name RENAME TO x')
{
	like(result('own', "SET SESSION AUTHORIZATION eve; $change"),
		qr/must be owner of|permission denied for|cannot drop index .* because/, "eve: $change");
}
is( $node->safe_psql('own', q{
		GRANT USAGE ON SCHEMA own TO PUBLIC;
		SET SESSION AUTHORIZATION eve;
		SET client_min_messages = error;
		GRANT ALL ON ALL TABLES IN SCHEMA own TO eve, bob;
		SELECT DISTINCT p FROM pg_class AS c, unnest('{INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER}'::text[]) AS p
		 WHERE relnamespace = 'own'::regnamespace AND relkind IN ('r', 'v')
		   AND (has_table_privilege('bob', c.oid, p) OR (has_table_privilege('eve', c.oid, p) AND (p <> 'INSERT' OR relname <> 'nw_saved')))}),
	'', 'nor has anyone a right to write');
is($node->safe_psql('postgres', "SELECT rolsuper FROM pg_roles WHERE rolname = 'eve'"), 'f', 'eve is who she was');

# No copies of rows for who is no member, the extension's owner included
foreach my $role ('eve', 'bob')
{
	is( result('own', "SET SESSION AUTHORIZATION $role; SELECT count(*) FILTER (WHERE label LIKE 'disease%') FROM own.nw_prototype"), '0', "$role reads no prototypes of alice's");
	is( result('own', "SET SESSION AUTHORIZATION $role; SELECT (SELECT count(*) FROM own.nw_diagnosed_influence) + (SELECT count(*) FROM own.nw_diagnosed_suspect)"),
		'0', 'and no diagnoses');
	is( result('own', "SET SESSION AUTHORIZATION $role; SELECT count(*) FROM pg_catalog.nw_dump() WHERE name = 'p'"), '0', 'nor as pg_dump does');
	like(result('own', "SET SESSION AUTHORIZATION $role; SELECT own.nw_predict('[1,1]'::vector, 'p')"), qr/permission denied for set "p"/, 'nor predicts from them');
}
is(result('own', q{SET SESSION AUTHORIZATION alice; SELECT count(*) FROM own.nw_prototypes}), '2', 'alice reads hers');
is(result('own', q{SET SESSION AUTHORIZATION alice; SELECT count(ordinal) FROM pg_catalog.nw_dump()}), '2', 'and would dump them');

# Restoring is for the extension's owner, and gives no more than the functions do
my $row = q{'%s', '%s', '%s', NULL, 'public', 'open', 'embedding', 'label', 'id', NULL, 'euclidean', 1, %s, %s, 2, false};
like(result('own', 'SET SESSION AUTHORIZATION bob; INSERT INTO own.nw_saved VALUES (' . sprintf($row, 'b', 'bob', 'full', 'NULL', 'NULL') . ')'),
	qr/permission denied for table nw_saved/, 'others do not restore');
like(result('own', 'SET SESSION AUTHORIZATION eve; INSERT INTO own.nw_saved VALUES (' . sprintf($row, 'forged', 'alice', 'full', 'NULL', 'NULL') . q{); SELECT owner FROM own.nw_sets WHERE name = 'forged'}),
	qr/^eve$/m, "a set in another's name is the restorer's own");
like(result('own', 'SET SESSION AUTHORIZATION eve; INSERT INTO own.nw_saved VALUES (' . sprintf($row, 's', 'eve', 'full', 'NULL', 'NULL') . ')'),
	qr/set "s" is already registered/, 'a set that is there stays');
like(result('own', q{SET SESSION AUTHORIZATION eve; INSERT INTO own.nw_saved (name, class, ordinal, vector, members, source_id, mass) VALUES ('p', 'disease-0', 9, '[1,1]', 1, NULL, 1)}),
	qr/must be owner of set "p"/, "and another's prototypes");
like(result('own', q{SET SESSION AUTHORIZATION eve; INSERT INTO own.nw_saved (name, class, ordinal, vector, members, source_id, mass) VALUES ('open', 'l0', 9, '[1,1]', 1, NULL, 1)}),
	qr/cannot be restored/, 'a set of rows has no prototypes');
foreach my $values (q{'few', 'l0', 9, '[1,1,1]', 1, NULL, 1}, q{'few', 'l0', 9, '[1,1]', 1, NULL, 'Infinity'},
	q{'few', 'l0', 9, '[1,1]', 1, NULL, 'NaN'}, q{'few', 'l0', 9, NULL, 1, NULL, 1}, q{'few', NULL, 9, '[1,1]', 1, NULL, 1})
{
	like(result('own', "SET SESSION AUTHORIZATION eve; INSERT INTO own.nw_saved (name, class, ordinal, vector, members, source_id, mass) VALUES ($values)"), qr/cannot be restored from these values/, "refused: $values");
}
foreach my $bad (sprintf($row, 'x', 'eve', 'cluster', 'NULL', 'NULL'), sprintf($row, 'x', 'eve', 'full', '1', '1'),
	sprintf($row, '', 'eve', 'full', 'NULL', 'NULL'), "NULL")
{
	like(result('own', "SET SESSION AUTHORIZATION eve; INSERT INTO own.nw_saved VALUES ($bad)"), qr/cannot be restored from these values/, "refused: $bad");
}
is( result('own', q{SET SESSION AUTHORIZATION eve; SELECT own.nw_predict('[1,1]'::vector, 'few') IS NOT NULL;
		INSERT INTO own.nw_saved (name, class, ordinal, vector, members, source_id, mass) VALUES ('few', 'l9', 1, '[1,1]', 1, NULL, 1); SELECT own.nw_predict('[1,1]'::vector, 'few')}),
	"t\nl9", 'prototypes of her own are restored, and seen at once');
is($node->safe_psql('own', 'SELECT count(*) FROM own.nw_saved'), '0', 'the table of a dump stays empty');
like(result('own', q{CREATE TABLE public.trick (LIKE own.nw_saved); CREATE TRIGGER t BEFORE INSERT ON public.trick FOR EACH ROW EXECUTE FUNCTION own.nw_restore();
		INSERT INTO public.trick VALUES (} . sprintf($row, 'trick', 'alice', 'full', 'NULL', 'NULL') . ')'),
	qr/function is for inserting into table "nw_saved"/, 'the trigger serves no other table');
like(result('own', q{ALTER TABLE own.nw_saved DISABLE TRIGGER ALL; INSERT INTO own.nw_saved VALUES (} . sprintf($row, 'x', 'eve', 'full', 'NULL', 'NULL') . ')'),
	qr/nw_restored_by_trigger/, 'without its trigger a row is refused, not lost');
$node->safe_psql('own', 'ALTER TABLE own.nw_saved ENABLE TRIGGER ALL; ALTER TABLE own.nw_saved ENABLE ALWAYS TRIGGER nw_restore');
is( result('own', q{SET session_replication_role = replica; SET client_min_messages = error; INSERT INTO own.nw_saved VALUES (}
		  . sprintf($row, 'replica', 'eve', 'full', 'NULL', 'NULL') . q{); SELECT owner FROM own.nw_sets WHERE name = 'replica'; SELECT own.nw_unregister('replica')}),
	"eve\n", 'which is not for a session to turn off');

# What a superuser has changed is refused before it is read or written
my @changes = (
	[ 'a view in its place', 'ALTER TABLE own.nw_registry RENAME TO old; CREATE VIEW own.nw_registry AS SELECT * FROM own.old' ],
	[ 'a table in its place', 'ALTER TABLE own.nw_registry RENAME TO old; CREATE TABLE own.nw_registry (LIKE own.old INCLUDING ALL)' ],
	[ 'another owner', 'ALTER TABLE own.nw_registry OWNER TO eve' ],
	[ 'no member of the extension', 'ALTER EXTENSION nwhead DROP TABLE own.nw_registry' ],
	[ 'another index', 'ALTER TABLE own.nw_registry DROP CONSTRAINT nw_registry_name; CREATE TABLE own.evil (a tsvector); CREATE INDEX nw_registry_name ON own.evil USING gist (a)' ],
	[ 'a table for an index', 'ALTER TABLE own.nw_registry DROP CONSTRAINT nw_registry_name; CREATE TABLE own.nw_registry_name (a int)' ],
	[ 'an index of another order', 'ALTER TABLE own.nw_registry DROP CONSTRAINT nw_registry_name; CREATE UNIQUE INDEX nw_registry_name ON own.nw_registry (name COLLATE "POSIX")' ],
	[ 'an index that is not unique', 'ALTER TABLE own.nw_registry DROP CONSTRAINT nw_registry_name; CREATE INDEX nw_registry_name ON own.nw_registry (name)' ],
	[ 'a partial index', 'ALTER TABLE own.nw_registry DROP CONSTRAINT nw_registry_name; CREATE UNIQUE INDEX nw_registry_name ON own.nw_registry (name) WHERE tau > 0' ],
	[ 'an index of an expression', 'CREATE INDEX ON own.nw_registry (lower(name))' ],
	[ 'a hash index', 'CREATE INDEX ON own.nw_registry USING hash (name)' ],
	[ 'a trigger', 'CREATE TRIGGER t AFTER UPDATE ON own.nw_registry FOR EACH ROW EXECUTE FUNCTION own.trap()' ],
	[ 'a rule', 'CREATE RULE r AS ON DELETE TO own.nw_registry DO ALSO SELECT 1' ],
	[ 'row-level security', 'ALTER TABLE own.nw_registry ENABLE ROW LEVEL SECURITY' ],
	[ 'a child', 'CREATE TABLE own.child () INHERITS (own.nw_registry)' ],
	[ 'another column', 'ALTER TABLE own.nw_registry ADD COLUMN x int' ],
	[ 'a column less', 'ALTER TABLE own.nw_registry DROP COLUMN centroids' ],
	[ 'another type', 'ALTER TABLE own.nw_registry ALTER version TYPE int4' ],
	[ 'not logged', 'ALTER TABLE own.nw_diagnosed_influence SET UNLOGGED', 'nw_diagnosed_influence' ],
	[ 'a view for prototypes', 'ALTER TABLE own.nw_prototype RENAME TO old; CREATE VIEW own.nw_prototype AS SELECT * FROM own.old', 'nw_prototype' ],
	[ 'prototypes without a policy', 'DROP POLICY nw_members ON own.nw_prototype', 'nw_prototype' ],
	[ 'prototypes that anyone reads', 'ALTER TABLE own.nw_prototype DISABLE ROW LEVEL SECURITY', 'nw_prototype' ],
	[ 'a trigger on suspects', 'CREATE TRIGGER t BEFORE INSERT ON own.nw_diagnosed_suspect FOR EACH ROW EXECUTE FUNCTION own.trap()', 'nw_diagnosed_suspect' ],
	[ 'a table for the sequence', 'ALTER EXTENSION nwhead DROP SEQUENCE own.nw_version; DROP SEQUENCE own.nw_version; CREATE TABLE own.nw_version (x int)', 'nw_version' ],
);
foreach my $change (@changes)
{
	my ($name, $sql, $relation) = @$change;
	my @calls =
	    !defined $relation ? ("own.nw_predict('[1,1]'::vector, 's')", "own.nw_set_tau('s', 2)", "own.nw_register('n', 'alice.t')")
	  : $relation eq 'nw_prototype' ? ("own.nw_predict('[1,1]'::vector, 'p')", "own.nw_distill('s', 'n')")
	  : $relation eq 'nw_version' ? ("own.nw_set_tau('s', 2)", "own.nw_register('n', 'alice.t')")
	  : ("own.nw_diagnose('s', 's')");
	foreach my $call (@calls)
	{
		like(result('own', "BEGIN; $sql; SELECT $call; ROLLBACK"),
			qr/relation "\w+" of extension "nwhead" (has been altered|does not exist)/, "$name: $call");
	}
	# a verdict of before the change does not stand, where sessions hear of the change
	next if $sql =~ /ALTER EXTENSION nwhead DROP TABLE/;
	my $call = $calls[0];
	like(result('own', "SELECT $call; BEGIN; $sql; SELECT $call; ROLLBACK"),
		qr/relation "\w+" of extension "nwhead" (has been altered|does not exist)/, "$name: in a session that has used it");
}
$node->safe_psql('own', 'CREATE ROLE admin SUPERUSER; ALTER TABLE own.nw_registry OWNER TO admin');
is(result('own', "SELECT own.nw_predict('[1,1]'::vector, 's') IS NOT NULL"), 't', "any superuser's table will do");
like(result('own', "SELECT own.nw_predict('[1,1]'::vector, 's'); ALTER ROLE admin NOSUPERUSER; SELECT own.nw_predict('[1,1]'::vector, 's')"),
	qr/has been altered/, 'but not that of one who was');
$node->safe_psql('own', 'ALTER ROLE admin SUPERUSER');

# Schemas that change places while rows are written lead nowhere else
is( result('own', q{SET SESSION AUTHORIZATION eve; SELECT own.nw_set_tau('open', 2); ALTER SCHEMA own RENAME TO away; CREATE SCHEMA own;
		CREATE TABLE own.nw_registry AS SELECT * FROM away.nw_registry; CREATE TRIGGER t BEFORE INSERT OR UPDATE ON own.nw_registry FOR EACH ROW EXECUTE FUNCTION away.trap();
		SELECT away.nw_set_tau('open', 3); SELECT tau FROM away.nw_sets WHERE name = 'open'; DROP SCHEMA own CASCADE; SELECT rolsuper FROM pg_roles WHERE rolname = 'eve';}),
	"\n\n3\nf", 'a schema renamed');
$node->command_ok([ 'pg_dump', '-f', "$dir/renamed.sql", '-d', $node->connstr('own') ], 'which does not hinder pg_dump');
like(slurp_file("$dir/renamed.sql"), qr/^COPY away\.nw_saved .*\nfew\t/m, 'it finds all rows');
$node->safe_psql('own', 'ALTER SCHEMA away RENAME TO own');

# A dump by the extension's owner: her own prototypes, and sets that hold no copies
foreach my $option (undef, '--inserts', '--column-inserts', '--enable-row-security')
{
	my @options = $option ? ($option) : ();
	$node->command_ok([ 'pg_dump', '-U', 'eve', '-n', 'own', '-e', 'nwhead', '-f', "$dir/eve.sql", @options, '-d', $node->connstr('own') ],
		'she dumps it ' . ($option // ''));
	my $dump = slurp_file("$dir/eve.sql");
	like($dump, qr/'?few'?[,\t]/, 'with her prototypes');
	unlike($dump, qr/disease|patient/, "and none of alice's");
}
$node->safe_psql('postgres', 'CREATE DATABASE again OWNER eve TEMPLATE template0');
$node->safe_psql('again', 'CREATE EXTENSION vector; GRANT CREATE ON SCHEMA public TO eve');
$node->command_ok([ 'psql', '-X', '-q', '-U', 'eve', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/eve.sql", '-d', $node->connstr('again') ], 'she restores it');
is( $node->safe_psql('again', 'SELECT name, mode, owner FROM own.nw_sets ORDER BY name'),
	"few|cluster|eve\nforged|full|eve\nopen|full|eve\ns|full|eve", 'as her own');

# A dump by a superuser, in parallel, restored where a role is missing
$node->command_ok([ 'pg_dump', '-Fd', '-j', '2', '-f', "$dir/all", '-d', $node->connstr('own') ], 'dump all');
$node->safe_psql('own', q{ALTER ROLE alice RENAME TO alicia});
$node->safe_psql('postgres', 'CREATE DATABASE all_again TEMPLATE template0; CREATE ROLE alice');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-j', '2', '-d', $node->connstr('all_again'), "$dir/all" ], 'restore all');
is( $node->safe_psql('all_again', 'SELECT name, owner FROM own.nw_sets ORDER BY name'),
	"few|eve\nforged|eve\nopen|eve\np|alice\ns|alice", 'every set has its owner, by name');
is($node->safe_psql('all_again', 'SELECT set, label, members FROM own.nw_prototypes ORDER BY 1, 2'),
	$node->safe_psql('own', 'SELECT set, label, members FROM own.nw_prototypes ORDER BY 1, 2'), 'and its prototypes');
$node->safe_psql('postgres', 'DROP DATABASE all_again; DROP ROLE alice; CREATE DATABASE all_again TEMPLATE template0');
$node->command_ok([ 'pg_restore', '-O', '-x', '--exit-on-error', '-d', $node->connstr('all_again'), "$dir/all" ], 'restore without one of the roles');
is($node->safe_psql('all_again', 'SELECT name, owner = current_user FROM own.nw_sets ORDER BY name'),
	"few|f\nforged|f\nopen|f\np|t\ns|t", 'its sets are for who restores');

$node->stop;
done_testing();
