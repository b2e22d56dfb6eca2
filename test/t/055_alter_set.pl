# nw_alter_set among several sessions and roles: names change hands at once, one
# change wins and the other is told, and nobody gets what is not his.
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
	INSERT INTO rows VALUES (1, '[2]', 'old a'), (2, '[4]', 'old b'), (3, '[3]', 'old a');
	CREATE TABLE fresh AS SELECT id, embedding, replace(label, 'old', 'new') AS label FROM rows;
	ALTER TABLE fresh ADD PRIMARY KEY (id);
	SELECT nw_register('birds', 'rows'), nw_register('birds_new', 'fresh');
	SELECT nw_distill('birds', 'few', 'closest', 1, calibrate => false);
});

my $one = open_session($node, on_error_stop => 0);
my $two = open_session($node, on_error_stop => 0);
$two->query_safe('\set VERBOSITY sqlstate');

# Do one thing in an open transaction, try another in a second session, end the
# first, and return the error of the second.
sub contest
{
	my ($first, $end, $second) = @_;
	$one->query_safe('BEGIN');
	$one->query_safe($first);
	$two->query_until(qr/begin/, "\\echo begin\n$second;\n");
	$node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND backend_type = 'client backend'")
	  or die 'the second session does not wait';
	$one->query_safe($end);
	$two->query('SELECT 1');
	my $error = $two->{stderr};
	$two->{stderr} = '';
	return $error;
}

my $names = "SELECT string_agg(name || coalesce(' of ' || parent, ''), ', ' ORDER BY name) FROM nw_sets";
my $swap = "SELECT nw_alter_set('birds', new_name => 'birds_old'), nw_alter_set('birds_new', new_name => 'birds')";
my $back = "SELECT nw_alter_set('birds', new_name => 'birds_new'), nw_alter_set('birds_old', new_name => 'birds')";

# Readers see the names of their snapshot, both or neither changed
my $ask = "SELECT nw_predict('[1]', 'birds')";
$two->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
is($two->query_safe($ask), 'old a', 'before');
$one->query_safe('BEGIN');
$one->query_safe($swap);
is($one->query_safe($ask), 'new a', 'who changes names sees it');
is($node->safe_psql('postgres', $ask), 'old a', 'others do not, before the end');
$one->query_safe('COMMIT');
is($node->safe_psql('postgres', $ask), 'new a', 'and do after it');
is($two->query_safe($ask), 'old a', 'an older snapshot has the old names');
is($two->query_safe("SELECT nw_predict('[1]', 'few')"), 'old a', 'and the old prototypes');
$two->query_safe('COMMIT');
is($two->query_safe($ask), 'new a', 'until its end');
is($node->safe_psql('postgres', $names), 'birds, birds_old, few of birds_old', 'children follow their parent');
$node->safe_psql('postgres', $back);
is($node->safe_psql('postgres', $names), 'birds, birds_new, few of birds', 'and back');

# A statement under way keeps to one set, while a trigger or another session changes names
is( $node->safe_psql('postgres', q{
		DO $$
		DECLARE
			q vector := '[1]';
			answers text;
		BEGIN
			FOR i IN 1..6 LOOP
				answers := concat_ws(', ', answers, nw_predict(q, 'birds'), nw_predict(q, 'few'));
				IF i = 3 THEN
					PERFORM nw_alter_set('birds', new_name => 'x'), nw_alter_set('birds_new', new_name => 'birds'), nw_alter_set('few', new_name => 'y');
					PERFORM nw_alter_set('y', new_name => 'few');
				END IF;
			END LOOP;
			PERFORM set_config('test.answers', answers, false);
			RAISE EXCEPTION 'undo' USING ERRCODE = 'P0001';
		EXCEPTION WHEN raise_exception THEN
			PERFORM set_config('test.answers', answers || ' and ' || nw_predict(q, 'birds'), false);
		END
		$$;
		SELECT current_setting('test.answers');}),
	'old a, old a, old a, old a, old a, old a, new a, old a, new a, old a, new a, old a and old a',
	'names that change within a block, and are rolled back');

# Two changes of one set: the second is told
like(contest("SELECT nw_alter_set('birds', new_name => 'gone')", 'COMMIT', "SELECT nw_set_tau('birds', 3)"),
	qr/ERROR:  40001/, 'a set that was renamed');
