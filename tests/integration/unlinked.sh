#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# unlinked.sh - an open file that is unlinked or renamed, and a daemon that is
# killed: its hidden name goes with its last user
# shellcheck source=tests/integration/lib.sh
. "${top_srcdir:-.}/tests/integration/lib.sh" || exit 99
need_ganesha
server_start
nfswbd_start

names() {
	ls -A "$ganesha_export" | tr '\n' ' '
}

is_empty() {
	[ -z "$(names)" ]
}

client a
client b
check "a program opens a file" tell a open "$(url f)" rwc
check "it writes" tell a pwrite 0 300000 1
check "another one unlinks it" tell b unlink "$(url f)"
check_is "it has a hidden name" "$(names | grep -c '^\.nfs[0-9a-f]* $')" = 1
nfswbd_kill
nfswbd_start
check "it is still written" tell a pwrite 300000 300000 1
check "and synced" tell a fsync
check_is "the hidden name is still there" \
	"$(names | grep -c '^\.nfs[0-9a-f]* $')" = 1
check "all is in it" cmp <(pattern 600000 1) "$ganesha_export"/.nfs*
check "it is closed" tell a close
check "then nothing is left" await 30 is_empty

check "a program opens a file" tell a open "$(url f)" rwc
check "it writes" tell a pwrite 0 300000 2
check "another one renames it" tell b rename "$(url f)" "$(url g)"
nfswbd_kill
nfswbd_start
check "it is closed" tell a close
check "its data is under the new name" \
	cmp <(pattern 300000 2) "$ganesha_export/g"
check "that is unlinked" tell b unlink "$(url g)"
check "then nothing is left" await 30 is_empty

check "a program opens a file" tell a open "$(url f)" rwc
check "it writes" tell a pwrite 0 300000 3
check "another one unlinks it" tell b unlink "$(url f)"
nfswbd_kill
kill -KILL "$pid_a"; wait "$pid_a" 2> /dev/null
nfswbd_start
check "who died while no daemon ran leaves nothing either" await 30 is_empty

hang_up b
done_testing
