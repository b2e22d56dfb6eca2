# Copies of rows: prototypes and diagnoses are for members of the owning role.
# The extension lives in a schema that is on nobody's search_path.
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
	CREATE SCHEMA vectors;
	CREATE SCHEMA "nw Head";
	CREATE SCHEMA data;
	CREATE EXTENSION vector SCHEMA vectors;
	CREATE EXTENSION nwhead SCHEMA "nw Head";
	CREATE ROLE owner;
	CREATE ROLE member IN ROLE owner;
	CREATE ROLE heir NOINHERIT IN ROLE owner;
	CREATE ROLE other;
	GRANT USAGE ON SCHEMA vectors, "nw Head", data TO PUBLIC;
	GRANT CREATE ON SCHEMA "nw Head" TO owner;
	CREATE TABLE data.rows (id int, embedding vectors.vector(1), label text, reader name);
	INSERT INTO data.rows VALUES
		(1, '[0]', 'a', 'owner'), (2, '[1]', 'a', 'owner'), (3, '[10]', 'b', 'owner'), (4, '[11]', 'b', 'owner'),
		(5, '[5]', 'secret', 'other'), (6, '[6]', 'secret', 'other');
	ALTER TABLE data.rows ENABLE ROW LEVEL SECURITY;
	CREATE POLICY own ON data.rows FOR SELECT USING (reader = current_user);
	CREATE POLICY members ON data.rows FOR SELECT TO member USING (reader = 'owner');
	GRANT SELECT ON data.rows TO owner, member, heir, other;
	CREATE TABLE data.queries AS SELECT id, embedding, label FROM data.rows WHERE id IN (2, 3);
	GRANT SELECT ON data.queries TO owner, other;
	SET ROLE owner;
	SELECT "nw Head".nw_register('s', 'data.rows', tau => 1);
	SELECT "nw Head".nw_register('q', 'data.queries', tau => 1);
});
my $predict = q{SELECT "nw Head".nw_predict('[5.4]', '%s')};
my $views = join ' UNION ALL ', map { qq{SELECT count(*) FROM "nw Head".$_} }
  qw(nw_prototypes nw_helpful_supports nw_harmful_supports nw_suspect_supports);

# Who distils sees what the source lets it see
is($node->safe_psql('postgres', sprintf($predict, 's')), 'secret', 'a superuser predicts from all rows');
is(as_role('owner', sprintf($predict, 's')), 'a', 'the owner from its own');
is(as_role('owner', q{SELECT "nw Head".nw_distill('s', 'few', 'closest', k => 2, calibrate => false)}), '4', 'and distils these');
is(as_role('owner', q{SELECT string_agg(label || source_id, ' ' ORDER BY source_id) FROM "nw Head".nw_prototypes}), 'a1 a2 b3 b4', 'nothing else');
is(as_role('owner', q{SELECT nw.n FROM "nw Head".nw_evaluate('few', 's') AS nw}), '4', 'evaluates on them');
is(as_role('owner', q{SELECT string_agg(support_id, ' ') FROM "nw Head".nw_suspects('s')}), '2 3 1 4', 'suspects them');
is(as_role('owner', q{SELECT "nw Head".nw_diagnose('few', 'q', 1)}), '8', 'and diagnoses');
is(as_role('owner', $views), "4\n2\n2\n4", 'and reads it all');

# Members
is(as_role('member', sprintf($predict, 'few')), 'a', 'a member predicts from prototypes');
is(as_role('member', $views), "4\n2\n2\n4", 'and reads prototypes and diagnoses');
is(as_role('member', q{SELECT source_id FROM "nw Head".nw_prototypes WHERE label = 'b' ORDER BY 1}), "3\n4", 'through the view');

is(as_role('member', 'SET row_security = off; ' . sprintf($predict, 'few')), 'a', 'also with row_security off');
is(as_role('owner', q{SET row_security = off; SELECT nw.n FROM "nw Head".nw_evaluate('few', 'q') AS nw}), '2', 'which the owner evaluates with');
like(as_role('owner', 'SET row_security = off; ' . sprintf($predict, 's')), qr/query would be affected by row-level security policy/, 'but not on rows with policies');

