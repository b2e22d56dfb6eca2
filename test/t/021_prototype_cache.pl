# The cache of prototypes: right in every session and every isolation level.
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
	INSERT INTO rows VALUES (1, '[1]', 'near'), (2, '[5]', 'far');
	CREATE TABLE queries AS SELECT i AS id, '[0]'::vector AS embedding FROM generate_series(1, 4) AS i;
	SELECT nw_register('s', 'rows', tau => 1);
	CREATE FUNCTION redo() RETURNS bigint LANGUAGE sql RETURN nw_distill('s', 'few', calibrate => false);
	SELECT redo();
});

# label and confidence: both the prototypes and tau show
my $answer = "SELECT label || ' ' || round(confidence::numeric, 4) FROM nw_classify('[0]', 'few')";
my $many = "SELECT string_agg(DISTINCT nw_predict(embedding, 'few'), ' ') FROM queries";
my $first = 'near ' . sprintf('%.4f', 1 / (1 + exp(-4)));

# What other sessions do to the set, and what is to be seen afterwards.
my @changes = (
	[ 'a redistilled set', "UPDATE rows SET label = 'moved' WHERE id = 1; SELECT redo()", 'moved ' . sprintf('%.4f', 1 / (1 + exp(-4))) ],
	[ 'another tau', "SELECT nw_set_tau('few', 2)", 'near ' . sprintf('%.4f', 1 / (1 + exp(-2))) ],
	[ 'a calibrated set', "SET client_min_messages = warning; SELECT nw_calibrate('few', 's', 4, 4, 1, leave_one_out => false); SELECT nw_alter_set('few', tau => 4, temper => 1)", 'near ' . sprintf('%.4f', 1 / (1 + exp(-1))) ],
	[ 'a set of other rows of the same name', "SELECT nw_unregister('few'); UPDATE rows SET embedding = '[2]' WHERE id = 1; SELECT redo()", 'near ' . sprintf('%.4f', 1 / (1 + exp(-3))) ],
	[ 'a full set of that name', "SELECT nw_register('few', 'rows', tau => 0.5, replace => true)", 'near ' . sprintf('%.4f', 1 / (1 + exp(-8))) ],
	[ 'a random choice', "DELETE FROM rows WHERE id = 2; SELECT nw_distill('s', 'few', 'random', calibrate => false)", 'near 1.0000' ]);

# Put everything back.
sub reset_sets
{
	$node->safe_psql('postgres', q{
		TRUNCATE rows;
		INSERT INTO rows VALUES (1, '[1]', 'near'), (2, '[5]', 'far');
		SELECT nw_unregister('few') FROM nw_sets WHERE name = 'few';
		SELECT redo();});
	return;
}

my $session = open_session($node, on_error_stop => 0);
foreach my $change (@changes)
{
	my ($name, $sql, $expected) = @$change;
	is($session->query_safe($answer), $first, "before $name");
	$node->safe_psql('postgres', $sql);
	is($session->query_safe($answer), $expected, "$name: seen by the next statement");
	reset_sets();
	is($session->query_safe($answer), $first, 'and back');

	foreach my $isolation ('REPEATABLE READ', 'SERIALIZABLE')
	{
		$session->query_safe("BEGIN ISOLATION LEVEL $isolation");
		is($session->query_safe($answer), $first, "$isolation: before $name");
		$node->safe_psql('postgres', $sql);
		is($session->query_safe($answer), $first, "$name: the snapshot stays");
		is($session->query_safe($many), 'near', 'for many rows too');
		$session->query_safe('COMMIT');
		is($session->query_safe($answer), $expected, 'the next transaction sees it');
		reset_sets();
	}

	# a snapshot older than the session's first look at the set
	$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
	$session->query_safe('SELECT count(*) FROM pg_class');
	$node->safe_psql('postgres', $sql);
	is($session->query_safe($answer), $first, "$name: an old snapshot that has cached nothing");
	$session->query_safe('COMMIT');
	reset_sets();

	# one's own changes, undone in several ways
	$session->query_safe('BEGIN');
	is($session->query_safe($answer), $first, "$name within a transaction: before");
	$session->query_safe('SAVEPOINT a');
	$session->query_safe($sql);
	is($session->query_safe($answer), $expected, 'after');
	is($node->safe_psql('postgres', $answer), $first, 'nobody else sees it') if $sql !~ /TRUNCATE/;
	$session->query_safe('ROLLBACK TO a');
	is($session->query_safe($answer), $first, 'after ROLLBACK TO');
	$session->query_safe($sql);
	is($session->query_safe($answer), $expected, 'again');
	$session->query_safe('ROLLBACK');
	is($session->query_safe($answer), $first, 'after ROLLBACK');
}

# A set that is gone
$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
$session->query_safe($answer);
$node->safe_psql('postgres', "SELECT nw_unregister('few')");
is($session->query_safe($answer), $first, 'a set that is gone answers older snapshots');
$session->query_safe('COMMIT');
$session->query($answer);
like($session->{stderr}, qr/set "few" is not registered/, 'and no others');
$session->{stderr} = '';
reset_sets();

