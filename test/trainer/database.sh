# shellcheck shell=bash disable=SC2154
#
# The trainer's tests that need a server; test/trainer/run sources this.

# ------------------------------------------------------------------ database

sql() {
	psql -XAtq -v ON_ERROR_STOP=1 -c "$1"
}

# is VALUE SQL: the query's answer must be that.
is() {
	local got
	got=$(sql "$2") || return
	echo "$2 -> $got"
	[ "$got" = "$1" ]
}

embed=("$nwhead" embed --device cpu --quiet)

in_database() {
	sql 'CREATE EXTENSION IF NOT EXISTS vector' >>"$log" 2>&1
	t "embed creates a table" "${embed[@]}" --model "$work/learned.onnx" "${small[@]}" --table rows
	t "all rows are there" is '400|4|16' "SELECT count(*), count(DISTINCT label), max(vector_dims(embedding)) FROM rows"
	t "the vectors are the model's" vectors
	fails "rows are not mixed unasked" 1 'has rows already: give --append or --replace' "${embed[@]}" \
		--model "$work/learned.onnx" "${small[@]}" --table rows
	t "--replace" "${embed[@]}" --model "$work/learned.onnx" "${small[@]}" --table rows --replace
	t "replaced, not added" is 400 "SELECT count(*) FROM rows"
	fails "a duplicate id" 1 'duplicate key' "${embed[@]}" --model "$work/learned.onnx" "${small[@]}" --table rows --append
	t "nothing was added" is 400 "SELECT count(*) FROM rows"
	t "a folder: ids are paths" "${embed[@]}" --model "$work/learned.onnx" --images "$work/photos" --table 'public."Pho tos"'
	t "paths and classes" is 'class-0/0.jpg|class-0' "SELECT id, label FROM \"Pho tos\" ORDER BY id LIMIT 1"
	fails "a table of another dimension" 1 'is of type vector\(16\), and vector\(24\) is needed' "${embed[@]}" \
		--model "$work/mixed17.onnx" --images "$work/photos" --table 'public."Pho tos"' --append --mean 0,0,0 --std 1,1,1
	t "a third-party model by options" "${embed[@]}" --model "$work/mixed17.onnx" --images "$work/photos" --table third \
		--mean 0.485,0.456,0.406 --std 0.229,0.224,0.225 --resize 36 --normalize --batch 5
	t "its vectors have length 1" is t "SELECT bool_and(abs(vector_norm(embedding) - 1) < 1e-5) FROM third"
	t "an inner tensor by name" "${embed[@]}" --model "$work/mixed17.onnx" --images "$work/photos" --table inner_ \
		--output "$(inner_tensor)" --input-size 32
	t "size, mean and deviation by options, against PyTorch" other_maker
	t "one thread gives the same rows" threads 1
	t "five threads give the same rows" threads 5
	t "a GPU gives the same rows" with_gpu gpu_rows
	embed_bad_input
	printf '%s\n' zero one two three >"$work/names"
	t "names for labels" "${embed[@]}" --model "$work/learned.onnx" "${small[@]}" --class-names "$work/names" --table names \
		--per-class 5
	t "they are in the table" is 'one,three,two,zero|20' "SELECT string_agg(DISTINCT label, ','), count(*) FROM names"
	printf '%s\n' zero one >"$work/names"
	fails "too few names" 1 'no name for label 2' "${embed[@]}" --model "$work/learned.onnx" "${small[@]}" \
		--class-names "$work/names" --table again
	t "pictures that lie are embedded upright" turned_rows
	t "images without classes" "${embed[@]}" --model "$work/learned.onnx" --images "$work/photos/class-1" --table plain
	t "have no label" is '16|0' "SELECT count(*), count(label) FROM plain"
	t "a fixed batch size" "${embed[@]}" --model "$work/token.onnx" --images "$work/photos" --table fixed
	t "all of its rows" is 64 "SELECT count(*) FROM fixed"
	t "images in a table" bytea_table
	t "ids and classes of a table" is 't|64' "SELECT bool_and(a.label = b.kind), count(*) FROM from_bytea a JOIN pictures b USING (id)"
	t "training from a table" "$nwhead" train --table pictures --image data --label kind --arch cnn --size 16 --steps 3 \
		--supports 8 --queries 8 --device cpu --quiet --out "$work/table.onnx"
	sql "INSERT INTO pictures VALUES (gen_random_uuid(), 'class-0', 'no image')" >>"$log" 2>&1
	fails "a row that is no image" 1 'could not read image "[0-9a-f-]{36}" of table "pictures"' "${embed[@]}" \
		--model "$work/learned.onnx" --from-table pictures --image data --label kind --table again
	t "and no table for it" is t "SELECT to_regclass('again') IS NULL"
	fails "a column that is not there" 1 'column "nose" does not exist' "${embed[@]}" --model "$work/learned.onnx" \
		--from-table pictures --image nose --table again
	fails "a table that is not there" 1 'table "nowhere" does not exist' "${embed[@]}" --model "$work/learned.onnx" \
		--from-table nowhere --image data --table again
	if [ "$(sql "SELECT count(*) FROM pg_available_extensions WHERE name = 'nwhead'")" = 1 ]; then
		fails "the extension is needed to register" 1 'CREATE EXTENSION nwhead CASCADE' "${embed[@]}" \
			--model "$work/learned.onnx" "${small[@]}" --table other --set other
		sql 'CREATE EXTENSION nwhead' >>"$log" 2>&1
		t "embed registers a set" "${embed[@]}" --model "$work/learned.onnx" "${small[@]}" --table named --set named
		t "with kernel and temperature" is 'euclidean|1|16' "SELECT kernel, tau, dim FROM nw_sets WHERE name = 'named'"
		t "predictions from it are right" is t "SELECT avg((nw_predict(embedding, 'named') = label)::int) > 0.9 FROM named"
		t "a model of the hypersphere is evaluated as it was trained" evaluated hypersphere 0.1
		t "a model of cosines is evaluated as it was trained" evaluated cosine 0.2
		t "an FC model" "${embed[@]}" --model "$work/learned-fc.onnx" "${small[@]}" --table fc --set fc
		t "its head is a set" is 'dot|4' "SELECT kernel, (SELECT count(*) FROM fc_head) FROM nw_sets WHERE name = 'fc_head'"
		t "the head predicts" is t "SELECT avg((nw_predict(embedding, 'fc_head') = label)::int) > 0.9 FROM fc"
		embed_heads
		t "images without classes as a set" "${embed[@]}" --model "$work/learned.onnx" --images "$work/photos/class-1" \
			--table plain --set plain --replace
		t "it has no label" is t "SELECT label IS NULL FROM nw_sets WHERE name = 'plain'"
		fails "a set's name that is taken" 1 'already registered' "${embed[@]}" --model "$work/learned.onnx" "${small[@]}" \
			--table other --set named
		t "and no table for that either" is t "SELECT to_regclass('other') IS NULL"
	fi
	kill_
}

