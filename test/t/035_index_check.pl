# nw_check_index finds what a flipped byte breaks, in every kind of page.
#
# Tables filled alike have indexes that are alike to the byte, so each of many
# gets its own damage, all in one stop of the server.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use NwIndex;

use constant { DIM => 64 };
my %name = ($META => 'meta', $LABELS => 'labels', $LISTS => 'lists', $CENTRES => 'centres', $CODES => 'codes', $VECTORS => 'vectors', $TREE => 'tree');

my $random = $ENV{NW_CHECK_FLIPS} // 60;
my $seed = $ENV{NW_CHECK_SEED} // 35;
srand($seed);

my $node = PostgreSQL::Test::Cluster->new('main');
init_unchecked($node);
$node->append_conf('postgresql.conf', "autovacuum = off\nstatement_timeout = 60s\nrestart_after_crash = on");
$node->start;
install_helpers($node);
$node->safe_psql(
	'postgres', q{
	CREATE TABLE model (id int, embedding vector(64), label text);
	INSERT INTO model SELECT i, spot(i, i % 3, 64, 1), (ARRAY['alpha', 'beta', 'gamma'])[i % 3 + 1] FROM generate_series(1, 700) AS i;
	INSERT INTO model SELECT i, spot(i, 7, 64, 1), 'small' FROM generate_series(701, 720) AS i;
	CREATE TABLE queries (id int, e vector(64));
	INSERT INTO queries SELECT i, spot(i + 9000, i % 3, 64, 1) FROM generate_series(1, 3) AS i;
	-- lists of several pages, free slots, and a class that came later
	CREATE PROCEDURE make(n int) LANGUAGE plpgsql AS $$
	BEGIN
		EXECUTE format('CREATE TABLE t%1$s (LIKE model)', n);
		EXECUTE format('INSERT INTO t%1$s TABLE model', n);
		EXECUTE format('CREATE INDEX t%1$s_nw ON t%1$s USING nw (embedding) INCLUDE (label) WITH (lists = 2)', n);
		EXECUTE format('INSERT INTO t%1$s SELECT id + 1000, embedding, ''delta'' FROM model WHERE id <= 30', n);
		EXECUTE format('DELETE FROM t%1$s WHERE id %% 10 = 0', n);
		PERFORM nw_register('t' || n, ('t' || n)::regclass, tau => 0.2);
	END
	$$;
});

# ---- places

# A block of the file of the first index that is of a kind: the nth
my ($data, $heap);
my @blocks;

