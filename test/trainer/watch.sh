# shellcheck shell=bash disable=SC2154
#
# The trainer's tests of nwhead watch; test/trainer/run sources this, after database.sh.

# ------------------------------------------------------------------ watch

watch_() {
	"$nwhead" train "${small[@]}" "${quick[@]}" --steps 2 --seed 9 --out "$work/second.onnx" >>"$log" 2>&1
	in_cluster watch_tables
}

# Wait until the answer to a query is this: await VALUE SQL
await() {
	local i
	for ((i = 0; i < 300; i++)); do
		[ "$(sql "$2")" = "$1" ] && return
		sleep 0.1
	done
	is "$1" "$2"
}

pics=(--model "$work/learned.onnx" --from-table pics --image data --label kind --table emb)
watch=("$nwhead" watch --device cpu --threads 1)

# Start a worker by a name that the server knows: worker NAME OPTION...; its process id is in $pid
worker() {
	local name=$1
	shift
	PGAPPNAME=$name "${watch[@]}" "$@" >>"$work/$name.txt" 2>&1 </dev/null &
	pid=$!
}

# End a worker politely, by a signal; it must end with status 0.
dismiss() {
	kill -"${2:-TERM}" "$1"
	wait "$1"
}

# Let every row that is written to emb take so long: pace SECONDS
pace() {
	sql "UPDATE pace SET seconds = $1"
}

# Kill a worker that is in the middle of a batch, as a pace of minutes keeps it; the server gives
# the batch up: slay NAME PID
slay() {
	await 1 "SELECT count(*) FROM pg_stat_activity WHERE application_name = '$1' AND wait_event = 'PgSleep'" || return
	kill -KILL "$2"
	wait "$2" 2>/dev/null
	sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '$1'" &&
		await 0 "SELECT count(*) FROM pg_stat_activity WHERE application_name = '$1'"
}

# Wait until a worker has said something: tells NAME PATTERN
tells() {
	local i
	for ((i = 0; i < 300; i++)); do
		grep -q -- "$2" "$work/$1.txt" && return
		sleep 0.1
	done
	return 1
}

# Wait until a worker has nothing to do: idle NAME
idle() {
	await 1 "SELECT count(*) FROM pg_stat_activity WHERE application_name = '$1' AND state = 'idle'
		AND query LIKE 'SELECT FROM %\_nw\_queue LIMIT 1'"
}

# 200 rows by two workers, each of which is killed in the middle of a batch, and started again;
# the one stands still, wherever it is, while the other is killed.
share_work() {
	local a b
	pace 600
	worker one "${pics[@]}" --batch 3 --interval 600
	a=$pid
	slay one $a && is 200 "SELECT waiting FROM pics_nw_status" && pace 0.1 || return
	worker one "${pics[@]}" --batch 3 --interval 600
	a=$pid
	await t "SELECT done > 0 FROM pics_nw_status" && kill -STOP $a && pace 600 || return
	worker two "${pics[@]}" --batch 1 --interval 600
	b=$pid
	slay two $b && is t "SELECT waiting > 0 FROM pics_nw_status" && pace 0 && kill -CONT $a || return
	worker two "${pics[@]}" --batch 3 --interval 600
	b=$pid
	await 0 "SELECT waiting FROM pics_nw_status" && idle one && idle two && dismiss $a && dismiss $b INT
}

# Every row has the embedding of its own picture: right_vectors, against embed
right_vectors() {
	"${embed[@]}" --model "$work/learned.onnx" --from-table pics --image data --label kind --table ref --replace --skip-bad &&
		is "$1|t" "SELECT count(*), bool_and(e.embedding <-> r.embedding < 1e-4 AND e.label = r.label) FROM emb e JOIN ref r USING (id)"
}

