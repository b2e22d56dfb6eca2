# Helpers that the benchmarks share; to be sourced by bash.

. "$(dirname "${BASH_SOURCE[0]}")/../tools/env.sh"

rows=${BENCH_ROWS:-500000}
dim=128
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# One backend, no parallel query, no compilation.
off='SET max_parallel_workers_per_gather = 0; SET jit = off;'
cache="$off SET nwhead.statement_cache = '1GB';"

# Run SQL that prints nothing of interest.
quiet() {
	PGOPTIONS="-c client_min_messages=warning" psql -X -q -v ON_ERROR_STOP=1 -o /dev/null "$@"
}

# Print the median time of a statement, in ms, over a number of runs.
median() {
	local runs=$1 setting=$2 sql=$3
	{
		echo "$setting"
		echo "$sql \\g /dev/null"
		echo '\timing on'
		for ((i = 0; i < runs; i++)); do echo "$sql \\g /dev/null"; done
	} | psql -X -q -v ON_ERROR_STOP=1 |
		awk '/^Time:/ { print $2 }' | sort -n |
		awk '{ t[NR] = $1 } END { print t[int((NR + 1) / 2)] }'
}

# Print A / B with two digits.
ratio() {
	awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'
}

# Print A / B as a number, or with two digits.
quotient() {
	awk -v a="$1" -v b="$2" 'BEGIN { printf "%.6g", a / b }'
}

# Create a table of random labelled vectors and fill it; see rows.c.
load_table() {
	local name=$1 n=$2 classes=$3 seed=$4 spread=${5:-3} kind=${6:-centres}
	quiet -c "DROP TABLE IF EXISTS $name"
	quiet -c "CREATE TABLE $name (id int PRIMARY KEY, label text, embedding vector($dim))"
	"$work/rows" "$n" "$dim" "$classes" "$spread" "$seed" "$kind" >"$work/$name.bin"
	quiet -c "\\copy $name FROM '$work/$name.bin' (FORMAT binary)"
	quiet -c "VACUUM (FREEZE, ANALYZE) $name"
}

# Compile the small programs and create the extensions.
prepare() {
	cc -O2 -o "$work/rows" "$NW_ROOT/bench/rows.c" -lm
	cc -O2 -o "$work/bare" "$NW_ROOT/bench/bare.c" -lm
	quiet -c 'CREATE EXTENSION IF NOT EXISTS nwhead CASCADE' \
		-c 'CREATE EXTENSION IF NOT EXISTS pg_prewarm'
}

# Print the peak resident memory of a backend that runs a statement, in MB,
# beyond the shared buffers it has touched.
peak_memory() {
	psql -X -q -At -v ON_ERROR_STOP=1 <<-SQL | tail -n 1
		$1
		$2 \\g /dev/null
		CREATE TEMP TABLE status (line text);
		SELECT format('COPY status FROM PROGRAM %L', format('grep -E "VmHWM|RssShmem" /proc/%s/status | tr "\t" " "', pg_backend_pid())) \\gexec
		SELECT (max(substring(line, '[0-9]+')::int) FILTER (WHERE line ~ 'VmHWM') -
		        max(substring(line, '[0-9]+')::int) FILTER (WHERE line ~ 'RssShmem')) / 1024 FROM status;
	SQL
}
