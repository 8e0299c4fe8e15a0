#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# bench/writers and bench/plots run, and say what they are to say: a moment of each,
# no time is held against anything.
set -u
top=$(cd "${top_srcdir:-.}" && pwd)
build=$(cd "${top_builddir:-.}" && pwd)
nr=0
failed=0

result() {	# 0|1 SENTENCE
	nr=$((nr + 1))
	if [ "$1" = 0 ]; then
		echo "ok $nr - $2"
	else
		failed=1
		echo "not ok $nr - $2"
		sed 's/^/# /' "$tmp/out"
	fi
}

bench() {
	timeout -k 5 120 "$top/bench/$1" --build "$build" --results "$tmp" \
		"${@:2}" > "$tmp/out" 2>&1
}

# rows FILE VARIANT...: each has a row.  What is in it is the machine's affair.
rows() {
	local file=$1 v
	shift
	for v; do
		grep -q "^[a-z0-9]*,2,$v,1,[0-9]" "$tmp/$file" || return 1
	done
}

command -v python3 > /dev/null || {
	echo "1..0 # SKIP python3 is not installed"
	exit 0
}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/nfswb-writers.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT

bench writers --scene sim --rounds 1 --writers 2 --seconds 1 --store &&
	rows writers-sim.csv ioless foreground none
result $? "the variants are compared in virtual time"

bench writers --scene discard --rounds 1 --writers 2 --warm 0.1 --window 0.2 \
	--store && rows writers-discard.csv ioless foreground none
result $? "and over TCP"

bench writers --scene drain --rounds 1 --writers 2 --warm 0.1 --window 1 \
	--store && rows writers-drain.csv ioless foreground none bare &&
	grep -q '^drain, 2 writers, ioless' "$tmp/writers-drain.txt"
result $? "and with the copying alone"

if command -v gnuplot > /dev/null; then
	bench plots --seconds 5 join-10 &&
		grep -q '</svg>' "$tmp/writers-join-10.svg"
	result $? "what is dirtied over time is drawn"
else
	nr=$((nr + 1))
	echo "ok $nr - plots # SKIP gnuplot is not installed"
fi
echo "1..$nr"
exit $failed
