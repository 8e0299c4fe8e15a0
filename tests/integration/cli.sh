#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# cli.sh - what goes where, what is refused, and what the others show
# shellcheck source=tests/integration/lib.sh
. "${top_srcdir:-.}/tests/integration/lib.sh"
need_ganesha
server_start
nfswbd_start

src=$tmp/src dst=$ganesha_export
mkdir -p "$src/dir/sub" "$src/other/sub"
echo one > "$src/dir/sub/one"
echo two > "$src/other/sub/two"
echo x > "$src/x"
echo y > "$src/y"
mkfifo "$src/dir/pipe"
mkdir "$dst/in"

# refused CODE TEXT ARGUMENT...: one line on standard error that says TEXT
refused() {
	local code=$1 text=$2 got
	shift 2
	nfswb "$@" > "$tmp/out" 2> "$tmp/err" < /dev/null
	got=$?
	cat "$tmp/err"
	[ "$got" = "$code" ] && [ "$(wc -l < "$tmp/err")" = 1 ] &&
		grep -qF -e "$text" "$tmp/err"
}

same() {
	cmp "$src/$1" "$dst/$2"
}

# where things go

check "a file is put into a directory" nfswb put "$src/x" "$(url in)"
check "it has its own name there" same x in/x
check "two files are put" nfswb put "$src/x" "$src/y" "$(url '')"
check "the second is there too" same y y
check "a tree becomes a name that is new" nfswb put -r "$src/dir" "$(url new)"
check "without a folder more" same dir/sub/one new/sub/one
check "put again it goes into the directory" \
	nfswb put -r "$src/dir/" "$(url new/)"
check "under its own name" same dir/sub/one new/dir/sub/one
check "two trees are put into one" \
	nfswb put -r "$src/dir/." "$src/other/." "$(url in)"
check "and both are there" test -f "$dst/in/sub/one" -a -f "$dst/in/sub/two"
check "a pipe in a tree is no failure, and told" \
	refused 0 "$src/dir/pipe: skipped" put -r "$src/dir" "$(url skip)"
truncate -s 20M "$src/holes"
echo data | dd of="$src/holes" bs=1M seek=7 conv=notrunc status=none
check "a file with holes is put" nfswb put "$src/holes" "$(url '')"
check "it reads the same" same holes holes
check_is "its holes take no room" "$(du -k "$dst/holes" | cut -f1)" -lt 2000
check "what is got on standard output is what was put" \
	sh -c 'test "$(cat)" = x' < <(nfswb get "$(url x)" -)

# what is refused

check "a folder without -r is refused" \
	refused 1 'is a directory; try put -r' put "$src/dir" "$(url z)"
check "two files need a directory" \
	refused 1 'is no directory' put "$src/x" "$src/y" "$(url x)"
check "a slash needs a directory" \
	refused 1 'No such file' put "$src/x" "$(url none/)"
check "standard input needs a name" \
	refused 1 'name a file in it' put - "$(url in)"
check "two files of one name are refused" \
	refused 1 'both would become' put "$src/x" "$src/dir/../x" "$(url in)"
mkdir "$dst/half" "$dst/half/x"
check "a failure of one file is one line and exit code 1" \
	refused 1 "put $src/x: " put "$src/x" "$src/y" "$(url half)"
check "the other is there" same y half/y
check "a folder can't be got" \
	refused 1 'Is a directory' get "$(url in)" "$tmp/got"
echo keep > "$tmp/got"
check "what is not there can't be got" \
	refused 1 'No such file' get "$(url none)" "$tmp/got"
check "and the local file is left alone" grep -qx keep "$tmp/got"

# what is shown

check "stat names the server" sh -c 'grep -q "^server .*: up$"' < <(nfswb stat)
check "stat shows rates from the second report on" \
	sh -c 'test "$(grep -c calls/s)" = 1' < <(nfswb stat -i 0.01 -c 2)
check "stat --json is the daemon's JSON" python3 -m json.tool \
	<(nfswb stat --json)
check "top ends after its count" \
	sh -c 'test "$(grep -c ^SERVER)" = 2' < <(nfswb top -i 0.01 -c 2)

# A server that stands still: somebody waits, and who says for what.
who_waits() {
	nfswb who | grep -Eq 'nfswb .* (write|commit|reply) .*[0-9] [mu]?s( |$)'
}
kill -STOP "$ganesha_pid"
nfswb put "$src/y" "$(url in/late)" &
children="$children $!"
late=$!
check "who shows what a writer is waiting for" await 10 who_waits
kill -CONT "$ganesha_pid"
wait "$late"
check_is "it ends well when the server goes on" $? -eq 0
check "what it wrote is there" same y in/late

check "all is on stable storage" nfswb sync
done_testing
