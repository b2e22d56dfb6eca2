# The owner of a table cannot have code run with the rights of whoever looks
# into its index: a superuser who checks one stays alone in being one.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nallow_system_table_mods = on");
$node->start;

# Run statements as a superuser; return the output, or the error with its code.
sub ask
{
	my ($sql) = @_;
	my ($ret, $stdout, $stderr) = $node->psql('postgres', $sql, extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	return $ret == 0 ? $stdout : $stderr;
}

# Nothing was gained, nothing of the owner's ran as anyone else
sub unharmed
{
	my ($name) = @_;
	is(ask("SELECT rolsuper FROM pg_roles WHERE rolname = 'mallory'"), 'f', "$name: no rights were lent");
	is(ask("SELECT string_agg(DISTINCT who, ' ') FROM m.ran WHERE who <> 'mallory'"), '', "$name: no code ran as another role");
	return;
}

# A function of the owner's that takes what it can get: harmless at first, since
# PostgreSQL has no objection to what an owner's statements run as the owner.
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION nwhead CASCADE;
	CREATE ROLE mallory;
	CREATE SCHEMA m AUTHORIZATION mallory;
	GRANT CREATE ON SCHEMA public TO mallory;
	SET ROLE mallory;
	CREATE TABLE m.ran (who text);
	GRANT ALL ON m.ran TO public;
	CREATE FUNCTION m.take() RETURNS bool LANGUAGE plpgsql VOLATILE AS $$
	BEGIN
		IF current_user <> 'mallory' THEN
			BEGIN
				INSERT INTO m.ran VALUES (current_user);
				ALTER ROLE mallory SUPERUSER;
			EXCEPTION WHEN insufficient_privilege THEN NULL;
			END;
		END IF;
		RETURN true;
	END
	$$;
	CREATE FUNCTION m.ok(anyelement) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN m.take(); END $$;
	CREATE FUNCTION m.good(text) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN m.take(); END $$;
	CREATE TABLE m.t (id int, embedding vector(2), label text);
	INSERT INTO m.t SELECT i, ARRAY[i, 1]::real[]::vector, 'l' || i % 3 FROM generate_series(1, 300) AS i;
});

# ---- predicates and expressions

sub as_owner { my ($sql) = @_; return ask("SET ROLE mallory; $sql"); }

like(as_owner('CREATE INDEX t_nw ON m.t USING nw (embedding) INCLUDE (label) WHERE m.ok(id)'),
	qr/0A000: an nw index cannot have a predicate/, 'a predicate is refused');
like(as_owner('CREATE INDEX t_nw ON m.t USING nw (((embedding + embedding)::vector(2))) INCLUDE (label)'),
	qr/0A000: an nw index cannot be on an expression/, 'so is an expression');
like(as_owner('CREATE UNLOGGED TABLE m.u (LIKE m.t); CREATE INDEX ON m.u USING nw (embedding) INCLUDE (label) WHERE m.ok(id)'),
	qr/0A000: an nw index cannot have a predicate/, 'of an unlogged table, too');
like(as_owner('CREATE INDEX CONCURRENTLY t_nw ON m.t USING nw (embedding) INCLUDE (label) WHERE m.ok(id)'),
	qr/0A000: an nw index cannot have a predicate/, 'and by CONCURRENTLY');
is(ask("SELECT indisvalid, indpred IS NOT NULL FROM pg_index WHERE indexrelid = 'm.t_nw'::regclass"), 'f|t', 'which leaves an index behind');
like(ask("SELECT nw_check_index('m.t_nw')"), qr/0A000: an nw index cannot have a predicate/, 'that is not checked');
like(ask("SELECT nw_check_index('m.t_nw', heap => false)"), qr/0A000: an nw index cannot have a predicate/, 'nor without its table');
like(ask('REINDEX INDEX m.t_nw'), qr/0A000: an nw index cannot have a predicate/, 'nor built');
unharmed('an index left behind');
$node->safe_psql('postgres', 'DROP INDEX m.t_nw');

# An index from before they were refused: whole, valid, with a predicate
sub old_index
{
	my ($predicate) = @_;
	$node->safe_psql(
		'postgres', qq{
		SET ROLE mallory;
		CREATE INDEX t_nw ON m.t USING nw (embedding) INCLUDE (label);
		CREATE FUNCTION m.harmless(anyelement) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN true; END';
		CREATE INDEX t_b ON m.t (id) WHERE $predicate;
		RESET ROLE;
		UPDATE pg_index SET indpred = (SELECT indpred FROM pg_index WHERE indexrelid = 'm.t_b'::regclass) WHERE indexrelid = 'm.t_nw'::regclass;
		DROP INDEX m.t_b;
	});
	# now it shows its teeth
	$node->safe_psql('postgres', 'SET ROLE mallory; CREATE OR REPLACE FUNCTION m.harmless(anyelement) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN m.take(); END $$');
	return;
}

foreach my $predicate ('m.harmless(id)', 'm.harmless(5) AND id > 0')
{
	old_index($predicate);
	like(ask("SELECT nw_check_index('m.t_nw')"), qr/0A000: an nw index cannot have a predicate/, "an old index WHERE $predicate is not checked");
	is(ask("SELECT sum(rows) FROM nw_index_lists('m.t_nw')"), '300', 'its lists can be seen');
	is(ask("SELECT rows FROM nw_index_health('m.t_nw')"), '300', 'and its health');
	unharmed("an old index WHERE $predicate");
	$node->safe_psql('postgres', 'DROP INDEX m.t_nw; DROP FUNCTION m.harmless');
}

