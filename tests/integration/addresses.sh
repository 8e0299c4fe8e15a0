#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# addresses.sh - IPv6, a port behind the host, names, and ports from rpcbind
# shellcheck source=tests/integration/lib.sh
. "${top_srcdir:-.}/tests/integration/lib.sh" || exit 99
need_ganesha
need rpcbind ip unshare

# A network and /run of our own: the portmapper's port is a fixed one.
if [ -z "${NFSWB_TEST_NS:-}" ]; then
	unshare -n -m true 2> /dev/null ||
		skip_all "network namespaces are not permitted here"
	rm -rf "$tmp"
	trap - EXIT
	NFSWB_TEST_NS=1 exec unshare -n -m "$0"
fi
PATH=$PATH:/usr/sbin:/sbin
mount -t tmpfs nfswb-run /run && mkdir /run/rpcbind ||
	skip_all "mounting is not permitted here"
ip link set lo up && ip addr add 192.0.2.77/32 dev lo ||
	skip_all "no address for lo"
ip addr add 2001:db8::77/128 dev lo 2> /dev/null

pattern 3000000 1 > "$tmp/file"

# put_to SENTENCE URL FILE
put_to() {
	check "$1" nfswb put "$tmp/file" "$2"
	check "... and is identical" cmp "$tmp/file" "$ganesha_export/$3"
}

ganesha_address=127.0.0.1
server_start
nfswbd_start
put_to "a file goes to an address and ports" "$(url a)" a
put_to "a file goes to localhost by name" \
	"nfs://localhost$ganesha_export/b?$ganesha_ports" b
put_to "the port may stand behind the host" \
	"nfs://127.0.0.1:$nfs_port$ganesha_export/c?mountport=$mount_port" c
refused "without ports and without rpcbind that is told" 1 \
	'portmapper of server 127.0.0.1.*nfsport=N&mountport=N' \
	nfswb put "$tmp/file" "nfs://127.0.0.1$ganesha_export/d"
ganesha_stop
nfswbd_kill

if grep -q . /proc/net/if_inet6 2> /dev/null; then
	ganesha_address=::1 ganesha_export=$tmp/export6
	server_start
	nfswbd_start
	put_to "a file goes to [::1]" "$(url a)" a
	put_to "the port may stand behind the brackets" \
		"nfs://[::1]:$nfs_port$ganesha_export/b?mountport=$mount_port" b
	nfswb get "$(url b)" "$tmp/got"
	check "it is got from there" cmp "$tmp/file" "$tmp/got"
	ganesha_stop
	nfswbd_kill
else
	skip "a file goes to [::1]" "no IPv6 here"
fi

rpcbind_answers() {
	[ -S /run/rpcbind.sock ] && port_listens 111
}
setpriv --pdeathsig KILL rpcbind -f 2> "$tmp/rpcbind.err" &
children="$children $!"
await 10 rpcbind_answers || bail "rpcbind does not start"
# shellcheck disable=SC2034
ganesha_stub='' ganesha_address=192.0.2.77 ganesha_export=$tmp/export-rpcbind
server_start
nfswbd_start
put_to "without ports the portmapper is asked" \
	"nfs://192.0.2.77$ganesha_export/a" a
put_to "one port alone is enough" \
	"nfs://192.0.2.77:$nfs_port$ganesha_export/b" b
ganesha_kill
done_testing
