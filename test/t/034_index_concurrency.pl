# The nw index with readers, writers, VACUUM and REINDEX CONCURRENTLY at once:
# each reader compares both engines under one snapshot.
#
#   NW_SOAK_SECONDS   for how long
use strict;
use warnings;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use NwIndex;

my $seconds = $ENV{NW_SOAK_SECONDS} // 40;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\ndeadlock_timeout = 100ms\nlog_statement = none\nmax_wal_size = 1GB");
$node->start;
install_helpers($node);
$node->safe_psql(
	'postgres', q{
	CREATE SEQUENCE ids;
	CREATE SEQUENCE by_index;
	CREATE SEQUENCE by_executor;
	CREATE TABLE rows (id int DEFAULT nextval('ids'), embedding vector(20), label text, note text) WITH (fillfactor = 80);
	INSERT INTO rows (embedding, label) SELECT spot(i, i % 6, 20, 1), 'c' || i % 6 FROM generate_series(1, 2000) AS i;
	CREATE INDEX rows_nw ON rows USING nw (embedding) INCLUDE (label);
	SELECT nw_register('s ' || k, 'rows', kernel => k, tau => 0.05) FROM unnest('{euclidean,gaussian,cosine}'::text[]) AS k;
	-- ask one question of both engines, to be called in REPEATABLE READ
	CREATE FUNCTION agree(s text, q vector) RETURNS text LANGUAGE plpgsql SET nwhead.statement_cache = 0 AS $$
	DECLARE
		answer text[];
		engine text;
	BEGIN
		IF current_setting('transaction_isolation') <> 'repeatable read' THEN
			RAISE 'not under one snapshot';
		END IF;
		FOR i IN 1 .. 2 LOOP
			PERFORM set_config('nwhead.engine', (ARRAY['index', 'executor'])[i], true);
			answer[i] := concat_ws(E'\n', nw_predict(q, s),
				(SELECT string_agg(p::text, ' ') FROM nw_predict_proba(q, s) AS p),
				(SELECT string_agg(w::text, ' ') FROM nw_weights(q, s, 5) AS w));
			IF i = 1 THEN
				SELECT w.engine INTO engine FROM nw_index_work(q, s) AS w;
				IF engine = 'index' THEN
					PERFORM nextval('by_index');
				ELSE
					PERFORM nextval('by_executor');
				END IF;
			END IF;
		END LOOP;
		RESET nwhead.engine;
		IF answer[1] IS DISTINCT FROM answer[2] THEN
			RAISE 'engines disagree: %', format(E'set %s, query %s, snapshot %s\n%s\n%s', s, q, pg_current_snapshot(), answer[1], answer[2]);
		END IF;
		RETURN md5(answer[1]);
	END
	$$;
	CREATE TABLE queries (id int, e vector(20));
	INSERT INTO queries SELECT i, spot(i + 9000, i % 6, 20, 1) FROM generate_series(1, 3) AS i;
});

