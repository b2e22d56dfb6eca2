# Every kind of relation: partitions, children, views, materialised views.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;

$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION nwhead CASCADE;
	CREATE TABLE plain (id int, embedding vector(3), label text);
	INSERT INTO plain SELECT i, ARRAY[i % 13, i % 7, i % 5]::vector, 'c' || i % 4 FROM generate_series(1, 400) AS i;
	CREATE TABLE queries AS SELECT id, embedding AS e FROM plain WHERE id <= 10;
	SELECT nw_register('plain', 'plain');
});

# The answers of a set for ten queries, as one string.
sub answers
{
	my ($set, $before) = @_;
	return $node->safe_psql('postgres', ($before // '') . qq{
		SELECT string_agg(q.id || p::text, ' ' ORDER BY q.id, p.label) FROM queries AS q, nw_predict_proba(e, '$set') AS p});
}
my $plain = answers('plain');

# Partitions: by list, by hash, nested, with columns in another order
$node->safe_psql(
	'postgres', q{
	CREATE TABLE parts (id int, embedding vector(3), label text) PARTITION BY LIST (label);
	CREATE TABLE part0 PARTITION OF parts FOR VALUES IN ('c0');
	CREATE TABLE part1 (label text, junk int, embedding vector(3), id int);
	ALTER TABLE part1 DROP junk;
	ALTER TABLE parts ATTACH PARTITION part1 FOR VALUES IN ('c1');
	CREATE TABLE part_default PARTITION OF parts DEFAULT PARTITION BY HASH (id);
	CREATE TABLE part2 PARTITION OF part_default FOR VALUES WITH (MODULUS 2, REMAINDER 0);
	CREATE TABLE part3 PARTITION OF part_default FOR VALUES WITH (MODULUS 2, REMAINDER 1);
	INSERT INTO parts SELECT * FROM plain;
	SELECT nw_register('parts', 'parts');
	SELECT nw_register('part1', 'part1');
	SELECT nw_register('by partition', 'parts', label => 'tableoid');
});
is(answers('parts'), $plain, 'partitions give what one table gives');
is($node->safe_psql('postgres', "SELECT DISTINCT label FROM nw_predict_proba('[0,0,0]', 'part1')"), 'c1', 'one partition as a set');
is( $node->safe_psql('postgres', "SELECT count(DISTINCT label) FROM nw_predict_proba('[0,0,0]', 'by partition')"),
	'4', 'partitions as classes');
is( $node->safe_psql('postgres', q{
		SELECT nw_vote(label, embedding <-> '[1,2,3]') = (SELECT jsonb_object_agg(label, probability) FROM nw_predict_proba('[1,2,3]', 'parts')) FROM parts}),
	't',
	'a vote over partitions');
is( $node->safe_psql('postgres', q{
		SET enable_partitionwise_aggregate = on;
		SELECT nw_vote(label, embedding <-> '[1,2,3]') = (SELECT jsonb_object_agg(label, probability) FROM nw_predict_proba('[1,2,3]', 'parts')) FROM parts}),
	't',
	'aggregated partition by partition');
$node->safe_psql('postgres', 'ALTER TABLE parts DETACH PARTITION part0');
is($node->safe_psql('postgres', "SELECT string_agg(label, ' ' ORDER BY label) FROM nw_predict_proba('[0,0,0]', 'parts')"),
	'c1 c2 c3', 'a partition detached');
$node->safe_psql('postgres', "ALTER TABLE parts ATTACH PARTITION part0 FOR VALUES IN ('c0')");
is(answers('parts'), $plain, 'and attached again');
is( $node->safe_psql('postgres', q{
		CREATE TABLE empty_parts (id int, embedding vector(3), label text) PARTITION BY LIST (label);
		SELECT nw_register('empty parts', 'empty_parts');
		SELECT dim FROM nw_sets WHERE name = 'empty parts'}),
	"\n3",
	'a partitioned table without partitions');
my ($ret, $stdout, $stderr) = $node->psql('postgres', "SELECT nw_predict('[0,0,0]', 'empty parts')");
like($stderr, qr/set "empty parts" has no support/, 'has no support');

# Inheritance
$node->safe_psql(
	'postgres', q{
	CREATE TABLE parent (id int, embedding vector(3), label text);
	CREATE TABLE child (extra text) INHERITS (parent);
	INSERT INTO parent SELECT * FROM plain WHERE id % 2 = 0;
	INSERT INTO child SELECT * FROM plain WHERE id % 2 = 1;
	SELECT nw_register('parent', 'parent');
});
is(answers('parent'), $plain, 'a parent includes its children');
is( $node->safe_psql('postgres', q{
		CREATE ROLE reader;
		GRANT SELECT ON parent TO reader;
		SET ROLE reader;
		SELECT count(*) FROM nw_weights('[0,0,0]', 'parent', NULL)}),
	'400',
	'the privilege on the parent is enough');

# A row's ctid is its own only within one table
$node->safe_psql(
	'postgres', q{
	CREATE TABLE lone (embedding vector(1), label text);
	INSERT INTO lone VALUES ('[1]', 'lone');
	SELECT nw_register('lone', 'lone', id => NULL, tau => 0.1);
	CREATE TABLE lone_child () INHERITS (lone);
	INSERT INTO lone_child VALUES ('[2]', 'child');
});
($ret, $stdout, $stderr) =
  $node->psql('postgres', "SELECT nw_predict('[0]', 'lone', exclude => ARRAY[ctid::text]) FROM ONLY lone");
ok($stdout eq 'child' || $stderr =~ /needs an id column/, 'excluding a row by ctid leaves a child with the same ctid alone')
  or diag("got: $stdout $stderr");

