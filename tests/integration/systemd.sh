#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# systemd.sh - the units as make install lays them down, under systemd itself:
# activation, sandbox, deaths, upgrade, watchdog, stops, the user unit
#
# It boots a systemd of its own (machine.sh) and runs in there.
# ROUNDS: how often daemon and application both die (3).  SEED: of all that is
# random.
# shellcheck source=tests/integration/lib.sh
. "${top_srcdir:-.}/tests/integration/lib.sh" || exit 99
if [ -z "${NFSWB_TEST_MACHINE:-}" ]; then
	# shellcheck source=tests/integration/machine.sh
	. "$top_srcdir/tests/integration/machine.sh"
	need_ganesha
	need unshare nsenter ip rpcbind python3
	at_cleanup() {
		machine_stop
	}
	machine_boot
	machine_run env top_srcdir="$top_srcdir" top_builddir="$top_builddir" \
		PATH="$PATH:/usr/sbin:/sbin" TMPDIR="$tmp" \
		NFSWB_TEST_MACHINE=1 NFSWB_TEST_BOUND=1 \
		"$top_srcdir/tests/integration/systemd.sh" < /dev/null &
	children=$!
	wait "$children"
	exit
fi
# shellcheck source=tests/integration/managed.sh
. "$top_srcdir/tests/integration/managed.sh"
rounds=${ROUNDS:-3}
RANDOM=${SEED:=$RANDOM}
version=$(systemctl --version | sed -n '1s/^systemd \([0-9]*\).*/\1/p')
echo "# SEED=$SEED ROUNDS=$rounds systemd $version"
chmod 1777 "$tmp"
unset NFSWB_SOCKET XDG_RUNTIME_DIR
journalctl -q -f -u nfswbd -o cat > "$tmp/journal.err" &
children="$children $!"

user=4201
as_user() {
	LD_LIBRARY_PATH=$tmp/programs setpriv --reuid $user --regid $user \
		--clear-groups "$@"
}
# ledger_start's applications are that user's.
app_as="--reuid $user --regid $user --clear-groups"

# of UNIT PROPERTY: as the manager sees it.
of() {
	systemctl show -P "$2" "$1"
}

main_pid() {
	of nfswbd MainPID
}

instance() {
	stat_of 's["instance"]'
}

is() {
	[ "$(of nfswbd ActiveState)" = "$1" ]
}

# is_another PID [COMMAND for systemctl]: a process other than that one is ready.
# It is asked once: between two questions it could end.
is_another() {
	local old=$1 state
	state=$("${2:-systemctl}" show -p ActiveState -p MainPID nfswbd)
	grep -qx 'ActiveState=active' <<< "$state" &&
		! grep -Eqx "MainPID=(0|$old)" <<< "$state"
}

# As many descriptors in the fd store.
keeps() {
	[ "$(of nfswbd NFileDescriptorStore)" "$1" "$2" ]
}

# log_has REGEX: what nfswbd and its manager said since log_mark.  log_says waits
# for it: the journal is not in a hurry.
log_mark() {
	log_since=$(journalctl -q -n 1 -o export | sed -n 's/^__CURSOR=//p')
}
log_has() {
	journalctl -q -u nfswbd -o cat --after-cursor="$log_since" |
		grep -E -- "$1"
}
log_says() {
	await 5 log_has "$1" || { echo "it says:"; log_has .; false; }
}

drop_in() {
	mkdir -p /etc/systemd/system/nfswbd.service.d
	printf '%s\n' '[Service]' "$@" \
		> /etc/systemd/system/nfswbd.service.d/test.conf
	systemctl daemon-reload
}

# The configuration is where the installed program looks for it.
program=$(systemctl cat nfswbd.service | sed -n 's/^ExecStart=//p')
conf=$("$program" --help | sed -n 's/.*instead of //p')
mkdir -p "${conf%/*}"
configure() {
	nfswbd_config 'dirty_bytes = 64M' 'dirty_background_bytes = 4M' \
		'late_duplicate_sec = 1' 'grace_sec = 5' "$@"
	install -m 644 "$tmp/nfswb.conf" "$conf"
}
configure

