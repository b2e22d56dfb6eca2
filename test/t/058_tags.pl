# Labels of several values: row-level security, prototypes of others, dump and restore.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;

# Run a query as a role; returns what it prints, or its error.
sub as_role
{
	my ($role, $query) = @_;
	my ($ret, $stdout, $stderr) = $node->psql('postgres', "SET ROLE $role; SET client_min_messages = warning; $query");
	return $ret == 0 ? $stdout : $stderr;
}

$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION nwhead CASCADE;
	CREATE ROLE alice;
	CREATE ROLE bob;
	CREATE TABLE rows (id int PRIMARY KEY, embedding vector(1), label text[], tenant text);
	INSERT INTO rows VALUES (1, '[1]', '{a,"x y"}', 'alice'), (2, '[2]', '{a,b}', 'alice'),
		(3, '[1]', '{secret,"x y"}', 'bob'), (4, '[2]', '{}', 'bob');
	CREATE VIEW all_rows AS SELECT * FROM rows;
	CREATE VIEW own_rows WITH (security_invoker) AS SELECT * FROM rows;
	GRANT SELECT ON rows, all_rows, own_rows TO alice, bob;
	SELECT nw_register('s', 'rows', tau => 0.5, tags => true);
	SELECT nw_register('all', 'all_rows', tau => 0.5, tags => true);
	SELECT nw_register('own', 'own_rows', tau => 0.5, tags => true);
	SELECT nw_distill('s', 'few', 'closest', calibrate => false);
	ALTER TABLE rows ENABLE ROW LEVEL SECURITY;
	CREATE POLICY by_role ON rows FOR SELECT USING (tenant = current_user);
});

# Each role sees the tags of its own rows
my $tags = q{SELECT string_agg(tag, ',' ORDER BY tag COLLATE "C") FROM %s};
my %seen = (alice => 'a,b,x y', bob => 'secret,x y');
foreach my $role (sort keys %seen)
{
	is(as_role($role, sprintf($tags, q{nw_predict_tags('[1]', 's')})), $seen{$role}, "tags of $role");
	is(as_role($role, sprintf($tags, q{nw_predict_tags('[1]', 'own')})), $seen{$role}, 'through a view');
	is(as_role($role, sprintf($tags, q{nw_predict_tags('[1]', 'all')})),
		'a,b,secret,x y', "through a view with its owner's rights");
	is(as_role($role, sprintf($tags, q{nw_evaluate_tags('s', 's')})), $seen{$role}, 'in an evaluation');
	is(as_role($role, q{SELECT string_agg(support_id, ',' ORDER BY support_id) FROM nw_shapley('s')}),
		$role eq 'alice' ? '1,2' : '3,4', 'and the values of its own supports');
	like(as_role($role, q{SELECT * FROM nw_predict_tags('[1]', 'few')}), qr/permission denied for set "few"/, "others' prototypes are not for it");
	like(as_role($role, q{SELECT * FROM nw_evaluate_tags('few', 's')}), qr/permission denied for set "few"/, 'nor to evaluate');
	like(as_role($role, q{SELECT nw_alter_set('s', tags => false)}), qr/must be owner of set "s"/, 'nor to change');
}
is( as_role('alice', q{SELECT sum(probability) FROM nw_predict_tags('[1]', 's') WHERE tag = 'a'}),
	'1', 'rows of others have no weight');

# Whoever may not read the rows reads no tags
$node->safe_psql('postgres', 'REVOKE SELECT ON rows FROM bob');
foreach my $call (q{nw_predict_tags('[1]', 's')}, q{nw_evaluate_tags('s', 's')}, q{nw_shapley('s')})
{
	like(as_role('bob', "SELECT * FROM $call"), qr/permission denied for table rows/, "without privileges: $call");
}

# Dump and restore
my $answers = q{SELECT set, t.* FROM unnest('{s,all,own,few}'::text[]) AS set, nw_predict_tags('[1.3]', set) AS t};
my $sets = 'SELECT name, mode, tags FROM nw_sets ORDER BY name';
my $dump = PostgreSQL::Test::Utils::tempdir() . '/tags.dump';
$node->safe_psql('postgres', q{SELECT nw_register('plain', 'rows')});
$node->safe_psql('postgres', 'CREATE DATABASE again TEMPLATE template0');
$node->command_ok([ 'pg_dump', '-Fc', '-f', $dump, '-d', $node->connstr('postgres') ], 'dump');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr('again'), $dump ], 'restore');
is($node->safe_psql('again', $sets), $node->safe_psql('postgres', $sets), 'sets know whether they have tags');
is($node->safe_psql('again', $sets), "all|full|t\nfew|closest|t\nown|full|t\nplain|full|f\ns|full|t", 'these have');
is($node->safe_psql('again', $answers), $node->safe_psql('postgres', $answers), 'and give the same answers');

# A dump that somebody changed
$node->safe_psql(
	'again', q[
	CREATE TABLE changed AS SELECT * FROM nw_dump() WHERE name = 'few';
	SELECT nw_unregister('few');
	UPDATE changed SET class = '{a' WHERE class = '{}';
	INSERT INTO nw_saved SELECT * FROM changed ORDER BY class NULLS FIRST;
]);
my ($ret, $stdout, $stderr) = $node->psql('again', q{SELECT * FROM nw_predict_tags('[1]', 'few')});
like($stderr, qr/label "\{a" of set "few" is not an array/, 'labels that are no arrays are refused');

done_testing();