# Views
$node->safe_psql(
	'postgres', q{
	CREATE VIEW simple AS SELECT * FROM plain;
	CREATE VIEW joined AS SELECT a.id, b.embedding, a.label FROM plain AS a JOIN plain AS b USING (id);
	CREATE VIEW united AS SELECT * FROM plain WHERE id <= 100 UNION ALL SELECT * FROM plain WHERE id > 100;
	CREATE VIEW grouped AS SELECT min(id) AS id, avg(embedding) AS embedding, label FROM plain GROUP BY label;
	CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM plain WHERE id > 0;
	CREATE VIEW listed (id, embedding, label) AS VALUES (1, '[1,1,1]'::vector, 'one'), (2, '[2,2,2]', 'two');
	CREATE VIEW recursive AS WITH RECURSIVE r (id, embedding, label) AS (
			SELECT 1, '[1,1,1]'::vector, 'x1' UNION ALL SELECT id + 1, embedding + '[1,1,1]', 'x' || id + 1 FROM r WHERE id < 10)
		SELECT * FROM r;
	CREATE VIEW sampled AS SELECT * FROM plain TABLESAMPLE SYSTEM (100) REPEATABLE (1);
	CREATE VIEW latest AS SELECT DISTINCT ON (id) * FROM plain ORDER BY id;
	CREATE FUNCTION function_rows() RETURNS SETOF plain LANGUAGE sql STABLE AS 'SELECT * FROM plain';
	CREATE VIEW called AS SELECT * FROM function_rows();
	SELECT nw_register(v, v::regclass)
	  FROM unnest('{simple,joined,united,grouped,barrier,listed,recursive,sampled,latest,called}'::text[]) AS v;
});
foreach my $view ('simple', 'joined', 'united', 'barrier', 'sampled', 'latest', 'called')
{
	is(answers($view), $plain, "view $view");
}
is($node->safe_psql('postgres', "SELECT nw_predict('[2,2,3]', 'listed')"), 'two', 'view listed');
is($node->safe_psql('postgres', "SELECT nw_predict('[7,7,7]', 'recursive')"), 'x7', 'view recursive');
is($node->safe_psql('postgres', "SELECT count(*) FROM nw_predict_proba('[0,0,0]', 'grouped')"), '4', 'view grouped');

# A set may depend on the predictions of another
is( $node->safe_psql('postgres', q{
		CREATE VIEW relabelled AS SELECT id, embedding, nw_predict(embedding, 'plain', exclude => ARRAY[id::text]) AS label FROM plain;
		SELECT nw_register('relabelled', 'relabelled');
		SELECT count(*) FROM queries WHERE nw_predict(e, 'relabelled') = nw_predict(e, 'plain')}) =~ /^\n\d+$/,
	1,
	'a view that predicts');

# Materialised views stay as they are until refreshed
$node->safe_psql('postgres', q{
	CREATE MATERIALIZED VIEW matview AS SELECT * FROM plain;
	SELECT nw_register('matview', 'matview')});
is(answers('matview'), $plain, 'a materialised view');
is( $node->safe_psql('postgres', q{
		BEGIN;
		UPDATE plain SET label = 'changed';
		SELECT nw_predict('[0,0,0]', 'matview') = 'changed', nw_predict('[0,0,0]', 'simple') = 'changed';
		REFRESH MATERIALIZED VIEW matview;
		SELECT nw_predict('[0,0,0]', 'matview') = 'changed';
		ROLLBACK;
		SELECT nw_predict('[0,0,0]', 'matview') = 'changed';}),
	"f|t\nt\nf",
	'a materialised view is what it was refreshed to');
is( $node->safe_psql('postgres', q{
		CREATE MATERIALIZED VIEW answers AS SELECT id, nw_predict(e, 'plain') AS label FROM queries;
		SELECT count(*) FROM answers WHERE label IS NOT NULL}),
	'10',
	'a materialised view of predictions');

# Indexes, triggers, rules, TOAST
$node->safe_psql(
	'postgres', q{
	CREATE INDEX ON plain USING hnsw (embedding vector_l2_ops);
	CREATE INDEX ON plain USING ivfflat (embedding vector_l2_ops) WITH (lists = 4);
	CREATE INDEX ON plain (label);
});
is(answers('plain', 'SET enable_seqscan = off;'), $plain, 'indexes change nothing');
is( $node->safe_psql('postgres', q{
		CREATE TABLE wide (id int, embedding vector(3000), label text);
		INSERT INTO wide SELECT i, array_fill(i::float4, ARRAY[3000])::vector, 'w' || i FROM generate_series(1, 20) AS i;
		SELECT nw_register('wide', 'wide');
		SELECT nw_predict(array_fill(7.2::float4, ARRAY[3000])::vector, 'wide');
		SELECT nw_predict(embedding, 'wide') FROM wide WHERE id = 9;}),
	"\nw7\nw9",
	'vectors stored out of line');
is( $node->safe_psql('postgres', q{
		CREATE TABLE labelled (id int, kind text);
		CREATE FUNCTION label_it() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			NEW.kind := nw_predict((SELECT e FROM queries WHERE id = NEW.id), 'plain');
			RETURN NEW;
		END $$;
		CREATE TRIGGER t BEFORE INSERT ON labelled FOR EACH ROW EXECUTE FUNCTION label_it();
		INSERT INTO labelled SELECT id FROM queries;
		SELECT count(*) FROM labelled JOIN queries USING (id) WHERE kind = nw_predict(e, 'plain');}),
	'10',
	'a trigger that predicts');

$node->stop;
done_testing();
