# Classes of the nw index: many at once, by many at once, killed in the middle,
# on a standby, and damaged.
#
#   NW_CLASS_ROUNDS    how many times the server is killed
#   NW_CLASS_SECONDS   how long readers and writers meet
use strict;
use warnings;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);
use NwIndex;

my $rounds = $ENV{NW_CLASS_ROUNDS} // 6;
my $seconds = $ENV{NW_CLASS_SECONDS} // 8;

my $node = PostgreSQL::Test::Cluster->new('main');
init_unchecked($node, allows_streaming => 1);
$node->append_conf('postgresql.conf', "autovacuum = off\nmax_wal_size = 1GB\nrestart_after_crash = off\ndeadlock_timeout = 100ms");
$node->start;
install_helpers($node);
$node->safe_psql(
	'postgres', q{
	CREATE TABLE rows (id bigserial, embedding vector(3), label text);
	CREATE INDEX rows_nw ON rows USING nw (embedding) INCLUDE (label);
	SELECT nw_register('s', 'rows', tau => 0.2);
	CREATE TABLE queries (id int, e vector(3));
	INSERT INTO queries SELECT i, spot(i + 9000, i, 3, 5) FROM generate_series(1, 3) AS i;
	-- ask both engines under one snapshot
	CREATE FUNCTION agree(q vector) RETURNS void LANGUAGE plpgsql SET nwhead.statement_cache = 0 AS $$
	DECLARE
		executor text;
		index text;
	BEGIN
		SET LOCAL nwhead.engine = executor;
		executor := nw_predict(q, 's');
		SET LOCAL nwhead.engine = index;
		index := nw_predict(q, 's');
		IF executor IS DISTINCT FROM index THEN
			RAISE 'engines disagree about %: %, %', q, executor, index;
		END IF;
	END
	$$;
	INSERT INTO rows (embedding, label) VALUES ('[0,0,0]', 'first');
});

# What clients do: new classes of their own, new ones that others add as well,
# known ones; and readers that look on
my %script = (
	new => q{
		\set k random(1, 1000000000)
		INSERT INTO rows (embedding, label) SELECT spot(i, :k % 1000, 3, 5), 'c' || :k || ' ' || i FROM generate_series(1, 60) AS i;},
	shared => q{
		\set k random(1, 400)
		INSERT INTO rows (embedding, label) SELECT spot(i, :k, 3, 5), 'shared ' || (:k + i) FROM generate_series(1, 20) AS i;},
	rollback => q{
		\set k random(1, 1000000000)
		BEGIN;
		INSERT INTO rows (embedding, label) VALUES (spot(:k, 1, 3, 5), 'undone ' || :k);
		ROLLBACK;},
	read => q{
		\set k random(1, 1000000)
		BEGIN ISOLATION LEVEL REPEATABLE READ;
		SELECT agree(spot(:k, :k % 1000, 3, 5));
		COMMIT;},
	bulky => q{
		\set k random(1, 1000000)
		\set empty random(1, 100)
		INSERT INTO bulky VALUES ('[1]', repeat('x', 1900) || :k);
		\if :empty = 1
		TRUNCATE bulky;
		\endif
		},
	lists => q{
		SELECT count(*) FROM nw_index_lists('bulky_nw');},
	vacuum => q{
		DELETE FROM rows WHERE id % 97 = 1 AND label <> 'first';
		VACUUM rows;
		\sleep 200 ms});

# Start clients that run some of the scripts.
sub start_clients
{
	my ($clients, $time, %weight) = @_;
	my %job = (out => '', err => '');
	my @options;
	foreach my $name (sort keys %weight)
	{
		my $file = $node->basedir . "/$name.sql";
		append_to_file($file, $script{$name} . "\n") if !-e $file;
		push @options, '-f', "$file\@$weight{$name}";
	}
	$job{run} = IPC::Run::start(
		[ 'pgbench', '-n', '-c', $clients, '-T', $time, @options, $node->connstr('postgres') ],
		'<', \undef, '>', \$job{out}, '2>', \$job{err});
	return \%job;
}

my $sound = q{SELECT nw_check_index('rows_nw') >= count(*), (SELECT classes FROM nw_index_health('rows_nw')) >= count(DISTINCT label), differences('s'), engines('s') FROM rows};

