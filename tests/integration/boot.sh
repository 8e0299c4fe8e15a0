#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# boot.sh - becomes systemd, PID 1 of a machine within this one
#
#	boot.sh hold FOLDER INSTALLED SHOWN...	in a mount namespace of its own
#	boot.sh root FOLDER INSTALLED SHOWN...	in the new ones: what hold starts
#
# Its root is this machine's as it is, with all that is written kept apart in
# memory; INSTALLED is a folder of files laid over it, SHOWN are folders that
# are the same inside and outside.  Of units there are few, of /dev what a
# container has.  /proc/sys and /sys can't be written: they are everybody's.
# FOLDER/machine.pid is PID 1 as it is called outside.
#
# hold ends with the machine, or on SIGTERM ends it, and takes away the one thing
# that would stay: the cgroup, which is called as FOLDER is.
set -eu
stage=$1 folder=$2 installed=$3
shift 3
machine=$folder/machine
root=$machine/root

# The cgroup's processes are killed until there are none.
end() {
	local tries=500
	trap '' HUP INT TERM
	while [ -d "$cgroup" ] && [ $((tries -= 1)) -gt 0 ]; do
		find "$cgroup" -name cgroup.procs -exec cat {} + |
			xargs -r kill -KILL || :
		find "$cgroup" -depth -type d -exec rmdir {} + || sleep 0.02
	done 2> /dev/null
}

# The hierarchy is mounted here: elsewhere it may be for reading only, or absent.
hold() {
	mkdir -p "$machine"
	mount -t tmpfs -o mode=755 nfswb-machine "$machine"
	mkdir "$machine/cgroup"
	mount -t cgroup2 cgroup2 "$machine/cgroup"
	cgroup=$machine/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
	cgroup=$cgroup/${folder##*/}
	trap end EXIT
	trap exit HUP INT TERM
	mkdir "$cgroup"
	(
		echo $BASHPID > "$cgroup/cgroup.procs"
		exec setpriv --pdeathsig KILL unshare --cgroup --pid --fork \
			--kill-child --mount --uts --ipc --net \
			"$0" root "$folder" "$installed" "$@"
	) &
	wait $!
}

overlay() {
	umount "$machine/cgroup"
	mkdir "$machine/upper" "$machine/work" "$root"
	mount -t overlay -o \
		"lowerdir=/,upperdir=$machine/upper,workdir=$machine/work" \
		overlay "$root"
	if mountpoint -q /usr; then
		set -- /usr "$@"
	fi
	for shown; do
		mkdir -p "$root$shown"
		mount --bind "$shown" "$root$shown"
	done
	chmod 1777 "$root/tmp" "$root/var/tmp"
}

devices() {
	local node
	mount -t tmpfs -o mode=755,nosuid none "$root/dev"
	for node in null zero full random urandom tty; do
		: > "$root/dev/$node"
		mount --bind "/dev/$node" "$root/dev/$node"
	done
	mkdir "$root/dev/pts" "$root/dev/shm"
	mount -t devpts -o newinstance,ptmxmode=0666,mode=620 none \
		"$root/dev/pts"
	mount -t tmpfs -o mode=1777,nosuid,nodev none "$root/dev/shm"
	ln -s pts/ptmx "$root/dev/ptmx"
	ln -s /proc/self/fd "$root/dev/fd"
}

kernel() {
	mount -t proc proc "$root/proc"
	mount --bind "$root/proc/sys" "$root/proc/sys"
	mount -o remount,bind,ro "$root/proc/sys"
	mount -t sysfs -o ro sysfs "$root/sys"
	mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
	mount -t tmpfs -o mode=755,nosuid,nodev none "$root/run"
	mkdir -m 1777 "$root/run/lock"
}

# What is enabled outside is no business of this machine.
units() {
	local lib=$root/lib/systemd few=$machine/few
	mkdir "$few"
	(cd "$lib/system" && cp -a {sysinit,basic,sockets,slices,paths,timers}.target \
		{network-online,network,nss-lookup,local-fs,multi-user}.target \
		{shutdown,umount,final}.target \
		systemd-journald.service systemd-journald{,-dev-log}.socket \
		"$few")
	mount -t tmpfs -o mode=755 none "$lib/system"
	cp -a "$few/." "$lib/system"
	for generators in system-generators user-generators; do
		[ ! -d "$lib/$generators" ] ||
			mount -t tmpfs -o mode=755 none "$lib/$generators"
	done
	mount -t tmpfs -o mode=755 none "$root/etc/systemd"
	mkdir "$root/etc/systemd/system" "$root/etc/systemd/user"
	cat > "$root/etc/systemd/journald.conf" <<-END
	[Journal]
	Storage=volatile
	ReadKMsg=no
	Audit=no
	RateLimitIntervalSec=0
	END
	cat > "$root/etc/systemd/system/nfswb-test.target" <<-END
	[Unit]
	Requires=multi-user.target
	Wants=systemd-journald.service systemd-journald-dev-log.socket
	After=multi-user.target systemd-journald.service
	END
}

case $stage in
hold)
	hold "$@" ;;
root)
	mount --make-rprivate /
	read -r pid _ < /proc/self/stat
	overlay "$@"
	kernel
	devices
	units
	cp -a "$installed/." "$root"
	ip link set lo up
	ip addr add 192.0.2.77/32 dev lo	# or names are not resolved
	cd "$root"
	mkdir -p .outside
	pivot_root . .outside
	echo "$pid" > "$folder/machine.pid"
	umount -l /.outside
	rmdir /.outside
	exec env -i container=nfswb PATH=/usr/sbin:/usr/bin:/sbin:/bin \
		/lib/systemd/systemd --system --unit=nfswb-test.target \
		--show-status=0 ;;
esac