# An FC head goes to a table of its own, and no rows of others are deleted for it.
embed_heads() {
	local fc=("${embed[@]}" --model "$work/learned-fc.onnx" "${small[@]}" --per-class 3)
	local other=("${embed[@]}" --model "$work/other-fc.onnx" "${small[@]}" --per-class 3)
	local first second
	first="nwhead model: learned-fc sha256:$(sha256sum <"$work/learned-fc.onnx" | cut -d' ' -f1)"
	second="nwhead model: other-fc sha256:$(sha256sum <"$work/other-fc.onnx" | cut -d' ' -f1)"
	fails "head and embeddings in one table" 2 '--head-set and --table cannot be the same table' "${fc[@]}" --table mine \
		--head-set mine
	fails "by another name of it" 1 'table "public.mine" cannot have both .*: give another --head-set' "${fc[@]}" --table mine \
		--head-set public.mine
	fails "by the usual name of a head" 1 'table "mine_head" cannot have both' "${fc[@]}" --table mine_head --set mine
	fails "head and embeddings as one set" 2 '--head-set and --set cannot be the same set' "${fc[@]}" --table a --set b --head-set b
	t "and no table for any of these" is 't|t' "SELECT to_regclass('mine') IS NULL, to_regclass('mine_head') IS NULL"
	t "embeddings by the name of a head" "${fc[@]}" --table mine_head --set theirs
	fails "are not taken for one" 1 'table "mine_head" has rows that are no FC head: give another --head-set' "${fc[@]}" \
		--table mine --set mine
	fails "not even with --replace" 1 'table "mine_head" has rows that are no FC head' "${fc[@]}" --table mine --set mine --replace
	fails "nor with --into-new-set" 1 'mine_head is there already: --into-new-set wants a name that is free' "${fc[@]}" \
		--into-new-set mine
	t "and stay" is '12|t' "SELECT count(*), to_regclass('mine') IS NULL FROM mine_head"
	t "embeddings of files" "${embed[@]}" --model "$work/learned-fc.onnx" --images "$work/photos" --table files_head
	fails "are none either" 1 'table "files_head" has rows that are no FC head: give another --head-set' "${embed[@]}" \
		--model "$work/learned-fc.onnx" --images "$work/photos" --table files --set files
	t "a head by a name of its own" "${fc[@]}" --table mine --set mine --head-set only_head
	sql "CREATE TABLE places AS SELECT id, ctid AS place FROM only_head" >>"$log" 2>&1
	t "a second table of the model" "${fc[@]}" --table second --set second --head-set only_head
	t "and rows that are added" "${embed[@]}" --model "$work/learned-fc.onnx" "${small[@]}" --per-class 4 --table second \
		--set second --head-set only_head --skip-existing
	t "have the same head" is '4|28' "SELECT count(*), (SELECT count(*) FROM second) FROM only_head h JOIN places p
		ON p.id = h.id AND p.place = h.ctid"
	fails "one that is there with --into-new-set" 1 'only_head is there already' "${fc[@]}" --into-new-set new --head-set only_head
	fails "the head of another model" 1 \
		'table "only_head" has rows that are not this model.s FC head: give --replace or another --head-set' "${other[@]}" \
		--table third_fc --set third_fc --head-set only_head
	t "stays" noted "$first" only_head
	sql "SELECT nw_register('taken', 'mine')" >>"$log" 2>&1
	fails "a set of another table" 1 'already registered' "${fc[@]}" --table third_fc --set third_fc --head-set taken
	t "stays, too" is 'public.mine|t|t' "SELECT relation, to_regclass('taken') IS NULL, to_regclass('third_fc') IS NULL
		FROM nw_sets WHERE name = 'taken'"
	t "--replace" "${other[@]}" --table mine --set mine --head-set only_head --replace
	t "replaces a head" noted "$second" only_head
	t "by the new one" is '4|t' "SELECT count(*), (SELECT avg((nw_predict(embedding, 'only_head') =
		nw_predict(embedding, 'fc_head'))::int) < 1 FROM mine) FROM only_head"
	fails "--kernel without a set" 2 '--kernel goes with --set' "${fc[@]}" --table third_fc --kernel dot
	fails "--tau without a set" 2 '--tau goes with --set' "${fc[@]}" --table third_fc --tau 2
	t "both with --into-new-set" "${fc[@]}" --into-new-set new_fc --kernel cosine --tau 0.5
	t "are the new set's" is 'cosine|0.5' "SELECT kernel, tau FROM nw_sets WHERE name = 'new_fc'"
}

