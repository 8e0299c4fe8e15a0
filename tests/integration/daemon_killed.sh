#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# daemon_killed.sh - nfswbd is killed in the middle of a put and started again
# shellcheck source=tests/integration/lib.sh
. "${top_srcdir:-.}/tests/integration/lib.sh" || exit 99
need_ganesha
server_start
nfswbd_config 'dirty_background_bytes = 8M'
nfswbd_start

bytes=$((512 << 20))
pattern $bytes 1 > "$tmp/source"

# put_watched BYTES OPERAND...: returns when so much has left for the server.
put_watched() {
	await_sent "$1" &
	watcher=$!
	shift
	nfswb_exec put "$@" 2> "$tmp/put.err" &
	put_pid=$!
	children="$children $put_pid $watcher"
	wait $watcher
	check_is "some has left for the server" $? -eq 0
}

instance=$(stat_of 's["instance"]')
put_watched $((bytes / 5)) "$tmp/source" "$(url file)"
nfswbd_kill
check "nfswbd is killed while put runs" process_runs $put_pid
nfswbd_start
check_is "another instance serves" "$(stat_of 's["instance"]')" != "$instance"
wait $put_pid
check_is "put ends with exit code 0" $? -eq 0
check_is "and without a word" "$(cat "$tmp/put.err")" = ""
check "the file is identical" cmp "$tmp/source" "$ganesha_export/file"

# A stream that pauses, so that the daemon dies more than once in it.
part=$((64 << 20))
mkfifo "$tmp/stream"
nfswb_exec put - "$(url stream)" < "$tmp/stream" 2> "$tmp/put.err" &
put_pid=$!
children="$children $put_pid"
exec 9> "$tmp/stream"
for n in 0 1 2; do
	pattern $part 4 $((n * part)) >&9
	check "a part of a stream has left for the server" \
		await_sent $((part / 2))
	nfswbd_kill
	check "nfswbd is killed while put waits for more" process_runs $put_pid
	nfswbd_start
done
pattern $part 4 $((3 * part)) >&9
exec 9>&-
wait $put_pid
check_is "put ends with exit code 0" $? -eq 0
check_is "and without a word" "$(cat "$tmp/put.err")" = ""
check "the stream is identical" \
	cmp <(pattern $((4 * part)) 4) "$ganesha_export/stream"

# An application that is idle while the daemon dies.
client app
check "a program opens a file" tell app open "$(url idle)" wc
check "it writes" tell app pwrite 0 1000000 2
nfswbd_kill
nfswbd_start
check "after the daemon's restart it writes on" tell app pwrite 1000000 1000 2
check "its fsync succeeds" tell app fsync
check "all of it is there" \
	cmp <(pattern 1001000 2) "$ganesha_export/idle"
check "it closes" tell app close
hang_up app
check_is "nothing was given up" "$(stat_of 'len(s["given_up"])')" -eq 0

# Every tree, with names, in the middle of it.
mkdir "$tmp/tree"
for n in $(seq 400); do
	pattern $((n * 500)) "$n" > "$tmp/tree/$n"
done
put_watched 4000000 -r "$tmp/tree" "$(url tree)"
nfswbd_kill
nfswbd_start
wait $put_pid
check_is "put of the tree ends with exit code 0" $? -eq 0
diag < "$tmp/put.err"
check "the tree is identical" diff -r "$tmp/tree" "$ganesha_export/tree"
done_testing
