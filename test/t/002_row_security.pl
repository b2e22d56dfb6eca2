# Row-level security: each role sees its own supports, at every moment.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;

$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION nwhead CASCADE;
	CREATE ROLE alice;
	CREATE ROLE bob;
	CREATE TABLE rows (id int, embedding vector(1), label text, tenant text);
	INSERT INTO rows VALUES (1, '[1]', 'a1', 'alice'), (2, '[2]', 'a2', 'alice'),
		(3, '[1]', 'b1', 'bob'), (4, '[2]', 'b2', 'bob');
	CREATE TABLE inbox AS SELECT i AS id, ARRAY[i]::vector AS e FROM generate_series(1, 6) AS i;
	GRANT SELECT ON rows, inbox TO alice, bob;
	SELECT nw_register('s', 'rows', tau => 0.1);
	CREATE VIEW all_rows AS SELECT * FROM rows;
	CREATE VIEW own_rows WITH (security_invoker) AS SELECT * FROM rows;
	GRANT SELECT ON all_rows, own_rows TO alice, bob;
	SELECT nw_register('all', 'all_rows', tau => 0.1);
	SELECT nw_register('own', 'own_rows', tau => 0.1);
	ALTER TABLE rows ENABLE ROW LEVEL SECURITY;
	CREATE POLICY by_role ON rows FOR SELECT USING (tenant = current_user);
});

# Two roles
my $classes = q{SELECT string_agg(label, ' ' ORDER BY label) FROM nw_predict_proba('[1]', '%s')};
is($node->safe_psql('postgres', sprintf($classes, 's')), 'a1 a2 b1 b2', 'a superuser sees all supports');
foreach my $case ([ 'alice', 'a1', 'a1 a2' ], [ 'bob', 'b1', 'b1 b2' ])
{
	my ($role, $label, $all) = @$case;
	is($node->safe_psql('postgres', "SET ROLE $role; SELECT nw_predict('[1]', 's')"),
		$label, "the prediction of $role");
	is($node->safe_psql('postgres', "SET ROLE $role;" . sprintf($classes, 's')), $all, "the supports of $role");
	is($node->safe_psql('postgres', "SET ROLE $role;" . sprintf($classes, 'own')),
		$all, "through a view with the caller's rights");
	is($node->safe_psql('postgres', "SET ROLE $role;" . sprintf($classes, 'all')),
		'a1 a2 b1 b2', "through a view with its owner's rights");
	is( $node->safe_psql('postgres',
			"SET ROLE $role; SELECT string_agg(DISTINCT nw_predict(e, 's'), ' ') FROM inbox WHERE id < 2"),
		$label, 'for the rows of a query');
	is( $node->safe_psql('postgres',
			"SET ROLE $role; SELECT count(*) FROM nw_weights('[1]', 's', exclude => '{1,3}')"),
		'1', 'with ids');
}
my ($ret, $stdout, $stderr) =
  $node->psql('postgres', "SET ROLE alice; SET row_security = off; SELECT nw_predict('[1]', 's')");
like($stderr, qr/query would be affected by row-level security/, 'row_security = off is an error, as ever');

# One transaction, two roles
is( $node->safe_psql('postgres', q{
		BEGIN;
		SET LOCAL ROLE alice; SELECT nw_predict('[1]', 's');
		SET LOCAL ROLE bob; SELECT nw_predict('[1]', 's');
		RESET ROLE; SELECT nw_predict('[1]', 's', classes => '{b2}');
		COMMIT;}),
	"a1\nb1\nb2",
	'SET ROLE between the statements of a transaction');

