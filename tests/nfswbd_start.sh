#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# nfswbd starts, keeps others from its socket, replaces a stale one, and stops
nfswbd=$top_builddir/nfswbd
dir=$(mktemp -d) || exit 99
n=0
pid=
trap '[ -z "$pid" ] || kill -KILL $pid; rm -rf "$dir"' EXIT

# check NAME COMMAND...
check() {
	name=$1
	shift
	n=$((n + 1))
	if "$@"; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		sed 's/^/# /' "$dir/out"
	fi
}

# Its log comes through a pipe, so that waiting for a line is no guessing.
start() {
	rm -f "$dir/log"
	mkfifo "$dir/log"
	"$nfswbd" -c "$dir/conf" -s "$dir/sock" 2>"$dir/log" &
	pid=$!
	exec 3<"$dir/log"
	while read -r line <&3; do
		echo "$line" >>"$dir/out"
		case $line in *"listening on $dir/sock"*) return 0 ;; esac
	done
	return 1
}

# stop SIGNAL CODE
stop() {
	kill "-$1" $pid
	wait $pid
	got=$?
	pid=
	cat <&3 >>"$dir/out"
	[ $got -eq "$2" ]
}

refuses_a_second() {
	"$nfswbd" -c "$dir/conf" -s "$dir/sock" >"$dir/second" 2>&1
	[ $? -eq 1 ] && grep -q "a daemon already runs on $dir/sock" \
		"$dir/second" && [ "$(wc -l <"$dir/second")" -eq 1 ]
}

printf '[nfswbd]\nsocket_mode = 0600\n' >"$dir/conf"
: >"$dir/out"
echo 1..9
check it_starts start
check socket_is_there test -S "$dir/sock"
check second_daemon_is_refused refuses_a_second
check sigterm_with_nothing_to_write_is_0 stop TERM 0
check socket_is_gone test ! -e "$dir/sock"
start >/dev/null
kill -KILL $pid
wait $pid 2>/dev/null
pid=
check killed_daemon_leaves_its_socket test -S "$dir/sock"
check new_one_replaces_it start
check that_is_logged grep -q 'left from a daemon that is gone' "$dir/out"
check sigint_stops_it stop INT 0
