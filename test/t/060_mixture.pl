# Mixtures: each member is read as its caller reads it, and they follow names, come
# back from dumps, share the cache of a statement and end when they are asked to.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);
use NwSession;

# Generous: a cancelled statement ends within milliseconds.
my $patience = 5;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;

# Run a statement as a role; return its output, or its error.
sub as_role
{
	my ($role, $sql, $database) = @_;
	my ($ret, $stdout, $stderr) = $node->psql($database // 'postgres', "SET ROLE $role; $sql");
	return $ret == 0 ? $stdout : $stderr;
}

$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION nwhead CASCADE;
	CREATE ROLE owner;
	CREATE ROLE other;
	CREATE ROLE mixer;
	GRANT CREATE ON SCHEMA public TO owner, mixer;
	CREATE TABLE open_rows (id int, embedding vector(2), label text, reader name DEFAULT 'other');
	INSERT INTO open_rows VALUES (1, '[0,0]', 'gull', 'other'), (2, '[4,0]', 'heron', 'other'), (3, '[0,4]', 'gull', 'owner');
	CREATE TABLE secret_rows (id int, embedding vector(2), label text);
	INSERT INTO secret_rows VALUES (7001, '[0,0]', 'hidden'), (7002, '[4,0]', 'heron');
	CREATE TABLE q (id int, embedding vector(2), label text);
	INSERT INTO q VALUES (1, '[1,0]', 'gull'), (2, '[3,0]', 'heron');
	GRANT SELECT ON open_rows, secret_rows, q TO owner;
	GRANT SELECT ON open_rows, q TO other, mixer;
	SET ROLE owner;
	SELECT nw_register('open', 'open_rows', tau => 1);
	SELECT nw_register('secret', 'secret_rows', tau => 2);
	SELECT nw_register('q', 'q', tau => 1);
	SELECT nw_distill('open', 'few', calibrate => false);
	SET ROLE mixer;
	SELECT nw_register_mixture('a mix', '{open,secret}', '{1,2}');
	SELECT nw_register_mixture('b mix', '{open,few}');
	SELECT nw_register_mixture('c mix', '{open}');
});

# Privileges: of the caller, for each member
my %calls = (
	nw_predict => q{SELECT nw_predict('[1,0]', '%s')},
	nw_classify => q{SELECT nw_classify('[1,0]', '%s')},
	nw_predict_proba => q{SELECT * FROM nw_predict_proba('[1,0]', '%s')},
	nw_weights => q{SELECT * FROM nw_weights('[1,0]', '%s')},
	nw_influence => q{SELECT * FROM nw_influence('[1,0]', 'gull', '%s')},
	nw_explain => q{SELECT nw_explain('[1,0]', '%s')},
	nw_regress => q{SELECT nw_regress('[1,0]', '%s')},
	nw_predict_set => q{SELECT * FROM nw_predict_set('%s', 'q')},
	nw_evaluate => q{SELECT * FROM nw_evaluate('%s', 'q')},
	nw_confusion => q{SELECT * FROM nw_confusion('%s', 'q')},
	nw_class_report => q{SELECT * FROM nw_class_report('%s', 'q')},
	nw_reliability => q{SELECT * FROM nw_reliability('%s', 'q')},
	nw_coverage => q{SELECT * FROM nw_coverage('%s', 'q')},
	nw_threshold => q{SELECT * FROM nw_threshold('%s', 'q', 0.5)});

foreach my $function (sort keys %calls)
{
	my $secret = as_role('other', sprintf($calls{$function}, 'a mix'));
	like($secret, qr/permission denied for table secret_rows/, "$function needs the right to each member");
	unlike($secret, qr/hidden|700[12]/, 'and shows nothing of those it may not read');
	like(as_role('other', sprintf($calls{$function}, 'b mix')), qr/permission denied for set "few"/, 'nor of prototypes');
	unlike(as_role('owner', sprintf($calls{$function}, 'a mix')), qr/permission denied/, 'which its owner may read');
}
is(as_role('owner', q{SELECT label FROM nw_predict_proba('[0,0]', 'a mix') ORDER BY label}), "gull\nheron\nhidden", 'who sees all classes');
like(as_role('mixer', q{SELECT nw_predict('[0,0]', 'a mix')}), qr/permission denied for table secret_rows/, 'not so who registered the mixture');
like(as_role('other', q{SELECT nw_register_mixture('mine', '{open}')}), qr/permission denied to register a set/, 'registering needs a right');
like(as_role('owner', q{SELECT nw_register_mixture('a mix', '{open}', replace => true)}), qr/must be owner of set "a mix"/, 'and replacing another');
like(as_role('owner', q{SELECT nw_unregister('a mix')}), qr/must be owner of set "a mix"/, 'and removing');

