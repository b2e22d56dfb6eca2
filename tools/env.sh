# shellcheck shell=bash disable=SC2034
#
# Settings and small helpers that the project's scripts share; to be sourced by bash.
#
#   NW_ROOT    the source tree
#   NW_BUILD   what the scripts make: downloads, logs, throw-away clusters
#   NW_DEPS    Debian packages unpacked for tests, demo and benchmarks
#   NW_CHECKED PostgreSQL with assertions, once tools/setup torture has built it
#   NW_NEXT    a later PostgreSQL, to upgrade to, likewise
#   NW_FASHION folder of the Fashion-MNIST images, once tools/setup demo has run
#   PG_CONFIG  chooses the PostgreSQL; the distribution's own unless given
#   NW_PYTHON  the python3 of a later release, where this one lacks PyTorch
#   PYTHON     the distribution's python3, the one that can load NW_DEPS's NumPy; or that
#   JAVA       the java on PATH, or one of NW_DEPS; NW_JDBC is the file of its client
#   NW_NODE    folder of node's client

NW_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
NW_BUILD=${NW_BUILD:-$NW_ROOT/build}
NW_DEPS=${NW_DEPS:-$NW_BUILD/deps}
NW_CHECKED=${NW_CHECKED:-$NW_BUILD/checked}
NW_NEXT=${NW_NEXT:-$NW_BUILD/next}
NW_PYTHON=${NW_PYTHON:-$NW_BUILD/python}
NW_FASHION=/usr/share/datasets/fashion-mnist
PYTHON=${PYTHON:-/usr/bin/python3}
JAVA=${JAVA:-java}
NW_JDBC=/usr/share/java/postgresql.jar

# Put folders that exist at the front of a search path, each once.
prepend() {
	local var=$1 dir
	shift
	for dir; do
		[[ -d $dir && :${!var:-}: != *:"$dir":* ]] || continue
		printf -v "$var" %s "$dir${!var:+:${!var}}"
		export "${var?}"
	done
}

# Find PostgreSQL and the unpacked packages.
load_settings() {
	local copy
	PG_CONFIG=$(command -v "${PG_CONFIG:-pg_config}" || echo "${PG_CONFIG:-}")
	if [[ -n $PG_CONFIG ]]; then
		copy=$NW_BUILD/server$("$PG_CONFIG" --bindir 2>/dev/null)/pg_config
		! [[ -x $copy && -O $copy ]] || PG_CONFIG=$copy
		export PG_CONFIG
		prepend PATH "$("$PG_CONFIG" --bindir 2>/dev/null)"
	else
		unset PG_CONFIG
	fi
	prepend PERL5LIB "$NW_DEPS"/usr/share/perl5 "$NW_DEPS"/usr/lib/*/perl5/5.*
	prepend PYTHONPATH "$NW_DEPS"/usr/lib/python3/dist-packages
	prepend LD_LIBRARY_PATH "$NW_DEPS"/usr/lib "$NW_DEPS"{,/usr}/lib/*-linux-gnu* \
		"$NW_DEPS"/usr/lib/*/{lapack,blas,openblas-pthread}
	if [[ -d $NW_DEPS$NW_FASHION ]]; then
		NW_FASHION=$NW_DEPS$NW_FASHION
	fi
	if [[ -x $NW_PYTHON/usr/bin/python3 ]]; then
		PYTHON=$NW_PYTHON/usr/bin/python3
	fi
	if [[ -x $NW_DEPS/usr/lib/jvm/default-java/bin/java ]]; then
		JAVA=$NW_DEPS/usr/lib/jvm/default-java/bin/java
	fi
	if [[ -e $NW_DEPS/usr/share/java/postgresql.jar ]]; then
		NW_JDBC=$NW_DEPS/usr/share/java/postgresql.jar
	fi
	NW_NODE=$NW_DEPS/node
	export JAVA NW_JDBC NW_NODE
	export NW_ROOT NW_BUILD NW_DEPS NW_CHECKED NW_NEXT NW_PYTHON NW_FASHION PYTHON
}

# Say why the work cannot go on, and end.
die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# Print how to call a script: the lines of the comment at its head that are indented.
usage() {
	sed -n -e '/^[^#]/q' -e '/^$/q' -e 's/^#   //p' "$0"
}

# Tell whether this user may change the system: as root, or through a sudo that lets him.
# A password is asked for once, where somebody sits there.
can_be_root() {
	((EUID == 0)) && return
	if [[ -z ${sudo_works:-} ]]; then
		sudo_works=no
		if command -v sudo >/dev/null &&
			{ sudo -n true 2>/dev/null || { [[ -t 0 && -t 2 ]] && sudo -v; }; }; then
			sudo_works=yes
		fi
	fi
	[[ $sudo_works = yes ]]
}

