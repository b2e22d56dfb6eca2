# A hostile schema in front of the search_path changes nothing.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;

# Functions, operators, casts and types that would tell if anything called them.
my $trap = q{
	CREATE SCHEMA evil;
	CREATE FUNCTION evil.boom() RETURNS text LANGUAGE plpgsql AS $$
	BEGIN
		RAISE EXCEPTION 'trap sprung by %', current_user;
	END $$;
	CREATE FUNCTION evil.nextval(oid) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN evil.boom()::bigint; END $$;
	CREATE FUNCTION evil.nextval(regclass) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN evil.boom()::bigint; END $$;
	CREATE FUNCTION evil.format(text, VARIADIC text[]) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN evil.boom(); END $$;
	CREATE FUNCTION evil.eq(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN evil.boom() = ''; END $$;
	CREATE FUNCTION evil.eq8(bigint, bigint) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN evil.boom() = ''; END $$;
	CREATE OPERATOR evil.= (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.eq);
	CREATE OPERATOR evil.= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = evil.eq8);
	CREATE TYPE evil.float8 AS (x text);
	CREATE TYPE evil.text AS (x pg_catalog.text);
	CREATE TYPE evil.vector AS (x pg_catalog.text);
	CREATE TYPE evil.halfvec AS (x pg_catalog.text);
	CREATE TABLE evil.nw_registry AS SELECT 'hostile'::pg_catalog.text AS name;
	CREATE TABLE evil.pg_extension (extname name, extnamespace oid);
	CREATE SEQUENCE evil.nw_version;
	GRANT ALL ON SCHEMA evil TO PUBLIC;
};

$node->safe_psql('postgres', q{
	CREATE EXTENSION nwhead CASCADE;
	CREATE TABLE rows (id int, embedding vector(1), label pg_catalog.text, n numeric DEFAULT 1);
	INSERT INTO rows VALUES (1, '[1]', 'a'), (2, '[5]', 'b');
	CREATE TABLE evil_rows (LIKE rows)});
$node->safe_psql('postgres', $trap);

my $path = 'SET search_path = evil, pg_catalog, public;';
is($node->safe_psql('postgres', "$path SELECT public.nw_register('s', 'public.rows', tau => 0.1, weight => 'n')"), '', 'nw_register');
is($node->safe_psql('postgres', "$path SELECT public.nw_register('s', 'public.rows', tau => 0.1, weight => 'n', replace => true)"), '', 'replace');
is($node->safe_psql('postgres', "$path SELECT public.nw_set_tau('s', 0.2)"), '', 'nw_set_tau');
is($node->safe_psql('postgres', "$path SELECT public.nw_predict('[0]'::public.vector, 's')"), 'a', 'nw_predict');
is($node->safe_psql('postgres', "$path SELECT public.nw_predict('[0]'::public.halfvec, 's')"), 'a', 'of a halfvec');
is($node->safe_psql('postgres', "$path SELECT public.nw_predict('[0]'::pg_catalog.text, 's')"), 'a', 'of a text');
is($node->safe_psql('postgres', "$path SELECT support_id FROM public.nw_weights('[0]'::public.vector, 's')"), "1\n2", 'nw_weights');
is($node->safe_psql('postgres', "$path SELECT relation FROM public.nw_sets"), 'public.rows', 'nw_sets');
is( $node->safe_psql('postgres', "$path SELECT public.nw_argmax(label, embedding OPERATOR(public.<->) '[0]'::public.vector) FROM public.rows"),
	'a', 'nw_argmax');
my ($ret, $stdout, $stderr) = $node->psql('postgres', "$path SELECT public.nw_predict('[0]'::public.vector, 'none')");
like($stderr, qr/The registered sets are "s"/, 'the list of names');
is($node->safe_psql('postgres', "$path SELECT public.nw_unregister('s')"), '', 'nw_unregister');
is($node->safe_psql('postgres', 'SELECT count(*) FROM nw_sets'), '0', 'it is gone');

# and the same with nothing on the path at all
is( $node->safe_psql('postgres', q{
		SET search_path = '';
		SELECT public.nw_register('s', 'public.rows', tau => 0.1);
		SELECT public.nw_predict('[0]', 's');}),
	"\na",
	'an empty search_path');

# Temporary objects come first by default
is( $node->safe_psql('postgres', q{
		CREATE TEMP TABLE nw_registry (name text);
		CREATE TEMP TABLE rows (id int, embedding text, label text);
		CREATE FUNCTION pg_temp.nextval(oid) RETURNS bigint LANGUAGE sql RETURN 1 / 0;
		SELECT nw_set_tau('s', 0.3);
		SELECT nw_predict('[0]', 's');}),
	"\na",
	'temporary objects of the same names');

# The extension created where an attacker was first
$node->safe_psql('postgres', 'CREATE DATABASE other; CREATE ROLE attacker; CREATE ROLE owner');
$node->safe_psql(
	'other', q{
	CREATE SCHEMA shared;
	GRANT ALL ON SCHEMA shared TO attacker;
	CREATE SCHEMA vectors;
	CREATE EXTENSION vector SCHEMA vectors;
	SET ROLE attacker;
	CREATE TYPE shared.vector AS (x text);
	CREATE TYPE shared.halfvec AS (x text);
	CREATE DOMAIN shared.text AS pg_catalog.text;
	CREATE DOMAIN shared.float8 AS pg_catalog.float8;
	CREATE FUNCTION shared.set_config(pg_catalog.text, pg_catalog.text, boolean) RETURNS pg_catalog.text LANGUAGE sql RETURN 1 / 0;
	CREATE FUNCTION shared.pg_extension_config_dump(regclass, pg_catalog.text) RETURNS void LANGUAGE plpgsql
		AS $$ BEGIN RAISE EXCEPTION 'trap sprung'; END $$;
});
is($node->safe_psql('other', 'SET search_path = shared, public; CREATE EXTENSION nwhead SCHEMA shared'),
	'', 'created in a schema with traps');
