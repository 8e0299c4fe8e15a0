#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# survival.sh - nfswbd and the server die and come back while applications do
# all kinds of things; applications die, and leave nothing behind
#
# ROUNDS: deaths of each storm (2; the daemon's are ten times as many in all).
# SEED: of all that is random.  NFSWBD: another daemon, for instance one built with
# sanitizers.  Where daemon or library were built with --enable-crash-points they
# also kill themselves between two stores to the memory that they share.
# shellcheck source=tests/integration/lib.sh
. "${top_srcdir:-.}/tests/integration/lib.sh" || exit 99
need_ganesha
rounds=${ROUNDS:-2}
RANDOM=${SEED:=$RANDOM}
echo "# SEED=$SEED ROUNDS=$rounds"
epoch=1000
server_start $epoch
# Little room, so that everything is waited for; what was sent twice is soon
# open again, or most of the time would be spent in waiting for that.
small_config() {
	nfswbd_config 'slab_bytes = 4M' 'dirty_bytes = 16M' \
		'dirty_background_bytes = 512K' 'late_duplicate_sec = 1' "$@"
}
small_config
nfswbd_start

mkfifo "$tmp/storm.out"
crash='' app_crash=''
has_crash_points "${NFSWBD:-$top_builddir/nfswbd}" && crash=crash
has_crash_points "$tmp/programs/libnfswb.so.0" && app_crash=yes
echo "# places to die at: daemon ${crash:-none}, library ${app_crash:-none}"
daemon_deaths=0 together_deaths=0

# The deaths.  Each returns when what was killed is started again.

death_kill() {
	nfswbd_kill
	nfswbd_start
	daemon_deaths=$((daemon_deaths + 1))
}

# At a place of its own, in taking over or when the storm has gone on for so long;
# by force when it does not come there.
death_crash() {
	local n=0 some
	some_place
	nfswbd_kill
	crash_at=$place nfswbd_launch
	while process_runs "$nfswbd_pid" && [ $((n += 1)) -lt 200 ]; do
		read -r -t 0.05 -u 9 some || [ $? -gt 128 ] || break
	done
	nfswbd_kill
	nfswbd_start
	daemon_deaths=$((daemon_deaths + 2))
}

# Again and again before it could take its sessions over, or while it does.
death_often() {
	local n
	for n in 1 2 3 4; do
		nfswbd_kill
		nfswbd_launch
		a_moment 70
	done
	await 10 nfswbd_answers || bail "nfswbd does not answer"
	daemon_deaths=$((daemon_deaths + 4))
}

death_term() {
	process_kill "$nfswbd_pid" TERM 30
	nfswbd_start
}

death_server() {
	ganesha_kill
	ganesha_start $((epoch += 1)) || bail "nfs-ganesha does not start"
}

death_both() {
	process_kill "$nfswbd_pid" KILL 5
	ganesha_kill
	ganesha_start $((epoch += 1)) || bail "nfs-ganesha does not start"
	nfswbd_start
	together_deaths=$((together_deaths + 1))
}

# The daemon is back before the server is.
death_server_last() {
	process_kill "$nfswbd_pid" KILL 5
	ganesha_kill
	nfswbd_start
	a_moment 300
	ganesha_start $((epoch += 1)) || bail "nfs-ganesha does not start"
	together_deaths=$((together_deaths + 1))
}

show_hang() {
	local pid
	command -v gdb > /dev/null || return 0
	for pid in $storm_pid $nfswbd_pid; do
		gdb -p "$pid" -batch -ex 'thread apply all bt' 2>&1 |
			grep -E '^(#|Thread)' | diag
	done
	nfswb stat --json 2>&1 | diag
	tail -n 40 "$tmp/nfswbd.err" | diag
}

# steps N: until the storm has done so many more; false when it is over.
steps() {
	local n some
	for ((n = 0; n < $1; n++)); do
		read -r -t 60 -u 9 some && continue
		[ $? -gt 128 ] && hung=1
		return 1
	done
}

storm_over() {
	! process_runs $storm_pid
}

