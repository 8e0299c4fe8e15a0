#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# fdstore.sh - nfswbd and the application die both; the service manager has kept
# the sessions' memory, and the next nfswbd finishes the job
#
# ROUNDS: how often both die (5).  SEED: of all that is random.
# shellcheck source=tests/integration/lib.sh
. "${top_srcdir:-.}/tests/integration/lib.sh" || exit 99
# shellcheck source=tests/integration/managed.sh
. "$top_srcdir/tests/integration/managed.sh"
need_ganesha
need python3
rounds=${ROUNDS:-5}
RANDOM=${SEED:=$RANDOM}
echo "# SEED=$SEED ROUNDS=$rounds"
server_start
# Little room, so that everything is waited for.
nfswbd_config 'slab_bytes = 4M' 'dirty_bytes = 16M' \
	'dirty_background_bytes = 512K' 'late_duplicate_sec = 1' \
	'grace_sec = 5'
managed -l "$tmp/nfswbd.sock"
manage start > "$tmp/heard" || bail "nfswbd does not start"

app_dies() {
	kill -KILL "$app_pid" 2> /dev/null
	wait "$app_pid" 2> /dev/null
}

# The two die in either order, one after the other, or nearly at once; nfswbd
# once more while it takes over.  In the first round the application can't even
# ask for its session before it dies.
both_die() {
	case $1 in
	0) kill -STOP "$app_pid"; manage killing; app_dies ;;
	1) app_dies; a_moment 50; manage killing ;;
	2) manage killing; app_dies ;;
	3) manage killing; a_moment 100; app_dies ;;
	4) app_dies; manage killing; a_moment 100; manage killing ;;
	5) both_crash ;;
	esac > "$tmp/heard"
	manage ready > "$tmp/heard"
}

# Each where it was told to, or when it has had its time.  nfswbd dies once more,
# and comes to its place in taking over or later.
app_ended() {
	! process_runs "$app_pid"
}

another_nfswbd() {
	[ "$(manage pid)" != "$instance" ]
}

both_crash() {
	some_place
	manage crash $place
	instance=$(manage killing)
	await 1 app_ended
	app_dies
	await 1 another_nfswbd || manage killing
}

ways=5 app_crash_at=
if has_crash_points "${NFSWBD:-$top_builddir/nfswbd}"; then
	ways=6
fi
lost=0 failed=0 calls=0 left=0
kinds=(wwwws aaaaas wwwt wwwwwwww)
for ((n = 1; n <= rounds; n++)); do
	name=round$n
	way=$((n == 1 ? 0 : RANDOM % 2 ? ways - 1 : RANDOM % ways)) app_crash_at=
	if [ $way = 5 ]; then
		some_place
		app_crash_at=$place
	fi
	if ! ledger_start $name $RANDOM $((1 + RANDOM % 3)) \
	    "${kinds[RANDOM % ${#kinds[@]}]}"; then
		[ -n "$app_crash_at" ] || bail "no application"
	else
		a_moment 400
		[ -n "$app_crash_at" ] || process_runs "$app_pid" ||
			failed=$((failed + 1))
	fi
	both_die $way
	nfswb sync --timeout 60 || failed=$((failed + 1))
	# one that died before it had opened its file may have made none
	: >> "$ganesha_export/$name"
	if ! ledger_agrees $name > "$tmp/heard"; then
		lost=$((lost + 1))
		echo "# way $way, places ${app_crash_at:-none} ${place:-}"
		diag < "$tmp/heard"
	fi
	read -r some _ < "$tmp/heard"
	calls=$((calls + some))
	nfswbd_pid=$(manage pid)
	await 20 nothing_is_kept && await 20 nothing_stays ||
		left=$((left + 1))
	nfswbd_pid=
	diag < "$tmp/$name.err"
	rm -f "$tmp/$name.ledger" "$ganesha_export/$name"