# A set of a model that was trained with a kernel has it, and judges as PyTorch does: evaluated KERNEL TAU
evaluated() {
	local set=by_$1
	"${embed[@]}" --model "$work/learned-$1.onnx" "${small[@]}" --table "$set" --set "$set" &&
		is "$1|$2" "SELECT kernel, tau FROM nw_sets WHERE name = '$set'" &&
		sql "SELECT label, embedding FROM $set ORDER BY id" >"$work/rows.txt" &&
		"$python" "$here/evalcheck.py" "$1" "$2" "$work/rows.txt" \
			"$(sql "SELECT error_rate, nll FROM nw_evaluate('$set', '$set')")"
}

# Compare a table's vectors with what the model says, through pgvector's text form.
vectors() {
	sql "SELECT embedding FROM rows ORDER BY id" >"$work/vectors.txt" &&
		"$bin/test-infer" vectors "$work/learned.onnx" "$work/small-images.gz" "$work/small-labels.gz" "$work/vectors.txt"
}

# A model that takes images of any size, all said by options.
other_maker() {
	"${embed[@]}" --model "$work/open.onnx" "${small[@]}" --table open --output features --input-size 24 --resize 30 \
		--mean 0.485,0.456,0.406 --std 0.229,0.224,0.225 --batch 7 &&
		sql "SELECT embedding FROM open ORDER BY id" >"$work/vectors.txt" &&
		"$python" "$here/embedcheck.py" open "$work/small-images.gz" "$work/vectors.txt" 24 30 0.485,0.456,0.406 \
			0.229,0.224,0.225
}

# Batches at a time, and where each ends up, must not show: threads N
threads() {
	"${embed[@]}" --model "$work/learned.onnx" "${small[@]}" --table by_threads --replace --threads "$1" --batch 3 &&
		is '400|t' "SELECT count(*), bool_and(a.label = b.label AND a.embedding <-> b.embedding < 1e-5 * vector_norm(b.embedding))
			FROM by_threads a JOIN rows b USING (id)"
}

# The software GPU, which embeds one batch after another while others are decoded.
gpu_rows() {
	VK_ICD_FILENAMES=$build/lavapipe/icd.json XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-/tmp} "$nwhead" embed --device webgpu \
		--quiet --model "$work/learned.onnx" "${small[@]}" --table by_gpu --batch 16 &&
		is '400|t' "SELECT count(*), bool_and(a.label = b.label AND a.embedding <-> b.embedding < 1e-4 * vector_norm(b.embedding))
			FROM by_gpu a JOIN rows b USING (id)"
}

# What embed refuses, and that it leaves no table behind.
embed_bad_input() {
	local run=("${embed[@]}" --table again) open=(--model "$work/open.onnx") d=$work/bad-embed
	rm -rf "$d" && cp -r "$work/photos" "$d"
	head -c 400 "$work/photos/class-3/3.jpg" >"$d/class-3/3.jpg"
	fails "an image that is cut" 1 'could not read image ".*class-3/3.jpg"' "${run[@]}" --model "$work/learned.onnx" --images "$d"
	head -c 30000 "$work/small-images.gz" >"$d/cut.gz"
	fails "images that are cut" 1 'could not read ".*cut.gz"' "${run[@]}" --model "$work/learned.onnx" \
		--idx "$d/cut.gz" "$work/small-labels.gz"
	fails "cut behind the images wanted" 1 'could not read ".*cut.gz"' "${run[@]}" --model "$work/learned.onnx" \
		--idx "$d/cut.gz" "$work/small-labels.gz" --per-class 1 --subset-seed 3
	(gzip -dc "$work/small-images.gz" && echo more) >"$d/long"
	fails "more images than the header says" 1 'holds 102405 bytes where its header says 102400' "${run[@]}" \
		--model "$work/learned.onnx" --idx "$d/long" "$work/small-labels.gz"
	printf '\0\0\10\3\0\0\1\220\0\0\1\0\0\0\1\0no image' >"$d/short"
	fails "fewer images than the header says" 1 'short" is too short for the 26214400 bytes that its header says' "${run[@]}" \
		--model "$work/learned.onnx" --idx "$d/short" "$work/small-labels.gz"
	fails "a model that is not there" 1 'could not read ".*none.onnx"' "${run[@]}" "${small[@]}" --model "$d/none.onnx"
	fails "a model that is none, to embed" 1 'not an ONNX model' "${run[@]}" "${small[@]}" --model "$work/small-images.gz"
	fails "a model without a size" 1 'give --input-size' "${run[@]}" "${small[@]}" "${open[@]}"
	fails "a size that the model has not" 1 'takes images of 32 x 32, not 48 x 48' "${run[@]}" "${small[@]}" --model "$work/mixed17.onnx" \
		--input-size 48
	fails "one mean for three channels" 1 '--mean and --std want 3 numbers' "${run[@]}" "${small[@]}" "${open[@]}" \
		--input-size 24 --mean 0.5
	fails "a deviation of 0" 1 '--std wants numbers above 0' "${run[@]}" "${small[@]}" "${open[@]}" --input-size 24 --std 1,0,1
	fails "a tensor that is not there" 1 'has no output "nose"' "${run[@]}" "${small[@]}" "${open[@]}" --input-size 24 --output nose
	fails "embeddings that are no numbers" 1 'nan.onnx" gave an embedding that is not a number' "${run[@]}" "${small[@]}" \
		--model "$work/nan.onnx"
	t "and no table for any of these" is t "SELECT to_regclass('again') IS NULL"
}

