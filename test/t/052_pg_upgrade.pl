# pg_upgrade: sets, prototypes and indexes move to another cluster as they are.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use NwIndex;

# Every server program folder to upgrade to: this one, and those of other
# versions that have the extension.
my $bindir = `pg_config --bindir`;
chomp $bindir;
my $same = `pg_config --version`;
chomp $same;
my @targets = ($bindir);
foreach my $dir (split(/:/, $ENV{NW_UPGRADE_BINDIRS} // ''), ($ENV{NW_NEXT} // '') . '/bin', glob('/usr/lib/postgresql/*/bin'))
{
	next unless -x "$dir/pg_upgrade" && -x "$dir/pg_config" && $dir ne $bindir;
	my $share = `$dir/pg_config --sharedir`;
	chomp $share;
	push @targets, $dir if -e "$share/extension/nwhead.control" && -e "$share/extension/vector.control";
}

sub prepare_old
{
	my ($old) = @_;
	install_helpers($old);
	$old->safe_psql(
		'postgres', q{
		CREATE TABLE rows (id int, embedding vector(8), label text);
		INSERT INTO rows SELECT i, spot(i, i % 4, 8, 0.5), 'c' || i % 4 FROM generate_series(1, 400) AS i;
		CREATE INDEX rows_nw ON rows USING nw (embedding) INCLUDE (label);
		DELETE FROM rows WHERE id % 9 = 0;
		INSERT INTO rows SELECT 1000 + i, spot(i, i % 6, 8, 0.5), 'late' || i % 6 FROM generate_series(1, 60) AS i;
		CREATE TABLE halves (id int, embedding halfvec(8), label numeric) PARTITION BY HASH (id);
		CREATE TABLE half0 PARTITION OF halves FOR VALUES WITH (modulus 2, remainder 0);
		CREATE TABLE half1 PARTITION OF halves FOR VALUES WITH (modulus 2, remainder 1);
		INSERT INTO halves SELECT i, spot(i, i % 3, 8, 0.5)::halfvec, i % 3 + 0.5 FROM generate_series(1, 300) AS i;
		CREATE INDEX halves_nw ON halves USING nw (embedding) INCLUDE (label);
		CREATE TABLE queries AS SELECT i AS id, spot(i + 9000, i % 4, 8, 0.5) AS e FROM generate_series(1, 3) AS i;
		CREATE ROLE owner;
		GRANT CREATE ON SCHEMA public TO owner;
		GRANT SELECT ON rows TO owner;
		SELECT nw_register('s', 'rows', tau => 0.2), nw_register('h', 'halves', tau => 0.2, kernel => 'cosine');
		SELECT * FROM nw_calibrate('s');
		SET ROLE owner;
		SELECT nw_distill('s', 'few', k => 3);
	});
	return;
}

# Everything that has to be the same afterwards
my @questions = (
	'SELECT * FROM nw_sets ORDER BY name',
	'SELECT * FROM nw_registry ORDER BY name',
	'SELECT last_value, is_called FROM nw_version',
	'SELECT set, label, ordinal, embedding, members, source_id, weight FROM nw_prototypes ORDER BY label, ordinal',
	"SELECT a FROM answers('s', 'executor') AS a",
	"SELECT a FROM answers('s', 'index') AS a",
	"SELECT a FROM answers('h', 'index') AS a",
	"SELECT nw_predict(e, 'few') FROM queries ORDER BY id",
	"SELECT engines('s'), engines('h')",
	"SELECT nw_check_index('rows_nw'), nw_check_index('half0_embedding_label_idx')",
	"SELECT classes, lists, rows, built_rows, size FROM nw_index_health('rows_nw')");

my $number = 0;
foreach my $target (@targets)
{
	foreach my $mode ('by copying', '--link')
	{
		# one mode is enough for other versions
		next if $mode eq '--link' && $target ne $bindir;
		$number++;
		my $version = `$target/pg_config --version`;
		chomp $version;
		my $name = "$same to $version $mode";
		my $old = PostgreSQL::Test::Cluster->new("old$number");
		$old->init;
		$old->start;
		prepare_old($old);
		my %before = map { $_ => $old->safe_psql('postgres', $_) } @questions;
		$old->stop;

		my $new = PostgreSQL::Test::Cluster->new("new$number", install_path => $target eq $bindir ? undef : dirname_of($target));
		$new->init;
		my $dir = PostgreSQL::Test::Utils::tempdir();
		chdir $dir or die "cannot enter $dir";
		my $done = run_log(
			[   "$target/pg_upgrade", '-d', $old->data_dir, '-D', $new->data_dir, '-b', $bindir, '-B', $target,
				'-s', $new->host, '-p', $old->port, '-P', $new->port, ($mode =~ /^--/ ? $mode : ()) ]);
		my $logs = join '', map { slurp_file($_) } grep { -f $_ } glob($new->data_dir . '/pg_upgrade_output.d/*/log/*.log');
		# a later version may be older than the last corrections of this one
		if (!$done && $target ne $bindir && $logs =~ /(unrecognized parameter .*)/)
		{
			my $reason = "$version does not know what $same dumps: $1";
			SKIP: { skip $reason, 1 }
			next;
		}
		ok($done, "$name: pg_upgrade") or diag($logs), next;
		$new->start;
		is($new->safe_psql('postgres', $_), $before{$_}, "$name: $_") foreach @questions;

		# and all goes on
		$new->safe_psql('postgres', q{
			INSERT INTO rows SELECT 3000 + i, spot(i, i % 6, 8, 0.5), 'after' || i % 2 FROM generate_series(1, 60) AS i;
			DELETE FROM rows WHERE id % 4 = 0;
			SELECT nw_register('more', 'rows'), nw_set_tau('s', 0.3);
			SELECT nw_distill('s', 'fewer', k => 1)});
		$new->safe_psql('postgres', 'VACUUM rows');
		is($new->safe_psql('postgres', "SELECT nw_check_index('rows_nw') = count(*), differences('s'), engines('s') FROM rows"),
			't|0|index', "$name: the index takes rows and loses some");
		unlike(slurp_file($new->logfile), qr/PANIC|TRAP|terminated by signal/, "$name: no complaint in the log");
		$new->stop;
	}
}
SKIP:
{
	skip 'only one version of PostgreSQL has the extension', 1 if @targets == 1;
	pass('to ' . (@targets - 1) . ' other version');
}

# Name the folder of a version by that of its programs.
sub dirname_of
{
	my ($dir) = @_;
	$dir =~ s{/bin/?$}{};
	return $dir;
}

done_testing();
