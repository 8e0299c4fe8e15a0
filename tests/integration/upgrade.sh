#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# upgrade.sh - SIGUSR2 has nfswbd executed anew under load: no call fails, nothing
# is lost; and where the new program or its configuration is no good, the old
# one goes on
#
# ROUNDS: how often under load (3).  SEED: of all that is random.
# shellcheck source=tests/integration/lib.sh
. "${top_srcdir:-.}/tests/integration/lib.sh" || exit 99
# shellcheck source=tests/integration/managed.sh
. "$top_srcdir/tests/integration/managed.sh"
need_ganesha
need python3
rounds=${ROUNDS:-3}
RANDOM=${SEED:=$RANDOM}
echo "# SEED=$SEED ROUNDS=$rounds"
server_start

# The program is a file of its own, so that another can be put in its place.
real=$(cd "$top_builddir" && realpath "${NFSWBD:-nfswbd}")
NFSWBD=$tmp/nfswbd
install_program() {
	cp "$real" "$NFSWBD.new" && mv "$NFSWBD.new" "$NFSWBD"
}
install_program
nfswbd_config 'dirty_bytes = 64M' 'dirty_background_bytes = 4M'
managed
manage start > "$tmp/heard" || bail "nfswbd does not start"

instance() {
	stat_of 's["instance"]'
}

writers_start

pid=$(manage pid) failed=0 same=0 gone=0
for ((n = 1; n <= rounds; n++)); do
	a_moment 400
	before=$(instance)
	install_program
	[ "$(manage reload)" = "$pid" ] || gone=$((gone + 1))
	[ "$(instance)" != "$before" ] || same=$((same + 1))
	writers_run || failed=$((failed + 1))
done
a_moment 400
check_is "it is the same process all the time" $gone -eq 0
check_is "and another instance each time" $same -eq 0
check_is "no call of any writer failed" $failed -eq 0
writers_end
check "nothing stays in the store" await 20 nothing_is_kept

# What can't start is not executed.
client app
tell app open "$(url goes_on)" wc > "$tmp/heard"

goes_on() {
	local what=$1 said=$2 before count
	before=$(instance)
	count=$(grep -c 'this nfswbd goes on' "$tmp/nfswbd.err")
	check "$what: asked in vain" manage reload
	check_is "$what: the old one goes on" "$(instance)" = "$before"
	check_is "$what: and says so" \
		"$(grep -c 'this nfswbd goes on' "$tmp/nfswbd.err")" -eq \
		$((count + 1))
	check "$what: with the reason" grep -q "$said" "$tmp/nfswbd.err"
	check "$what: its clients notice nothing" tell app write 10000 1
}
printf '#!/bin/sh\nexit 1\n' > "$NFSWBD.new"
chmod +x "$NFSWBD.new"
mv "$NFSWBD.new" "$NFSWBD"
goes_on "a program that fails" "can't start with this configuration"
rm "$NFSWBD"
goes_on "no program" "No such file or directory"
install_program
chmod -x "$NFSWBD"
goes_on "a file that may not be executed" "Permission denied"
install_program
nfswbd_config 'dirty_bytes = plenty'
goes_on "a configuration with a fault" 'nfswb.conf.*dirty_bytes'
# It passes the check, and is gone when it is to be executed.
printf '#!/bin/sh\nrm "$0"\n' > "$NFSWBD.new"
chmod +x "$NFSWBD.new"
mv "$NFSWBD.new" "$NFSWBD"
goes_on "a program that vanishes" "No such file or directory"
install_program
nfswbd_config 'dirty_bytes = 32M'
check "a good one takes over" manage reload
check_is "with the new configuration" "$(stat_of 's["throttle"]["limit"]')" \
	-eq $((32 << 20))
check "its clients notice nothing" tell app fsync
check "all of it is there" \
	cmp <(for n in 1 2 3 4 5; do pattern 10000 1; done) \
	"$ganesha_export/goes_on"

# A daemon that dies later is started with what it stored before.
manage kill > "$tmp/heard"
check "the client goes on when that one dies" tell app write 10000 1
hang_up app
check_is "it stops with exit code 0" "$(manage stop)" -eq 0
manage quit > "$tmp/heard"

# Without a service manager, and on a socket of its own.
nfswbd_config
nfswbd_start
client app2
tell app2 open "$(url alone)" wc > "$tmp/heard"
tell app2 write 100000 1 > "$tmp/heard"
before=$(instance)
executed() {
	[ "$(instance)" != "$before" ]
}
kill -USR2 "$nfswbd_pid"
check "without a service manager another instance comes too" \
	await 10 executed
check "the client goes on" tell app2 write 100000 1
check "its data is written" tell app2 fsync
check "it is there once" \
	cmp <(pattern 100000 1; pattern 100000 1) "$ganesha_export/alone"
refused "a second daemon is refused as before" 1 'a daemon already runs' \
	"$NFSWBD" -c "$tmp/nfswb.conf" -s "$NFSWB_SOCKET"
hang_up app2
kill -TERM "$nfswbd_pid"
wait "$nfswbd_pid"
check_is "it stops with exit code 0" $? -eq 0
nfswbd_pid=
check "and takes its socket away" test ! -e "$NFSWB_SOCKET"
done_testing
