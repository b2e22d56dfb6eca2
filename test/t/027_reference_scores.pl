# Reference scores: for members of the owning role, bound to the state of their set, and
# dumped with it.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;

my $dir = PostgreSQL::Test::Utils::tempdir();

# Run statements in a database; return their output, or the error.
sub result
{
	my ($database, $sql) = @_;
	my ($ret, $stdout, $stderr) = $node->psql($database, $sql);
	return $ret == 0 ? $stdout : $stderr;
}

# The same as a role.
sub as_role
{
	my ($role, $sql) = @_;
	return result('one', "SET SESSION AUTHORIZATION $role; $sql");
}

# What the table has of a set, apart from the time.
sub scores
{
	my ($database, $set) = @_;
	return $node->safe_psql($database,
		"SELECT kind, class, queries, k, n, current, scores[1], scores[n] FROM h.nw_reference_scores WHERE set = '$set' ORDER BY kind, class NULLS FIRST");
}

# Write scores of a set as it is now; random numbers, so that many do not compress.
sub write_scores
{
	my ($set, $kind, $class, $n) = @_;
	$node->safe_psql('one', "
		INSERT INTO h.nw_reference
		SELECT set_id, '$kind', $class, version, 'q', NULL, '2026-01-02 03:04:05+00',
			   (SELECT array_agg(x ORDER BY x) FROM (SELECT i / $n.0 + random() / $n AS x FROM generate_series(0, $n - 1) AS i) AS s)
		  FROM h.nw_registry WHERE name = '$set'");
}

$node->safe_psql('postgres', 'CREATE ROLE eve LOGIN; CREATE ROLE alice LOGIN; CREATE ROLE aide LOGIN IN ROLE alice; CREATE ROLE bob LOGIN; CREATE DATABASE one OWNER eve');
$node->safe_psql('one', 'CREATE EXTENSION vector');
$node->safe_psql(
	'one', q{
	SET SESSION AUTHORIZATION eve;
	CREATE SCHEMA h;
	CREATE EXTENSION nwhead SCHEMA h;
	GRANT CREATE, USAGE ON SCHEMA h TO alice, bob;
	CREATE TABLE public.t AS SELECT i AS id, ARRAY[i % 7, i % 3]::real[]::vector(2) AS embedding, 'l' || i % 2 AS label FROM generate_series(1, 40) AS i;
	GRANT SELECT ON public.t TO PUBLIC;
	SELECT h.nw_register('mine', 'public.t', tau => 1);
	SET SESSION AUTHORIZATION DEFAULT;
	SET SESSION AUTHORIZATION alice;
	SELECT h.nw_register('s', 'public.t', tau => 1);
	SELECT h.nw_register('q', 'public.t', tau => 1);
	SELECT h.nw_distill('s', 'p', calibrate => false);
});
write_scores('s', 'threshold', 'NULL', 20000);
write_scores('s', 'residual', 'NULL', 3);
write_scores('p', 'adaptive', "'l0'", 4);
write_scores('p', 'adaptive', "'l1'", 5);
write_scores('mine', 'threshold', 'NULL', 6);

# Who sees them
is(as_role($_, "SELECT DISTINCT set FROM h.nw_reference_scores ORDER BY 1"), "p\ns", "$_ sees those of alice's sets") foreach ('alice', 'aide');
is(as_role('bob', 'SELECT count(*) FROM h.nw_reference'), '0', 'others see none');
is(as_role('eve', 'SELECT DISTINCT set FROM h.nw_reference_scores'), 'mine', "nor does the extension's owner see others'");
like(as_role('eve', 'SET row_security = off; SELECT count(*) FROM h.nw_reference'), qr/query would be affected by row-level security policy/, 'nor with row_security off');
is(as_role('bob', 'SELECT count(*) FROM pg_catalog.nw_dump() WHERE scores IS NOT NULL'), '0', 'nor as pg_dump does');
is(as_role('aide', 'SELECT count(*) FROM pg_catalog.nw_dump() WHERE scores IS NOT NULL'), '4', 'which a member would dump');
foreach my $change ('INSERT INTO h.nw_reference SELECT * FROM h.nw_reference', 'UPDATE h.nw_reference SET version = 1', 'DELETE FROM h.nw_reference',
	'TRUNCATE h.nw_reference', 'ALTER TABLE h.nw_reference DISABLE ROW LEVEL SECURITY', 'DROP POLICY nw_members ON h.nw_reference',
	'ALTER TABLE h.nw_reference OWNER TO eve')
{
	like(as_role($_, $change), qr/permission denied for table nw_reference|must be owner of|cannot drop index/, "$_: $change") foreach ('alice', 'eve');
}

# What a superuser has changed is refused
foreach my $change (
	'DROP POLICY nw_members ON h.nw_reference', 'ALTER TABLE h.nw_reference DISABLE ROW LEVEL SECURITY',
	'ALTER TABLE h.nw_reference ADD COLUMN x int', 'ALTER TABLE h.nw_reference ALTER scores TYPE real[]',
	'DROP INDEX h.nw_reference_set; CREATE INDEX nw_reference_set ON h.nw_reference (set_id)',
	'DROP INDEX h.nw_reference_set; CREATE INDEX nw_reference_set ON h.nw_reference (set_id, kind COLLATE "POSIX")',
	'ALTER TABLE h.nw_reference OWNER TO eve', 'ALTER TABLE h.nw_reference SET UNLOGGED',
	'ALTER TABLE h.nw_reference RENAME TO old; CREATE VIEW h.nw_reference AS SELECT * FROM h.old')
{
	like(result('one', "BEGIN; SET LOCAL client_min_messages = error; "
			  . ($change =~ /TYPE/ ? 'ALTER EXTENSION nwhead DROP VIEW h.nw_reference_scores; DROP VIEW h.nw_reference_scores; ' : '')
			  . "$change; SELECT h.nw_set_tau('s', 2); ROLLBACK"),
		qr/relation "nw_reference(_set)?" of extension "nwhead" (has been altered|does not exist)/, $change);
}

# Scores follow a change that leaves them as they are, and no other
my $before = scores('one', 's');
my $toast = q{SELECT pg_relation_size(reltoastrelid) FROM pg_class WHERE oid = 'h.nw_reference'::regclass};
my $size = $node->safe_psql('one', $toast);
cmp_ok($size, '>', 20000 * 7, 'many scores are stored out of line');
is(as_role('alice', "SELECT h.nw_alter_set('s', new_name => 'renamed')"), '', 'a set gets another name');
is(scores('one', 'renamed'), $before, 'its scores follow');
is(scores('one', 'p'), $node->safe_psql('one', "SELECT 'adaptive', 'l' || i, 'q', NULL, 4 + i, true, scores[1], scores[n] FROM generate_series(0, 1) AS i, h.nw_reference_scores WHERE set = 'p' AND class = 'l' || i ORDER BY i"),
	'and those of the set distilled from it, whose parent follows');
is($node->safe_psql('one', $toast), $size, 'without being written again');
is(as_role('alice', "SELECT h.nw_alter_set('renamed', new_name => 's', model => 'm')"), '', 'a model gets a name');
is(scores('one', 's'), $before, 'that nobody had said');
is(as_role('alice', "SELECT what FROM h.nw_todo() WHERE what LIKE 'scores%'"), '', 'there is nothing to do');
foreach my $change (q{SELECT h.nw_set_tau('s', 2)}, q{SELECT h.nw_alter_set('s', model => 'other')})
{
	(my $stale = $before) =~ s/\|t\|/|f|/g;
	is( $node->safe_psql('one', "BEGIN; SET LOCAL SESSION AUTHORIZATION alice; $change;
			SELECT kind, class, queries, k, n, current, scores[1], scores[n] FROM h.nw_reference_scores WHERE set = 's' ORDER BY kind;
			SELECT set, what, sql FROM h.nw_todo() WHERE what LIKE 'scores%' ORDER BY sql; ROLLBACK"),
		"\n$stale\ns|scores outdated|SELECT * FROM h.nw_conformal('s', queries => 'q', method => 'residual')\n"
		  . "s|scores outdated|SELECT * FROM h.nw_conformal('s', queries => 'q', method => 'threshold')", "outdated: $change");
}
is( $node->safe_psql('one', "BEGIN; SET LOCAL SESSION AUTHORIZATION alice; SELECT h.nw_alter_set('s', temper => 2); SELECT kind, current FROM h.nw_reference_scores WHERE set = 's' ORDER BY kind; ROLLBACK"),
	"\nresidual|t\nthreshold|f", 'temper is nothing to residuals');
is( $node->safe_psql('one', "BEGIN; SET LOCAL SESSION AUTHORIZATION alice; SELECT h.nw_set_tau('p', 2); SELECT h.nw_unregister('q'); SELECT why, sql IS NULL FROM h.nw_todo() WHERE what LIKE 'scores%'; ROLLBACK"),
	qq{\n\nscores of kind "adaptive" are of an earlier state of the set|t}, 'there is no statement where the queries are gone');

# They go with their set, its rows and its owner
foreach my $change (q{SELECT h.nw_unregister('s')}, q{SELECT h.nw_alter_set('s', kernel => 'dot')}, q{SELECT h.nw_alter_set('s', id => NULL)},
	q{SELECT h.nw_register('s', 'public.t', weight => 'id', replace => true)}, q{RESET SESSION AUTHORIZATION; SELECT h.nw_register('s', replace => true)})
{
	like(result('one', "BEGIN; SET LOCAL client_min_messages = error; SET LOCAL SESSION AUTHORIZATION alice; $change; RESET SESSION AUTHORIZATION; SELECT 'left: ' || count(*) FROM h.nw_reference; ROLLBACK"),
		qr/^left: 3$/m, "gone: $change");
}
like(result('one', "BEGIN; SET LOCAL SESSION AUTHORIZATION alice; SELECT h.nw_distill('s', 'p', calibrate => false); RESET SESSION AUTHORIZATION; SELECT 'left: ' || count(*) FROM h.nw_reference; ROLLBACK"),
	qr/^left: 3$/m, 'gone: distilled anew');

# Dump and restore: what holds for the set as it is
is(as_role('eve', "SELECT h.nw_set_tau('mine', 2)"), '', 'a set changes');
my %before = map { $_ => scores('one', $_) } ('s', 'p');
my $all = q{SELECT md5(string_agg(set || kind || coalesce(class, '') || at::text || scores::text, ' ' ORDER BY set, kind, class)) FROM h.nw_reference_scores WHERE current};
my $sum = $node->safe_psql('one', $all);
foreach my $options ([], ['--inserts'], [ '--column-inserts', '--rows-per-insert=2' ])
{
	my $name = "again" . scalar @$options;
	$node->command_ok([ 'pg_dump', '-f', "$dir/$name.sql", @$options, '-d', $node->connstr('one') ], "dump @$options");
	$node->safe_psql('postgres', "CREATE DATABASE $name TEMPLATE template0");
	$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/$name.sql", '-d', $node->connstr($name) ], 'restore');
	is(scores($name, $_), $before{$_}, "the scores of $_ hold for the restored set") foreach ('s', 'p');
	is($node->safe_psql($name, $all), $sum, 'to the last digit');
	is(scores($name, 'mine'), '', 'those of an earlier state are not dumped');
}

# Restoring is for who may, and takes no nonsense
my $insert = q{INSERT INTO h.nw_saved (name, class, score_kind, score_queries, score_k, scored_at, scores) VALUES (%s)};
is(as_role('eve', sprintf($insert, q{'mine', NULL, 'residual', NULL, 2, now(), '{1,2,Infinity}'}) . q{; SELECT kind, k, n, current FROM h.nw_reference_scores WHERE set = 'mine' AND kind = 'residual'}),
	'residual|2|3|t', "the extension's owner restores scores of her set");
like(as_role('eve', sprintf($insert, q{'s', NULL, 'residual', NULL, NULL, now(), '{1}'})), qr/must be owner of set "s"/, "and not those of another's");
like(as_role('bob', sprintf($insert, q{'s', NULL, 'residual', NULL, NULL, now(), '{1}'})), qr/permission denied for table nw_saved/, 'others restore nothing');
foreach my $values (
	q{'mine', NULL, 'nonsense', NULL, NULL, now(), '{1}'}, q{'mine', NULL, 'residual', NULL, NULL, NULL, '{1}'}, q{'mine', NULL, 'residual', NULL, NULL, now(), NULL},
	q{'mine', NULL, 'residual', NULL, NULL, now(), '{}'}, q{'mine', NULL, 'residual', NULL, NULL, now(), '{1,NULL}'}, q{'mine', NULL, 'residual', NULL, NULL, now(), '{NaN}'},
	q{'mine', NULL, 'residual', NULL, NULL, now(), '{2,1}'}, q{'mine', NULL, 'residual', NULL, NULL, now(), '{{1,2},{3,4}}'}, q{'mine', NULL, 'residual', NULL, 0, now(), '{1}'},
	q{NULL, NULL, 'residual', NULL, NULL, now(), '{1}'})
{
	like(as_role('eve', sprintf($insert, $values)), qr/cannot be restored from these values/, "refused: $values");
}
like(as_role('eve', q{INSERT INTO h.nw_saved (name, tau, score_kind, scored_at, scores) VALUES ('mine', 1, 'residual', now(), '{1}')}), qr/cannot be restored from these values/, 'nor with what a set has');

# Everybody who may predict from a set uses its scores, and sees none of them
is(as_role('alice', q{SELECT guarantee FROM h.nw_conformal('s', 'mine', leave_one_out => true)}), 'estimate', 'the owner scores rows of one table');
my $ask = q{SELECT string_agg(h.nw_plausible(embedding, 's', 0.8)::text, ' ' ORDER BY id) FROM public.t};
is(as_role('bob', $ask), as_role('alice', $ask), 'others get the same answers');
isnt(as_role('bob', $ask), '', 'and get some');
is(as_role('bob', 'SELECT count(*) FROM h.nw_reference_scores'), '0', 'without seeing the scores');
like(as_role('bob', q{SELECT h.nw_conformal('s', 'mine')}), qr/must be owner of set "s"/, 'nor do they score anew');
like(as_role('bob', qq{SELECT h.$_}), qr/permission denied for set "p"/, "nor from prototypes: $_")
  foreach (q{nw_plausible('[1,1]', 'p')}, q{nw_conformal_evaluate('p', 'mine')}, q{nw_regress_interval('[1,1]', 'p')}, q{nw_evaluate_regression('p', 'mine')}, q{nw_conformal('p', 'mine')});
$node->safe_psql('one', 'REVOKE SELECT ON public.t FROM PUBLIC');
like(as_role('bob', q{SELECT h.nw_plausible('[1,1]', 's')}), qr/permission denied for table t/, 'nor without a right to the rows');
$node->safe_psql('one', 'GRANT SELECT ON public.t TO PUBLIC');

# Restored scores answer as before
$node->command_ok([ 'pg_dump', '-f', "$dir/answers.sql", '-d', $node->connstr('one') ], 'dump');
$node->safe_psql('postgres', 'CREATE DATABASE answers TEMPLATE template0');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/answers.sql", '-d', $node->connstr('answers') ], 'restore');
is(result('answers', $ask), as_role('alice', $ask), 'plausible labels are the same');

# Two who score one set take turns, and a change of the set in the meantime is no silent one
my $first = $node->background_psql('one', on_error_stop => 0);
$first->query_safe(q{SET SESSION AUTHORIZATION alice; BEGIN; SELECT h.nw_conformal('s')});
like(as_role('aide', q{SET lock_timeout = '200ms'; SELECT h.nw_conformal('s', method => 'adaptive')}), qr/canceling statement due to lock timeout/, 'a second one waits for the first');
like(as_role('aide', q{SET lock_timeout = '200ms'; SELECT h.nw_set_tau('s', 3)}), qr/canceling statement due to lock timeout/, 'as does a change of the set');
$first->query_safe('COMMIT');
$first->quit;
is(as_role('aide', q{SELECT scored_by FROM h.nw_conformal('s', method => 'adaptive'); SELECT string_agg(kind, ' ' ORDER BY kind) FROM h.nw_reference_scores WHERE set = 's'}),
	"adaptive\nadaptive residual", 'and replaces what it left');

# Prototypes that are added
$node->safe_psql('one', q{SET ROLE eve; SELECT h.nw_distill('mine', 'hers', calibrate => false)});
write_scores('hers', 'threshold', 'NULL', 2);
is(as_role('eve', q{INSERT INTO h.nw_saved (name, class, ordinal, vector, members, source_id, mass) VALUES ('hers', 'l9', 1, '[1,1]', 1, NULL, 1); SELECT count(*) FROM h.nw_reference_scores WHERE set = 'hers'}),
	'0', 'scores do not outlive a change of prototypes');

$node->stop;
done_testing();
