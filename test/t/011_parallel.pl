# Parallel plans: nw_vote in workers, nw_predict beside them, equal digits.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', 'max_worker_processes = 8');
$node->start;

$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION nwhead CASCADE;
	CREATE TABLE rows (id int, embedding vector(4), label text, part int);
	INSERT INTO rows SELECT i, (SELECT array_agg(sin(i * j) * 3) FROM generate_series(1, 4) AS j)::float4[]::vector, 'class ' || i % 11, i % 3
	  FROM generate_series(1, 20000) AS i;
	CREATE TABLE queries AS SELECT id, embedding AS e FROM rows WHERE id <= 20;
	CREATE TABLE parts (LIKE rows) PARTITION BY LIST (part);
	CREATE TABLE part0 PARTITION OF parts FOR VALUES IN (0);
	CREATE TABLE part1 PARTITION OF parts FOR VALUES IN (1);
	CREATE TABLE part2 PARTITION OF parts FOR VALUES IN (2);
	INSERT INTO parts SELECT * FROM rows;
	ANALYZE;
	SELECT nw_register('s', 'rows', tau => 0.5);
});

my $serial = 'SET max_parallel_workers_per_gather = 0;';
my $parallel = q{
	SET max_parallel_workers_per_gather = 4;
	SET parallel_setup_cost = 0;
	SET parallel_tuple_cost = 0;
	SET min_parallel_table_scan_size = 0;
	SET parallel_leader_participation = off;
};
# the setting that makes any plan parallel was renamed
my $force = $node->pg_version >= 16 ? 'debug_parallel_query' : 'force_parallel_mode';

# nw_vote
my $vote = "SELECT nw_vote(label, embedding <-> '[1,2,3,4]', 0.5) FROM rows";
my $plan = $node->safe_psql('postgres', "$parallel EXPLAIN (COSTS OFF) $vote");
like($plan, qr/Finalize Aggregate.*Gather.*Partial Aggregate.*Parallel Seq Scan/s, 'nw_vote is aggregated in workers');
like($node->safe_psql('postgres', "$parallel EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $vote"),
	qr/Workers Launched: [1-9]/, 'which are started');
my $expected = $node->safe_psql('postgres', "$serial $vote");
is($node->safe_psql('postgres', "$parallel $vote"), $expected, 'the digits are equal');
foreach my $workers (1, 2, 3, 4)
{
	is($node->safe_psql('postgres', "$parallel SET max_parallel_workers_per_gather = $workers; $vote"),
		$expected, "with $workers workers");
}
is( $node->safe_psql('postgres', "$parallel SELECT jsonb_object_agg(label, p) FROM (
		SELECT label, sum(exp(-(embedding <-> '[1,2,3,4]') / 0.5)) / sum(sum(exp(-(embedding <-> '[1,2,3,4]') / 0.5))) OVER () AS p
		  FROM rows GROUP BY label) AS naive") =~ tr/:// ,
	11,
	'eleven classes');
is( $node->safe_psql('postgres', "SELECT bool_and(abs((v -> label)::float8 - p) < 1e-9) FROM (
		SELECT label, sum(exp(-(embedding <-> '[1,2,3,4]') / 0.5)) / sum(sum(exp(-(embedding <-> '[1,2,3,4]') / 0.5))) OVER () AS p
		  FROM rows GROUP BY label) AS naive, ($vote) AS v (v)"),
	't',
	'and the right values');