watch_tables() {
	sql 'CREATE EXTENSION nwhead CASCADE' >>"$log" 2>&1
	bytea_table >>"$log" 2>&1
	sql "CREATE TABLE pics (id bigint PRIMARY KEY, kind text, data bytea, note text);
		CREATE FUNCTION log_write() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO writes VALUES (NEW.id); RETURN NULL; END';
		CREATE TABLE writes (id bigint)" >>"$log" 2>&1
	fails "a table that nobody watches" 1 'table public.pics is not watched: run nwhead watch --install' "${watch[@]}" "${pics[@]}"
	sql "INSERT INTO pics SELECT n, kind, data FROM (SELECT *, row_number() OVER (ORDER BY kind, md5(data)) AS n FROM pictures) AS p
		WHERE n <= 40" >>"$log" 2>&1
	t "--install" "${watch[@]}" "${pics[@]}" --install
	t "and again" "${watch[@]}" "${pics[@]}" --install
	sql "CREATE TRIGGER log_write AFTER INSERT OR UPDATE ON emb FOR EACH ROW EXECUTE FUNCTION log_write();
		CREATE TABLE pace AS SELECT 0::float8 AS seconds;
		GRANT SELECT ON pace TO PUBLIC;
		CREATE FUNCTION take_time() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(seconds) FROM pace; RETURN NEW; END';
		CREATE TRIGGER take_time BEFORE INSERT OR UPDATE ON emb FOR EACH ROW EXECUTE FUNCTION take_time();
		INSERT INTO pics SELECT 40 + row_number() OVER (), kind, data FROM pics, generate_series(1, 4)" >>"$log" 2>&1
	t "new rows are queued, and said to be" is '160|0|0' "SELECT waiting, done, bad FROM pics_nw_status"
	t "two workers, killed and started again" share_work
	pace 0
	t "each row once, also those of before" is '200|200|200' "SELECT (SELECT count(*) FROM emb), count(*), count(DISTINCT id) FROM writes"
	t "by its own picture" right_vectors 200
	t "nothing waits" is '0|200|0' "SELECT waiting, done, bad FROM pics_nw_status"
	t "--once ends at once" "${watch[@]}" "${pics[@]}" --once
	t "with nothing done again" is 200 "SELECT count(*) FROM writes"
	watch_changes
	watch_failures
	watch_rights
	watch_models
	watch_own_column
	watch_one_table
	watch_files
	watch_away
	watch_gone
	watch_refused
	watch_locks
	watch_owners
	watch_loose_ids
	t "--uninstall" "${watch[@]}" "${pics[@]}" --uninstall
	t "leaves the embeddings alone" is 't|0|t' "SELECT (SELECT count(*) > 200 FROM emb), count(*), to_regclass('pics_nw_status') IS NULL
		FROM pg_trigger WHERE tgrelid = 'pics'::regclass AND NOT tgisinternal"
	t "and the table usable" sql "INSERT INTO pics (id, data) SELECT 9999, data FROM pics LIMIT 1"
	fails "no table" 2 '--from-table must be given' "${watch[@]}" --model m --image i
	fails "two places" 2 'only one of --table and --embedding' "${watch[@]}" "${pics[@]}" --embedding e
}

# A worker that is called, not one that looks: its interval is an hour.
watch_changes() {
	local a
	worker called "${pics[@]}" --interval 3600
	a=$pid
	t "a worker waits" idle called
	sql "INSERT INTO pics SELECT 201, kind, data FROM pics WHERE id = 7" >>"$log" 2>&1
	t "and is called for a new row" await 1 "SELECT count(*) FROM writes WHERE id = 201"
	idle called
	sql "UPDATE pics SET data = (SELECT data FROM pics WHERE id = 40), kind = 'changed' WHERE id = 1" >>"$log" 2>&1
	t "a changed row is embedded again" await 2 "SELECT count(*) FROM writes WHERE id = 1"
	t "by its new picture" right_vectors 201
	idle called
	sql "UPDATE pics SET note = 'x', data = data, id = id WHERE id < 100; UPDATE pics SET note = 'y'" >>"$log" 2>&1
	t "a change of other columns is none" is '0|202' "SELECT waiting, (SELECT count(*) FROM writes) FROM pics_nw_status"
	sql "INSERT INTO pics SELECT 300 + n, 'k', CASE WHEN n = 3 THEN 'no image' ELSE data END FROM pics, generate_series(1, 5) AS n
		WHERE id = 2; INSERT INTO pics VALUES (310, 'k', NULL)" >>"$log" 2>&1
	t "a bad picture does not stop the rest" await '0|205|1|303: neither JPEG nor PNG' \
		"SELECT waiting, done, bad, last_error FROM pics_nw_status"
	t "it is named" tells called 'could not embed image "303" of table public.pics: neither JPEG nor PNG'
	idle called
	t "SIGTERM ends it, with status 0" dismiss $a
	t "a bad picture is not tried again" "${watch[@]}" "${pics[@]}" --once
	t "but counted still" is '205|1|1' "SELECT done, bad, (SELECT count(*) FROM pg_stat_user_tables WHERE relname = 'pics_nw_state') FROM pics_nw_status"
	sql "UPDATE pics SET data = (SELECT data FROM pics WHERE id = 2) WHERE id = 303; DELETE FROM pics WHERE id = 305" >>"$log" 2>&1
	t "a better picture in its place" "${watch[@]}" "${pics[@]}" --once
	t "is embedded" is '0|0|1' "SELECT waiting, bad, (SELECT count(*) FROM writes WHERE id = 303) FROM pics_nw_status"
	sql "INSERT INTO pics SELECT 320, 'k', data FROM pics WHERE id = 2; UPDATE pics SET data = 'no image' WHERE id = 320;
		UPDATE pics SET data = (SELECT data FROM pics WHERE id = 3) WHERE id = 320;
		INSERT INTO pics SELECT 321, 'k', data FROM pics WHERE id = 2; DELETE FROM pics WHERE id = 321" >>"$log" 2>&1
	t "several changes, and a row that is gone" "${watch[@]}" "${pics[@]}" --once
	t "are one embedding, and none" is '0|1|0' "SELECT waiting, (SELECT count(*) FROM writes WHERE id = 320),
		(SELECT count(*) FROM writes WHERE id = 321) FROM pics_nw_status"
}