# as a package's scripts do it

check "sysusers makes the account" systemd-sysusers nfswbd.conf
check "tmpfiles makes the folder" systemd-tmpfiles --create nfswbd.conf
check_is "the folder is the account's, and others come in" \
	"$(stat -c '%U:%G %a' /run/nfswbd)" = 'nfswbd:nfswbd 755'
check "service and socket are enabled" systemctl -q enable nfswbd.service
check "the socket too" systemctl -q is-enabled nfswbd.socket
check "the socket is started" systemctl start nfswbd.socket
check "and the service is not" is inactive

# A server, with the portmapper.
mkdir -p /run/rpcbind
setpriv --pdeathsig KILL rpcbind -f 2> "$tmp/rpcbind.err" &
children="$children $!"
await 10 test -S /run/rpcbind.sock || bail "rpcbind does not start"
# shellcheck disable=SC2034
ganesha_stub=''
mkdir -m 1777 "$tmp/privileged"
ganesha_export=$tmp/export
ganesha_more="EXPORT { Export_Id = 2; Path = \"$tmp/privileged\";
	Pseudo = \"/p\"; PrivilegedPort = true; FSAL { Name = VFS; } }"
server_start

# activation

pattern 3000000 1 > "$tmp/file"
check "a user's put starts it" as_user "$tmp/programs/nfswb" put "$tmp/file" \
	"$(url activated)"
check_is "it arrives, as that user's" \
	"$(stat -c %u "$ganesha_export/activated")" = $user
check "byte for byte" cmp "$tmp/file" "$ganesha_export/activated"
check "the service is active" is active
check_is "it told that it is ready (Type=$(of nfswbd Type))" \
	"$(of nfswbd Type | cut -d- -f1)" = notify
check "its socket is the manager's" grep -qz '^LISTEN_FDS=1' \
	"/proc/$(main_pid)/environ"

# the sandbox

main=$(main_pid)
of_main() {
	sed -n "s/^$1:[[:space:]]*//p" "/proc/$main/status"
}
check_is "it is the account's process" "$(of_main Uid | cut -f1)" = \
	"$(id -u nfswbd)"
check_is "one capability: for ports below 1024" "$(of_main CapEff)" = \
	0000000000000400
check_is "and no other can come" "$(of_main CapBnd)" = 0000000000000400
check_is "nor new privileges" "$(of_main NoNewPrivs)" = 1
check_is "system calls are filtered" "$(of_main Seccomp)" = 2
# inside COMMAND...: where the daemon's mounts are, as that account.
inside() {
	nsenter --mount --target "$main" setpriv --reuid nfswbd \
		--regid nfswbd --clear-groups "$@"
}
# Last mount of a folder.
mounted() {
	awk -v on="$1" '$2 == on { o = $4 } END { print o }' "/proc/$main/mounts"
}
check_is "all is for reading only" "$(mounted / | cut -d, -f1)" = ro
check_is "but its folder" "$(mounted /run/nfswbd | cut -d, -f1)" = rw
check_is "/tmp is its own" "$(inside ls -A /tmp | wc -l)" -eq 0
check_is "/dev too" "$(inside ls /dev | grep -c -x -e kmsg -e 'vd.*' -e 'sd.*')" \
	-eq 0
check "clients' names are seen" inside cat "/proc/$$/comm"
echo "# open files: $(awk '/open files/ { print $4, "of", $5 }' \
	"/proc/$main/limits"), wanted 65536;" \
	"oom_score_adj: $(cat "/proc/$main/oom_score_adj"), wanted -900"
# The same settings around a program that tries what they forbid.
install -m 644 "$top_srcdir/tests/integration/probe.py" /usr/local/lib
sed -e 's|^ExecStart=.*|ExecStart=/usr/bin/python3 /usr/local/lib/probe.py|' \
	-e 's/^Type=.*/Type=oneshot/; /^Requires=/d; /^After=nfswbd/d' \
	-e '/^Restart/d; /^ExecReload/d; /^Watchdog/d; /^FileDescriptor/d' \
	"$(of nfswbd FragmentPath)" > /etc/systemd/system/probe.service