inner_tensor() {
	"$bin/test-infer" inner "$work/mixed17.onnx"
}

bytea_table() {
	sql "CREATE TABLE pictures (id uuid, kind varchar(20), data bytea)" || return
	(cd "$work/photos" && for f in */*; do
		printf "INSERT INTO pictures VALUES (gen_random_uuid(), '%s', '\\\\x%s');\n" "${f%/*}" "$(od -An -v -tx1 "$f" | tr -d ' \n')"
	done) | psql -Xq -v ON_ERROR_STOP=1 || return
	"${embed[@]}" --model "$work/learned.onnx" --from-table pictures --image data --label kind --table from_bytea
}

# Wait until an embed run has its COPY open.
await_copy() {
	local i
	for ((i = 0; i < 400; i++)); do
		[ "$(sql "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'COPY %' AND state = 'active'")" = 1 ] && return
		sleep 0.02
	done
	return 1
}

# End an embed run in mid-COPY some way: the table must hold the old rows alone.  The
# run stands still meanwhile, so that it cannot end by itself on a busy machine.
#   killed HOW STATUS [PATTERN], where HOW gets the program's process id
killed() {
	local pid status before
	before=$(sql "SELECT count(*), sum(id), md5(string_agg(embedding::text, ',' ORDER BY id)) FROM rows")
	env --default-signal=INT "$nwhead" embed --device cpu --quiet --model "$work/slow.onnx" \
		--idx "$work/many-images.gz" "$work/many-labels.gz" --table rows --replace --batch 4 2>"$work/killed.txt" &
	pid=$!
	await_copy || return
	kill -STOP $pid
	"$1" $pid
	kill -CONT $pid
	wait $pid
	status=$?
	echo "status $status"
	cat "$work/killed.txt"
	[ $status = "$2" ] || return
	[ -z "${3-}" ] || grep -Eq -- "$3" "$work/killed.txt" || return
	is "$before" "SELECT count(*), sum(id), md5(string_agg(embedding::text, ',' ORDER BY id)) FROM rows"
}

kill_program() { kill -KILL "$1"; }
interrupt_program() { kill -INT "$1"; }
drop_connection() { sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'COPY %'"; }
# The server has noticed the crash when it ends another session.
crash_server() {
	local other i
	sql 'SELECT pg_sleep(600)' >/dev/null 2>&1 &
	other=$!
	for ((i = 0; i < 200; i++)); do
		[ "$(sql "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(600)'")" = 1 ] && break
		sleep 0.1
	done
	kill -KILL "$(sql "SELECT pid FROM pg_stat_activity WHERE query LIKE 'COPY %'")"
	wait $other
	for ((i = 0; i < 200; i++)); do
		sql 'SELECT 1' >/dev/null 2>&1 && return
		sleep 0.1
	done
}

kill_() {
	"$nwhead" train "${small[@]}" --arch resnet18-small --width 16 --dim 16 --steps 1 --queries 2 --supports 4 \
		--device cpu --quiet --out "$work/slow.onnx" >>"$log" 2>&1
	"$bin/test-makeimages" idx "$work/many" 4000 4 16
	t "kill -9 in mid-COPY: the old rows" killed kill_program 137
	t "Ctrl-C in mid-COPY: the old rows" killed interrupt_program 130
	t "a lost connection: the old rows" killed drop_connection 1 'lost the connection|terminating connection'
	t "a crashed server: the old rows" killed crash_server 1 'lost the connection|terminated abnormally'
	t "and then all the new ones" "${embed[@]}" --model "$work/slow.onnx" --idx "$work/many-images.gz" \
		"$work/many-labels.gz" --table rows --replace
	t "indeed all" is 4000 "SELECT count(*) FROM rows"
}

# Run a part as a child of a cluster; it leaves its counts in a file.
in_cluster() {
	rm -f "$work/counts" "$work/database.out"
	"$cluster" run "$0" --in-cluster "$1" >>"$work/database.out" 2>&1
	if [ -e "$work/counts" ]; then
		grep '^not ok' "$work/database.out"
		read -r p f <"$work/counts"
		passed=$((passed + p))
		failed=$((failed + f))
	else
		cat "$work/database.out" >>"$log"
		judge 1 "a cluster for the tests of $1"
	fi
	rm -f "$work/database.out"
}

database() {
	"$nwhead" train "${small[@]}" "${quick[@]}" --steps 200 --head fc --queries 64 --out "$work/learned-fc.onnx" \
		>>"$log" 2>&1
	"$nwhead" train "${small[@]}" "${quick[@]}" --steps 2 --seed 9 --head fc --queries 64 --out "$work/other-fc.onnx" \
		>>"$log" 2>&1
	for kind in open nan; do
		"$python" -W ignore "$here/make_backbone.py" "$work/$kind.onnx" 13 $kind >>"$log" 2>&1
	done
	in_cluster in_database
}

# ------------------------------------------------------------------ embed, day after day

everyday() {
	in_cluster embed_everyday
}

# A folder to which pictures come, two of them broken: 12 of class-0, then 12 of class-1.
make_inbox() {
	rm -rf "$work/inbox" && mkdir -p "$work/inbox" && cp -r "$work/photos/class-0" "$work/inbox/"
}

# A run says this on stderr, of all that it says: said PATTERN COUNT
said() {
	[ "$(grep -Ec -- "$1" "$work/said")" = "$2" ]
}

embed_said() {
	"$nwhead" embed --device cpu --model "$work/learned.onnx" "$@" 2>"$work/said"
	local status=$?
	cat "$work/said"
	return $status
}

embed_everyday() {
	local n more=("${embed[@]}" --model "$work/learned.onnx" --images "$work/inbox" --table inbox)
	sql 'CREATE EXTENSION nwhead CASCADE' >>"$log" 2>&1
	make_inbox
	n=$(find "$work/inbox" -type f | wc -l)
	t "a first day" "${more[@]}" --skip-existing --set inbox
	t "its rows" is "$n" "SELECT count(*) FROM inbox"
	sql "SELECT nw_set_tau('inbox', 0.125)" >>"$log" 2>&1
	cp -r "$work/photos/class-1" "$work/inbox/"
	sql "CREATE TABLE before AS SELECT id, ctid AS place FROM inbox" >>"$log" 2>&1
	t "a second day" "${more[@]}" --skip-existing --set inbox
	t "adds what is new" is "$((2 * n))|$n" \
		"SELECT count(*), count(b.id) FROM inbox i LEFT JOIN before b ON b.id = i.id AND b.place = i.ctid"
	t "and leaves the set's temperature" is '0.125|euclidean|label' \
		"SELECT tau, kernel, label FROM nw_sets WHERE name = 'inbox'"
	t "a day without anything new" "${more[@]}" --skip-existing --set inbox
	t "adds nothing" is $((2 * n)) "SELECT count(*) FROM inbox"
	t "--tau of a set that is there" "${more[@]}" --skip-existing --set inbox --tau 0.5
	t "changes it alone" is '0.5|euclidean|label' "SELECT tau, kernel, label FROM nw_sets WHERE name = 'inbox'"
	t "--kernel of a set that is there" "${more[@]}" --append --skip-existing --set inbox --kernel cosine
	t "changes that alone" is '0.5|cosine|label' "SELECT tau, kernel, label FROM nw_sets WHERE name = 'inbox'"
	fails "a set of another table" 1 'already registered' "${embed[@]}" --model "$work/learned.onnx" \
		--images "$work/inbox" --table other --skip-existing --set inbox
	t "and no table for it" is t "SELECT to_regclass('other') IS NULL"
	fails "--skip-existing with --replace" 2 'only one of --skip-existing and --replace' "${more[@]}" --skip-existing --replace
	t "--replace" "${more[@]}" --replace --set inbox
	t "takes the settings of the model" is '1|euclidean' "SELECT tau, kernel FROM nw_sets WHERE name = 'inbox'"
	t "numbers as ids" "${embed[@]}" --model "$work/learned.onnx" "${small[@]}" --table numbers --per-class 5
	t "are known again" "${embed[@]}" --model "$work/learned.onnx" "${small[@]}" --table numbers --skip-existing
	t "each once" is 400 "SELECT count(*) FROM numbers"
	embed_bad_pictures "$n"
	embed_from_rows
	embed_onto_source
	embed_nothing
}

# Pictures that cannot be read: embed_bad_pictures N, of each class
embed_bad_pictures() {
	local i all=("--images" "$work/inbox" --table bad) n=$1
	for ((i = 0; i < 12; i++)); do
		echo text >"$work/inbox/class-1/bad$i.png"
	done
	fails "a bad picture ends the run" 1 'could not read image ".*bad0.png": neither JPEG nor PNG' "${embed[@]}" \
		--model "$work/learned.onnx" "${all[@]}"
	t "--skip-bad goes on" embed_said "${all[@]}" --skip-bad --batch 7
	t "all others are there" is "$((2 * n))|0" "SELECT count(*), count(*) FILTER (WHERE id LIKE '%bad%') FROM bad"
	t "some are named" said '^nwhead: left out: could not read image ".*/bad[0-9]+.png": neither JPEG nor PNG' 10
	t "and all are counted" said '^nwhead: 12 images could not be read and were left out' 1
	t "every vector is its picture's" is t "SELECT bool_and(a.embedding <-> b.embedding < 1e-5) FROM bad a JOIN inbox b USING (id)"
	rm "$work"/inbox/class-?/[0-9]*
	t "nothing but bad pictures" embed_said --images "$work/inbox" --table bad --skip-bad --append
	t "adds nothing" is $((2 * n)) "SELECT count(*) FROM bad"
	t "a GPU leaves out the same" with_gpu bad_on_gpu
}

bad_on_gpu() {
	make_inbox && echo text >"$work/inbox/class-0/1bad.png" &&
		VK_ICD_FILENAMES=$build/lavapipe/icd.json XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-/tmp} "$nwhead" embed --device webgpu \
			--quiet --model "$work/learned.onnx" --images "$work/inbox" --table gpu_bad --batch 3 --skip-bad &&
		is 't|16' "SELECT bool_and(a.embedding <-> b.embedding < 1e-3), count(*) FROM gpu_bad a JOIN bad b USING (id)"
}