watch_failures() {
	local a
	worker lost "${pics[@]}" --interval 3600
	a=$pid
	idle lost
	sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'lost'" >>"$log" 2>&1
	sql "INSERT INTO pics SELECT 400, 'k', data FROM pics WHERE id = 2" >>"$log" 2>&1
	t "a lost connection is made again" await 1 "SELECT count(*) FROM writes WHERE id = 400"
	t "which it says" tells lost 'trying again in 1 s: '
	t "and it ends as politely" dismiss $a
	fails "other options than those of --install" 1 'was installed with other options' "${watch[@]}" \
		--model "$work/learned.onnx" --from-table pics --image data --table emb
	sql "CREATE TABLE nokey (id int, data bytea)" >>"$log" 2>&1
	fails "ids that are not unique" 1 'has no unique index on its column of ids' "${watch[@]}" --model "$work/learned.onnx" \
		--from-table nokey --image data --install
	fails "a table that is not there" 1 'table "nowhere" does not exist' "${watch[@]}" --model "$work/learned.onnx" \
		--from-table nowhere --image data --install
	fails "a column that is not there" 1 'column "nose" .*does not exist|nose' "${watch[@]}" --model "$work/learned.onnx" \
		--from-table pics --image nose --table emb --install
}

watch_rights() {
	sql "CREATE ROLE app LOGIN; GRANT INSERT, UPDATE ON pics TO app; GRANT SELECT (id) ON pics TO app;
		CREATE ROLE hand LOGIN" >>"$log" 2>&1
	t "whoever may only insert pictures" env PGUSER=app psql -Xq -v ON_ERROR_STOP=1 \
		-c "INSERT INTO pics VALUES (500, 'k', 'no image')"
	t "still can, and no more" is 'f|f|f' "SELECT has_table_privilege('app', 'pics_nw_queue', 'SELECT, INSERT, UPDATE, DELETE'),
		has_table_privilege('app', 'pics_nw_state', 'SELECT'), has_function_privilege('app', 'pics_nw_enqueue()', 'EXECUTE')"
	sql "ALTER FUNCTION pics_nw_enqueue() SECURITY INVOKER" >>"$log" 2>&1
	fails "could not, if the trigger had their rights" 1 'permission denied for table pics_nw_queue' env PGUSER=app \
		psql -Xq -v ON_ERROR_STOP=1 -c "INSERT INTO pics VALUES (501, 'k', 'no image')"
	sql "ALTER FUNCTION pics_nw_enqueue() SECURITY DEFINER" >>"$log" 2>&1
	fails "a worker without rights" 1 'role "hand" lacks the right to SELECT in public.pics_nw_queue: GRANT SELECT, INSERT, UPDATE, DELETE ON' \
		env PGUSER=hand "${watch[@]}" "${pics[@]}" --once
	sql "GRANT SELECT, INSERT, UPDATE, DELETE ON pics_nw_queue, pics_nw_state TO hand; GRANT SELECT ON pics TO hand" >>"$log" 2>&1
	fails "nor to write" 1 'role "hand" lacks the right to SELECT in public.emb: GRANT SELECT, INSERT, UPDATE, DELETE ON' env PGUSER=hand \
		"${watch[@]}" "${pics[@]}" --once
	sql "GRANT SELECT, INSERT, UPDATE, DELETE ON emb TO hand; GRANT INSERT ON writes TO hand;
		UPDATE pics SET data = (SELECT data FROM pics WHERE id = 2) WHERE id = 500" >>"$log" 2>&1
	t "and with them" env PGUSER=hand "${watch[@]}" "${pics[@]}" --once
	t "it works" is 1 "SELECT count(*) FROM writes WHERE id = 500"
	fails "it installs nothing" 1 'permission denied to set role' env PGUSER=hand "${watch[@]}" "${pics[@]}" --install
	sql "CREATE TABLE prey (id int PRIMARY KEY, data bytea); ALTER TABLE prey OWNER TO app; GRANT CREATE ON SCHEMA public TO app, hand;
		SET ROLE hand; CREATE TABLE prey_nw_queue (seq bigint, id int, at timestamptz)" >>"$log" 2>&1
	fails "a queue that somebody else has put there" 1 'table public.prey_nw_queue does not belong to the owner' "${watch[@]}" \
		--model "$work/learned.onnx" --from-table prey --image data --install
	sql "DROP TABLE prey_nw_queue" >>"$log" 2>&1
	t "a superuser who installs for another" "${watch[@]}" --model "$work/learned.onnx" --from-table prey --image data --install
	t "leaves all to the owner" is 'app|app|app|app' "SELECT q.relowner::regrole, s.relowner::regrole, v.relowner::regrole, p.proowner::regrole
		FROM pg_class q, pg_class s, pg_class v, pg_proc p WHERE q.relname = 'prey_nw_queue' AND s.relname = 'prey_nw_state'
		AND v.relname = 'prey_nw_status' AND p.proname = 'prey_nw_enqueue'"
	t "with a fixed search path" is '{"search_path=pg_catalog, pg_temp"}' "SELECT proconfig FROM pg_proc WHERE proname = 'prey_nw_enqueue'"
}

