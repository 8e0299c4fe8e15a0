# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# lib.sh - what every integration test starts with
#
#	. "$top_srcdir/tests/integration/lib.sh"
#	need_ganesha
#	server_start; nfswbd_start
#	check "a sentence that is true" command...
#	done_testing
#
# A test has a folder of its own ($tmp) and in it its own nfs-ganesha and its
# own nfswbd.  When it ends, however it ends, they end too; where a check
# failed the last lines of their logs are shown.  A test that can't run here
# says why and counts as skipped.  Nothing waits for a time: what has to
# happen is awaited, with a bound.

set -u
# Five minutes at most; on a terminal ^C does it.
if [ -z "${NFSWB_TEST_BOUND:-}" ] && [ ! -t 1 ]; then
	NFSWB_TEST_BOUND=1 exec timeout -k 20 300 "$0" "$@"
fi
top_srcdir=$(cd "${top_srcdir:-.}" && pwd)
top_builddir=$(cd "${top_builddir:-.}" && pwd)
# shellcheck source=tests/ganesha.sh
. "$top_srcdir/tests/ganesha.sh"

tests_run=0 tests_failed=0
nfswbd_pid=
children=

# tap

diag() {
	sed 's/^/# /'
}

ok() {
	tests_run=$((tests_run + 1))
	echo "ok $tests_run - $1"
}

not_ok() {
	tests_run=$((tests_run + 1))
	tests_failed=$((tests_failed + 1))
	echo "not ok $tests_run - $1"
}

# check SENTENCE COMMAND...: the sentence is true where the command succeeds.
check() {
	local sentence=$1 output
	shift
	if output=$("$@" 2>&1); then
		ok "$sentence"
	else
		not_ok "$sentence"
		printf '%s\n' "failed: $*" "$output" | diag
	fi
}

# check_is SENTENCE ACTUAL OPERATOR EXPECTED: as test(1).
check_is() {
	if test "$2" "$3" "$4" 2>/dev/null; then
		ok "$1"
	else
		not_ok "$1"
		echo "# got: $2 (wanted: $3 $4)"
	fi
}

# refused SENTENCE EXIT_CODE REGEX COMMAND...: it ends so, and says why in one
# line.
refused() {
	local sentence=$1 code=$2 regex=$3 got
	shift 3
	"$@" > "$tmp/refused.out" 2> "$tmp/refused.msg" < /dev/null
	got=$?
	if [ $got = "$code" ] && [ "$(wc -l < "$tmp/refused.msg")" = 1 ] &&
	    grep -Eq -- "$regex" "$tmp/refused.msg"; then
		ok "$sentence"
		diag < "$tmp/refused.msg"
	else
		not_ok "$sentence"
		echo "# exit code $got (wanted: $code), wanted: $regex; said:"
		diag < "$tmp/refused.msg"
	fi
}

skip() {
	tests_run=$((tests_run + 1))
	echo "ok $tests_run - $1 # SKIP $2"
}

skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}

bail() {
	echo "Bail out! $1"
	tests_failed=$((tests_failed + 1))
	exit 1
}

done_testing() {
	echo "1..$tests_run"
	[ "$tests_failed" = 0 ]
	exit
}

# folder, end

make_tmp() {
	tmp=$(mktemp -d "${TMPDIR:-/tmp}/nfswb-test.XXXXXX") ||
		bail "no temporary folder"
	chmod 755 "$tmp"
	# libnfs 4.0 forgets a connection that is given up before it stands
	echo leak:rpc_connect_port_async > "$tmp/leaks"
	export LSAN_OPTIONS=suppressions=$tmp/leaks:print_suppressions=0
	trap cleanup EXIT
	trap 'exit 1' HUP INT TERM
	trap : PIPE	# a client that is gone is a failure, not our end
	copy_programs
}

# Where every user may run them, wherever the build folder is.
copy_programs() {
	mkdir "$tmp/programs"
	cp -L "$top_builddir/.libs/nfswb" "$top_builddir/.libs/libnfswb.so.0" \
		"$top_builddir/tests/integration/.libs/do" \
		"$top_builddir/tests/integration/.libs/ledger" \
		"$top_builddir/tests/integration/.libs/storm" "$tmp/programs" ||
		bail "build first: make all check TESTS="
	chmod -R a+rX "$tmp/programs"
}

