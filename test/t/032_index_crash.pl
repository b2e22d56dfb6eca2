# The nw index after kill -9 of the whole server, at random moments of writing.
#
#   NW_CRASH_ROUNDS   how many times
#   NW_CRASH_SEED     the random moments
use strict;
use warnings;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);
use NwIndex;

my $rounds = $ENV{NW_CRASH_ROUNDS} // 50;
my $seed = $ENV{NW_CRASH_SEED} // time;
note("seed $seed");
srand($seed);

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf(
	'postgresql.conf', q{
	autovacuum = off
	max_prepared_transactions = 10
	min_wal_size = 32MB
	max_wal_size = 64MB
	restart_after_crash = off
});
$node->start;
install_helpers($node);
$node->safe_psql(
	'postgres', q{
	CREATE SEQUENCE ids;
	CREATE TABLE rows (id int DEFAULT nextval('ids'), embedding vector(24), label text, note text) WITH (fillfactor = 80);
	INSERT INTO rows (embedding, label) SELECT spot(i, i % 6, 24, 1), 'c' || i % 6 FROM generate_series(1, 1500) AS i;
	CREATE INDEX rows_nw ON rows USING nw (embedding) INCLUDE (label);
	SELECT nw_register('s', 'rows', tau => 0.05);
	CREATE TABLE wide (id int DEFAULT nextval('ids'), embedding vector(8000), label text);
	INSERT INTO wide (embedding, label) SELECT array_fill(i, ARRAY[8000])::vector, 'w' || i % 3 FROM generate_series(1, 200) AS i;
	CREATE INDEX wide_nw ON wide USING nw (embedding) INCLUDE (label);
	SELECT nw_register('wide', 'wide', tau => 1);
	CREATE TABLE queries (id int, e vector(24));
	INSERT INTO queries SELECT i, spot(i + 9000, i % 6, 24, 1) FROM generate_series(1, 3) AS i;
});

# What clients do all the time, and how often
my %script = (
	insert => [ 8, q{
		\set n random(1, 20)
		\set k random(1, 1000000)
		INSERT INTO rows (embedding, label) SELECT spot(:k + i, (:k + i) % 6, 24, 1), 'c' || (:k + i) % 6 FROM generate_series(1, :n) AS i;} ],
	newcomer => [ 3, q{
		\set k random(1, 400)
		INSERT INTO rows (embedding, label) VALUES (spot(:k, :k, 24, 1), 'new' || :k);} ],
	update => [ 4, q{
		\set k random(0, 60)
		UPDATE rows SET embedding = spot(id + :k, id % 7, 24, 1), label = 'c' || id % 7 WHERE id % 61 = :k;} ],
	hot => [ 2, q{
		\set k random(0, 30)
		UPDATE rows SET note = 'x' WHERE id % 31 = :k;} ],
	delete => [ 3, q{
		\set k random(0, 18)
		DELETE FROM rows WHERE id % 19 = :k;} ],
	rollback => [ 2, q{
		\set k random(1, 1000000)
		BEGIN;
		INSERT INTO rows (embedding, label) SELECT spot(:k + i, 1, 24, 1), 'c1' FROM generate_series(1, 10) AS i;
		INSERT INTO rows (embedding, label) VALUES (spot(:k, 1, 24, 1), 'never' || :k);
		ROLLBACK;} ],
	wide => [ 3, q{
		\set k random(1, 200)
		INSERT INTO wide (embedding, label) VALUES (array_fill(:k, ARRAY[8000])::vector, 'w' || :k % 5);} ],
	narrow => [ 1, q{
		\set k random(0, 8)
		DELETE FROM wide WHERE id % 9 = :k;} ],
	vacuum => [ 2, 'VACUUM rows, wide;' ],
	predict => [ 4, q{
		SET nwhead.engine = index;
		SELECT nw_predict(e, 's') FROM queries;
		SELECT count(*) FROM queries, nw_weights(e, 's');} ],
	checkpoint => [ 1, 'CHECKPOINT;' ],
	reindex => [ 1, 'REINDEX INDEX rows_nw;' ]);
my @options;
foreach my $name (sort keys %script)
{
	my $file = $node->basedir . "/$name.sql";
	append_to_file($file, $script{$name}[1] . "\n");
	push @options, '-f', "$file\@$script{$name}[0]";
}

# Say whether a process is there, and not just a name on a list of the dead.
sub is_running
{
	my ($pid) = @_;
	open(my $stat, '<', "/proc/$pid/stat") or return 0;
	my $line = <$stat>;
	close $stat;
	return defined $line && $line !~ /\) [ZX] /;
}

# Kill the server and everything it started; nothing may end in order.
sub kill_server
{
	my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	kill 'STOP', $postmaster;
	my @children = split ' ', slurp_file("/proc/$postmaster/task/$postmaster/children");
	kill 'KILL', $postmaster, @children;
	foreach my $pid ($postmaster, @children)
	{
		sleep 0.01 while is_running($pid);
	}
	# it may stay on the list for a while, which would hold up the next start
	unlink $node->data_dir . '/postmaster.pid', $node->host . '/.s.PGSQL.' . $node->port . '.lock';
	$node->{_pid} = undef;
	return;
}

my $bad = 0;
my $changes = 0;
foreach my $round (1 .. $rounds)
{
	my $before = $node->safe_psql('postgres', 'SELECT last_value FROM ids');
	my ($out, $err) = ('', '');
	my $load = IPC::Run::start(
		[ 'pgbench', '-n', '-c', '4', '-j', '2', '-T', '60', '--max-tries=1', "--random-seed=$round$seed", @options, $node->connstr('postgres') ],
		'<', \undef, '>', \$out, '2>', \$err);
	sleep 0.2 + rand 1.3;
	kill_server();
	$load->finish;
	$node->start;

	# queries of the one set are of no use to the other
	my $answer = $node->safe_psql(
		'postgres', q{
		SELECT nw_check_index('rows_nw') > 0, nw_check_index('wide_nw') >= 0, differences('s'), engines('s');
		SET nwhead.statement_cache = 0;
		SET nwhead.engine = executor;
		SELECT md5(string_agg(p::text, '')) AS executor FROM nw_predict_proba(array_fill(17, ARRAY[8000])::vector, 'wide') AS p \gset
		SET nwhead.engine = index;
		SELECT md5(string_agg(p::text, '')) = :'executor' FROM nw_predict_proba(array_fill(17, ARRAY[8000])::vector, 'wide') AS p;
		SELECT last_value FROM ids;});
	my ($checks, $wide, $after) = split /\n/, $answer;
	$changes += $after > $before;
	$bad++ if !is("$checks $wide", 't|t|0|index t', "round $round");
	diag("seed $seed\n$err") if $bad == 1;
}
cmp_ok($changes, '>', $rounds / 2, 'there was something to lose');

# A last look after an orderly restart, and room for more
$node->restart;
$node->safe_psql('postgres', 'DELETE FROM rows WHERE id % 2 = 0');
$node->safe_psql('postgres', 'VACUUM rows, wide');
is($node->safe_psql('postgres', "SELECT nw_check_index('rows_nw') = count(*), differences('s') FROM rows"), 't|0', 'in the end');
my $log = slurp_file($node->logfile);
unlike($log, qr/PANIC|TRAP|signal 11|signal 6/, 'no process crashed by itself');
$node->stop;
done_testing();
