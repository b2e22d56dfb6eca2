# shellcheck shell=bash disable=SC2154
#
# The trainer's tests of what steers a run: held-out images, the best model, stopping
# early, longer runs; test/trainer/run sources this.

held=(--val-idx "$work/held-images.gz" "$work/held-labels.gz")

# Make held-out images; every fourth has a wrong label, so that no network gets all right.
make_held() {
	"$bin/test-makeimages" idx "$work/held" 150 4 16 && "$python" - "$work/held-labels.gz" <<-'PY'
		import gzip, sys
		data = bytearray(gzip.open(sys.argv[1]).read())
		for i in range(8, len(data), 4):
		    data[i] = (data[i] + 1 + i % 3) % 4
		gzip.open(sys.argv[1], 'wb').write(data)
	PY
}

# A log's validations must be these: judged FILE STEP...
judged() {
	"$python" - "$@" <<-'PY'
		import json, sys
		lines = [json.loads(l) for l in open(sys.argv[1])]
		val = [l for l in lines if 'val_nll' in l]
		assert all(set(l) == {'step', 'val_error', 'val_ece', 'val_nll'} for l in val), val
		assert [l['step'] for l in val] == [int(s) for s in sys.argv[2:]], val
		assert all(0 <= l['val_error'] <= 1 and 0 <= l['val_ece'] <= 1 and l['val_nll'] > 0 for l in val), val
	PY
}

# The best step of a log by a figure: best_step FILE FIGURE
best_step() {
	"$python" - "$@" <<-'PY'
		import json, sys
		val = [l for l in map(json.loads, open(sys.argv[1])) if 'val_nll' in l]
		print(min(val, key=lambda l: l['val_' + sys.argv[2]])['step'])
	PY
}

# The file of the best model is that of a run that ends there: best_is FIGURE OPTION...
best_is() {
	local figure=$1 step run=("$nwhead" train "${small[@]}" "${quick[@]}" "${held[@]}" --lr-drops 1000)
	shift
	"${run[@]}" --steps 60 --val-every 7 --best-by "$figure" --out "$work/v.onnx" --log "$work/v.json" "$@" &&
		judged "$work/v.json" 7 14 21 28 35 42 49 56 60 || return
	step=$(best_step "$work/v.json" "$figure")
	"${run[@]}" --steps "$step" --out "$work/short.onnx" "$@" &&
		"$bin/test-modeldiff" "$work/v.best.onnx" "$work/short.onnx" same &&
		"$bin/test-infer" settings "$work/v.best.onnx" nwhead.val_step="$step" &&
		"$bin/test-infer" settings "$work/v.onnx" nwhead.val_step=60
}

# Held-out images change nothing about what is learned.
same_network() {
	"$nwhead" train "${small[@]}" "${quick[@]}" --steps 30 --out "$work/without.onnx" &&
		"$nwhead" train "${small[@]}" "${quick[@]}" --steps 30 "${held[@]}" --val-every 7 --out "$work/with.onnx" &&
		"$bin/test-modeldiff" "$work/without.onnx" "$work/with.onnx" same
}

# A share is not trained on: another seed holds out others, and the networks differ.
share() {
	local run=("$nwhead" train "$@" --val-share 0.25 --val-every 4 --steps 8)
	"${run[@]}" --out "$work/one.onnx" --log "$work/one.json" && judged "$work/one.json" 4 8 &&
		"${run[@]}" --val-seed 1 --out "$work/two.onnx" &&
		"$bin/test-modeldiff" "$work/one.onnx" "$work/two.onnx" other embedding.weight embedding.weight
}

fixed_batch() {
	"$python" -W ignore "$here/make_backbone.py" "$work/tokens.onnx" 13 tokens &&
		"$nwhead" train --images "$work/photos" --val-share 0.2 --backbone "$work/tokens.onnx" --size 32 --steps 2 \
			--queries 8 --supports 4 --device cpu --quiet --out "$work/fixed.onnx" && [ -e "$work/fixed.best.onnx" ]
}

