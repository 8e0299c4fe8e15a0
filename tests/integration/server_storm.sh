#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# server_storm.sh - the server is killed again and again under applications
# that write and fsync: nothing that was acknowledged is lost
#
# Each application compares the server's own file with what it wrote whenever
# an fsync or close has returned 0.
#
# ROUNDS: how often it is killed (20).  SEED: of the moments and of what the
# applications do.
# shellcheck source=tests/integration/lib.sh
. "${top_srcdir:-.}/tests/integration/lib.sh" || exit 99
need_ganesha
rounds=${ROUNDS:-20}
RANDOM=${SEED:=$RANDOM}
echo "# SEED=$SEED ROUNDS=$rounds"
epoch=1000
server_start $epoch
# Little room, so that everything is waited for; what was sent twice is soon
# open again, or most of the time would be spent in waiting for that.
nfswbd_config 'slab_bytes = 4M' 'dirty_bytes = 16M' \
	'dirty_background_bytes = 512K' 'late_duplicate_sec = 1'
nfswbd_start
daemon=$nfswbd_pid
instance=$(stat_of 's["instance"]')

# storm NAME SESSIONS KINDS: runs, and notes what was acknowledged.
names='' readers=''
storm() {
	mkfifo "$tmp/$1.out"
	grep --line-buffered '[SC]' < "$tmp/$1.out" > "$tmp/$1.acks" &
	readers="$readers $!"
	(
		export LD_LIBRARY_PATH=$tmp/programs
		exec setpriv --pdeathsig KILL "$tmp/programs/storm" \
			"$(url "$1")" "$tmp/$1.expected" \
			$((RANDOM * 32768 + RANDOM)) "$2" "$3" 1048576 \
			"$ganesha_export/$1" > "$tmp/$1.out" 2> "$tmp/$1.msg"
	) &
	eval "pid_$1=$!"
	names="$names $1"
	children="$children $!"
}

acks() {
	cat "$tmp"/*.acks | wc -l
}

acked_since() {
	[ "$(acks)" -gt "$1" ]
}

storm_over() {
	! process_runs "$1"
}

storm overwrites 1 wwwwsr
storm appends 2 aaaasr
storm truncates 2 wwtrs
storm closes 2 wwccs
children="$children $readers"

# Now and then before it could answer anything, else in the middle.
for ((n = 0; n < rounds; n++)); do
	before=$(acks)
	if [ $((RANDOM % 4)) != 0 ]; then
		await 60 acked_since "$before" || break
	fi
	a_moment 300
	ganesha_kill
	ganesha_start $((epoch += 1)) || bail "nfs-ganesha does not come back"
done
check_is "the server is killed $rounds times" $n -eq "$rounds"
check "after the last time too fsyncs are acknowledged" \
	await 60 acked_since "$(acks)"
check "the daemon has survived" process_runs "$daemon"
check_is "and is the one that began" "$(stat_of 's["instance"]')" = "$instance"
check_is "new verifiers are counted" "$(stat_of 'v["verifier_changes"]')" -ge 1
echo "# acknowledged: $(acks); sent again: $(stat_of 'v["replayed_bytes"]')" \
	"bytes for $(stat_of 'v["verifier_changes"]') verifiers"

# They end where nobody reads any more.
for pid in $readers; do
	process_kill "$pid" TERM 5
done
for name in $names; do
	pid="pid_$name"
	await 60 storm_over "${!pid}" || kill -KILL "${!pid}"
	wait "${!pid}"
	check_is "$name: no call failed, no acknowledged byte is lost" $? -eq 0
	diag < "$tmp/$name.msg"
	check_is "$name: some was acknowledged" \
		"$(wc -l < "$tmp/$name.acks")" -ge 1
	check "$name: the file is as expected" \
		cmp "$tmp/$name.expected" "$ganesha_export/$name"
done
check_is "the server is up" "$(stat_of 'v["state"]')" = up
check_is "nothing was given up" "$(stat_of 'len(s["given_up"])')" -eq 0
done_testing
