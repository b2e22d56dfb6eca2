# What the tests of the nw index share: ask both engines, and compare.
package NwIndex;
use strict;
use warnings;
use Exporter 'import';

our @EXPORT = qw(init_unchecked install_helpers read_file BLOCK HEADER TAIL $META $LABELS $LISTS $CENTRES $CODES $VECTORS $TREE);

# A page: its size, where its content begins, where what all pages end with does
use constant { BLOCK => 8192, HEADER => 24, TAIL => 8184 };

# The kinds of pages, as src/index/page.h numbers them
our ($META, $LABELS, $LISTS, $CENTRES, $CODES, $VECTORS, $TREE) = (1 .. 7);

# Read all bytes of a file.
sub read_file
{
	my ($file) = @_;
	open(my $handle, '<:raw', $file) or die "could not open $file: $!";
	local $/ = undef;
	my $content = <$handle>;
	close $handle;
	return $content;
}

# Make a cluster that does not check pages itself, as clusters do of their own accord
# since 18: what nwhead makes of damage is the test.
sub init_unchecked
{
	my ($node, %params) = @_;
	$params{extra} = ['--no-data-checksums'] if $node->pg_version >= 18;
	$node->init(%params);
	return;
}

# Create the extension, and functions that ask a set everything by one engine or
# by both.  Queries are rows of a table "queries" (id, e).
#
#   number(i, j), spot(i, class, dim, noise)   made-up vectors, the same each time
#   answers(set, engine [, n])   text of all answers to n queries, or of an error
#   differences(set)             how many of the queries the engines disagree about
#   engines(set)                 the engine that answers when the index is wanted
sub install_helpers
{
	my ($node) = @_;
	$node->safe_psql(
		'postgres', q{
		CREATE EXTENSION nwhead CASCADE;
		CREATE FUNCTION number(i int, j int) RETURNS float8 LANGUAGE sql IMMUTABLE AS
		$$ SELECT ((i::bigint * 7919 + j::bigint * 104729 + i::bigint * j * 613) % 1000003 * 2654435761 % 1000003) / 1000003.0 - 0.5 $$;
		CREATE FUNCTION spot(i int, class int, dim int, noise float8) RETURNS vector LANGUAGE sql IMMUTABLE AS
		$$ SELECT array_agg((number(class, j) + noise * number(i + 1000, j))::float4 ORDER BY j)::vector FROM generate_series(1, dim) AS j $$;
		CREATE FUNCTION answers(s text, engine text, n int DEFAULT 3) RETURNS SETOF text LANGUAGE plpgsql AS $$
		DECLARE
			q text;
			call text;
			answer text;
		BEGIN
			PERFORM set_config('nwhead.engine', engine, true), set_config('nwhead.statement_cache', '0', true);
			FOR q IN SELECT e FROM queries ORDER BY id LIMIT n LOOP
				FOREACH call IN ARRAY ARRAY['nw_predict(%L, %L)', 'nw_predict_proba(%L, %L)', 'nw_weights(%L, %L, 4)'] LOOP
					BEGIN
						EXECUTE 'SELECT string_agg(r::text, E''\n'') FROM (SELECT * FROM ' || format(call, q, s) || ') AS r' INTO answer;
					EXCEPTION WHEN no_data_found OR object_not_in_prerequisite_state OR data_exception THEN
						answer := SQLSTATE || ' ' || SQLERRM;
					END;
					RETURN NEXT call || ': ' || answer;
				END LOOP;
			END LOOP;
			RESET nwhead.engine;
			RESET nwhead.statement_cache;
		END
		$$;
		CREATE FUNCTION differences(s text, n int DEFAULT 3) RETURNS bigint LANGUAGE sql AS $$
			SELECT count(*) FILTER (WHERE a IS DISTINCT FROM b) + 1000 * (count(a) = 0)::int FROM ROWS FROM (answers(s, 'executor', n), answers(s, 'index', n)) AS t (a, b)
		$$;
		CREATE FUNCTION engines(s text) RETURNS text LANGUAGE plpgsql SET nwhead.engine = index AS $$
		BEGIN
			RETURN (SELECT string_agg(DISTINCT w.engine, ' ') FROM queries AS q, nw_index_work(q.e, s) AS w);
		END
		$$;
	});
	return;
}

1;