sub block
{
	my ($kind, $nth) = @_;
	return $blocks[$kind][ $nth // 0 ] * BLOCK;
}

# A place of a slot on a page of codes, as src/index/page.c lays it out
sub slot_place
{
	my ($array, $slot) = @_;
	my $head = 40;
	my $slots = int((TAIL - HEADER - $head - 4) / (DIM + 26));
	my $at = HEADER + $head;
	my %place = (code => [ $at, DIM ]);
	$at = int(($at + $slots * DIM + 3) / 4) * 4;
	foreach my $name ('scale', 'error', 'sqnorm', 'norm', 'class')
	{
		$place{$name} = [ $at, 4 ];
		$at += 4 * $slots;
	}
	$place{tid} = [ $at, 6 ];
	return $place{$array}[0] + $slot * $place{$array}[1];
}

# The first slot from one on that has a row: which ones are free differs from server to
# server
sub used_slot
{
	my ($page, $slot) = @_;
	$slot++ while unpack('v', substr($data, $page + slot_place('tid', $slot) + 4, 2)) == 0;
	return $slot;
}

# The item of a class on the first page of labels
sub label_place
{
	my ($class) = @_;
	return block($LABELS) + HEADER + unpack('v', substr($data, block($LABELS) + HEADER + 8 + 2 * $class, 2));
}

# ---- kinds of damage: [name, file, place, old byte -> new byte]

# Change bits of a byte; set a byte
sub flip { my ($bits) = @_; return sub { return $_[0] ^ $bits } }
sub set { my ($byte) = @_; return sub { return $byte } }

my @damage;

sub damage
{
	my ($name, $place, $change, $file) = @_;
	push @damage, { name => $name, place => $place, change => $change, file => $file // 'index' };
	return;
}

sub plan_damage
{
	foreach my $kind ($META .. $TREE)
	{
		my $page = block($kind);
		damage("$name{$kind}: position in the log", $page + 3, flip(0x40));
		damage("$name{$kind}: flags", $page + 10, flip(0x01));
		damage("$name{$kind}: lower end", $page + 12, flip(0x04));
		damage("$name{$kind}: upper end", $page + 14, flip(0x08));
		damage("$name{$kind}: beginning of the tail", $page + 17, flip(0x01));
		damage("$name{$kind}: version", $page + 18, flip(0x01));
		damage("$name{$kind}: oldest transaction", $page + 20, flip(0x01));
		damage("$name{$kind}: next page", $page + TAIL, flip(0x01));
		damage("$name{$kind}: kind", $page + TAIL + 4, flip(0x02));
		damage("$name{$kind}: magic", $page + TAIL + 6, flip(0x80));
	}
	my $at = 0;
	foreach my $field ('magic', 'version', 'dimensions', 'type', 'lists', 'classes by label', 'labels by class', 'first lists', 'first centres', 'nothing', 'rows', 'rows, high', 'checksum')
	{
		damage("meta: $field", block($META) + HEADER + $at, flip(0x01));
		$at += 4;
	}
	damage('labels: first class', block($LABELS) + HEADER, flip(0x08));
	damage('labels: number', block($LABELS) + HEADER + 4, flip(0x01));
	damage('labels: many', block($LABELS) + HEADER + 5, set(0xff));
	damage('labels: where they begin', block($LABELS) + HEADER + 6, flip(0x04));
	damage('labels: place', block($LABELS) + HEADER + 8, flip(0x04));
	damage('labels: place beyond the page', block($LABELS) + HEADER + 11, set(0xff));
	foreach my $class (0, 3)
	{
		my $item = label_place($class);
		damage("labels: checksum of class $class", $item, flip(0x01));
		damage('labels: class', $item + 4, flip(0x01));
		damage('labels: first list', $item + 8, flip(0x01));
		damage('labels: lists', $item + 12, flip(0x01));
		damage('labels: length', $item + 16, flip(0x01));
		damage('labels: length, much', $item + 19, set(0xff));
		damage('labels: text', $item + 20, flip(0x01));
	}
	foreach my $nth (0, 1)
	{
		my $page = block($TREE, $nth);
		damage("tree $nth: level", $page + HEADER, flip(0x01));
		damage('tree: level, high', $page + HEADER + 1, set(0xff));
		damage('tree: one less', $page + HEADER + 2, flip(0x01));
		damage('tree: many', $page + HEADER + 3, set(0xff));
		damage('tree: class, or page', $page + HEADER + 8, flip(0x01));
		damage('tree: hash, or class', $page + HEADER + 13, flip(0x01));
	}
	foreach my $list (0, 1)
	{
		my $entry = block($LISTS) + HEADER + 44 * $list;
		damage("lists: class of list $list", $entry, flip(0x01)) if $list > 0;
		damage('lists: radius too small', $entry + 7, set(0));
		damage('lists: radius negative', $entry + 7, flip(0x80));
		damage('lists: spread too small', $entry + 11, set(0)) if $list > 0;
		damage('lists: spread negative', $entry + 11, flip(0x80)) if $list > 0;
		damage('lists: error too small', $entry + 15, set(0)) if $list > 0;
		damage('lists: least norm too large', $entry + 19, set(0x7e));
		damage('lists: largest norm too small', $entry + 23, set(0));
		damage('lists: bound too small', $entry + 24, set(0));
		damage('lists: bound too large', $entry + 27, set(0x10));
		damage('lists: first page', $entry + 28, flip(0x01));
		damage('lists: page for insertions', $entry + 32, flip(0x01));
		damage('lists: number of that page', $entry + 36, flip(0x01));
	}
	foreach my $list (0, 1)
	{
		damage("centres: of list $list", block($CENTRES) + HEADER + 4 * DIM * $list + 2, flip(0x10));
		damage("centres: of list $list, last", block($CENTRES) + HEADER + 4 * DIM * $list + 4 * DIM - 2, flip(0x40));
		damage('centres: a last bit', block($CENTRES) + HEADER + 4 * DIM * $list + 40, flip(0x01));
	}
	# the common list's page, one in the middle of a list, and the last one of a list
	foreach my $nth (0, 1, 2)
	{
		my $page = block($CODES, $nth);
		damage("codes $nth: list", $page + HEADER, flip(0x01));
		damage('codes: which page', $page + HEADER + 4, flip(0x01));
		damage('codes: used', $page + HEADER + 8, flip(0x01));
		damage('codes: used, many', $page + HEADER + 9, set(0xff));
		damage('codes: free', $page + HEADER + 10, flip(0x01));
		damage('codes: first page of vectors', $page + HEADER + 12, flip(0x01));
		foreach my $from (0, 5)
		{
			my $slot = used_slot($page, $from);
			damage("codes $nth: code of slot $slot", $page + slot_place('code', $slot), flip(0x01));
			damage('codes: its last number', $page + slot_place('code', $slot) + DIM - 1, flip(0x80));
			damage('codes: scale', $page + slot_place('scale', $slot), flip(0x01));
			damage('codes: error', $page + slot_place('error', $slot), flip(0x01));
			damage('codes: square', $page + slot_place('sqnorm', $slot), flip(0x01));
			damage('codes: norm', $page + slot_place('norm', $slot), flip(0x01));
			damage('codes: class', $page + slot_place('class', $slot), flip(0x01));
			damage('codes: block of the row', $page + slot_place('tid', $slot) + 2, flip(0x01));
			damage('codes: item of the row', $page + slot_place('tid', $slot) + 4, flip(0x01));
			damage('codes: no item', $page + slot_place('tid', $slot) + 4, set(0));
		}
	}
	foreach my $nth (0, 1)
	{
		foreach my $number (0, 10, 500)
		{
			my $float = block($VECTORS, $nth) + HEADER + 4 * $number;
			damage("vectors $nth: last bit", $float, flip(0x01));
			damage('vectors: some bit', $float + 2, flip(0x20));
			damage('vectors: sign', $float + 3, flip(0x80));
			damage('vectors: not finite', $float + 3, set(0x7f));
		}
	}
	# behind the index's back
	my $row = index($heap, 'alpha');
	damage('heap: a label', $row + 1, flip(0x01), 'heap');
	damage('heap: its length', $row - 1, flip(0x02), 'heap');
	damage('heap: a vector', $row - 4, flip(0x01), 'heap');
	damage('heap: a vector, last bit of a number', $row - 5, flip(0x01), 'heap');
	damage('heap: a line pointer', HEADER + 4 * 4 + 1, flip(0x80), 'heap');
	return;
}

# ---- files

sub file_of
{
	my ($relation) = @_;
	return $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('$relation')");
}

# The content of a file without the parts of page headers that differ from copy
# to copy.
sub without_positions
{
	my ($content) = @_;
	# of the last change to a page, and its checksum
	substr($content, BLOCK * $_, 10) = "\0" x 10 foreach 0 .. length($content) / BLOCK - 1;
	return $content;
}

sub change_byte
{
	my ($file, $place, $change) = @_;
	open(my $handle, '+<:raw', $file) or die "could not open $file: $!";
	sysseek($handle, $place, 0);
	sysread($handle, my $byte, 1);
	my $new = $change->(ord $byte);
	sysseek($handle, $place, 0);
	syswrite($handle, chr $new);
	close $handle;
	return $new != ord $byte;
}

# ---- the test

$node->safe_psql('postgres', "CALL make(0)");
$node->safe_psql('postgres', 'VACUUM t0');
is($node->safe_psql('postgres', "SELECT nw_check_index('t0_nw') = count(*), differences('t0'), engines('t0') FROM t0"), 't|0|index', 'sound at first');
$node->safe_psql('postgres', 'CHECKPOINT');
$data = read_file(file_of('t0_nw'));
$heap = read_file(file_of('t0'));
foreach my $number (0 .. length($data) / BLOCK - 1)
{
	my ($kind, $magic) = unpack('vv', substr($data, $number * BLOCK + TAIL + 4, 4));
	push @{ $blocks[$kind] }, $number if $magic == 0x4e57;
}
cmp_ok(scalar @{ $blocks[$_] // [] }, '>', 0, "there are pages of kind $name{$_}") foreach $META .. $TREE;
plan_damage();
my $found = @damage;
for (1 .. $random)
{
	my $bit = 1 << int rand 8;
	my $place = int rand length $data;
	damage("bit $bit of byte $place", $place, flip($bit));
}

note(scalar(@damage) . ' kinds of damage');
$node->safe_psql('postgres', join(' ', map { "CALL make($_); VACUUM t$_;" } 1 .. @damage) . ' CHECKPOINT;');
my %file;
foreach (split /\n/, $node->safe_psql('postgres', q{SELECT relname, pg_relation_filepath(oid) FROM pg_class WHERE relname ~ '^t\d+(_nw)?$'}))
{
	my ($relation, $path) = split /\|/;
	$file{$relation} = $node->data_dir . "/$path";
}
$node->stop;
my $alike = 0;
foreach my $i (1 .. @damage)
{
	$alike++ if without_positions(read_file($file{"t${i}_nw"})) eq without_positions($data);
}
is($alike, scalar @damage, 'indexes built alike are alike');
foreach my $i (1 .. @damage)
{
	my $d = $damage[ $i - 1 ];
	change_byte($file{ $d->{file} eq 'heap' ? "t$i" : "t${i}_nw" }, $d->{place}, $d->{change}) or $d->{same} = 1;
}
$node->start;

my $lost = 0;

# Ask something of the server; the SQLSTATE where it says no.
sub ask
{
	my ($question) = @_;
	my ($ret, $stdout, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\n$question");
	$lost++ if $stderr =~ /server closed the connection|terminat/;
	return $ret == 0 ? $stdout : $stderr =~ /ERROR:  (\w+): (.*)\n(?:DETAIL:  (.*)\n)?/ ? "$1: $2" . (defined $3 ? " $3" : '') : $stderr;
}

my $unnoticed = 0;
foreach my $i (1 .. @damage)
{
	my $d = $damage[ $i - 1 ];
	my $answer = ask("SELECT nw_check_index('t${i}_nw')");
	if ($i <= $found)
	{
		ok(!$d->{same}, "$d->{name}: changed");
		like($answer, qr/^XX00[12]: /, "$d->{name}: $answer");
	}
	elsif ($answer !~ /^XX00[12]: /)
	{
		# what is not found breaks nothing
		$unnoticed++;
		$answer = ask("SELECT differences('t$i')");
		is($answer, '0', "$d->{name}: breaks nothing");
	}
}
note("$unnoticed of $random random flips go unnoticed");
cmp_ok($unnoticed, '<', $random / 2, 'most random damage is found');

# Predictions from damaged indexes may fail, or be wrong, but nothing crashes
ask("SET statement_timeout = '2s'; SELECT * FROM answers('t$_', 'index', 1)") foreach 1 .. @damage;
is($lost, 0, 'no session was lost');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal/, 'no process crashed');

# REINDEX mends what is broken
is($node->safe_psql('postgres', 'REINDEX INDEX t1_nw; SELECT nw_check_index(\'t1_nw\') = count(*) FROM t1'), 't', 'REINDEX mends');
is($node->safe_psql('postgres', "SELECT nw_check_index('t0_nw') = count(*) FROM t0"), 't', 'the first one was left alone');
$node->stop;
done_testing();
