# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# managed.sh - nfswbd under a service manager (manager.py), for tests on lib.sh
#
#	managed [OPTION OF manager.py...]	the manager runs, nfswbd not yet
#	manage COMMAND...			tells it; its answer without "ok"
#	managed_app NAME ARGUMENT OF ledger write...
#				$app_as: options of setpriv that it runs with
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

# The application's pid is in $app_pid, its ledger is $tmp/NAME.ledger; it has
# opened its files when this returns.
managed_app() {
	local name=$1 said
	shift
	mkfifo "$tmp/$name.said"
	(
		export LD_LIBRARY_PATH=$tmp/programs
		# shellcheck disable=SC2086
		exec setpriv --pdeathsig KILL ${app_as:-} \
			"$tmp/programs/ledger" write \
			"$(url "$name")" "$tmp/$name.ledger" "$@" \
			> "$tmp/$name.said" 2> "$tmp/$name.err"
	) &
	app_pid=$!
	children="$children $app_pid"
	read -r -t 30 said < "$tmp/$name.said"
	rm "$tmp/$name.said"
	[ "$said" = open ]
}

ledger_agrees() {
	LD_LIBRARY_PATH=$tmp/programs "$tmp/programs/ledger" check \
		"$ganesha_export/$1" "$tmp/$1.ledger"
}

nothing_is_kept() {
	[ "$(manage store)" = "" ]
}
