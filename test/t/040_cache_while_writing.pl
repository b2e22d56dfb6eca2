# The statement cache while a statement writes: a set that is being written is
# read anew, any other is read once.  What a statement answers and writes must
# be what it is without a cache.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 'logical');
$node->append_conf('postgresql.conf', "autovacuum = off\nmax_parallel_workers_per_gather = 0");
$node->start;

# The label of a new row is the id of the row nearest to it, so that labels tell
# which rows were seen.
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION nwhead CASCADE;
	CREATE TABLE own (id int PRIMARY KEY, embedding vector(1), label text);
	INSERT INTO own VALUES (0, '[0]', 'first');
	CREATE TABLE heard (n serial, id int, label text);
	CREATE FUNCTION nearest(e vector, s text) RETURNS text LANGUAGE plpgsql AS $$
	BEGIN
		RETURN (SELECT string_agg(support_id, ' ') FROM nw_weights(e, s, 1));
	END $$;
	CREATE FUNCTION ask(e vector, s text) RETURNS text LANGUAGE plpgsql STABLE AS $$
	BEGIN
		RETURN (SELECT string_agg(support_id, ' ') FROM nw_weights(e, s, 1));
	END $$;
	CREATE FUNCTION label_row() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		NEW.label := nearest(NEW.embedding, TG_ARGV[0]);
		RETURN NEW;
	END $$;
	CREATE FUNCTION hear_row() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO heard (id, label) VALUES (coalesce(NEW.id, OLD.id), nearest(coalesce(NEW.embedding, OLD.embedding), TG_ARGV[0]));
		RETURN coalesce(NEW, OLD);
	END $$;
	SELECT nw_register('own', 'own');
	CREATE TABLE parts (id int, embedding vector(1), label text) PARTITION BY RANGE (id);
	CREATE TABLE low PARTITION OF parts FOR VALUES FROM (0) TO (100) PARTITION BY RANGE (id);
	CREATE TABLE lowest PARTITION OF low FOR VALUES FROM (0) TO (50);
	CREATE TABLE lower PARTITION OF low FOR VALUES FROM (50) TO (100);
	CREATE TABLE high PARTITION OF parts FOR VALUES FROM (100) TO (200);
	INSERT INTO parts VALUES (0, '[0]', 'first');
	SELECT nw_register('parts', 'parts'), nw_register('lowest', 'lowest');
	CREATE TABLE parent (id int, embedding vector(1), label text);
	CREATE TABLE child () INHERITS (parent);
	INSERT INTO child VALUES (0, '[0]', 'first');
	SELECT nw_register('parent', 'parent'), nw_register('child', 'child');
	CREATE VIEW seen AS SELECT id, embedding, label FROM own WHERE id >= 0;
	SELECT nw_register('seen', 'seen');
	CREATE TABLE other (id int, embedding vector(1), label text);
});

my $five = "generate_series(1, 5) AS i";
my $new = "i, ARRAY[i]::float4[]::vector, NULL";

# Run statements and roll them back, with a cache and without one; in a session
# that knows the library, and in one that loads it on the way.
sub outcome
{
	my ($statements, $cache, $loaded) = @_;
	my ($stdout, $stderr);
	$node->psql('postgres', ($loaded ? "LOAD 'nwhead'; " : '') . "SET client_min_messages = error; SET nwhead.statement_cache = '$cache'; BEGIN; $statements\nROLLBACK;",
		stdout => \$stdout, stderr => \$stderr);
	return $stdout . $stderr;
}

# Compare with what the answers are without a cache, and with what they must be.
sub same
{
	my ($name, $statements, $expected) = @_;
	is(outcome($statements, '1GB', 1), $expected, $name);
	is(outcome($statements, '1GB', 0), $expected, "$name, the library loaded on the way");
	is(outcome($statements, '0', 1), $expected, "$name, without a cache");
	return;
}

my $labels = sub { "SELECT string_agg(id || '<' || label, ' ' ORDER BY id) FROM $_[0] WHERE id > 0;" };
my $heard = "SELECT string_agg(id || '<' || label, ' ' ORDER BY n) FROM heard;";
my $trigger = sub {
	my ($when, $table, $function, $set) = @_;
	return "CREATE TRIGGER t $when ON $table FOR EACH ROW EXECUTE FUNCTION $function('$set');";
};
my $chain = '1<0 2<1 3<2 4<3 5<4';

