# What a set's names mean is found out at each use.
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
	CREATE SCHEMA app;
	CREATE TABLE app.rows (id int, embedding vector(1), label text);
	INSERT INTO app.rows VALUES (1, '[1]', 'a'), (2, '[5]', 'b');
	SELECT nw_register('s', 'app.rows', tau => 0.1);
});

# one session throughout, so that what it remembers can be wrong
my $session = open_session($node, on_error_stop => 0);

# Predict in the old session; return the answer or the error.
sub predict
{
	my $answer = $session->query("SELECT nw_predict('[0]', 's')");
	my $error = $session->{stderr};
	$session->{stderr} = '';
	return $error eq '' ? $answer : $error;
}

# Change something in another session.
sub change
{
	$node->safe_psql('postgres', $_[0]);
	return;
}

$session->query_safe("PREPARE p AS SELECT nw_predict('[0]', 's')");
is(predict(), 'a', 'at first');

change('ALTER TABLE app.rows RENAME embedding TO vec');
like(predict(), qr/column "embedding" of relation "app.rows" does not exist.*embedding column of set "s"/s, 'a renamed embedding');
change('ALTER TABLE app.rows RENAME vec TO embedding');
change('ALTER TABLE app.rows RENAME label TO kind');
like(predict(), qr/column "label" of relation "app.rows" does not exist/, 'a renamed label');
change('ALTER TABLE app.rows RENAME kind TO label');
change('ALTER TABLE app.rows RENAME id TO key');
like(predict(), qr/column "id" of relation "app.rows" does not exist/, 'a renamed id');
change('ALTER TABLE app.rows RENAME key TO id');
is(predict(), 'a', 'all names are back');

change('ALTER TABLE app.rows RENAME TO moved');
like(predict(), qr/relation "app.rows" of set "s" does not exist.*nw_unregister/s, 'a renamed table');
change("CREATE TABLE app.rows AS SELECT id, embedding, label || ' of the new table' AS label FROM app.moved");
is(predict(), 'a of the new table', 'another table of that name');
is($session->query('EXECUTE p'), 'a of the new table', 'also for a prepared statement');
change('DROP TABLE app.rows');
like(predict(), qr/relation "app.rows" of set "s" does not exist/, 'a dropped table');
change('ALTER TABLE app.moved RENAME TO rows');
is(predict(), 'a', 'the old table is back');

change('ALTER SCHEMA app RENAME TO away');
like(predict(), qr/relation "app.rows" of set "s" does not exist/, 'a renamed schema');
change('ALTER SCHEMA away RENAME TO app');
is(predict(), 'a', 'the schema is back');
change('ALTER TABLE app.rows SET SCHEMA public');
like(predict(), qr/relation "app.rows" of set "s" does not exist/, 'a table in another schema');
change('ALTER TABLE public.rows SET SCHEMA app');

change('ALTER TABLE app.rows ALTER embedding TYPE halfvec(1)');
is(predict(), 'a', 'halfvec instead of vector');
change('ALTER TABLE app.rows ALTER label TYPE varchar(5)');
is(predict(), 'a', 'varchar instead of text');
change('ALTER TABLE app.rows ALTER embedding TYPE text');
like(predict(), qr/embedding column "embedding" of set "s" has type text/, 'text instead of vectors');
change('ALTER TABLE app.rows ALTER embedding TYPE vector(1) USING embedding::vector');
change("ALTER TABLE app.rows ALTER embedding TYPE vector(2) USING (ARRAY[1, id])::vector");
like(predict(), qr/query has 1 dimensions?, but set "s" has 2/, 'more dimensions');
change("ALTER TABLE app.rows ALTER embedding TYPE vector(1) USING (ARRAY[id])::vector");
is(predict(), 'a', 'one again');
change("ALTER TABLE app.rows ADD big int DEFAULT 7; ALTER TABLE app.rows DROP id; ALTER TABLE app.rows RENAME big TO id");
is($session->query("SELECT DISTINCT support_id FROM nw_weights('[0]', 's')"), '7', 'another column of that name');

change('DROP SCHEMA app CASCADE');
like(predict(), qr/relation "app.rows" of set "s" does not exist/, 'a dropped schema');
is($session->query("SELECT relation FROM nw_sets"), 'app.rows', 'the set is still listed');
change(q{CREATE TABLE fresh (id int, embedding vector(1), label text);
	INSERT INTO fresh VALUES (1, '[1]', 'fresh');
	SELECT nw_register('s', 'fresh', tau => 0.1, replace => true)});
is(predict(), 'fresh', 'registered anew');
is($session->query('EXECUTE p'), 'fresh', 'also for a prepared statement');

# a temporary table of the same name is another table
change("CREATE SCHEMA app; CREATE TABLE app.temps AS SELECT * FROM fresh; SELECT nw_register('temps', 'app.temps', tau => 0.1)");
$session->query_safe('CREATE TEMP TABLE temps (id int, embedding text, label text)');
is($session->query("SELECT nw_predict('[0]', 'temps')"), 'fresh', 'a temporary table in front');

# the extension itself
change('ALTER EXTENSION vector SET SCHEMA app');
is(predict(), 'fresh', 'pgvector moved to another schema');
change('ALTER EXTENSION vector SET SCHEMA public');
is(predict(), 'fresh', 'and back');
change('DROP EXTENSION nwhead CASCADE; CREATE EXTENSION nwhead');
like(predict(), qr/set "s" is not registered/, 'the extension created anew knows no sets');
change("SELECT nw_register('s', 'fresh', tau => 0.1)");
is(predict(), 'fresh', 'but learns');
change('DROP EXTENSION vector CASCADE; CREATE EXTENSION nwhead CASCADE; ALTER TABLE fresh ADD embedding vector(1)');
change("UPDATE fresh SET embedding = '[1]'; SELECT nw_register('s', 'fresh', tau => 0.1)");
is(predict(), 'fresh', 'pgvector created anew has new types');

$session->quit;
$node->stop;
done_testing();
