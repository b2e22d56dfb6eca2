# shellcheck shell=bash disable=SC2154
#
# The trainer's tests of what the world around a run does to it: limits, signals, links,
# forgotten options, files that lie; test/trainer/run sources this.

# A run notes nothing in the home folder, and tells nobody of the machine.
silent_home() {
	local home=$work/home
	rm -rf "$home" && mkdir "$home" &&
		env -u XDG_CACHE_HOME HOME="$home" "$nwhead" train "${small[@]}" "${quick[@]}" --steps 2 --out "$work/home.onnx" || return
	find "$home"
	[ -z "$(ls -A "$home")" ]
}

# A limit of files' sizes is like a full disk: a checkpoint (two states for each weight) is over
# it, the model is not.
size_limit() {
	local run=("$nwhead" train "${small[@]}" "${quick[@]}" --steps 10) limit
	rm -f "$work"/limited*
	"${run[@]}" --out "$work/whole.onnx" && limit=$(($(stat -c %s "$work/whole.onnx") * 3 / 2 / 1024)) || return
	(ulimit -f "$limit" && "${run[@]}" --checkpoint-every 5 --out "$work/limited.onnx") 2>"$work/limit.txt" || return
	cat "$work/limit.txt"
	[ "$(grep -c 'File too large; going on without this checkpoint$' "$work/limit.txt")" = 2 ] &&
		cmp "$work/whole.onnx" "$work/limited.onnx" && [ "$(echo "$work"/limited*)" = "$work/limited.onnx" ]
}

# Nobody reads what a run says: it goes on.
closed_pipe() {
	"$python" - "$nwhead" train "${small[@]}" --arch cnn --device cpu --steps 3 --supports 8 --queries 8 \
		--out "$work/piped.onnx" <<-'PY'
			import os, signal, subprocess, sys
			r, w = os.pipe()
			os.close(r)
			status = subprocess.run(sys.argv[1:], stderr=w, stdin=subprocess.DEVNULL,
			                        preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL)).returncode
			assert status == 0, status
		PY
	[ -e "$work/piped.onnx" ]
}

# A signal that was turned off, as nohup does it, ends nothing: turned_off SIGNAL
turned_off() {
	local run=("${small[@]}" "${quick[@]}" --steps 30)
	rm -f "$work/unmoved.onnx"*
	"$nwhead" train "${run[@]}" --out "$work/whole.onnx" &&
		(trap '' "$1" && oddly "signal-$(kill -l "$1")" "${run[@]}" --checkpoint-every 7 --out "$work/unmoved.onnx") &&
		cmp "$work/whole.onnx" "$work/unmoved.onnx"
}

# Whoever forgets --resume still has the checkpoint and the log; with --fresh they are replaced.
forgotten_resume() {
	local b=$work/forgotten.onnx run=("${small[@]}" "${quick[@]}" --steps 60 --log-every 1) status=0
	rm -f "$b"*
	oddly signal-2 "${run[@]}" --checkpoint-every 20 --out "$b" --log "$b.log"
	cp "$b.ckpt" "$work/first.ckpt" && cp "$b.log" "$work/first.log" && [ -s "$b.log" ] || return
	"$nwhead" train "${run[@]}" --out "$b" --log "$b.log" 2>"$work/forgotten.txt" || status=$?
	cat "$work/forgotten.txt"
	[ $status = 1 ] && [ ! -e "$b" ] && cmp "$work/first.ckpt" "$b.ckpt" && cmp "$work/first.log" "$b.log" &&
		grep -q 'checkpoint of an earlier run, ".*forgotten.onnx.ckpt": --resume goes on from it, --fresh replaces it$' \
			"$work/forgotten.txt" || return
	"$nwhead" train "${run[@]}" --out "$work/whole.onnx" &&
		"$nwhead" train "${run[@]}" --out "$b" --resume && cmp "$work/whole.onnx" "$b" || return
	cp "$work/first.ckpt" "$b.ckpt" && "$nwhead" train "${run[@]}" --fresh --checkpoint-every 20 --out "$b" &&
		cmp "$work/whole.onnx" "$b" && [ ! -e "$b.ckpt" ]
}

# A link stays one: what is written, or removed, is what it leads to.
linked() {
	local d=$work/elsewhere
	local run=("$nwhead" train "${small[@]}" "${quick[@]}" --steps 2 --out "$work/link.onnx" --checkpoint "$work/link.ckpt")
	rm -rf "$d" "$work"/link.{onnx,ckpt} && mkdir "$d" && ln -s elsewhere/model "$work/link.onnx" &&
		ln -s "$d/kept" "$work/link.ckpt" || return
	"${run[@]}" --keep-checkpoint && [ -L "$work/link.onnx" ] && [ -s "$d/model" ] && [ -L "$work/link.ckpt" ] &&
		[ -s "$d/kept" ] && cp "$d/kept" "$work/kept.ckpt" || return
	"${run[@]}" --keep-checkpoint --fresh && [ -L "$work/link.ckpt" ] && cmp "$d/kept" "$work/kept.ckpt" || return
	"${run[@]}" --fresh && [ -L "$work/link.onnx" ] && [ -L "$work/link.ckpt" ] && [ "$(ls "$d")" = model ]
}

