# Who owns a set: roles that are renamed, dropped or take another's OID; and copies
# of rows that do not outlive the set they are of.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use NwSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;

# Run statements as a role; return their output, or the error.
sub as_role
{
	my ($role, $sql) = @_;
	my ($ret, $stdout, $stderr) = $node->psql('postgres', "SET SESSION AUTHORIZATION $role; $sql");
	return $ret == 0 ? $stdout : $stderr;
}

my $copies = 'SELECT (SELECT count(*) FROM nw_prototype) + (SELECT count(*) FROM nw_diagnosed_influence) + (SELECT count(*) FROM nw_diagnosed_suspect)';
my $make = q{SELECT nw_register('%1$s', 'rows', tau => 1); SELECT nw_distill('%1$s', '%1$s few', 'closest', calibrate => false); SELECT nw_diagnose('%1$s', '%1$s', 1)};

$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION nwhead CASCADE;
	CREATE ROLE victim LOGIN;
	CREATE ROLE attacker LOGIN;
	CREATE ROLE other LOGIN;
	GRANT CREATE ON SCHEMA public TO victim, attacker, other;
	CREATE TABLE rows AS SELECT 'patient-' || i AS id, ARRAY[i, 1]::real[]::vector(2) AS embedding, 'disease-' || i % 2 AS label FROM generate_series(1, 8) AS i;
	CREATE TABLE harmless AS SELECT 1 AS id, '[1,1]'::vector(2) AS embedding, 'x' AS label;
	ALTER TABLE rows ADD PRIMARY KEY (id);
	ALTER TABLE harmless ADD PRIMARY KEY (id);
	GRANT SELECT ON rows TO victim, other;
	GRANT SELECT ON harmless TO PUBLIC;
});

# A set that is removed or replaced while it is diagnosed
my $one = open_session($node, on_error_stop => 0);
my $two = open_session($node, on_error_stop => 0);
$_->query_safe('SET SESSION AUTHORIZATION victim') foreach ($one, $two);

# Begin to diagnose in one session, do something in another that has to wait, and
# let the first end.
sub race
{
	my ($first, $second) = @_;
	$one->query_safe('BEGIN');
	$one->query_safe($first);
	$two->query_until(qr/begin/, "\\echo begin\n$second;\n");
	$node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND backend_type = 'client backend'")
	  or die 'the second session does not wait';
	$one->query_safe('COMMIT');
	$two->query('SELECT 1');
	my $error = $two->{stderr};
	$two->{stderr} = '';
	return $error;
}
as_role('victim', "SELECT nw_register('secret', 'rows', tau => 1)");
is(race("SELECT nw_diagnose('secret', 'secret')", "SELECT nw_unregister('secret')"), '', 'removed during a diagnosis: first the one, then the other');
is($node->safe_psql('postgres', $copies), '0', 'and no copies are left');
is(as_role('attacker', "SELECT nw_register('secret', 'harmless', tau => 1); SELECT count(*) FROM nw_suspect_supports"), "\n0", 'for who takes the name next');
as_role('attacker', "SELECT nw_unregister('secret')");
as_role('victim', "SELECT nw_register('secret', 'rows', tau => 1); SELECT nw_register('queries', 'rows', tau => 1)");
is(race("SELECT nw_diagnose('secret', 'queries')", "SELECT nw_unregister('queries')"), '', 'the same with the queries');
is($node->safe_psql('postgres', $copies), '0', 'no copies');
is(race("SELECT nw_diagnose('secret', 'secret')", "SELECT nw_register('secret', 'harmless', tau => 1, replace => true)"), '', 'replaced during a diagnosis');
is($node->safe_psql('postgres', $copies), '0', 'no copies');
as_role('victim', "SELECT nw_register('secret', 'rows', tau => 1, replace => true)");
like(race("SELECT nw_unregister('secret')", "SELECT nw_diagnose('secret', 'secret')"),
	qr/set "secret" was changed by a concurrent transaction/, 'diagnosed during its removal');