# nw_argmax, groups, filters, partitions
foreach my $query (
	"SELECT nw_argmax(label, embedding <-> '[1,2,3,4]') FROM rows",
	"SELECT part, nw_vote(label, embedding <-> '[1,2,3,4]') FROM rows GROUP BY part ORDER BY part",
	"SELECT nw_vote(label, embedding <-> '[1,2,3,4]') FILTER (WHERE id % 3 = 1) FROM rows WHERE id > 100",
	"SELECT nw_vote(label, embedding <-> '[1,2,3,4]') FROM parts",
	"SELECT part, nw_argmax(label, embedding <-> '[1,2,3,4]') FROM parts GROUP BY part ORDER BY part",
	"SELECT nw_vote(label, 1.0) FROM rows WHERE id < 0",
	"SELECT nw_vote(r.label, r.embedding <-> q.e) FROM rows AS r, queries AS q WHERE q.id = 3",
	"SELECT nw_vote(label, (embedding <-> '[1,2,3,4]') * 1e6, 1e-3) FROM rows")
{
	my $result = $node->safe_psql('postgres', "$serial $query");
	is($node->safe_psql('postgres', "$parallel $query"), $result, "parallel: $query");
	is($node->safe_psql('postgres', "$parallel SET enable_partitionwise_aggregate = on; $query"),
		$result, 'and partition by partition');
	is($node->safe_psql('postgres', "$parallel SET enable_hashagg = off; $query"), $result, 'and sorted');
}

# A table that is the answer to nothing in a worker
my $empty = 'SELECT nw_vote(label, 1.0), nw_argmax(label, 1.0) FROM rows WHERE id < 0';
is($node->safe_psql('postgres', "$parallel \\pset null NULL\n $empty"), 'NULL|NULL', 'no rows in any worker');

# nw_predict in a plan that is parallel elsewhere
my $predict = "SELECT id, nw_predict(embedding, 's') FROM rows WHERE embedding <-> '[1,2,3,4]' < 1.5 ORDER BY id";
like($node->safe_psql('postgres', "$parallel EXPLAIN (COSTS OFF) $predict"), qr/Gather/, 'a plan with workers');
is($node->safe_psql('postgres', "$parallel $predict"), $node->safe_psql('postgres', "$serial $predict"),
	'predicts what a serial plan predicts');
my $filter = "SELECT count(*), nw_predict(avg(embedding), 's') FROM rows WHERE part = 1";
is($node->safe_psql('postgres', "$parallel $filter"), $node->safe_psql('postgres', "$serial $filter"), 'above an aggregate');
my $lateral = "SELECT q.id, c.label, c.confidence FROM queries AS q, nw_classify(q.e, 's') AS c ORDER BY q.id";
$expected = $node->safe_psql('postgres', "$serial $lateral");
is($node->safe_psql('postgres', "$parallel $lateral"), $expected, 'LATERAL');
is($node->safe_psql('postgres', "SET $force = on; $lateral"), $expected, "with $force");
is($node->safe_psql('postgres', "$parallel SET $force = on; $lateral"), $expected, 'and workers');
my $where = "SELECT count(*) FROM queries WHERE nw_predict(e, 's') = 'class 1'";
is($node->safe_psql('postgres', "$parallel SET $force = on; $where"), $node->safe_psql('postgres', "$serial $where"), 'in WHERE');
unlike($node->safe_psql('postgres', "$parallel EXPLAIN (COSTS OFF, VERBOSE) $where"),
	qr/Parallel Seq Scan on public.queries\n[^\n]*nw_predict/, 'which no worker runs');

# How the functions are marked
is( $node->safe_psql('postgres', q{
		SELECT string_agg(DISTINCT concat(provolatile, proparallel, procost), ' ') FROM pg_proc
		 WHERE proname IN ('nw_predict', 'nw_classify', 'nw_predict_proba', 'nw_weights', 'nw_regress')}),
	'sr10000',
	'predictions are stable, parallel restricted and expensive');
is( $node->safe_psql('postgres', "SELECT string_agg(DISTINCT proparallel::text, '') FROM pg_proc WHERE proname IN ('nw_vote', 'nw_argmax')"),
	's',
	'aggregates are parallel safe');
is( $node->safe_psql('postgres', q{
		SELECT count(*) FROM pg_proc AS p JOIN pg_depend AS d ON d.objid = p.oid AND d.deptype = 'e'
		  JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'nwhead'
		 WHERE obj_description(p.oid, 'pg_proc') IS NULL OR p.prosecdef}),
	'0',
	'every function has a comment and runs as its caller');

$node->stop;
done_testing();