my %script = (
	read => q{
		\set k random(1, 1000000)
		BEGIN ISOLATION LEVEL REPEATABLE READ;
		SELECT agree('s euclidean', spot(:k, :k % 9, 20, 1));
		SELECT agree('s cosine', spot(:k, :k % 9, 20, 1));
		COMMIT;},
	# a snapshot that grows old meanwhile
	linger => q{
		\set k random(1, 1000000)
		BEGIN ISOLATION LEVEL REPEATABLE READ;
		SELECT agree('s gaussian', spot(:k, :k % 9, 20, 1)) AS first \gset
		\sleep 300 ms
		SELECT agree('s euclidean', spot(:k + 1, :k % 9, 20, 1));
		SELECT 1 / (agree('s gaussian', spot(:k, :k % 9, 20, 1)) = ':first')::int;
		COMMIT;},
	# one's own changes, some of them undone
	own => q{
		\set k random(1, 1000000)
		BEGIN ISOLATION LEVEL REPEATABLE READ;
		INSERT INTO rows (embedding, label) SELECT spot(:k + i, i, 20, 1), 'own' || i FROM generate_series(1, 4) AS i;
		SELECT agree('s euclidean', spot(:k, 2, 20, 1));
		SAVEPOINT a;
		INSERT INTO rows (embedding, label) VALUES (spot(:k, 2, 20, 1), 'undone');
		SELECT agree('s euclidean', spot(:k, 2, 20, 1));
		ROLLBACK TO a;
		SELECT agree('s euclidean', spot(:k, 2, 20, 1));
		COMMIT;},
	insert => q{
		\set n random(1, 20)
		\set k random(1, 1000000)
		INSERT INTO rows (embedding, label) SELECT spot(:k + i, (:k + i) % 6, 20, 1), 'c' || (:k + i) % 6 FROM generate_series(1, :n) AS i;},
	newcomer => q{
		\set k random(1, 300)
		INSERT INTO rows (embedding, label) VALUES (spot(:k, :k, 20, 1), 'new' || :k);},
	update => q{
		\set k random(0, 60)
		UPDATE rows SET embedding = spot(id + :k, id % 7, 20, 1), label = 'c' || id % 7 WHERE id % 61 = :k;},
	hot => q{
		\set k random(0, 30)
		UPDATE rows SET note = 'x' WHERE id % 31 = :k;},
	delete => q{
		\set k random(0, 30)
		DELETE FROM rows WHERE id % 31 = :k;},
	vacuum => q{
		VACUUM rows;
		\sleep 50 ms},
	reindex => q{
		REINDEX INDEX CONCURRENTLY rows_nw;
		\sleep 500 ms});

# Start clients that run some of the scripts, at most so many a second, until the
# time is up.
sub start_clients
{
	my ($clients, $rate, %weight) = @_;
	my %job = (out => '', err => '');
	my @options;
	foreach my $name (sort keys %weight)
	{
		my $file = $node->basedir . "/$name.sql";
		append_to_file($file, $script{$name} . "\n") if !-e $file;
		push @options, '-f', "$file\@$weight{$name}";
	}
	$job{run} = IPC::Run::start(
		[ 'pgbench', '-n', '-c', $clients, '-T', $seconds, '--max-tries=20', ($rate ? ('-R', $rate) : ()), @options, $node->connstr('postgres') ],
		'<', \undef, '>', \$job{out}, '2>', \$job{err});
	return \%job;
}

my %job = (
	readers => start_clients(2, 0, read => 4, linger => 1, own => 1),
	writers => start_clients(2, 300, insert => 8, newcomer => 2, update => 3, hot => 2, delete => 3),
	vacuum => start_clients(1, 0, vacuum => 1),
	reindex => start_clients(1, 0, reindex => 1));
foreach my $name (sort keys %job)
{
	ok($job{$name}{run}->finish, "$name: no mismatch and no error") or diag(substr($job{$name}{err}, 0, 4000));
	my ($done) = $job{$name}{out} =~ /number of transactions actually processed: (\d+)/;
	note("$name: $done transactions");
	cmp_ok($done, '>', 0, "$name: did something");
}
my ($index, $executor) = split /\|/, $node->safe_psql('postgres',
	'SELECT (SELECT last_value FROM by_index), (SELECT last_value FROM by_executor)');
note("$index questions answered by the index, $executor by the executor");
cmp_ok($index, '>', 100 * ($executor - 1), 'the index answered nearly always');
is( $node->safe_psql('postgres', "SELECT nw_check_index('rows_nw') >= count(*), differences('s euclidean'), engines('s euclidean') FROM rows"),
	't|0|index', 'sound in the end');
$node->safe_psql('postgres', 'VACUUM rows');
is($node->safe_psql('postgres', "SELECT nw_check_index('rows_nw') = count(*) FROM rows"), 't', 'and after a last VACUUM');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal/, 'no process crashed');
$node->stop;
done_testing();
