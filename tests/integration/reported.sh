#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# reported.sh - what users of other clients and caches met when something died,
# hung or was stopped; each with its source
#
# ROUNDS: how often the daemon is stopped in a storm of errors (10).  SEED: of
# all that is random.  NFSWBD: another daemon, for instance one built with
# sanitizers.
# shellcheck source=tests/integration/lib.sh
. "${top_srcdir:-.}/tests/integration/lib.sh" || exit 99
need python3
rounds=${ROUNDS:-10}
RANDOM=${SEED:=$RANDOM}
echo "# SEED=$SEED ROUNDS=$rounds"

# sim_start NAME OPTION...: its files are in $tmp/NAME, its URL for a file of it
# is "$(at NAME FILE)".
sim_start() {
	local name=$1 port
	shift
	mkdir -p "$tmp/$name"
	: > "$tmp/$name.out"
	setpriv --pdeathsig KILL "$top_builddir/tests/nfssim" -s "$tmp/$name" \
		"$@" > "$tmp/$name.out" 2> "$tmp/$name.err" < /dev/null &
	eval "sim_$name=$!"
	children="$children $!"
	await 10 grep -q port "$tmp/$name.out" || bail "nfssim does not start"
	read -r _ port < "$tmp/$name.out"
	eval "query_$name='nfsport=$port&mountport=$port'"
}

at() {
	local query="query_$1"
	echo "nfs://127.0.0.1/export/$2?${!query}"
}

sim_kill() {
	local pid="sim_$1"
	process_kill "${!pid}" KILL 5
}

nothing_left() {
	[ "$(stat_of 'sum(v[k] for v in s["servers"] for k in ("dirty_bytes",
	    "writeback_bytes", "unstable_bytes"))')" = 0 ]
}

who_waits() {
	nfswb who | grep -q "$1"
}

ended() {
	! process_runs "$1"
}

# A process is stuck for good when COMMIT never answers (marmos91/dittofs#670).
sim_start commit --fault 'COMMIT once : lose-call'
nfswbd_start
client app
tell app open "$(at commit f)" wc > /dev/null
tell app write 3000000 1 > /dev/null
ask app fsync
check "who is in fsync waits for the COMMIT, of a file that is named" \
	await 20 who_waits 'commit .*/export/f'
kill -KILL "$pid_app"
check "it can be killed meanwhile" await 5 ended "$pid_app"
check_is "its data is kept" \
	"$(stat_of 'v["unstable_bytes"] + v["dirty_bytes"]')" -ge 3000000
kill -USR1 "$sim_commit"
check "a restart of the server heals it" await 30 nothing_left
check "and every byte is there" \
	cmp "$tmp/commit/f" <(pattern 3000000 1)

# Ranks that truncate and rewrite one file get stuck for hours
# (NVIDIA-NeMo/RL#3504).
ranks=$(seq 32)
for n in $ranks; do
	client "rank$n"
	ask "rank$n" open "$(at commit checkpoint)" wct
done
for n in $ranks; do
	hear "rank$n" > /dev/null || not_ok "rank $n opens it"
	ask "rank$n" write 1000000 "$n"
done
all=yes
for n in $ranks; do
	hear "rank$n" > /dev/null || all=
done
check "32 that truncate one file and write it are held up by nobody" test $all
kill -STOP "$sim_commit"
ask rank7 fsync
check "while the server stands still, the file that is fought for is named" \
	await 20 who_waits '/export/checkpoint'
kill -CONT "$sim_commit"
hear rank7 > /dev/null
tell rank7 pwrite 0 1000000 77 > /dev/null
for n in $ranks; do
	tell "rank$n" close > /dev/null || all=
	hang_up "rank$n"
done
check "all close it without an error" test $all
check "who wrote last has won" \
	cmp "$tmp/commit/checkpoint" <(pattern 1000000 77)

# A backup target that hangs drags the whole node (longhorn/longhorn#4772).  A
# quarter of an hour of it is in sim_pace.
hundred=$(seq 100)
for n in $ranks; do
	client_kill "rank$n"
done
sim_start other
for n in $hundred; do
	client "stuck$n"
	ask "stuck$n" open "$(at commit "stuck$n")" wc
done
for n in $hundred; do
	hear "stuck$n" > /dev/null || all=
done
check "a hundred open files" test $all
kill -STOP "$sim_commit"
for n in $hundred; do
	ask "stuck$n" write 4000000 "$n"
	ask "stuck$n" fsync
done
check "a put to another server goes on beside 100 that wait for one that hangs" \
	nfswb put "$tmp/programs/nfswb" "$(at other copy)"
