# shellcheck shell=bash disable=SC2154
#
# The usual tests on the server that tools/setup torture builds: it has
# assertions, and tells valgrind what it does with memory.  To be sourced by run.

# Copy the tree, with so many TAP files or regression tests, to be built apart.
copy_tree() {
	local tree=$1 files=$2 amount=$3 keep
	rm -rf "$tree"
	mkdir -p "$tree"
	tar -c --exclude=./build --exclude=./.git --exclude='*.o' --exclude='*.so' --exclude='*.bc' . | tar -x -C "$tree"
	[[ -n $amount ]] || return 0
	mapfile -t keep < <(cd "$tree" && printf '%s\n' $files | shuf --random-source="$tree/Makefile" | tail -n +"$((amount + 1))")
	((${#keep[@]} == 0)) || (cd "$tree" && rm -f "${keep[@]}")
}

# Point at the server with assertions.
use_checked_server() {
	[[ -x $NW_CHECKED/bin/pg_config ]] || die "no server with assertions; run tools/setup torture"
	"${AS_USER[@]}" test -x "$NW_CHECKED/bin/postgres" ||
		die "the servers' user cannot reach $NW_CHECKED; set NW_CHECKED to a folder it can, and run tools/setup torture"
	export PG_CONFIG=$NW_CHECKED/bin/pg_config PATH=$NW_CHECKED/bin:$PATH
}

# Regression and TAP tests with assertions, the module built with checks for
# undefined behaviour, each of which ends the process.
run_sanitize() {
	local tree=$logs/sanitize status=0
	copy_tree "$tree" 'test/t/*.pl' "$1"
	(
		use_checked_server
		export COPT='-fsanitize=undefined -fno-sanitize-recover=undefined -g'
		export UBSAN_OPTIONS=print_stacktrace=1
		NW_BUILD=$tree/build "$tree/test/run" regress tap
	) </dev/null 2>&1 | tee "$logs/sanitize.log" || status=$?
	add_up "$logs/sanitize.log" || ((++failed))
	# nobody's crash is expected
	while read -r line; do
		echo "  sanitize: $line"
		((++failed))
	done < <(grep -rhE 'TRAP:|runtime error:|terminated by signal (6|11)' "$tree/build/test" | sort | uniq -c | head -n 20)
	((status == 0)) || echo "  sanitize: logs are in ${tree#"$NW_ROOT"/}/build/test"
}

# Regression tests, the server under valgrind; one case more for each process's errors.
run_valgrind() {
	local tree=$logs/valgrind out=$logs/valgrind-processes errors=0 processes=0
	copy_tree "$tree" 'sql/*.sql' "$1"
	rm -rf "$out"
	mkdir -p "$out"
	((EUID != 0)) || chown "$(unprivileged_user)" "$out"
	(
		use_checked_server
		export PATH=$PATH:$NW_DEPS/usr/bin CLUSTER_POSTGRES=$tree/postgres
		[[ ! -d $NW_DEPS/usr/libexec/valgrind ]] || export VALGRIND_LIB=$NW_DEPS/usr/libexec/valgrind
		cat >"$tree/postgres" <<-SCRIPT
			#!/bin/sh
			exec valgrind --quiet --leak-check=no --track-origins=yes --trace-children=yes --time-stamp=no \\
				--gen-suppressions=no --suppressions=$NW_CHECKED/valgrind.supp --log-file=$out/%p \\
				$NW_CHECKED/bin/postgres "\$@"
		SCRIPT
		chmod 755 "$tree/postgres"
		NW_BUILD=$tree/build "$tree/test/run" regress
	) </dev/null 2>&1 | tee "$logs/valgrind.log" || true
	add_up "$logs/valgrind.log" || ((++failed))
	processes=$(find "$out" -type f | wc -l)
	errors=$(find "$out" -type f -size +0 | wc -l)
	((processes > 0)) || ((++failed))
	((failed += errors)) || true
	find "$out" -type f -size +0 -exec head -n 60 {} + | head -n 200
	echo "  valgrind: $processes processes, $errors with errors"
}

# Run one of the two, with an amount or all there is.
run_checked() {
	local start=$SECONDS
	"run_$1" "$2"
	echo "  $1: $((SECONDS - start)) s"
}
