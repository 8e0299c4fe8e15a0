#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The units are what systemd takes without a word, and shut in as far as they can
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
n=0

check() {
	name=$1
	shift
	n=$((n + 1))
	if "$@" > "$dir/out" 2>&1; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		sed 's/^/# /' "$dir/out"
	fi
}

if ! command -v systemd-analyze > /dev/null; then
	echo '1..0 # SKIP systemd-analyze is not installed'
	exit 0
fi
version=$(systemd-analyze --version | sed -n '1s/^systemd \([0-9]*\).*/\1/p')
if [ "$version" -lt 252 ]; then
	echo "1..0 # SKIP systemd $version knows no security --offline"
	exit 0
fi

# As installed, but for where the program is.
built=$top_builddir/systemd
mkdir "$dir/user"
here=$(cd "$top_builddir" && pwd)
for unit in nfswbd.service nfswbd-user.service; do
	sed "s|^ExecStart=[^ ]*/nfswbd|ExecStart=$here/nfswbd|" \
		"$built/$unit" > "$dir/$unit"
done
mv "$dir/nfswbd-user.service" "$dir/user/nfswbd.service"
cp "$top_srcdir/systemd/nfswbd.socket" "$dir"

verified() {
	systemd-analyze verify --man=no --recursive-errors=no "$@" 2>&1 |
		tee "$dir/said"
	[ ! -s "$dir/said" ]
}

# exposure MOST UNIT: as systemd adds it up, in tenths.
exposure() {
	systemd-analyze security --offline=true --no-pager \
		--threshold="$1" "$2"
}

# has UNIT LINE...
has() {
	unit=$1
	shift
	for line; do
		grep -Fqx "$line" "$unit" && continue
		echo "$unit does not say $line"
		return 1
	done
}

# has_not UNIT KEY...
has_not() {
	unit=$1
	shift
	for key; do
		! grep "^$key=" "$unit" || return 1
	done
}

echo 1..9
check system_units_are_verified verified "$dir/nfswbd.service" \
	"$dir/nfswbd.socket"
export XDG_RUNTIME_DIR=$dir
check user_unit_is_verified verified --user "$dir/user/nfswbd.service"
check exposure_is_1_6_at_most exposure 16 "$dir/nfswbd.service"
check one_capability_and_no_other has "$dir/nfswbd.service" \
	AmbientCapabilities=CAP_NET_BIND_SERVICE \
	CapabilityBoundingSet=CAP_NET_BIND_SERVICE
check clients_are_still_seen_for_who_they_are has_not \
	"$dir/nfswbd.service" PrivateUsers ProtectProc ProcSubset DynamicUser
check memory_and_table_outlive_the_daemon has "$dir/nfswbd.service" \
	RuntimeDirectoryPreserve=yes FileDescriptorStoreMax=8192 \
	StartLimitIntervalSec=0 Restart=on-failure
check sockets_are_of_three_kinds has "$dir/nfswbd.service" \
	'RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6'
check no_placeholder_is_left sh -c '! grep -H @[a-z_]*@ "$@"' sh \
	"$dir/nfswbd.service" "$dir/user/nfswbd.service"
check reload_is_sigusr2 grep -Eq \
	'^(ReloadSignal=SIGUSR2|ExecReload=/bin/kill -USR2 \$MAINPID)$' \
	"$dir/nfswbd.service"