done
echo "# $calls calls returned in $rounds rounds"
check_is "no call failed before the deaths, no sync after them" $failed -eq 0
check_is "of what was accepted nothing is lost when both die" $lost -eq 0
check_is "and nothing stays in the store, no session, no memory" $left -eq 0
check_is "calls were made" $calls -gt 0
check "nobody who died was taken for one that breaks a rule" honest
check "nfswbd says that it finishes what the dead left" \
	grep -q 'its memory was kept; nfswbd finishes its work' \
	"$tmp/nfswbd.err"

# Both come: the store, and the client with the same memory.
client app
check "a program opens a file" tell app open "$(url twice)" wca
check "and appends" tell app write 1000000 1
check_is "its memory is in the store" "$(manage store | wc -w)" -eq 2
manage kill > "$tmp/heard"
check "the daemon dies, the program appends on" tell app write 500000 2
check "its fsync succeeds" tell app fsync
check "what came from the store and from the client is there once" \
	cmp <(pattern 1000000 1; pattern 500000 2) "$ganesha_export/twice"
hang_up app
check "at its end the store is empty" await 20 nothing_is_kept

# What somebody else put there.
forged() {
	local kind=$1 half=$2 why=$3 session
	client forger
	tell forger open "$(url forged)" wct > "$tmp/heard"
	tell forger pwrite 0 100000 3 > "$tmp/heard"
	session=$(manage store)
	session=${session%%-control*}
	manage forge "$session-$half" "$kind" > "$tmp/heard"
	kill -STOP "$(manage pid)"	# or it would finish before it dies
	kill -KILL "$pid_forger"
	wait "$pid_forger" 2> /dev/null
	exec {in_forger}>&- {out_forger}<&-
	rm "$tmp/forger.in" "$tmp/forger.out"
	manage kill > "$tmp/heard"
	check "$kind memory in the store is refused, with a reason" \
		grep -q "memory that was kept for ${session/-/ } is refused:.*$why" \
		"$tmp/nfswbd.err"
	check "nfswbd serves on" nfswb sync --timeout 60
	check "and what was refused is kept no longer" await 20 nothing_is_kept
}
forged unsealed data 'not sealed'
forged small data 'another size'
forged null control 'no memory file'
forged none data 'one half of it'
forged blank control 'not of this version'

# systemctl restart drains; what a client holds on to goes on after it.
client app2
tell app2 open "$(url restarted)" wc > "$tmp/heard"
tell app2 pwrite 0 3000000 4 > "$tmp/heard"
check_is "restart drains: exit code 0" "$(manage restart)" -eq 0
check "all of it is on the server" \
	cmp <(pattern 3000000 4) "$ganesha_export/restarted"
check "the client goes on" tell app2 pwrite 3000000 1000 4
hang_up app2
check_is "and a stop ends with exit code 0" "$(manage stop)" -eq 0
check "all of it is on the server" \
	cmp <(pattern 3001000 4) "$ganesha_export/restarted"
manage start > "$tmp/heard"

# A stop that can't drain in time: 3, and the file is named; what is kept makes a
# restart finish it.
nfswbd_config 'stop_timeout_sec = 1'
manage restart > "$tmp/heard"
client app3
tell app3 open "$(url left)" wc > "$tmp/heard"
tell app3 pwrite 0 200000 5 > "$tmp/heard"
kill -STOP "$ganesha_pid"
await 5 is_stopped "$ganesha_pid"
check_is "a stop that can't drain in time ends with exit code 3" \
	"$(manage restart)" -eq 3
kill -CONT "$ganesha_pid"
check "and names what was left" \
	grep -q 'left.*bytes at 0 are not on stable storage' "$tmp/nfswbd.err"
hang_up app3
check "after the restart it is on the server" nfswb sync --timeout 60
check "all of it" cmp <(pattern 200000 5) "$ganesha_export/left"
manage quit > "$tmp/heard"
done_testing
