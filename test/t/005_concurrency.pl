# Snapshots: predictions see exactly the rows that a query would see.
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
	INSERT INTO rows VALUES (1, '[5]', 'far');
	CREATE TABLE queries AS SELECT i AS id, '[0]'::vector AS e FROM generate_series(1, 4) AS i;
	SELECT nw_register('s', 'rows', tau => 0.1);
});
my $predict = "SELECT nw_predict('[0]', 's');";

# Empty the table but for one row.
sub reset_rows
{
	$node->safe_psql('postgres', "DELETE FROM rows WHERE id > 1; UPDATE rows SET embedding = '[5]', label = 'far'");
	return;
}

my $session = open_session($node);

# A writer commits between two statements
$session->query_safe('BEGIN');
is($session->query_safe($predict), 'far', 'before a writer');
$node->safe_psql('postgres', "INSERT INTO rows VALUES (2, '[1]', 'near')");
is($session->query_safe($predict), 'near', 'after it, in READ COMMITTED');
$node->safe_psql('postgres', "UPDATE rows SET label = 'moved' WHERE id = 2");
is($session->query_safe($predict), 'moved', 'after an update');
$node->safe_psql('postgres', 'DELETE FROM rows WHERE id = 2');
is($session->query_safe($predict), 'far', 'after a deletion');
$session->query_safe('COMMIT');

foreach my $isolation ('REPEATABLE READ', 'SERIALIZABLE')
{
	$session->query_safe("BEGIN ISOLATION LEVEL $isolation");
	is($session->query_safe($predict), 'far', "$isolation: before a writer");
	$node->safe_psql('postgres', "INSERT INTO rows VALUES (2, '[1]', 'near')");
	is($session->query_safe($predict), 'far', 'after it, the snapshot stays');
	is($session->query_safe("SELECT string_agg(nw_predict(e, 's'), ' ') FROM queries"), 'far far far far', 'for many rows too');
	$session->query_safe('COMMIT');
	is($session->query_safe($predict), 'near', 'the next transaction sees it');
	reset_rows();
}

# Uncommitted changes: one's own only
$session->query_safe("BEGIN; INSERT INTO rows VALUES (2, '[1]', 'own');");
is($session->query_safe($predict), 'own', "the transaction's own insertion");
is($node->safe_psql('postgres', $predict), 'far', 'which nobody else sees');
$session->query_safe("UPDATE rows SET label = 'changed' WHERE id = 2");
is($session->query_safe($predict), 'changed', 'its own update');
$session->query_safe('DELETE FROM rows WHERE id = 2');
is($session->query_safe($predict), 'far', 'its own deletion');
$session->query_safe('ROLLBACK');
is($session->query_safe($predict), 'far', 'rolled back');

# Savepoints
foreach my $isolation ('READ COMMITTED', 'REPEATABLE READ')
{
	$session->query_safe("BEGIN ISOLATION LEVEL $isolation");
	is($session->query_safe($predict), 'far', "$isolation: at first");
	$session->query_safe("SAVEPOINT a; INSERT INTO rows VALUES (2, '[1]', 'inner');");
	is($session->query_safe($predict), 'inner', 'within a savepoint');
	$session->query_safe('ROLLBACK TO a');
	is($session->query_safe($predict), 'far', 'after ROLLBACK TO');
	$session->query_safe("INSERT INTO rows VALUES (2, '[2]', 'again');");
	is($session->query_safe($predict), 'again', 'another insertion');
	$session->query_safe("SAVEPOINT b; INSERT INTO rows VALUES (3, '[1]', 'third'); RELEASE b;");
	is($session->query_safe($predict), 'third', 'a savepoint that was released');
	$session->query_safe('ROLLBACK TO a');
	is($session->query_safe($predict), 'far', 'is undone with the outer one');
	$session->query_safe('ROLLBACK');
}

# PL/pgSQL blocks with handlers are subtransactions
$node->safe_psql(
	'postgres', q{
	CREATE FUNCTION attempt(OUT answers text) LANGUAGE plpgsql AS $$
	DECLARE
		q vector := '[0]';
	BEGIN
		FOR i IN 1..3 LOOP
			answers := concat_ws(' ', answers, nw_predict(q, 's'));
		END LOOP;
		BEGIN
			INSERT INTO rows VALUES (2, '[1]', 'tried');
			FOR i IN 1..3 LOOP
				answers := concat_ws(' ', answers, nw_predict(q, 's'));
			END LOOP;
			RAISE division_by_zero;
		EXCEPTION WHEN division_by_zero THEN
			answers := concat_ws(' ', answers, nw_predict(q, 's'));
		END;
		answers := concat_ws(' ', answers, nw_predict(q, 's'));
		BEGIN
			INSERT INTO rows VALUES (2, '[1]', 'kept');
			answers := concat_ws(' ', answers, nw_predict(q, 's'));
		EXCEPTION WHEN OTHERS THEN
			NULL;
		END;
		answers := concat_ws(' ', answers, nw_predict(q, 's'));
		DELETE FROM rows WHERE id = 2;
		answers := concat_ws(' ', answers, nw_predict(q, 's'));
	END
	$$;
	CREATE FUNCTION look(q vector) RETURNS text LANGUAGE plpgsql STABLE AS $$
	BEGIN
		RETURN nw_predict(q, 's');
	END
	$$;
	CREATE FUNCTION write_and_look(n int) RETURNS text LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO rows VALUES (n, ARRAY[5 - n]::vector, 'row ' || n);
		RETURN nw_predict('[0]'::vector, 's');
	END
	$$;
});
foreach my $isolation ('READ COMMITTED', 'REPEATABLE READ')
{
	is( $node->safe_psql('postgres', "BEGIN ISOLATION LEVEL $isolation; SELECT attempt()"),
		'far far far tried tried tried far far kept kept far',
		"$isolation: blocks with handlers");
	is( $node->safe_psql('postgres',
			"BEGIN ISOLATION LEVEL $isolation; SELECT string_agg(write_and_look(n), ', ' ORDER BY n) FROM generate_series(2, 4) AS n"),
		'row 2, row 3, row 4',
		"$isolation: a volatile function sees its own writes, call by call");
	is( $node->safe_psql('postgres',
			"BEGIN ISOLATION LEVEL $isolation; SELECT write_and_look(n), look('[0]'), nw_predict('[0]'::vector, 's') FROM generate_series(2, 4) AS n"),
		"row 2|far|far\nrow 3|far|far\nrow 4|far|far",
		"$isolation: a stable one, and the statement itself, do not");
}