embed_from_rows() {
	local from=("${embed[@]}" --model "$work/learned.onnx" --from-table pictures --image data --label kind)
	t "rows of a table" bytea_table
	sql "INSERT INTO pictures SELECT gen_random_uuid(), kind, data FROM pictures LIMIT 5" >>"$log" 2>&1
	t "--skip-existing asks the table" "${from[@]}" --table from_bytea --skip-existing
	t "for what it has not" is '69|69' "SELECT count(*), count(DISTINCT id) FROM from_bytea"
	sql "INSERT INTO pictures VALUES ('00000000-0000-0000-0000-00000000000a', 'class-0', 'no image')" >>"$log" 2>&1
	fails "a bad row has its id named" 1 \
		'could not read image "00000000-0000-0000-0000-00000000000a" of table "pictures": neither JPEG nor PNG' \
		"${from[@]}" --table from_bytea --skip-existing
	t "and can be left out" "${from[@]}" --table from_bytea --skip-existing --skip-bad
	t "nothing was added" is 69 "SELECT count(*) FROM from_bytea"
	sql "CREATE TABLE coded (id varchar(9) PRIMARY KEY, data bytea); INSERT INTO coded SELECT left(id::text, 9), data FROM pictures LIMIT 4;
		CREATE TABLE trapped (n int);
		CREATE FUNCTION trap(varchar, varchar) RETURNS bool LANGUAGE plpgsql AS 'BEGIN INSERT INTO trapped VALUES (1); RETURN true; END';
		CREATE FUNCTION trap(oid, regclass) RETURNS bool LANGUAGE plpgsql AS 'BEGIN INSERT INTO trapped VALUES (2); RETURN true; END';
		CREATE OPERATOR = (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = trap);
		CREATE OPERATOR = (LEFTARG = oid, RIGHTARG = regclass, FUNCTION = trap)" >>"$log" 2>&1
	from=("${embed[@]}" --model "$work/learned.onnx" --from-table coded --image data --table from_coded)
	t "ids of varchar" "${from[@]}" --skip-existing
	sql "INSERT INTO coded SELECT 'x' || left(id, 8), data FROM coded LIMIT 1" >>"$log" 2>&1
	t "and another one" "${from[@]}" --skip-existing
	t "by no operator of the search path" is '5|0' "SELECT count(*), (SELECT count(*) FROM trapped) FROM from_coded"
}

