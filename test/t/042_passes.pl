# Supports that change between two passes of one call: a view may return other
# rows each time it is read.  A support that does not fit in memory is read once
# for each block of 256 queries, after one attempt to pack it.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION nwhead CASCADE;
	CREATE TABLE rows AS SELECT i AS id, ARRAY[i, 1]::real[]::vector(2) AS embedding, 'l' || i % 3 AS label FROM generate_series(1, 300) AS i;
	CREATE TABLE queries AS SELECT i AS id, ARRAY[i, 1]::real[]::vector(2) AS embedding, 'l' || i % 3 AS label FROM generate_series(1, 600) AS i;
	SELECT nw_register('rows', 'rows', tau => 0.1), nw_register('queries', 'queries', tau => 0.1);
	CREATE SEQUENCE pass;
	ALTER DATABASE postgres SET test.passes = 2;
});

# What the support is from the third time on that it is read (test.passes): the
# attempt to pack it and the first block of queries have seen all rows.
my %views = (
	vanishing => 'SELECT * FROM rows WHERE (SELECT nextval(\'pass\')) <= current_setting(\'test.passes\')::int',
	shrinking => 'SELECT * FROM rows WHERE (SELECT nextval(\'pass\')) <= current_setting(\'test.passes\')::int OR id = 7',
	relabelled => 'SELECT id, embedding, CASE WHEN (SELECT nextval(\'pass\')) <= current_setting(\'test.passes\')::int THEN label ELSE \'x\' || id END AS label FROM rows',
	unlabelled => 'SELECT id, embedding, CASE WHEN (SELECT nextval(\'pass\')) <= current_setting(\'test.passes\')::int THEN label END AS label FROM rows',
	growing => 'SELECT r.id * 100 + n AS id, embedding, label || CASE WHEN n > 1 THEN n::text ELSE \'\' END AS label
		FROM rows AS r, generate_series(1, (SELECT CASE WHEN nextval(\'pass\') <= current_setting(\'test.passes\')::int THEN 1 ELSE 40 END)) AS n',
	nameless => 'SELECT CASE WHEN (SELECT nextval(\'pass\')) <= current_setting(\'test.passes\')::int THEN id END AS id, embedding, label FROM rows',
	flat => 'SELECT id, CASE WHEN (SELECT nextval(\'pass\')) <= current_setting(\'test.passes\')::int THEN embedding::vector ELSE \'[1]\'::vector END AS embedding, label FROM rows',
	deep => 'SELECT id, CASE WHEN (SELECT nextval(\'pass\')) <= current_setting(\'test.passes\')::int THEN embedding::vector ELSE \'[1,2,3,4,5,6,7,8,9]\'::vector END AS embedding, label FROM rows',
	void => 'SELECT id, CASE WHEN (SELECT nextval(\'pass\')) <= current_setting(\'test.passes\')::int THEN embedding END AS embedding, label FROM rows');
foreach my $view (sort keys %views)
{
	$node->safe_psql('postgres', "CREATE VIEW $view AS $views{$view}; SELECT nw_register('$view', '$view', tau => 0.1)");
}

# (To look for queries among the rows would be one pass more: leave_one_out => false.)

# Call a function with the support streamed; return its output, errors shortened.
sub outcome
{
	my ($call, $cache) = @_;
	my ($stdout, $stderr);
	$node->psql('postgres', "SET nwhead.statement_cache = '" . ($cache // '0') . "'; SELECT setval('pass', 1, false) \\g /dev/null\n\\set VERBOSITY sqlstate\n$call",
		stdout => \$stdout, stderr => \$stderr);
	$stderr =~ s/^psql:<stdin>:\d+: //mg;
	return $stdout . $stderr;
}

my $no_support = 'ERROR:  55000';
my $dimensions = 'ERROR:  22000';

# Each block of queries is answered from the rows that its own pass has seen.
my $predict = sub { "SELECT count(*), count(*) FILTER (WHERE label = 'l' || query_id::int % 3) FROM nw_predict_set('$_[0]', 'queries', leave_one_out => false) WHERE query_id::int <= 300" };
is(outcome($predict->('rows')), '300|300', 'rows that stay');
is(outcome($predict->('vanishing')), $no_support, 'rows that vanish');
is(outcome($predict->('unlabelled')), $no_support, 'labels that vanish');
is(outcome($predict->('void')), $no_support, 'embeddings that vanish');
is(outcome($predict->('flat')), $dimensions, 'fewer dimensions');
is(outcome($predict->('deep')), $dimensions, 'more dimensions');
is(outcome($predict->('growing')), '300|300', 'more rows: the first of equal labels wins');
is( outcome("SELECT min(query_id::int), max(query_id::int), min(label), max(label) FROM nw_predict_set('shrinking', 'queries', leave_one_out => false) WHERE query_id::int > 256"),
	'257|600|l1|l1', 'fewer rows');
is( outcome("SELECT min(query_id::int), max(query_id::int), bool_and(label = 'x' || query_id) FROM nw_predict_set('relabelled', 'queries', leave_one_out => false) WHERE label LIKE 'x%' AND query_id::int <= 300"),
	'257|300|t', 'other labels');
is(outcome($predict->('nameless')), '300|300', 'ids that vanish');

# The same, packed: one pass, and the rows of that
is(outcome($predict->('vanishing'), '64MB'), '300|300', 'one pass over rows that would vanish');
is(outcome($predict->('relabelled'), '64MB'), '300|300', 'and over labels that would change');

# Every function that streams, over every support: an answer or a clear error, and
# the server lives
my %errors = (vanishing => $no_support, unlabelled => $no_support, void => $no_support, flat => $dimensions, deep => $dimensions);
foreach my $view (sort keys %views)
{
	my $expected = $errors{$view} // '600';
	is(outcome("SELECT n FROM nw_evaluate('$view', 'queries', leave_one_out => false)"), $expected, "nw_evaluate: $view");
	is(outcome("SELECT sum(n) FROM nw_confusion('$view', 'queries', leave_one_out => false)"), $expected, "nw_confusion: $view");
	is(outcome("SELECT sum(n) FROM nw_reliability('$view', 'queries', leave_one_out => false)"), $expected, "nw_reliability: $view");

	# its own rows are one pass more
	$expected = $errors{$view} // '300';
	is(outcome("SET test.passes = 3; SELECT n FROM nw_evaluate('$view', '$view')"), $expected, "nw_evaluate on itself: $view");
	is(outcome("SET test.passes = 3; SELECT count(*) FROM nw_predict_set('$view', '$view')"), $expected, "nw_predict_set on itself: $view");
}

# label_match needs ten rows of every class, in every pass
is(outcome("SELECT label_match IS NULL FROM nw_evaluate('rows', 'queries', leave_one_out => false)"), 'f', 'label_match of rows that stay');
is(outcome("SELECT label_match IS NULL FROM nw_evaluate('relabelled', 'queries', leave_one_out => false)"), 't', 'label_match of classes of one row in a later pass');
is(outcome("SELECT label_match IS NULL FROM nw_evaluate('shrinking', 'queries', leave_one_out => false)"), 't', 'label_match of one row left');

# Functions that read the support once
foreach my $view (sort keys %views)
{
	foreach my $call ("nw_calibrate('$view', 'queries', leave_one_out => false)", "nw_temperature_sweep('$view', 'queries', 0.1, 1, 3, leave_one_out => false)", "nw_suspects('$view')", "nw_distill('$view', 'few', k => 2)")
	{
		like(outcome("BEGIN; SELECT count(*) > 0 FROM $call; ROLLBACK", '64MB'), qr/^t$/m, "$call reads once");
	}
	like(outcome("BEGIN; SELECT nw_diagnose('$view', 'queries', 2, false) > 0; ROLLBACK", '64MB'), qr/^t$/m, "nw_diagnose('$view') reads once");
}

# A relation that is altered between two passes
$node->safe_psql(
	'postgres', q{
	CREATE TABLE target AS SELECT * FROM rows;
	CREATE FUNCTION change(i int) RETURNS int LANGUAGE plpgsql AS $$
	BEGIN
		IF i = 300 THEN
			EXECUTE current_setting('test.change');
		END IF;
		RETURN i;
	END $$;
	CREATE VIEW changing AS SELECT change(id) AS id, embedding, label FROM queries;
	SELECT nw_register('target', 'target', tau => 0.1), nw_register('changing', 'changing');
});
my %changes = (
	'ALTER TABLE target ALTER label TYPE int USING 1' => $no_support,
	'ALTER TABLE target ALTER embedding TYPE halfvec(2)' => $no_support,
	'ALTER TABLE target ALTER embedding TYPE vector(3) USING \'[1,2,3]\'' => $dimensions,
	'ALTER TABLE target RENAME TO hidden; CREATE VIEW target AS SELECT * FROM hidden' => $no_support,
	'ALTER TABLE target DROP label' => 'ERROR:  42703',
	'DROP TABLE target' => 'ERROR:  42P01',
	'TRUNCATE target' => '600',
	'DELETE FROM target' => '600');
foreach my $change (sort keys %changes)
{
	my $quoted = $change =~ s/'/''/gr;
	like(outcome("BEGIN; SET test.change = '$quoted'; SELECT n FROM nw_evaluate('target', 'changing', leave_one_out => false); ROLLBACK"), qr/^(?:\Q$changes{$change}\E|ERROR:  55\w+)$/m, $change);
}
is($node->safe_psql('postgres', 'SELECT count(*) FROM target'), '300', 'and nothing has stayed');

$node->stop;
done_testing();