is( $node->safe_psql('other', q{
		SELECT count(DISTINCT t) FROM pg_proc AS p, unnest(p.proargtypes) AS t JOIN pg_type AS y ON y.oid = t
		 WHERE p.proname LIKE 'nw\_%' AND y.typnamespace = 'shared'::regnamespace}),
	'0',
	"no function has one of the attacker's types");
is( $node->safe_psql('other', q{
		SELECT count(DISTINCT atttypid) FROM pg_attribute WHERE attrelid = 'shared.nw_registry'::regclass
		   AND atttypid IN (SELECT oid FROM pg_type WHERE typnamespace = 'shared'::regnamespace)}),
	'0',
	'nor has the registry');
is( $node->safe_psql('other', q{
		CREATE TABLE rows (id int, embedding vectors.vector(1), label text);
		INSERT INTO rows VALUES (1, '[1]', 'a');
		SELECT shared.nw_register('s', 'rows', tau => 0.1);
		SELECT shared.nw_predict('[0]', 's');}),
	"\na",
	'and it works');
($ret, $stdout, $stderr) = $node->psql('other', q{
	CREATE TABLE fake (id int, embedding shared.vector, label text);
	SELECT shared.nw_register('fake', 'fake');});
like($stderr, qr/embedding column "embedding" of set "fake" has type/, 'a type that is only called vector');
is($node->safe_psql('other', 'SHOW search_path'), '"$user", public', 'the search_path of the session is its own');

# A name the attacker has taken already
$node->safe_psql('postgres', 'CREATE DATABASE third');
$node->safe_psql(
	'third', q{
	CREATE SCHEMA shared;
	GRANT ALL ON SCHEMA shared TO attacker;
	CREATE EXTENSION vector;
	SET ROLE attacker;
	CREATE TABLE shared.nw_registry (name text);
});
($ret, $stdout, $stderr) = $node->psql('third', 'CREATE EXTENSION nwhead SCHEMA shared');
like($stderr, qr/relation "nw_registry" already exists/, 'an object that is there already is an error');

# A schema whose name needs quotes
$node->safe_psql('postgres', 'CREATE DATABASE fourth');
is( $node->safe_psql('fourth', q{
		CREATE SCHEMA "Odd Name";
		CREATE EXTENSION vector SCHEMA "Odd Name";
		CREATE EXTENSION nwhead SCHEMA "Odd Name";
		CREATE TABLE rows (id int, embedding "Odd Name".vector(1), label text);
		INSERT INTO rows VALUES (1, '[1]', 'a');
		SELECT "Odd Name".nw_register('s', 'rows', tau => 0.1);
		SELECT "Odd Name".nw_predict('[0]', 's');}),
	"\na",
	'a schema with an odd name');

# One whose name would end a string; and the script does not put it in one
$node->safe_psql('fourth', q{CREATE SCHEMA "it's"});
($ret, $stdout, $stderr) = $node->psql('fourth', q{DROP EXTENSION nwhead; CREATE EXTENSION nwhead SCHEMA "it's"});
like($stderr, qr/^$|invalid character in extension "nwhead" schema/, 'a schema with a quote in its name');
my $share = $node->config_data('--sharedir');
foreach my $script (glob "$share/extension/nwhead--*.sql")
{
	unlike(slurp_file($script), qr/'[^'\n]*\@ext(schema|owner)\@|\$\$(?:(?!\$\$).)*\@ext(schema|owner)\@(?:(?!\$\$).)*\$\$;/s, "$script: no schema's name within quotes");
}

# Without pgvector, or with too old a one, CREATE EXTENSION says so
$node->safe_psql('postgres', 'CREATE DATABASE fifth');
($ret, $stdout, $stderr) = $node->psql('fifth', 'CREATE EXTENSION nwhead');
like($stderr, qr/required extension "vector" is not installed/, 'without pgvector');
$node->safe_psql('fifth', q{
	CREATE EXTENSION vector;
	CREATE TABLE rows (id int, embedding vector(1), label text)});
($ret, $stdout, $stderr) = $node->psql('fifth', 'ALTER EXTENSION vector DROP TYPE halfvec; CREATE EXTENSION nwhead');
like($stderr, qr/nwhead needs pgvector 0\.7\.0 or later/, 'with a type halfvec that is not of pgvector');
$node->safe_psql('fifth', 'ALTER EXTENSION vector ADD TYPE halfvec; CREATE EXTENSION nwhead; ALTER EXTENSION vector DROP TYPE halfvec');
($ret, $stdout, $stderr) = $node->psql('fifth', "SELECT nw_register('s', 'rows')");
like($stderr, qr/extension "vector" has no type "halfvec".*nwhead needs pgvector 0\.7\.0 or later/s, 'also later');

$node->stop;
done_testing();