watch_models() {
	local a other=(--model "$work/second.onnx" --from-table pics --image data --label kind --table emb)
	fails "a worker with another model" 1 'are to be of model learned sha256:.* and this is second sha256:.*--install --mix-models' \
		"${watch[@]}" "${other[@]}" --once
	fails "is not installed unasked" 1 'has embeddings of another model \(learned sha256:' "${watch[@]}" "${other[@]}" --install
	worker old "${pics[@]}" --interval 3600
	a=$pid
	idle old
	sql "TRUNCATE writes" >>"$log" 2>&1
	t "but with --mix-models" "${watch[@]}" "${other[@]}" --install --mix-models
	sql "INSERT INTO pics SELECT 600, 'k', data FROM pics WHERE id = 2" >>"$log" 2>&1
	wait $a
	t "a worker of the old model ends" test $? = 1
	t "and says why" grep -q 'are to be of model second sha256:' "$work/old.txt"
	t "all rows are embedded anew" "${watch[@]}" "${other[@]}" --once
	t "each once" is 't|t|1' "SELECT count(*) = (SELECT count(*) FROM pics WHERE data IS NOT NULL), count(*) = count(DISTINCT id),
		(SELECT count(DISTINCT model) FROM pics_nw_state) FROM writes"
	sql "DROP TABLE pics_nw_queue, pics_nw_state CASCADE; TRUNCATE writes" >>"$log" 2>&1
	t "embeddings that are there already" "${watch[@]}" "${other[@]}" --install
	t "are taken as they are" "${watch[@]}" "${other[@]}" --once
	t "none of them was made again" is 0 "SELECT count(*) FROM writes"
}

