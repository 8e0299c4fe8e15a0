# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# managed.sh - nfswbd under a service manager (manager.py), for tests on lib.sh
#
#	managed [OPTION OF manager.py...]	the manager runs, nfswbd not yet
#	manage COMMAND...			tells it; its answer without "ok"
#
# $NFSWB_SOCKET is set as for nfswbd_start, which is not to be used beside it.

managed() {
	[ -e "$tmp/nfswb.conf" ] || nfswbd_config
	export NFSWB_SOCKET=$tmp/nfswbd.sock
	mkfifo "$tmp/manager.in" "$tmp/manager.out"
	setpriv --pdeathsig KILL python3 \
		"$top_srcdir/tests/integration/manager.py" "$@" "$tmp" \
		"${NFSWBD:-$top_builddir/nfswbd}" -c "$tmp/nfswb.conf" \
		-s "$NFSWB_SOCKET" < "$tmp/manager.in" > "$tmp/manager.out" \
		2>> "$tmp/nfswbd.err" &
	children="$children $!"
	exec {manager_in}> "$tmp/manager.in" {manager_out}< "$tmp/manager.out"
}

manage() {
	local answer='no answer'
	echo "$*" >&"$manager_in"
	read -r -t 70 answer <&"$manager_out"
	set -- "${answer%% *}" "${answer#ok}"
	echo "${2# }"
	[ "$1" = ok ]
}

nothing_is_kept() {
	[ "$(manage store)" = "" ]
}