show_log() {
	[ -s "$1" ] || return 0
	echo "# last lines of ${1##*/}:"
	tail -n 15 "$1" | diag
}

# For a test that has more to put away.
at_cleanup() {
	:
}

cleanup() {
	local pid log
	trap - EXIT
	trap '' HUP INT TERM	# timeout sends two
	if [ "$tests_failed" != 0 ]; then
		for log in "$tmp"/*.err; do
			show_log "$log"
		done
		grep -E ':(CRIT|FATAL|MAJ|WARN) :' "$tmp/ganesha.log" |
			grep -Evi 'dbus|realm|gssd' | tail -n 5 | diag
	fi
	for pid in $children $nfswbd_pid $ganesha_pid; do
		process_kill "$pid" KILL 5
	done
	at_cleanup
	if [ -n "${KEEP:-}" ]; then
		echo "# kept: $tmp"
	else
		rm -rf "$tmp"
	fi
}

# await SECONDS COMMAND...: until it succeeds.
await() {
	local tries=$(($1 * 50))
	shift
	until "$@" > /dev/null 2>&1; do
		[ $((tries -= 1)) -gt 0 ] || return 1
		sleep 0.02
	done
}

# SIGSTOP has reached all threads of PID: the signal is not waited for by kill.
is_stopped() {
	! grep -hL '^State:.T' "/proc/$1"/task/*/status | grep -q .
}

# a_moment MSEC: so much time at most, by the dice.  For the moment at which
# something dies; nothing waits so for anything.  Nothing is ever read here.
a_moment() {
	if [ -z "${never:-}" ]; then
		mkfifo "$tmp/never"
		exec {never}<> "$tmp/never"
	fi
	read -r -t "$(printf '0.%03d' $((RANDOM % $1 + 1)))" -u "$never"
}

# the server

need_ganesha() {
	local missing
	missing=$(ganesha_missing)
	[ -z "$missing" ] || skip_all "$missing"
}

need() {
	local program
	for program; do
		PATH=$PATH:/usr/sbin:/sbin command -v "$program" > /dev/null ||
			skip_all "$program is not installed"
	done
}

server_start() {
	ganesha_stub=${ganesha_stub-$top_builddir/tests/.libs/rpcb_stub.so}
	ganesha_prepare "$tmp"
	ganesha_start "$@"
	case $? in
	0) ;;
	2) skip_all "$tmp is on a filesystem that can't be exported" ;;
	*) bail "nfs-ganesha does not start here" ;;
	esac
}

url() {
	local host=$ganesha_address
	case $host in *:*) host="[$host]" ;; esac
	echo "nfs://$host$ganesha_export/$1?$ganesha_ports"
}

# the daemon and its command

nfswb() {
	LD_LIBRARY_PATH=$tmp/programs "$tmp/programs/nfswb" "$@"
}

# For "nfswb_exec ... &": $! is then the program itself.
nfswb_exec() {
	export LD_LIBRARY_PATH=$tmp/programs
	exec setpriv --pdeathsig KILL "$tmp/programs/nfswb" "$@"
}

# nfswbd_config LINE...: [nfswbd] of the next start.  NFSWBD_KEYS in the environment
# adds a line to each.
nfswbd_config() {
	printf '%s\n' '[nfswbd]' 'allow_urls = yes' ${NFSWBD_KEYS:+"$NFSWBD_KEYS"} \
		"$@" > "$tmp/nfswb.conf"
}

# Descriptor 9 is the test's own: a pipe that ends when the test closes it.
# crash_at: it kills itself at that place (common/crash.h).
nfswbd_launch() {
	[ -e "$tmp/nfswb.conf" ] || nfswbd_config
	export NFSWB_SOCKET=$tmp/nfswbd.sock
	setpriv --pdeathsig KILL env ${crash_at:+NFSWB_CRASH_AT="$crash_at"} \
		"${NFSWBD:-$top_builddir/nfswbd}" \
		-c "$tmp/nfswb.conf" -s "$NFSWB_SOCKET" \
		2>> "$tmp/nfswbd.err" < /dev/null 9>&- &
	nfswbd_pid=$!
}