# Others
foreach my $role ('other', 'heir')
{
	like(as_role($role, 'SET row_security = off; ' . sprintf($predict, 'few')), qr/permission denied for set/, "$role predicts nothing with row_security off");
	is(as_role($role, $views), "0\n0\n0\n0", "$role reads no prototypes and no diagnoses");
	foreach my $table (qw(nw_prototype nw_diagnosed_influence nw_diagnosed_suspect))
	{
		is(as_role($role, qq{SELECT count(*) FROM "nw Head".$table}), '0', "nor in $table");
		like(as_role($role, qq{SET row_security = off; SELECT count(*) FROM "nw Head".$table}),
			qr/query would be affected by row-level security policy/, 'nor with row_security off');
		like(as_role($role, qq{DELETE FROM "nw Head".$table}), qr/permission denied for table $table/, 'nor does it write there');
	}
	foreach my $call (
		"nw_predict('[5.4]'::vectors.vector, 'few')", "nw_classify('[5.4]'::vectors.vector, 'few')",
		"nw_weights('[5.4]'::vectors.vector, 'few')", "nw_influence('[5.4]'::vectors.vector, 'a', 'few')",
		"nw_predict_set('few', 's')", "nw_predict_set('s', 'few')",
		"nw_evaluate('few', 's')", "nw_confusion('few', 's')", "nw_class_report('few', 's')", "nw_coverage('few', 's')", "nw_explain('[5.4]'::vectors.vector, 'few')", "nw_reliability('few', 's')",
		"nw_temperature_sweep('few', 's')", "nw_suspects('few')", "nw_shapley('few')", "nw_shapley('few', 's')", "nw_calibrate('few', 's')", "nw_diagnose('few', 's')")
	{
		like(as_role($role, qq{SELECT * FROM "nw Head".$call}),
			qr/permission denied for set "few".*Prototypes are copies of rows, readable by members of role "owner" only/s, "$role: $call");
	}
}
like(as_role('heir', q{SET ROLE owner; } . sprintf($predict, 'few')), qr/^a$/, 'who may become the owner predicts as the owner');

# Rights to change: CREATE on the schema for new sets, ownership for old ones
like(as_role('other', q{SELECT "nw Head".nw_distill('s', 'mine')}),
	qr/permission denied to register a set/, 'distilling needs CREATE on the schema');
$node->safe_psql('postgres', 'GRANT CREATE ON SCHEMA "nw Head" TO other');
is(as_role('other', q{SELECT "nw Head".nw_distill('s', 'mine', calibrate => false)}), '1', 'with it, the rows one may see');
is(as_role('other', q{SELECT label FROM "nw Head".nw_prototypes}), 'secret', 'are prototypes');
is(as_role('owner', q{SELECT DISTINCT set FROM "nw Head".nw_prototypes}), 'few', 'that others do not see');
like(as_role('owner', sprintf($predict, 'mine')), qr/permission denied for set "mine"/, 'nor predict from');
like(as_role('other', q{SELECT "nw Head".nw_distill('s', 'few')}), qr/must be owner of set "few"/, "another's set is not replaced");
like(as_role('other', q{SELECT "nw Head".nw_distill('few', 'theft')}), qr/permission denied for set "few"/, 'nor distilled further');
like(as_role('other', q{SELECT "nw Head".nw_calibrate('s')}), qr/must be owner of set "s"/, 'nor calibrated');
like(as_role('other', q{SELECT "nw Head".nw_calibrate('s', 's', 1, 1, 1)}), qr/must be owner of set "s"/, 'in any way');
like(as_role('other', q{SELECT "nw Head".nw_diagnose('s', 'q')}), qr/must be owner of set "s"/, 'nor diagnosed');
like(as_role('other', q{SELECT "nw Head".nw_unregister('few')}), qr/must be owner of set "few"/, 'nor removed');
is(as_role('other', q{SELECT n FROM "nw Head".nw_evaluate('s', 'q')}), '2', 'it can be evaluated, on the rows one may see');
is(as_role('member', q{SELECT tau_before FROM "nw Head".nw_calibrate('s')}), '1', 'a member may calibrate');

# Reading needs the right to the columns that are read
$node->safe_psql('postgres', 'REVOKE SELECT ON data.queries FROM other; GRANT SELECT (embedding, id) ON data.queries TO other');
like(as_role('other', q{SELECT n FROM "nw Head".nw_evaluate('s', 'q')}), qr/permission denied for table queries/, 'queries: the label is read too');
$node->safe_psql('postgres', 'GRANT SELECT (label) ON data.queries TO other');
is(as_role('other', q{SELECT n FROM "nw Head".nw_evaluate('s', 'q')}), '2', 'and nothing else');

# A cache that another role filled is not read without the right to it
is( $node->safe_psql('postgres', q{
		SET SESSION AUTHORIZATION owner;
		SELECT "nw Head".nw_predict('[5.4]', 'few');
		RESET SESSION AUTHORIZATION;
		SET ROLE other;
		SELECT count(*) FROM "nw Head".nw_prototypes WHERE set = 'few';}),
	"a\n0",
	'a session that changes roles');
my ($ret, $stdout, $stderr) = $node->psql('postgres', q{
	SELECT "nw Head".nw_predict('[5.4]', 'few');
	SET ROLE other;
	SELECT "nw Head".nw_predict('[5.4]', 'few');});
