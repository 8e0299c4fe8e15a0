#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# disk_full.sh - the server's disk is full: fsync, close and put say so
# shellcheck source=tests/integration/lib.sh
. "${top_srcdir:-.}/tests/integration/lib.sh" || exit 99
need_ganesha
need mount

# A small disk of its own; with a mount namespace of its own it goes by itself.
if [ -z "${NFSWB_TEST_NS:-}" ]; then
	unshare -m true 2> /dev/null ||
		skip_all "mounting is not permitted here"
	rm -rf "$tmp"
	trap - EXIT
	NFSWB_TEST_NS=1 exec unshare -m "$0"
fi
mkdir "$tmp/export"
mount -t tmpfs -o size=16m,mode=1777 nfswb-test "$tmp/export" ||
	skip_all "mounting is not permitted here"
at_cleanup() {
	umount -l "$tmp/export"
}
server_start
nfswbd_start

accepted_or_full() {
	case $1 in 'ok '* | 'error 28 '*) ;; *) echo "$1"; return 1 ;; esac
}

pattern 4000000 1 > "$tmp/fits"
pattern 64000000 1 > "$tmp/large"
check "a file that fits is put" nfswb put "$tmp/fits" "$(url fits)"
refused "put of one that does not fit says so" 1 'No space left on device' \
	nfswb put "$tmp/large" "$(url large)"
check "what was there is unharmed" cmp "$tmp/fits" "$ganesha_export/fits"

client app
client other
check "a program opens a file" tell app open "$(url more)" wct
check "its write is accepted" tell app pwrite 0 9000000 2
check_is "fsync reports ENOSPC" "$(tell app fsync | cut -d' ' -f1,2)" = \
	"error 28"
check_is "fsync tries again and reports again" \
	"$(tell app fsync | cut -d' ' -f1,2)" = "error 28"
check "another program makes room" tell other open "$(url large)" wt
check "fsync tries again and succeeds" tell app fsync
check "close too" tell app close
check "the file is identical" \
	cmp <(pattern 9000000 2) "$ganesha_export/more"
check "a program opens a file once more" tell app open "$(url again)" wct
check "its write of too much is accepted, or refused with ENOSPC" \
	accepted_or_full "$(tell app pwrite 0 40000000 3)"
check_is "close reports ENOSPC" "$(tell app close | cut -d' ' -f1,2)" = \
	"error 28"
hang_up app
hang_up other
check_is "what was given up is listed" "$(stat_of 'len(s["given_up"]) > 0')" = \
	True
check "the daemon still runs" process_runs "$nfswbd_pid"
done_testing