nfswbd_answers() {
	process_runs "$nfswbd_pid" || return 0
	nfswb stat --json
}

nfswbd_start() {
	nfswbd_launch
	await 10 nfswbd_answers || bail "nfswbd does not answer"
	process_runs "$nfswbd_pid" || bail "nfswbd ended"
}

nfswbd_kill() {
	process_kill "$nfswbd_pid" KILL 5
	nfswbd_pid=
}

# Was this program, or library, built with places to die at?
has_crash_points() {
	grep -q NFSWB_CRASH_AT "$1"
}

# One of them by the dice, rather a near one, in $place.
some_place() {
	place=$((1 + RANDOM % (1 << (1 + RANDOM % 12))))
}

sanitized() {
	grep -q __asan_init "${NFSWBD:-$top_builddir/nfswbd}"
}

# What the daemon should have let go when no session is left: memory that it
# maps, what stands in its table, files beside the table.
left_behind() {
	grep -o 'memfd:nfswb-[a-z]*' "/proc/$nfswbd_pid/maps"
	python3 - "$tmp/sessions" <<-'EOF'
	import json, sys
	live = {}
	for line in open(sys.argv[1]):
	    d = json.loads(line)
	    for born, gone in (("session", "ended"), ("file", "closed"),
	                       ("hidden", "unhidden")):
	        if born in d:
	            live[born, d[born], d.get("of")] = d.get("of", d[born])
	        elif gone in d:
	            live.pop((born, d[gone], d.get("of")), None)
	            if gone == "ended":
	                live = {k: v for k, v in live.items()
	                        if k[0] == "hidden" or v != d[gone]}
	for k in live:
	    print(*k)
	EOF
	find "$tmp" -maxdepth 1 -name 'sessions?*'
}

# No session was closed for what it did.
honest() {
	! grep 'session .* closed: ' "$tmp/nfswbd.err"
}

nothing_stays() {
	[ "$(left_behind)" = "" ]
}

# stat_of EXPRESSION: of the statistics (s) and the first server in it (v).
stat_of() {
	nfswb stat --json | python3 -c '
import json, sys
s = json.load(sys.stdin)
v = s["servers"][0] if s["servers"] else {}
print(eval(sys.argv[1]))' "$1"
}

# await_sent BYTES: until so many bytes of WRITEs have left for the server, a
# minute at most.  Start it first, then what it watches: it is quick then.
await_sent() {
	LD_LIBRARY_PATH=$tmp/programs \
		python3 - "$1" "$tmp/programs/nfswb" <<-'EOF'
	import json, subprocess, sys, time
	want, nfswb = int(sys.argv[1]), sys.argv[2]
	end = time.monotonic() + 60
	while time.monotonic() < end:
	    out = subprocess.run([nfswb, "stat", "--json"],
	                         stdout=subprocess.PIPE).stdout
	    servers = json.loads(out or b"{}").get("servers") or [{}]
	    sent = servers[0].get("ops", {}).get("WRITE", {}).get("bytes_sent", 0)
	    if sent >= want:
	        sys.exit(0)
	    time.sleep(0.002)
	sys.exit("not within a minute")
	EOF
}

pattern() {
	"$top_builddir/tests/pattern" "$@"
}

# The program do.c.  client NAME [OPTION OF setpriv...] starts one, ask NAME
# COMMAND... gives it a line, hear NAME prints the answer, tell does both.

do_program() {
	export LD_LIBRARY_PATH=$tmp/programs
	exec "$@" "$tmp/programs/do"
}

client() {
	local name=$1
	shift
	mkfifo "$tmp/$name.in" "$tmp/$name.out"
	do_program setpriv --pdeathsig KILL "$@" \
		< "$tmp/$name.in" > "$tmp/$name.out" &
	children="$children $!"
	exec {fd_in}> "$tmp/$name.in" {fd_out}< "$tmp/$name.out"
	eval "in_$name=$fd_in out_$name=$fd_out pid_$name=$!"
}

ask() {
	local to="in_$1"
	shift
	echo "$*" >&"${!to}"
}