systemctl daemon-reload
probe_ended() {
	journalctl -q -u probe -o cat _TRANSPORT=stdout > "$tmp/probe"
	grep -qx end "$tmp/probe"
}
check "its settings hold a program" systemctl start probe
check "that tries what they forbid" await 5 probe_ended
while read -r how what; do
	case $how in
	ok) ok "refused: $what" ;;
	no) not_ok "refused: $what" ;;
	esac
done < "$tmp/probe"

check "read: the file is got" as_user "$tmp/programs/nfswb" get \
	"$(url activated)" "$tmp/got"
check "it is the same" cmp "$tmp/file" "$tmp/got"
check "without ports the portmapper is asked" as_user "$tmp/programs/nfswb" \
	put "$tmp/file" "nfs://127.0.0.1$ganesha_export/mapped"
check "it arrives" cmp "$tmp/file" "$ganesha_export/mapped"
check "a name is resolved" as_user "$tmp/programs/nfswb" put "$tmp/file" \
	"nfs://localhost$ganesha_export/named?$ganesha_ports"
check "a server that wants a port below 1024 is served" \
	as_user "$tmp/programs/nfswb" put "$tmp/file" \
	"nfs://127.0.0.1$tmp/privileged/x?$ganesha_ports"
check "that arrives" cmp "$tmp/file" "$tmp/privileged/x"

# under load

writers_start
no_call_failed() {
	check "$1: no call fails" writers_run
}

a_moment 300
check "sessions' memory is in the fd store" keeps -ge 2
main=$(main_pid)
log_mark
check "it is killed" systemctl kill -s KILL nfswbd
check "it is started again" await 10 is_another "$main"
a_moment 300
no_call_failed "killed"

# What a package does: another file in its place, and reload.
cp "$program" "$program.new" && mv "$program.new" "$program"
main=$(main_pid) before=$(instance)
reloaded() {
	is active && [ "$(instance)" != "$before" ]
}
check "reload is taken" systemctl reload nfswbd
check "another instance is there" await 10 reloaded
check_is "in the same process" "$(main_pid)" = "$main"
check "it is the new program" test "/proc/$main/exe" -ef "$program"
a_moment 300
no_call_failed "executed anew"

log_mark
folder=$(stat -c %i /run/nfswbd)
check "restart succeeds" systemctl restart nfswbd
check "by draining" log_says 'stopped; everything is on stable storage'
check "another process is there" is_another "$main"
check_is "the folder is the one it was" "$(stat -c %i /run/nfswbd)" = "$folder"
a_moment 300
no_call_failed "restarted"

drop_in WatchdogSec=1
check "a restart with another watchdog" systemctl restart nfswbd
log_mark
main=$(main_pid)
a_moment 300
kill -STOP "$main"
check "one that stands still is replaced" await 15 is_another "$main"
check "by the watchdog" log_says 'Watchdog timeout'
a_moment 300
no_call_failed "stood still"

log_mark
main=$(main_pid)
check "stop succeeds" systemctl stop nfswbd
check "by draining" log_says 'stopped; everything is on stable storage'
check "a client that waits has the socket start it again" \
	await 10 is_another "$main"
a_moment 300
no_call_failed "stopped"

writers_end
check "the fd store is empty" await 20 keeps -eq 0

# both die

# both_die ROUND COMMAND...: what kills nfswbd.
both_die() {
	local name=round$1
	shift
	ledger_start "$name" $RANDOM 2 wwwws || bail "no application"
	a_moment 300
	kill -STOP "$app_pid"	# or it resumes before it dies
	"$@"
	kill -KILL "$app_pid"
	wait "$app_pid" 2> "$tmp/heard"
}

log_mark
lost=0 failed=0
for ((n = 1; n <= rounds; n++)); do
	main=$(main_pid)
	both_die $n systemctl kill -s KILL nfswbd
	await 10 is_another "$main" || failed=$((failed + 1))
	nfswb sync --timeout 60 || failed=$((failed + 1))
	ledger_agrees round$n > "$tmp/heard" || lost=$((lost + 1))
done
check_is "daemon and application die: it is started again and syncs" $failed \
	-eq 0