# Embeddings go to the table of images; its names want quotes.
watch_own_column() {
	local own=(--model "$work/learned.onnx" --from-table '"od d"."Pic""s"' --image 'da"ta' --id 'i d' --embedding "vec'tor")
	sql "CREATE SCHEMA \"od d\"; CREATE TABLE \"od d\".\"Pic\"\"s\" (\"i d\" uuid PRIMARY KEY, \"da\"\"ta\" bytea, n int DEFAULT 0);
		INSERT INTO \"od d\".\"Pic\"\"s\" SELECT id, data FROM pictures" >>"$log" 2>&1
	t "a column that is missing" "${watch[@]}" "${own[@]}" --install
	psql -Xq -c "BEGIN; UPDATE \"od d\".\"Pic\"\"s\" SET n = 1 WHERE \"i d\" = (SELECT max(id::text)::uuid FROM pictures)" \
		-c "SELECT pg_sleep(4)" -c COMMIT >/dev/null 2>&1 &
	t "is filled, around a row that is locked" "${watch[@]}" "${own[@]}" --once
	wait $!
	t "all of it" is '64|1' "SELECT count(\"vec'tor\"), max(n) FROM \"od d\".\"Pic\"\"s\""
	t "without a call of its own" is '0|64' "SELECT waiting, done FROM \"od d\".\"Pic\"\"s_nw_status\""
	t "by the right pictures" is t "SELECT bool_and(p.\"vec'tor\" <-> f.embedding < 1e-4) FROM \"od d\".\"Pic\"\"s\" p JOIN from_bytea f ON f.id = p.\"i d\""
	sql "UPDATE \"od d\".\"Pic\"\"s\" SET \"da\"\"ta\" = CASE WHEN n = 1 THEN 'no image'::bytea END
		WHERE n = 1 OR \"i d\" = (SELECT min(id::text)::uuid FROM pictures)" >>"$log" 2>&1
	t "a picture that is gone, and a bad one" "${watch[@]}" "${own[@]}" --once
	t "take their embeddings along" is '62|0|62|1' "SELECT count(\"vec'tor\"), count(\"vec'tor\") FILTER (WHERE n = 1 OR \"da\"\"ta\" IS NULL),
		(SELECT done FROM \"od d\".\"Pic\"\"s_nw_status\"), (SELECT bad FROM \"od d\".\"Pic\"\"s_nw_status\") FROM \"od d\".\"Pic\"\"s\""
}

# The rows of the table of images are not ours to delete.
watch_one_table() {
	local run=("${watch[@]}" --model "$work/learned.onnx" --from-table one --image data)
	sql "CREATE TABLE one (id bigint PRIMARY KEY, label text, embedding vector(16), data bytea, note text);
		INSERT INTO one SELECT id, kind, NULL, data, 'mine' FROM pics WHERE id <= 3 AND data IS NOT NULL" >>"$log" 2>&1
	fails "images and rows of embeddings in one table" 1 'table public.one has the images.*: name another --table, or give --embedding' \
		"${run[@]}" --table public.one --install
	t "nothing is made" is t "SELECT to_regclass('one_nw_queue') IS NULL"
	t "another table" "${run[@]}" --table elsewhere --install
	t "is filled" "${run[@]}" --table elsewhere --once
	sql "DO \$\$ BEGIN EXECUTE format('COMMENT ON TABLE one_nw_queue IS %L', replace(obj_description('one_nw_queue'::regclass),
			'public.elsewhere', 'public.one')); END \$\$;
		COMMENT ON COLUMN one.embedding IS 'nwhead model: learned sha256:$(sha256sum <"$work/learned.onnx" | cut -d' ' -f1)';
		UPDATE one SET data = NULL WHERE id = 1; UPDATE one SET data = 'no image' WHERE id = 2" >>"$log" 2>&1
	fails "a watch of one table from before" 1 'table public.one has the images' "${run[@]}" --table one --once
	t "deletes no row" is '3|2' "SELECT count(*), count(*) FILTER (WHERE note = 'mine' AND id < 3) FROM one"
	t "and can be removed" "${run[@]}" --table one --uninstall
	t "for a column" "${run[@]}" --install
	t "of its own" "${run[@]}" --once
	t "which keeps all rows" is '3|1' "SELECT count(*), count(embedding) FROM one"
}

