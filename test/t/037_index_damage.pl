# A damaged page of an nw index gives the right answer or an error that names
# the index: no endless loop, no crash, no page added by a read.
#
# Every pointer and every count is set to what would hurt most, once as a stray
# write would leave it and once with a checksum that fits.  Tables filled alike
# have indexes that are alike to the byte, so each of many gets its own damage,
# all in one stop of the server.  Labels have a test of their own.
use strict;
use warnings;
no warnings 'portable';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use NwIndex;

use constant { DIM => 24, NONE => 0xffffffff };

my $flips = $ENV{NW_DAMAGE_FLIPS} // 300;
srand($ENV{NW_DAMAGE_SEED} // 37);

my $node = PostgreSQL::Test::Cluster->new('main');
init_unchecked($node);
$node->append_conf('postgresql.conf', "autovacuum = off\nrestart_after_crash = off\nfsync = off\nmax_locks_per_transaction = 256");
$node->start;
install_helpers($node);
$node->safe_psql(
	'postgres', q{
	CREATE TABLE model (id int, embedding vector(24), label text);
	-- lists of three pages, of one, and the common list
	INSERT INTO model SELECT i, spot(i, 1, 24, 1), 'alpha' FROM generate_series(1, 400) AS i;
	INSERT INTO model SELECT i, spot(i, 2, 24, 1), 'beta' FROM generate_series(401, 500) AS i;
	INSERT INTO model SELECT i, spot(i, 3, 24, 1), 'small' FROM generate_series(501, 530) AS i;
	CREATE TABLE queries (id int, e vector(24));
	INSERT INTO queries SELECT i, spot(i + 9000, i, 24, 1) FROM generate_series(1, 3) AS i;
	CREATE PROCEDURE make(n int) LANGUAGE plpgsql AS $$
	BEGIN
		EXECUTE format('CREATE TABLE t%1$s (LIKE model)', n);
		EXECUTE format('INSERT INTO t%1$s TABLE model', n);
		EXECUTE format('CREATE INDEX t%1$s_nw ON t%1$s USING nw (embedding) INCLUDE (label) WITH (lists = 1)', n);
		EXECUTE format('INSERT INTO t%1$s SELECT id + 1000, embedding, ''late'' FROM model WHERE id <= 20', n);
		PERFORM nw_register('t' || n, ('t' || n)::regclass, tau => 0.2);
	END
	$$;
	-- what comes of a statement: its result, or its error
	CREATE FUNCTION outcome(statement text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		result text;
	BEGIN
		EXECUTE statement INTO result;
		RETURN result;
	EXCEPTION WHEN OTHERS OR query_canceled THEN
		RETURN SQLSTATE;
	END
	$$;
	CREATE FUNCTION answers_of(n int, engine text) RETURNS text LANGUAGE sql AS $$
		SELECT outcome(format('SELECT md5(string_agg(a, '''')) FROM answers(''t%s'', %L) AS a', n, engine))
	$$;
	-- read all there is to read, then change something, then read again
	CREATE FUNCTION probe(n int) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		size bigint := pg_relation_size('t' || n || '_nw');
		result text;
	BEGIN
		result := 'answer=' || answers_of(n, 'index')
			|| ' lists=' || outcome(format('SELECT ''ok'' FROM (SELECT count(*) FROM nw_index_lists(''t%s_nw'')) AS c', n))
			|| ' health=' || outcome(format('SELECT ''ok'' FROM nw_index_health(''t%s_nw'')', n))
			|| ' check=' || outcome(format('SELECT ''ok'' FROM nw_check_index(''t%s_nw'')', n))
			|| ' grown=' || pg_relation_size('t' || n || '_nw') - size;
		result := result || ' insert=' || outcome(format('INSERT INTO t%s SELECT id + 2000, embedding, label FROM model WHERE id %% 10 = 0 RETURNING ''ok''', n))
			|| ' new=' || outcome(format('INSERT INTO t%s SELECT id + 3000, embedding, ''new'' FROM model WHERE id %% 100 = 0 RETURNING ''ok''', n))
			|| ' again=' || answers_of(n, 'index') || ' truth=' || answers_of(n, 'executor');
		EXECUTE format('DELETE FROM t%s WHERE id %% 7 = 0', n);
		RETURN result;
	END
	$$;
});

# ---- pages

my $data;
my @blocks;

# The nth block of a kind
sub block { my ($kind, $nth) = @_; return $blocks[$kind][ $nth // 0 ]; }

# Four bytes of a block of the undamaged index
sub number { my ($block, $at) = @_; return unpack('V', substr($data, $block * BLOCK + $at, 4)); }

# The product of two numbers of 64 bits, as C has it
sub product { my ($x, $y) = @_; use integer; my $z = $x * $y; no integer; return unpack('Q', pack('q', $z)); }
sub total { my ($x, $y) = @_; use integer; my $z = $x + $y; no integer; return unpack('Q', pack('q', $z)); }
sub key { my ($place) = @_; return product(0x9e3779b97f4a7c15, 2 * $place + 1) ^ 0xd6e8feb86659fd92; }

# The checksum of words, as damage.c has it
sub sum_words
{
	my ($more, @word) = @_;
	my $sum = total(key(100), product($more, key(101)));
	$sum = total($sum, product($word[$_], key($_))) foreach 0 .. $#word;
	return $sum >> 32;
}

# The checksum of a leaf of a tree, as tree_page.c has it
sub sum_leaf
{
	my ($page) = @_;
	my ($level, $n) = unpack('vv', substr($$page, HEADER, 4));
	my $odd = sub { product(0x9e3779b97f4a7c15, 2 * $_[0] + 1) };
	my $sum = total(product($level, $odd->(5000)), product($n, $odd->(5001)));
	my @key = unpack('Q<*', substr($$page, HEADER + 8, TAIL - HEADER - 8));
	$sum = total($sum, product($key[$_] // 0, $odd->($_))) foreach 0 .. $n - 1;
	return $sum >> 32;
}

# CRC-32C, of the meta page
sub crc
{
	my ($bytes) = @_;
	my $crc = 0xffffffff;
	foreach my $byte (unpack 'C*', $bytes)
	{
		$crc ^= $byte;
		$crc = $crc & 1 ? ($crc >> 1) ^ 0x82f63b78 : $crc >> 1 for 1 .. 8;
	}
	return $crc ^ 0xffffffff;
}

# Give a page checksums that fit what it says.
sub seal
{
	my ($page, $kind) = @_;
	if ($kind == $META)
	{
		substr($$page, HEADER + 48, 4) = pack('V', crc(substr($$page, HEADER, 48)));
	}
	elsif ($kind == $CODES)
	{
		my @word = unpack('V9', substr($$page, HEADER, 36));
		substr($$page, HEADER + 36, 4) = pack('V', sum_words(unpack('V', substr($$page, TAIL, 4)), @word));
	}
	elsif ($kind == $LISTS)
	{
		foreach my $list (0 .. 2)
		{
			my $at = HEADER + 44 * $list;
			substr($$page, $at + 40, 4) = pack('V', sum_words(0, unpack('V10', substr($$page, $at, 40))));
		}
	}
	elsif ($kind == $TREE)
	{
		substr($$page, HEADER + 4, 4) = pack('V', sum_leaf($page));
	}
	return;
}

# ---- kinds of damage

my @damage;

# Note a field that gets other bytes; as they are, and with checksums that fit
sub damage
{
	my ($name, $block, $at, $bytes, $sealable) = @_;
	return if substr($data, $block * BLOCK + $at, length $bytes) eq $bytes;
	push @damage, { name => $name, block => $block, at => $at, bytes => $bytes };
	push @damage, { name => "$name, sealed", block => $block, at => $at, bytes => $bytes, seal => 1 } if $sealable;
	return;
}

# What a pointer to a page of a kind may become
sub damage_pointer
{
	my ($name, $block, $at, $kind) = @_;
	my %to = (
		'itself' => $block,
		'block 0' => 0,
		'no block' => NONE,
		'the end' => length($data) / BLOCK,
		'far beyond' => 0xfffffffe,
		'the largest' => 0x7fffffff,
		'another kind' => block($kind == $VECTORS ? $CODES : $VECTORS),
		'lists' => block($LISTS),
		'another of its kind' => (grep { $_ != number($block, $at) } @{ $blocks[$kind] })[0],
		'the last of its kind' => $blocks[$kind][-1]);
	damage("$name leads to $_", $block, $at, pack('V', $to{$_}), 1) foreach sort keys %to;
	return;
}

sub damage_number
{
	my ($name, $block, $at, $template, @values) = @_;
	damage("$name is $_", $block, $at, pack($template, $_), 1) foreach @values;
	return;
}

sub plan_damage
{
	my $at = HEADER;
	foreach my $field ('magic', 'version', 'dimensions', 'type', 'lists')
	{
		damage_number("meta: $field", block($META), $at, 'V', 0, 1, 2, 4, 16000, 0x7fffffff, NONE);
		$at += 4;
	}
	foreach my $kind ($TREE, $TREE, $LISTS, $CENTRES)
	{
		damage_pointer("meta: first page of kind $kind", block($META), $at, $kind);
		$at += 4;
	}
	foreach my $list (0, 1)
	{
		my $entry = HEADER + 44 * $list;
		damage_number("list $list: class", block($LISTS), $entry, 'V', 0, 1, 5, 1000000, 0x7fffffff, NONE) if $list > 0;
		foreach my $field ('radius', 'spread', 'error', 'shortest', 'longest')
		{
			$entry += 4;
			# with a checksum that fits, a bound that is only loose is none the worse
			damage("list $list: $field is $_->[0]", block($LISTS), $entry, pack('f<', $_->[1]), $_->[2])
			  foreach [ 'negative', -1, 1 ], [ 'nothing', 0, 0 ], [ 'infinite', 9**9**9, 0 ], [ 'not a number', -sin(9**9**9), 1 ];
		}
		damage_number("list $list: bound", block($LISTS), $entry + 4, 'V', 0, 1, 0x7fffffff, NONE);
		damage_pointer("list $list: first page", block($LISTS), $entry + 8, $CODES);
		damage_pointer("list $list: page for insertions", block($LISTS), $entry + 12, $CODES);
		damage_number("list $list: its number", block($LISTS), $entry + 16, 'V', 0, 1, 2, 0x7fffffff, NONE);
	}
	# the common list, and the first and the last page of a list
	foreach my $page (0, 1, 3)
	{
		my $block = block($CODES, $page);
		damage_number("codes $page: list", $block, HEADER, 'V', 0, 1, 2, 3, NONE);
		damage_number("codes $page: number", $block, HEADER + 4, 'V', 0, 1, 2, 3, 0x7fffffff, NONE);
		damage_number("codes $page: used", $block, HEADER + 8, 'v', 0, 1, 2000, 0xffff);
		damage_number("codes $page: free", $block, HEADER + 10, 'v', 0, 1, 30, 2000, 0xffff);
		damage_pointer("codes $page: vectors $_", $block, HEADER + 12 + 4 * $_, $VECTORS) foreach 0, 1, 5;
		damage_pointer("codes $page: next", $block, TAIL, $CODES);
	}
	# both trees of classes have one page, their root, here
	foreach my $tree (0, 1)
	{
		my $block = block($TREE, $tree);
		damage_number("tree $tree: level", $block, HEADER, 'v', 1, 7, 8, 0xffff);
		damage_number("tree $tree: keys", $block, HEADER + 2, 'v', 0, 1, 1000, 1022, 0xffff);
		damage_number("tree $tree: class, or page", $block, HEADER + 8, 'V', 0, 1, 100, NONE);
		damage_number("tree $tree: hash, or class", $block, HEADER + 12, 'V', 5, NONE);
	}
	my $labels = block($LABELS);
	damage_number('labels: first class', $labels, HEADER, 'V', 1, 2, NONE);
	damage_number('labels: how many', $labels, HEADER + 4, 'v', 0, 1, 4000, 0xffff);
	damage_number('labels: the lowest', $labels, HEADER + 6, 'v', 0, 4, 8160, 0xffff);
	damage_number('labels: where one is', $labels, HEADER + 8, 'v', 0, 1, 8, 8156, 0xffff);
	foreach my $kind ($LABELS .. $TREE)
	{
		my $block = block($kind);
		damage_number("kind $kind: kind", $block, TAIL + 4, 'v', 0, 1 .. 7, 0xffff);
		damage_number("kind $kind: magic", $block, TAIL + 6, 'v', 0);
		damage_pointer("kind $kind: next", $block, TAIL, $kind) if $kind != $CODES;
		damage_number("kind $kind: lower end", $block, 12, 'v', 0, 24, 8000, 0xffff);
		damage_number("kind $kind: upper end", $block, 14, 'v', 0, 24, 8000, 0xffff);
		damage_number("kind $kind: tail", $block, 16, 'v', 0, 24, 8000, 8192, 0xffff);
		damage("kind $kind: zeroes", $block, 0, "\0" x BLOCK);
	}
	# of a row: its class, its place in the table
	my $slots = int((TAIL - HEADER - 40 - 4) / (DIM + 26));
	my $classes = HEADER + 40 + int(($slots * DIM + 3) / 4) * 4 + 16 * $slots;
	foreach my $page (0, 1)
	{
		my $block = block($CODES, $page);
		damage_number("codes $page: class of a row", $block, $classes + 4 * $_, 'V', 1000, NONE) foreach 0, 5;
		my $tid = $classes + 4 * $slots;
		damage("codes $page: row of $_->[0]", $block, $tid + 6 * 3, pack('vvv', @{ $_->[1] }))
		  foreach [ 'no block', [ 0xffff, 0xffff, 1 ] ], [ 'a block beyond the end', [ 0, 1000, 1 ] ], [ 'a large item', [ 0, 0, 0x7fff ] ];
	}
	return;
}

# ---- the test

$node->safe_psql('postgres', 'CALL make(0)');
$node->safe_psql('postgres', 'VACUUM t0; CHECKPOINT');
is($node->safe_psql('postgres', "SELECT nw_check_index('t0_nw') = count(*), differences('t0'), engines('t0') FROM t0"), 't|0|index', 'sound at first');
$data = read_file($node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('t0_nw')"));
foreach my $number (0 .. length($data) / BLOCK - 1)
{
	push @{ $blocks[ unpack('v', substr($data, $number * BLOCK + TAIL + 4, 2)) ] }, $number;
}
cmp_ok(scalar @{ $blocks[$CODES] }, '>=', 4, 'a list has several pages');
foreach my $kind ($META, $LISTS, $CODES, $TREE)
{
	my $page = substr($data, block($kind) * BLOCK, BLOCK);
	seal(\$page, $kind);
	is($page, substr($data, block($kind) * BLOCK, BLOCK), "checksums of kind $kind are understood");
}
plan_damage();
my $planned = @damage;
while (@damage < $planned + $flips)
{
	my $place = int rand length $data;
	my $block = int($place / BLOCK);
	my $bits = rand() < 0.5 ? 1 << int rand 8 : 1 + int rand 255;
	damage("bits $bits of byte $place", $block, $place % BLOCK, chr(ord(substr($data, $place, 1)) ^ $bits));
}
note("$planned kinds of damage, and $flips at random");

$node->safe_psql('postgres', join(' ', map { "CALL make($_); VACUUM t$_;" } 1 .. @damage) . ' CHECKPOINT;');
my %file = map { split /\|/ } split /\n/, $node->safe_psql('postgres', q{SELECT relname, pg_relation_filepath(oid) FROM pg_class WHERE relname ~ '^t\d+_nw$'});
$node->stop;
foreach my $i (1 .. @damage)
{
	my $d = $damage[ $i - 1 ];
	my $file = $node->data_dir . '/' . $file{"t${i}_nw"};
	my $page = substr(read_file($file), $d->{block} * BLOCK, BLOCK);
	substr($page, $d->{at}, length $d->{bytes}) = $d->{bytes};
	seal(\$page, unpack('v', substr($page, TAIL + 4, 2))) if $d->{seal};
	open(my $handle, '+<:raw', $file) or die "could not open $file: $!";
	sysseek($handle, $d->{block} * BLOCK, 0);
	syswrite($handle, $page);
	close $handle;
}
$node->start;

# One session asks everything; what hangs ends it
my $script = "SET statement_timeout = '60s'; SET client_min_messages = panic; SELECT 'good=' || answers_of(0, 'index');\n"
  . join('', map { "SELECT '$_ ' || probe($_);\nVACUUM (INDEX_CLEANUP on) t$_;\n\\echo $_ vacuum=:SQLSTATE\n" } 1 .. @damage);
my ($ret, $stdout, $stderr) = $node->psql('postgres', $script, on_error_stop => 0, timeout => 300, timed_out => \my $timed_out);
ok(!$timed_out, 'nothing hangs');
my ($good) = $stdout =~ /^good=(\w+)$/m;
my @answer;
while ($stdout =~ /^(\d+) (.*)$/mg)
{
	my ($i, $pairs) = ($1, $2);
	$answer[$i]{$1} = $2 while $pairs =~ /(\w+)=(\S+)/g;
}

my ($errors, $sound) = (0, 0);
foreach my $i (1 .. @damage)
{
	my $d = $damage[ $i - 1 ];
	my $a = $answer[$i];
	my $random = $i > $planned;
	my @wrong;

	# a page that PostgreSQL itself refuses has a code of its own
	my $fault = qr/^XX00[12]$/;
	push @wrong, 'no answer' unless defined $a->{truth};
	push @wrong, 'it grew' unless ($a->{grown} // 0) == 0;
	push @wrong, "nw_check_index: $a->{check}" unless $random || ($a->{check} // '') =~ $fault;
	foreach my $what ('lists', 'health', 'insert', 'new', 'vacuum')
	{
		my $said = $a->{$what} // '';

		# an index of other dimensions, as far as anyone can tell, wants others
		push @wrong, "$what: $said" unless $said =~ /^(?:ok|00000)$/ || $said =~ $fault || ($d->{name} =~ /dimensions .*sealed/ && $said eq '22000');
	}
	foreach my $what ('answer', 'again')
	{
		my $said = $a->{$what} // '';
		my $right = $said eq ($what eq 'answer' ? $good : $a->{truth} // '');
		push @wrong, "$what: $said" unless $said =~ $fault || $right || (($d->{seal} || $random) && $said =~ /^\w{32}$/);
	}
	(($a->{answer} // '') =~ $fault ? $errors : $sound)++;
	is(join('; ', @wrong), '', $d->{name});
}
note("$errors kinds of damage are errors, $sound leave an answer");
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal/, 'no process crashed');
is($node->safe_psql('postgres', "REINDEX INDEX t1_nw; SELECT nw_check_index('t1_nw') = count(*), differences('t1') FROM t1"), 't|0', 'REINDEX mends');
$node->stop;
done_testing();
