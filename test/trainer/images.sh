# shellcheck shell=bash disable=SC2154
#
# The trainer's tests of images that are turned, cut and coloured; test/trainer/run sources this.

# What becomes of images, against other programs: look WHAT
look() {
	"$python" -W ignore "$here/imagecheck.py" "$bin/test-images" "$work/looks" "$1"
}

# Pictures that lie with a note how to turn them, and the same ones upright: work/looks/{lying,standing}
turned_folders() {
	[ -d "$work/looks/standing" ] || look folders
}

# Both are the same to train with.
turned_training() {
	local kind run=("$nwhead" train --arch cnn --width 8 --dim 8 --steps 5 --supports 4 --queries 4 --device cpu --quiet)
	turned_folders || return
	for kind in lying standing; do
		"${run[@]}" --images "$work/looks/$kind" --out "$work/$kind.onnx" || return
	done
	"$bin/test-modeldiff" "$work/lying.onnx" "$work/standing.onnx" same
}

# And to embed, in a database.
turned_rows() {
	turned_folders &&
		"${embed[@]}" --model "$work/learned.onnx" --images "$work/looks/lying" --table lying &&
		"${embed[@]}" --model "$work/learned.onnx" --images "$work/looks/standing" --table standing &&
		is '16|0' "SELECT count(*), sum((a.embedding <> b.embedding)::int) FROM lying a JOIN standing b USING (id, label)"
}

cuts=(--images "$work/photos" --size 16 --queries 4 --supports 4)
mixed=(--random-resized-crop .3 --jitter "0.4,0.4,0.4,0.1")

# What is said is in the model, and nothing of what is not: cut_settings
cut_settings() {
	local run=("$nwhead" train "${cuts[@]}" "${quick[@]}" --steps 2 --out "$work/cut.onnx")
	"${run[@]}" --resize 20 && "$bin/test-infer" settings "$work/cut.onnx" resize=20 nwhead.zoom=1.25 crop=0 &&
		"${run[@]}" --arch resnet18-small --resize 18 --random-resized-crop &&
		"$bin/test-infer" settings "$work/cut.onnx" resize=18 nwhead.zoom=1.125 random-resized-crop=0.080000000000000002 \
			crop=0 flip=1 &&
		"${run[@]}" --random-resized-crop=.25 --jitter .5,.25,0 &&
		"$bin/test-infer" settings "$work/cut.onnx" random-resized-crop=0.25 jitter=0.5,0.25,0,0 nwhead.zoom=1 &&
		"${run[@]}" && ! grep -aqE 'random-resized-crop|jitter|resize' "$work/cut.onnx"
}

# A run is the same whatever is kept of its images, and another one by other settings.
cut_repeats() {
	local run=("$nwhead" train "${cuts[@]}" "${quick[@]}" --steps 6)
	"${run[@]}" "$@" --out "$work/a.onnx" && "${run[@]}" "$@" --cache 0 --out "$work/b.onnx" &&
		"${run[@]}" --out "$work/c.onnx" && cmp "$work/a.onnx" "$work/b.onnx" &&
		"$bin/test-modeldiff" "$work/a.onnx" "$work/c.onnx" other embedding.weight embedding.weight
}

images() {
	local train=("$nwhead" train "${cuts[@]}" "${quick[@]}" --steps 400 --out "$work/bad.onnx") d=$work/cut.onnx.ckpt
	t "EXIF orientations, and blocks that are damaged" look exif
	t "levels of 16 bits, and transparent parts" look png
	t "a picture that lies is trained with upright" turned_training
	t "boxes resized, against PyTorch" look resize
	t "windows of larger images" look window
	t "boxes of any size" look boxes
	t "draws of colours" look colours
	t "colours, against the published formulas" look jitter
	t "settings of what is cut and coloured" cut_settings
	t "windows, kept or decoded again" cut_repeats --resize 24
	t "boxes and colours, kept or decoded again" cut_repeats "${mixed[@]}"
	t "colours alone, kept or decoded again" cut_repeats --jitter .4,.4,.4 --crop 2
	t "boxes and colours learn" train_and_learn "${small[@]}" --steps 250 --random-resized-crop .6 --jitter .2,.2,0
	t "kill -9 of a run with windows, then --resume" interrupted KILL --resize 20 --size 16 --flip
	t "kill -9 of a run with boxes and colours, then --resume" interrupted KILL "${mixed[@]}"
	fails "a move and a window" 2 '--crop does not go with --resize and --random-resized-crop' "${train[@]}" --crop 2 --resize 20
	fails "a move and a box" 2 '--crop does not go with' "${train[@]}" --crop 2 --random-resized-crop
	fails "an image smaller than its window" 1 '16 x 16 cannot be cut from images of 15: --resize must be from 16 to 1024' \
		"${train[@]}" --resize 15
	fails "a share above 1" 2 '--random-resized-crop wants a number' "${train[@]}" --random-resized-crop 1.5
	fails "a word that is no share" 2 '--random-resized-crop wants a number .* not "half"' "${train[@]}" --random-resized-crop half
	fails "two colours" 2 '--jitter wants three or four numbers' "${train[@]}" --jitter 1,1
	fails "a hue beyond half a turn" 2 '--jitter wants numbers .* a hue to 0.5, not "0,0,0,.6"' "${train[@]}" --jitter 0,0,0,.6
	fails "a colour below 0" 2 '--jitter wants numbers' "${train[@]}" --jitter=-1,0,0
	oddly signal-9 "${train[@]:2}" --out "${d%.ckpt}" --checkpoint-every 5 "${mixed[@]}" >>"$log" 2>&1
	fails "resuming with other colours" 1 'another setting: jitter was .* and is 0.5,0,0,0' "${train[@]}" --out "${d%.ckpt}" \
		--resume --random-resized-crop .3 --jitter .5,0,0
	fails "resuming without a box" 1 'another setting: random-resized-crop was .* and is the usual one' "${train[@]}" \
		--out "${d%.ckpt}" --resume --crop 0 --jitter .4,.4,.4,.1
	rm -f "$d"
}