# The table has paths of files.
watch_files() {
	local files=(--model "$work/learned.onnx" --from-table files --image path --path "$work/photos" --table file_emb)
	sql "CREATE TABLE files (id text PRIMARY KEY, path varchar(400))" >>"$log" 2>&1
	t "paths" "${watch[@]}" "${files[@]}" --install
	sql "INSERT INTO files VALUES ('a', 'class-0/0.jpg'), ('b', 'class-1/1.jpg'), ('c', '../photos/class-1/1.jpg'),
		('d', '$work/photos/class-1/1.jpg'), ('e', 'nowhere.jpg'), ('f', 'class-0/../class-1/1.jpg')" >>"$log" 2>&1
	t "of files" "${watch[@]}" "${files[@]}" --once
	t "below the folder, and none else" is 'a,b|c: path "../photos/class-1/1.jpg" leads out of the folder|d|e|f' \
		"SELECT (SELECT string_agg(id, ',' ORDER BY id) FROM file_emb), string_agg(id || CASE WHEN id = 'c' THEN ': ' || error ELSE '' END, '|' ORDER BY id)
			FROM files_nw_state WHERE error IS NOT NULL"
	mkdir -p "$work/pipes"
	[ -p "$work/pipes/pipe" ] || mkfifo "$work/pipes/pipe"
	sql "INSERT INTO files VALUES ('p', 'pipe'), (E'q\n', E'a\nb'), ('r', repeat('x', 300))" >>"$log" 2>&1
	t "no pipe is waited for" timeout 60 "${watch[@]}" --model "$work/learned.onnx" --from-table files --image path \
		--path "$work/pipes" --table file_emb --once
	t "but named" is "file \"$work/pipes/pipe\": not a regular file" "SELECT error FROM files_nw_state WHERE id = 'p'"
	t "in one line" is 1 "SELECT count(*) FROM files_nw_state WHERE error LIKE 'file \"%/a?b\": %'"
	t "of some length" is t "SELECT error LIKE '%' || repeat('x', 190) || '%' AND error NOT LIKE '%' || repeat('x', 201) || '%'
		FROM files_nw_state WHERE id = 'r'"
}

# The folder that paths are below is away: that is no fault of the images, which wait.
watch_away() {
	local a d=$work/away away=(--model "$work/learned.onnx" --from-table away --image path --path "$work/away")
	rm -rf "$d" "$d.gone"
	sql "CREATE TABLE away (id int PRIMARY KEY, path text)" >>"$log" 2>&1
	t "a folder that is yet to come" "${watch[@]}" "${away[@]}" --install
	cp -r "$work/photos" "$d"
	sql "INSERT INTO away SELECT n, 'class-0/0.jpg' FROM generate_series(1, 3) AS n" >>"$log" 2>&1
	t "comes" "${watch[@]}" "${away[@]}" --once
	mv "$d" "$d.gone"
	sql "UPDATE away SET path = 'class-1/1.jpg' WHERE id < 3" >>"$log" 2>&1
	fails "a folder that is away" 1 'could not open folder ".*/away": No such file or directory' "${watch[@]}" "${away[@]}" --once
	: >"$d"
	fails "a file in its place" 1 '/away" is not a folder' "${watch[@]}" "${away[@]}" --once
	t "the images wait, and keep their embeddings" is '2|0|3' "SELECT waiting, bad, (SELECT count(embedding) FROM away) FROM away_nw_status"
	rm "$d" && mv "$d.gone" "$d"
	rm -f "$work/gone.txt"
	worker gone "${away[@]}" --interval 3600
	a=$pid
	t "when it is back, they are embedded" await '0|3|0' "SELECT waiting, done, bad FROM away_nw_status"
	idle gone
	mv "$d" "$d.gone"
	sql "UPDATE away SET path = 'class-2/2.jpg' WHERE id = 1" >>"$log" 2>&1
	t "a worker says that its folder is away" tells gone 'could not open folder ".*/away": No such file or directory'
	kill $a 2>/dev/null
	wait $a
	t "and ends with an error" test $? = 1
	t "its images wait" is '1|0|3' "SELECT waiting, bad, (SELECT count(embedding) FROM away) FROM away_nw_status"
	mv "$d.gone" "$d"
	sql "UPDATE away SET path = 'class-2/none.jpg' WHERE id = 1" >>"$log" 2>&1
	t "a file that is away" "${watch[@]}" "${away[@]}" --once
	t "is a bad one" is '0|1' "SELECT waiting, bad FROM away_nw_status"
}

now=(--model "$work/second.onnx" --from-table pics --image data --label kind --table emb)

# Have a session run a statement, and then wait, by a name that the server knows: holder NAME SQL
holder() {
	PGAPPNAME=$1 psql -Xq -v ON_ERROR_STOP=1 -c "BEGIN" -c "$2" -c "SELECT pg_sleep(600)" >/dev/null 2>&1 &
	await 1 "SELECT count(*) FROM pg_stat_activity WHERE application_name = '$1' AND query LIKE '%pg_sleep%'"
}

# End such a session.
release() {
	sql "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = '$1'" >>"$log" 2>&1
}

