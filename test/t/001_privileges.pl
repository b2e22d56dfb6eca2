# Privileges: who may register, change and predict.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;

# Run a statement as a role; return its output, or its error.
sub as_role
{
	my ($role, $sql) = @_;
	my ($ret, $stdout, $stderr) = $node->psql('postgres', "SET ROLE $role; $sql");
	return $ret == 0 ? $stdout : $stderr;
}

$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION nwhead CASCADE;
	CREATE ROLE owner;
	CREATE ROLE member IN ROLE owner;
	CREATE ROLE heir NOINHERIT IN ROLE owner;
	CREATE ROLE reader;
	CREATE ROLE stranger;
	CREATE SCHEMA app AUTHORIZATION owner;
	GRANT USAGE ON SCHEMA app TO member, heir, reader;
	CREATE TABLE app.rows (id int, embedding vector(2), label text, secret text, n float8 DEFAULT 1);
	INSERT INTO app.rows VALUES (1, '[3,4]', 'a', 'x'), (2, '[6,8]', 'b', 'y');
	ALTER TABLE app.rows OWNER TO owner;
});

# Registering
like(as_role('owner', "SELECT nw_register('s', 'app.rows')"),
	qr/permission denied to register a set/,
	'registering needs CREATE on the schema');
$node->safe_psql('postgres', 'GRANT CREATE ON SCHEMA public TO owner, reader, stranger');
is(as_role('owner', "SELECT nw_register('s', 'app.rows')"), '', 'and nothing more for the owner of a table');
like(as_role('reader', "SELECT nw_register('t', 'app.rows')"),
	qr/permission denied for table rows/, 'registering reads the table');
like(as_role('stranger', "SELECT nw_register('t', 'app.rows')"),
	qr/permission denied for schema app/, 'and its schema');
$node->safe_psql('postgres', 'GRANT SELECT (embedding) ON app.rows TO reader');
is(as_role('reader', "SELECT nw_register('t', 'app.rows')"), '', 'of which it reads only embeddings');
is($node->safe_psql('postgres', 'SELECT name, owner FROM nw_sets ORDER BY name'),
	"s|owner\nt|reader", 'a set belongs to who registers it');
is(as_role('member', "SET ROLE owner; SELECT nw_set_tau('s', 1)"), '', 'SET ROLE to the owner');

# Changing
foreach my $change ("nw_set_tau('s', 2)", "nw_unregister('s')",
	"nw_register('s', 'app.rows', replace => true)")
{
	like(as_role('reader', "SELECT $change"), qr/must be owner of set "s"/, "a stranger's $change");
}
is(as_role('member', "SELECT nw_set_tau('s', 2)"), '', 'a member of the owning role may change a set');
like(as_role('heir', "SELECT nw_set_tau('s', 3)"),
	qr/must be owner/, 'but not one that does not inherit its privileges');
is(as_role('heir', "SET ROLE owner; SELECT nw_set_tau('s', 3)"), '', 'unless it becomes the owner');
is($node->safe_psql('postgres', "SELECT tau, owner FROM nw_sets WHERE name = 's'"),
	'3|owner', 'a change leaves the owner');
is($node->safe_psql('postgres', "SELECT nw_set_tau('t', 5)"), '', 'a superuser may change any set');
is(as_role('reader', "SELECT nw_unregister('t')"), '', 'an owner may unregister');

# The registry itself
foreach my $role ('owner', 'member', 'stranger')
{
	is(as_role($role, 'SELECT count(*) FROM nw_sets'), '1', "$role reads nw_sets");
	foreach my $write (
		"INSERT INTO nw_registry SELECT * FROM nw_registry", "UPDATE nw_registry SET tau = 9",
		'DELETE FROM nw_registry', 'TRUNCATE nw_registry', 'UPDATE nw_sets SET tau = 9',
		'DELETE FROM nw_sets', 'BEGIN; LOCK nw_registry IN EXCLUSIVE MODE',
		"SELECT nextval('nw_version')", "SELECT setval('nw_version', 1)")
	{
		like(as_role($role, $write), qr/permission denied/, "$role: $write");
	}
}

