#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# refusals.sh - every refusal is one line: what, where, and what to do
# shellcheck source=tests/integration/lib.sh
. "${top_srcdir:-.}/tests/integration/lib.sh" || exit 99
need_ganesha
server_start

pattern 5000 1 > "$tmp/file"

# the configuration

nfswbd_tests() {
	printf '%s\n' "$@" > "$tmp/bad.conf"
	"$top_builddir/nfswbd" -t -c "$tmp/bad.conf" -s "$tmp/other.sock"
}

refused "an unknown key is refused with file and line" 1 \
	'bad\.conf:2: .*dirty_bites' \
	nfswbd_tests '[nfswbd]' 'dirty_bites = 1G'
refused "a bad value is refused with file and line" 1 \
	'bad\.conf:3: .*timeo' \
	nfswbd_tests '[nfswbd]' '# a comment' 'timeo = soon'
refused "an unknown section is refused with file and line" 1 \
	'bad\.conf:1: .*nfsd' nfswbd_tests '[nfsd]' 'timeo = 6'
refused "a mount without a target is refused" 1 'bad\.conf:1: .*target' \
	nfswbd_tests '[mount x]' 'wsize = 64K'
refused "a configuration that is not there is refused" 1 \
	'nowhere.conf: .*No such file' \
	"$top_builddir/nfswbd" -t -c "$tmp/nowhere.conf"
refused "a wrong option is wrong usage" 2 'nfswbd --help' \
	"$top_builddir/nfswbd" operand

# the socket

export NFSWB_SOCKET=$tmp/nfswbd.sock
refused "a missing socket is told, with what to do" 1 \
	'nfswbd\.sock.*is nfswbd running' nfswb put "$tmp/file" "$(url x)"
: > "$tmp/plain"
refused "a file in the socket's place is told" 1 'plain' \
	nfswb -s "$tmp/plain" stat
refused "the daemon leaves a file alone that is not a socket" 1 \
	'plain exists and is not a socket' \
	"$top_builddir/nfswbd" -s "$tmp/plain"

setpriv --pdeathsig KILL python3 - "$tmp/foreign.sock" <<'EOF' &
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1] + ".new")
s.listen()
os.rename(sys.argv[1] + ".new", sys.argv[1])
while True:
    c = s.accept()[0]
    c.recv(100)
    c.sendall(b"220 mail.example.org ready\r\n" * 10)
    c.close()
EOF
children="$children $!"
await 10 test -S "$tmp/foreign.sock"
refused "a socket that is not nfswbd's is told" 1 \
	'foreign\.sock.*not nfswbd' nfswb -s "$tmp/foreign.sock" stat

nfswbd_config "runtime_dir = $tmp/run"
printf '%s\n' '[mount data]' \
	"target = $(url data)" >> "$tmp/nfswb.conf"
mkdir -m 700 "$tmp/run"
mkdir -m 777 "$ganesha_export/data"
nfswbd_start
refused "a second daemon on that socket is refused" 1 \
	'already runs on .*nfswbd\.sock' \
	"$top_builddir/nfswbd" -s "$NFSWB_SOCKET"
refused "a second daemon in that runtime folder is refused" 1 \
	"$tmp/run.*another nfswbd.*runtime_dir" \
	"$top_builddir/nfswbd" -c "$tmp/nfswb.conf" -s "$tmp/third.sock"
check "the first goes on" nfswb put "$tmp/file" data:/first

# targets

refused "an unknown mount is refused" 1 'photos' \
	nfswb put "$tmp/file" photos:/x
refused "a malformed URL is refused" 1 "malformed target" \
	nfswb put "$tmp/file" "nfs://:1/x"
refused "an unknown option of an URL is refused" 1 "unknown option 'vers'" \
	nfswb put "$tmp/file" "nfs://127.0.0.1/x?vers=3"
refused "no target at all is refused" 1 'NAME:/path' \
	nfswb put "$tmp/file" /some/where
refused "a server that does not answer is told" 1 \
	"cannot reach server 127.0.0.1 port $((nfs_port - 1000))" \
	nfswb put "$tmp/file" \
	"nfs://127.0.0.1/x/y?nfsport=$((nfs_port - 1000))&mountport=$((nfs_port - 1000))"
refused "a name that does not resolve is told" 1 \
	'cannot find server .no-such-host.invalid' \
	nfswb put "$tmp/file" "nfs://no-such-host.invalid/x/y?$ganesha_ports"
refused "an export that is not there is told" 1 "exports nothing that holds" \
	nfswb put "$tmp/file" "nfs://127.0.0.1/not/there/x?$ganesha_ports"
refused "a folder that is not there is told" 1 'No such file or directory' \
	nfswb put "$tmp/file" "$(url no/such/folder)"
refused "a source that is not there is told" 1 'absent.*No such file' \
	nfswb put "$tmp/absent" "$(url x)"
refused "a folder without -r is told" 1 'run.*-r' \
	nfswb put "$tmp/run" "$(url x)"
refused "a wrong command is wrong usage" 2 'unknown command' nfswb puts

# permissions

mkdir -m 700 "$ganesha_export/private"
as_user() {
	export LD_LIBRARY_PATH=$tmp/programs
	setpriv --reuid 12345 --regid 12345 --clear-groups \
		"$tmp/programs/nfswb" "$@"
}
refused "what the server denies the user is told" 1 \
	'^nfswb: .*private/x.*Permission denied' \
	as_user put "$tmp/file" "$(url private/x)"
chmod 600 "$NFSWB_SOCKET"
refused "a socket the user may not use is told" 1 \
	'^nfswb: .*nfswbd\.sock.*Permission denied.*may this user' \
	as_user put "$tmp/file" "$(url x)"
chmod 666 "$NFSWB_SOCKET"
check "after all that the daemon serves" nfswb put "$tmp/file" "$(url last)"
check "and the file is identical" cmp "$tmp/file" "$ganesha_export/last"
nfswbd_kill

# A daemon that names its mounts only.
printf '%s\n' '[nfswbd]' 'allow_urls = no' '[mount data]' \
	"target = $(url data)" > "$tmp/nfswb.conf"
nfswbd_start
refused "URLs are refused where the configuration says so" 1 'allow_urls' \
	nfswb put "$tmp/file" "$(url x)"
check "a mount it names is served" nfswb put "$tmp/file" data:/second
check "its file is identical" cmp "$tmp/file" "$ganesha_export/data/second"
nfswbd_kill
ganesha_stop

# A server that wants a privileged port.
ganesha_export=$tmp/export2
ganesha_more='EXPORT_DEFAULTS { PrivilegedPort = true; }'
rm "$tmp/ganesha.conf"
server_start
nfswbd_config 'resvport = no'
nfswbd_start
refused "a server that wants a port below 1024 is told, with the remedies" 1 \
	'1024.*resvport' nfswb put "$tmp/file" "$(url x)"
nfswbd_kill
nfswbd_config 'resvport = yes'
nfswbd_start
check "from such a port it serves" nfswb put "$tmp/file" "$(url x)"
nfswbd_kill
ganesha_stop

# A read-only export.
ganesha_export=$tmp/export3
ganesha_more='' ganesha_access=RO
server_start
nfswbd_config
nfswbd_start
refused "a read-only export is told" 1 'Read-only file system' \
	nfswb put "$tmp/file" "$(url x)"
check "the daemon still runs" process_runs "$nfswbd_pid"
done_testing