# Run a command with the rights to change the system.
as_root() {
	if ((EUID == 0)); then
		"$@"
	elif can_be_root; then
		sudo "$@"
	else
		die "this step needs root: $* (run it as root, or through sudo)"
	fi
}

# Name the user that owns servers and tests: never root.
unprivileged_user() {
	if ((EUID != 0)); then
		id -un
	elif id postgres &>/dev/null; then
		echo postgres
	else
		echo nobody
	fi
}

# Set AS_USER, the words that make a command run as that user.
choose_user() {
	local user
	AS_USER=()
	((EUID == 0)) || return 0
	user=$(unprivileged_user)
	AS_USER=(setpriv --reuid="$user" --regid="$(id -g "$user")" --init-groups --)
}

# Send a signal to a process and all its descendants.
kill_tree() {
	local pid children
	children=$(cat "/proc/$2/task/$2/children" 2>/dev/null || true)
	kill -"$1" "$2" 2>/dev/null || true
	for pid in $children; do
		kill_tree "$1" "$pid"
	done
}

# Wait up to some seconds for a process to end, and tell whether it did.  (In a
# trap, bash's own "wait" may hang on a child that has just ended.)
await_end() {
	local tries=$(($2 * 20))
	while kill -0 "$1" 2>/dev/null; do
		((tries-- > 0)) || return 1
		sleep 0.05
	done
}

# Run a command into a log; show the log where it fails.
quietly() {
	local log=$NW_BUILD/$1.log
	mkdir -p "$NW_BUILD"
	("$@") >"$log" 2>&1 </dev/null && return
	cat "$log" >&2
	return 1
}

# Build the extension and install it into the PostgreSQL of PG_CONFIG.  Whoever may
# not do that needs nothing where the same build is installed, and gets a copy of
# the server otherwise.
install_extension() {
	local install=(make -s -C "$NW_ROOT" --no-print-directory install)
	make -s -j "$(nproc)" -C "$NW_ROOT" --no-print-directory all || return
	if [[ -w $("$PG_CONFIG" --pkglibdir) && -w $("$PG_CONFIG" --sharedir)/extension ]]; then
		"${install[@]}"
	elif extension_is_installed; then
		:
	elif can_be_root; then
		as_root "${install[@]}" PG_CONFIG="$PG_CONFIG"
	else
		copy_server && load_settings && "${install[@]}"
	fi
}

# Tell whether what is installed is what was built, but for the names of folders.
extension_is_installed() {
	local lib share dir file status=0
	lib=$("$PG_CONFIG" --pkglibdir)
	share=$("$PG_CONFIG" --sharedir)/extension
	[[ -e $lib/nwhead.so ]] || return
	for file in "$NW_ROOT"/nwhead.control "$NW_ROOT"/nwhead--*.sql; do
		cmp -s "$file" "$share/${file##*/}" || return
	done
	dir=$(mktemp -d)
	objcopy --strip-debug --remove-section=.note.gnu.build-id "$NW_ROOT/nwhead.so" "$dir/built" &&
		objcopy --strip-debug --remove-section=.note.gnu.build-id "$lib/nwhead.so" "$dir/installed" &&
		cmp -s "$dir/built" "$dir/installed" || status=1
	rm -rf "$dir"
	return "$status"
}

# Copy the server of PG_CONFIG into the build folder, to install the extension into:
# its programs find all else beside them, wherever they are.
copy_server() {
	local from to=$NW_BUILD/server
	rm -rf "$to"
	for from in "$("$PG_CONFIG" --bindir)" "$("$PG_CONFIG" --pkglibdir)" "$("$PG_CONFIG" --sharedir)"; do
		mkdir -p "$to$from"
		cp -a "$from/." "$to$from" || return
	done
	from=$("$PG_CONFIG" --includedir)
	mkdir -p "$to${from%/*}"
	ln -sn "$from" "$to$from"
}

# Print a clang: the one on PATH, else the one PostgreSQL makes its bitcode with.
find_clang() {
	command -v clang || command -v "$(sed -n 's/^CLANG *= *//p' \
		"$(dirname "$("$PG_CONFIG" --pgxs)")/../Makefile.global")"
}

# Tell whether a clang has the runtime of fuzzers and sanitizers.
can_fuzz() {
	local dir status=0
	dir=$(mktemp -d)
	echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return d == 0 && n > 0; }' |
		"$1" -x c -fsanitize=fuzzer,address,undefined -o "$dir/fuzzer" - &>/dev/null || status=$?
	rm -rf "$dir"
	return "$status"
}

load_settings
choose_user
