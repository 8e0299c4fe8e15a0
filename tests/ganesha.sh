# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# ganesha.sh - bash functions: a private nfs-ganesha on loopback
#
# Sourced by the integration tests and by scripts/demo.  The server runs in
# the foreground of a folder of its own, on free ports, without rpcbind (see
# rpcb_stub.c) and without D-Bus; no system file is read or written.  It dies
# with the shell that started it.
#
#	ganesha_prepare FOLDER	configuration, ports, exported folder
#	ganesha_start [EPOCH]	returns when it accepts; EPOCH: its verifier;
#				2: that folder's filesystem can't be exported
#	ganesha_kill		SIGKILL; ganesha_start again uses the same ports
#	ganesha_stop		for good
#
# Set before ganesha_prepare, where the default will not do:
#	ganesha_export		the exported folder		FOLDER/export
#	ganesha_address		where it listens		127.0.0.1
#	ganesha_access		RW, RO				RW
#	ganesha_more		more lines for the configuration
#	ganesha_stub		rpcb_stub.so; "": use rpcbind
# After it: ganesha_export, nfs_port, mount_port, ganesha_ports (for an URL).

ganesha_wsize=1048576
ganesha_pid=

# True while the process runs; a zombie does not.
process_runs() {
	local state
	state=$(sed 's/^.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null) ||
		return 1
	case $state in '' | Z | X) return 1 ;; esac
}

# process_kill PID SIGNAL SECONDS: signals, waits, and kills what outlives it.
process_kill() {
	local tries=$(($3 * 50))
	kill "-$2" "$1"
	while process_runs "$1" && [ $((tries -= 1)) -gt 0 ]; do
		sleep 0.02
	done
	if process_runs "$1"; then
		kill -KILL "$1"
	fi
	# bash waits for ever for one that it reaped in a wait cut off by SIGINT
	[ ! -e "/proc/$1" ] || wait "$1"
	return 0
} 2> /dev/null

port_listens() {
	(exec 3<>"/dev/tcp/${2:-127.0.0.1}/$1") 2>/dev/null
}

# A port that nobody uses, below the range from which connections take theirs:
# a port of that range could be taken while a killed server is down.
free_port() {
	local port tries=1000 hex
	while [ $((tries -= 1)) -gt 0 ]; do
		port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
		printf -v hex ':%04X ' "$port"
		if ! grep -qsi "$hex" /proc/net/tcp /proc/net/tcp6; then
			echo "$port"
			return 0
		fi
	done
	return 1
}

# Names what is missing, or nothing.
ganesha_missing() {
	local plugins
	plugins=$(ganesha_plugins)
	[ -x "$(ganesha_program)" ] || { echo "nfs-ganesha is not installed"; return; }
	[ -n "$plugins" ] || { echo "nfs-ganesha-vfs is not installed"; return; }
	[ "$(id -u)" = 0 ] || { echo "nfs-ganesha needs root"; return; }
}

ganesha_program() {
	if [ -x "${GANESHA:-}" ]; then
		echo "$GANESHA"
	else
		PATH=$PATH:/usr/sbin:/usr/bin command -v ganesha.nfsd
	fi
}

