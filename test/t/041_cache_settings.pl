# The statement cache where rows depend on settings: policies, views, foreign
# tables.  Answers are those without a cache, whatever changes between two calls
# of one statement.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nmax_parallel_workers_per_gather = 0");
$node->start;
my ($host, $port) = ($node->host, $node->port);

$node->safe_psql(
	'postgres', qq{
	CREATE EXTENSION nwhead CASCADE;
	CREATE EXTENSION postgres_fdw;
	CREATE ROLE alice;
	CREATE ROLE bob;
	CREATE ROLE carol;
	CREATE TABLE rows (id int, embedding vector(1), label text, tenant text, size float8 DEFAULT 0.1, pass int DEFAULT 1);
	INSERT INTO rows SELECT i, ARRAY[i]::float4[]::vector, t || ' ' || i, t FROM generate_series(1, 20) AS i, unnest('{alice,bob,carol}'::text[]) AS t;
	GRANT SELECT ON rows TO PUBLIC;
	GRANT CREATE ON SCHEMA public TO PUBLIC;
	CREATE DATABASE remote;
	CREATE SERVER remote FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'remote', extensions 'vector');
	CREATE USER MAPPING FOR CURRENT_USER SERVER remote;
	CREATE FOREIGN TABLE far (id int, embedding vector(1), label text) SERVER remote;
	CREATE SEQUENCE counter;
	GRANT ALL ON counter TO PUBLIC;
	CREATE FUNCTION tenant() RETURNS text LANGUAGE sql STABLE AS \$\$ SELECT current_setting('my.tenant') \$\$;
	CREATE FUNCTION turn(t text) RETURNS text LANGUAGE plpgsql AS \$\$ BEGIN PERFORM set_config('my.tenant', t, false); RETURN t; END \$\$;
	CREATE FUNCTION as_alice(e vector, s text) RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS \$\$ BEGIN RETURN nw_predict(e, s); END \$\$;
	ALTER FUNCTION as_alice OWNER TO alice;
});
$node->safe_psql('remote', q{
	CREATE EXTENSION vector;
	CREATE TABLE far (id int, embedding vector(1), label text);
	INSERT INTO far VALUES (0, '[0]', 'first')});

# A table of its own for each policy, a view for each query
my %policies = (
	by_setting => "tenant = current_setting('my.tenant')",
	by_optional => "tenant = current_setting('my.tenant', true)",
	by_user => 'tenant = current_user',
	by_session => 'tenant = session_user',
	by_function => 'tenant = tenant()',
	by_name => "tenant = current_setting('my.' || (SELECT max(label) FROM names))");
my %views = (
	plain => 'SELECT * FROM rows WHERE id > 0 AND upper(label) > label COLLATE "C" OR true',
	joined => 'SELECT r.* FROM rows AS r JOIN (SELECT DISTINCT id FROM rows) AS d ON r.id = d.id',
	setting => "SELECT * FROM rows WHERE tenant = current_setting('my.tenant')",
	indirect => 'SELECT * FROM setting',
	stable => 'SELECT * FROM rows WHERE tenant = tenant()',
	counted => "SELECT id, embedding, label || CASE WHEN (SELECT nextval('counter')) % 2 = 0 THEN ' even' ELSE ' odd' END AS label FROM rows",
	numbered => "SELECT id, embedding, label || CASE WHEN c.last_value % 2 = 0 THEN ' even' ELSE ' odd' END AS label FROM rows, counter AS c",
	sized => "SELECT id, embedding, label || ' ' || size::text AS label FROM rows",
	dated => "SELECT id, embedding, label || ' ' || CURRENT_DATE AS label FROM rows",
	schemed => "SELECT id, embedding, label || ' ' || CURRENT_SCHEMA AS label FROM rows",
	catalog => "SELECT r.* FROM rows AS r JOIN pg_class AS c ON c.relname = 'rows'",
	xml => "SELECT id, embedding, label || xmlelement(name a, '\\x01'::bytea)::text AS label FROM rows");