# Row-level security
$node->safe_psql(
	'postgres', q{
	ALTER TABLE open_rows ENABLE ROW LEVEL SECURITY;
	CREATE POLICY own ON open_rows FOR SELECT USING (reader = current_user);
});
my $ids = q{SELECT string_agg(support_id, ' ' ORDER BY support_id) FROM nw_weights('[1,1]', 'c mix')};
is(as_role('other', $ids), '1 2', 'a reader predicts from its rows');
is(as_role('owner', $ids), '3', 'and another from its own');
is(as_role('owner', q{SELECT count(*) FROM nw_weights('[1,1]', 'a mix')}), '3', 'together with those of another member');
is(as_role('mixer', q{SELECT nw_predict('[1,1]', 'c mix', empty_ok => true) IS NULL}), 't', 'who sees none gets nothing');
like(as_role('mixer', q{SELECT nw_predict('[1,1]', 'c mix')}), qr/set "c mix" has no support/, 'or an error');
$node->safe_psql('postgres', 'ALTER TABLE open_rows DISABLE ROW LEVEL SECURITY');

# Dump and restore: mixtures come before their members there, by name
$node->safe_psql('postgres', q{SELECT nw_alter_set('a mix', temper => 0.75)});
my $dir = PostgreSQL::Test::Utils::tempdir();
my $state = q{SELECT name, mode, members, shares, temper, kernel, tau, owner, status FROM nw_sets ORDER BY name};
my $answers = q{SELECT s.name, p.* FROM nw_sets AS s, nw_predict_proba('[1,0]', s.name) AS p WHERE s.mode = 'mixture' ORDER BY s.name, p.rank};
foreach my $format ('custom', 'plain')
{
	$node->command_ok([ 'pg_dump', "--format=$format", '-f', "$dir/$format", '-d', $node->connstr('postgres') ], "dump, $format");
	$node->safe_psql('postgres', "CREATE DATABASE $format TEMPLATE template0");
	if ($format eq 'plain')
	{
		$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/plain", '-d', $node->connstr('plain') ], 'restore');
	}
	else
	{
		$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr($format), "$dir/$format" ], 'restore');
	}
	is($node->safe_psql($format, $state), $node->safe_psql('postgres', $state), 'the sets are the same');
	is($node->safe_psql($format, $answers), $node->safe_psql('postgres', $answers), 'and say the same');
}
my %bad = (
	'no members' => q{('x', 'mixture', false, 1, NULL, NULL, NULL)},
	'no shares' => q{('x', 'mixture', false, 1, '{open}', NULL, NULL)},
	'too few shares' => q{('x', 'mixture', false, 1, '{open,secret}', '{1}', NULL)},
	'a null' => q{('x', 'mixture', false, 1, '{open,NULL}', '{1,1}', NULL)},
	'a share that is none' => q{('x', 'mixture', false, 1, '{open}', '{NaN}', NULL)},
	'two dimensions' => q{('x', 'mixture', false, 1, '{{open}}', '{{1}}', NULL)},
	'a temperature' => q{('x', 'mixture', false, 1, '{open}', '{1}', 2)});
foreach my $what (sort keys %bad)
{
	my (undef, undef, $stderr) = $node->psql('plain',
		"INSERT INTO nw_saved (name, mode, centroids, temper, mixture, shares, tau) VALUES $bad{$what}");
	like($stderr, qr/set "x" cannot be restored from these values/, "a dump with $what is refused");
}

