#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# two_writers.sh - two programs at once: files of their own, one file's halves,
# one range after each other
# shellcheck source=tests/integration/lib.sh
. "${top_srcdir:-.}/tests/integration/lib.sh" || exit 99
need_ganesha
server_start
nfswbd_start

bytes=$((64 << 20))

# Both are told before either is heard.
both() {
	local one=$1 two=$2 status=0
	ask a "$one"
	ask b "$two"
	hear a || status=1
	hear b || status=1
	return $status
}

client a
client b

check "two programs open files of their own" \
	both "open $(url a) wct" "open $(url b) wct"
check "they write at once" \
	both "pwrite 0 $bytes 1" "pwrite 0 $bytes 2"
check "both close well" both close close
check "the first file is identical" \
	cmp <(pattern $bytes 1) "$ganesha_export/a"
check "the second file is identical" \
	cmp <(pattern $bytes 2) "$ganesha_export/b"

check "they open the same file" \
	both "open $(url halves) wc" "open $(url halves) wc"
check "each writes its half at once" \
	both "pwrite 0 $bytes 3" "pwrite $bytes $bytes 3"
check "both sync well" both fsync fsync
check "both close well" both close close
check "both halves are identical" \
	cmp <(pattern $((2 * bytes)) 3) "$ganesha_export/halves"

interleave() {
	local n block=100003
	for n in $(seq 0 2 199); do
		both "pwrite $((n * block)) $block 4" \
			"pwrite $(((n + 1) * block)) $block 4" || return 1
	done
}
both "open $(url mixed) wc" "open $(url mixed) wc" > /dev/null
check "they write alternate blocks of one file" interleave
check "both close well" both close close
check "all blocks are identical" \
	cmp <(pattern $((200 * 100003)) 4) "$ganesha_export/mixed"

check "they open one file to write and read" \
	both "open $(url order) rwc" "open $(url order) rwc"
check "the first writes a range" tell a pwrite 0 3000000 5
check "then the second writes it" tell b pwrite 0 3000000 6
check "the first syncs" tell a fsync
check "the last has won" cmp <(pattern 3000000 6) "$ganesha_export/order"
check "the second writes it again" tell b pwrite 0 3000000 7
check "then the first a part of it" tell a pwrite 1000000 5000 8
check "the second closes first" tell b close
check "then the first" tell a close
check "again the last has won" \
	cmp <(pattern 1000000 7; pattern 5000 8 1000000
	      pattern 1995000 7 1005000) "$ganesha_export/order"

check "both open a file" both "open $(url seen) rwc" "open $(url seen) rwc"
check "the first writes a word" tell a line hello
check_is "the second reads it before anybody synced" \
	"$(tell b read 0 100)" = "ok 6 hello"
both close close > /dev/null

alternate() {
	local n
	for n in $(seq 300); do
		both "line first $n" "line second $n" || return 1
	done
}
both "open $(url log) wca" "open $(url log) wca" > /dev/null
check "both append lines at once" alternate
both close close > /dev/null
check "every line is whole and there once, each program's in order" \
	diff <(seq 300 | sed 's/^/first /'; seq 300 | sed 's/^/second /') \
	<(grep first "$ganesha_export/log"; grep second "$ganesha_export/log")

hang_up a
hang_up b
done_testing
