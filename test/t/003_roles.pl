# The user of the moment: SET ROLE, SECURITY DEFINER, nested calls.
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
	CREATE ROLE keeper;
	CREATE ROLE guest;
	GRANT CREATE ON SCHEMA public TO keeper;
	CREATE TABLE secrets (id int, embedding vector(1), label text, owner text);
	INSERT INTO secrets VALUES (1, '[1]', 'kept', 'keeper'), (2, '[1]', 'guests', 'guest');
	ALTER TABLE secrets OWNER TO keeper;
	SELECT nw_register('s', 'secrets', tau => 0.1);
	CREATE TABLE queries AS SELECT i AS id, ARRAY[i]::vector AS e FROM generate_series(1, 5) AS i;
	GRANT SELECT ON queries TO PUBLIC;

	SET ROLE keeper;
	CREATE FUNCTION as_keeper(q vector) RETURNS text LANGUAGE sql STABLE SECURITY DEFINER
		SET search_path = public, pg_temp RETURN nw_predict(q, 's');
	CREATE FUNCTION as_keeper_plpgsql(q vector) RETURNS text LANGUAGE plpgsql STABLE SECURITY DEFINER
		SET search_path = public, pg_temp AS $$ BEGIN RETURN nw_predict(q, 's'); END $$;
	RESET ROLE;
});

my ($ret, $stdout, $stderr) = $node->psql('postgres', "SET ROLE guest; SELECT nw_predict('[1]', 's')");
like($stderr, qr/permission denied for table secrets/, 'a guest may not read the supports');
foreach my $function ('as_keeper', 'as_keeper_plpgsql')
{
	is($node->safe_psql('postgres', "SET ROLE guest; SELECT $function('[1]')"),
		'guests', "but may call $function, which may");
	is($node->safe_psql('postgres', "SET ROLE guest; SELECT count($function(e)) FROM queries"), '5', 'for many rows');
	($ret, $stdout, $stderr) =
	  $node->psql('postgres', "SET ROLE guest; SELECT $function(e), nw_predict(e, 's') FROM queries");
	like($stderr, qr/permission denied for table secrets/,
		"what $function has read in a statement is not for the rest of it");
	($ret, $stdout, $stderr) = $node->psql('postgres', qq{
		SET ROLE guest;
		DO \$\$
		DECLARE
			q vector := '[1]';
			answer text;
		BEGIN
			FOR i IN 1..3 LOOP
				answer := $function(q);
			END LOOP;
			answer := nw_predict(q, 's');
		END
		\$\$});
	like($stderr, qr/permission denied for table secrets/, 'nor for a later one of the same block');
}

# With policies
$node->safe_psql(
	'postgres', q{
	GRANT SELECT ON secrets TO guest;
	ALTER TABLE secrets ENABLE ROW LEVEL SECURITY;
	ALTER TABLE secrets FORCE ROW LEVEL SECURITY;
	CREATE POLICY own ON secrets USING (owner = current_user);
});
is( $node->safe_psql('postgres', "SET ROLE guest; SELECT nw_predict(e, 's') || ' ' || as_keeper(e) || ' ' || as_keeper_plpgsql(e) FROM queries"),
	join("\n", ('guests kept kept') x 5),
	'caller and definer side by side');
is( $node->safe_psql('postgres', "SET ROLE guest; SELECT as_keeper(e) || ' ' || nw_predict(e, 's') FROM queries"),
	join("\n", ('kept guests') x 5),
	'the other way round');
is( $node->safe_psql('postgres', q{
		GRANT keeper TO guest;
		SET SESSION AUTHORIZATION guest;
		BEGIN;
		SELECT nw_predict('[1]', 's');
		SET ROLE keeper;
		SELECT nw_predict('[1]', 's');
		SAVEPOINT a;
		RESET ROLE;
		SELECT nw_predict('[1]', 's');
		ROLLBACK TO a;
		SELECT nw_predict('[1]', 's');
		COMMIT;}),
	"guests\nkept\nguests\nkept",
	'SET ROLE and savepoints');
is( $node->safe_psql('postgres', q{
		SET SESSION AUTHORIZATION guest;
		DO $$
		DECLARE
			q vector := '[1]';
			answers text := '';
		BEGIN
			FOR i IN 1..6 LOOP
				EXECUTE 'SET LOCAL ROLE ' || CASE WHEN i IN (1, 2, 3, 6) THEN 'guest' ELSE 'keeper' END;
				answers := answers || ' ' || nw_predict(q, 's');
			END LOOP;
			PERFORM set_config('test.answers', answers, false);
		END
		$$;
		SELECT current_setting('test.answers');}),
	' guests guests guests kept kept guests',
	'SET ROLE within a block');

# A view reads with its owner's rights, a registered one too
$node->safe_psql(
	'postgres', q{
	SET ROLE keeper;
	CREATE VIEW kept AS SELECT * FROM secrets;
	GRANT SELECT ON kept TO guest;
	SELECT nw_register('kept', 'kept', tau => 0.1);
	CREATE VIEW answers AS SELECT id, nw_predict(e, 's') AS label FROM queries;
	GRANT SELECT ON answers TO guest;
});
is( $node->safe_psql('postgres', q{
		REVOKE SELECT ON secrets FROM guest;
		REVOKE keeper FROM guest;
		SET SESSION AUTHORIZATION guest;
		SELECT nw_predict('[1]', 'kept') = (SELECT label FROM kept)}),
	't', 'a set that is a view');
$node->safe_psql('postgres', 'GRANT SELECT ON secrets TO guest');
is($node->safe_psql('postgres', 'SET SESSION AUTHORIZATION guest; SELECT DISTINCT label FROM answers'),
	'guests', 'a view that predicts calls with the rights of its reader');

$node->stop;
done_testing();