# Links that lead nowhere are refused, and stay.
lost_links() {
	local run=("$nwhead" train "${small[@]}" "${quick[@]}" --steps 2)
	rm -f "$work"/{circle,gone}.onnx
	ln -s circle.onnx "$work/circle.onnx" && ln -s no-such-folder/model "$work/gone.onnx"
	fails "a link to itself" 1 'could not follow link ".*circle.onnx": Too many levels' "${run[@]}" --out "$work/circle.onnx"
	fails "a link into no folder" 1 'could not follow link ".*gone.onnx": No such file' "${run[@]}" --out "$work/bad.onnx" \
		--checkpoint "$work/gone.onnx"
	t "the links are as they were" test -L "$work/circle.onnx" -a -L "$work/gone.onnx"
}

# A log may go to a pipe; a model and a checkpoint may not.
piped() {
	local run=("$nwhead" train "${small[@]}" "${quick[@]}" --steps 3 --out "$work/piped-log.onnx")
	[ "$(timeout 60 "${run[@]}" --log /dev/stdout --log-every 1 | grep -c '"loss"')" = 3 ] || return
	rm -f "$work/pipe" && mkfifo "$work/pipe" || return
	! timeout 60 "${run[@]}" --checkpoint "$work/pipe" 2>"$work/piped.txt" && grep 'pipe" is not a regular file$' "$work/piped.txt"
}

# Pictures are never what a run writes.
written_over_pictures() {
	local d=$work/album train
	rm -rf "$d" && cp -r "$work/photos" "$d"
	train=("$nwhead" train --images "$d" "${quick[@]}" --size 16 --supports 4 --queries 4 --steps 2)
	fails "a log that is a picture" 2 '--log is a picture, ".*1.jpg", which would be replaced' "${train[@]}" \
		--out "$work/bad.onnx" --log "$d/class-1/1.jpg"
	fails "a model that is a picture" 2 '--out is a picture' "${train[@]}" --out "$d/class-1/1.jpg"
	fails "a checkpoint that is a picture" 2 '--checkpoint is a picture' "${train[@]}" --out "$work/bad.onnx" \
		--checkpoint "$(find "$d" -name '*.png' | head -n 1)"
	t "the pictures are as they were" diff -r "$work/photos" "$d"
}

# Weights in another file, of the graph or of a node, are refused, whoever reads the model.
weights_elsewhere() {
	local file
	printf '\x08\x08\x3a\x09\x2a\x07\x10\x01\x42\x01w\x70\x01' >"$work/apart-graph.onnx"
	printf '\x08\x08\x3a\x0d\x0a\x0b\x2a\x09\x2a\x07\x10\x01\x42\x01w\x70\x01' >"$work/apart-node.onnx"
	for file in apart-graph apart-node; do
		fails "$file, to fine-tune" 1 'keeps weights in other files: save the model as one file' "$nwhead" train \
			--images "$work/photos" --out "$work/bad.onnx" --device cpu --backbone "$work/$file.onnx"
		fails "$file, to embed" 1 'keeps weights in other files: save the model as one file' "$nwhead" embed \
			--images "$work/photos" --device cpu --model "$work/$file.onnx" --dsn host=/none --table t
	done
}

mishaps() {
	t "nothing is noted at home" silent_home
	t "a limit of files' sizes" size_limit
	t "a pipe that nobody reads" closed_pipe
	t "a lost terminal, then --resume: the same bytes" interrupted HUP --head fc --queries 32
	t "a lost terminal, with nohup" turned_off HUP
	t "Ctrl-C, where it was turned off" turned_off INT
	t "--resume forgotten" forgotten_resume
	t "links" linked
	lost_links
	t "pipes" piped
	fails "--resume and --fresh" 2 'only one of --resume and --fresh can be given' "$nwhead" train "${small[@]}" \
		--out "$work/bad.onnx" --resume --fresh
	written_over_pictures
	weights_elsewhere
	"$python" -W ignore "$here/make_backbone.py" "$work/nan.onnx" 13 nan >>"$log" 2>&1
	fails "a network that gives no numbers" 1 'the loss is no number at the first step, before anything is learned' \
		"$nwhead" train --images "$work/photos" --backbone "$work/nan.onnx" --size 32 --steps 4 --queries 4 --supports 4 \
		--device cpu --quiet --out "$work/bad.onnx"
	"$python" -W ignore "$here/make_backbone.py" "$work/vast.onnx" 13 vast >>"$log" 2>&1
	fails "a network for vast images" 1 'wants images of 4097 x 4097: 4096 x 4096 are the largest' \
		"$nwhead" train --images "$work/photos" --backbone "$work/vast.onnx" --device cpu --quiet --out "$work/bad.onnx"
}