# The table that the images are in is none for their embeddings.
embed_onto_source() {
	local option own=("${embed[@]}" --model "$work/learned.onnx" --from-table own --image data --label label)
	sql "CREATE TABLE own AS SELECT id, kind::text AS label, NULL::vector(16) AS embedding, data FROM pictures WHERE data <> 'no image'" \
		>>"$log" 2>&1
	for option in --replace --append --skip-existing; do
		fails "the table of the images, $option" 1 'table "public.own" is the one that the images are in: name another --table' \
			"${own[@]}" --table public.own $option
	done
	fails "with a name of its own" 1 'table "own" is the one that the images are in' "${own[@]}" --table own
	t "it stays as it is" is '69|69|0' "SELECT count(*), count(data), count(embedding) FROM own"
}

# Sources without anything in them.
embed_nothing() {
	mkdir -p "$work/void"
	t "an empty folder" "${embed[@]}" --model "$work/learned.onnx" --images "$work/void" --table void --set void
	t "gives an empty table" is '0|16|label' "SELECT (SELECT count(*) FROM void), dim, label FROM nw_sets WHERE name = 'void'"
	sql "CREATE TABLE none (id int, data bytea)" >>"$log" 2>&1
	t "an empty table" "${embed[@]}" --model "$work/learned.onnx" --from-table none --image data --table none_too
	t "gives another" is 0 "SELECT count(*) FROM none_too"
}

# ------------------------------------------------------------------ which model made what

models() {
	cp "$work/learned.onnx" "$work/renamed.onnx"
	"$nwhead" train "${small[@]}" "${quick[@]}" --steps 2 --seed 9 --out "$work/second.onnx" >>"$log" 2>&1
	in_cluster models_noted
}

