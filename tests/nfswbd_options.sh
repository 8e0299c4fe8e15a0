#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# nfswbd's options and exit codes, as far as it does not start
nfswbd=$top_builddir/nfswbd
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
n=0

# expect CODE TEXT NAME COMMAND...: the exit code, and a text in the output
expect() {
	code=$1 text=$2 name=$3
	shift 3
	n=$((n + 1))
	"$@" >"$dir/out" 2>&1
	got=$?
	if [ $got -eq "$code" ] && grep -qF -e "$text" "$dir/out"; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		echo "# exit code $got, wanted $code and \"$text\":"
		sed 's/^/# /' "$dir/out"
	fi
}

printf '[nfswbd]\ngrace_sec = 5\n' >"$dir/good"
printf '[nfswbd]\n\ngrace = 5\nsoft = 8\n' >"$dir/bad"
: >"$dir/file"

echo 1..11
expect 0 'Usage: nfswbd' help_is_printed "$nfswbd" --help
expect 0 'nfswbd 0.' version_is_printed "$nfswbd" --version
expect 2 'nfswbd --help' unknown_option_is_refused "$nfswbd" --frobnicate
expect 2 '"x" is no option' argument_is_refused "$nfswbd" x
expect 0 'is good' good_file_passes "$nfswbd" -t -c "$dir/good"
expect 0 'is good' example_passes "$nfswbd" -t -c "$top_srcdir/conf/nfswb.conf"
expect 1 "$dir/bad:3: unknown key" first_fault_is_named \
	"$nfswbd" -t -c "$dir/bad"
expect 1 "$dir/bad:4: soft" second_fault_is_named "$nfswbd" -t -c "$dir/bad"
expect 1 "$dir/none: can't be read" missing_file_is_named \
	"$nfswbd" -t -c "$dir/none"
expect 1 "$dir/bad:3: unknown key" bad_file_does_not_start \
	"$nfswbd" -c "$dir/bad" -s "$dir/sock"
expect 1 "not a socket" file_in_the_way_does_not_start \
	"$nfswbd" -c "$dir/good" -s "$dir/file"