# storm DEATHS SESSIONS KINDS [MAX]
storm() {
	local deaths=$1 seed=$((RANDOM * 32768 + RANDOM)) death n=0
	hung=
	(
		export LD_LIBRARY_PATH=$tmp/programs
		exec setpriv --pdeathsig KILL "$tmp/programs/storm" \
			"$storm_url" "$tmp/expected" $seed "$2" "$3" ${4:-} \
			> "$tmp/storm.out" 2> "$tmp/storm.msg"
	) 9<&- &
	storm_pid=$!
	children="$children $storm_pid"
	exec 9< "$tmp/storm.out"
	while [ $n -lt "$rounds" ] &&
	    steps $((1 + RANDOM % (RANDOM % 4 ? 40 : 400))); do
		set -- $deaths
		shift $((RANDOM % $#))
		death=$1
		death_"$death"
		n=$((n + 1))
	done
	[ -n "$hung" ] || steps 20
	exec 9<&-
	if [ -n "$hung" ] || ! await 60 storm_over; then
		show_hang
		kill -KILL $storm_pid
	fi
	wait $storm_pid
	storm_code=$?
	[ $storm_code = 0 ] || diag < "$tmp/storm.msg"
	deaths_nr=$n
}

# The server's own file, or what a daemon that never saw it reads of it.
storm_is_as_expected() {
	if [ -n "$sim_pid" ]; then
		rm -f "$tmp/back"
		nfswb get "$storm_url" "$tmp/back" || return 1
		cmp "$tmp/expected" "$tmp/back"
	else
		cmp "$tmp/expected" "$ganesha_export/storm"
	fi
}

storm_survives() {
	local what=$1
	shift
	storm "$@"
	check_is "$what: no call failed ($deaths_nr deaths)" $storm_code -eq 0
	[ -z "$sim_pid" ] || death_kill
	check "$what: the file is as expected" storm_is_as_expected
}
sim_pid=
storm_url=$(url storm)

storm_survives "one session, overwriting" "kill often $crash" 1 wwwwsr
storm_survives "overwriting a small range" "kill often term $crash" 1 wwwwsr \
	65536
storm_survives "three sessions on one file" "kill often term $crash" 3 wwwwsr
storm_survives "appends of three sessions" "kill often $crash" 3 aaaaars
storm_survives "truncates" "kill often $crash" 2 wwtrs
storm_survives "opens and closes" "kill often term $crash" 2 wwccs
[ -z "$crash" ] ||
	storm_survives "dying by itself" "crash" 3 wwwwtrsc
storm_survives "with the server's restarts" "kill both server" 2 wwwwrsc
storm_survives "the server back last" "server_last" 2 wcccccccc
rounds=$(((rounds * 5 + 1) / 2 - together_deaths)) \
	storm_survives "daemon and server together" "both server_last" 2 wwwwrsc
check_is "daemon and server died together $together_deaths times" \
	$together_deaths -ge $((rounds * 5 / 2))

# A server that truly forgets what was not committed, before, while and after
# the daemon is killed.

death_forget() {
	local moment=$((RANDOM % 3))
	[ $moment = 0 ] && kill -USR1 "$sim_pid"
	process_kill "$nfswbd_pid" KILL 5
	[ $moment = 1 ] && kill -USR1 "$sim_pid"
	nfswbd_start
	[ $moment = 2 ] && kill -USR1 "$sim_pid"
}

# sim_start OPTION...
sim_start() {
	: > "$tmp/sim.out"
	setpriv --pdeathsig KILL "$top_builddir/tests/nfssim" "$@" \
		> "$tmp/sim.out" 2> "$tmp/sim.err" < /dev/null &
	sim_pid=$!
	children="$children $sim_pid"
	await 10 grep -q port "$tmp/sim.out" || bail "nfssim does not start"
	read -r _ sim_port < "$tmp/sim.out"
	storm_url="nfs://127.0.0.1/export/storm"
	storm_url="$storm_url?nfsport=$sim_port&mountport=$sim_port"
}

sim_start
storm_survives "with a server that forgets" "forget kill" 2 wwwwrsc
storm_survives "appends to it" "forget" 2 aaaars
storm_survives "truncates on it" "forget" 2 wwtrs
process_kill "$sim_pid" KILL 5

# A server whose reply is lost with the connection and that drops each copy of
# the call: it takes a fresh xid to get on.  Of what the daemon had under way
# when it was killed, too, the next one's calls are no copies.
nfswbd_kill
small_config 'timeo = 1' 'retrans = 2'
sim_start --json --drc cut --seed "$SEED" --fault \
	'WRITE every=40 : cut; WRITE every=61 : cut-half; COMMIT every=9 : cut'
nfswbd_start
storm_survives "with a server that drops copies" "kill" 2 wwwwwwsrc
storm_survives "appends to such a one" "kill" 2 aaaaars
process_kill "$sim_pid" TERM 5
check "copies were dropped indeed" grep -Eq '"drc_drops": *[1-9]' \
	"$tmp/sim.out"

# One that stands still and says nothing, with connections that stay: it is
# left after timeo, and has each call several times when it goes on.
silences() {
	grep -c 'silent for timeo' "$tmp/nfswbd.err"
}

silences_since() {
	[ "$(silences)" -gt "$1" ]
}

# A call is under way then, whatever the storm does: that of a put.
death_stop() {
	local before
	before=$(silences)
	kill -STOP "$sim_pid"
	nfswb put "$tmp/probe" "${storm_url/storm/probe}" &
	children="$children $!"
	await 10 silences_since "$before"
	a_moment 300
	kill -CONT "$sim_pid"
	wait $! || probes_failed=1
}

probes_failed=
echo probe > "$tmp/probe"
sim_start
before=$(silences)
storm_survives "with a server that stands still" "stop" 2 wwwwwwsrc
storm_survives "the same, and the daemon dies" "stop kill" 3 aaaaars
check "it was left, and found again" silences_since "$before"
check "who came meanwhile was served" test -z "$probes_failed"
process_kill "$sim_pid" KILL 5
sim_pid=
nfswbd_kill
small_config
nfswbd_start

# put of many small files at once, and of a large one.

put_over() {
	! process_runs $put_pid
}

# put_survives WHAT NAME [OPTION]
put_survives() {
	local what=$1 name=$2 option=${3:-} n=0
	rm -rf "${ganesha_export:?}/$name"
	nfswb_exec put $option "$tmp/$name" "$(url "$name")" \
		2> "$tmp/put.msg" 9<&- &
	put_pid=$!
	children="$children $put_pid"
	while ! put_over && [ $n -lt $((rounds * 2)) ]; do
		a_moment 300
		death_kill
		n=$((n + 1))
	done
	if ! await 60 put_over; then
		storm_pid=$put_pid
		show_hang
		kill -KILL $put_pid
	fi
	wait $put_pid
	check_is "$what: exit code 0 ($n deaths)" $? -eq 0
	check "$what: without a word" cmp "$tmp/put.msg" /dev/null
	check "$what: identical" \
		diff -r "$tmp/$name" "$ganesha_export/$name"
}

mkdir "$tmp/tree"
for n in $(seq $((rounds * 200))); do
	pattern $((n * 100)) "$n" > "$tmp/tree/$n"
done
put_survives "put of a tree" tree -r
pattern $((rounds * 50000000)) 7 > "$tmp/large"
put_survives "put of a large file" large

# Applications that die: what they had posted arrives, and nothing of them
# stays.

fds() {
	find "/proc/$nfswbd_pid/fd" -mindepth 1 | wc -l
}

# In KiB, the memory of sessions included.
memory() {
	awk '/^Rss(Anon|Shmem):/ { n += $2 } END { print n }' \
		"/proc/$nfswbd_pid/status"
}

# But what is granted to who asks.
nothing_left() {
	[ "$(fds)" -le "$fds_before" ] &&
		[ "$(stat_of 'len(s["sessions"])')" = 1 ] &&
		[ "$(stat_of 's["throttle"]["dirtied"]')" -le 262144 ] &&
		[ "$(stat_of 'v["dirty_bytes"] + v["unstable_bytes"]')" = 0 ] &&
		nothing_stays
}

written_whole() {
	cmp <(pattern 3000000 "$1") "$ganesha_export/posted"
}

application_dies() {
	client dying
	tell dying open "$(url posted)" wct > "$tmp/heard" &&
		tell dying pwrite 0 3000000 "$1" > "$tmp/heard"
	posted=$?
	kill -KILL "$pid_dying"
	wait "$pid_dying" 2> /dev/null
	exec {in_dying}>&- {out_dying}<&-
	rm "$tmp/dying.in" "$tmp/dying.out"
}

# In the middle of whatever it does.
put_dies() {
	nfswb_exec put -r "$tmp/tree" "$(url tree)" 2> /dev/null 9<&- &
	put_pid=$!
	a_moment 200
	kill -KILL $put_pid
	wait $put_pid 2> /dev/null
}

storm_dies() {
	(
		export LD_LIBRARY_PATH=$tmp/programs
		exec "$tmp/programs/storm" "$(url storm)" "$tmp/expected" 1 \
			4 wwwwtrsc > "$tmp/storm.out" 2> /dev/null
	) &
	storm_pid=$!
	exec 9< "$tmp/storm.out"
	steps $((RANDOM % 100))
	kill -KILL $storm_pid
	exec 9<&-
	wait $storm_pid 2> /dev/null
}

# Whoever dies here has a ledger of what returned and what was under way; where
# the library was built so it dies between two stores.
lost=0
ledger_dies() {
	local name=ledger$1 kinds=(wwwws aaaaas wwwt wwwwwwww)
	app_crash_at=
	if [ -n "$app_crash" ] && [ $(($1 % 3)) != 0 ]; then
		some_place
		app_crash_at=$place
	fi
	ledger_start "$name" $RANDOM $((1 + RANDOM % 3)) \
		"${kinds[RANDOM % 4]}"
	if [ -n "$app_crash_at" ]; then
		await 2 ledger_over
	else
		a_moment 200
	fi
	kill -KILL "$app_pid" 2> /dev/null
	wait "$app_pid" 2> /dev/null
	nfswb sync --timeout 60 || lost=$((lost + 1))
	: >> "$ganesha_export/$name"	# it may have died before it made it
	if ! ledger_agrees "$name" > "$tmp/heard"; then
		lost=$((lost + 1))
		echo "# $name, place ${app_crash_at:-none}"
		diag < "$tmp/heard"
	fi
	rm "$ganesha_export/$name" "$tmp/$name.ledger" "$tmp/$name.err"
}

ledger_over() {
	! process_runs "$app_pid"
}

application_dies 0
await 10 written_whole 0
fds_before=$(fds)
memory_before=$(memory)
app_deaths=0
for ((n = 1; n <= rounds * 3; n++)); do
	put_dies
	storm_dies
	ledger_dies $n
	application_dies $n
	app_deaths=$((app_deaths + 4))
	[ $posted = 0 ] || cat "$tmp/heard"
	await 20 written_whole $n || break
done
check_is "what dead applications had posted is written ($app_deaths deaths)" \
	$n -gt $((rounds * 3))
check_is "all that was accepted of them, and nothing that was not" $lost -eq 0
check "of applications that died no session, data, memory or descriptor stays" \
	await 20 nothing_left
diag <<< "$(left_behind)"
if sanitized; then
	skip "and no memory of its own" "sanitizers keep what was freed"
else
	check_is "and no memory of its own" "$(memory)" -le \
		$((memory_before + 4096))
fi

# While no daemon runs there is nobody else to save it: the application must.
client idle
check "a program writes" tell idle open "$(url idle)" wc
check "and is idle" tell idle pwrite 0 1000000 3
nfswbd_kill
nfswbd_start
idle_resumed() {
	grep -q "pid $pid_idle .*resumed" "$tmp/nfswbd.err"
}
check "the next daemon takes over what it holds" await 10 idle_resumed
kill -KILL "$pid_idle"
idle_whole() {
	cmp <(pattern 1000000 3) "$ganesha_export/idle"
}
check "and writes it, though the program is gone" await 20 idle_whole
check_is "nothing was given up" "$(stat_of 'len(s["given_up"])')" -eq 0
check "in the end no session, memory or file of the daemon's stays" \
	await 20 nothing_stays
check_is "the daemon died $daemon_deaths times, and with the server" \
	$daemon_deaths -ge $((rounds * 10))
check "nobody who died was taken for one that breaks a rule" honest
check "no sanitizer had to speak" \
	sh -c '! grep -E "runtime error|Sanitizer" "$0"' "$tmp/nfswbd.err"
done_testing