# Predicting
my $predict = "SELECT nw_predict('[0,0]', 's')";
like(as_role('stranger', $predict), qr/permission denied for (schema|table)/, 'no privileges at all');
$node->safe_psql('postgres', 'REVOKE SELECT (embedding) ON app.rows FROM reader');
like(as_role('reader', $predict), qr/permission denied for table rows/, 'no table privilege');
$node->safe_psql('postgres', 'GRANT SELECT (label) ON app.rows TO reader');
like(as_role('reader', $predict), qr/permission denied for table rows/, 'privilege on the label only');
$node->safe_psql('postgres', 'GRANT SELECT (embedding) ON app.rows TO reader');
is(as_role('reader', $predict), 'a', 'privileges on the columns that are read');
is(as_role('reader', "SELECT label FROM nw_predict_proba('[0,0]', 's', top => 1)"), 'a', 'for all of the classes');
like(as_role('reader', "SELECT * FROM nw_weights('[0,0]', 's')"),
	qr/permission denied for table rows/, 'nw_weights reads ids as well');
like(as_role('reader', "SELECT nw_predict('[0,0]', 's', exclude => '{1}')"),
	qr/permission denied for table rows/, 'and so does exclude');
$node->safe_psql('postgres', 'GRANT SELECT (id) ON app.rows TO reader');
is(as_role('reader', "SELECT support_id FROM nw_weights('[0,0]', 's', 1)"), '1', 'with a privilege on it');
$node->safe_psql('postgres', "SELECT nw_register('s', 'app.rows', weight => 'n', replace => true)");
like(as_role('reader', $predict), qr/permission denied for table rows/, 'a weight column is read too');
$node->safe_psql('postgres', 'GRANT SELECT ON app.rows TO reader');
is(as_role('reader', $predict), 'a', 'a privilege on the table covers it');

# Privileges are those of the moment, also inside a function
$node->safe_psql(
	'postgres', q{
	CREATE FUNCTION revoke_in_between() RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		q vector := '[0,0]';
		answer text;
	BEGIN
		FOR i IN 1..3 LOOP
			answer := nw_predict(q, 's');
		END LOOP;
		SET LOCAL ROLE owner;
		REVOKE SELECT ON app.rows FROM reader;
		SET LOCAL ROLE reader;
		RETURN nw_predict(q, 's');
	END
	$$;
	GRANT EXECUTE ON FUNCTION revoke_in_between TO reader;
	REVOKE ALL ON app.rows FROM reader;
	REVOKE SELECT (id, embedding, label) ON app.rows FROM reader;
	ALTER TABLE app.rows OWNER TO owner;
	GRANT SELECT ON app.rows TO reader;
	SELECT nw_register('s', 'app.rows', replace => true);
});
my ($ret, $stdout, $stderr) = $node->psql('postgres', 'SET ROLE reader; SELECT revoke_in_between()');
like($stderr, qr/permission denied for table rows/, 'a privilege revoked while a statement runs');

# A role that is gone leaves its sets to superusers
$node->safe_psql(
	'postgres', q{
	SET ROLE stranger;
	CREATE TABLE public.own (id int, embedding vector(1), label text);
	SELECT nw_register('left', 'public.own');
	RESET ROLE;
	DROP OWNED BY stranger;
	DROP ROLE stranger;
});
is($node->safe_psql('postgres', "SELECT owner IS NULL FROM nw_sets WHERE name = 'left'"), 't', 'a role is gone');
like(as_role('reader', "SELECT nw_unregister('left')"), qr/must be owner of set "left"/, 'its set is not for all');
$node->safe_psql('postgres', "SELECT nw_unregister('left')");
is($node->safe_psql('postgres', "SELECT count(*) FROM nw_sets WHERE name = 'left'"), '0', 'but for a superuser');

# A public user of a schema without the right to use it
$node->safe_psql('postgres', 'CREATE SCHEMA hidden; CREATE DATABASE other');
$node->safe_psql(
	'other', q{
	CREATE EXTENSION vector;
	CREATE SCHEMA hidden;
	CREATE EXTENSION nwhead SCHEMA hidden;
	CREATE TABLE public.rows (id int, embedding vector(1), label text);
	INSERT INTO public.rows VALUES (1, '[2]', 'a');
	GRANT SELECT ON public.rows TO reader;
	SELECT hidden.nw_register('s', 'public.rows');
});
($ret, $stdout, $stderr) = $node->psql('other', "SET ROLE reader; SELECT hidden.nw_predict('[0]', 's')");
like($stderr, qr/permission denied for schema hidden/, 'the schema of the extension guards its functions');
$node->safe_psql('other', 'GRANT USAGE ON SCHEMA hidden TO reader');
is($node->safe_psql('other', "SET ROLE reader; SELECT hidden.nw_predict('[0]', 's')"), 'a', 'with USAGE they work');

$node->stop;
done_testing();
