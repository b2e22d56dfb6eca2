# The statement cache: a support is read once, and never an old one.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
# no ANALYZE in between, which makes the cache read again
$node->append_conf('postgresql.conf', "autovacuum = off\nmax_parallel_workers_per_gather = 0");
$node->start;

$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION nwhead CASCADE;
	CREATE TABLE rows (id int, embedding vector(8), label text);
	INSERT INTO rows SELECT i, (SELECT array_agg(sin(i * j)) FROM generate_series(1, 8) AS j)::float4[]::vector,
		'class ' || i % 7 FROM generate_series(1, 3000) AS i;
	CREATE TABLE queries AS SELECT id, embedding AS e FROM rows WHERE id <= 50;
	CREATE TABLE parts (LIKE rows) PARTITION BY RANGE (id);
	CREATE TABLE part1 PARTITION OF parts FOR VALUES FROM (1) TO (1000);
	CREATE TABLE part2 PARTITION OF parts FOR VALUES FROM (1000) TO (5000);
	INSERT INTO parts SELECT * FROM rows;
	CREATE MATERIALIZED VIEW matview AS SELECT * FROM rows;
	CREATE VIEW view AS SELECT * FROM rows;
	CREATE TABLE guarded AS SELECT * FROM rows;
	ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
	ALTER TABLE guarded FORCE ROW LEVEL SECURITY;
	CREATE POLICY p ON guarded USING (id > 0);
	SELECT nw_register('s', 'rows', tau => 0.1);
	SELECT nw_register('parts', 'parts', tau => 0.1);
	SELECT nw_register('matview', 'matview', tau => 0.1);
	SELECT nw_register('view', 'view', tau => 0.1);
	SELECT nw_register('guarded', 'guarded', tau => 0.1);
});

# Count the scans of a table that a statement makes.
sub scans
{
	my ($table, $statement, $settings) = @_;
	my $output = $node->safe_psql('postgres', ($settings // '') . qq{;
		SELECT nw_predict(e, 's') FROM queries LIMIT 0;
		BEGIN;
		SELECT 'before ' || coalesce(seq_scan, 0) FROM pg_stat_xact_all_tables WHERE relname = '$table';
		$statement;
		SELECT 'after ' || coalesce(seq_scan, 0) FROM pg_stat_xact_all_tables WHERE relname = '$table';
		COMMIT;});
	my ($before) = $output =~ /^before (\d+)$/m;
	my ($after) = $output =~ /^after (\d+)$/m;
	return $after - $before;
}

# Read once
is(scans('rows', "SELECT nw_predict('[1,2,3,4,5,6,7,8]', 's')"), 1, 'one prediction, one scan');
is(scans('rows', "SELECT nw_predict(e, 's') FROM queries"), 1, 'fifty predictions, one scan');
is(scans('rows', "SELECT id FROM queries WHERE nw_predict(e, 's') = 'class 1'"), 1, 'in WHERE');
is(scans('rows', "SELECT c.* FROM queries, nw_classify(e, 's') AS c"), 1, 'with LATERAL');
is(scans('rows', "SELECT c.* FROM queries, nw_predict_proba(e, 's') AS c"), 1, 'with all classes');
is(scans('rows', "SELECT w.* FROM queries, nw_weights(e, 's') AS w"), 1, 'with ids');
is(scans('rows', "SELECT nw_predict(e, 's', exclude => ARRAY[id::text]) FROM queries"), 1, 'each without its own row');
cmp_ok(scans('rows', "SELECT nw_predict(e, 's'), c.label, w.* FROM queries, nw_classify(e, 's') AS c, nw_weights(e, 's', 1) AS w"),
	'<=', 2, 'several functions together');
cmp_ok(scans('rows', "SELECT nw_predict('[1,2,3,4,5,6,7,8]', 's') FROM queries"), '<=', 2, 'a constant query');
cmp_ok(scans('rows', "SELECT nw_predict(e, 's'), nw_predict(e, 's', '{class 1,class 2}') FROM queries"),
	'<=', 2, 'twice in a select list');
cmp_ok(scans('rows', "INSERT INTO queries SELECT id, e FROM queries WHERE nw_predict(e, 's') = ''"), '<=', 1, 'in INSERT');
cmp_ok(
	scans(
		'rows', q{DO $$
		DECLARE
			r record;
			answer text;
		BEGIN
			FOR r IN SELECT e FROM queries LOOP
				answer := nw_predict(r.e, 's');
			END LOOP;
		END $$}),
	'<=', 2,
	'in a loop of PL/pgSQL');
cmp_ok(
	scans(
		'rows', q{DO $$
		DECLARE
			r record;
			answer text;
		BEGIN
			FOR r IN SELECT e FROM queries LOOP
				SELECT label INTO answer FROM nw_classify(r.e, 's');
			END LOOP;
		END $$}),
	'<=', 2,
	'in queries of a loop');
is(scans('part1', "SELECT nw_predict(e, 'parts') FROM queries"), 1, 'a partitioned table');
is(scans('matview', "SELECT nw_predict(e, 'matview') FROM queries"), 1, 'a materialised view');
is(scans('rows', "SELECT nw_predict(e, 'view') FROM queries"), 1, 'a view');
is(scans('guarded', "SELECT nw_predict(e, 'guarded') FROM queries"), 1, 'a table with policies');

# Not at all, or not enough memory
is(scans('rows', "SELECT nw_predict(e, 's') FROM queries", 'SET nwhead.statement_cache = 0'), 50, 'without a cache');
is(scans('rows', "SELECT nw_predict(e, 's') FROM queries", "SET nwhead.statement_cache = '64kB'"),
	50, 'with a cache too small');