# Pictures that are gone, in all ways; rows of others stay.
watch_gone() {
	local a
	sql "INSERT INTO pics SELECT n, 'k', data FROM pics, generate_series(700, 706) AS n WHERE id = 2;
		INSERT INTO emb SELECT 9001, 'theirs', embedding FROM emb WHERE id = 2" >>"$log" 2>&1
	t "pictures that will go" "${watch[@]}" "${now[@]}" --once
	sql "UPDATE pics SET data = NULL WHERE id = 700; DELETE FROM pics WHERE id = 701; UPDATE pics SET id = 710 WHERE id = 702;
		UPDATE pics SET data = 'no image' WHERE id = 703; INSERT INTO pics VALUES (9001, 'k', 'no image')" >>"$log" 2>&1
	t "go" "${watch[@]}" "${now[@]}" --once
	t "with their embeddings" is '704,705,706,710,9001' "SELECT string_agg(id::text, ',' ORDER BY id) FROM emb WHERE id >= 700"
	t "and their state" is '703:bad,704,705,706,710,9001:bad' "SELECT string_agg(id || CASE WHEN error IS NULL THEN '' ELSE ':bad' END, ','
		ORDER BY id) FROM pics_nw_state WHERE id >= 700"
	sql "ALTER TABLE pics DISABLE TRIGGER USER; DELETE FROM pics WHERE id IN (704, 9001); UPDATE pics SET data = NULL WHERE id = 705;
		ALTER TABLE pics ENABLE TRIGGER USER" >>"$log" 2>&1
	t "what no trigger saw" "${watch[@]}" "${now[@]}" --once
	t "is caught up with, but for rows of others" is '706,710,9001|703,706,710' "SELECT string_agg(id::text, ',' ORDER BY id),
		(SELECT string_agg(id::text, ',' ORDER BY id) FROM pics_nw_state WHERE id >= 700) FROM emb WHERE id >= 700"
	t "to install again" "${watch[@]}" "${now[@]}" --install
	t "does not make them ours" is 0 "SELECT count(*) FROM pics_nw_state WHERE id = 9001"
	holder keeper "SELECT FROM emb WHERE id = 706 FOR UPDATE" >>"$log" 2>&1
	sql "DELETE FROM pics WHERE id = 706; INSERT INTO pics SELECT 711, 'k', data FROM pics WHERE id = 2" >>"$log" 2>&1
	worker around "${now[@]}" --interval 3600
	a=$pid
	t "a row that is locked is left for later" await '711|706' "SELECT (SELECT id FROM emb WHERE id = 711),
		(SELECT id FROM emb WHERE id = 706)"
	release keeper
	t "and then removed" await 0 "SELECT count(*) FROM emb WHERE id = 706"
	t "by a worker that is well" dismiss $a
}

# Rows that constraints and triggers of others do not let in.
watch_refused() {
	sql "ALTER TABLE emb ADD CONSTRAINT no_f CHECK (label <> 'f') NOT VALID;
		CREATE FUNCTION mind() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF NEW.label = TG_ARGV[0] THEN RAISE ''not %'', TG_ARGV[0]
			USING ERRCODE = TG_ARGV[1]; END IF; RETURN NEW; END';
		CREATE TRIGGER mind_g BEFORE INSERT OR UPDATE ON emb FOR EACH ROW EXECUTE FUNCTION mind('g', 'P0001');
		CREATE CONSTRAINT TRIGGER mind_h AFTER INSERT OR UPDATE ON emb DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION mind('h', '23514');
		CREATE TRIGGER mind_i BEFORE INSERT OR UPDATE ON emb FOR EACH ROW EXECUTE FUNCTION mind('i', '42501');
		INSERT INTO pics SELECT 800 + n, chr(100 + n), data FROM pics, generate_series(1, 4) AS n WHERE id = 2;
		INSERT INTO pics SELECT 805, 'z', data FROM pics WHERE id = 2;
		UPDATE pics SET kind = 'f' WHERE id = 711" >>"$log" 2>&1
	t "rows that are refused" bash -c '"$@" 2>"$0"' "$work/refused.txt" "${watch[@]}" "${now[@]}" --once
	t "do not stop the others" is '801,805' "SELECT string_agg(id::text, ',' ORDER BY id) FROM emb WHERE id BETWEEN 711 AND 899"
	t "and are marked" is '802|803: its embedding is refused: not g|804: its embedding is refused: not h' "SELECT string_agg(id ||
		CASE WHEN id > 802 THEN ': ' || error ELSE '' END, '|' ORDER BY id) FROM pics_nw_state WHERE id > 800 AND error IS NOT NULL"
	t "and named" tells refused 'could not embed image "802" of table public.pics: its embedding is refused: .*violates check constraint'
	sql "INSERT INTO pics SELECT 806, 'i', data FROM pics WHERE id = 2" >>"$log" 2>&1
	fails "any other error ends a worker" 1 'public.pics: not i' "${watch[@]}" "${now[@]}" --once
	sql "DELETE FROM pics WHERE id = 806" >>"$log" 2>&1
}