# The comment of a table's embeddings: note TABLE
note="SELECT col_description('%s'::regclass, (SELECT attnum FROM pg_attribute WHERE attrelid = '%s'::regclass AND attname = 'embedding'))"

noted() {
	# shellcheck disable=SC2059
	is "$1" "$(printf "$note" "$2" "$2")"
}

models_noted() {
	local a b run=("${embed[@]}" "${small[@]}" --per-class 3)
	a="nwhead model: learned sha256:$(sha256sum <"$work/learned.onnx" | cut -d' ' -f1)"
	b="nwhead model: second sha256:$(sha256sum <"$work/second.onnx" | cut -d' ' -f1)"
	sql 'CREATE EXTENSION nwhead CASCADE' >>"$log" 2>&1
	t "a new table" "${run[@]}" --model "$work/learned.onnx" --table m --set m
	t "says which model made its rows" noted "$a" m
	fails "rows of another model are not added" 1 \
		'table public.m has embeddings of another model \(learned sha256:[0-9a-f]{64}\): give --replace, --into-new-set or --mix-models' \
		"${embed[@]}" "${small[@]}" --model "$work/second.onnx" --table m --skip-existing
	t "nothing was added" is 12 "SELECT count(*) FROM m"
	t "the same file by another name" "${embed[@]}" "${small[@]}" --per-class 4 --model "$work/renamed.onnx" --table m --skip-existing
	t "is the same model" noted "$a" m
	t "--replace" "${run[@]}" --model "$work/second.onnx" --table m --replace
	t "changes the note" noted "$b" m
	sql "COMMENT ON COLUMN m.embedding IS E'made by hand\n$b\n''quoted'' \\\\ so'" >>"$log" 2>&1
	t "--mix-models" "${embed[@]}" "${small[@]}" --per-class 5 --model "$work/learned.onnx" --table m --skip-existing --mix-models
	t "notes both, beside other text" noted "made by hand
$b
'quoted' \\ so
$a" m
	fails "mixed stays mixed" 1 'another model' "${embed[@]}" "${small[@]}" --model "$work/learned.onnx" --table m --skip-existing
	t "an emptied table" sql "DELETE FROM m"
	t "is anyone's" "${run[@]}" --model "$work/learned.onnx" --table m
	t "and its note too" noted "made by hand
'quoted' \\ so
$a" m
	sql "CREATE TABLE theirs AS SELECT * FROM m" >>"$log" 2>&1
	t "rows of an unknown model" "${embed[@]}" "${small[@]}" --model "$work/second.onnx" --table theirs --skip-existing
	t "stay unknown" noted '' theirs
	t "--into-new-set" "${run[@]}" --model "$work/second.onnx" --into-new-set 'Birds "2"'
	t "a table and a set" is '12|Birds "2"|public."Birds ""2"""' \
		"SELECT (SELECT count(*) FROM \"Birds \"\"2\"\"\"), name, relation FROM nw_sets WHERE name LIKE 'Birds%'"
	fails "only once" 1 'is there already: --into-new-set wants a name that is free' "${run[@]}" --model "$work/second.onnx" \
		--into-new-set 'Birds "2"'
	t "in a table of another name" "${run[@]}" --model "$work/second.onnx" --into-new-set three --table '"t hree"'
	t "likewise" is 'public."t hree"' "SELECT relation FROM nw_sets WHERE name = 'three'"
	fails "a set's name that is taken" 1 'already registered' "${run[@]}" --model "$work/second.onnx" --into-new-set three --table four
	fails "--into-new-set with --append" 2 'goes without' "${run[@]}" --model "$work/second.onnx" --into-new-set x --append
	sql "CREATE ROLE adder LOGIN; GRANT SELECT, INSERT ON m TO adder; COMMENT ON COLUMN m.embedding IS NULL; DELETE FROM m" >>"$log" 2>&1
	t "whoever may only add rows" env PGUSER=adder "${run[@]}" --model "$work/learned.onnx" --table m
	t "adds them without a note" noted '' m
}

# ------------------------------------------------------------------ classify

classify_() {
	"$nwhead" train "${small[@]}" "${quick[@]}" --steps 2 --seed 9 --out "$work/second.onnx" >>"$log" 2>&1
	in_cluster classify_files
}

# Judge lines of JSON against the database's own answers: json_answers TOP FILE...
json_answers() {
	local top=$1
	shift
	"$nwhead" classify --device cpu --model "$work/learned.onnx" --set birds --json --batch 3 --top "$top" "$@" >"$work/answers.json" || return
	cat "$work/answers.json"
	sql "SELECT json_build_object('file', '$work/photos/' || b.id, 'label', c.label, 'confidence', c.confidence, 'reasons',
			(SELECT coalesce(json_agg(json_build_object('id', support_id, 'label', label, 'distance', distance, 'weight', weight)
				ORDER BY weight DESC), '[]') FROM nw_weights(b.embedding, 'birds', greatest($top, 1)) WHERE $top > 0))
		FROM birds b, nw_classify(b.embedding, 'birds') c" >"$work/wanted.json" &&
		"$python" - "$work/answers.json" "$work/wanted.json" "$@" <<-'PY'
			import json, sys
			got = [json.loads(l) for l in open(sys.argv[1])]
			want = {w['file']: w for w in (json.loads(l) for l in open(sys.argv[2]))}
			assert [g['file'] for g in got] == sys.argv[3:], got
			def near(a, b):
			    if isinstance(a, dict):
			        return a.keys() == b.keys() and all(near(a[k], b[k]) for k in a)
			    if isinstance(a, list):
			        return len(a) == len(b) and all(map(near, a, b))
			    if isinstance(a, float) or isinstance(b, float):
			        return abs(a - b) <= 1e-4 * (1 + abs(b))
			    return a == b
			for g in got:
			    assert near(g, want[g['file']]), (g, want[g['file']])
		PY
}