ganesha_plugins() {
	local so
	for so in /usr/lib/*/ganesha/libfsalvfs.so \
	    /usr/lib/ganesha/libfsalvfs.so; do
		[ -e "$so" ] && { dirname "$so"; return; }
	done
}

ganesha_prepare() {
	ganesha_folder=$1
	ganesha_export=${ganesha_export:-$ganesha_folder/export}
	ganesha_address=${ganesha_address:-127.0.0.1}
	ganesha_log=$ganesha_folder/ganesha.log
	mkdir -p "$ganesha_export" "$ganesha_folder/recovery"
	chmod 1777 "$ganesha_export"
	ganesha_choose_ports
}

ganesha_choose_ports() {
	nfs_port=$(free_port)
	mount_port=$(free_port)
	while [ "$mount_port" = "$nfs_port" ]; do
		mount_port=$(free_port)
	done
	# shellcheck disable=SC2034
	ganesha_ports="nfsport=$nfs_port&mountport=$mount_port"
	cat > "$ganesha_folder/ganesha.conf" <<-EOF
	NFS_CORE_PARAM {
		NFS_Port = $nfs_port;
		MNT_Port = $mount_port;
		NLM_Port = $((nfs_port - 1000));
		Rquota_Port = $((mount_port - 1000));
		Bind_addr = $ganesha_address;
		Protocols = 3;
		Enable_NLM = false;
		Enable_RQUOTA = false;
		Enable_UDP = false;
		Plugins_Dir = "$(ganesha_plugins)";
	}
	NFS_KRB5 { Active_krb5 = false; CCacheDir = "$ganesha_folder/krb5"; }
	NFSv4 { Graceless = true; RecoveryRoot = "$ganesha_folder/recovery"; }
	EXPORT_DEFAULTS {
		Access_Type = ${ganesha_access:-RW};
		Squash = no_root_squash;
		SecType = sys;
		Protocols = 3;
		Transports = TCP;
	}
	EXPORT {
		Export_Id = 1;
		Path = "$ganesha_export";
		Pseudo = "/x";
		MaxWrite = $ganesha_wsize;
		PrefWrite = $ganesha_wsize;
		FSAL { Name = VFS; }
	}
	${ganesha_more:-}
	EOF
}

# Starts the process; its id is that of the shell's own child, and it gets
# SIGKILL when the shell ends, however that ends.
ganesha_launch() {
	local epoch=${1:-}
	: > "$ganesha_log"
	DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nonexistent \
	setpriv --pdeathsig KILL \
		env ${ganesha_stub:+LD_PRELOAD="$ganesha_stub"} \
		"$(ganesha_program)" -F -f "$ganesha_folder/ganesha.conf" \
		-p "$ganesha_folder/ganesha.pid" -L "$ganesha_log" \
		${epoch:+-E "$epoch"} \
		>> "$ganesha_folder/ganesha.out" 2>&1 < /dev/null 9>&- &
	ganesha_pid=$!
}

# Until both ports accept: 10 seconds at most; fails at once when it ended.
ganesha_await() {
	local tries=500
	while [ $((tries -= 1)) -gt 0 ]; do
		port_listens "$nfs_port" "$ganesha_address" &&
			port_listens "$mount_port" "$ganesha_address" &&
			return 0
		process_runs "$ganesha_pid" || return 1
		sleep 0.02
	done
	return 1
}

ganesha_start() {
	local tries=3
	while :; do
		ganesha_launch "$@"
		ganesha_await && break
		process_kill "$ganesha_pid" KILL 5
		# somebody took a port; after a restart it must be the same
		if ! grep -q 'Cannot bind' "$ganesha_log" ||
		    [ $((tries -= 1)) -eq 0 ] || [ -n "${ganesha_ran:-}" ]; then
			echo "nfs-ganesha does not start:" >&2
			grep -E 'CRIT|FATAL|MAJ' "$ganesha_log" | tail -3 >&2
			return 1
		fi
		ganesha_choose_ports
	done
	if grep -q 'No export entries found' "$ganesha_log"; then
		echo "nfs-ganesha can't export $ganesha_export" >&2
		[ -e /etc/mtab ] || echo "it wants /etc/mtab to be there:" \
			"ln -s ../proc/self/mounts /etc/mtab" >&2
		return 2
	fi
}

ganesha_kill() {
	ganesha_ran=1
	process_kill "$ganesha_pid" KILL 5
	ganesha_pid=
}

ganesha_stop() {
	[ -n "$ganesha_pid" ] || return 0
	process_kill "$ganesha_pid" TERM 5
	ganesha_pid=
}