# a server may have been built without it
my $has_xml = $node->psql('postgres', 'SELECT xmlelement(name a)') == 0;
my $setup = "CREATE TABLE names (label text); INSERT INTO names VALUES ('tenant'); GRANT SELECT ON names TO PUBLIC;";
foreach my $name (sort keys %policies)
{
	$setup .= "CREATE TABLE $name (LIKE rows); INSERT INTO $name SELECT * FROM rows; GRANT SELECT ON $name TO PUBLIC;
		ALTER TABLE $name ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON $name USING ($policies{$name}); SELECT nw_register('$name', '$name');";
}
foreach my $name ('plain', 'joined', 'setting', 'indirect', 'stable', 'counted', 'numbered', 'sized', 'dated', 'schemed', 'catalog', $has_xml ? 'xml' : ())
{
	$setup .= "CREATE VIEW $name AS $views{$name}; GRANT SELECT ON $name TO PUBLIC; SELECT nw_register('$name', '$name');";
}
$node->safe_psql('postgres', "SELECT set_config('my.tenant', 'bob', false); $setup SELECT nw_register('far', 'far');");

# Run statements with a cache and without one.
sub outcome
{
	my ($statements, $cache) = @_;
	my ($stdout, $stderr);
	$node->psql('postgres',
		"LOAD 'nwhead'; SET nwhead.statement_cache = '$cache'; SELECT setval('counter', 1); SET my.tenant = 'bob'; BEGIN; $statements; ROLLBACK",
		stdout => \$stdout, stderr => \$stderr);
	return $stdout . $stderr;
}

sub same
{
	my ($name, $statements, $pattern) = @_;
	my $expected = outcome($statements, 0);
	is(outcome($statements, '1GB'), $expected, $name);
	like($expected, $pattern, "$name: what it is") if $pattern;
	return;
}

