# shellcheck shell=bash
#
# What the set-up scripts ask of apt; to be sourced after env.sh.
#
# Everything comes from the repositories this machine's apt is set up for.  What
# a user wants is installed; what only tests need is unpacked under NW_DEPS.

log=$NW_BUILD/setup.log
scratch=
apt_updated=

# Tell what is being installed.
say() {
	printf 'setup: %s\n' "$*"
}

# Run a command into the log; show the log's end where it fails.
logged() {
	mkdir -p "$NW_BUILD"
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

# Refresh apt's lists, once, and only when something is missing.
update_apt() {
	[[ -n $apt_updated ]] && return
	apt_updated=yes
	mkdir -p "$NW_BUILD"
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

# Unpack packages, and those they need that are not installed, under build/deps.
unpack() {
	local plan names deb
	update_apt
	say "unpacking $* under ${NW_DEPS#"$NW_ROOT"/}"
	# "Inst NAME (VERSION": new here; "Inst NAME [OLD] (NEW": an upgrade, left out.
	plan=$(apt-get -s --no-install-recommends install "$@" 2>>"$log") ||
		die "apt cannot find $* (see $log)"
	mapfile -t names < <(awk '$1 == "Inst" && $3 !~ /^\[/ { print $2 }' <<<"$plan")
	make_scratch
	mkdir -p "$NW_DEPS"
	cd "$scratch/download" || return
	logged apt-get -q download "${names[@]}"
	for deb in *.deb; do
		logged dpkg -x "$deb" "$NW_DEPS"
		rm -f "$deb"
	done
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

# Write apt sources for another release of Debian: the machine's own Debian
# mirrors, as apt reads them, with the suite changed.  Updates, security,
# backports and other vendors' repositories are left out.
write_sources() {
	local type=$1 release=$2 codename uri entry
	codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
	apt-get indextargets \
		--format '$(CODENAME) $(ORIGIN)/$(LABEL)/$(COMPONENT) $(REPO_URI) $(SOURCESENTRY)' \
		'Created-By: Packages' |
		sed -n "s,^$codename Debian/Debian/main ,,p" | sort -u |
		while read -r uri entry; do
			printf 'Types: %s\nURIs: %s\nSuites: %s\nComponents: main\n' "$type" "$uri" "$release"
			signed_by "$entry"
			echo
		done
}

# Set PRIVATE, the words that make apt-get work on another release with a state
# of its own: private_apt deb|deb-src RELEASE.
private_apt() {
	local dir
	make_scratch
	dir=$scratch/apt-$1-$2
	PRIVATE=(-q -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$dir/sources"
		-o Dir::State="$dir/state" -o Dir::Cache="$dir/cache")
	[[ ! -d $dir ]] || return 0
	mkdir -p "$dir"/{sources,state,cache}
	write_sources "$1" "$2" >"$dir/sources/$2.sources"
	[[ -s $dir/sources/$2.sources ]] || die "apt is set up for no Debian mirror to take packages from"
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
