# A subscriber: its set has an nw index of its own, and a trigger predicts labels there.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use NwIndex;

my $publisher = PostgreSQL::Test::Cluster->new('publisher');
$publisher->init(allows_streaming => 'logical');
$publisher->append_conf('postgresql.conf', 'autovacuum = off');
$publisher->start;
my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init(allows_streaming => 'logical');
$subscriber->append_conf('postgresql.conf', "autovacuum = off\nwal_retrieve_retry_interval = 1s");
$subscriber->start;

my $tables = q{
	CREATE TABLE rows (id int PRIMARY KEY, embedding vector(8), label text);
	CREATE TABLE halves (id int PRIMARY KEY, embedding halfvec(8), label int);
	CREATE TABLE inbox (id int PRIMARY KEY, embedding vector(8), label text, guess text, confidence float8);
};
install_helpers($_) foreach $publisher, $subscriber;
$_->safe_psql('postgres', $tables) foreach $publisher, $subscriber;
$publisher->safe_psql(
	'postgres', q{
	INSERT INTO rows SELECT i, spot(i, i % 4, 8, 0.5), 'c' || i % 4 FROM generate_series(1, 300) AS i;
	INSERT INTO halves SELECT i, spot(i, i % 3, 8, 0.5)::halfvec, i % 3 FROM generate_series(1, 200) AS i;
	INSERT INTO inbox (id, embedding) SELECT i, spot(i + 5000, i % 4, 8, 0.5) FROM generate_series(1, 20) AS i;
	CREATE PUBLICATION everything FOR TABLE rows, halves, inbox;
	CREATE TABLE queries AS SELECT i AS id, spot(i + 9000, i % 4, 8, 0.5) AS e FROM generate_series(1, 3) AS i;
	SELECT nw_register('s', 'rows', tau => 0.2), nw_register('h', 'halves', tau => 0.2);
});

# A row of the set is labelled by the rows before it, one of the inbox by the set;
# unlabelled rows of the set count as soon as they are labelled.
$subscriber->safe_psql(
	'postgres', q{
	CREATE INDEX rows_nw ON rows USING nw (embedding) INCLUDE (label);
	CREATE INDEX halves_nw ON halves USING nw (embedding) INCLUDE (label);
	CREATE TABLE queries AS SELECT i AS id, spot(i + 9000, i % 4, 8, 0.5) AS e FROM generate_series(1, 3) AS i;
	SELECT nw_register('s', 'rows', tau => 0.2), nw_register('h', 'halves', tau => 0.2);
	CREATE FUNCTION guess() RETURNS trigger LANGUAGE plpgsql SET search_path = public AS $$
	BEGIN
		SELECT label, confidence INTO NEW.guess, NEW.confidence FROM nw_classify(NEW.embedding, 's');
		RETURN NEW;
	EXCEPTION WHEN no_data_found OR object_not_in_prerequisite_state THEN
		RETURN NEW;
	END $$;
	CREATE TRIGGER guess BEFORE INSERT OR UPDATE ON inbox FOR EACH ROW EXECUTE FUNCTION guess();
	ALTER TABLE inbox ENABLE ALWAYS TRIGGER guess;
	CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql SET search_path = public AS $$
	BEGIN
		NEW.label := coalesce(NEW.label, 'like ' || nw_predict(NEW.embedding, 's'));
		RETURN NEW;
	EXCEPTION WHEN no_data_found OR object_not_in_prerequisite_state THEN
		RETURN NEW;
	END $$;
	CREATE TRIGGER fill BEFORE INSERT ON rows FOR EACH ROW EXECUTE FUNCTION fill();
	ALTER TABLE rows ENABLE REPLICA TRIGGER fill;
});
my $connection = $publisher->connstr . ' dbname=postgres';
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION everything CONNECTION '$connection' PUBLICATION everything");
# the first copy of each table, by workers of its own
$subscriber->wait_for_subscription_sync($publisher, 'everything');

my $sum = 'SELECT count(*), md5(string_agg(t::text, chr(10) ORDER BY id)) FROM %s AS t';
foreach my $table ('rows', 'halves')
{
	is( $subscriber->safe_psql('postgres', sprintf($sum, $table)),
		$publisher->safe_psql('postgres', sprintf($sum, $table)),
		"the first copy of $table has every vector to the last bit");
}
my $sound = "SELECT nw_check_index('rows_nw') >= (SELECT count(*) FROM rows), nw_check_index('halves_nw') > 0, differences('s'), engines('s')";
is($subscriber->safe_psql('postgres', $sound), 't|t|0|index', 'the indexes filled by the copy are sound');
my $answers = "SELECT md5(string_agg(a, '')) FROM answers('%s', '%s') AS a";
is( $subscriber->safe_psql('postgres', sprintf($answers, 's', 'index')),
	$publisher->safe_psql('postgres', sprintf($answers, 's', 'executor')),
	'the index of the subscriber answers as the publisher does, which has none');

