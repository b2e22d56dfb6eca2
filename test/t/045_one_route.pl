# A call resolves its set, privileges and reader once, whatever it asks for and
# whoever reads the rows.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use NwIndex;

# Build the module that counts checks of privileges.
my $folder = PostgreSQL::Test::Utils::tempdir;
my $module = "$folder/privileges.so";
my $pg_config = $ENV{PG_CONFIG} // 'pg_config';
chomp(my $headers = `$pg_config --includedir-server`);
chomp(my $compiler = `$pg_config --cc`);
my $source = (-e 'modules/privileges.c' ? '.' : $ENV{TESTDIR}) . '/modules/privileges.c';
is(system("$compiler -O1 -fPIC -shared -isystem $headers -o $module $source"), 0, 'the module compiles') or BAIL_OUT('no module');

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;
install_helpers($node);
$node->safe_psql(
	'postgres', qq{
	CREATE FUNCTION watch(regclass) RETURNS void LANGUAGE c AS '$module', 'privileges_watch';
	CREATE FUNCTION checked() RETURNS int LANGUAGE c AS '$module', 'privileges_checked';
	CREATE TABLE rows (id int PRIMARY KEY, label int, e vector(4));
	INSERT INTO rows SELECT i, i % 5, spot(i, i % 5, 4, 0.6) FROM generate_series(1, 1000) AS i;
	CREATE TABLE queries AS SELECT i AS id, i % 5 AS label, spot(i + 5000, i % 5, 4, 0.7) AS e FROM generate_series(1, 20) AS i;
	CREATE INDEX rows_nw ON rows USING nw (e) INCLUDE (label);
	SELECT nw_register(t, t::regclass, embedding => 'e') FROM unnest('{rows,queries}'::text[]) AS t;
	VACUUM ANALYZE;
});

# Count the checks of one statement, which may fail, on the set's table.
sub checks
{
	my ($engine, $statement) = @_;
	my ($status, $out) = $node->psql('postgres',
		"SET nwhead.engine = $engine; SELECT watch('rows'); $statement; SELECT 'checked ' || checked();",
		on_error_stop => 0);

	return $out =~ /^checked (\d+)$/m ? $1 : 'nothing';
}

my $q = "'[1,2,3,4]'::vector, 'rows'";
my @once = (
	"SELECT nw_predict($q)",
	"SELECT nw_predict($q, min_confidence => 0.1)",
	"SELECT nw_predict($q, classes => '{1,2}')",
	"SELECT nw_predict($q, exclude => '{7}')",
	"SELECT * FROM nw_classify($q)",
	"SELECT * FROM nw_predict_proba($q)",
	"SELECT nw_regress($q)",
	"SELECT * FROM nw_weights($q, top => 3)",
	"SELECT * FROM nw_weights($q, top => NULL)",
	"SELECT * FROM nw_influence('[1,2,3,4]'::vector, '1', 'rows', top => 3)",
	"SELECT * FROM nw_index_work($q)",
	"SELECT * FROM nw_evaluate('rows', 'queries', leave_one_out => false)",
	"SELECT * FROM nw_predict_set('rows', 'queries', leave_one_out => false)",
	"SELECT * FROM nw_suspects('rows')");

# what no index can tell
my @errors = (
	"SELECT nw_predict($q, classes => '{1,nobody}')",
	"SELECT nw_predict('[1,2,3]'::vector, 'rows')",
	"SELECT * FROM nw_predict_proba('[1,2,3]'::vector, 'rows')",
	"SELECT * FROM nw_index_work('[1,2,3]'::vector, 'rows')");

foreach my $engine (qw(auto index executor))
{
	is(checks($engine, $_), 1, "$engine: $_") foreach @once, @errors;

	# one that names rows leaves the complaint to the executor
	is(checks($engine, "SELECT * FROM nw_weights('[1,2,3]'::vector, 'rows')"),
		$engine eq 'executor' ? 1 : 2, "$engine: ids of rows of other dimensions");
}

# Calls of one statement share rows that are packed: read once for all of them
foreach my $engine (qw(auto executor))
{
	is(checks($engine, 'SELECT nw_predict(e, \'rows\') FROM queries'), 1, "$engine: a statement of many calls");
	is(checks($engine, 'SELECT w.* FROM queries, nw_weights(e, \'rows\') AS w'), 1, "$engine: and one that names rows");
}
is(checks('index', 'SELECT nw_predict(e, \'rows\') FROM queries'), 20, 'index: once for each of many searches');

# and the statistics count a search as one scan; backends report theirs when they end
$node->poll_query_until('postgres', 'SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = \'client backend\'');
$node->safe_psql('postgres', 'SELECT pg_stat_reset_single_table_counters(\'rows_nw\'::regclass)');
$node->psql('postgres', "SET nwhead.engine = index; SELECT nw_predict('[1,2,3]'::vector, 'rows');");
ok($node->poll_query_until('postgres', 'SELECT idx_scan = 1 FROM pg_stat_user_indexes WHERE indexrelname = \'rows_nw\''),
	'one scan, though bounds were of no use');

$node->stop;
done_testing();