is($node->safe_psql('postgres', $copies), '0', 'no copies');
as_role('victim', "SELECT nw_register('secret', 'rows', tau => 1)");
is(race("SELECT nw_distill('secret', 'few', calibrate => false)", "SELECT nw_unregister('secret')"), '', 'removed while it is distilled');
is($node->safe_psql('postgres', $copies), '2', 'prototypes belong to the new set');
as_role('victim', "SELECT nw_unregister('few'); SELECT nw_register('secret', 'rows', tau => 1)");
is($node->safe_psql('postgres', $copies), '0', 'and go with it');
is(race("SELECT nw_diagnose('secret', 'secret', 1)", "SELECT nw_diagnose('secret', 'secret', 2)"), '', 'diagnosed twice at a time');
is($node->safe_psql('postgres', "SELECT count(DISTINCT rank), count(*) = count(DISTINCT (query_id, rank)) FROM nw_helpful_supports"), '2|t', 'the later diagnosis counts');
$one->query_safe("BEGIN; SELECT nw_diagnose('secret', 'secret');");
is(as_role('victim', "SELECT nw_set_tau('secret', 2)"), '', 'tau can be changed meanwhile');
is(as_role('attacker', "SELECT nw_register('another', 'harmless', tau => 1)"), '', 'and other sets registered');
$one->query_safe('COMMIT');

# By hand, too
$node->safe_psql('postgres', "SELECT nw_distill('secret', 'few', calibrate => false); DELETE FROM nw_registry");
is($node->safe_psql('postgres', $copies), '0', 'a superuser who deletes a set deletes its copies');
$node->safe_psql('postgres', 'DROP OWNED BY attacker; GRANT CREATE ON SCHEMA public TO attacker; GRANT SELECT ON harmless TO attacker');

# Renamed
as_role('victim', sprintf($make, 's'));
is(as_role('victim', $copies), '26', 'copies of rows');
$node->safe_psql('postgres', 'ALTER ROLE victim RENAME TO renamed; CREATE ROLE victim LOGIN');
is(as_role('renamed', "$copies; SELECT nw_set_tau('s', 3); SELECT DISTINCT owner FROM nw_sets"), "26\n\nrenamed", 'a role that is renamed keeps its sets');
is(as_role('victim', $copies), '0', 'its old name gives no right to them');
like(as_role('victim', "SELECT nw_unregister('s')"), qr/must be owner of set "s".*belongs to role "renamed"/s, 'to none of them');

# Dropped
my ($ret, $stdout, $stderr) = $node->psql('postgres', 'DROP ROLE renamed');
like($stderr, qr/role "renamed" cannot be dropped because some objects depend on it/, 'a role that owns sets cannot be dropped');
my $oid = $node->safe_psql('postgres', "SELECT 'renamed'::regrole::oid");
$node->safe_psql('postgres', 'REASSIGN OWNED BY renamed TO other; DROP OWNED BY renamed');
is(as_role('renamed', $copies), '0', 'unless it owns nothing any more');
is(as_role('other', $copies), '0', 'nor has anyone else its sets');
$node->safe_psql('postgres', 'DROP ROLE renamed');
is(as_role('victim', $copies), '0', 'copies of a role that is gone');
is($node->safe_psql('postgres', $copies), '26', "are the superuser's");
is($node->safe_psql('postgres', "SELECT DISTINCT owner IS NULL FROM nw_sets; SELECT nw_predict('[1,1]'::vector, 's few')"), "t\ndisease-1", 'to see and use');
like(as_role('victim', "SELECT nw_predict('[1,1]'::vector, 's few')"), qr/permission denied for set "s few".*the role that owned them is gone/s, 'and no one else');
like(as_role('victim', "SELECT nw_set_tau('s', 1)"), qr/must be owner of set "s".*is gone; a superuser can remove it/s, 'nor to change');

# Its OID given to another
$node->safe_psql('postgres', qq{
	CREATE ROLE successor LOGIN;
	SET allow_system_table_mods = on;
	UPDATE pg_authid SET oid = $oid WHERE rolname = 'successor'});
