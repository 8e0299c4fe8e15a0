#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# put.sh - files, a tree and a stream arrive byte for byte, in large WRITEs
# shellcheck source=tests/integration/lib.sh
. "${top_srcdir:-.}/tests/integration/lib.sh" || exit 99
need_ganesha
server_start
nfswbd_start

stream_bytes=$((256 << 20))

make_tree() {
	local n
	mkdir -p "$1/sub/deep/er" "$1/empty" "$1/odd name"
	for n in 0 1 4095 4096 65536 65537 1048575 1048576 1048577 5000000; do
		pattern "$n" "$n" > "$1/size-$n"
	done
	for n in $(seq 200); do
		pattern $((n * 37)) "$n" > "$1/sub/file-$n"
	done
	pattern 12345 > "$1/sub/deep/er/x"
	pattern 777 > "$1/odd name/%20 ?#&=ü"
	ln -s ../sub/deep/er/x "$1/empty/link"
	ln -s nowhere "$1/dangling"
	chmod 640 "$1/size-1"
	chmod 755 "$1/size-4096"
	touch -d '2001-02-03 04:05:06.789' "$1/size-65536"
}

# The tree as text: kind, mode, time, name, link.  (ganesha sets no times of
# symlinks.)
describe() {
	(cd "$1" && find . -mindepth 1 \( -type l -printf '%y %p %l\n' -o \
		-printf '%y %m %.19T+ %p\n' \) | sort)
}

sums() {
	(cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum)
}

same_tree() {
	diff -r --no-dereference "$1" "$2" &&
		diff <(sums "$1") <(sums "$2") &&
		diff <(describe "$1") <(describe "$2")
}

make_tree "$tmp/tree"
check "a tree is put" nfswb put -r "$tmp/tree" "$(url copy)"
check "every file of it is identical, with mode, time and links" \
	same_tree "$tmp/tree" "$ganesha_export/copy"

truncate -s 5G "$tmp/sparse"
pattern 100000 8 | dd of="$tmp/sparse" bs=4096 seek=1100000 conv=notrunc \
	2> /dev/null
check "a sparse file of 5 GiB is put" nfswb put "$tmp/sparse" "$(url sparse)"
check "it is identical" cmp "$tmp/sparse" "$ganesha_export/sparse"
rm "$tmp/sparse" "$ganesha_export/sparse"

pattern 3000001 5 > "$tmp/file"
check "a file is put" nfswb put "$tmp/file" "$(url file)"
check "it is identical" cmp "$tmp/file" "$ganesha_export/file"
pattern 1000 6 > "$tmp/file"
check "a shorter one is put in its place" nfswb put "$tmp/file" "$(url file)"
check "nothing of the old one is left" cmp "$tmp/file" "$ganesha_export/file"
check "a file is got" nfswb get "$(url copy/size-5000000)" "$tmp/got"
check "what was got is identical" cmp "$tmp/tree/size-5000000" "$tmp/got"

writes=$(stat_of 'v["nfs_nr_writes"]')
commits=$(stat_of 'v["nfs_nr_commits"]')
put_stream() {
	pattern "$stream_bytes" 7 | nfswb put - "$(url stream)"
}
check "a stream from standard input is put" put_stream
check "the stream is identical" \
	cmp <(pattern "$stream_bytes" 7) "$ganesha_export/stream"
writes=$(($(stat_of 'v["nfs_nr_writes"]') - writes))
commits=$(($(stat_of 'v["nfs_nr_commits"]') - commits))
echo "# $writes WRITEs, $commits COMMITs"
check_is "its WRITEs are at least 0.9 of wsize in the mean" \
	$((stream_bytes / writes)) -ge $((ganesha_wsize * 9 / 10))
check_is "COMMITs are few" "$commits" -le 16
check_is "at least one COMMIT was needed" "$commits" -ge 1

check "sync says that all is on stable storage" nfswb sync "$(url '')"
check_is "nothing is dirty, under way or unstable then" \
	"$(stat_of 'v["dirty_bytes"]+v["writeback_bytes"]+v["unstable_bytes"]')" \
	-eq 0
check_is "reclaim never wrote" "$(stat_of 's["reclaim"]["reclaim_writes"]')" \
	-eq 0
check_is "nothing was given up" "$(stat_of 'len(s["given_up"])')" -eq 0
done_testing
