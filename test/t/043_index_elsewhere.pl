# The nw index of a table whose rows the planner is told to read from elsewhere:
# both engines give the same answers, those of the ordinary SELECT.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use NwIndex;

# Build the module that tells the planner.
my $folder = PostgreSQL::Test::Utils::tempdir;
my $module = "$folder/detour.so";
my $pg_config = $ENV{PG_CONFIG} // 'pg_config';
chomp(my $headers = `$pg_config --includedir-server`);
chomp(my $compiler = `$pg_config --cc`);
my $source = (-e 'modules/detour.c' ? '.' : $ENV{TESTDIR}) . '/modules/detour.c';
is(system("$compiler -O1 -fPIC -shared -isystem $headers -o $module $source"), 0, 'the module compiles') or BAIL_OUT('no module');

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;
install_helpers($node);
$node->safe_psql(
	'postgres', q{
	CREATE TABLE rows (id int PRIMARY KEY, label text, e vector(4));
	INSERT INTO rows SELECT i, 'class ' || i % 5, spot(i, i % 5, 4, 0.6) FROM generate_series(1, 1000) AS i;
	CREATE TABLE other AS SELECT id, 'other ' || id % 3 AS label, e FROM rows WHERE id % 3 = 0;
	CREATE TABLE queries AS SELECT i AS id, spot(i + 5000, i % 5, 4, 0.7) AS e FROM generate_series(1, 20) AS i;
	CREATE INDEX rows_nw ON rows USING nw (e) INCLUDE (label);
	CREATE TABLE parts (LIKE rows) PARTITION BY RANGE (id);
	CREATE TABLE part1 PARTITION OF parts FOR VALUES FROM (1) TO (500);
	CREATE TABLE part2 (label text, gone int, e vector(4), id int NOT NULL);
	ALTER TABLE part2 DROP gone;
	ALTER TABLE parts ATTACH PARTITION part2 FOR VALUES FROM (500) TO (2000);
	CREATE TABLE part3 (LIKE rows) PARTITION BY RANGE (id);
	CREATE TABLE part4 PARTITION OF part3 FOR VALUES FROM (2000) TO (3000);
	ALTER TABLE parts ATTACH PARTITION part3 FOR VALUES FROM (2000) TO (3000);
	INSERT INTO parts SELECT * FROM rows;
	CREATE INDEX ON parts USING nw (e) INCLUDE (label);
	CREATE TABLE one_part (LIKE rows) PARTITION BY RANGE (id);
	CREATE TABLE only_part PARTITION OF one_part FOR VALUES FROM (1) TO (2000);
	INSERT INTO one_part SELECT * FROM rows;
	CREATE INDEX ON one_part USING nw (e) INCLUDE (label);
	CREATE MATERIALIZED VIEW matview AS SELECT * FROM rows;
	CREATE INDEX ON matview USING nw (e) INCLUDE (label);
	SELECT nw_register(t, t::regclass, embedding => 'e') FROM unnest('{rows,parts,one_part,matview}'::text[]) AS t;
	SELECT nw_register('by_ctid', 'rows', embedding => 'e', id => NULL);
	VACUUM ANALYZE;
});

my $load = "LOAD '$module';";
my $ask = sub { "SELECT engines('$_[0]'), differences('$_[0]', 20);" };

# The planner as it is, and with hooks that change nothing
foreach my $hooks ('', $load, "$load SET detour.target = 'queries'; SET detour.way = 'none';")
{
	foreach my $set ('rows', 'parts', 'one_part', 'matview', 'by_ctid')
	{
		is($node->safe_psql('postgres', $hooks . $ask->($set)), 'index|0', "$set: index, after '$hooks'" =~ s/\Q$folder\E//r);
	}
}

# Hooks that change what is read
my $detour = sub { "$load SET detour.target = '$_[0]'; SET detour.way = '$_[1]'; SET detour.other = 'other';" };
foreach my $way ('other', 'empty', 'some', 'mask', 'custom')
{
	foreach my $set ('rows', 'by_ctid', 'parts')
	{
		# the planner drops custom scans of a partitioned table itself
		next if $way eq 'custom' && $set eq 'parts';

		# without any row there is nothing to name the engine for
		my $none = $way eq 'empty' || $way eq 'custom';
		is( $node->safe_psql('postgres', $detour->($set eq 'parts' ? 'parts' : 'rows', $way) . ($none ? "SELECT 'executor', differences('$set', 20)" : $ask->($set))),
			'executor|0', "$set: where the planner reads $way");
	}
}
is($node->safe_psql('postgres', $detour->('part2', 'custom') . $ask->('parts')), 'executor|0', 'a partition that is elsewhere');
is($node->safe_psql('postgres', $detour->('part2', 'custom') . $ask->('rows')), 'index|0', 'which does not matter to another table');

# What the answers are: those of the table that is read
my $predict = "SET nwhead.engine = index; SELECT nw_predict(e, 'rows') FROM queries WHERE id = 1;";
like($node->safe_psql('postgres', $predict), qr/^class \d$/, 'a label');
like($node->safe_psql('postgres', $detour->('rows', 'other') . $predict), qr/^other \d$/, 'a label from elsewhere');
is($node->safe_psql('postgres', $detour->('rows', 'mask') . $predict), 'masked', 'a masked label');
foreach my $call ("nw_predict_proba('[1,2,3,4]', 'rows')", "nw_weights('[1,2,3,4]', 'rows')", "nw_predict_set('rows', 'rows')")
{
	is( $node->safe_psql('postgres', $detour->('rows', 'other') . "SET nwhead.engine = index; SELECT count(*) > 0, bool_and(label LIKE 'other%') FROM $call"),
		't|t', "$call from elsewhere");
}
my ($status, $stdout, $stderr) = $node->psql('postgres', $detour->('rows', 'custom') . $predict);
like($stderr, qr/set "rows" has no support/, 'an empty table elsewhere');

# Changed in the middle of a session: hooks, settings, relations, roles
is( $node->safe_psql('postgres', $ask->('rows') . $detour->('rows', 'other') . $ask->('rows') . 'RESET detour.target;' . $ask->('rows') . 'BEGIN;' . $ask->('rows')
		. "SET detour.target = 'rows';" . $ask->('rows') . 'COMMIT'),
	"index|0\nexecutor|0\nindex|0\nindex|0\nexecutor|0",
	'a table that goes elsewhere and comes back');
is( $node->safe_psql('postgres', $load . "SET detour.way = 'other'; SET detour.other = 'other'; DO \$\$
	DECLARE
		answers text;
	BEGIN
		SET LOCAL nwhead.engine = index;
		SET LOCAL nwhead.statement_cache = 0;
		FOR i IN 1..6 LOOP
			answers := concat_ws(' ', answers, left(nw_predict('[1,2,3,4]'::vector, 'rows'), 5));
			IF i = 3 THEN
				SET detour.target = 'rows';
				COMMENT ON TABLE rows IS 'elsewhere';
				ALTER TABLE rows SET (fillfactor = 90);
			END IF;
		END LOOP;
		PERFORM set_config('test.answers', answers, false);
	END \$\$; SELECT current_setting('test.answers')"),
	'class class class other other other',
	'a table that is altered within one statement');

# Privileges are checked before anything is read
$node->safe_psql('postgres', 'CREATE ROLE alice; GRANT SELECT (id, e) ON rows TO alice');
foreach my $hooks ('', $load)
{
	($status, $stdout, $stderr) = $node->psql('postgres', "$hooks SET ROLE alice; $predict");
	like($stderr, qr/permission denied for table/, 'no index without privileges');
}

$node->stop;
done_testing();