like(contest("SELECT nw_alter_set('gone', new_name => 'birds')", 'COMMIT', "SELECT nw_alter_set('gone', new_name => 'birds')"),
	qr/ERROR:  40001/, 'two renames');
is(contest("SELECT nw_alter_set('birds', new_name => 'gone')", 'ROLLBACK', "SELECT nw_alter_set('birds', tau => 3)"),
	'', 'a rename that was rolled back is no obstacle');
like(contest("SELECT nw_alter_set('birds', tau => 4)", 'COMMIT', "SELECT nw_alter_set('birds', new_name => 'gone')"),
	qr/ERROR:  40001/, 'a rename of a set that changes');
like(contest($swap, 'COMMIT', $swap), qr/ERROR:  40001/, 'two swaps: one wins');
is($node->safe_psql('postgres', $names), 'birds, birds_old, few of birds_old', 'and the other does nothing');
$node->safe_psql('postgres', $back);
like(contest("SELECT nw_alter_set('birds', new_name => 'x')", 'COMMIT', "SELECT nw_register('x', 'rows')"),
	qr/ERROR:  42710/, 'a name that was taken by renaming');
like(contest("SELECT nw_register('y', 'rows')", 'COMMIT', "SELECT nw_alter_set('x', new_name => 'y')"),
	qr/ERROR:  42710/, 'and one that was taken by registering');
$node->safe_psql('postgres', "SELECT nw_unregister('y'), nw_alter_set('x', new_name => 'birds')");

# Whoever writes copies of rows holds a set's name
like(contest("SELECT nw_diagnose('birds', 'birds')", 'COMMIT', "SELECT nw_alter_set('birds', new_name => 'z')"),
	qr/^$/, 'a rename waits for a diagnosis');
is($node->safe_psql('postgres', "SELECT DISTINCT support FROM nw_suspect_supports"), 'z', 'which follows');
like(contest("SELECT nw_distill('z', 'more', 'closest', 1, calibrate => false)", 'COMMIT', "SELECT nw_alter_set('z', new_name => 'birds')"),
	qr/^$/, 'and for a distillation');
is($node->safe_psql('postgres', $names), 'birds, birds_new, few of birds, more of birds', 'whose set follows, too');
like(contest("SELECT nw_alter_set('birds', new_name => 'z')", 'COMMIT', "SELECT nw_distill('birds', 'most', 'closest', 1, calibrate => false)"),
	qr/ERROR:  40001/, 'a distillation does not outrun a rename');
like(contest("SELECT nw_alter_set('more', tau => 2)", 'COMMIT', "SELECT nw_alter_set('z', new_name => 'birds')"),
	qr/^$/, 'a rename waits for a change of a child');
is($node->safe_psql('postgres', "SELECT tau || ' ' || parent FROM nw_sets WHERE name = 'more'"), '2 birds', 'and loses nothing of it');
like(contest("SELECT nw_alter_set('birds', new_name => 'z')", 'COMMIT', "SELECT nw_alter_set('more', tau => 5)"),
	qr/ERROR:  40001/, 'nor does a child lose its parent');
is($node->safe_psql('postgres', "SELECT tau || ' ' || parent FROM nw_sets WHERE name = 'more'"), '2 z', 'by a change at the same time');

# Many renames at once: no deadlock, and all sets are there in the end
my $deadlocks = 0;
foreach my $round (1 .. 10)
{
	$one->query_safe('BEGIN');
	$one->query_safe("SELECT nw_alter_set('z', new_name => 'birds_x')");
	$two->query_until(qr/begin/, "\\echo begin\nSELECT nw_alter_set('birds_x', new_name => 'z');\n");
	$one->query_safe("SELECT nw_alter_set('birds_x', new_name => 'z')");
	$one->query_safe('COMMIT');
	$two->query('SELECT 1');
	$deadlocks++ if $two->{stderr} =~ /40P01/;
	$two->{stderr} = '';
}
is($deadlocks, 0, 'names are locked in one order');
is($node->safe_psql('postgres', 'SELECT count(*) FROM nw_sets'), '4', 'no set is lost');

