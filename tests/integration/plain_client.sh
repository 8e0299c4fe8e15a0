#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# plain_client.sh - a client in another language, without shared memory
# shellcheck source=tests/integration/lib.sh
. "${top_srcdir:-.}/tests/integration/lib.sh" || exit 99
need_ganesha
server_start
nfswbd_start

plain() {
	python3 "$top_srcdir/tests/integration/plain_client.py" \
		"$NFSWB_SOCKET" "$@"
}

pattern 10000019 1 > "$tmp/source"
check "a plain client opens, writes inline, syncs and closes" \
	plain write "$(url plain)" "$tmp/source"
check "its file is identical" cmp "$tmp/source" "$ganesha_export/plain"
plain read "$(url plain)" > "$tmp/back"
check "it reads back the same" cmp "$tmp/source" "$tmp/back"
check_is "nothing of it is dirty or unstable" \
	"$(stat_of 'v["dirty_bytes"]+v["writeback_bytes"]+v["unstable_bytes"]')" \
	-eq 0

# What must not be sent ends that session, and no other.
client app
check "another program works meanwhile" tell app open "$(url other)" wc
for name in no-hello too-long garbage cut-short string-too-long second-hello \
    many-fragments; do
	check_is "a session that sends a bad message is closed: $name" \
		"$(plain bad "$name" 2>&1)" = closed
	check "and others are unharmed" tell app write 100000 "$tests_run"
done
check "the other program's data is safe" tell app close
hang_up app
check "the daemon still runs" process_runs "$nfswbd_pid"
check_is "each was logged in one line" \
	"$(grep -c 'clos' "$tmp/nfswbd.err")" -ge 7
refused "another version of the protocol is refused" 1 'version' \
	plain protocol 99
done_testing