# A policy that depends on a setting
$node->safe_psql(
	'postgres', q{
	DROP POLICY by_role ON rows;
	CREATE POLICY by_setting ON rows FOR SELECT USING (tenant = current_setting('app.tenant', true));
	CREATE FUNCTION switch(OUT answers text) LANGUAGE plpgsql AS $$
	DECLARE
		q vector := '[1]';
		one text;
		two text;
	BEGIN
		PERFORM set_config('app.tenant', 'alice', true);
		SELECT nw_predict(q, 's') INTO one;
		PERFORM set_config('app.tenant', 'bob', true);
		SELECT nw_predict(q, 's') INTO two;
		answers := one || ' ' || two;
	END
	$$;
	CREATE FUNCTION switch_simple(OUT answers text) LANGUAGE plpgsql STABLE AS $$
	DECLARE
		q vector := '[1]';
		nothing text;
		t text;
	BEGIN
		answers := '';
		FOREACH t IN ARRAY '{alice,alice,alice,bob,bob,bob,alice}'::text[] LOOP
			nothing := set_config('app.tenant', t, true);
			answers := answers || ' ' || nw_predict(q, 's');
		END LOOP;
	END
	$$;
	CREATE FUNCTION switch_loop(OUT answers text) LANGUAGE plpgsql AS $$
	DECLARE
		r record;
	BEGIN
		answers := '';
		FOR r IN SELECT id, e FROM inbox ORDER BY id LOOP
			PERFORM set_config('app.tenant', CASE WHEN r.id % 2 = 1 THEN 'alice' ELSE 'bob' END, true);
			answers := answers || ' ' || nw_predict('[1]'::vector, 's');
		END LOOP;
	END
	$$;
	CREATE FUNCTION switch_query(OUT answers text) LANGUAGE plpgsql AS $$
	DECLARE
		t text;
		part text;
	BEGIN
		answers := '';
		FOREACH t IN ARRAY '{alice,bob,alice}'::text[] LOOP
			PERFORM set_config('app.tenant', t, true);
			SELECT string_agg(DISTINCT nw_predict(e, 's'), ',') INTO part FROM inbox WHERE id = 1 OR id = 6;
			answers := answers || ' ' || part;
		END LOOP;
	END
	$$;
	CREATE FUNCTION with_tenant(t text, q vector) RETURNS text LANGUAGE plpgsql STABLE AS $$
	BEGIN
		PERFORM set_config('app.tenant', t, true);
		RETURN nw_predict(q, 's');
	END
	$$;
	CREATE FUNCTION with_tenant_sql(t text, q vector) RETURNS text LANGUAGE sql STABLE AS $$
		SELECT set_config('app.tenant', t, true);
		SELECT nw_predict(q, 's');
	$$;
});

foreach my $isolation ('READ COMMITTED', 'REPEATABLE READ')
{
	my $begin = "BEGIN ISOLATION LEVEL $isolation; SET LOCAL ROLE alice;";
	is( $node->safe_psql('postgres', qq{$begin
			DO \$\$ BEGIN PERFORM set_config('app.tenant', 'alice', true); END \$\$;
			SELECT nw_predict('[1]', 's');
			DO \$\$ BEGIN PERFORM set_config('app.tenant', 'bob', true); END \$\$;
			SELECT nw_predict('[1]', 's');
			COMMIT;}),
		"a1\nb1",
		"$isolation: set_config between two statements");
	is($node->safe_psql('postgres', "$begin SELECT switch()"), 'a1 b1', "$isolation: within a function");
	is($node->safe_psql('postgres', "$begin SELECT switch_simple()"),
		' a1 a1 a1 b1 b1 b1 a1', "$isolation: in simple expressions of a stable function");
	is($node->safe_psql('postgres', "$begin SELECT switch_loop()"),
		' a1 b1 a1 b1 a1 b1', "$isolation: within a loop");
	is($node->safe_psql('postgres', "$begin SELECT switch_query()"),
		' a1,a2 b1,b2 a1,a2', "$isolation: around queries that predict many rows");
	is( $node->safe_psql('postgres',
			"$begin SELECT string_agg(with_tenant(t, '[1]'), ' ') FROM unnest('{alice,bob,bob,alice}'::text[]) AS t"),
		'a1 b1 b1 a1',
		"$isolation: in a function called for each row");
	is( $node->safe_psql('postgres',
			"$begin SELECT string_agg(with_tenant_sql(t, '[1]'), ' ') FROM unnest('{alice,bob,bob,alice}'::text[]) AS t"),
		'a1 b1 b1 a1',
		"$isolation: in a SQL function called for each row");
	is( $node->safe_psql('postgres',
			"$begin SELECT a.x || ' ' || b.x FROM with_tenant('alice', '[1]') AS a (x), LATERAL with_tenant('bob', '[1]') AS b (x)"),
		'a1 b1',
		"$isolation: in a join of functions");
}