# The standard output and the status of a run: answers STATUS PATTERN OPTION...
answers() {
	local status=$1 pattern=$2 got
	shift 2
	"$nwhead" classify --device cpu --model "$work/learned.onnx" --set birds "$@" >"$work/answers" 2>"$work/said"
	got=$?
	cat "$work/answers" "$work/said"
	[ $got = "$status" ] && grep -Eq -- "$pattern" "$work/answers"
}

classify_files() {
	local one=$work/photos/class-1/1.jpg odd=$work/od\"d$'\n'\\$'\351'.jpg
	local c=("$nwhead" classify --device cpu --model "$work/learned.onnx")
	sql 'CREATE EXTENSION nwhead CASCADE' >>"$log" 2>&1
	t "a set to ask" "${embed[@]}" --model "$work/learned.onnx" --images "$work/photos" --table birds --set birds
	t "one picture" answers 0 "^$one: class-1 \([01]\.[0-9]{4}\)\$" "$one"
	t "with three reasons" test "$(grep -Ec '^    [01]\.[0-9]{4}  class-[0-3]  class-[0-3]/[0-9]+\.(jpg|png)$' "$work/answers")" = 3
	t "and a warning, since it is a row of the set" test "$(cat "$work/said")" = \
		"nwhead: warning: image \"$one\" is probably a row of set \"birds\" itself, with id \"class-1/1.jpg\""
	t "many pictures, as the database has them" json_answers 4 "$work"/photos/class-?/1*.??? "$one"
	t "no reasons" json_answers 0 "$one"
	t "the standard input" stdin_answer "$one"
	cp "$one" "$odd"
	t "a name that is hard to write" json_name "$odd"
	rm -f "$odd"
	echo text >"$work/none.jpg"
	t "files that cannot be read" answers 1 "^$one: class-1" "$work/nowhere.jpg" "$one" "$work/none.jpg"
	t "are named" test "$(grep -Ec 'could not read image ".*/(nowhere.jpg": No such file or directory|none.jpg": neither JPEG nor PNG)' "$work/said")" = 2
	t "in JSON, too" answers 1 '"error": "neither JPEG nor PNG"}$' --json "$work/none.jpg"
	t "nothing but those" answers 1 '"error": "No such file or directory"}$' --json "$work/nowhere.jpg"
	t "not sure enough" answers 0 "^$one: not sure, perhaps class-1 \(" --min-confidence 1 --top 0 "$one"
	t "which is no label in JSON" answers 0 '"label": null, "confidence": 0?\.?[0-9]' --json --min-confidence 1 "$one"
	t "prototypes answer, too" sql "SELECT nw_distill('birds', 'few', k => 2)"
	t "for their parent's model" answers 0 'class-1' --set few "$one"
	t "without a warning" test ! -s "$work/said"
	t "a set of another model" answers 0 '.' --model "$work/second.onnx" "$one"
	t "is warned of" grep -Eq 'warning: set "birds" has embeddings of model learned sha256:[0-9a-f]{64}, and ".*second.onnx" is second sha256:' "$work/said"
	fails "a set that is not there" 1 'there is no set "nowhere"' "${c[@]}" --set nowhere "$one"
	sql "CREATE TABLE small (id int, label text, embedding vector(2)); INSERT INTO small VALUES (1, 'a', '[1,2]'); SELECT nw_register('small', 'small')" >>"$log" 2>&1
	fails "a set of another dimension" 1 'set "small" has embeddings of 2 dimensions, and ".*" makes 16' "${c[@]}" --set small "$one"
	sql "CREATE ROLE stranger LOGIN" >>"$log" 2>&1
	fails "whoever may not read the rows" 1 'permission denied for table birds' env PGUSER=stranger "${c[@]}" --set birds "$one"
	fails "no file" 2 'no image given' "${c[@]}" --set birds
	fails "no set" 2 '--set must be given' "${c[@]}" "$one"
	fails "the standard input twice" 2 'can be given once' "${c[@]}" --set birds - -
}

stdin_answer() {
	local got
	got=$("$nwhead" classify --device cpu --model "$work/learned.onnx" --set birds --top 0 - <"$1") || return
	echo "$got"
	[[ $got = '-: class-1 ('* ]]
}

json_name() {
	answers 0 . --json --top 0 "$1" && "$python" - "$work/answers" <<-'PY'
		import json, sys
		lines = open(sys.argv[1], encoding='utf-8').read().split('\n')
		assert len(lines) == 2 and json.loads(lines[0])['file'].endswith('/od"d\n\\\ufffd.jpg'), lines
	PY
}
