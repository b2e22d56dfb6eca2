# Foreign tables, through postgres_fdw to the same cluster.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;

my ($host, $port) = ($node->host, $node->port);
$node->safe_psql('postgres', 'CREATE DATABASE remote; CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN');
$node->safe_psql(
	'remote', q{
	CREATE EXTENSION vector;
	CREATE TABLE rows (id int, embedding vector(3), label text, tenant text);
	INSERT INTO rows SELECT i, ARRAY[i % 13, i % 7, i % 5]::vector, 'c' || i % 4, CASE WHEN i % 2 = 0 THEN 'alice' ELSE 'bob' END
	  FROM generate_series(1, 200) AS i;
	GRANT SELECT ON rows TO alice, bob;
	ALTER TABLE rows ENABLE ROW LEVEL SECURITY;
	CREATE POLICY own ON rows USING (tenant = current_user);
});
$node->safe_psql(
	'postgres', qq{
	CREATE EXTENSION nwhead CASCADE;
	CREATE EXTENSION postgres_fdw;
	CREATE SERVER remote FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'remote', extensions 'vector');
	CREATE USER MAPPING FOR CURRENT_USER SERVER remote;
	CREATE USER MAPPING FOR alice SERVER remote OPTIONS (user 'alice', password_required 'false');
	CREATE USER MAPPING FOR bob SERVER remote OPTIONS (user 'bob', password_required 'false');
	CREATE FOREIGN TABLE rows (id int, embedding vector(3), label text, tenant text) SERVER remote;
	GRANT SELECT ON rows TO alice, bob;
	SELECT nw_register('foreign', 'rows');
	CREATE TABLE copy AS SELECT * FROM rows;
	SELECT nw_register('copy', 'copy');
	CREATE TABLE queries AS SELECT id, embedding AS e FROM copy WHERE id <= 10;
	GRANT SELECT ON queries, copy TO alice, bob;
	CREATE TABLE parts (id int, embedding vector(3), label text, tenant text) PARTITION BY RANGE (id);
	CREATE TABLE local_part PARTITION OF parts FOR VALUES FROM (1) TO (101);
	CREATE FOREIGN TABLE remote_part PARTITION OF parts FOR VALUES FROM (101) TO (1000) SERVER remote OPTIONS (table_name 'rest');
	INSERT INTO local_part SELECT * FROM copy WHERE id <= 100;
	GRANT SELECT ON parts TO alice, bob;
});
$node->safe_psql('remote', 'CREATE VIEW rest AS SELECT * FROM rows WHERE id > 100');
$node->safe_psql('postgres', "SELECT nw_register('mixed', 'parts')");

my $answers = q{SELECT string_agg(q.id || p::text, ' ' ORDER BY q.id, p.label) FROM queries AS q, nw_predict_proba(e, '%s') AS p};
my $expected = $node->safe_psql('postgres', sprintf($answers, 'copy'));
is($node->safe_psql('postgres', sprintf($answers, 'foreign')), $expected, 'a foreign table gives what a table gives');
is($node->safe_psql('postgres', sprintf($answers, 'mixed')), $expected, 'and so does a table with a foreign partition');
is($node->safe_psql('postgres', "SELECT count(*) FROM nw_weights('[1,2,3]', 'foreign', NULL)"), '200', 'ids of foreign rows');
is( $node->safe_psql('postgres', q{
		SELECT nw_vote(label, embedding <-> '[1,2,3]') = (SELECT jsonb_object_agg(label, probability) FROM nw_predict_proba('[1,2,3]', 'foreign')) FROM rows}),
	't',
	'a vote over foreign rows');

# Each role is itself over there
foreach my $role ('alice', 'bob')
{
	is( $node->safe_psql('postgres', "SET SESSION AUTHORIZATION $role; SELECT count(*) FROM nw_weights('[1,2,3]', 'foreign', NULL)"),
		'100', "$role sees half of the rows");
	is( $node->safe_psql('postgres', qq{SET SESSION AUTHORIZATION $role;
			SELECT bool_and(tenant = '$role') FROM nw_weights('[1,2,3]', 'foreign', NULL) JOIN copy ON id = support_id::int}),
		't',
		'and the right half');
}

# Remote changes are seen by the next statement, local settings at once
is( $node->safe_psql('postgres', q{
		BEGIN;
		UPDATE rows SET label = 'changed';
		SELECT nw_predict('[0,0,0]', 'foreign');
		ROLLBACK;
		SELECT nw_predict('[0,0,0]', 'foreign') = 'changed';}),
	"changed\nf",
	"the transaction's own changes");
is( $node->safe_psql('postgres', q{
		DO $$
		DECLARE
			q vector := '[0,0,0]';
			answers text;
		BEGIN
			FOR i IN 1..6 LOOP
				IF i = 4 THEN
					UPDATE rows SET label = 'changed';
				END IF;
				answers := concat_ws(' ', answers, (nw_predict(q, 'foreign') = 'changed')::text);
			END LOOP;
			PERFORM set_config('test.answers', answers, false);
		END
		$$;
		SELECT current_setting('test.answers');
		UPDATE rows SET label = 'c' || id % 4;}),
	'false false false true true true',
	'also within a block');
is($node->safe_psql('postgres', sprintf($answers, 'foreign')), $expected, 'all is as before');

# A server that is not there
$node->safe_psql('postgres', "ALTER SERVER remote OPTIONS (SET dbname 'nowhere')");
my ($ret, $stdout, $stderr) = $node->psql('postgres', "SELECT nw_predict('[0,0,0]', 'foreign')");
like($stderr, qr/could not connect to server "remote"/, 'a lost server is an error');
$node->safe_psql('postgres', "ALTER SERVER remote OPTIONS (SET dbname 'remote')");
is($node->safe_psql('postgres', sprintf($answers, 'foreign')), $expected, 'that passes');
($ret, $stdout, $stderr) = $node->psql('postgres', "SELECT nw_register('no id', 'rows', id => NULL)");
like($stderr, qr/set "no id" needs an id column/, 'foreign rows need an id column');

$node->stop;
done_testing();