# The set's own table
same('BEFORE INSERT', $trigger->('BEFORE INSERT', 'own', 'label_row', 'own') . "INSERT INTO own SELECT $new FROM $five;" . $labels->('own'), $chain);
same('BEFORE INSERT of a view of the table',
	$trigger->('BEFORE INSERT', 'own', 'label_row', 'seen') . "INSERT INTO own SELECT $new FROM $five;" . $labels->('own'), $chain);
same('INSERT through a view', $trigger->('BEFORE INSERT', 'own', 'label_row', 'own') . "INSERT INTO seen SELECT $new FROM $five;" . $labels->('own'), $chain);
same('a volatile function in INSERT', "INSERT INTO own SELECT i, ARRAY[i]::float4[]::vector, nearest(ARRAY[i]::float4[]::vector, 'own') FROM $five;" . $labels->('own'), $chain);
same('a stable function in INSERT', "INSERT INTO own SELECT i, ARRAY[i]::float4[]::vector, ask(ARRAY[i]::float4[]::vector, 'own') FROM $five;" . $labels->('own'),
	'1<0 2<0 3<0 4<0 5<0');
same('INSERT ... RETURNING', "INSERT INTO own SELECT i, ARRAY[i]::float4[]::vector, 'x' FROM $five RETURNING nearest(ARRAY[id + 0.4]::float4[]::vector, 'own');", "1\n2\n3\n4\n5");
same('AFTER INSERT', $trigger->('AFTER INSERT', 'own', 'hear_row', 'own') . "INSERT INTO own SELECT i, ARRAY[i]::float4[]::vector, 'x' FROM $five; $heard", '1<1 2<2 3<3 4<4 5<5');
same('COPY', $trigger->('BEFORE INSERT', 'own', 'label_row', 'own') . "\nCOPY own FROM STDIN;\n" . join('', map { "$_\t[$_]\t\\N\n" } 1 .. 5) . "\\.\n" . $labels->('own'), $chain);
my $fill = "INSERT INTO own SELECT $new FROM $five;";
same('UPDATE', "$fill UPDATE own SET label = nearest(embedding, 'own') WHERE id > 0;" . $labels->('own'), $chain);
same('UPDATE and a trigger', $fill . $trigger->('BEFORE UPDATE', 'own', 'label_row', 'own') . "UPDATE own SET label = 'x' WHERE id > 0;" . $labels->('own'), $chain);
my $filled = "INSERT INTO own SELECT i, ARRAY[i]::float4[]::vector, 'x' FROM $five;";
same('DELETE', "$filled DELETE FROM own WHERE id > 0 RETURNING id || '<' || nearest(embedding, 'own');", "1<0\n2<3\n3<4\n4<5\n5<0");
same('DELETE and a trigger', $filled . $trigger->('BEFORE DELETE', 'own', 'hear_row', 'own') . "DELETE FROM own WHERE id > 0; $heard", '1<1 2<2 3<3 4<4 5<5');
same('MERGE', $trigger->('BEFORE INSERT OR UPDATE', 'own', 'label_row', 'own') . "INSERT INTO own VALUES (3, '[3]', NULL);
	SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off;
	MERGE INTO own USING (SELECT i FROM $five ORDER BY i) AS n ON own.id = n.i
	WHEN MATCHED THEN UPDATE SET embedding = '[2.6]' WHEN NOT MATCHED THEN INSERT VALUES (i, ARRAY[i]::float4[]::vector, NULL);" . $labels->('own'),
	'1<0 2<1 3<3 4<3 5<4');
same('INSERT ... ON CONFLICT', $trigger->('BEFORE INSERT OR UPDATE', 'own', 'label_row', 'own') . "INSERT INTO own VALUES (3, '[3]', NULL);
	INSERT INTO own SELECT $new FROM $five ON CONFLICT (id) DO UPDATE SET embedding = '[4.4]';" . $labels->('own'),
	'1<0 2<1 3<3 4<3 5<3');