# Equal answers, to the last digit
my $answers = q{SELECT md5(string_agg(t::text, ' ' ORDER BY t::text)) FROM (
	SELECT id, c.*, w.*, p.* FROM queries, nw_classify(e, '%1$s') AS c, nw_weights(e, '%1$s', 5) AS w,
		nw_predict_proba(e, '%1$s', exclude => ARRAY[id::text]) AS p WHERE id <= 4) AS t};
my $expected = $node->safe_psql('postgres', sprintf($answers, 's'));
foreach my $set ('s', 'parts', 'matview', 'view', 'guarded')
{
	foreach my $size ('0', '64kB', '150kB', '1GB')
	{
		is($node->safe_psql('postgres', "SET nwhead.statement_cache = '$size'; " . sprintf($answers, $set)),
			$expected, "$set with a cache of $size");
	}
}

# Two sets that do not fit together
is( $node->safe_psql('postgres', q{
		SET nwhead.statement_cache = '200kB';
		SELECT count(*) FROM queries WHERE nw_predict(e, 's') = nw_predict(e, 'parts') AND nw_predict(e, 'matview') = nw_predict(e, 's');}),
	'50',
	'supports that take turns');

# What changes within a transaction is seen
$node->safe_psql('postgres', 'DROP VIEW view; DROP MATERIALIZED VIEW matview');
my $predict = "SELECT nw_predict('[0,0,0,0,0,0,0,0]', 's');";
is( $node->safe_psql('postgres', qq{
		BEGIN;
		TRUNCATE rows;
		INSERT INTO rows VALUES (1, '[1,1,1,1,1,1,1,1]', 'alone');
		$predict
		ROLLBACK;
		BEGIN;
		ALTER TABLE rows ALTER label TYPE varchar USING 'all';
		$predict
		ALTER TABLE rows ADD other text DEFAULT 'other';
		ALTER TABLE rows DROP label;
		ALTER TABLE rows RENAME other TO label;
		$predict
		ALTER TABLE rows RENAME TO old_rows;
		CREATE TABLE rows AS SELECT id, embedding::halfvec(8), 'new'::text AS label FROM old_rows;
		$predict
		ROLLBACK;}),
	"alone\nall\nother\nnew",
	'TRUNCATE and ALTER TABLE');
is( $node->safe_psql('postgres', q{
		BEGIN;
		DO $$
		DECLARE
			q vector := '[0,0,0,0,0,0,0,0]';
			answers text;
		BEGIN
			FOR i IN 1..9 LOOP
				answers := concat_ws(' ', answers, nw_predict(q, 's'));
				IF i = 3 THEN
					TRUNCATE rows;
					INSERT INTO rows VALUES (1, '[1,1,1,1,1,1,1,1]', 'alone');
				ELSIF i = 6 THEN
					ALTER TABLE rows DROP label;
					ALTER TABLE rows ADD label text DEFAULT 'default';
				END IF;
			END LOOP;
			PERFORM set_config('test.answers', regexp_replace(answers, 'class \d', 'class', 'g'), false);
		END
		$$;
		SELECT current_setting('test.answers');
		ROLLBACK;}),
	'class class class alone alone alone default default default',
	'also within one block');
is( $node->safe_psql('postgres', q{
		BEGIN;
		CREATE TABLE part3 (LIKE parts);
		INSERT INTO part3 VALUES (6000, '[9,9,9,9,9,9,9,9]', 'attached');
		DO $$
		DECLARE
			q vector := '[9,9,9,9,9,9,9,9]';
			answers text;
		BEGIN
			FOR i IN 1..6 LOOP
				answers := concat_ws(' ', answers, (nw_predict(q, 'parts') = 'attached')::text);
				IF i = 3 THEN
					ALTER TABLE parts ATTACH PARTITION part3 FOR VALUES FROM (5000) TO (9000);
				END IF;
			END LOOP;
			PERFORM set_config('test.answers', answers, false);
		END
		$$;
		SELECT current_setting('test.answers');
		ROLLBACK;}),
	'false false false true true true',
	'a partition attached within one block');

# An error in between leaves nothing stale
is( $node->safe_psql('postgres', q{
		DO $$
		DECLARE
			q vector := '[0,0,0,0,0,0,0,0]';
			n int := 0;
		BEGIN
			FOR i IN 1..20 LOOP
				BEGIN
					PERFORM nw_predict(q, 's');
					PERFORM nw_predict(q, 's');
					PERFORM nw_predict('[1]'::vector, 's');
				EXCEPTION WHEN data_exception THEN
					n := n + 1;
				END;
			END LOOP;
			PERFORM set_config('test.answers', n::text, false);
		END
		$$;
		SELECT current_setting('test.answers');}),
	'20',
	'errors with a support in the cache');

# A cache belongs to its statement, and is gone afterwards
my $used = q{SELECT coalesce(sum(total_bytes), 0) < 100000 FROM pg_backend_memory_contexts WHERE name LIKE 'nwhead%'};
is($node->safe_psql('postgres', "SELECT count(nw_predict(e, 's')) FROM queries; $used"), "50\nt", 'after a statement');
my $load = "SELECT nw_predict(e, 's') FROM queries LIMIT 0;";
is($node->safe_psql('postgres', "$load BEGIN; SELECT count(nw_predict(e, 's')) FROM queries; $used"), "50\nt", 'within a transaction');
is( $node->safe_psql('postgres', "BEGIN; DECLARE c CURSOR FOR SELECT count(nw_predict(e, 's')) FROM queries; FETCH c; $used"),
	"50\nt", 'after a fetch');

$node->stop;
done_testing();
