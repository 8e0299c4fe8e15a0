# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# machine.sh - a machine within this one, where systemd is PID 1 and nfswb is
# installed; for tests on lib.sh
#
#	machine_boot		it runs; or all is skipped, with the reason
#	machine_run COMMAND...	in it, as root
#	machine_stop		all of it is gone: processes, mounts, cgroup
#
# It has this machine's files, and changes none (boot.sh).  $tmp, source and
# build folder are the same in it.  Processes of the machine are seen from
# here; it ends with the test, however that ends.

machine_pid=
machine_holder=

machine_missing() {
	[ "$(id -u)" = 0 ] || { echo "only root can boot a systemd"; return; }
	[ -x /lib/systemd/systemd ] || { echo "systemd is not installed"; return; }
	grep -qw overlay /proc/filesystems ||
		modprobe overlay 2> /dev/null ||
		{ echo "no overlay filesystem here"; return; }
	unshare --cgroup --pid --fork --mount --uts --ipc --net true \
		2> /dev/null || echo "namespaces are not permitted here"
}

machine_install() {
	local unit
	env -u MAKEFLAGS -u MAKELEVEL make -s -C "$top_builddir" install \
		DESTDIR="$tmp/installed" > "$tmp/install.err" 2>&1 ||
		bail "make install fails"
	unit=$(cd "$tmp/installed" && find . -name nfswbd.socket)
	case $unit in
	./lib/systemd/system/* | ./usr/lib/systemd/system/* | \
	    ./usr/local/lib/systemd/system/*) ;;
	*) skip_all "systemd looks for no units in ${unit%/*}" ;;
	esac
	rm "$tmp/install.err"
}

machine_is_up() {
	process_runs "$machine_holder" || return 0
	[ -s "$tmp/machine.pid" ] || return 1
	read -r machine_pid < "$tmp/machine.pid"
	machine_run systemctl is-active --quiet nfswb-test.target
}

machine_boot() {
	local missing
	missing=$(machine_missing)
	[ -z "$missing" ] || skip_all "$missing"
	machine_install
	# Not of our process group: what kills all of that is not to kill it too.
	PATH=$PATH:/usr/sbin:/sbin setsid \
		setpriv --pdeathsig TERM unshare --mount \
		"$top_srcdir/tests/integration/boot.sh" hold "$tmp" \
		"$tmp/installed" "$top_srcdir" "$top_builddir" "$tmp" \
		> "$tmp/boot.err" 2>&1 < /dev/null 9>&- &
	machine_holder=$!
	if ! await 15 machine_is_up || [ -z "$machine_pid" ] ||
	    ! process_runs "$machine_holder"; then
		diag < "$tmp/boot.err"
		skip_all "systemd can't be booted here"
	fi
}

machine_run() {
	nsenter --all --target "$machine_pid" "$@"
}

machine_stop() {
	[ -n "$machine_holder" ] || return 0
	kill -TERM "$machine_holder" 2> /dev/null
	wait "$machine_holder" 2> /dev/null
	machine_holder=
}
