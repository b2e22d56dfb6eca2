# shellcheck shell=bash
#
# What the set-up scripts ask of apt; to be sourced after env.sh.
#
# Everything comes from the repositories this machine's apt is set up for.  What
# a user wants is installed; what only tests need is unpacked under NW_DEPS.

PGVECTOR_MINIMUM=0.7.0

log=$NW_BUILD/setup.log
mkdir -p "$NW_BUILD"
scratch=
apt_updated=

# Tell what is being installed.
say() {
	printf 'setup: %s\n' "$*"
}

# Run a command into the log; show the log's end where it fails.
logged() {
	printf '\n+ %s\n' "$*" >>"$log"
	("$@") >>"$log" 2>&1 </dev/null && return
	tail -n 20 "$log" >&2
	die "failed: $* (all of it: $log)"
}

# Make a folder that is gone when the script ends; apt's download user owns it.
make_scratch() {
	[[ -n $scratch ]] && return
	scratch=$(mktemp -d)
	mkdir "$scratch/download"
	if ((EUID == 0)) && id _apt &>/dev/null; then
		chmod 755 "$scratch"
		chown _apt "$scratch/download"
	fi
}

# Refresh apt's lists, once, and only when something is missing.  Whoever may not
# do that works with the lists there are.
update_apt() {
	[[ -n $apt_updated ]] && return
	apt_updated=yes
	can_be_root || return 0
	# A broken third-party repository is no reason to stop.
	(as_root apt-get -q -o DPkg::Lock::Timeout=300 update) >>"$log" 2>&1 </dev/null ||
		say "apt-get update reported problems ($log); going on"
}

# Tell whether a package is installed.
apt_installed() {
	[[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) = installed ]]
}

# Install packages system-wide.
apt_install() {
	update_apt
	say "installing $*"
	logged as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends "$@"
}

# Tell whether apt can install a package.
apt_has() {
	[[ -n $(apt-cache madison "$1" 2>/dev/null) ]]
}

# Print the upstream version of a package that apt can install.
packaged_version() {
	apt-cache madison "$1" 2>/dev/null | sed -n '1s/^[^|]*| *\([0-9.]*\).*/\1/p'
}

# Tell whether the first version is at least the second.
at_least() {
	[[ $(printf '%s\n' "$1" "$2" | sort -V | head -n 1) = "$2" ]]
}

