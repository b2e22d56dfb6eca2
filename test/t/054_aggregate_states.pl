# States of the aggregates cannot be made, mixed up or reached into by SQL.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "parallel_setup_cost = 0\nparallel_tuple_cost = 0\nmin_parallel_table_scan_size = 0\nmax_parallel_workers_per_gather = 2");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION nwhead CASCADE;
	CREATE ROLE somebody;
	GRANT CREATE ON SCHEMA public TO somebody;
	CREATE TABLE numbers AS SELECT i, 'l' || i % 5 AS label, i % 17 / 4.0::float8 AS d FROM generate_series(1, 2000) AS i;
	ANALYZE numbers;
});

# Insist that a statement ends, well or badly, and that the server goes on.
sub survives
{
	my ($statement, $name) = @_;
	my ($ret, $stdout, $stderr) = $node->psql('postgres', $statement);
	my $lost = $stderr =~ /server closed the connection|PANIC|connection to server .* failed/;
	ok(!$lost, $name // $statement) or diag(substr($stderr, 0, 500));
	$node->poll_query_until('postgres', 'SELECT true') if $lost;
	return $ret == 0 ? $stdout : $stderr;
}

my @support = split /\n/, $node->safe_psql(
	'postgres', q{
	SELECT p.proname || '(' || array_to_string(p.proargtypes::oid[]::regtype[], ', ') || ')' FROM pg_proc AS p JOIN pg_depend AS d ON d.objid = p.oid AND d.deptype = 'e'
		JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'nwhead'
	 WHERE 'internal'::regtype = ANY (p.proargtypes::oid[]) AND p.proname ~ '^nw_(vote|argmax|ece|mce|score)' ORDER BY 1});
cmp_ok(scalar @support, '>=', 18, 'there are support functions');

# By themselves: NULL for the state is all that SQL can write
foreach my $function (@support)
{
	my ($name, $types) = $function =~ /^(\w+)\((.*)\)$/;
	my @types = split /, /, $types;
	foreach my $bytes ('NULL', "'\\x'::bytea", "'\\x00'::bytea", "'\\xffffffffffffffffffffffffffffffff'::bytea", "decode(repeat('00', 5000), 'hex')")
	{
		next if $bytes ne 'NULL' && $function !~ /bytea/;
		my %value = (internal => 'NULL', anycompatible => "'a'", '"any"' => "'a'", 'double precision' => '1', boolean => 'true', integer => '15', bytea => $bytes);
		my $answer = survives("SELECT $name(" . join(', ', map { $value{$_} } @types) . ') IS NULL', "$function with $bytes");
		like($answer, qr/^t$|^f$|ERROR/, 'is an answer or an error');
	}
}

# A state cannot be had as a value, nor a value taken for one
foreach my $statement (
	"SELECT nw_vote_serialize(nw_vote_accum(NULL, 'a', 1))",
	"SELECT nw_vote_final(nw_vote_accum(NULL, 'a', 1))",
	"SELECT nw_vote_combine(nw_vote_accum(NULL, 'a', 1), nw_vote_accum(NULL, 'b', 2))",
	"SELECT nw_score_final(nw_score_accum(NULL, 'a', 'a', 1, 1, 1))",
	"SELECT nw_score_final(nw_vote_accum(NULL, 'a', 1))",
	"SELECT nw_score_final(nw_score_deserialize(decode(repeat('00', 400), 'hex'), NULL))",
	"SELECT nw_ece_final(nw_vote_accum(NULL, 'a', 1))",
	"SELECT nw_vote_final(nw_ece_accum(NULL, 0.5, true))",
	"SELECT nw_mce_final(nw_ece_deserialize('\\x0001020304'::bytea, NULL))",
	"SELECT nw_vote_final(nw_vote_deserialize('\\x7f7f7f7f'::bytea, NULL))",
	"CREATE TABLE states (s internal)")
{
	like(survives($statement), qr/ERROR/, 'is an error');
}

# Aggregates of somebody's own: PostgreSQL lets a superuser alone use the type
# internal for a state; one that mixes functions of the extension's must not crash.
like($node->safe_psql('postgres', q{
		SET ROLE somebody;
		DO $$ BEGIN
			EXECUTE 'CREATE AGGREGATE mine (text, float8) (SFUNC = nw_vote_accum, STYPE = internal, FINALFUNC = nw_vote_final)';
			RAISE EXCEPTION 'made';
		EXCEPTION WHEN OTHERS THEN
			PERFORM set_config('test.error', SQLERRM, false);
		END $$;
		SELECT current_setting('test.error')}),
	qr/permission denied|unsafe|cannot be|must be/, 'others may not make aggregates with such states');
foreach my $mixed (
	'SFUNC = nw_vote_accum, STYPE = internal, FINALFUNC = nw_argmax_final, FINALFUNC_EXTRA',
	'SFUNC = nw_vote_accum, STYPE = internal, FINALFUNC = nw_vote_final, COMBINEFUNC = nw_vote_combine, SERIALFUNC = nw_vote_serialize, DESERIALFUNC = nw_vote_deserialize, PARALLEL = SAFE',
	'SFUNC = nw_vote_accum, STYPE = internal, FINALFUNC = nw_vote_final, MSFUNC = nw_vote_accum, MINVFUNC = nw_vote_accum, MSTYPE = internal, MFINALFUNC = nw_vote_final')
{
	survives("DROP AGGREGATE IF EXISTS mixed (text, float8); CREATE AGGREGATE mixed (text, float8) ($mixed)", "an aggregate with $mixed");
	survives('SELECT mixed(label, d) FROM numbers');
	survives('SELECT i, mixed(label, d) OVER (ORDER BY i ROWS 3 PRECEDING) FROM numbers WHERE i < 50');
}

# Real states: in parallel, in groups, in windows, empty, and of many labels, against plain SQL
my $vote = q{
	SELECT abs(sum((v.value #>> '{}')::float8) - 1) < 1e-9 AND max(abs((v.value #>> '{}')::float8 - p.p)) < 1e-9 AND count(*) = 5
	  FROM (SELECT nw_vote(label, d, 0.5) AS v FROM numbers) AS t, jsonb_each(v) AS v
	  JOIN (SELECT label, sum(exp(-d / 0.5)) / sum(sum(exp(-d / 0.5))) OVER () AS p FROM numbers GROUP BY label) AS p ON p.label = v.key};
is(survives("SET max_parallel_workers_per_gather = 0; $vote", 'serial'), 't', 'a vote is that of plain SQL');
is(survives("SET debug_parallel_query = on; $vote", 'parallel') =~ /ERROR/ ? survives($vote) : 't', 't', 'in parallel, too');
like(survives("EXPLAIN SELECT nw_vote(label, d, 0.5) FROM numbers"), qr/Partial Aggregate/, 'the plan has states that are sent');
is(survives('SELECT nw_vote(label, d), nw_argmax(label, d), nw_ece(d, true), nw_mce(d, true), nw_score(label, label, d, d, d) FROM numbers WHERE false', 'no rows'), '||||', 'NULL of nothing');
is(survives(q{SELECT count(DISTINCT v) FROM (SELECT nw_vote(label, d) OVER (PARTITION BY label ORDER BY i) AS v FROM numbers) AS t}, 'windows'),
	'5', 'a window over one label has one answer');
is(survives(q{SET work_mem = '64kB'; SELECT count(*) FROM (SELECT i % 700, nw_vote(label, d), nw_ece(d / 5, i % 2 = 0), nw_score(label, i, d / 5, d, d) FROM numbers GROUP BY 1) AS t}, 'many groups, little memory'),
	'700', 'every group has an answer');
is(survives(q{SELECT count(*) FROM jsonb_object_keys((SELECT nw_vote(repeat('x', 100) || i, d) FROM numbers))}, 'long labels'), '2000', 'every label counts');

unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal|leak/, 'no complaint in the log');
$node->stop;
done_testing();