$node->safe_psql('postgres', 'GRANT CREATE ON SCHEMA public TO successor');
is($node->safe_psql('postgres', "SELECT owner::oid = 'successor'::regrole FROM nw_registry WHERE name = 's'"), 't', 'another role has the OID');
is(as_role('successor', $copies), '0', 'but not the copies');
like(as_role('successor', "SELECT nw_set_tau('s', 1)"), qr/must be owner of set "s"/, 'nor the set');
is(as_role('successor', "SELECT nw_register('mine', 'harmless', tau => 1); SELECT nw_set_tau('mine', 2)"), "\n", 'it can own sets');
is(as_role('successor', $copies), '0', 'which gives it no others');
like(as_role('successor', "SELECT nw_unregister('s')"), qr/must be owner of set "s"/, 'not one');
is(as_role('successor', "SELECT nw_unregister('mine')"), '', 'when its last set is gone');
is($node->safe_psql('postgres', 'DROP OWNED BY successor; DROP ROLE successor'), '', 'it can be dropped');
is($node->safe_psql('postgres', "SELECT nw_unregister('s'); SELECT nw_unregister('s few'); $copies"), "\n\n0", 'a superuser removes what is left');

# Code that runs meanwhile in the same session removes the set
my $superuser = $node->safe_psql('postgres', 'SELECT current_user');
$node->safe_psql('postgres', q{
	CREATE FUNCTION removing(i int, l text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN
		IF i = 5 AND current_setting('my.remove', true) = 'on' THEN PERFORM set_config('my.remove', 'off', true); PERFORM nw_unregister('removing'); END IF;
		RETURN l; END $$;
	CREATE TABLE plain AS SELECT i AS id, ARRAY[i]::vector AS embedding, 'l' || i % 2 AS label FROM generate_series(1, 8) AS i;
	CREATE VIEW removing AS SELECT id, embedding, removing(id, label) AS label FROM plain;
	SELECT nw_register('removing', 'removing', tau => 1)});
like(as_role($superuser, q{SET my.remove = 'on'; SELECT nw_diagnose('removing', 'removing')}),
	qr/set "removing" was changed/, 'a set removed by its own view');
is($node->safe_psql('postgres', "$copies; SELECT nw_diagnose('removing', 'removing') > 0; SELECT nw_unregister('removing'); $copies"), "0\nt\n\n0", 'leaves no copies');
$node->safe_psql('postgres', q{SELECT nw_register('removing', 'plain', tau => 1); SELECT nw_distill('removing', 'few', calibrate => false)});
like(as_role($superuser, q{CREATE FUNCTION last(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN IF i = 3 THEN PERFORM nw_unregister('few'); END IF; RETURN i; END $$;
	INSERT INTO nw_saved (name, class, ordinal, vector, members, source_id, mass) SELECT 'few', 'a', last(g), '[1]', 1, NULL, 1 FROM generate_series(1, 5) AS g}),
	qr/set "few" was changed/, 'a set removed while it is restored');
is($node->safe_psql('postgres', "SELECT nw_unregister('few'); SELECT nw_unregister('removing'); $copies"), "\n\n0", 'leaves none either');

# A role without sets is dropped as any other
as_role('victim', "SELECT nw_register('s', 'harmless', tau => 1); SELECT nw_unregister('s')");
is($node->safe_psql('postgres', 'DROP ROLE victim'), '', 'a role that had sets');

# What pg_upgrade leaves: the rows, and no privileges of row types
as_role('other', sprintf($make, 's'));
as_role('attacker', "SELECT nw_register('a', 'harmless', tau => 1)");
$node->safe_psql('postgres', "UPDATE pg_type SET typacl = NULL WHERE oid = 'nw_registry'::regtype");
is(as_role('other', $copies), '26', 'after an upgrade, owners still own');
is(as_role('attacker', $copies), '0', 'and nobody else');
as_role('attacker', "SELECT nw_register('b', 'harmless', tau => 1)");
is(as_role('other', "$copies; SELECT nw_unregister('s few')"), "26\n", 'also when others have registered');
is(as_role('attacker', "SELECT nw_unregister('a'); SELECT nw_unregister('b')"), "\n", 'and they their own');

$one->quit;
$two->quit;
$node->stop;
done_testing();