# Unpack packages, and those they need that are not installed, under build/deps.
unpack() {
	local plan names deb
	update_apt
	say "unpacking $* under ${NW_DEPS#"$NW_ROOT"/}"
	# "Inst NAME (VERSION": new here; "Inst NAME [OLD] (NEW": an upgrade, left out.
	plan=$(apt-get -s --no-install-recommends install "$@" 2>>"$log") ||
		die "apt cannot find $* (see $log)"
	mkdir -p "$NW_DEPS"
	touch "$NW_DEPS/packages"
	mapfile -t names < <(awk '$1 == "Inst" && $3 !~ /^\[/ { print $2 }' <<<"$plan" | grep -vxFf "$NW_DEPS/packages")
	[[ ${#names[@]} -gt 0 ]] || return 0
	make_scratch
	cd "$scratch/download" || return
	logged apt-get -q download "${names[@]}"
	for deb in *.deb; do
		logged dpkg -x "$deb" "$NW_DEPS"
		rm -f "$deb"
	done
	printf '%s\n' "${names[@]}" >>"$NW_DEPS/packages"
	cd "$NW_ROOT" || return
	load_settings
}

# Print a field of the entry "FILE:N" of apt's sources: Nth stanza or Nth line.
signed_by() {
	local file=${1%:*} number=${1##*:}
	if [[ $file = *.sources ]]; then
		# Comments go first, since they neither end nor make a stanza.  A key may
		# stand in the file itself, on lines that begin with a blank.
		grep -v '^#' "$file" | awk -v RS= -v number="$number" 'NR == number' |
			awk '/^[^ \t]/ { on = tolower($0) ~ /^signed-by:/ } on'
	else
		sed -n "${number}s/^[^[]*\[[^]]*signed-by=\([^] ]*\).*/Signed-By: \1/p" "$file" | tr , ' '
	fi
}

# List the mirrors of the distribution itself, as apt reads them: release, component,
# address, entry.  Updates, security, backports, experimental and other vendors'
# repositories are left out.  (Of sid, os-release has the name of the next release.)
own_sources() {
	local here
	here=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	apt-get indextargets --format \
		'$(ORIGIN)/$(LABEL) $(SUITE) $(CODENAME) $(COMPONENT) $(REPO_URI) $(SOURCESENTRY)' \
		'Created-By: Packages' |
		awk -v here="$here" '
			$1 !~ /^(Debian\/Debian|Ubuntu\/Ubuntu)$/ || $2 ~ /-|^experimental$/ { next }
			$4 !~ /^(main|universe)$/ { next }
			{ line[++n] = $3 " " $4 " " $5 " " $6; release[n] = $3; found += $3 == here }
			END { for (i = 1; i <= n; i++) if (!found || release[i] == here) print line[i] }' |
		sort -u
}

# Print the name of this machine's release, as apt has it.
this_release() {
	own_sources | awk 'NR == 1 { print $1 }'
}

# Print the release of the same distribution to take from what this one has not.
later_release() {
	local release
	release=$(this_release)
	case $release in
	bullseye | bookworm) echo trixie ;;
	jammy | noble | plucky | questing) echo resolute ;;
	*) die "no release is known to take from what ${release:-this system} has not; please install it yourself" ;;
	esac
}

# Write apt sources for another release: the machine's own mirrors, as apt reads
# them, with the suite changed.
write_sources() {
	local type=$1 release=$2 component uri entry
	own_sources | while read -r _ component uri entry; do
		printf 'Types: %s\nURIs: %s\nSuites: %s\nComponents: %s\n' "$type" "$uri" "$release" "$component"
		signed_by "$entry"
		echo
	done
}

# Set PRIVATE, the words that make apt-get work on another release with a state
# of its own, where nothing is installed: private_apt deb|deb-src RELEASE.
private_apt() {
	local dir
	make_scratch
	dir=$scratch/apt-$1-$2
	PRIVATE=(-q -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$dir/sources"
		-o Dir::State="$dir/state" -o Dir::State::status="$dir/status" -o Dir::Cache="$dir/cache")
	[[ ! -d $dir ]] || return 0
	mkdir -p "$dir"/{sources,state,cache}
	: >"$dir/status"
	write_sources "$1" "$2" >"$dir/sources/$2.sources"
	[[ -s $dir/sources/$2.sources ]] || die "apt is set up for no mirror to take packages from"
	logged apt-get "${PRIVATE[@]}" -o APT::Update::Error-Mode=any update
}

# Unpack packages of another release, without what they need: unpack_from RELEASE FOLDER PACKAGE...
unpack_from() {
	local release=$1 folder=$2 deb
	shift 2
	say "unpacking $* of $release under ${folder#"$NW_ROOT"/}"
	private_apt deb "$release"
	mkdir -p "$folder"
	cd "$scratch/download" || return
	logged apt-get "${PRIVATE[@]}" download "$@"
	for deb in *.deb; do
		logged dpkg -x "$deb" "$folder"
		rm -f "$deb"
	done
	cd "$NW_ROOT" || return
}

# Unpack what upstream wrote of a source package: unpack_source RELEASE PACKAGE FOLDER.  apt
# checks the signatures; it works on a private state, so that the machine's stays as it is.
unpack_source() {
	local release=$1 package=$2 folder=$3 tarball
	private_apt deb-src "$release"
	mkdir -p "$folder"
	cd "$scratch/download" || return
	logged apt-get "${PRIVATE[@]}" source --download-only --tar-only --only-source "$package"
	tarball=$(echo "$package"_*.orig.tar.*)
	logged tar -xf "$tarball" -C "$folder" --strip-components=1
	cd "$NW_ROOT" || return
}

# Unpack packages of another release with all that they need, down to the C library:
# unpack_all_from RELEASE FOLDER PACKAGE...
unpack_all_from() {
	local release=$1 folder=$2 plan names
	shift 2
	private_apt deb "$release"
	plan=$(apt-get "${PRIVATE[@]}" -s --no-install-recommends install "$@" 2>>"$log") ||
		die "$release has no $* (see $log)"
	mkdir -p "$folder"
	touch "$folder/packages"
	mapfile -t names < <(awk '$1 == "Inst" { print $2 }' <<<"$plan" | grep -vxFf "$folder/packages")
	[[ ${#names[@]} -gt 0 ]] || return 0
	say "unpacking $* of $release, and all they need, under ${folder#"$NW_ROOT"/}"
	unpack_from "$release" "$folder" "${names[@]}" >/dev/null
	printf '%s\n' "${names[@]}" >>"$folder/packages"
}

# Get a python3 that can import modules: the distribution's own, with the packages
# unpacked for it; or, where the distribution has not all of them, the python3 of a
# later release, whole: python_with 'MODULE...' PACKAGE...
python_with() {
	local modules="import ${1// /, }" package complete=yes
	shift
	[[ -x $PYTHON ]] || apt_install python3
	"$PYTHON" -c "$modules" 2>/dev/null && return
	update_apt
	for package; do
		apt_has "$package" || complete=no
	done
	if [[ $complete = yes && $PYTHON != "$NW_PYTHON"/* ]]; then
		unpack "$@" libopenblas0-pthread
	else
		unpack_all_from "$(later_release)" "$NW_PYTHON" python3 "$@" libopenblas0-pthread
		wrap_python
	fi
	logged "$PYTHON" -c "$modules"
}

# Let the python3 of another release run on its own C library and its own modules.
wrap_python() {
	rm -f "$NW_PYTHON/usr/bin/python3"
	cat >"$NW_PYTHON/usr/bin/python3" <<-'SH'
		#!/bin/bash
		usr=$(cd "$(dirname "$0")/.." && pwd)
		libraries=$(printf '%s:' "$usr"/lib/*-linux-gnu/{openblas-pthread,} "$usr"/lib)
		export PYTHONPATH=$usr/lib/python3/dist-packages
		exec "$usr"/lib/*-linux-gnu/ld-linux-*.so.* --argv0 "$0" --library-path "$libraries" \
			"$usr"/bin/python3.[0-9]* "$@"
	SH
	chmod 755 "$NW_PYTHON/usr/bin/python3"
	load_settings
}