# Roles: who may, and what shows
$node->safe_psql(
	'postgres', q{
	CREATE ROLE owner;
	CREATE ROLE other;
	CREATE ROLE member IN ROLE owner;
	GRANT CREATE ON SCHEMA public TO owner, other;
	CREATE SCHEMA hidden AUTHORIZATION owner;
	SET ROLE owner;
	CREATE TABLE hidden.rows (id int PRIMARY KEY, embedding vector(1), label text);
	INSERT INTO hidden.rows VALUES (1, '[1]', 'a'), (2, '[2]', 'b');
	SELECT nw_register('mine', 'hidden.rows', tau => 0.5, model => 'm');
	SELECT nw_distill('mine', 'mine few', 'closest', 1, calibrate => false);
});

sub try
{
	my ($role, $sql) = @_;
	my ($ret, $out, $err) = $node->psql('postgres', "SET ROLE $role; $sql");
	return $ret == 0 ? $out : $err;
}

like(try('other', "SELECT nw_alter_set('mine', tau => 1)"), qr/must be owner of set "mine"/, 'none but the owner alters');
like(try('other', "SELECT nw_alter_set('mine', new_name => 'his')"), qr/must be owner of set "mine"/, 'or renames');
like(try('other', "SELECT nw_register('mine', replace => true)"), qr/must be owner of set "mine"/, 'or registers again');
is(try('member', "SELECT nw_alter_set('mine', tau => 2)"), '', 'a member may change what needs no CREATE');
is($node->safe_psql('postgres', "SELECT tau, owner FROM nw_sets WHERE name = 'mine'"), '2|owner', 'the owner stays');
$node->safe_psql('postgres', 'REVOKE CREATE ON SCHEMA public FROM owner');
like(try('owner', "SELECT nw_alter_set('mine', new_name => 'm')"),
	qr/permission denied to register a set.*HINT:  GRANT CREATE ON SCHEMA public TO owner;/s, 'a rename needs CREATE');
like(try('owner', "SELECT nw_alter_set('mine', relation => 'hidden.rows')"), qr/permission denied to register a set/, 'and so do other rows');
is(try('owner', "SELECT nw_alter_set('mine', kernel => 'gaussian', model => 'n')"), '', 'kernel and model do not');
$node->safe_psql('postgres', 'GRANT CREATE ON SCHEMA public TO owner');
like(try('owner', "SELECT nw_alter_set('mine', relation => 'public.rows')"), qr/permission denied for table rows/, 'the new relation has to be readable');
is($node->safe_psql('postgres', "SELECT relation FROM nw_sets WHERE name = 'mine'"), 'hidden.rows', 'else nothing changes');

# The state of sets shows to all what the catalogs show to all, without an error
is(try('other', "SELECT name, status FROM nw_sets WHERE name LIKE 'mine%' ORDER BY name"), "mine|ready\nmine few|ready", 'a set in a schema of somebody else');
is(try('other', "SELECT count(*) FROM nw_todo() WHERE set LIKE 'mine%'"), '0', 'and nothing to do about it');
is(try('owner', "SELECT set, what FROM nw_todo() ORDER BY set"),
	"mine|never calibrated\nmine few|prototypes outdated", 'but for its owner');
$node->safe_psql('postgres', 'ALTER TABLE hidden.rows RENAME label TO kind');
is(try('other', "SELECT status FROM nw_sets WHERE name = 'mine'"), 'column missing', 'a column is gone');
$node->safe_psql('postgres', 'ALTER SCHEMA hidden RENAME TO seen');
is(try('other', "SELECT status FROM nw_sets WHERE name = 'mine'"), 'relation missing', 'and a schema');

# nw_todo runs nothing of anybody's: no view, no function, no rows
$node->safe_psql(
	'postgres', q{
	CREATE TABLE ran (who text);
	GRANT INSERT ON ran TO PUBLIC;
	SET ROLE owner;
	CREATE FUNCTION trap(int) RETURNS int LANGUAGE plpgsql AS $$BEGIN INSERT INTO public.ran VALUES (current_user); RETURN $1; END$$;
	CREATE VIEW public.trapped AS SELECT public.trap(id) AS id, embedding, kind AS label FROM seen.rows;
	SELECT nw_register('trapped', 'public.trapped');
	SELECT * FROM nw_calibrate('trapped');
});
$node->safe_psql('postgres', 'TRUNCATE ran; SELECT * FROM nw_todo(); SELECT * FROM nw_sets');
is($node->safe_psql('postgres', 'SELECT count(*) FROM ran'), '0', 'a superuser who looks runs no function of others');

$one->quit;
$two->quit;
$node->stop;
done_testing();