# All labels are wrong, so the first look is the best: the run stops after two more.
early_stop() {
	local run=("$nwhead" train "${small[@]}" "${quick[@]}" --steps 400 --lr-drops 1000)
	"$bin/test-makeimages" idx "$work/wrong" 60 4 16 && "$python" - "$work/wrong-labels.gz" <<-'PY' || return
		import gzip, sys
		data = bytearray(gzip.open(sys.argv[1]).read())
		data[8:] = bytes((b + 1) % 4 for b in data[8:])
		gzip.open(sys.argv[1], 'wb').write(data)
	PY
	"${run[@]}" --val-idx "$work/wrong-images.gz" "$work/wrong-labels.gz" --val-every 15 --patience 2 \
		--out "$work/early.onnx" --log "$work/early.json" --keep-checkpoint 2>"$work/early.txt" || return
	cat "$work/early.json" "$work/early.txt"
	judged "$work/early.json" 15 30 45 && [ "$(best_step "$work/early.json" nll)" = 15 ] &&
		[ "$(tail -n 1 "$work/early.json")" = '{"step":45,"stopped_early":true,"best_step":15}' ] &&
		grep -q 'stopped early after step 45: no better model in 2 validations' "$work/early.txt" || return
	cp "$work/early.onnx" "$work/early-last.onnx" && cp "$work/early.best.onnx" "$work/early-best.onnx"
	"${run[@]}" --val-idx "$work/wrong-images.gz" "$work/wrong-labels.gz" --val-every 15 --patience 2 \
		--out "$work/early.onnx" --resume && cmp "$work/early.onnx" "$work/early-last.onnx" &&
		cmp "$work/early.best.onnx" "$work/early-best.onnx" && [ ! -e "$work/early.onnx.ckpt" ] || return
	for step in 45=early 15=early.best; do
		"${run[@]}" --steps ${step%=*} --out "$work/short.onnx" &&
			"$bin/test-modeldiff" "$work/short.onnx" "$work/${step#*=}.onnx" same || return
	done
}

# Interrupt a run while it looks at many held-out images: it need not end the look, and
# goes on with it.
interrupted_look() {
	local pid status i run=("$nwhead" train "${small[@]}" "${quick[@]}" --steps 20 --val-every 10 --log-every 10
		--val-idx "$work/crowd-images.gz" "$work/crowd-labels.gz")
	rm -f "$work"/look.*
	"$bin/test-makeimages" idx "$work/crowd" 20000 4 16 && "${run[@]}" --out "$work/whole.onnx" || return
	env --default-signal=INT "${run[@]}" --out "$work/look.onnx" --log "$work/look.json" &
	pid=$!
	for ((i = 0; i < 600; i++)); do
		grep -qs '"step":10,"loss"' "$work/look.json" && break
		kill -0 $pid 2>/dev/null || break
		sleep 0.01
	done
	kill -INT $pid
	wait $pid
	status=$?
	cat "$work/look.json"
	[ $status = 1 ] && [ ! -e "$work/look.onnx" ] && "${run[@]}" --out "$work/look.onnx" --resume &&
		cmp "$work/whole.onnx" "$work/look.onnx" && cmp "$work/whole.best.onnx" "$work/look.best.onnx"
}

# A finished run made longer is the same as one that was long from the start.
extended() {
	local run=("$nwhead" train "${small[@]}" "${quick[@]}" "$@")
	rm -f "$work"/{whole,parts}{,.best}.onnx
	"${run[@]}" --steps 120 --out "$work/whole.onnx" &&
		"${run[@]}" --steps 60 --out "$work/parts.onnx" --keep-checkpoint && [ -e "$work/parts.onnx.ckpt" ] &&
		! cmp -s "$work/whole.onnx" "$work/parts.onnx" &&
		"${run[@]}" --steps 120 --out "$work/parts.onnx" --resume 2>"$work/extended.txt" || return
	cat "$work/extended.txt"
	grep -q 'extended from 60 to 120 steps: goes on after step 60, ' "$work/extended.txt" &&
		[ ! -e "$work/parts.onnx.ckpt" ] && cmp "$work/whole.onnx" "$work/parts.onnx" || return
	[ ! -e "$work/whole.best.onnx" ] || cmp "$work/whole.best.onnx" "$work/parts.best.onnx"
}

# The rate of a longer run falls at half and three quarters of all its steps, and the
# model says that it did not from the start.
longer_schedule() {
	local run=("$nwhead" train "${small[@]}" "${quick[@]}" --lr 0.1 --log-every 1 --keep-checkpoint)
	"${run[@]}" --steps 40 --out "$work/longer.onnx" --log "$work/longer.json" &&
		rates "$work/longer.json" 20=0.1 21=0.01 31=0.001 40=0.001 || return
	"${run[@]}" --steps 100 --out "$work/longer.onnx" --log "$work/longer.json" --resume 2>"$work/longer.txt" || return
	cat "$work/longer.txt"
	rates "$work/longer.json" 40=0.001 41=0.1 50=0.1 51=0.01 75=0.01 76=0.001 100=0.001 &&
		grep -q 'from 40 to 100 steps: .* rate 0.1 now, 0.001 at the end, divided by 10 after 50,75$' "$work/longer.txt" &&
		"$bin/test-infer" settings "$work/longer.onnx" steps=100 extended='40 of 40'
}

# Images of which one has another pixel: spotted FROM TO
spotted() {
	"$python" - "$@" <<-'PY'
		import gzip, sys
		data = bytearray(gzip.open(sys.argv[1]).read())
		data[-1] ^= 1
		gzip.open(sys.argv[2], 'wb').write(data)
	PY
}