check "and is identical" cmp "$tmp/programs/nfswb" "$tmp/other/copy"
client app6
tell app6 open "$(at other beside)" wc > /dev/null
check "a program that writes there does" tell app6 write 3000000 6
check "and its fsync ends" tell app6 fsync
hang_up app6
check "who waits is told since when" \
	await 20 who_waits '/export/stuck'
for n in $hundred; do
	[ $((n % 2)) = 0 ] || continue
	pid="pid_stuck$n"
	kill -KILL "${!pid}"
	await 5 ended "${!pid}" || all=
	client_kill "stuck$n"
done
check "who waits can be killed" test $all
kill -CONT "$sim_commit"
for n in $hundred; do
	[ $((n % 2)) = 1 ] || continue
	hear "stuck$n" > /dev/null && hear "stuck$n" > /dev/null || all=
	cmp "$tmp/commit/stuck$n" <(pattern 4000000 "$n") || all=
	client_kill "stuck$n"
done
check "the others are done when it goes on, and lost nothing" test $all

# A file that was written under a temporary name and renamed vanishes with the
# daemon (rclone/rclone#4293).
client app2
tell app2 open "$(at other part)" wc > /dev/null
tell app2 write 2000000 5 > /dev/null
tell app2 rename "$(at other part)" "$(at other whole)" > /dev/null
nfswbd_kill
nfswbd_start
check "renamed before it was written back, it is closed after a restart" \
	tell app2 close
hang_up app2
check "and is there under its new name" \
	cmp "$tmp/other/whole" <(pattern 2000000 5)
check "and under no other" test ! -e "$tmp/other/part"

# The retry limit is reached and the only copy deleted (rclone/rclone#2382).
sim_start full --fault 'WRITE nth=1-30 : status=IO'
client app3
tell app3 open "$(at full f)" wc > /dev/null
tell app3 write 500000 9 > /dev/null
tries=0
until tell app3 fsync > /dev/null || [ $((tries += 1)) -gt 60 ]; do
	:
done
check_is "a server that refuses is asked again by each fsync" $tries -ge 5
check "and nothing was dropped when it takes it at last" \
	cmp "$tmp/full/f" <(pattern 500000 9)
tell app3 close > /dev/null
hang_up app3

# Stopped right after the last write, all is missing (rclone/rclone#7309,
# juicedata/juicefs#2644).
client app4
tell app4 open "$(at other last)" wc > /dev/null
tell app4 write 5000000 3 > /dev/null
kill -KILL "$pid_app4"
process_kill "$nfswbd_pid" TERM 30
wait "$nfswbd_pid"
check_is "a stop writes back first" $? -eq 0
check "all that was accepted" cmp "$tmp/other/last" <(pattern 5000000 3)
nfswbd_config 'stop_timeout_sec = 1' 'grace_sec = 1'
nfswbd_start
client app5
tell app5 open "$(at other late)" wc > /dev/null
kill -STOP "$sim_other"
tell app5 write 5000 3 > /dev/null
process_kill "$nfswbd_pid" TERM 30
wait "$nfswbd_pid"
check_is "where that can't be done in time the exit code says so" $? -eq 3
check "and the log names the file" grep -q '/export/late.*not on stable' \
	"$tmp/nfswbd.err"
kill -CONT "$sim_other"
nfswbd_start
check "the next daemon has it from its writer" tell app5 close
hang_up app5
check "whole" cmp "$tmp/other/late" <(pattern 5000 3)

# The uploader crashes when it is stopped among errors (juicedata/juicefs#4778).
sim_start storm --seed "$SEED" --fault 'WRITE chance=20% : status=IO
	WRITE chance=5% : cut
	COMMIT chance=20% : restart-done
	any chance=5% : status=JUKEBOX'
bad=
for ((n = 0; n < rounds; n++)); do
	for m in 1 2 3 4; do
		client "s$n$m"
		ask "s$n$m" open "$(at storm "f$m")" wc
		ask "s$n$m" write 2000000 $m
		ask "s$n$m" fsync
		ask "s$n$m" close
	done
	a_moment 300
	process_kill "$nfswbd_pid" TERM 30
	wait "$nfswbd_pid"
	code=$?
	case $code in 0 | 3) ;; *) bad="$bad $code" ;; esac
	for m in 1 2 3 4; do
		client_kill "s$n$m"
	done
	nfswbd_start
done
check_is "a stop among errors ends in order each time" "$bad" = ""
check "no sanitizer had to speak" \
	sh -c '! grep -E "runtime error|Sanitizer" "$0"' "$tmp/nfswbd.err"
done_testing
