#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# memory.sh - what nfswbd holds for itself while sixteen writers flood a server,
# and while that stands still with every byte dirty
#
# RssAnon: the writers' data lies in their shared memory.  The bound is 64 MB and
# 5 % of dirty_bytes.  The server is nfssim, which keeps no contents.
. "$top_srcdir/tests/integration/lib.sh"

WRITERS=16
LIMIT=$((256 << 20))
BOUND=$((64000000 + LIMIT / 20))

nfssim_start() {
	mkfifo "$tmp/nfssim.out"
	setpriv --pdeathsig KILL "$top_builddir/tests/nfssim" -k -d \
		> "$tmp/nfssim.out" 2> "$tmp/nfssim.err" &
	server=$!
	children="$children $server"
	exec {from_server}< "$tmp/nfssim.out"
	read -r -t 20 _ port <&"$from_server" || bail "nfssim does not start"
}

# flood_start BYTES STRIDE
flood_start() {
	rm -f "$tmp/flood.in" "$tmp/flood.out"
	mkfifo "$tmp/flood.in" "$tmp/flood.out"
	LD_LIBRARY_PATH=$tmp/programs setpriv --pdeathsig KILL \
		"$top_builddir/bench/.libs/flood" "$NFSWB_SOCKET" \
		"nfs://127.0.0.1/export?nfsport=$port&mountport=$port" \
		$WRITERS "$1" "$2" < "$tmp/flood.in" > "$tmp/flood.out" 2> "$tmp/flood.err" &
	flood=$!
	children="$children $flood"
	exec {to_flood}> "$tmp/flood.in" {from_flood}< "$tmp/flood.out"
	read -r -t 60 word <&"$from_flood" && [ "$word" = go ] ||
		bail "the writers do not begin"
}

# Bytes; sanitizers have their own.
own_memory() {
	awk '$1 == "RssAnon:" { print $2 * 1024 }' "/proc/$nfswbd_pid/status"
}

all_wait() {
	[ "$(stat_of "sum(t['waiting_for'] in ('limit', 'grant', 'pace')
		for t in s['sessions'])")" = $WRITERS ]
}

# On a terminal: what it was.
says() {
	echo "# $1: $(($2 / 1024)) KiB, bound $((BOUND / 1024)) KiB"
}

# flooded WHAT BYTES STRIDE MUCH: a daemon of its own for each.
flooded() {
	nfswbd_start
	says "at start" "$(own_memory)"
	flood_start "$2" "$3"
	check "much of $1 is sent" await_sent "$4"
	held=$(own_memory)
	says "under the flood" "$held"
	check_is "$1 take no more than the bound" "$held" -le $BOUND
	kill -STOP $server
	check "the server stands still, and all wait" await 20 all_wait
	held=$(own_memory)
	says "with the server still" "$held"
	check_is "nor does a server that stands still" "$held" -le $BOUND
	check_is "the limit holds" \
		"$(stat_of 's["throttle"]["dirtied"]')" -le $LIMIT
	check_is "reclaim wrote nothing" \
		"$(stat_of 's["reclaim"]["reclaim_writes"]')" = 0
	kill -CONT $server
	sent=$(stat_of 'v["ops"]["WRITE"]["bytes_sent"]')
	check "the writers go on when it does" \
		await_sent $((sent + $4 / 8))
	says "after that" "$(own_memory)"
	exec {to_flood}>&- {from_flood}<&-
	process_kill $flood KILL 5
	nfswbd_kill
}

need setpriv
[ -z "$(nm "$top_builddir/nfswbd" 2> /dev/null | grep -m 1 __asan_init)" ] ||
	skip_all "sanitizers need memory of their own"
nfssim_start
nfswbd_config "dirty_bytes = $LIMIT" "slab_bytes = 64M"
flooded "long writes" $((1 << 20)) $((1 << 20)) $((2 << 30))
flooded "small pieces far apart" 100 8192 $((4 << 20))
done_testing