# Changes, in one transaction of the publisher: the trigger must see each of them
$publisher->safe_psql(
	'postgres', q{
	BEGIN;
	INSERT INTO inbox (id, embedding) VALUES (101, array_fill(50, ARRAY[8])::vector);
	INSERT INTO rows VALUES (1001, array_fill(50, ARRAY[8])::vector, 'far');
	INSERT INTO inbox (id, embedding) VALUES (102, array_fill(50, ARRAY[8])::vector);
	INSERT INTO rows VALUES (1002, array_fill(51, ARRAY[8])::vector, NULL);
	UPDATE rows SET label = 'farther' WHERE id = 1001;
	INSERT INTO inbox (id, embedding) VALUES (103, array_fill(50, ARRAY[8])::vector);
	DELETE FROM rows WHERE id = 1001;
	INSERT INTO inbox (id, embedding) VALUES (104, array_fill(50, ARRAY[8])::vector);
	UPDATE inbox SET id = 105 WHERE id = 101;
	COMMIT;
	DELETE FROM rows WHERE id % 5 = 0;
	UPDATE rows SET embedding = spot(id, 6, 8, 0.5), label = 'moved' WHERE id % 7 = 0;
	INSERT INTO rows SELECT i, spot(i, i % 9, 8, 0.5), 'new' || i % 9 FROM generate_series(2000, 2400) AS i;
	UPDATE halves SET label = label + 1 WHERE id % 2 = 0;
	TRUNCATE halves;
	INSERT INTO halves SELECT i, spot(i, i % 3, 8, 0.5)::halfvec, i % 5 FROM generate_series(1, 150) AS i;
	INSERT INTO inbox (id, embedding) SELECT i, spot(i + 5000, i % 4, 8, 0.5) FROM generate_series(201, 220) AS i});
$publisher->wait_for_catchup('everything');
is( $subscriber->safe_psql('postgres', 'SELECT string_agg(guess, chr(10) ORDER BY id) FROM inbox WHERE id BETWEEN 102 AND 104'),
	"far\nfarther\nlike far",
	'predictions of the apply worker see the changes before them, and no others');
isnt($subscriber->safe_psql('postgres', 'SELECT guess FROM inbox WHERE id = 105'), 'far', 'a changed row is predicted anew');
is($subscriber->safe_psql('postgres', 'SELECT label FROM rows WHERE id = 1002'), 'like far', 'a row of the set is labelled as it arrives');
is($subscriber->safe_psql('postgres', $sound), 't|t|0|index', 'the indexes are sound after the changes');
is($subscriber->safe_psql('postgres', "SELECT nw_check_index('halves_nw'), differences('h')"), '150|0', 'and after TRUNCATE');
is( $subscriber->safe_psql('postgres', q{
		SELECT count(*), count(*) FILTER (WHERE guess IS DISTINCT FROM nw_predict(embedding, 's')) FROM inbox WHERE id > 200}),
	'20|0',
	'the last guesses are those of the set as it is now');
is( $subscriber->safe_psql('postgres', "SELECT id, embedding, label FROM rows WHERE id <> 1002 ORDER BY id"),
	$publisher->safe_psql('postgres', "SELECT id, embedding, label FROM rows WHERE id <> 1002 ORDER BY id"),
	'the tables are alike');

# A table that joins later, whose trigger predicts from what the copy itself has brought
$publisher->safe_psql('postgres', q{
	CREATE TABLE later (id int PRIMARY KEY, embedding vector(8), label text);
	INSERT INTO later SELECT i, array_fill(i / 10, ARRAY[8])::vector, CASE WHEN i % 10 = 0 THEN 'l' || i END FROM generate_series(0, 49) AS i;
	ALTER PUBLICATION everything ADD TABLE later});
$subscriber->safe_psql('postgres', q{
	CREATE TABLE later (id int PRIMARY KEY, embedding vector(8), label text);
	CREATE INDEX later_nw ON later USING nw (embedding) INCLUDE (label);
	SELECT nw_register('later', 'later', tau => 0.01);
	CREATE FUNCTION fill_later() RETURNS trigger LANGUAGE plpgsql SET search_path = public AS
	$$ BEGIN NEW.label := coalesce(NEW.label, nw_predict(NEW.embedding, 'later')); RETURN NEW; END $$;
	CREATE TRIGGER fill BEFORE INSERT ON later FOR EACH ROW EXECUTE FUNCTION fill_later();
	ALTER TABLE later ENABLE ALWAYS TRIGGER fill});
$subscriber->safe_psql('postgres', 'ALTER SUBSCRIPTION everything REFRESH PUBLICATION');
$subscriber->wait_for_subscription_sync($publisher, 'everything');
is($subscriber->safe_psql('postgres', "SELECT count(*) FILTER (WHERE label = 'l' || id / 10 * 10), count(*) FROM later"),
	'50|50', 'a copy labels each row by those it has just brought');
is($subscriber->safe_psql('postgres', "SELECT nw_check_index('later_nw')"), '50', 'with a sound index');

# Crash of the subscriber
$publisher->safe_psql('postgres', "INSERT INTO inbox (id, embedding) SELECT i, spot(i + 5000, i % 4, 8, 0.5) FROM generate_series(301, 340) AS i");
$subscriber->stop('immediate');
$subscriber->start;
$publisher->wait_for_catchup('everything');
is($subscriber->safe_psql('postgres', 'SELECT count(guess) FROM inbox WHERE id > 300'), '40', 'a crash loses nothing');
is($subscriber->safe_psql('postgres', $sound), 't|t|0|index', 'the indexes are sound after a crash');

foreach my $node ($publisher, $subscriber)
{
	unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal|leak| ERROR: /, 'no complaint in the log of ' . $node->name);
}
$subscriber->safe_psql('postgres', 'DROP SUBSCRIPTION everything');
$subscriber->stop;
$publisher->stop;
done_testing();