# ---- labels of types that a user can make

my @types = (
	[ 'domain', "CREATE DOMAIN m.t_domain AS text CHECK (m.good(VALUE))", 'm.t_domain', "('l' || i % 3)::m.t_domain" ],
	[ 'enum', "CREATE TYPE m.t_enum AS ENUM ('l0', 'l1', 'l2'); CREATE CAST (m.t_enum AS text) WITH FUNCTION m.enum_text AS IMPLICIT", 'm.t_enum', "('{l0,l1,l2}'::m.t_enum[])[i % 3 + 1]" ],
	[ 'row', 'CREATE DOMAIN m.t_member AS int CHECK (m.ok(VALUE)); CREATE TYPE m.t_row AS (a m.t_member, b text); CREATE CAST (m.t_row AS text) WITH FUNCTION m.row_text AS IMPLICIT', 'm.t_row', "ROW(i % 3, 'x')::m.t_row" ],
	[ 'array', 'CREATE DOMAIN m.t_element AS int CHECK (m.ok(VALUE))', 'm.t_element[]', 'ARRAY[i % 3]::m.t_element[]' ],
	[ 'range', 'CREATE FUNCTION m.apart(int, int) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM m.take(); RETURN $1 - $2; END $$; CREATE TYPE m.t_range AS RANGE (subtype = int, subtype_diff = m.apart)', 'm.t_range', 'm.t_range(i % 3, i % 3 + 5)' ]);

# What somebody with all rights may do to a table
my @acts = (
	"SELECT nw_check_index('%s_nw') > 0",
	"SELECT count(*) FROM nw_index_lists('%s_nw')",
	"SELECT rows FROM nw_index_health('%s_nw')",
	"SELECT label FROM nw_index_work('[5,1]'::vector, '%s')",
	"SELECT nw_predict('[5,1]'::vector, '%s')",
	"SELECT count(*) FROM nw_predict_proba('[5,1]'::vector, '%s')",
	"SELECT count(*) FROM nw_weights('[5,1]'::vector, '%s', 3)",
	"SELECT n FROM nw_evaluate('%s', '%s')",
	"SELECT count(*) FROM nw_suspects('%s', 3)",
	"SELECT nw_distill('%s', '%s small', k => 2)",
	"SELECT count(*) FROM nw_prototypes",
	'VACUUM ANALYZE m.%s',
	'REINDEX INDEX %s_nw',
	"SELECT nw_check_index('%s_nw') > 0");
foreach my $type (@types)
{
	my ($name, $make, $column, $value) = @$type;
	foreach my $function ($make =~ /WITH FUNCTION m\.(\w+)/)
	{
		my ($from) = $make =~ /CREATE CAST \((\S+) AS/;
		$make =~ s/(CREATE CAST)/CREATE FUNCTION m.$function($from) RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN PERFORM m.take(); RETURN 1; END'; $1/;
	}
	$node->safe_psql(
		'postgres', qq{
		SET ROLE mallory;
		$make;
		CREATE TABLE m.tab_$name (id int, embedding vector(2), label $column);
		INSERT INTO m.tab_$name SELECT i, ARRAY[i, 1]::real[]::vector, $value FROM generate_series(1, 300) AS i;
		CREATE INDEX tab_${name}_nw ON m.tab_$name USING nw (embedding) INCLUDE (label);
		SELECT nw_register('tab_$name', 'm.tab_$name');
	});
	foreach my $engine ('index', 'executor')
	{
		foreach my $act (@acts)
		{
			my $sql = $act =~ s/%s/tab_$name/gr;
			unlike(ask("SET search_path = m, public; SET nwhead.engine = $engine;\n$sql"), qr/ERROR/, "$name, $engine: $sql");
			$node->safe_psql('postgres', "SELECT nw_unregister('tab_$name small')") if $act =~ /nw_prototypes/;
		}
	}
	unharmed("labels of a $name");
}

# ---- who may look

$node->safe_psql('postgres', 'CREATE ROLE guest; CREATE ROLE member IN ROLE mallory; GRANT USAGE ON SCHEMA m TO guest');
foreach my $function ('nw_check_index', 'nw_index_lists', 'nw_index_health')
{
	like(ask("SET ROLE guest; SELECT * FROM $function('m.tab_enum_nw')"), qr/42501: must be owner of index tab_enum_nw/, "$function is not for everyone");
	unlike(ask("SET ROLE member; SELECT * FROM $function('m.tab_enum_nw')"), qr/ERROR/, 'but for members of the owning role');
	is(ask("SET ROLE member; SET work_mem = '5MB'; SELECT count(*) > 0 FROM $function('m.tab_enum_nw'); SELECT current_user, current_setting('work_mem')"),
		"t\nmember|5MB", 'who stay who they are');
	is(ask("DO \$\$ BEGIN PERFORM $function('m.tab_enum'); EXCEPTION WHEN wrong_object_type THEN NULL; END \$\$; SELECT current_user = session_user"),
		't', 'after an error, too');
}
unharmed('in the end');
$node->stop;
done_testing();
