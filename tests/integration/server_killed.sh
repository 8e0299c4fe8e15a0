#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# server_killed.sh - the server is killed in the middle of a put and comes back
# shellcheck source=tests/integration/lib.sh
. "${top_srcdir:-.}/tests/integration/lib.sh" || exit 99
need_ganesha
server_start 1001
nfswbd_start

bytes=$((512 << 20))
pattern $bytes 1 > "$tmp/source"

put_with_kill first 2002
check_is "the server's new verifier is counted" \
	"$(stat_of 'v["verifier_changes"]')" -ge 1
changes=$(stat_of 'v["verifier_changes"]')
echo "# sent again: $(stat_of 'v["replayed_bytes"]') bytes"
rm "$ganesha_export/first"

# within the same second it keeps its verifier
put_with_kill second 2002
check_is "the same verifier is no change" \
	"$(stat_of 'v["verifier_changes"]')" -eq "$changes"
check_is "the server is up" "$(stat_of 'v["state"]')" = up
check_is "nothing was given up" "$(stat_of 'len(s["given_up"])')" -eq 0
done_testing