# A cursor and a prepared statement
$session->query_safe('BEGIN');
$session->query_safe("DECLARE c CURSOR FOR SELECT nw_predict(embedding, 'few') FROM queries");
is($session->query_safe('FETCH 1 FROM c'), 'near', 'a cursor');
$session->query_safe("UPDATE rows SET label = 'own' WHERE id = 1; SELECT redo();");
$session->query_safe('FETCH 1 FROM c');
is($session->query_safe('FETCH 1 FROM c'), 'near', 'keeps its snapshot');
is($session->query_safe($many), 'own', 'while a new statement sees the change');
$session->query_safe('ROLLBACK');
$session->query_safe("PREPARE p AS $answer");
is($session->query_safe('EXECUTE p'), $first, 'a prepared statement');
$node->safe_psql('postgres', "UPDATE rows SET label = 'prepared' WHERE id = 1; SELECT redo()");
like($session->query_safe('EXECUTE p'), qr/^prepared/, 'sees what has changed');
reset_sets();

# Blocks of PL/pgSQL
is( $node->safe_psql('postgres', q{
		DO $$
		DECLARE
			q vector := '[0]';
			answers text;
		BEGIN
			FOR i IN 1..3 LOOP
				answers := concat_ws(' ', answers, nw_predict(q, 'few'));
			END LOOP;
			BEGIN
				UPDATE rows SET label = 'tried' WHERE id = 1;
				PERFORM redo();
				FOR i IN 1..2 LOOP
					answers := concat_ws(' ', answers, nw_predict(q, 'few'));
				END LOOP;
				RAISE division_by_zero;
			EXCEPTION WHEN division_by_zero THEN
				answers := concat_ws(' ', answers, nw_predict(q, 'few'));
			END;
			UPDATE rows SET label = 'kept' WHERE id = 1;
			answers := concat_ws(' ', answers, nw_predict(q, 'few'));
			PERFORM redo();
			answers := concat_ws(' ', answers, nw_predict(q, 'few'));
			PERFORM set_config('test.answers', answers, false);
		END
		$$;
		SELECT current_setting('test.answers');}),
	'near near near tried tried near near kept',
	'blocks with handlers');
reset_sets();

# The rows behind a distilled set may change: its answers do not
$node->safe_psql('postgres', "UPDATE rows SET label = 'later'");
is($session->query_safe($answer), $first, 'prototypes are copies');
$node->safe_psql('postgres', 'ALTER TABLE rows RENAME TO gone');
is($session->query_safe($answer), $first, 'also of a table that is gone');
$node->safe_psql('postgres', 'ALTER TABLE gone RENAME TO rows');
reset_sets();

# Whole-set functions read the prototypes of their snapshot
my $evaluate = "SELECT string_agg(label, ' ' ORDER BY query_id) FROM nw_predict_set('few', 's', false)";
is($session->query_safe($evaluate), 'near far', 'nw_predict_set');
$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
$session->query_safe($evaluate);
$node->safe_psql('postgres', "UPDATE rows SET label = 'x' WHERE id = 1; SELECT redo()");
is($session->query_safe($evaluate), 'near far', 'in a snapshot');
$session->query_safe('COMMIT');
is($session->query_safe($evaluate), 'x far', 'and after it');
reset_sets();

# Many sets: the cache keeps within its bound, and answers stay right
$node->safe_psql('postgres', q{
	CREATE TABLE wide AS SELECT i AS id, array_fill(i::float4, ARRAY[512])::vector AS embedding, 'label ' || i AS label FROM generate_series(1, 100) AS i;
	SELECT nw_register('wide', 'wide', tau => 1);
	SELECT nw_distill('wide', 'wide ' || n, 'random', calibrate => false, seed => n) FROM generate_series(1, 12) AS n;});
$session->query_safe("SET nwhead.statement_cache = '1MB'");
is( $session->query_safe(q{SELECT string_agg(DISTINCT nw_predict(w.embedding, 'wide ' || n), ' ')
		FROM wide AS w, generate_series(1, 12) AS n, generate_series(1, 2) WHERE w.id = 42}),
	'label 42',
	'twelve sets in turns');
cmp_ok($session->query_safe("SELECT coalesce(sum(total_bytes), 0) FROM pg_backend_memory_contexts WHERE name LIKE 'nwhead%'"),
	'<', 3 * 1024 * 1024, 'in bounded memory');
$session->query_safe("SET nwhead.statement_cache = '64kB'");
is($session->query_safe("SELECT nw_predict(embedding, 'wide 1') FROM wide WHERE id = 7"), 'label 7', 'a set larger than the cache');
$session->quit;

# A crash, and a restart, leave sets as they were committed
$node->safe_psql('postgres', "SELECT nw_calibrate('few', 's', 3, 3, 1, leave_one_out => false)");
my $committed = $node->safe_psql('postgres', "SELECT md5(string_agg(p::text, ';' ORDER BY set, label, ordinal)) FROM nw_prototypes AS p") .
  $node->safe_psql('postgres', $answer);
my $open = open_session($node, on_error_stop => 0);
$open->query_safe("BEGIN; UPDATE rows SET label = 'lost'; SELECT redo();");
$node->stop('immediate');
eval { $open->quit };
$node->start;
is( $node->safe_psql('postgres', "SELECT md5(string_agg(p::text, ';' ORDER BY set, label, ordinal)) FROM nw_prototypes AS p") .
	  $node->safe_psql('postgres', $answer),
	$committed, 'after a crash');
$node->safe_psql('postgres', 'SELECT redo()');
like($node->safe_psql('postgres', $answer), qr/^near/, 'and distilled anew');

$node->stop;
done_testing();
