#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# hostile.sh - clients that break every rule harm only themselves
#
# ROUNDS: how often all of it is done (1).  SEED: of all that is random.
# NFSWBD: another daemon, for instance one built with sanitizers.
# shellcheck source=tests/integration/lib.sh
. "${top_srcdir:-.}/tests/integration/lib.sh" || exit 99
need_ganesha
need python3
rounds=${ROUNDS:-1}
: "${SEED:=$RANDOM}"
echo "# SEED=$SEED ROUNDS=$rounds"
server_start
nfswbd_config 'slab_bytes = 8M' 'late_duplicate_sec = 1' 'grace_sec = 2'
nfswbd_start

# hostile PHASE: descriptors 7 and 8 speak with it.
hostile_start() {
	coproc {
		exec setpriv --pdeathsig KILL \
			python3 "$top_srcdir/tests/integration/hostile.py" \
			"$NFSWB_SOCKET" "$(url hostile)" "$SEED" "$1" \
			2>> "$tmp/hostile.err" 9>&-
	}
	hostile_pid=$COPROC_PID
	children="$children $hostile_pid"
	exec 7<&"${COPROC[0]}"- 8>&"${COPROC[1]}"-
}

hostile_reads() {
	read -r -t 100 -u 7 said
}

hostile_end() {
	exec 7<&- 8>&-
	wait "$hostile_pid"
}

put_begin() {
	nfswb_exec put - "$(url honest)" < "$tmp/stream" 2> "$tmp/put.msg" &
	put_pid=$!
	children="$children $put_pid"
	exec 9> "$tmp/stream"
	pattern 5000000 1 >&9
}

put_end() {
	pattern 5000000 1 5000000 >&9
	exec 9>&-
	wait $put_pid
	check_is "a put that ran beside them ends with exit code 0" $? -eq 0
	check "without a word" cmp "$tmp/put.msg" /dev/null
	check "its file is identical" \
		cmp <(pattern 10000000 1) "$ganesha_export/honest"
}

closed_lines() {
	grep -c 'session .* closed: ' "$tmp/nfswbd.err"
}

mkfifo "$tmp/stream"
for ((n = 0; n < rounds; n++)); do
	pid=$nfswbd_pid
	put_begin
	before=$(closed_lines)
	hostile_start closed
	closed=0
	while hostile_reads; do
		case $said in not\ *) echo "# $said" ;; *) closed=$((closed + 1)) ;; esac
	done
	hostile_end
	check_is "all who break a rule are closed" "$closed" -eq 18
	check_is "with one line each" $(($(closed_lines) - before)) -eq 18

	hostile_start borne
	borne=0
	while [ "$borne" -lt 17 ] && hostile_reads; do
		case $said in
		not\ *) echo "# $said" ;;
		*closed*) echo "# $said" ;&
		*) borne=$((borne + 1)) ;;
		esac
	done
	check_is "the others are borne" "$borne" -eq 17
	put_end
	hostile_end

	put_begin
	hostile_start crowd
	check "a thousand connect" hostile_reads
	put_end
	hostile_end

	put_begin
	hostile_start resume
	hostile_reads
	check "it is the daemon that began" process_runs "$pid"
	nfswbd_kill
	nfswbd_start
	echo >&8 2> /dev/null
	resumed=0
	while [ "$resumed" -lt 16 ] && hostile_reads; do
		resumed=$((resumed + 1))
	done
	check_is "false memory is offered in many forms" "$resumed" -eq 16
	put_end
	hostile_end
	check "the daemon runs on" process_runs "$nfswbd_pid"
	check "and answers" nfswb stat --json
	SEED=$((SEED + 1))
done
check "no sanitizer had to speak" \
	sh -c '! grep -E "runtime error|Sanitizer" "$0"' "$tmp/nfswbd.err"
diag < "$tmp/hostile.err"
done_testing
