#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every test that nfswb(3) names for a promise, and HACKING.md for a trouble
# that was reported, is there, and is run.
set -u
top=${top_srcdir:-.}
page=$top/man/nfswb.3.scd
nr=0

result() {	# 0|1 name
	nr=$((nr + 1))
	if [ "$1" = 0 ]; then
		echo "ok $nr - $2"
	else
		echo "not ok $nr - $2"
	fi
}

# A unit test: in the list of its file.  A script: it may be run.
exists() {	# file name
	case $1 in
	*.c) grep -q "UNIT($2)" "$top/$1" ;;
	*) [ -x "$top/$1" ] ;;
	esac
}

while read -r file name; do
	exists "$file" "$name"
	result $? "${file#tests/} ${name:-is there}"
done < <(sed -n '/^# WHAT HOLDS THIS/,/^# SEE ALSO/s/^\t- //p' "$page" |
	 tr -d '\\' | sed 's/: / /')

[ "$nr" -ge 30 ]
result $? "the page names $nr tests"

# "| trouble | `file`: `test` |", "`file`", "`integration/file`, more words"
while read -r file name; do
	case $file in
	integration/*) exists "tests/$file" "" ;;
	*) exists "tests/$file.c" "${name:-}" ;;
	esac
	result $? "HACKING.md: $file ${name:-}"
done < <(sed -n '/^| reported/,/^$/s/.* | `\([^`]*\)`\(: `\([^`]*\)`\)\{0,1\}.*/\1 \3/p' \
	"$top/HACKING.md")
while read -r file; do
	grep -q "tests/integration/$file" "$top/tests/integration.inc"
	result $? "HACKING.md: integration/$file is run"
done < <(sed -n '/^| integration test/,/^$/p' "$top/HACKING.md" |
	grep -o '`[a-z_]*\.sh`' | tr -d '`')

# What a hostile client may try: a client of hostile.py, or a test.
tried() {
	grep -q "^def $1(" "$top/tests/integration/hostile.py" ||
		grep -q "UNIT($1)" "$top"/tests/*_test.c ||
		[ -e "$top/tests/$1.c" ]
}

while read -r name; do
	tried "${name##*/}"
	result $? "HACKING.md: tried: $name"
done < <(sed -n '/^| tried/,/^$/p' "$top/HACKING.md" |
	grep -o '`[a-zA-Z0-9_]*`' | tr -d '`' | sort -u)

# One that is not there would be found.
! tried no_such_thing
result $? "what nobody tries is missed"
! exists tests/lib_test.c no_such_test
result $? "a test that is not there is missed"
echo "1..$nr"
