# One answer to the last digit: whatever the order of rows, the size of a block,
# the engine, the plan, the number of workers, and the C library's arithmetic.
#
# Numbers are compared as text: PostgreSQL prints the shortest digits that no
# other float8 has, so equal text means equal bits.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use NwIndex;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', 'max_worker_processes = 8');
$node->start;
install_helpers($node);

# Rows that are alike but for their ids, weights, labels; ids that are null.  More
# rows than a calibration looks at, and more queries than any block holds.
$node->safe_psql(
	'postgres', q{
	CREATE TABLE all_rows AS
		SELECT CASE WHEN i % 40 <> 7 THEN i END AS id, (i % 7 * 0.3)::text AS label,
			   spot(CASE WHEN i % 10 < 3 THEN i % 50 ELSE i END, i % 7 + (i % 13 = 0)::int, 6, 1.5)::vector(6) AS embedding,
			   1 + i % 5 / 3.0::float8 AS weight, i AS place
		  FROM generate_series(1, 1300) AS i;
	CREATE TABLE all_queries AS
		SELECT i AS id, CASE WHEN i % 50 <> 9 THEN (i % 7 * 0.3)::text END AS label, spot(i + 5000, i % 7 + (i % 9 = 0)::int, 6, 1.5)::vector(6) AS embedding
		  FROM generate_series(1, 400) AS i;
	CREATE TABLE supports (LIKE all_rows);
	CREATE TABLE asked (LIKE all_queries);
	CREATE INDEX supports_nw ON supports USING nw (embedding) INCLUDE (label);

	CREATE FUNCTION fill(seed int) RETURNS void LANGUAGE sql AS $$
		TRUNCATE supports, asked;
		INSERT INTO supports SELECT * FROM all_rows ORDER BY CASE WHEN seed > 0 THEN md5(place || '-' || seed) END, place;
		INSERT INTO asked SELECT * FROM all_queries ORDER BY CASE WHEN seed > 0 THEN md5(id || '+' || seed) END, id;
	$$;
	SELECT fill(0);
	SELECT nw_register('asked', 'asked');
	SELECT nw_register(kernel, 'supports', kernel => kernel, tau => 0.2)
	  FROM unnest('{euclidean,gaussian,hypersphere,cosine,dot}'::text[]) AS kernel;
	SELECT nw_register('weighted', 'supports', weight => 'weight', tau => 0.2);

	-- the rows of a query, in an order of their own
	CREATE FUNCTION bits(command text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		result text;
	BEGIN
		EXECUTE 'SELECT count(*) || '' rows '' || md5(string_agg(r::text, E''\n'' ORDER BY r::text COLLATE "C")) || '' '' || left(min(r::text COLLATE "C"), 150) FROM (' || command || ') AS r' INTO result;
		RETURN command || ': ' || result;
	END
	$$;

	-- answers that need no packed support
	CREATE FUNCTION digits() RETURNS SETOF text LANGUAGE plpgsql AS $$
	DECLARE
		s text;
	BEGIN
		FOREACH s IN ARRAY '{euclidean,gaussian,hypersphere,cosine,dot,weighted}'::text[] LOOP
			RETURN QUERY SELECT bits(format(query, s)) FROM unnest(ARRAY[
				'SELECT * FROM nw_evaluate(%L, ''asked'')',
				'SELECT * FROM nw_confusion(%L, ''asked'')',
				'SELECT * FROM nw_coverage(%L, ''asked'')',
				'SELECT nw_score(truth, label, confidence, loss, brier) FROM nw_predict_set(%L, ''asked'')',
				'SELECT * FROM nw_reliability(%L, ''asked'')',
				'SELECT * FROM nw_predict_set(%L, ''asked'')',
				'SELECT * FROM nw_evaluate(%1$L, %1$L)',
				'SELECT id, nw_classify(embedding, %L), nw_regress(embedding, %1$L) FROM asked WHERE id <= 12',
				'SELECT id, w.* FROM asked, nw_weights(embedding, %L, 8) AS w WHERE id <= 8',
				'SELECT id, p.* FROM asked, nw_predict_proba(embedding, %L) AS p WHERE id <= 8',
				'SELECT id, i.* FROM asked, nw_influence(embedding, ''0.3'', %L, 8) AS i WHERE id <= 8'
			]) AS query;
		END LOOP;
	END
	$$;

	-- answers that need one
	CREATE FUNCTION packed_digits() RETURNS SETOF text LANGUAGE plpgsql AS $$
	DECLARE
		s text;
	BEGIN
		FOREACH s IN ARRAY '{cosine,weighted}'::text[] LOOP
			RETURN QUERY SELECT bits(format(query, s)) FROM unnest(ARRAY[
				'SELECT * FROM nw_temperature_sweep(%L, ''asked'', 0.02, 1, 12)',
				'SELECT * FROM nw_temperature_sweep(%1$L, %1$L, 0.02, 1, 3)',
				'SELECT * FROM nw_calibrate(%L, ''asked'')',
				'SELECT * FROM nw_calibrate(%L, NULL, 0.05, 1, 8)',
				'SELECT nw_alter_set(%L, tau => 0.2, temper => 1)',
				'SELECT * FROM nw_suspects(%L)',
				'SELECT * FROM nw_shapley(%L, ''asked'', 3)',
				'SELECT * FROM nw_shapley(%L, k => 2)',
				'SELECT nw_diagnose(%L, ''asked'', top => 2)',
				'SELECT * FROM nw_suspect_supports WHERE support = %L',
				'SELECT * FROM nw_helpful_supports WHERE support = %L',
				'SELECT * FROM nw_harmful_supports WHERE support = %L',
				'SELECT nw_distill(%L, ''d'', mode => ''cluster'', k => 4, weights => ''members'')',
				'SELECT * FROM nw_prototypes WHERE set = ''d'' AND %L <> ''''',
				'SELECT tau FROM nw_sets WHERE name = ''d'' AND %L <> ''''',
				'SELECT * FROM nw_evaluate(''d'', ''asked'') WHERE %L <> ''''',
				'SELECT nw_distill(%L, ''d'', mode => ''closest'', k => 3)',
				'SELECT * FROM nw_prototypes WHERE set = ''d'' AND %L <> ''''',
				'SELECT tau FROM nw_sets WHERE name = ''d'' AND %L <> '''''
			]) AS query;
		END LOOP;
	END
	$$;

	-- the aggregates
	CREATE FUNCTION aggregates() RETURNS SETOF text LANGUAGE sql AS $$
		SELECT bits(query) FROM unnest(ARRAY[
			'SELECT nw_vote(label, embedding <-> ''[1,0,1,0,0,1]'', 0.2), nw_argmax(label, embedding <-> ''[1,0,1,0,0,1]'', 0.2) FROM supports',
			'SELECT nw_ece(weight / 3, place % 3 = 0), nw_mce(weight / 3, place % 3 = 0) FROM supports',
			'SELECT label, nw_vote(label, embedding <-> ''[1,0,1,0,0,1]'') FROM supports GROUP BY label'
		]) AS query
	$$;
});

my @aggregates;
my @digits;
my @packed;

# Run one of these functions under settings; returns its lines.
sub lines
{
	my ($function, $settings) = @_;
	return split /\n/, $node->safe_psql('postgres', "$settings SET client_min_messages = warning; SELECT $function()");
}

# Compare lines, and name those that differ.
sub same
{
	my ($got, $expected, $name) = @_;
	my @differ = grep { $got->[$_] ne $expected->[$_] } 0 .. $#$expected;
	ok(@$got == @$expected && !@differ, $name);
	diag("$got->[$_]\n  instead of\n$expected->[$_]") foreach @differ;
	return;
}

my $executor = q{SET nwhead.engine = executor;};
my $index = q{SET nwhead.engine = index;};
my $streamed = q{SET nwhead.statement_cache = 0;};
my $small = q{SET nwhead.statement_cache = '64kB';};
my $parallel = q{SET max_parallel_workers_per_gather = 4; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;};

@digits = lines('digits', $executor);
@packed = lines('packed_digits', $executor);
@aggregates = lines('aggregates', '');
is(scalar(@digits), 66, 'answers of six sets');
is(scalar(@packed), 38, 'and of two');
is(scalar(grep { / 0 rows|NaN/ } @digits, @packed), 0, 'none is empty');

same([ lines('digits', "$executor $streamed") ], \@digits, 'streamed');
same([ lines('digits', "$executor $small") ], \@digits, 'streamed where it does not fit');
same([ lines('digits', $index) ], \@digits, 'out of an index');
same([ lines('digits', "$index $streamed") ], \@digits, 'out of an index, streamed');
same([ lines('packed_digits', $index) ], \@packed, 'whole sets out of an index');
same([ lines('aggregates', $parallel) ], \@aggregates, 'in workers');

foreach my $seed (1, 2)
{
	$node->safe_psql('postgres', "SELECT fill($seed)" . ($seed > 1 ? "; REINDEX INDEX supports_nw" : ""));
	same([ lines('digits', $executor) ], \@digits, "order $seed: the same digits");
	same([ lines('digits', "$executor $streamed") ], \@digits, 'streamed');
	same([ lines('digits', $index) ], \@digits, 'out of an index');
	same([ lines('packed_digits', $executor) ], \@packed, 'whole sets');
	same([ lines('aggregates', '') ], \@aggregates, 'aggregates');
	same([ lines('aggregates', $parallel) ], \@aggregates, 'aggregates in workers');
}

# glibc chooses its logarithms and exponentials by what the processor can do; as if
# it could do less, here
$node->stop;
$ENV{GLIBC_TUNABLES} = 'glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX2_Usable,-FMA_Usable,-FMA4_Usable';
$node->start;
same([ lines('digits', $executor) ], \@digits, 'with other arithmetic in the C library');
same([ lines('packed_digits', $executor) ], \@packed, 'whole sets');
same([ lines('aggregates', '') ], \@aggregates, 'aggregates');

$node->stop;
done_testing();