# Damage, by a superuser's hand
foreach my $damage (q{members = NULL}, q{members = '{}'}, q{shares = '{1}'}, q{shares = '{1,-1}'}, q{members = '{{open,secret}}'}, q{shares = '{1,NULL}'})
{
	my (undef, undef, $stderr) =
	  $node->psql('plain', "UPDATE nw_registry SET $damage WHERE name = 'a mix'; SELECT nw_predict('[1,0]', 'a mix')");
	like($stderr, qr/the registry's entry of set "a mix" is damaged/, "damage is found: $damage");
	$node->safe_psql('plain', q{UPDATE nw_registry SET members = '{open,secret}', shares = '{1,2}' WHERE name = 'a mix'});
}
foreach my $member ('a mix', 'b mix')
{
	my $set = qq{UPDATE nw_registry SET members = '{open,"$member"}' WHERE name = 'a mix'; };
	foreach my $call (q{SELECT nw_predict('[1,0]', 'a mix')}, q{SELECT * FROM nw_evaluate('a mix', 'q')})
	{
		my (undef, undef, $stderr) = $node->psql('plain', $set . $call);
		like($stderr, qr/set "$member" is a mixture, which cannot be a member of another/, 'a mixture of mixtures answers nothing');
	}
}
is($node->safe_psql('plain', q{SELECT status FROM nw_sets WHERE name = 'a mix'}), 'member not ready', 'and says so');

# Names: who registers a mixture keeps its members from being renamed or removed
my $session = open_session($node);
$session->query_safe(q{BEGIN; SELECT nw_register_mixture('new mix', '{open,secret}')});
foreach my $change (q{nw_alter_set('secret', new_name => 'public')}, q{nw_unregister('open')})
{
	my (undef, undef, $stderr) = $node->psql('postgres', "SET lock_timeout = '100ms'; SELECT $change");
	like($stderr, qr/canceling statement due to lock timeout/, "$change waits");
}
$session->query_safe('COMMIT');
$session->query_safe(q{BEGIN; SELECT nw_alter_set('secret', new_name => 'public')});
my (undef, undef, $stderr) = $node->psql('postgres', q{SET lock_timeout = '100ms'; SELECT nw_register_mixture('late', '{secret}')});
like($stderr, qr/canceling statement due to lock timeout/, 'and waits for such changes');
$session->query_safe('COMMIT');
is($node->safe_psql('postgres', q{SELECT members FROM nw_sets WHERE name IN ('a mix', 'new mix')}), "{open,public}\n{open,public}", 'mixtures follow a new name');
$session->query_safe(q{BEGIN; SELECT nw_alter_set('public', new_name => 'secret')});
$session->query_safe('ROLLBACK');
is($node->safe_psql('postgres', q{SELECT members FROM nw_sets WHERE name = 'a mix'}), '{open,public}', 'which may be taken back');
$session->quit;

# The cache of a statement: members that fit together, one by one, or not at all
$node->safe_psql(
	'postgres', q{
	CREATE TABLE large AS SELECT i AS id, ARRAY[i % 97, i % 89, i % 83, i % 79, i % 73, i % 71, i % 67, i % 61]::vector AS embedding,
			'some label of class ' || i % 100 AS label FROM generate_series(1, 20000) AS i;
	CREATE TABLE larger AS SELECT id, embedding, 'another label of class ' || id % 100 AS label FROM large;
	INSERT INTO larger SELECT id, embedding, label FROM large WHERE id < 2000;
	SELECT nw_register('large', 'large', tau => 3), nw_register('larger', 'larger', tau => 5);
	SELECT nw_register_mixture('of large', '{large,larger}', '{2,1}');
	CREATE TABLE asked AS SELECT id, embedding FROM large WHERE id <= 40;
});
my $many = q{SELECT a.id, c.* FROM asked AS a, nw_classify(a.embedding, 'of large') AS c ORDER BY a.id};
my $weights = q{SELECT a.id, w.* FROM asked AS a, nw_weights(a.embedding, 'of large', top => 20, exclude => '{}') AS w ORDER BY a.id, w.rank};
my $expected = $node->safe_psql('postgres', "SET nwhead.statement_cache = 0; $many");
my $expected_weights = $node->safe_psql('postgres', "SET nwhead.statement_cache = 0; $weights");
foreach my $size ('1MB', '1500kB', '3MB', '64MB')
{
	is($node->safe_psql('postgres', "SET nwhead.statement_cache = '$size'; $many"), $expected, "a cache of $size changes nothing");
	is($node->safe_psql('postgres', "SET nwhead.statement_cache = '$size'; $weights"), $expected_weights, 'nor weights');
}
is( $node->safe_psql('postgres', q{
		BEGIN;
		SELECT nw_predict('[0,0,0,0,0,0,0,0]', 'of large', classes => '{new}', empty_ok => true) IS NULL;
		INSERT INTO larger VALUES (0, '[0,0,0,0,0,0,0,0]', 'new');
		SELECT nw_predict('[0,0,0,0,0,0,0,0]', 'of large', classes => '{new}', empty_ok => true);
		ROLLBACK}),
	"t\nnew", 'a new row of a member counts at once');

# Cancel
$node->safe_psql(
	'postgres', q{
	CREATE VIEW endless AS SELECT a.id, a.embedding, a.label FROM large AS a, large AS b, large AS c;
	SELECT nw_register('endless', 'endless', tau => 1);
	SELECT nw_register_mixture('for long', '{large,endless}');
	SELECT nw_register('many', 'large', tau => 1);
});
my %long = (
	'a long scan' => q{SELECT nw_predict('[1,2,3,4,5,6,7,8]', 'for long')},
	'many predictions' => q{SELECT count(nw_predict(a.embedding, 'of large')) FROM large AS a, large AS b},
	'a whole set' => q{SELECT nw_evaluate('of large', 'many')},
	'a whole set, streamed' => q{SET nwhead.statement_cache = '64kB'; SELECT nw_evaluate('of large', 'many')});
foreach my $name (sort keys %long)
{
	my $start = time;
	(undef, undef, $stderr) = $node->psql('postgres', "SET statement_timeout = '300ms'; $long{$name}");
	like($stderr, qr/canceling statement due to statement timeout/, "statement_timeout ends $name");
	cmp_ok(time - $start, '<', $patience, 'soon');
}

# Scores are of the members as they were read, whatever commits in between
$node->safe_psql('postgres', q{
	SET client_min_messages = error;
	CREATE TABLE part (id int PRIMARY KEY, embedding vector(1), label text);
	INSERT INTO part SELECT i, ARRAY[i % 7], 'l' || i % 2 FROM generate_series(1, 40) AS i;
	SELECT nw_register('part 1', 'part'), nw_register('part 2', 'part'), nw_register('parts tried', 'part');
	SELECT nw_register_mixture('parts', ARRAY['part 1', 'part 2']);
});
my $slow = $node->background_psql('postgres');
$slow->query_safe(q{BEGIN; SELECT nw_set_tau('part 1', 0.01)});
$node->safe_psql('postgres', q{
	SELECT nw_alter_set('parts', temper => 1.01);
	SELECT n FROM nw_conformal('parts', 'parts tried', leave_one_out => false)});
is($node->safe_psql('postgres', q{SELECT nw_plausible('[3]', 'parts') IS NOT NULL}), 't', 'scores of members as they are seen');
$slow->query_safe('COMMIT');
(undef, undef, $stderr) = $node->psql('postgres', q{SELECT nw_plausible('[3]', 'parts')});
like($stderr, qr/are of an earlier state/, 'do not hold for members as they are now');

# A mixture that gets another name meanwhile follows its member all the same
$slow->query_safe(q{BEGIN; SELECT nw_alter_set('parts', new_name => 'both parts')});
my $waiting = $node->background_psql('postgres');
$waiting->query_until(qr/begun/, q{\echo begun
SELECT nw_alter_set('part 1', new_name => 'first part');
});
$node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_locks WHERE NOT granted}) or die 'nobody waits';
$slow->query_safe('COMMIT');
$slow->quit;
$waiting->quit;
is($node->safe_psql('postgres', q{SELECT members FROM nw_sets WHERE name = 'both parts'}), '{"first part","part 2"}', 'and has its new name');

$node->stop;
done_testing();