# A folder is the same where its files are, by name and size, and a checkpoint that does not
# say which it was is gone on from.
same_folder() {
	local d=$work/moved run=("$nwhead" train "${quick[@]}" --size 16 --supports 8 --queries 8 --steps 6
		--out "$work/moved.onnx" --resume --checkpoint "$work/odd.ckpt")
	rm -rf "$d" && cp -r "$work/photos" "$d" && "${run[@]/--resume/--keep-checkpoint}" --images "$work/photos" &&
		cp "$work/odd.ckpt" "$work/whole.ckpt" && "${run[@]}" --images "$d" || return
	echo >>"$d/class-1/1.jpg" && cp "$work/whole.ckpt" "$work/odd.ckpt" || return
	! "${run[@]}" --images "$d" 2>"$work/moved.txt" && grep -q 'made with other images$' "$work/moved.txt" &&
		edited "$work/whole.ckpt" "$work/first.ckpt" nwhead.checksum &&
		edited "$work/first.ckpt" "$work/odd.ckpt" source && "${run[@]}" --images "$d"
}

# What a run cannot go on with, made longer or not: refuses_to_extend
refuses_to_extend() {
	local run=("$nwhead" train "${small[@]}" "${quick[@]}" --out "$work/bad.onnx" --checkpoint "$work/kept.ckpt")
	rm -f "$work/kept.ckpt"
	t "a run that keeps its checkpoint" "${run[@]}" --steps 20 --keep-checkpoint "${held[@]}" --out "$work/kept.onnx"
	fails "fewer steps than before" 1 'of a run of 20 steps, not 10: give --steps 20 as before, or more' "${run[@]}" --resume --steps 10 "${held[@]}"
	fails "more steps that nobody asked for" 1 'of a run of 20 steps: give --steps 20 to go on, or more' "${run[@]}" --resume "${held[@]}"
	fails "more steps and another seed" 1 'another setting: seed was 0 and is 3' "${run[@]}" --resume --steps 30 --seed 3 \
		"${held[@]}"
	fails "more steps and other drops" 1 'another setting: lr-drops was 10,15 and is 12' "${run[@]}" --resume --steps 30 \
		--lr-drops 12 "${held[@]}"
	fails "other held-out images" 1 'another setting: val-images was 150 and is 400' "${run[@]}" --resume --steps 20 \
		--val-idx "$work/small-images.gz" "$work/small-labels.gz"
	t "held-out images with a spot" spotted "$work/held-images.gz" "$work/spotted.gz"
	fails "held-out images of the same labels" 1 'made with other held-out images' "${run[@]}" --resume --steps 20 \
		--val-idx "$work/spotted.gz" "$work/held-labels.gz"
	fails "another optimizer, from which a rate follows" 1 'optimizer was the usual one and is adamw' "${run[@]}" --resume \
		--steps 20 "${held[@]}" --optimizer adamw
	fails "another schedule" 1 'schedule was the usual one and is cosine' "${run[@]}" --resume --steps 20 "${held[@]}" \
		--schedule cosine
	fails "another warmup, longer than the run was" 1 'warmup was the usual one and is 25$' "${run[@]}" --resume \
		--steps 30 "${held[@]}" --warmup 25
	printf '%s\n' a b c d >"$work/names"
	fails "other names of classes" 1 'made with other names of classes$' "${run[@]}" --resume --steps 20 "${held[@]}" \
		--class-names "$work/names"
	fails "another head" 1 'head was nw and is fc' "${run[@]}" --resume --steps 20 --head fc
	fails "another momentum, in few digits" 1 'momentum was 0.9 and is 0.1$' "${run[@]}" --resume --steps 20 "${held[@]}" \
		--momentum 0.1
	fails "none any more" 1 'another setting: val-images was 150 and is none' "${run[@]}" --resume --steps 20
	fails "another patience" 1 'another setting: patience was 0 and is 2' "${run[@]}" --resume --steps 20 "${held[@]}" \
		--patience 2
}

# Write a checkpoint with other metadata: edited FROM TO KEY [VALUE]; without VALUE, with none.
edited() {
	"$python" - "$@" <<-'PY'
		import sys
		def varint(data, i):
		    n = shift = 0
		    while True:
		        n, shift, i = n | (data[i] & 127) << shift, shift + 7, i + 1
		        if data[i - 1] < 128:
		            return n, i
		data, key, out, found, i = open(sys.argv[1], 'rb').read(), sys.argv[3].encode(), b'', 0, 0
		while i < len(data):
		    start, (tag, i) = i, varint(data, i)
		    n, i = varint(data, i)
		    i += n if tag & 7 == 2 else 0
		    if data[start] == 14 << 3 | 2 and bytes([len(key)]) + key + b'\x12' in data[start:i]:
		        found += 1
		        if len(sys.argv) > 4:
		            value = sys.argv[4].encode()
		            pair = b'\x0a' + bytes([len(key)]) + key + b'\x12' + bytes([len(value)]) + value
		            out += data[start:start + 1] + bytes([len(pair)]) + pair
		    else:
		        out += data[start:i]
		assert found == 1, found
		open(sys.argv[2], 'wb').write(out)
	PY
}