# The same through a view, and through a materialised view that froze
$node->safe_psql('postgres', q{
	CREATE FUNCTION switch_view(OUT answers text) LANGUAGE plpgsql STABLE AS $$
	DECLARE
		q vector := '[1]';
		nothing text;
		t text;
	BEGIN
		answers := '';
		FOREACH t IN ARRAY '{alice,alice,alice,bob,bob,alice}'::text[] LOOP
			nothing := set_config('app.tenant', t, true);
			answers := answers || ' ' || nw_predict(q, 'by setting');
		END LOOP;
	END
	$$;
	CREATE VIEW setting_rows AS SELECT * FROM rows WHERE tenant = current_setting('app.tenant', true);
	SELECT set_config('app.tenant', 'bob', false);
	CREATE MATERIALIZED VIEW frozen AS SELECT * FROM setting_rows;
	SELECT nw_register('by setting', 'setting_rows', tau => 0.1);});
is($node->safe_psql('postgres', 'SELECT switch_view()'), ' a1 a1 a1 b1 b1 a1', 'a view that depends on a setting');
$node->safe_psql('postgres', "SELECT nw_register('by setting', 'frozen', tau => 0.1, replace => true)");
is($node->safe_psql('postgres', 'SELECT switch_view()'), ' b1 b1 b1 b1 b1 b1', 'a materialised view that does not');

# Policies on a partition count only where the partition is the source
$node->safe_psql(
	'postgres', q{
	CREATE TABLE parts (id int, embedding vector(1), label text, tenant text) PARTITION BY LIST (tenant);
	CREATE TABLE part_a PARTITION OF parts FOR VALUES IN ('alice');
	CREATE TABLE part_b PARTITION OF parts FOR VALUES IN ('bob');
	INSERT INTO parts SELECT * FROM rows;
	GRANT SELECT ON parts, part_a, part_b TO alice;
	SELECT nw_register('parts', 'parts', tau => 0.1);
	SELECT nw_register('part a', 'part_a', tau => 0.1);
	ALTER TABLE part_a ENABLE ROW LEVEL SECURITY;
});
is($node->safe_psql('postgres', 'SET ROLE alice;' . sprintf($classes, 'parts')),
	'a1 a2 b1 b2', 'a policy on a partition does not bind its parent');
($ret, $stdout, $stderr) = $node->psql('postgres', "SET ROLE alice; SELECT nw_predict('[1]', 'part a')");
like($stderr, qr/set "part a" has no support/, 'no policy, no rows');

# Enabled and disabled within a transaction
is( $node->safe_psql('postgres', q{
		GRANT CREATE ON SCHEMA public TO alice;
		ALTER TABLE parts OWNER TO alice;
		SET ROLE alice;
		BEGIN;
		SELECT nw_predict('[1]', 'parts');
		CREATE POLICY p ON parts USING (label = 'b2');
		ALTER TABLE parts ENABLE ROW LEVEL SECURITY;
		ALTER TABLE parts FORCE ROW LEVEL SECURITY;
		SELECT nw_predict('[1]', 'parts');
		ALTER TABLE parts NO FORCE ROW LEVEL SECURITY;
		SELECT nw_predict('[1]', 'parts');
		ROLLBACK;
		SELECT nw_predict('[1]', 'parts');}),
	"a1\nb2\na1\na1",
	'policies that change within a transaction');

$node->stop;
done_testing();
