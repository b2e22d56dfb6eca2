# What the demos have in common: talking, SQL, the program, pictures.  Sourced by them.
#
# Pictures and colours appear on a terminal; NO_COLOR=1 turns the colours off.

set -euo pipefail
export LC_ALL=C.UTF-8
. "$(dirname "$0")/../tools/env.sh"

demo=$NW_ROOT/demo
scratch=
ticker=
step=0
bold='' dim='' reset='' colour=no
if [[ -t 1 && -z ${NO_COLOR:-} && ${TERM:-dumb} != dumb ]]; then
	bold=$'\e[1m' dim=$'\e[2m' reset=$'\e[0m' colour=yes
fi

# ---------------------------------------------------------------- talking

# Leave nothing behind.
clean_up() {
	stop_ticker
	printf %s "$reset"
	[[ -z $scratch ]] || rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Begin a part of the demo.
heading() {
	step=$((step + 1))
	printf '\n%s%d. %s%s\n' "$bold" "$step" "$1" "$reset"
}

# Say something.
say() {
	printf '%s\n' "$@"
}

# Print the seconds since a moment, with a precision that suits their size.
seconds_since() {
	awk -v from="$1" -v to="$EPOCHREALTIME" 'BEGIN {
		s = to - from
		printf s < 1 ? "%.2f s" : s < 10 ? "%.1f s" : "%.0f s", s
	}'
}

# Count the seconds of a long step, where someone is watching.
start_ticker() {
	[[ -t 2 && -t 1 ]] || return 0
	(
		trap 'exit 0' TERM
		for ((s = 1; ; s++)); do
			sleep 1 &
			wait $!
			printf '\r   %s%d s%s' "$dim" "$s" "$reset" >&2
		done
	) &
	ticker=$!
}

# Stop counting, and wipe the count.
stop_ticker() {
	[[ -n $ticker ]] || return 0
	kill "$ticker" 2>/dev/null || true
	wait "$ticker" 2>/dev/null || true
	ticker=
	printf '\r%8s\r' '' >&2
}

# ---------------------------------------------------------------- SQL

# Run SQL from standard input and print what it returns.
run_psql() {
	psql -X -q -v ON_ERROR_STOP=1 -P pager=off -P footer=off -P border=1 \
		-P linestyle=unicode -P null=- "$@"
}

# Show statements.
show() {
	printf '\n%s%s%s\n' "$bold" "$(sed 's/^./   &/' <<<"$1")" "$reset"
}

# Show statements from standard input, run them, show their result and time.
sql() {
	local text from
	text=$(cat)
	show "$text"
	from=$EPOCHREALTIME
	start_ticker
	run_psql >"$scratch/result" <<<"$text"
	stop_ticker
	from=$(seconds_since "$from")
	# functions that return nothing have nothing to show
	grep -Ev '^ *(nw_register|nw_set_tau)? *$|^─+$' "$scratch/result" |
		sed 's/^/   /' || true
	printf '   %s%s%s\n' "$dim" "$from" "$reset"
}

# Do the same for a statement that returns pictures: captions, then a vector.
pictures() {
	local text
	text=$(cat)
	show "$text"
	run_psql -At <<<"$text" | draw
}

# Read a value for the demo's own use.
value() {
	run_psql -At -c "$1"
}

# ---------------------------------------------------------------- the program

# Show a command line of nwhead from standard input, run it, show its time.  A
# person sees its progress.
program() {
	local text from
	text=$(cat)
	show "$text"
	from=$EPOCHREALTIME
	if [[ -t 2 && -t 1 ]]; then
		(cd "$scratch" && eval "$text")
	else
		(cd "$scratch" && eval "$text") 2>"$scratch/messages" || {
			cat "$scratch/messages" >&2
			return 1
		}
	fi
	printf '   %s%s%s\n' "$dim" "$(seconds_since "$from")" "$reset"
}

# Draw the loss of a training run from its log.
curve() {
	sed -n 's/.*"loss":\([0-9.]*\).*/\1/p' "$scratch/$1" | awk '
	{
		loss[NR] = $1
		if (NR == 1 || $1 > most) most = $1
		if (NR == 1 || $1 < least) least = $1
	}
	END {
		split("▁ ▂ ▃ ▄ ▅ ▆ ▇ █", bar, " ")
		printf "   loss %.2f ", loss[1]
		for (i = 1; i <= NR; i++)
			printf "%s", bar[1 + int(7.99 * (loss[i] - least) / (most - least + 1e-9))]
		printf " %.2f\n", loss[NR]
	}'
}

# ---------------------------------------------------------------- pictures

# Draw vectors side by side.  Each line of input is "caption|caption|...|[v,...]";
# a character is two pixels, one above the other.
draw() {
	awk -F'|' -v colour="$colour" '
	# dark greys apart: an eye sees more of them than a screen shows
	function level(grey, levels) {
		return int(levels * (grey / 255) ^ .6 + .5)
	}
	{
		n++
		ncaptions = NF - 1
		for (c = 1; c < NF; c++)
			caption[n, c] = $c
		gsub(/[][]/, "", $NF)
		split($NF, v, ",")
		for (i = 1; i <= 196; i++)
			pixel[n, i] = v[i]
	}
	END {
		split(" ,░,▒,▓,█", shade, ",")
		for (y = 0; y < 14; y += 2) {
			printf "   "
			for (k = 1; k <= n; k++) {
				for (x = 1; x <= 14; x++) {
					upper = pixel[k, 14 * y + x]
					lower = pixel[k, 14 * y + 14 + x]
					if (colour == "yes")
						printf "\033[38;5;%d;48;5;%dm▀", 232 + level(upper, 23), \
							232 + level(lower, 23)
					else
						printf "%s", shade[1 + level((upper + lower) / 2, 4)]
				}
				printf "%s", (colour == "yes" ? "\033[0m" : "") (k < n ? "  " : "")
			}
			printf "\n"
		}
		for (c = 1; c <= ncaptions; c++) {
			printf "   "
			for (k = 1; k <= n; k++)
				printf "%-14s%s", caption[k, c], k < n ? "  " : ""
			printf "\n"
		}
	}'
}

# ---------------------------------------------------------------- data

# Load a pair of idx files into a table (id, label, vector of 14 x 14 pixels).
load() {
	gzip -dc "$NW_FASHION/$2-images-idx3-ubyte.gz" |
		"$scratch/idx2copy" 1 <(gzip -dc "$NW_FASHION/$2-labels-idx1-ubyte.gz") |
		run_psql -c "\\copy $1 FROM pstdin"
}

# Check what a demo needs, and get ready.
begin() {
	[[ -n ${PGHOST:-} ]] || die "there is no server to work on; run 'make $1'"
	[[ -d $NW_FASHION ]] || die "the pictures are missing; run 'tools/setup demo'"
	scratch=$(mktemp -d)
	"${CC:-cc}" -O2 -o "$scratch/idx2copy" "$demo/idx2copy.c"
	export PGOPTIONS='-c client_min_messages=warning'
	began=$EPOCHREALTIME
	say "${bold}nwhead: a classifier whose every prediction rests on rows you can look at${reset}"
}