# ---- writers and readers at once
my %job = (
	writers => start_clients(4, $seconds, new => 3, shared => 3, rollback => 1),
	readers => start_clients(2, $seconds, read => 1),
	vacuum => start_clients(1, $seconds, vacuum => 1));
foreach my $name (sort keys %job)
{
	ok($job{$name}{run}->finish, "$name: no mismatch and no error") or diag(substr($job{$name}{err}, 0, 4000));
	my ($done) = $job{$name}{out} =~ /number of transactions actually processed: (\d+)/;
	note("$name: $done transactions");
}
is($node->safe_psql('postgres', $sound), 't|t|0|index', 'sound afterwards');
cmp_ok($node->safe_psql('postgres', q{SELECT classes FROM nw_index_health('rows_nw')}), '>', 2500, 'trees of several levels');

# ---- pages of labels that come behind the last one while a reader is there
$node->safe_psql('postgres', q{
	CREATE TABLE bulky (embedding vector(1), label text);
	CREATE INDEX bulky_nw ON bulky USING nw (embedding) INCLUDE (label)});
%job = (writers => start_clients(2, $seconds, bulky => 1), readers => start_clients(2, $seconds, lists => 1));
for (my $start = time; time - $start < $seconds - 1;)
{
	# readers that often stand still meet what happens in between
	my @readers = split /\n/, $node->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE query LIKE '%bulky\_nw%' AND pid <> pg_backend_pid()});
	foreach (1 .. 50)
	{
		kill 'STOP', @readers if @readers;
		select(undef, undef, undef, 0.01);
		kill 'CONT', @readers if @readers;
		select(undef, undef, undef, 0.003);
	}
}
foreach my $name (sort keys %job)
{
	ok($job{$name}{run}->finish, "pages of labels: $name") or diag(substr($job{$name}{err}, 0, 1000));
}

is( $node->safe_psql('postgres', q{
	BEGIN;
	INSERT INTO rows (embedding, label) VALUES ('[0,0,0]', 'brand new');
	SELECT count(*) FROM pg_locks WHERE locktype = 'page';
	ROLLBACK;}), '0', 'who adds a class holds up others until it is there, not longer');

# ---- a standby
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
my $load = start_clients(2, 3, new => 2, shared => 1);
for (1 .. 5)
{
	my $answer = $standby->safe_psql('postgres', q{
		BEGIN ISOLATION LEVEL REPEATABLE READ;
		SELECT agree(e) IS NULL FROM queries LIMIT 1;
		COMMIT;});
	note("standby: $answer");
}
ok($load->{run}->finish, 'writers while a standby follows') or diag($load->{err});
$node->wait_for_catchup($standby);
is($standby->safe_psql('postgres', q{SELECT nw_check_index('rows_nw') > 0, (SELECT classes FROM nw_index_health('rows_nw')), differences('s')}),
	$node->safe_psql('postgres', q{SELECT nw_check_index('rows_nw') > 0, (SELECT classes FROM nw_index_health('rows_nw')), differences('s')}),
	'the standby has the same classes');
$standby->stop;

# ---- killed in the middle
foreach my $round (1 .. $rounds)
{
	my $clients = start_clients(4, 60, new => 3, shared => 2, rollback => 1);
	sleep 0.3 + rand 0.7;
	$node->safe_psql('postgres', 'CHECKPOINT') if $round % 2;
	my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	kill 'STOP', $postmaster;
	my @children = split ' ', slurp_file("/proc/$postmaster/task/$postmaster/children");
	kill 'KILL', $postmaster, @children;
	foreach my $pid ($postmaster, @children)
	{
		while (open(my $stat, '<', "/proc/$pid/stat"))
		{
			my $line = <$stat>;
			close $stat;
			last if !defined $line || $line =~ /\) [ZX] /;
			sleep 0.01;
		}
	}
	unlink $node->data_dir . '/postmaster.pid', $node->host . '/.s.PGSQL.' . $node->port . '.lock';
	$node->{_pid} = undef;
	$clients->{run}->finish;
	$node->start;
	is($node->safe_psql('postgres', $sound), 't|t|0|index', "round $round: sound");
}
$node->safe_psql('postgres', 'REINDEX INDEX CONCURRENTLY rows_nw');
is($node->safe_psql('postgres', $sound), 't|t|0|index', 'and made anew');

# ---- damage