like($stderr, qr/permission denied for set "few"/, 'after a superuser has filled the cache');
$node->safe_psql('postgres', 'REVOKE owner FROM member');
like(as_role('member', sprintf($predict, 'few')), qr/permission denied for set "few"/, 'who is a member no more');
is(as_role('member', $views), "0\n0\n0\n0", 'reads nothing');

# A security definer function lends its owner's rights
$node->safe_psql('postgres', q{
	CREATE FUNCTION data.ask(q vectors.vector) RETURNS text LANGUAGE sql SECURITY DEFINER RETURN "nw Head".nw_predict(q, 'few');
	ALTER FUNCTION data.ask OWNER TO owner;});
is(as_role('other', q{SELECT data.ask('[5.4]')}), 'a', 'a function that the owner defines answers for it');

# Policies of the source that change later do not reach copies; distilling anew does
$node->safe_psql('postgres', q{UPDATE data.rows SET reader = 'nobody' WHERE id IN (3, 4)});
is(as_role('owner', q{SELECT count(DISTINCT label) FROM "nw Head".nw_prototypes WHERE set = 'few'}), '2', 'copies are copies');
is(as_role('owner', q{SELECT "nw Head".nw_distill('s', 'few', calibrate => false)}), '1', 'distilled anew');
is(as_role('owner', q{SELECT label FROM "nw Head".nw_prototypes WHERE set = 'few'}), 'a', 'they are what may be seen now');

# A role that is gone
$node->safe_psql('postgres', q{DROP OWNED BY other; DROP ROLE other});
like(as_role('owner', sprintf($predict, 'mine')), qr/permission denied for set "mine"/, 'a set whose owner is gone is not for all');
is($node->safe_psql('postgres', sprintf($predict, 'mine')), 'secret', 'but a superuser can use it');
is($node->safe_psql('postgres', q{SELECT "nw Head".nw_unregister('mine'); SELECT count(*) FROM "nw Head".nw_prototypes WHERE set = 'mine'}),
	"\n0", 'and remove it');

# A hostile schema in front of the search_path changes nothing
$node->safe_psql('postgres', 'CREATE DATABASE hostile');
is( $node->safe_psql('hostile', q{
		CREATE EXTENSION nwhead CASCADE;
		CREATE TABLE rows AS SELECT i AS id, ARRAY[i % 7]::vector(1) AS embedding, 'l' || i % 2 AS label FROM generate_series(1, 20) AS i;
		CREATE SCHEMA evil;
		CREATE FUNCTION evil.boom() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'trap sprung'; END $$;
		CREATE FUNCTION evil.eq(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN evil.boom() IS NULL; END $$;
		CREATE FUNCTION evil.eq8(bigint, bigint) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN evil.boom() IS NULL; END $$;
		CREATE FUNCTION evil.eqn(name, name) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN evil.boom() IS NULL; END $$;
		CREATE OPERATOR evil.= (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.eq);
		CREATE OPERATOR evil.= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = evil.eq8);
		CREATE OPERATOR evil.= (LEFTARG = name, RIGHTARG = name, FUNCTION = evil.eqn);
		CREATE FUNCTION evil.pg_has_role(oid, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN evil.boom() IS NULL; END $$;
		CREATE FUNCTION evil.nextval(oid) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN length(evil.boom()); END $$;
		CREATE TABLE evil.nw_prototype AS SELECT 'x'::pg_catalog.text AS set;
		CREATE TABLE evil.nw_registry AS SELECT 'x'::pg_catalog.text AS name;
		CREATE TYPE evil.text AS (x pg_catalog.text);
		CREATE TYPE evil.vector AS (x pg_catalog.text);
		CREATE TYPE evil.float8 AS (x pg_catalog.text);
		CREATE ROLE plain;
		GRANT USAGE ON SCHEMA evil TO plain;
		GRANT CREATE ON SCHEMA public TO plain;
		GRANT SELECT ON rows TO plain;
		SET search_path = evil, pg_catalog, public;
		SET ROLE plain;
		SELECT public.nw_register('s', 'public.rows', tau => 1);
		SELECT public.nw_distill('s', 'few', 'closest', 2);
		SELECT public.nw_distill('s', 'few', 'cluster', 1, calibrate => false);
		SELECT public.nw_predict('[0]'::public.vector, 'few') IS NOT NULL;
		SELECT count(*) FROM public.nw_prototypes;
		SELECT n FROM public.nw_calibrate('s');
		SELECT n FROM public.nw_evaluate('s', 's');
		SELECT public.nw_diagnose('s', 's', 1) > 0;
		SELECT count(*) > 0 FROM public.nw_helpful_supports;
		SELECT public.nw_unregister('few');
		SELECT count(*) FROM public.nw_prototypes;}),
	"\n4\n2\nt\n2\n20\n20\nt\nt\n\n0",
	'functions and policies look nothing up there');

$node->stop;
done_testing();
