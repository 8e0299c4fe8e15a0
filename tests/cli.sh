#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# cli.sh - nfswb's command line: what it refuses, in one line, and its exit code
#
# No daemon runs here.  Speaks TAP.

nfswb=${top_builddir:-.}/nfswb
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
no=$tmp/no.sock
nr=0
fail=0

ok()	# $1: 0 or else, $2: the sentence
{
	nr=$((nr + 1))
	if test "$1" = 0; then echo "ok $nr - $2"
	else echo "not ok $nr - $2"; fail=1; fi
}

# $1: the sentence, $2: exit code wanted, $3: text wanted, on standard error
# unless the code is 0; the rest: arguments
try()
{
	name=$1 code=$2 text=$3
	shift 3
	"$nfswb" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	got=$?
	if test "$code" = 0; then said=$tmp/out; else said=$tmp/err; fi
	if test "$got" = "$code" && grep -qF -e "$text" "$said" &&
	   { test "$code" = 0 || test "$(wc -l <"$tmp/err")" = 1; }; then
		ok 0 "$name"
	else
		echo "# exit code $got, want $code and: $text"
		sed 's/^/# /' "$tmp/out" "$tmp/err"
		ok 1 "$name"
	fi
}

echo 1..31
try help_names_every_command 0 'top [--interval SEC]' --help
try help_ends_with_the_exit_codes 0 'Exit code: 0' -h
test "$(wc -l <"$tmp/out")" -le 24
ok $? help_fits_a_screen
for c in put get sync stat who top; do
	try "${c}_has_its_own_help" 0 "Usage: nfswb $c" $c --help
done
try version_is_told 0 'nfswb ' --version
try no_command_is_refused 2 "nfswb: no command given; try 'nfswb --help'"
try an_unknown_command_is_refused 2 "unknown command 'copy'" copy
try an_unknown_option_is_refused 2 "unknown option '--what'" --what
try an_unknown_short_option_is_refused 2 "unknown option '-x'" -x
try socket_needs_a_value 2 "option '-s' needs a value" -s
try put_needs_a_source 2 'nfswb put: no SRC given' put
try put_needs_a_target 2 'nfswb put: SRC or TARGET is missing' put a
try put_refuses_an_unknown_option 2 "unknown option '--fast'" put --fast a b
try get_takes_two_arguments 2 'it takes TARGET and DST' get a
try sync_takes_one_target 2 'one TARGET at most' sync a b
try sync_timeout_is_a_number 2 '--timeout soon: no number' sync --timeout soon
try sync_timeout_is_above_0 2 '--timeout 0: no number' sync -t 0
try stat_takes_no_argument 2 "takes no argument 'x'" stat x
try stat_interval_is_a_number 2 'x: not a number above 0' stat --interval x
try stat_count_needs_an_interval 2 '--count needs --interval' stat --count 2
try who_takes_no_argument 2 "takes no argument 'x'" who x
try top_count_is_a_number 2 '0: not a number above 0' top -c 0
try no_daemon_says_so_and_what_to_do 1 'is nfswbd running?' -s "$no" stat
try no_daemon_names_the_socket 1 "$no" -s "$no" sync
try no_daemon_fails_put 1 'is nfswbd running?' -s "$no" put "$0" nfs://s/x
try no_daemon_fails_get 1 'is nfswbd running?' -s "$no" get nfs://s/x -
exit $fail
