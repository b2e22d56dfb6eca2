# A standby answers from prototypes and evaluates sets, and follows its primary.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use NwSession;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->start;
$primary->safe_psql(
	'postgres', q{
	CREATE EXTENSION nwhead CASCADE;
	CREATE TABLE rows AS SELECT i AS id, ARRAY[i % 7, i % 5]::vector(2) AS embedding, 'l' || i % 3 AS label FROM generate_series(1, 60) AS i;
	SELECT nw_register('s', 'rows', tau => 0.5);
	SELECT nw_distill('s', 'few', 'closest', 4);
	SELECT nw_diagnose('s', 's', 1);
});
$primary->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'copy', has_streaming => 1);
$standby->start;
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('write'));

my @statements = (
	"SELECT string_agg(nw_predict(embedding, 'few'), ' ' ORDER BY id) FROM rows",
	"SELECT * FROM nw_evaluate('few', 's')",
	"SELECT * FROM nw_evaluate('s', 's')",
	"SELECT * FROM nw_confusion('s', 's')",
	"SELECT * FROM nw_class_report('s', 's')",
	"SELECT * FROM nw_coverage('s', 's'), nw_threshold('s', 's', 0.1)",
	"SELECT nw_explain('[1,1]', 's')",
	"SELECT * FROM nw_temperature_sweep('s', 's', 0.1, 1, 3)",
	"SELECT * FROM nw_suspects('s', 5)",
	"SELECT * FROM nw_influence('[1,1]', 'l1', 's')",
	'SELECT * FROM nw_prototypes ORDER BY label, ordinal',
	'SELECT * FROM nw_harmful_supports ORDER BY query_id',
	'SELECT * FROM nw_suspect_supports ORDER BY support_id');
is($standby->safe_psql('postgres', $_), $primary->safe_psql('postgres', $_), "the same as on the primary: $_") foreach @statements;

foreach my $write ("nw_distill('s', 'few')", "nw_calibrate('s')", "nw_diagnose('s', 's')")
{
	my ($ret, $stdout, $stderr) = $standby->psql('postgres', "SELECT $write");
	like($stderr, qr/cannot execute \w+ (in a read-only transaction|during recovery)/, "a standby refuses $write");
}

# A session that has the prototypes cached sees them replaced
my $session = open_session($standby);
my $labels = "SELECT string_agg(DISTINCT nw_predict(embedding, 'few'), ' ') FROM rows";
is($session->query_safe($labels), 'l0 l1 l2', 'before');
$primary->safe_psql('postgres', "UPDATE rows SET label = 'new ' || label; SELECT nw_distill('s', 'few', calibrate => false)");
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('write'));
is($session->query_safe($labels), 'new l0 new l1 new l2', 'after a set was distilled anew on the primary');
$session->quit;

# Promoted, it goes on
$primary->stop;
$standby->promote;
is($standby->safe_psql('postgres', "SELECT nw_distill('s', 'few', k => 2, calibrate => false)"), '6', 'a promoted standby distils');

$standby->stop;
done_testing();
