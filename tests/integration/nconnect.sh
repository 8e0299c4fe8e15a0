#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# nconnect.sh - four connections to a server, which is killed in the middle of a
# put and comes back
# shellcheck source=tests/integration/lib.sh
. "${top_srcdir:-.}/tests/integration/lib.sh" || exit 99
need_ganesha
need ss
server_start 1001
NFSWBD_KEYS= nfswbd_config 'nconnect = 4'
nfswbd_start

bytes=$((512 << 20))
pattern $bytes 1 > "$tmp/source"

# Of the client's ends: how many are established; the least that any has sent.
established() {
	ss -Htin state established "dport = :$nfs_port" |
		grep -c bytes_sent:
}
least_sent() {
	ss -Htin state established "dport = :$nfs_port" |
		sed -n 's/.*bytes_sent:\([0-9]*\).*/\1/p' | sort -n | head -1
}
four_are_up() {
	[ "$(stat_of 'v["connections_up"]')" = 4 ]
}

check "put ends with exit code 0" nfswb put "$tmp/source" "$(url one)"
check "the file is identical" cmp "$tmp/source" "$ganesha_export/one"
check_is "the server has four connections" "$(established)" -eq 4
check_is "stat says so" "$(stat_of 'v["connections"]')" -eq 4
check_is "and that all are up" "$(stat_of 'v["connections_up"]')" -eq 4
check "in words, too" \
	sh -c 'grep -q ": up, 4 of 4 connections$"' < <(nfswb stat)
check_is "each has carried a twentieth at least" \
	$(($(least_sent) * 20)) -ge $bytes
rm "$ganesha_export/one"

ports() {
	ss -Htn state established "dport = :$nfs_port" |
		awk '{ sub(".*:", "", $3); print $3 }' | sort
}
before=$(ports)
put_with_kill two 2002
check "all four come back" await 20 four_are_up
check_is "from the ports they had" "$(ports)" = "$before"
check_is "the server's new verifier is counted" \
	"$(stat_of 'v["verifier_changes"]')" -ge 1
check_is "nothing was given up" "$(stat_of 'len(s["given_up"])')" -eq 0
grep -E "connection|connect" "$tmp/nfswbd.err" | diag
done_testing