# Other ways to write it
same('a modifying WITH query', "WITH w AS (INSERT INTO own SELECT i, ARRAY[i]::float4[]::vector, 'x' FROM $five RETURNING id)
	SELECT id || '<' || nearest(ARRAY[id + 0.4]::float4[]::vector, 'own') FROM w;", "1<1\n2<2\n3<3\n4<4\n5<5");
same('one that nothing reads', $trigger->('BEFORE INSERT', 'own', 'label_row', 'own') . "WITH w AS (INSERT INTO own SELECT $new FROM $five) SELECT nearest('[9]', 'own');" . $labels->('own'),
	"0\n$chain");
same('a rule', "CREATE RULE r AS ON INSERT TO other DO INSTEAD INSERT INTO own SELECT NEW.id, NEW.embedding, NEW.label;"
	. $trigger->('BEFORE INSERT', 'own', 'label_row', 'own') . "INSERT INTO other SELECT $new FROM $five;" . $labels->('own'), $chain);
same('a trigger of another table', "CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS \$\$
	BEGIN
		NEW.label := nearest(NEW.embedding, 'own');
		INSERT INTO own SELECT NEW.id, NEW.embedding, NEW.label;
		RETURN NEW;
	END \$\$;" . $trigger->('BEFORE INSERT', 'other', 'pass', '') . "INSERT INTO other SELECT $new FROM $five;" . $labels->('other'), $chain);
same('a foreign key', "CREATE TABLE dep (id int, embedding vector(1), label text, own int REFERENCES own ON UPDATE CASCADE ON DELETE CASCADE);
	INSERT INTO dep SELECT i, ARRAY[i]::float4[]::vector, 'x', 0 FROM $five; SELECT nw_register('dep', 'dep');"
	. $trigger->('BEFORE UPDATE OR DELETE', 'dep', 'hear_row', 'dep')
	. "UPDATE own SET id = 7; UPDATE dep SET embedding = '[100]' WHERE id = 1; DELETE FROM own; $heard", "\n1<1 2<2 3<3 4<4 5<5 1<5 2<2 3<3 4<4 5<5 1<1");
same('a loop over rows being written', $trigger->('BEFORE INSERT', 'own', 'label_row', 'own') . "DO \$\$
	DECLARE r record;
	BEGIN
		FOR r IN INSERT INTO own SELECT $new FROM $five RETURNING id LOOP
			INSERT INTO heard (id, label) VALUES (r.id, nearest(ARRAY[r.id + 0.4]::float4[]::vector, 'own'));
		END LOOP;
	END \$\$;" . $labels->('own') . $heard, "$chain\n1<1 2<2 3<3 4<4 5<5");
same('a cursor opened by a trigger', "CREATE FUNCTION by_cursor() RETURNS trigger LANGUAGE plpgsql AS \$\$
	DECLARE c CURSOR FOR SELECT nearest(NEW.embedding, 'own') AS l, ask(NEW.embedding, 'own') AS m;
	BEGIN
		OPEN c;
		FETCH c INTO NEW.label;
		CLOSE c;
		RETURN NEW;
	END \$\$;" . $trigger->('BEFORE INSERT', 'own', 'by_cursor', '') . "INSERT INTO own SELECT $new FROM $five;" . $labels->('own'), $chain);
same('a subtransaction in a trigger', "CREATE FUNCTION within() RETURNS trigger LANGUAGE plpgsql AS \$\$
	BEGIN
		BEGIN
			NEW.label := nearest(NEW.embedding, 'own');
			PERFORM 1 / (NEW.id % 2);
		EXCEPTION WHEN division_by_zero THEN
			NEW.label := nearest(NEW.embedding, 'own') || '!';
		END;
		RETURN NEW;
	END \$\$;" . $trigger->('BEFORE INSERT', 'own', 'within', '') . "INSERT INTO own SELECT $new FROM $five;" . $labels->('own'), '1<0 2<1! 3<2 4<3! 5<4');
same('CREATE TABLE AS', "CREATE TABLE made AS SELECT * FROM own; SELECT nw_register('made', 'made'); DROP TABLE made;
	CREATE TABLE made AS SELECT i AS id, ARRAY[i]::float4[]::vector(1) AS embedding,
		CASE i WHEN 1 THEN '-' ELSE nearest(ARRAY[i]::float4[]::vector, 'made') END AS label FROM $five;" . $labels->('made'), "\n1<- 2<1 3<2 4<3 5<4");
same('EXPLAIN ANALYZE', $trigger->('BEFORE INSERT', 'own', 'label_row', 'own')
	. "DO \$\$ BEGIN EXECUTE 'EXPLAIN (ANALYZE) INSERT INTO own SELECT $new FROM $five'; END \$\$;" . $labels->('own'), $chain);
same('a statement prepared', $trigger->('BEFORE INSERT', 'own', 'label_row', 'own') . "PREPARE p AS INSERT INTO own SELECT $new FROM $five; EXECUTE p; DEALLOCATE p;" . $labels->('own'), $chain);
same('a deferred trigger', "CREATE CONSTRAINT TRIGGER t AFTER INSERT ON own DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION hear_row('own');
	INSERT INTO own SELECT i, ARRAY[i]::float4[]::vector, 'x' FROM $five; SET CONSTRAINTS ALL IMMEDIATE; $heard", '1<1 2<2 3<3 4<4 5<5');

# Partitions and children
same('a partitioned table', $trigger->('BEFORE INSERT', 'parts', 'label_row', 'parts') . "INSERT INTO parts SELECT i * 39, ARRAY[i * 39]::float4[]::vector, NULL FROM $five;" . $labels->('parts'),
	'39<0 78<39 117<78 156<117 195<156');
same('one of its partitions', $trigger->('BEFORE INSERT', 'lowest', 'label_row', 'parts') . "INSERT INTO lowest SELECT $new FROM $five;" . $labels->('parts'), $chain);
same('a set of a partition', $trigger->('BEFORE INSERT', 'parts', 'label_row', 'lowest') . "INSERT INTO parts SELECT $new FROM $five;" . $labels->('parts'), $chain);
same('rows that move', "INSERT INTO parts SELECT i * 39, ARRAY[i]::float4[]::vector, NULL FROM $five;
	UPDATE parts SET id = (id + 100) % 200, label = nearest(embedding, 'parts') WHERE id > 0;
	SELECT string_agg(label, ' ' ORDER BY embedding::text) FROM parts WHERE embedding <> '[0]';", '0 139 178 17 56');
same('a child table', $trigger->('BEFORE INSERT', 'child', 'label_row', 'parent') . "INSERT INTO child SELECT $new FROM $five;" . $labels->('parent'), $chain);
same('a set of a child table', "INSERT INTO child SELECT $new FROM $five; UPDATE parent SET label = nearest(embedding, 'child') WHERE id > 0;" . $labels->('parent'), $chain);

# The extension's own tables
same('the registry', "SELECT nw_register(s, 'own') FROM unnest(ARRAY['a', 'b', 'c']) AS s; INSERT INTO own VALUES (1, '[1]', 'second');
	CREATE FUNCTION share() RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT round(probability::numeric, 3) FROM nw_predict_proba(''[0.1]'', ''a'') LIMIT 1); END';
	UPDATE nw_registry SET tau = 2 WHERE name IN ('a', 'b', 'c') RETURNING name || share();", "\n\n\na0.599\nb0.599\nc0.599");
same('prototypes', "INSERT INTO own SELECT i, ARRAY[i]::float4[]::vector, 'x' || i FROM $five; SELECT nw_distill('own', 'few', k => 1);
	SELECT nw_predict('[5]', 'few'); UPDATE nw_prototype SET label = nw_predict('[5]', 'few') || label WHERE set = 'few' AND label > 'x';
	CREATE FUNCTION five() RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN nw_predict(''[5]'', ''few''); END';
	UPDATE nw_prototype SET embedding = '[5]', label = five() || 'y' WHERE set = 'few' AND label > 'x';
	SELECT label FROM nw_prototype WHERE set = 'few' ORDER BY label;",
	outcome("INSERT INTO own SELECT i, ARRAY[i]::float4[]::vector, 'x' || i FROM $five; SELECT nw_distill('own', 'few', k => 1);
	SELECT nw_predict('[5]', 'few'); UPDATE nw_prototype SET label = nw_predict('[5]', 'few') || label WHERE set = 'few' AND label > 'x';
	CREATE FUNCTION five() RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN nw_predict(''[5]'', ''few''); END';
	UPDATE nw_prototype SET embedding = '[5]', label = five() || 'y' WHERE set = 'few' AND label > 'x';
	SELECT label FROM nw_prototype WHERE set = 'few' ORDER BY label;", '0', 1));

# Another table: read once.  A set's rows are packed by the second call, so that
# two scans are enough.
$node->safe_psql(
	'postgres', q{
	CREATE TABLE rows (id int, embedding vector(1), label text);
	INSERT INTO rows SELECT i, ARRAY[i]::float4[]::vector, 'label ' || i % 7 FROM generate_series(1, 500) AS i;
	SELECT nw_register('rows', 'rows');
	CREATE FUNCTION predict_row() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		NEW.label := nw_predict(NEW.embedding, 'rows');
		RETURN NEW;
	END $$;
	CREATE FUNCTION predict_after() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		IF NEW.label <> nw_predict(NEW.embedding, 'rows') THEN
			RAISE 'another label';
		END IF;
		RETURN NULL;
	END $$;
	CREATE TABLE inbox (id int, embedding vector(1), label text);
	CREATE TRIGGER t BEFORE INSERT OR UPDATE ON inbox FOR EACH ROW EXECUTE FUNCTION predict_row();
	CREATE TABLE sorted (LIKE inbox) PARTITION BY RANGE (id);
	CREATE TABLE sorted1 PARTITION OF sorted FOR VALUES FROM (0) TO (1000);
	CREATE TRIGGER t BEFORE INSERT OR UPDATE ON sorted FOR EACH ROW EXECUTE FUNCTION predict_row();
	CREATE TABLE after (LIKE inbox);
	CREATE TRIGGER t AFTER INSERT ON after FOR EACH ROW EXECUTE FUNCTION predict_after();
	CREATE CONSTRAINT TRIGGER d AFTER INSERT ON after DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION predict_after();
});

# Count the scans of the set's table that statements make.
sub scans
{
	my ($statements, $loaded) = @_;
	my $count = "SELECT 'scans ' || coalesce(seq_scan, 0) FROM pg_stat_xact_all_tables WHERE relname = 'rows';";
	my $output = $node->safe_psql('postgres', ($loaded // 1 ? "LOAD 'nwhead'; " : '') . "BEGIN; $count\n$statements\n$count ROLLBACK;");
	my @counts = $output =~ /^scans (\d+)$/mg;
	return $counts[1] - $counts[0];
}

my $hundred = "SELECT i, ARRAY[i]::float4[]::vector, NULL FROM generate_series(1, 100) AS i;";
my $lines = "FROM STDIN;\n" . join('', map { "$_\t[$_]\t\\N\n" } 1 .. 100) . "\\.\n";
my $write = "UPDATE rows SET label = 'other' WHERE id = 500;";
cmp_ok(scans("INSERT INTO inbox $hundred"), '<=', 2, 'BEFORE INSERT on another table');
cmp_ok(scans("INSERT INTO inbox $hundred", 0), '<=', 2, 'the same, the library loaded on the way');
cmp_ok(scans("COPY inbox $lines"), '<=', 2, 'COPY to another table');
cmp_ok(scans("COPY inbox $lines", 0), '<=', 2, 'the same, the library loaded on the way');
cmp_ok(scans("INSERT INTO sorted $hundred"), '<=', 2, 'a partitioned table');
cmp_ok(scans("COPY sorted1 $lines"), '<=', 2, 'COPY to a partition');
cmp_ok(scans("INSERT INTO inbox $hundred UPDATE inbox SET id = id;"), '<=', 4, 'UPDATE of another table');
cmp_ok(scans("MERGE INTO inbox USING generate_series(1, 100) AS i ON id = i WHEN NOT MATCHED THEN INSERT VALUES (i, ARRAY[i]::float4[]::vector, NULL);"),
	'<=', 2, 'MERGE into another table');
cmp_ok(scans("WITH w AS (INSERT INTO inbox $hundred) SELECT 1;" =~ s/;\)/)/r), '<=', 2, 'a modifying WITH query');
cmp_ok(scans("$write INSERT INTO inbox $hundred") - scans($write), '<=', 2, 'after an UPDATE of the set');
cmp_ok(scans("$write COPY inbox $lines") - scans($write), '<=', 2, 'COPY after an UPDATE of the set');
cmp_ok(scans("INSERT INTO after SELECT i, ARRAY[i]::float4[]::vector, 'label ' || i % 7 FROM generate_series(1, 100) AS i;"), '<=', 2, 'AFTER INSERT');
cmp_ok(scans("INSERT INTO after SELECT i, ARRAY[i]::float4[]::vector, 'label ' || i % 7 FROM generate_series(1, 100) AS i; SET CONSTRAINTS ALL IMMEDIATE;"),
	'<=', 4, 'a deferred trigger');

# The set's own table: as the statement began, read once
cmp_ok(scans("INSERT INTO rows SELECT i, v, nw_predict(v, 'rows') FROM generate_series(1, 100) AS i, LATERAL (SELECT ARRAY[i]::float4[]::vector AS v) AS q;"),
	'<=', 2, 'INSERT of predictions');
cmp_ok(scans("UPDATE rows SET label = nw_predict(embedding, 'rows');"), '<=', 3, 'UPDATE by predictions');
cmp_ok(scans("WITH w AS (INSERT INTO rows $hundred" =~ s/;/ RETURNING embedding)/r . " SELECT nw_predict(embedding, 'rows') FROM w;"), '<=', 2, 'predictions from a modifying WITH query');
cmp_ok(scans("INSERT INTO rows $hundred" =~ s/;/ RETURNING nw_predict(embedding, 'rows');/r), '<=', 2, 'predictions in RETURNING');
cmp_ok(scans("CREATE TABLE made AS SELECT nw_predict(embedding, 'rows') FROM rows;"), '<=', 3, 'CREATE TABLE AS of predictions');
cmp_ok(scans("CREATE TABLE made AS SELECT nearest(embedding, 'rows') FROM rows;"), '<=', 3, 'and of a volatile function');

# Triggers that fire at COMMIT, when no statement is under way
is( $node->safe_psql('postgres', q{
		CREATE TABLE late (LIKE own);
		INSERT INTO late VALUES (0, '[0]', 'first');
		SELECT nw_register('late', 'late');
		CREATE FUNCTION take_out() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			INSERT INTO heard (id, label) VALUES (NEW.id, nearest('[9]', 'late') || nw_predict('[9]'::vector, 'late'));
			DELETE FROM late WHERE id = NEW.id;
			NEW.label := nw_predict('[9]'::vector, 'late');
			INSERT INTO heard (id, label) VALUES (NEW.id, NEW.label);
			RETURN NULL;
		END $$;
		CREATE CONSTRAINT TRIGGER t AFTER INSERT ON late DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION take_out();
		INSERT INTO late SELECT i, ARRAY[i]::float4[]::vector, 'x' || i FROM generate_series(3, 1, -1) AS i;} . $heard),
	"\n3<3x3 3<x2 2<2x2 2<x1 1<1x1 1<first",
	'at COMMIT');

# Logical replication: rows are written without any statement
my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init;
$subscriber->append_conf('postgresql.conf', 'autovacuum = off');
$subscriber->start;
my $schema = 'CREATE TABLE sent (id int PRIMARY KEY, embedding vector(1), label text);';
$node->safe_psql('postgres', "$schema INSERT INTO sent SELECT $new FROM $five; CREATE PUBLICATION pub FOR TABLE sent");
$subscriber->safe_psql(
	'postgres', "CREATE EXTENSION nwhead CASCADE; $schema INSERT INTO sent VALUES (0, '[0]', 'first'); SELECT nw_register('sent', 'sent');" . q{
	CREATE FUNCTION label_row() RETURNS trigger LANGUAGE plpgsql SET search_path = public AS $$
	BEGIN
		NEW.label := (SELECT support_id FROM nw_weights(NEW.embedding, TG_ARGV[0], 1));
		RETURN NEW;
	END $$;} . $trigger->('BEFORE INSERT', 'sent', 'label_row', 'sent') . 'ALTER TABLE sent ENABLE ALWAYS TRIGGER t');
my $connection = $node->connstr . ' dbname=postgres';
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION sub CONNECTION '$connection' PUBLICATION pub");
$subscriber->wait_for_subscription_sync($node, 'sub');
is($subscriber->safe_psql('postgres', $labels->('sent')), $chain, 'the first copy of a subscription');
$node->safe_psql('postgres', "INSERT INTO sent SELECT i, ARRAY[i]::float4[]::vector, NULL FROM generate_series(6, 9) AS i");
$node->wait_for_catchup('sub');
is($subscriber->safe_psql('postgres', $labels->('sent')), "$chain 6<5 7<6 8<7 9<8", 'rows that follow');

$subscriber->stop;
$node->stop;
done_testing();