# Procedures that end their transaction
$node->safe_psql(
	'postgres', q{
	CREATE PROCEDURE steps(INOUT answers text) LANGUAGE plpgsql AS $$
	DECLARE
		q vector := '[0]';
	BEGIN
		FOR step IN 1..4 LOOP
			FOR i IN 1..3 LOOP
				answers := concat_ws(' ', answers, nw_predict(q, 's'));
			END LOOP;
			IF step % 2 = 1 THEN
				INSERT INTO rows VALUES (2, '[1]', 'step');
			ELSIF step = 2 THEN
				ROLLBACK;
			ELSE
				DELETE FROM rows WHERE id = 2;
				COMMIT;
			END IF;
		END LOOP;
	END
	$$;
});
is( $node->safe_psql('postgres', 'CALL steps(NULL)'),
	'far far far step step step far far far step step step',
	'COMMIT and ROLLBACK in a procedure');

# A statement that writes to its own support
is( $node->safe_psql('postgres', q{
		BEGIN;
		WITH new AS (INSERT INTO rows VALUES (2, '[1]', 'new') RETURNING nw_predict(embedding, 's') AS label)
		SELECT label FROM new;
		INSERT INTO rows SELECT 10 + id, e, nw_predict(e, 's') FROM queries;
		SELECT string_agg(DISTINCT label, ' ') FROM rows WHERE id > 10;
		UPDATE rows SET label = label || ' ' || nw_predict(embedding, 's') WHERE id = 1;
		SELECT label FROM rows WHERE id = 1;
		ROLLBACK;}),
	"far\nnew\nfar far",
	'a statement sees the support as it was');

# Cursors
$session->query_safe('BEGIN');
$session->query_safe("DECLARE c CURSOR FOR SELECT nw_predict(e, 's') FROM queries ORDER BY id");
is($session->query_safe('FETCH 1 FROM c'), 'far', 'a cursor');
$session->query_safe("INSERT INTO rows VALUES (2, '[1]', 'own')");
$node->safe_psql('postgres', "INSERT INTO rows VALUES (3, '[1]', 'other')");
is($session->query_safe('FETCH 1 FROM c'), 'far', 'keeps its snapshot, whatever happens in between');
is($session->query_safe($predict), 'other', 'while a new statement sees it all');
is($session->query_safe('FETCH 2 FROM c'), "far\nfar", 'and fetches on');
$session->query_safe("DECLARE d SCROLL CURSOR WITH HOLD FOR SELECT nw_predict(e, 's') FROM queries ORDER BY id");
$session->query_safe('COMMIT');
$node->safe_psql('postgres', 'DELETE FROM rows WHERE id > 1');
is($session->query_safe('FETCH ALL FROM d'), join("\n", ('other') x 4), 'a held cursor keeps its answers');
$session->query_safe('CLOSE d');
reset_rows();

# A statement that waits for a lock looks again
$session->query_safe("BEGIN; UPDATE queries SET e = '[9]' WHERE id = 1; INSERT INTO rows VALUES (2, '[9]', 'nine');");
my $waiting = open_session($node);
$waiting->query_until(qr/start/, "\\echo start\nUPDATE queries SET id = id WHERE id = 1 AND nw_predict(e, 's') IS NOT NULL RETURNING e, nw_predict(e, 's');\n");
$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
$session->query_safe('COMMIT');
is($waiting->query_safe('SELECT 1'), "[9]|far\n1", 'with the new query, but the old snapshot of the support');
$waiting->quit;
reset_rows();

# Predictions count as reads where transactions are serializable
my @writers = map { open_session($node, on_error_stop => 0) } 1 .. 2;
foreach my $i (0, 1)
{
	$writers[$i]->query_safe('BEGIN ISOLATION LEVEL SERIALIZABLE');
	is($writers[$i]->query_safe("SELECT nw_predict(e, 's') FROM queries LIMIT 1"), 'far', 'a serializable reader');
}
$writers[$_]->query_safe("INSERT INTO rows VALUES (2$_, '[1]', 'skew')") for 0, 1;
$writers[0]->query_safe('COMMIT');
$writers[1]->query('COMMIT');
like($writers[1]->{stderr}, qr/could not serialize access/, 'write skew through predictions is found');
$_->quit for @writers;
reset_rows();

# Many sessions at once
my @sessions = map { open_session($node) } 1 .. 3;
$_->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ') for @sessions;
my @answers;
for my $i (0 .. $#sessions)
{
	push @answers, $sessions[$i]->query_safe($predict);
	$node->safe_psql('postgres', "INSERT INTO rows VALUES (" . (10 + $i) . ", '[" . (3 - $i) . "]', 'step $i')");
}
is("@answers", 'far step 0 step 1', 'each session takes its own snapshot');
is(join(' ', map { $_->query_safe($predict) } @sessions), 'far step 0 step 1', 'and keeps it');
$_->quit for @sessions;
$session->quit;

$node->stop;
done_testing();