check_is "nothing is lost" $lost -eq 0
check "it finished what the dead left" \
	log_says 'its memory was kept; nfswbd finishes its work'
check "the fd store is empty" await 20 keeps -eq 0

# Stops that can't drain: they end with exit code 3 and name the file.  nfswbd
# asks its manager for the time that it needs.

configure 'stop_timeout_sec = 2'
drop_in TimeoutStopSec=1
systemctl restart nfswbd

# leave NAME [dead]: so much is in nfswbd's memory, and the server stands still.
leave() {
	local name=$1 pid=pid_$1
	# shellcheck disable=SC2086
	client "$name" $app_as
	tell "$name" open "$(url "$name")" wc > "$tmp/heard"
	kill -STOP "$ganesha_pid"
	await 5 is_stopped "$ganesha_pid"
	tell "$name" pwrite 0 200000 5 > "$tmp/heard"
	log_mark
	[ "${2:-}" = dead ] || return 0
	kill -KILL "${!pid}"
	wait "${!pid}" 2> "$tmp/heard"
}
was_left() {
	check "$1: it ends with exit code 3, when its time is over" \
		log_says 'status=3'
	check "$1: what was left is named" log_says \
		"/$2.*200000 bytes at 0 are not on stable storage"
}

leave restarted dead
systemctl restart nfswbd
was_left "restart" restarted
check "the manager keeps it for the next" keeps -ge 2
kill -CONT "$ganesha_pid"
check "which finishes it" nfswb sync --timeout 60
check "to the last byte" \
	cmp <(pattern 200000 5) "$ganesha_export/restarted"

leave stopped
systemctl stop nfswbd 2> "$tmp/heard"	# it warns of the socket
was_left "stop" stopped
kill -CONT "$ganesha_pid"
check "a client that lives hands it over" tell stopped fsync
check "to the last byte" cmp <(pattern 200000 5) "$ganesha_export/stopped"
hang_up stopped

leave lost dead
systemctl stop nfswbd.socket
was_left "stop of the socket" lost
check "nothing starts it again" is failed
if [ "$version" -lt 254 ]; then
	check "systemd $version keeps nothing over a stop" keeps -eq 0
else
	check "systemd $version keeps it over a stop" keeps -ge 2
fi
kill -CONT "$ganesha_pid"
check_is "the folder is the one it was" "$(stat -c %i /run/nfswbd)" = "$folder"
check "and others come in" as_user test -S /run/nfswbd/nfswbd.sock

# a daemon of one's own

echo "u nfswb-tester $user - /home/nfswb-tester" > "$tmp/tester.conf"
systemd-sysusers "$tmp/tester.conf" 2> "$tmp/heard"
install -d -o $user -g $user /home/nfswb-tester
cat > /etc/systemd/system/own.service <<END
[Service]
Type=notify
User=$user
Group=$user
Delegate=yes
RuntimeDirectory=own
Environment=XDG_RUNTIME_DIR=/run/own HOME=/home/nfswb-tester
ExecStart=/lib/systemd/systemd --user
END
systemctl daemon-reload
check "a user's manager runs" systemctl start own
export XDG_RUNTIME_DIR=/run/own HOME=/home/nfswb-tester
unset NFSWB_SOCKET
own() {
	as_user systemctl --user -q "$@"
}
own_nfswb() {
	as_user "$tmp/programs/nfswb" "$@"
}
check "the user's unit is enabled and started" own enable --now nfswbd
main=$(own show -P MainPID nfswbd)
check_is "as the user" "$(stat -c %u "/proc/$main")" = $user
check_is "its system calls are filtered" "$(of_main Seccomp)" = 2
check "it takes a file" own_nfswb put "$tmp/file" "$(url own)"
check "that arrives" cmp "$tmp/file" "$ganesha_export/own"
both_die own own kill -s KILL nfswbd
check "killed with its application it is started again" \
	await 10 is_another "$main" own
check "finishes the work" own_nfswb sync --timeout 60
check "and nothing is lost" ledger_agrees roundown
check "it stops" own stop nfswbd
check_is "well" "$(own show -P Result nfswbd)" = success
done_testing