# Write a checkpoint without one of its weights: without FROM TO NAME
without() {
	(cd "$here" && "$python" -W ignore - "$@") <<-'PY'
		import sys
		from make_backbone import read, write
		model, name = read(open(sys.argv[1], 'rb').read()), sys.argv[3].encode()
		graph = read(next(v for f, _, v in model if f == 7))
		kept = [(f, w, v) for f, w, v in graph if f != 5 or (8, 2, name) not in read(v)]
		assert len(kept) == len(graph) - 1
		open(sys.argv[2], 'wb').write(write([(f, w, write(kept) if f == 7 else v) for f, w, v in model]))
	PY
}

# One bit of a file's middle, which is a weight's: flip_bit FROM TO
flip_bit() {
	"$python" - "$@" <<-'PY'
		import sys
		data = bytearray(open(sys.argv[1], 'rb').read())
		data[len(data) // 2] ^= 4
		open(sys.argv[2], 'wb').write(data)
	PY
}

# What no checkpoint of a run of 20 steps can be; the first ones had neither a sum nor a source.
damaged_checkpoints() {
	local run=("$nwhead" train "${small[@]}" "${quick[@]}" --steps 20 --out "$work/bad.onnx" --resume
		--checkpoint "$work/odd.ckpt" "${held[@]}") step
	t "a bit" flip_bit "$work/kept.ckpt" "$work/odd.ckpt"
	fails "a checkpoint with a bit turned" 1 'checkpoint ".*odd.ckpt" is damaged' "${run[@]}"
	t "a seed" edited "$work/kept.ckpt" "$work/odd.ckpt" seed 1
	fails "a checkpoint with a changed setting" 1 'is damaged' "${run[@]}" --seed 1
	t "no sum" edited "$work/kept.ckpt" "$work/first.ckpt" nwhead.checksum
	for step in '' 20x x nan -1 ' 7' 21 99999999999999999999; do
		t "step \"$step\"" edited "$work/first.ckpt" "$work/odd.ckpt" nwhead.step "$step"
		fails "a checkpoint of step \"$step\"" 1 'odd.ckpt" is not a checkpoint of nwhead' "${run[@]}"
	done
	t "a run of 5 steps" edited "$work/first.ckpt" "$work/five.ckpt" steps 5
	t "its step 9" edited "$work/five.ckpt" "$work/odd.ckpt" nwhead.step 9
	fails "a checkpoint beyond a short run" 1 'odd.ckpt" is not a checkpoint of nwhead' "${run[@]}"
	t "a best model" edited "$work/first.ckpt" "$work/odd.ckpt" nwhead.best '20 0 0 1 20 -7 0 1 0'
	fails "a checkpoint with a best model that cannot be" 1 'is not a checkpoint' "${run[@]}"
	cp "$work/first.ckpt" "$work/odd.ckpt"
	t "a checkpoint without a sum" "${run[@]}" --out "$work/odd.onnx"
}

# A model that cannot be written when all is learned: the checkpoint is, and writes it later.
unwritten() {
	local out=$work/unwritten.onnx run=("${small[@]}" "${quick[@]}" --steps 20) status=0
	rm -f "$out" "$out.ckpt"
	"$nwhead" train "${run[@]}" --out "$work/whole.onnx" || return
	oddly no-model "${run[@]}" --out "$out" 2>"$work/unwritten.txt" || status=$?
	cat "$work/unwritten.txt"
	[ $status = 1 ] && grep -q 'unwritten.onnx": No space left .* --resume writes the model later$' "$work/unwritten.txt" &&
		[ ! -e "$out" ] &&
		"$nwhead" train "${run[@]}" --out "$out" --resume --log "$work/unwritten.json" && [ ! -s "$work/unwritten.json" ] &&
		cmp "$work/whole.onnx" "$out" && [ ! -e "$out.ckpt" ]
}

# Checkpoints that cannot be written do not end a run, and its model is the same.
unkept() {
	local run=("${small[@]}" "${quick[@]}" --steps 20)
	"$nwhead" train "${run[@]}" --out "$work/whole.onnx" || return
	oddly no-ckpt "${run[@]}" --checkpoint-every 5 --out "$work/unkept.onnx" 2>"$work/unkept.txt" || return
	cat "$work/unkept.txt"
	[ "$(grep -c 'No space left .*; going on without this checkpoint$' "$work/unkept.txt")" = 4 ] &&
		cmp "$work/whole.onnx" "$work/unkept.onnx"
}

# A run that training wrecks leaves the best model that it had.
wrecked() {
	local status=0
	rm -f "$work"/wrecked{,.best}.onnx
	"$nwhead" train "${small[@]}" "${quick[@]}" --kernel dot --steps 60 --lr 1e3 --warmup 59 "${held[@]}" --val-every 1 \
		--log "$work/wrecked.json" --out "$work/wrecked.onnx" 2>"$work/wrecked.txt" || status=$?
	cat "$work/wrecked.txt"
	[ $status = 1 ] && grep -q 'is no longer a number at step [0-9]*: try a smaller --lr$' "$work/wrecked.txt" &&
		[ ! -e "$work/wrecked.onnx" ] &&
		"$bin/test-infer" settings "$work/wrecked.best.onnx" nwhead.val_step="$(best_step "$work/wrecked.json" nll)"
}

# What the last step wrecks, after a loss that was a number, is not written either.
wrecked_at_last() {
	local steps at_last=0
	for steps in 1 2 3 4 5 6; do
		rm -f "$work/wrecked.onnx"
		"$nwhead" train "${small[@]}" "${quick[@]}" --head fc --lr 1e3 --lr-drops 99 --steps $steps --out "$work/wrecked.onnx" \
			2>"$work/wrecked.txt" && continue
		cat "$work/wrecked.txt"
		[ ! -e "$work/wrecked.onnx" ] || return
		! grep -Eq "(embedding|weight) is no longer a number at step $steps:" "$work/wrecked.txt" || at_last=$((at_last + 1))
	done
	[ $at_last -gt 0 ]
}

# An image that cannot be read ends a run; what it has learned is kept, and gone on from once the
# image is there again.
unreadable() {
	local d=$work/torn status=0 run=(--images "$work/torn" "${quick[@]}" --size 16 --supports 4 --queries 4 --steps 60
		--cache 0 --checkpoint-every 5)
	rm -rf "$d" "$work"/torn.onnx{,.ckpt} && cp -r "$work/photos" "$d" &&
		"$nwhead" train "${run[@]}" --out "$work/whole.onnx" || return
	GONE=$d/class-1/1.jpg oddly gone "${run[@]}" --out "$work/torn.onnx" 2>"$work/torn.txt" || status=$?
	cat "$work/torn.txt"
	[ $status = 1 ] && [ ! -e "$work/torn.onnx" ] &&
		grep -q 'could not read image ".*class-1/1.jpg": .* (after step [0-9]*; checkpoint kept in ".*torn.onnx.ckpt")$' 			"$work/torn.txt" &&
		cp "$work/photos/class-1/1.jpg" "$d/class-1/" && "$nwhead" train "${run[@]}" --out "$work/torn.onnx" --resume &&
		cmp "$work/whole.onnx" "$work/torn.onnx"
}

# A file that is named as a checkpoint and is none is left alone: neither replaced nor removed.
precious() {
	local status=0 file
	for file in learned.onnx small-images.gz; do
		cp "$work/$file" "$work/precious" &&
			! "$nwhead" train "${small[@]}" "${quick[@]}" --steps 2 --out "$work/bad.onnx" --checkpoint "$work/precious" \
				2>"$work/precious.txt" || return
		cat "$work/precious.txt"
		grep -q 'precious" is not a checkpoint of nwhead' "$work/precious.txt" && cmp "$work/$file" "$work/precious" &&
			[ ! -e "$work/bad.onnx" ] || return
	done
}

# A run goes on with the backbone under another name; an old checkpoint has no digest, and tells
# it by the name.
renamed_backbone() {
	local run=("$nwhead" train --images "$work/photos" --size 32 --queries 4 --supports 4 --device cpu --quiet
		--out "$work/renamed.onnx" --keep-checkpoint)
	rm -f "$work"/renamed.onnx*
	cp "$work/tokens.onnx" "$work/some.onnx" && cp "$work/tokens.onnx" "$work/moved.onnx" &&
		"${run[@]}" --steps 2 --backbone "$work/some.onnx" &&
		"${run[@]}" --steps 2 --backbone "$work/../trainer/moved.onnx" --resume &&
		"${run[@]}" --steps 3 --backbone "$work/some.onnx" --resume &&
		edited "$work/renamed.onnx.ckpt" "$work/plain.ckpt" nwhead.checksum &&
		edited "$work/plain.ckpt" "$work/older.ckpt" backbone || return
	cp "$work/older.ckpt" "$work/renamed.onnx.ckpt" && "${run[@]}" --steps 3 --backbone "$work/some.onnx" --resume &&
		cp "$work/older.ckpt" "$work/renamed.onnx.ckpt" &&
		! "${run[@]}" --steps 3 --backbone "$work/moved.onnx" --resume 2>"$work/other.txt" || return
	cat "$work/other.txt"
	grep -q 'another setting: network was .*some.onnx and is .*moved.onnx' "$work/other.txt"
}

# A run does not go on with another file of the backbone's name.
other_backbone() {
	local run=("$nwhead" train --images "$work/photos" --backbone "$work/some.onnx" --size 32 --queries 4 --supports 4
		--steps 2 --device cpu --quiet --out "$work/other.onnx" --keep-checkpoint)
	cp "$work/tokens.onnx" "$work/some.onnx" && "${run[@]}" && "${run[@]}" --resume || return
	"$python" -W ignore "$here/make_backbone.py" "$work/some.onnx" 13 open &&
		! "${run[@]}" --resume 2>"$work/other.txt" || return
	cat "$work/other.txt"
	grep -q 'was made with another backbone$' "$work/other.txt"
}

# A checkpoint that lacks a weight is refused, wherever it lacks it, in place of fresh weights.
incomplete() {
	local name run=("$nwhead" train "${small[@]}" "${quick[@]}" --steps 20 --out "$work/odd.onnx" --resume
		--checkpoint "$work/odd.ckpt" "${held[@]}")
	edited "$work/kept.ckpt" "$work/plain.ckpt" nwhead.checksum || return
	for name in conv2.weight m.conv2.weight best/conv2.weight; do
		without "$work/plain.ckpt" "$work/odd.ckpt" "$name" && ! "${run[@]}" 2>"$work/odd.txt" || return
		cat "$work/odd.txt"
		grep -q 'odd.ckpt" lacks weights that this network has' "$work/odd.txt" || return
	done
}

# Looks at held-out images are not profiled: the file is that of the steps.
one_profile() {
	rm -f "$work"/looked*
	"$nwhead" train "${small[@]}" "${quick[@]}" --steps 6 "${held[@]}" --val-every 2 --profile "$work/looked" \
		--out "$work/p.onnx" && [ "$(find "$work" -name 'looked*' | wc -l)" = 1 ]
}

held_twice() {
	"$nwhead" train "${small[@]}" "${quick[@]}" --steps 2 --val-idx "${small[@]:1}" --out "$work/p.onnx" 2>"$work/twice.txt" &&
		cat "$work/twice.txt" && grep -q 'the held-out images are the training images' "$work/twice.txt"
}

# A log that cannot be written is given up, with one word; the model is the same.
full_log() {
	local run=("$nwhead" train "${small[@]}" "${quick[@]}" --steps 20 --log-every 5)
	"${run[@]}" --out "$work/whole.onnx" &&
		"${run[@]}" --out "$work/full.onnx" --log /dev/full 2>"$work/full.txt" || return
	cat "$work/full.txt"
	[ "$(wc -l <"$work/full.txt")" = 1 ] && grep -q 'could not write to log "/dev/full": .*; going on' "$work/full.txt" &&
		cmp "$work/whole.onnx" "$work/full.onnx"
}

# Another share is named, and so are other choices of the same size.
other_shares() {
	local run=("$nwhead" train "${small[@]}" "${quick[@]}" --steps 4 --out "$work/bad.onnx" --checkpoint "$work/share.ckpt")
	t "a run with a share" "${run[@]}" --val-share 0.25 --keep-checkpoint --out "$work/share.onnx"
	fails "another share" 1 'another setting: val-share was 0.25 and is 0.5$' "${run[@]}" --resume --val-share 0.5
	fails "another choice" 1 'another setting: val-seed was 0 and is 1$' "${run[@]}" --resume --val-share 0.25 --val-seed 1
}

# So many steps as ask about each image so often, rounded up: 800 / 64, 300 / 48.
epochs() {
	"$nwhead" train "${small[@]}" "${quick[@]}" --head fc --queries 64 --epochs 2 --out "$work/e.onnx" &&
		"$bin/test-infer" settings "$work/e.onnx" steps=13 &&
		"$nwhead" train "${small[@]}" "${quick[@]}" --per-class 25 --queries 48 --epochs 3 --out "$work/e.onnx" &&
		"$bin/test-infer" settings "$work/e.onnx" steps=7 &&
		"$nwhead" train "${small[@]}" "${quick[@]}" --val-share 0.25 --queries 48 --epochs 1 --out "$work/e.onnx" &&
		"$bin/test-infer" settings "$work/e.onnx" steps=7 images=300
}

# The usual supports follow from the classes.
usual_supports() {
	"$bin/test-makeimages" idx "$work/forty" 200 40 16 &&
		"$nwhead" train --idx "$work/forty-images.gz" "$work/forty-labels.gz" "${quick[@]}" --steps 1 --out "$work/u.onnx" &&
		"$bin/test-infer" settings "$work/u.onnx" supports=80 queries=64 &&
		"$nwhead" train --idx "$work/forty-images.gz" "$work/forty-labels.gz" "${quick[@]}" --steps 1 --per-class 2 \
			--out "$work/u.onnx" && "$bin/test-infer" settings "$work/u.onnx" supports=40 &&
		"$nwhead" train --idx "$work/forty-images.gz" "$work/forty-labels.gz" "${quick[@]}" --steps 1 --supports 50 \
			--out "$work/u.onnx" && "$bin/test-infer" settings "$work/u.onnx" supports=50
}

# A cosine is drawn anew over all steps; the notice and the model say so.
longer_cosine() {
	local run=("$nwhead" train "${small[@]}" "${quick[@]}" --lr 0.02 --schedule cosine --out "$work/cosine.onnx")
	rm -f "$work/cosine.json"
	"${run[@]}" --steps 20 --keep-checkpoint &&
		"${run[@]}" --steps 40 --resume --log "$work/cosine.json" --log-every 1 2>"$work/cosine.txt" || return
	cat "$work/cosine.txt"
	grep -q 'from 20 to 40 steps: goes on after step 20, learning rate 0.01 now' "$work/cosine.txt" &&
		"$bin/test-infer" settings "$work/cosine.onnx" steps=40 extended='20 of 20' && "$python" - "$work/cosine.json" <<-'PY'
			import json, math, sys
			lines = [l for l in map(json.loads, open(sys.argv[1])) if 'lr' in l]
			assert [l['step'] for l in lines] == list(range(21, 41)), lines
			for l in lines:
			    assert abs(l['lr'] - 0.01 * (1 + math.cos(math.pi * (l['step'] - 1) / 40))) < 1e-6, l
		PY
}

steering_bad_input() {
	local train=("$nwhead" train --out "$work/bad.onnx" --device cpu --quiet --arch cnn)
	local run=("${train[@]}" "${small[@]}") d=$work/unknown
	fails "two kinds of held-out images" 2 'only one of --val-images, --val-idx, --val-table and --val-share' "${run[@]}" \
		"${held[@]}" --val-share 0.1
	fails "held-out images of another kind" 2 '--val-images goes with --images' "${run[@]}" --val-images "$work/photos"
	fails "one file for --val-idx" 2 'option --val-idx takes two files' "${run[@]}" --val-idx "$work/held-images.gz"
	fails "a share of nothing" 2 '--val-share wants a number from 0.001 to 0.9' "${run[@]}" --val-share 0
	fails "a share of all" 2 '--val-share wants a number from 0.001 to 0.9' "${run[@]}" --val-share 1
	fails "a share too small for the classes" 1 '--val-share 0.1 holds out none of the 8 images' "${run[@]}" --per-class 2 \
		--val-share 0.1
	fails "patience without held-out images" 2 '--patience need held-out images' "${run[@]}" --patience 3
	fails "a best model without them" 2 'need held-out images' "${run[@]}" --best-by error
	fails "an unknown figure" 2 '--best-by wants nll or error, not "luck"' "${run[@]}" "${held[@]}" --best-by luck
	fails "a seed without a share" 2 '--val-seed goes with --val-share' "${run[@]}" "${held[@]}" --val-seed 3
	fails "supports of an FC head" 2 '--val-supports goes with --head nw' "${run[@]}" "${held[@]}" --head fc --val-supports 9
	fails "epochs and steps" 2 'only one of --steps and --epochs' "${run[@]}" --epochs 2 --steps 9
	fails "half an epoch" 2 '--epochs wants a whole number' "${run[@]}" --epochs 0.5
	rm -rf "$d" && mkdir -p "$d/crow" && cp "$work/photos/class-1/1.jpg" "$d/crow/"
	fails "held-out images of an unknown class" 1 'unknown" has images of class "crow", which the training images do not' \
		"${train[@]}" --images "$work/photos" --val-images "$d"
	rm -rf "$d" && cp -r "$work/photos" "$d" && head -c 400 "$work/photos/class-1/1.jpg" >"$d/class-1/1.jpg"
	fails "a held-out image that cannot be read" 1 'could not read image ".*class-1/1.jpg"' "${train[@]}" \
		--images "$work/photos" --size 16 --supports 4 --val-images "$d" --log "$work/unread.json"
	t "is found before the training" test ! -s "$work/unread.json"
	fails "a deviation next to nothing" 2 '--std wants numbers above 1e-12' "${run[@]}" --std 1e-300
	mkdir -p "$work/void"
	fails "no held-out images" 1 'void" holds no JPEG or PNG images' "${train[@]}" --images "$work/photos" \
		--val-images "$work/void"
}

steering() {
	local run=("$nwhead" train "${quick[@]}")
	t "held-out images" make_held
	t "the best model is that of its step, by nll" best_is nll
	t "by error" best_is error --distinct --supports 8 --queries 8
	t "with an FC head" best_is nll --head fc --queries 32
	t "what is learned stays the same" same_network
	t "a share of files" share "${small[@]}" "${quick[@]}"
	t "a share of a folder" share --images "$work/photos" "${quick[@]}" --size 16 --supports 8 --queries 8
	t "a folder" "${run[@]}" --images "$work/photos" --val-images "$work/photos" --size 16 --supports 8 --queries 8 \
		--val-supports 8 --steps 2 --out "$work/folder.onnx"
	t "where there was one look, the best model is the last" cmp "$work/folder.best.onnx" "$work/folder.onnx"
	t "a network whose exported batch is fixed" fixed_batch
	t "stopping early" early_stop
	t "Ctrl-C, then --resume: the same bytes, also of the best" interrupted INT "${held[@]}" --val-every 5
	t "the same by AdamW, clipped, along a cosine" interrupted INT --val-share 0.2 --val-every 5 --kernel hypersphere \
		--optimizer adamw --clip 1 --schedule cosine --warmup 5
	t "kill -9 likewise" interrupted KILL --val-share 0.2 --val-every 5 --best-by error --head fc --queries 32
	t "Ctrl-C in the middle of a look, then --resume" interrupted_look
	t "60 steps made 120" extended --lr-drops 1000
	t "with held-out images" extended --lr-drops 1000 "${held[@]}" --val-every 20
	t "by AdamW" extended --lr-drops 1000 --optimizer adamw --warmup 5 --clip 1
	t "the schedule of a longer run" longer_schedule
	t "a longer cosine" longer_cosine
	refuses_to_extend
	other_shares
	damaged_checkpoints
	t "the same images elsewhere, and others" same_folder
	t "a model that cannot be written" unwritten
	t "checkpoints that cannot be written" unkept
	t "a best model in a run that is wrecked" wrecked
	t "a network that its last step wrecks" wrecked_at_last
	t "an image that is gone" unreadable
	t "what is not a checkpoint stays" precious
	t "another backbone" other_backbone
	t "the same backbone by another name" renamed_backbone
	t "a checkpoint that lacks a weight" incomplete
	t "one profile" one_profile
	t "held-out images that are those to train on" held_twice
	t "a log that cannot be written" full_log
	t "epochs" epochs
	t "supports by the number of classes" usual_supports
	steering_bad_input
}

# A log's last figures against nw_evaluate's for the same model: as_logged LOG SUPPORTS QUERIES
as_logged() {
	local row
	row=$(sql "SELECT error_rate, ece, nll, n, unseen FROM nw_evaluate('$2', '$3')") || return
	echo "nw_evaluate: $row"
	"$python" - "$1" "$row" <<-'PY'
		import json, sys
		last = [l for l in map(json.loads, open(sys.argv[1])) if 'val_nll' in l][-1]
		error, ece, nll, n, unseen = map(float, sys.argv[2].split('|'))
		print(last, error - last['val_error'], ece - last['val_ece'], nll - last['val_nll'])
		assert n == 150 and unseen == 0 and 0.02 < error < 0.98
		assert round(error * n) == round(last['val_error'] * n), 'error'
		assert abs(ece - last['val_ece']) < 1e-4 and abs(nll - last['val_nll']) < 1e-4
	PY
}

# Train, embed both sources, and evaluate: as_evaluated NAME OPTION...
as_evaluated() {
	local name=$1 embed=("$nwhead" embed --device cpu --quiet --model "$work/judged.onnx") supports=$1
	shift
	"$nwhead" train "${small[@]}" "${quick[@]}" "${held[@]}" --out "$work/judged.onnx" --log "$work/judged.json" \
		--val-every 4 "$@" &&
		"${embed[@]}" "${small[@]}" --table "$name" --set "$name" &&
		"${embed[@]}" --idx "$work/held-images.gz" "$work/held-labels.gz" --table "${name}_held" --set "${name}_held" || return
	[ "$(sql "SELECT count(*) FROM nw_sets WHERE name = '${name}_head'")" = 0 ] || supports=${name}_head
	as_logged "$work/judged.json" "$supports" "${name}_held"
}

in_steering() {
	t "an extension to compare with" sql 'CREATE EXTENSION nwhead CASCADE'
	t "NW: figures are nw_evaluate's" as_evaluated nw --steps 6 --lr 0.005
	t "NW at another temperature" as_evaluated cool --steps 60 --tau 0.3
	t "NW, supports for each query, longer" as_evaluated each --steps 60 --distinct --supports 8 --queries 8 --dim 0
	t "NW, cut from larger images" as_evaluated windows --steps 30 --size 12 --resize 15
	t "NW, cut from boxes, in other shades" as_evaluated boxes --steps 30 --random-resized-crop 0.4 --jitter 0.3,0.3,0 \
		--val-supports 0
	t "kernel gaussian" as_evaluated gaussian --steps 30 --lr 0.005 --kernel gaussian --tau 20
	t "kernel hypersphere" as_evaluated hypersphere --steps 30 --kernel hypersphere
	t "kernel cosine" as_evaluated cosine --steps 30 --kernel cosine --label-smoothing 0.1
	t "kernel dot, by AdamW" as_evaluated dot --steps 30 --kernel dot --optimizer adamw
	t "FC: figures are nw_evaluate's" as_evaluated fc --steps 6 --head fc --queries 32 --dim 0
	t "FC with a layer below, longer" as_evaluated deep --steps 60 --head fc --queries 32
	t "images in a table" bytea_table
	t "held-out images in a table" "$nwhead" train --table pictures --image data --label kind --val-table pictures \
		--arch cnn --size 16 --steps 3 --supports 8 --queries 8 --device cpu --quiet --out "$work/table.onnx"
	t "a share of a table" share --table pictures --image data --label kind "${quick[@]}" --size 16 --supports 8 --queries 8
	fails "--val-table with files" 2 '--val-table goes with --table' "$nwhead" train "${small[@]}" --arch cnn --device cpu \
		--out "$work/bad.onnx" --val-table pictures
}

evaluation() {
	make_held >>"$log" 2>&1
	in_cluster in_steering
}