# Change bytes of an index, by block and place, while the server is down.
sub damage
{
	my ($path, $kind, $change) = @_;
	$node->stop;
	my $file = $node->data_dir . "/$path";
	my $data = slurp_file($file);
	my $done = 0;
	foreach my $block (0 .. length($data) / BLOCK - 1)
	{
		my ($found, $magic) = unpack('vv', substr($data, $block * BLOCK + TAIL + 4, 4));
		next if $magic != 0x4e57 || $found != $kind;
		my $page = substr($data, $block * BLOCK, BLOCK);
		$done += $change->(\$page, $block) ? 1 : 0;
		substr($data, $block * BLOCK, BLOCK) = $page;
	}
	open(my $handle, '+<:raw', $file) or die "could not open $file: $!";
	syswrite($handle, $data);
	close $handle;
	$node->start;
	return $done;
}

# A label of bytes that its type's output function would choke on
$node->safe_psql(
	'postgres', q{
	CREATE TABLE arrays (id int, embedding vector(3), label int[]);
	INSERT INTO arrays SELECT i, spot(i, i % 7, 3, 1), ARRAY[i % 7, 3, NULL] FROM generate_series(1, 100) AS i;
	CREATE INDEX arrays_nw ON arrays USING nw (embedding) INCLUDE (label);
	SELECT nw_register('arrays', 'arrays');
	CHECKPOINT;});
my $path = $node->safe_psql('postgres', q{SELECT pg_relation_filepath('arrays_nw')});
my $changed = damage($path, $LABELS, sub {
	my ($page) = @_;
	my $place = HEADER + unpack('v', substr($$page, HEADER + 8, 2)) + 20;
	# dimensions, flags and lengths of the array
	substr($$page, $place + $_, 1) = chr(ord(substr($$page, $place + $_, 1)) ^ 0x70) foreach 0 .. 15;
	return 1;
});
is($changed, 1, 'labels were damaged');
foreach my $call ('nw_predict_proba', 'nw_predict')
{
	my ($ret, $stdout, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\nSET nwhead.engine = index; SELECT $call('[0,0,0]', 'arrays')");
	like($stderr, qr/XX002: index "arrays_nw" has a damaged label at block \d+\n.*REINDEX/s, "$call: a damaged label is found before its type sees it");
}
is($node->psql('postgres', q{INSERT INTO arrays VALUES (0, '[0,0,0]', ARRAY[2, 3, NULL])}), 0, 'rows of other labels can be added');

# Trees that lead back to themselves; long labels make for many pages of them
$node->safe_psql(
	'postgres', q{
	CREATE TABLE long (id int, embedding vector(3), label text);
	INSERT INTO long SELECT i, spot(i, i % 7, 3, 1), rpad(i::text, 1990, 'x') FROM generate_series(1, 3300) AS i;
	CREATE INDEX long_nw ON long USING nw (embedding) INCLUDE (label);
	SELECT nw_register('long', 'long');
	CHECKPOINT;});
$path = $node->safe_psql('postgres', q{SELECT pg_relation_filepath('long_nw')});
$changed = damage($path, $TREE, sub {
	my ($page, $block) = @_;
	my ($level, $n) = unpack('vv', substr($$page, HEADER, 4));
	return 0 if $level == 0;
	# children come behind the keys of a full page
	my $children = HEADER + 8 + 8 * int((TAIL - HEADER - 8) / 12);
	substr($$page, $children + 4 * $_, 4) = pack('V', $block) foreach 0 .. $n - 1;
	return 1;
});
is($changed, 2, 'both trees were damaged');
foreach my $statement ("SET nwhead.engine = index; SELECT nw_predict_proba('[0,0,0]', 'long')",
	"SET nwhead.engine = index; SELECT nw_predict('[0,0,0]', 'long')",
	"INSERT INTO long VALUES (0, '[0,0,0]', 'brand new')",
	"SELECT nw_check_index('long_nw')")
{
	my ($ret, $stdout, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\nSET statement_timeout = '20s'; $statement");
	like($stderr, qr/XX002: .*REINDEX/s, "found: $statement");
}
is($node->safe_psql('postgres', q{REINDEX INDEX long_nw; SELECT nw_check_index('long_nw'), differences('long')}), '3300|0', 'REINDEX mends');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal/, 'no process crashed by itself');
$node->stop;
done_testing();