# Nobody without rights can make a worker wait, and none waits for good.
watch_locks() {
	local a
	PGUSER=app holder squatter "SELECT pg_advisory_lock(k, $(sql "SELECT 'pics'::regclass::oid::int")) FROM unnest('{1853319268, 1853319269}'::int[]) AS k" >>"$log" 2>&1
	t "locks that anybody can have" timeout 60 "${watch[@]}" "${now[@]}" --once
	release squatter
	holder owner "LOCK TABLE pics_nw_state IN EXCLUSIVE MODE" >>"$log" 2>&1
	rm -f "$work/kept.txt"
	worker kept "${now[@]}" --interval 3600
	a=$pid
	for ((i = 0; i < 300; i++)); do
		grep -q 'trying again in 1 s: .*lock timeout' "$work/kept.txt" && break
		sleep 0.1
	done
	t "a wait is given up" test "$i" -lt 300
	t "and a signal heard" dismiss $a
	release owner
	holder batch "LOCK TABLE pics_nw_state IN ROW EXCLUSIVE MODE" >>"$log" 2>&1
	fails "--install waits for batches" 1 'lock timeout' env PGOPTIONS='-c lock_timeout=500' "${watch[@]}" "${now[@]}" --install
	release batch
}

# A superuser's worker does not lend its rights, and no row is hidden from a worker.
watch_owners() {
	local prey=(--model "$work/learned.onnx" --from-table prey --image data)
	sql "SET ROLE app; CREATE TABLE who (name text);
		CREATE FUNCTION who() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO who VALUES (current_user); RETURN NULL; END';
		CREATE TRIGGER who AFTER UPDATE ON prey FOR EACH ROW EXECUTE FUNCTION who();
		CREATE TRIGGER who AFTER INSERT ON prey_nw_state FOR EACH ROW EXECUTE FUNCTION who();
		CREATE TRIGGER who AFTER DELETE ON prey_nw_queue FOR EACH ROW EXECUTE FUNCTION who();
		RESET ROLE; INSERT INTO prey SELECT 1, data FROM pics WHERE id = 2; TRUNCATE who" >>"$log" 2>&1
	t "a superuser's worker" "${watch[@]}" "${prey[@]}" --once
	t "runs triggers as the owner" is 'app|3' "SELECT min(name), count(*) FROM who"
	sql "GRANT SELECT, INSERT, UPDATE, DELETE ON pics_nw_queue, pics_nw_state TO hand; ALTER TABLE pics ENABLE ROW LEVEL SECURITY" >>"$log" 2>&1
	fails "a worker that would not see all rows" 1 'row-level security' env PGUSER=hand "${watch[@]}" "${now[@]}" --once
	sql "ALTER TABLE pics DISABLE ROW LEVEL SECURITY" >>"$log" 2>&1
}

# Ids that may be NULL, and a column that is renamed.
watch_loose_ids() {
	local loose=(--model "$work/learned.onnx" --from-table loose --image data)
	sql "CREATE TABLE loose (id int UNIQUE, data bytea); INSERT INTO loose SELECT NULL, data FROM pics WHERE id = 2" >>"$log" 2>&1
	t "ids that may be NULL" "${watch[@]}" "${loose[@]}" --install
	t "stay so" sql "INSERT INTO loose SELECT v, data FROM pics, (VALUES (NULL), (1)) AS n(v) WHERE id = 2;
		UPDATE loose SET data = data || '' WHERE id IS NULL; DELETE FROM loose WHERE id IS NULL;
		INSERT INTO loose SELECT NULL, data FROM loose"
	t "and wait for one" "${watch[@]}" "${loose[@]}" --once
	t "the others do not" is '1|1|0' "SELECT count(embedding), max(id), (SELECT waiting FROM loose_nw_status) FROM loose"
	sql "ALTER TABLE loose RENAME id TO nr" >>"$log" 2>&1
	t "--uninstall after the column of ids was renamed" "${watch[@]}" "${loose[@]}" --uninstall
	t "removes all" is '0|t' "SELECT count(*), to_regclass('loose_nw_queue') IS NULL FROM pg_trigger WHERE tgrelid = 'loose'::regclass"
}