# Count the scans that a statement makes of the tables behind the sets.
sub scans
{
	my ($statement, $table) = @_;
	my $count = "SELECT 'scans ' || coalesce(sum(seq_scan), 0) FROM pg_stat_xact_all_tables WHERE relname IN ('" . ($table // '') . "', 'rows', 'by_setting', 'by_optional', 'by_user', 'by_session', 'by_function', 'by_name')";
	my $output = $node->safe_psql('postgres', "LOAD 'nwhead'; SET my.tenant = 'bob'; BEGIN; $count; SET ROLE " . ($table ? 'NONE' : 'bob') . "; $statement; RESET ROLE; $count; ROLLBACK");
	my @counts = $output =~ /^scans (\d+)$/mg;
	return $counts[1] - $counts[0];
}

# Settings that change within a select list
my $tenants = "unnest('{alice,bob,carol,alice}'::text[]) WITH ORDINALITY AS t (t, i)";
foreach my $set ('by_setting', 'by_optional', 'by_function', 'by_name', 'setting', 'indirect', 'stable')
{
	same("$set: set_config between calls", "SET ROLE alice; SELECT set_config('my.tenant', t, false), nw_predict(ARRAY[i]::float4[]::vector, '$set') FROM $tenants",
		qr/alice\|alice 1\nbob\|bob 2\ncarol\|carol 3\nalice\|alice 4/);
	same("$set: set by a function", "SET ROLE alice; SELECT turn(t), nw_predict(ARRAY[i]::float4[]::vector, '$set') FROM $tenants",
		qr/alice\|alice 1\nbob\|bob 2\ncarol\|carol 3\nalice\|alice 4/);
	same("$set: in PL/pgSQL", "SET ROLE alice; DO \$\$
		DECLARE t text;
		BEGIN
			FOREACH t IN ARRAY '{alice,bob,carol,alice}'::text[] LOOP
				PERFORM set_config('my.tenant', t, false);
				RAISE WARNING '%', nw_predict('[3]'::vector, '$set');
			END LOOP;
		END \$\$", qr/alice 3\n.*bob 3\n.*carol 3\n.*alice 3/);
}
same('by_optional: no setting', "SET ROLE alice; SELECT nw_predict('[1]'::vector, 'by_optional'), set_config('my.tenant', NULL, false) FROM $tenants", qr/no support/);
same('by_user: another user', "SET ROLE bob; SELECT nw_predict(ARRAY[i]::float4[]::vector, 'by_user'), as_alice(ARRAY[i]::float4[]::vector, 'by_user') FROM $tenants",
	qr/bob 1\|alice 1\nbob 2\|alice 2/);
same('by_session: another session user', "SET SESSION AUTHORIZATION bob; SELECT nw_predict('[1]'::vector, 'by_session');
	SET SESSION AUTHORIZATION alice; SELECT nw_predict('[1]'::vector, 'by_session'); RESET SESSION AUTHORIZATION", qr/bob 1\nalice 1/);
same('sized: extra_float_digits', "SELECT set_config('extra_float_digits', t, false), nw_predict('[3]'::vector, 'sized') FROM unnest('{1,-15,1}'::text[]) AS t");
same('dated: TimeZone', "SELECT set_config('TimeZone', t, false), nw_predict('[3]'::vector, 'dated') FROM unnest('{Pacific/Kiritimati,Etc/GMT+12,Pacific/Kiritimati}'::text[]) AS t");
same('schemed: search_path', "CREATE SCHEMA one; CREATE SCHEMA two; SELECT set_config('search_path', t || ', public', false), nw_predict('[3]'::vector, 'schemed') FROM unnest('{one,two,one}'::text[]) AS t",
	qr/alice 3 one\n.*alice 3 two\n.*alice 3 one/);
same('numbered: the state of a sequence', "SELECT nextval('counter') % 2, nw_predict(ARRAY[i]::float4[]::vector, 'numbered') FROM $tenants",
	qr/0\|alice 1 even\n1\|alice 2 odd\n0\|alice 3 even\n1\|alice 4 odd/);
same('counted: a sequence', "SELECT nw_predict(ARRAY[i]::float4[]::vector, 'counted') FROM $tenants", qr/alice 1 even\nalice 2 odd\nalice 3 even\nalice 4 odd/);
same('xml', "SELECT set_config('xmlbinary', t, false), nw_predict('[3]'::vector, 'xml') FROM unnest('{base64,hex,base64}'::text[]) AS t") if $has_xml;
same('a role that joins another', "CREATE POLICY q ON by_user TO carol USING (true); CREATE FUNCTION join_carol() RETURNS text LANGUAGE plpgsql AS \$\$ BEGIN GRANT carol TO bob; RETURN ''; END \$\$;
	CREATE FUNCTION as_bob() RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS \$\$ BEGIN RETURN (SELECT string_agg(support_id || label, ',') FROM nw_weights('[1]'::vector, 'by_user', 1)); END \$\$;
	ALTER FUNCTION as_bob OWNER TO bob; SELECT as_bob(), CASE i WHEN 2 THEN join_carol() END FROM $tenants", qr/1bob 1\|\n1bob 1\|\n1alice 1/);
same('a function replaced', "CREATE FUNCTION half(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN 0; END';
	CREATE VIEW halved AS SELECT id, embedding, label || half(id) AS label FROM rows; SELECT nw_register('halved', 'halved');
	CREATE FUNCTION replace_half() RETURNS text LANGUAGE plpgsql AS \$f\$ BEGIN
		CREATE OR REPLACE FUNCTION half(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN 1; END'; RETURN ''; END \$f\$;
	SELECT nw_predict('[1]'::vector, 'halved'), CASE i WHEN 2 THEN replace_half() END FROM $tenants", qr/alice 10\|\nalice 10\|\nalice 11\|/);
same('a value renamed', "CREATE TYPE mood AS ENUM ('good', 'bad'); CREATE TABLE moods (id int, embedding vector(1), label mood); INSERT INTO moods VALUES (1, '[1]', 'good');
	SELECT nw_register('moods', 'moods'); CREATE FUNCTION rename_it() RETURNS text LANGUAGE plpgsql AS \$\$ BEGIN ALTER TYPE mood RENAME VALUE 'good' TO 'better'; RETURN ''; END \$\$;
	SELECT nw_predict('[1]'::vector, 'moods'), CASE i WHEN 2 THEN rename_it() END FROM $tenants", qr/good\|\ngood\|\nbetter\|\nbetter\|/);

# Labels and ids whose text depends on settings
my %types = (
	float8 => ['id + 0.1', 'extra_float_digits', '1,-15,1'],
	real => ['id + 0.1', 'extra_float_digits', '1,-6,1'],
	date => ["'2024-02-01'::date + id", 'DateStyle', 'ISO,German,"SQL, DMY"'],
	timestamptz => ["'2024-02-01 12:00Z'::timestamptz + id * '1 day'::interval", 'TimeZone', 'UTC,Asia/Tokyo,UTC'],
	interval => ["id * '1 day 01:00'::interval", 'IntervalStyle', 'postgres,iso_8601,postgres'],
	bytea => ["decode(lpad(id::text, 2, '0'), 'hex')", 'bytea_output', 'hex,escape,hex'],
	money => ['id::money', 'lc_monetary', 'C,C.UTF-8,C'],
	'float8[]' => ['ARRAY[id + 0.1]', 'extra_float_digits', '1,-15,1'],
	'date[]' => ["ARRAY['2024-02-01'::date + id]", 'DateStyle', 'ISO,German,ISO'],
	point => ['point(id + 0.1, 0)', 'extra_float_digits', '1,-15,1'],
	inet => ["('10.0.0.' || id)::inet", 'extra_float_digits', '1,0,1'],
	jsonb => ['to_jsonb(id)', 'extra_float_digits', '1,0,1'],
	regclass => ["CASE WHEN id % 2 = 0 THEN 'rows' ELSE 'names' END::regclass", 'search_path', 'public,pg_catalog,public']);
my $number = 0;
foreach my $type (sort keys %types)
{
	my ($value, $setting, $values) = @{ $types{$type} };
	my $table = 'typed' . ++$number;
	$node->safe_psql('postgres', "CREATE TABLE $table (id $type, embedding vector(1), label $type);
		INSERT INTO $table SELECT $value, ARRAY[id]::float4[]::vector, $value FROM rows WHERE tenant = 'bob';
		SELECT nw_register('$table', '$table')");
	my $list = join(',', map { "\$\$$_\$\$" } $values =~ /"[^"]*"|[^,]+/g) =~ s/"//gr;
	my $answers = "public.nw_predict('[5]'::public.vector, '$table'), (SELECT string_agg(support_id, ' ' ORDER BY support_id) FROM public.nw_weights('[5]'::public.vector, '$table', 3))";
	same("$type: $setting", "SELECT set_config('$setting', v, false), $answers FROM unnest(ARRAY[$list]) AS v; RESET search_path", qr/\|.+\|/);
	my $scans = scans("SELECT nw_predict(ARRAY[i]::float4[]::vector, '$table') FROM generate_series(1, 20) AS i", $table);
	cmp_ok($scans, $type eq 'regclass' ? '>=' : '<=', $type eq 'regclass' ? 20 : 2, "$type: scans");
}

# Foreign rows, written meanwhile
my $near = "(SELECT string_agg(support_id, ' ') FROM nw_weights(ARRAY[i]::float4[]::vector, 'far', 1))";
same('INSERT into a foreign table', "INSERT INTO far SELECT i, ARRAY[i]::float4[]::vector, $near FROM generate_series(1, 5) AS i; SELECT id, label FROM far ORDER BY id");
same('by a function', "CREATE FUNCTION put(i int) RETURNS text LANGUAGE plpgsql AS \$\$ BEGIN INSERT INTO far VALUES (i, ARRAY[i]::float4[]::vector, 'x'); RETURN i; END \$\$;
	SELECT $near, put(i) FROM generate_series(1, 5) AS i");

# Read once where nothing changes, and by every call where anything might
my $many = "FROM generate_series(1, 20) AS i";
foreach my $set ('by_setting', 'by_optional', 'by_user', 'setting', 'indirect', 'plain', 'schemed', 'sized')
{
	cmp_ok(scans("SELECT nw_predict(ARRAY[i]::float4[]::vector, '$set') $many"), '<=', 2, "$set: read once");
	cmp_ok(scans("DO \$\$ BEGIN FOR i IN 1..20 LOOP PERFORM nw_predict(ARRAY[i]::float4[]::vector, '$set'); END LOOP; END \$\$"),
		'<=', 2, "$set: also in PL/pgSQL");
}
cmp_ok(scans("SELECT nw_predict(ARRAY[i]::float4[]::vector, 'joined') $many"), '<=', 4, 'joined: read once');
foreach my $set ('by_function', 'by_name', 'stable', 'catalog')
{
	cmp_ok(scans("SELECT nw_predict(ARRAY[i]::float4[]::vector, '$set') $many"), '>=', 20, "$set: read by every call");
}
is( scans("SELECT nw_predict(ARRAY[i]::float4[]::vector, 'by_setting'), set_config('my.tenant', (CASE WHEN i < 10 THEN 'alice' ELSE 'bob' END), true) $many"), 2,
	'by_setting: once for each value');

# Foreign rows are read once by the expressions of one query
sub remote_scans
{
	my ($statement) = @_;
	my $count = "SELECT pg_stat_force_next_flush(); SELECT pg_stat_clear_snapshot(); SELECT seq_scan FROM pg_stat_all_tables WHERE relname = 'far'";
	my $before = $node->safe_psql('remote', $count);
	$node->safe_psql('postgres', "LOAD 'nwhead'; BEGIN; $statement; COMMIT");
	$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = 'remote'");
	return $node->safe_psql('remote', $count) - $before;
}
is(remote_scans("SELECT nw_predict(ARRAY[i]::float4[]::vector, 'far') $many"), 1, 'foreign rows are read once');
is(remote_scans("CREATE TABLE made AS SELECT nw_predict(ARRAY[i]::float4[]::vector, 'far') $many"), 1, 'in CREATE TABLE AS');
is(remote_scans("INSERT INTO names SELECT nw_predict(ARRAY[i]::float4[]::vector, 'far') $many"), 1, 'in INSERT');

# Planning folds a function whose subtransaction is rolled back, which empties the
# cache while a call is under way
$node->safe_psql(
	'postgres', q{
	CREATE TABLE wide AS SELECT i AS id, 'class ' || i % 5 AS label, array_fill((i % 17)::float4, ARRAY[128])::vector(128) AS embedding FROM generate_series(1, 8000) AS i;
	CREATE FUNCTION folded(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS
	$$ BEGIN BEGIN PERFORM 1 / ($1 - 1); EXCEPTION WHEN division_by_zero THEN NULL; END; RETURN true; END $$;
	CREATE VIEW folding AS SELECT * FROM wide WHERE folded(1);
	SELECT nw_register('folding', 'folding', tau => 10);
});
is( $node->safe_psql(
		'postgres', q{
		SELECT count(*), count(*) FILTER (WHERE nw_predict(q, 'folding') = (SELECT w.label FROM nw_index_work(q, 'folding') AS w))
		FROM (SELECT array_fill(i::float4, ARRAY[128])::vector(128) AS q FROM generate_series(1, 5) AS i) AS queries}),
	'5|5', 'a cache that planning empties');

# TRUNCATE of a table that is new in the transaction empties it in its place
$node->safe_psql(
	'postgres', q{
	CREATE TABLE short (id int, label int, embedding vector(1));
	ALTER TABLE short ALTER embedding SET STORAGE PLAIN;
	CREATE FUNCTION emptied() RETURNS text LANGUAGE plpgsql AS $$
	BEGIN
		FOR i IN 1 .. 3 LOOP PERFORM nw_predict('[0]', 'emptied'); END LOOP;
		TRUNCATE emptied;
		RETURN nw_predict('[0]', 'emptied');
	END $$;
});
{
	my ($ret, $stdout, $stderr) = $node->psql(
		'postgres', q{
		BEGIN;
		CREATE TABLE emptied (LIKE short INCLUDING STORAGE);
		INSERT INTO emptied VALUES (1, 1, '[0]');
		DO $$ BEGIN PERFORM nw_register('emptied', 'emptied'); END $$;
		SELECT emptied();
		ROLLBACK});
	like($stderr, qr/ERROR:  set "emptied" has no support/, 'truncated in its place');
}

# Rights lost in the middle of a statement
$node->safe_psql(
	'postgres', q{
	CREATE TABLE owned AS SELECT i AS id, 'class ' || i % 3 AS label, ARRAY[i]::float4[]::vector(1) AS embedding FROM generate_series(1, 30) AS i;
	CREATE ROLE database_owner;
	CREATE ROLE makers;
	CREATE ROLE maker IN ROLE makers;
	CREATE ROLE reader IN ROLE maker;
	REVOKE CREATE ON SCHEMA public FROM PUBLIC;
	GRANT CREATE ON SCHEMA public TO makers;
	GRANT SELECT ON owned TO pg_database_owner, makers;
	ALTER DATABASE postgres OWNER TO database_owner;
	SELECT nw_register('owned', 'owned');
	SET ROLE maker;
	SELECT nw_distill('owned', 'made', k => 2, calibrate => false);
	RESET ROLE;
	CREATE FUNCTION other_owner() RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN ALTER DATABASE postgres OWNER TO CURRENT_USER; END $$;
	CREATE FUNCTION drop_owned() RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN DROP OWNED BY maker; END $$;
});
foreach my $case ([ 'database_owner', 'owned', 'other_owner', 'permission denied for table owned' ], [ 'reader', 'made', 'drop_owned', 'permission denied for set "made"' ])
{
	my ($role, $set, $function, $message) = @$case;
	my ($ret, $stdout, $stderr) = $node->psql('postgres', qq{
		BEGIN; SET LOCAL ROLE $role;
		SELECT nw_predict('[1]', '$set') IS NOT NULL FROM generate_series(1, 3);
		SELECT nw_predict(ARRAY[i]::float4[]::vector, '$set'), CASE WHEN i = 3 THEN (SELECT $function() WHERE i = 3) END FROM generate_series(1, 5) AS i;
		COMMIT});
	is($stdout, "t\nt\nt", "$role: may read at first");
	like($stderr, qr/\Q$message\E/, "$role: $function is noticed");
}

# A set that does not fit is tried once in a statement; what others packed stays
$node->safe_psql(
	'postgres', q{
	CREATE TABLE large AS SELECT i AS id, 'class ' || i % 3 AS label, array_fill((i % 97)::float4, ARRAY[256])::vector(256) AS embedding FROM generate_series(1, 12000) AS i;
	CREATE TABLE little AS SELECT * FROM large WHERE id <= 1000;
	SELECT nw_register('large', 'large', tau => 50), nw_register('little', 'little', tau => 50);
	CREATE FUNCTION packed() RETURNS bigint LANGUAGE sql AS $$ SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'nwhead support' $$;
	CREATE FUNCTION steps() RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		q vector;
		counts bigint[];
	BEGIN
		FOR i IN 1 .. 8 LOOP
			q := array_fill(i::float4, ARRAY[256])::vector;
			PERFORM nw_predict(q, 'little'), nw_predict(q, 'large');
			counts := counts || packed();
		END LOOP;
		RETURN counts;
	END $$;
});
like($node->safe_psql('postgres', "LOAD 'nwhead'; SET nwhead.statement_cache = '10MB'; SELECT steps()"), qr/^\{\d,\d,\d(,1){5}\}$/, 'what is too large is not tried again');

# Versions of a distilled set that are out of use leave memory
is( $node->safe_psql(
		'postgres', q{
		SELECT set_config('my.ignored', nw_distill('owned', 'versions', k => 1, calibrate => false)::text, false);
		DO $$ BEGIN FOR i IN 1 .. 50 LOOP PERFORM nw_set_tau('versions', i); COMMIT; PERFORM nw_predict('[1]', 'versions'); END LOOP; END $$;
		SELECT packed();}) =~ s/.*\n//r,
	'1', 'one version is kept');

$node->stop;
done_testing();
