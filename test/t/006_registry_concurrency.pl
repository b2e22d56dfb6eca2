# Concurrent changes of the registry: one wins, the other is told.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use NwSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;

$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION nwhead CASCADE;
	CREATE TABLE rows (id int PRIMARY KEY, embedding vector(1), label text);
	INSERT INTO rows VALUES (1, '[2]', 'a'), (2, '[4]', 'b');
});

my $one = open_session($node, on_error_stop => 0);
my $two = open_session($node, on_error_stop => 0);
$two->query_safe('\set VERBOSITY sqlstate');

# Do one thing in an open transaction, try another in a second session, end the
# first, and return what the second printed as output and error.
sub contest
{
	my ($first, $end, $second, $isolation) = @_;
	$one->query_safe('BEGIN');
	$one->query_safe($first);
	$two->query_safe("BEGIN ISOLATION LEVEL $isolation; SELECT 1;") if $isolation;
	$two->query_until(qr/begin/, "\\echo begin\n$second;\n");
	$node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND backend_type = 'client backend'")
	  or die 'the second session does not wait';
	$one->query_safe($end);
	my $output = $two->query('SELECT 1');
	my $error = $two->{stderr};
	$two->{stderr} = '';
	$two->query('ROLLBACK') if $isolation;
	$two->{stderr} = '';
	return $error;
}

# nw_register
is(contest("SELECT nw_register('s', 'rows')", 'ROLLBACK', "SELECT nw_register('s', 'rows', tau => 7)", ''),
	'', 'a registration that was rolled back is no obstacle');
is($node->safe_psql('postgres', 'SELECT tau FROM nw_sets'), '7', 'the second one counts');
$node->safe_psql('postgres', "SELECT nw_unregister('s')");
like(contest("SELECT nw_register('s', 'rows')", 'COMMIT', "SELECT nw_register('s', 'rows', tau => 7)", ''),
	qr/ERROR:  42710/, 'one that was committed is');
is($node->safe_psql('postgres', 'SELECT tau FROM nw_sets'), '1', 'the first one counts');
$node->safe_psql('postgres', "SELECT nw_unregister('s')");
like(contest("SELECT nw_register('s', 'rows')", 'COMMIT', "SELECT nw_register('s', 'rows', tau => 7)", 'REPEATABLE READ'),
	qr/ERROR:  (40001|42710)/, 'also in REPEATABLE READ');
is($node->safe_psql('postgres', 'SELECT tau FROM nw_sets'), '1', 'the first one counts');

# nw_set_tau
like(contest("SELECT nw_set_tau('s', 2)", 'COMMIT', "SELECT nw_set_tau('s', 3)", ''),
	qr/ERROR:  40001/, 'two changes of tau: the second fails');
is($node->safe_psql('postgres', 'SELECT tau FROM nw_sets'), '2', 'the first one counts');
is(contest("SELECT nw_set_tau('s', 4)", 'ROLLBACK', "SELECT nw_set_tau('s', 3)", ''),
	'', 'unless the first is rolled back');
is($node->safe_psql('postgres', 'SELECT tau FROM nw_sets'), '3', 'then the second counts');
like(contest("SELECT nw_set_tau('s', 2)", 'COMMIT', "SELECT nw_set_tau('s', 3)", 'REPEATABLE READ'),
	qr/ERROR:  40001/, 'in REPEATABLE READ too');
is($node->safe_psql('postgres', "SELECT nw_set_tau('s', 5); SELECT tau FROM nw_sets"), "\n5", 'to try again is enough');

# replace and nw_unregister
like(contest("SELECT nw_set_tau('s', 2)", 'COMMIT', "SELECT nw_register('s', 'rows', tau => 9, replace => true)", ''),
	qr/ERROR:  40001/, 'replacing a set that changes');
like(contest("SELECT nw_set_tau('s', 2)", 'COMMIT', "SELECT nw_unregister('s')", ''),
	qr/ERROR:  40001/, 'unregistering a set that changes');
like(contest("SELECT nw_unregister('s')", 'COMMIT', "SELECT nw_set_tau('s', 3)", ''),
	qr/ERROR:  40001/, 'changing a set that goes');
is($node->safe_psql('postgres', 'SELECT count(*) FROM nw_sets'), '0', 'it is gone');

# A reader sees the registry of its snapshot
$node->safe_psql('postgres', "SELECT nw_register('s', 'rows', tau => 1)");
my $confidence = "SELECT round(confidence::numeric, 6) FROM nw_classify('[0]', 's')";
$one->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
my $before = $one->query_safe($confidence);
$node->safe_psql('postgres', "SELECT nw_set_tau('s', 10)");
is($one->query_safe($confidence), $before, 'a change of tau does not reach an older snapshot');
isnt($node->safe_psql('postgres', $confidence), $before, 'but all newer ones');
$node->safe_psql('postgres', "SELECT nw_unregister('s')");
is($one->query_safe($confidence), $before, 'nor does its removal');
$one->query_safe('COMMIT');
my ($out, $failed) = $one->query($confidence);
like($one->{stderr}, qr/set "s" is not registered/, 'the next transaction does not find it');
$one->{stderr} = '';

# Within one transaction
is( $node->safe_psql('postgres', q{
		BEGIN;
		SELECT nw_register('t', 'rows', tau => 1);
		SELECT nw_predict('[0]', 't');
		SAVEPOINT a;
		SELECT nw_set_tau('t', 1e-3);
		SELECT confidence FROM nw_classify('[0]', 't');
		ROLLBACK TO a;
		SELECT round(confidence::numeric, 6) FROM nw_classify('[0]', 't');
		COMMIT;
		SELECT tau FROM nw_sets;}),
	"\na\n\n1\n0.880797\n1",
	'a tau that is rolled back to a savepoint');
is( $node->safe_psql('postgres', q{
		DO $$
		DECLARE
			q vector := '[0]';
			answers text;
		BEGIN
			FOR i IN 1..6 LOOP
				answers := concat_ws(' ', answers, (nw_classify(q, 't')).confidence::numeric(4, 2));
				IF i = 3 THEN
					PERFORM nw_set_tau('t', 1e-3);
				END IF;
			END LOOP;
			PERFORM set_config('test.answers', answers, false);
		END
		$$;
		SELECT current_setting('test.answers');}),
	'0.88 0.88 0.88 1.00 1.00 1.00',
	'a tau that changes within a block');

$one->quit;
$two->quit;
$node->stop;
done_testing();