hear() {
	local answer='' from="out_$1"
	read -r -t 120 answer <&"${!from}" || answer="no answer"
	echo "$answer"
	[ "${answer%% *}" = ok ]
}

tell() {
	ask "$@" && hear "$1"
}

# The program ledger.c: ledger_start NAME ARGUMENT OF ledger write...
# Its pid is in $app_pid, its ledger is $tmp/NAME.ledger; it has opened its files
# when this returns.  app_crash_at: it kills itself at that place; app_as: options
# of setpriv that it runs with.
ledger_start() {
	local name=$1 said
	shift
	mkfifo "$tmp/$name.said"
	(
		export LD_LIBRARY_PATH=$tmp/programs
		# shellcheck disable=SC2086
		exec setpriv --pdeathsig KILL ${app_as:-} \
			env ${app_crash_at:+NFSWB_CRASH_AT="$app_crash_at"} \
			"$tmp/programs/ledger" write \
			"$(url "$name")" "$tmp/$name.ledger" "$@" \
			> "$tmp/$name.said" 2> "$tmp/$name.err"
	) &
	app_pid=$!
	children="$children $app_pid"
	read -r -t 30 said < "$tmp/$name.said"
	rm "$tmp/$name.said"
	[ "$said" = open ]
}

ledger_agrees() {
	LD_LIBRARY_PATH=$tmp/programs "$tmp/programs/ledger" check \
		"$ganesha_export/$1" "$tmp/$1.ledger"
}

# put_with_kill NAME EPOCH: $tmp/source, of $bytes; the server dies after a fifth
# of it has left.
put_with_kill() {
	local sent watcher put_pid
	sent=$(stat_of 'v["ops"]["WRITE"]["bytes_sent"] if v else 0')
	await_sent $((sent + bytes / 5)) &
	watcher=$!
	nfswb_exec put "$tmp/source" "$(url "$1")" 2> "$tmp/put.err" &
	put_pid=$!
	children="$children $put_pid $watcher"
	wait $watcher
	check_is "a fifth has left for the server" $? -eq 0
	ganesha_kill
	check "the server is killed while put runs" process_runs $put_pid
	ganesha_start "$2" || bail "nfs-ganesha does not come back"
	wait $put_pid
	check_is "put ends with exit code 0" $? -eq 0
	diag < "$tmp/put.err"
	check "the file is identical" cmp "$tmp/source" "$ganesha_export/$1"
}

# Writers of all kinds, each a ledger, until writers_end; their pids are in
# ${writers[@]}.
writer_names=(over append fsync shared) writer_kinds=(w a ws wwts)
writers=()
writers_start() {
	local n sessions=(1 1 1 3)
	for n in "${!writer_names[@]}"; do
		ledger_start "${writer_names[n]}" $RANDOM "${sessions[n]}" \
			"${writer_kinds[n]}" || bail "no application"
		writers+=("$app_pid")
	done
}

writers_run() {
	local p
	for p in "${writers[@]}"; do
		process_runs "$p" || return 1
	done
}

# They are killed, and what they were told is so.
writers_end() {
	local p n
	for p in "${writers[@]}"; do
		process_kill "$p" KILL 5
	done
	check "all that was accepted is written" nfswb sync --timeout 60
	for n in "${!writer_names[@]}"; do
		check "nothing is lost by writers '${writer_kinds[n]}'" \
			ledger_agrees "${writer_names[n]}"
		echo "# $(ledger_agrees "${writer_names[n]}" | cut -d';' -f1)"
		diag < "$tmp/${writer_names[n]}.err"
	done
	check_is "nothing was given up" \
		"$(stat_of 'len(s["given_up"])')" -eq 0
}

hang_up() {
	local pid="pid_$1"
	ask "$1" quit
	wait "${!pid}"
}

# Killed, if it still runs, and nothing of it stays.
client_kill() {
	local pid="pid_$1" in="in_$1" out="out_$1"
	kill -KILL "${!pid}"
	wait "${!pid}"
	eval "exec ${!in}>&- ${!out}<&-"
	rm "$tmp/$1.in" "$tmp/$1.out"
} 2> /dev/null

make_tmp
