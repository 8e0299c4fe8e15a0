#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# get.sh - what is on the server is read byte for byte, whatever happens meanwhile
# shellcheck source=tests/integration/lib.sh
. "${top_srcdir:-.}/tests/integration/lib.sh" || exit 99
need_ganesha
server_start
nfswbd_start

export_dir=$ganesha_export

# A tree, file by file.
mkdir "$export_dir/tree" "$tmp/got"
for n in 0 1 4095 4096 65535 65536 65537 1048575 1048576 1048577 5000000; do
	pattern "$n" "$n" > "$export_dir/tree/size-$n"
done
for n in $(seq 60); do
	pattern $((n * 3777)) "$n" > "$export_dir/tree/file-$n"
done
get_tree() {
	local f
	for f in "$export_dir/tree/"*; do
		nfswb get "$(url "tree/${f##*/}")" "$tmp/got/" || return 1
	done
}
check "a tree is got" get_tree
check "every file of it is identical" diff -r "$export_dir/tree" "$tmp/got"

# A large one.
size=$((1 << 30))
pattern $size 3 > "$export_dir/large"
check "1 GiB is got" nfswb get "$(url large)" "$tmp/large"
check "it is identical" cmp "$export_dir/large" "$tmp/large"
reads=$(stat_of 'v["ops"]["READ"]["ops"]')
echo "# $reads READs; $(stat_of 'v["read_ahead"]')"
check_is "it was read in large READs, and nothing twice" \
	"$(stat_of 'v["ops"]["READ"]["bytes_recv"]')" -lt $((size + size / 20))
check_is "nearly all of it was read ahead" \
	"$(stat_of 'v["read_ahead"]["ahead_bytes"]')" -gt $((size * 9 / 10))
same_stream() {
	nfswb get "$(url large)" - | cmp - "$export_dir/large"
}
check "to standard output it is identical, too" same_stream
rss=$(awk '/^RssAnon/ { print $2 }' "/proc/$nfswbd_pid/status")
check_is "nfswbd holds none of it for itself (RssAnon, KiB)" "$rss" -lt 65536

truncate -s 3G "$export_dir/sparse"
pattern 100000 8 | dd of="$export_dir/sparse" bs=4096 seek=400000 conv=notrunc \
	2> /dev/null
check "a sparse file is got" nfswb get "$(url sparse)" "$tmp/sparse"
check "it is identical" cmp "$export_dir/sparse" "$tmp/sparse"
rm "$tmp/sparse" "$export_dir/sparse"

# What was written here and is not at the server yet.
client app
check "a program writes and leaves it" tell app open "$(url fresh)" wc
check "it is taken" tell app pwrite 0 3000000 9
check "it is got" nfswb get "$(url fresh)" "$tmp/fresh"
check "as it was written" cmp <(pattern 3000000 9) "$tmp/fresh"
check "it is written over" tell app pwrite 1000000 500000 11
check "and got again" nfswb get "$(url fresh)" "$tmp/fresh"
whole() {
	pattern 1000000 9
	pattern 500000 11 1000000
	pattern 1500000 9 1500000
}
check "as it is now" cmp <(whole) "$tmp/fresh"
check "it closes" tell app close
hang_up app

# What another client did since the last open.
pattern 5000000 21 > "$export_dir/other"
check "a file is got" nfswb get "$(url other)" "$tmp/other"
pattern 5000000 22 > "$export_dir/other"
check "another client writes it anew, and it is got again" \
	nfswb get "$(url other)" "$tmp/other"
check "as that left it" cmp <(pattern 5000000 22) "$tmp/other"

# got BYTES: waits until so much of $tmp/large2 is there.
got() {
	local tries=2000
	until [ "$(stat -c %s "$tmp/large2" 2> /dev/null || echo 0)" -ge "$1" ]
	do
		[ $((tries -= 1)) -gt 0 ] || return 1
		process_runs "$get_pid" || return 1
		sleep 0.005
	done
}
get_large() {
	rm -f "$tmp/large2"
	nfswb_exec get "$(url "$1")" "$tmp/large2" 2> "$tmp/get.err" &
	get_pid=$!
	children="$children $get_pid"
	check "some of it is there" got $((size / 8))
}

get_large large
ganesha_kill
check "the server is killed while get runs" process_runs "$get_pid"
ganesha_start || bail "the server does not come back"
wait "$get_pid"
check_is "get ends with exit code 0" $? -eq 0
check "what it got is identical" cmp "$export_dir/large" "$tmp/large2"

get_large large
nfswbd_kill
check "nfswbd is killed while get runs" process_runs "$get_pid"
nfswbd_start
wait "$get_pid"
check_is "get ends with exit code 0" $? -eq 0
diag < "$tmp/get.err"
check "what it got is identical" cmp "$export_dir/large" "$tmp/large2"

# A file that grows, and one that is cut, while they are read.
get_large large
pattern 3000000 3 $size >> "$export_dir/large"
wait "$get_pid"
check_is "get of a file that grows ends with exit code 0" $? -eq 0
check "what it got is the file's beginning" \
	cmp -n $size "$export_dir/large" "$tmp/large2"
get_large large
truncate -s $((size / 2)) "$export_dir/large"
wait "$get_pid"
check_is "get of a file that is cut ends with exit code 0" $? -eq 0
got_size=$(stat -c %s "$tmp/large2")
check_is "it has what was left of it at least" "$got_size" -ge $((size / 2))
check "all of what it got was there once" \
	cmp -n "$got_size" <(pattern $size 3) "$tmp/large2"

refused "a file that is gone is said so" 1 'No such file' \
	nfswb get "$(url none)" "$tmp/none"
check_is "nothing was given up" "$(stat_of 'len(s["given_up"])')" -eq 0
done_testing
