#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# wire.sh - what a capture of the wire proves: UNSTABLE, COMMIT, credentials
# shellcheck source=tests/integration/lib.sh
. "${top_srcdir:-.}/tests/integration/lib.sh" || exit 99
need_ganesha
need tshark dumpcap
server_start
nfswbd_start

uid=12345 gid=2345 groups=2345,3456,4567
large_bytes=$((5 << 19))	# 2.5 WRITEs

capture_runs() {
	grep -q 'Capturing on' "$tmp/dumpcap.err" && [ -s "$tmp/wire.pcap" ]
}

capture_start() {
	setpriv --pdeathsig KILL dumpcap -q -B 64 -i lo \
		-f "tcp port $nfs_port" -w "$tmp/wire.pcap" \
		2> "$tmp/dumpcap.err" &
	dumpcap_pid=$!
	children="$children $dumpcap_pid"
	await 20 capture_runs ||
		skip_all "no capture on lo: $(tail -n 1 "$tmp/dumpcap.err")"
}

# Packets reach the file a little later than they pass.
capture_has_close() {
	[ "$(tshark -r "$tmp/wire.pcap" -d "tcp.port==$nfs_port,rpc" \
		-o tcp.reassemble_out_of_order:TRUE -Y 'nfs.procedure_v3 == 6' 2> /dev/null | wc -l)" -ge 2 ]
}

# messages FILTER: lines of the capture for which an awk expression holds.
messages() {
	awk "$1" "$tmp/wire.txt"
}

count() {
	messages "$1" | wc -l
}

before() {
	awk -v a="$1" -v b="$2" 'BEGIN { exit !(a + 0 > 0 && a <= b) }'
}

capture_start
client app --reuid $uid --regid $gid --groups $groups
check "a user's program opens a file" tell app open "$(url large)" wc
check "it writes more than one WRITE holds" \
	tell app pwrite 0 $large_bytes 1
answer=$(tell app fsync)
fsync_end=${answer##* }
check_is "its fsync succeeds" "${answer%% *}" = ok
tell app close > /dev/null
check "it opens a second" tell app open "$(url small)" wc
check "and writes little" tell app pwrite 0 1000 2
small_start=$(date +%s.%N)
check "that is on stable storage" tell app fsync
small_end=$(date +%s.%N)
tell app close > /dev/null
hang_up app
# a READ, the last thing in the capture
pattern 100 3 > "$ganesha_export/last"
nfswb get "$(url last)" "$tmp/last"
await 20 capture_has_close || bail "the capture is not complete"
process_kill "$dumpcap_pid" INT 10
python3 "$top_srcdir/tests/integration/wire.py" "$tmp/wire.pcap" "$nfs_port" \
	> "$tmp/wire.txt" 2> "$tmp/wire.err" || bail "the capture can't be read"

is_large='$1 < '$small_start
is_small='$1 > '$small_start' && $1 < '$small_end
write='$2 == "call" && $4 == "WRITE"'
commit='$2 == "call" && $4 == "COMMIT"'
committed='$2 == "reply" && $4 == "COMMIT" && /status=0/'
written='$2 == "reply" && $4 == "WRITE" && /status=0/'

check_is "more than one WRITE was needed" "$(count "$write && $is_large")" -ge 3
check_is "each of them was UNSTABLE" \
	"$(count "$write && $is_large && !/ stable=0 /")" -eq 0
check_is "a COMMIT followed" "$(count "$commit && $is_large")" -ge 1
last_write=$(messages "$written && $is_large { print \$1 }" | tail -n 1)
last_commit=$(messages "$commit && $is_large { print \$1 }" | tail -n 1)
last_reply=$(messages "$committed && $is_large { print \$1 }" | tail -n 1)
check "the last WRITE's reply was in before the last COMMIT left" \
	before "$last_write" "$last_commit"
check "the COMMIT's reply was in before fsync returned" \
	before "$last_reply" "$fsync_end"
check_is "what fits one WRITE was one WRITE" \
	"$(count "$write && $is_small")" -eq 1
check_is "FILE_SYNC" "$(count "$write && $is_small && / stable=2 /")" -eq 1
check_is "without a COMMIT" "$(count "$commit && $is_small")" -eq 0
who="uid=$uid gids=$gid,3456,4567 "
check_is "every WRITE, COMMIT and CREATE carried the user, the group and the groups" \
	"$(count "(\$4 == \"CREATE\" || $write || $commit) && \$2 == \"call\" &&
		!/$who/")" -eq 0
check_is "the file is the user's" \
	"$(stat -c %u:%g "$ganesha_export/large")" = $uid:$gid
check "the file is identical" \
	cmp <(pattern $large_bytes 1) "$ganesha_export/large"
[ "$tests_failed" = 0 ] || diag < "$tmp/wire.txt"
done_testing
