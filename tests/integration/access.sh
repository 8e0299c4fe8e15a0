#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# access.sh - who may do what: two users and root on one daemon; and keys whose
# effect is seen from outside only
# shellcheck source=tests/integration/lib.sh
. "${top_srcdir:-.}/tests/integration/lib.sh" || exit 99
need python3 setpriv
[ "$(id -u)" = 0 ] || skip_all "only root can be several users"
one=4201 two=4202 admins=4203

mkdir -m 777 "$tmp/store"
: > "$tmp/sim.out"
setpriv --pdeathsig KILL "$top_builddir/tests/nfssim" -s "$tmp/store" \
	--fault 'CREATE uid=0 : status=ACCES; WRITE uid=0 : status=ACCES' \
	> "$tmp/sim.out" 2> "$tmp/sim.err" < /dev/null &
children="$children $!"
await 10 grep -q port "$tmp/sim.out" || bail "nfssim does not start"
read -r _ port < "$tmp/sim.out"
export="nfs://127.0.0.1/export/"
query="?nfsport=$port&mountport=$port"

# as UID COMMAND...: "-g GROUP" before it adds a group.
as() {
	local uid=$1 groups=--clear-groups
	shift
	if [ "$1" = -g ]; then
		groups=--groups=$2
		shift 2
	fi
	LD_LIBRARY_PATH=$tmp/programs setpriv --reuid "$uid" --regid "$uid" \
		"$groups" "$@"
}

sessions_of() {
	"$@" "$tmp/programs/nfswb" stat --json | python3 -c '
import json, sys
s = json.load(sys.stdin)
print(" ".join(sorted(str(x["uid"]) for x in s["sessions"])), s["all_users"])'
}

printf '%s\n' '[nfswbd]' 'map_root = 4204:4204' "admin_group = adm" \
	'dirty_expire_centisecs = 10' 'clean_expire_sec = 1' \
	'[mount all]' "target = $export$query" \
	'[mount closed]' "target = $export$query" "allow_users = $one" \
	"allow_groups = $admins" \
	"[uid $two]" 'max_sessions = 2' 'max_files = 1' > "$tmp/nfswb.conf"
adm=$(getent group adm | cut -d: -f3)
nfswbd_start

refused "root's daemon takes no URLs by itself" 1 'allow_urls' \
	nfswb put "$tmp/nfswb.conf" "$export/x$query"
put() {
	"$@" "$tmp/programs/nfswb" put "$tmp/programs/do" "$target"
}
target=closed:/of_one
check "a mount is for those it names" put as $one
refused "and for nobody else" 1 'allow_users' \
	as $two "$tmp/programs/nfswb" put "$tmp/programs/do" closed:/of_two
refused "not for root either" 1 'allow_users' \
	nfswb put "$tmp/programs/do" closed:/of_root
target=closed:/of_group
check "members of a group it names may" put as $two -g $admins
check "root may elsewhere, as whom it is mapped to: the server refuses uid 0" \
	nfswb put "$tmp/programs/do" all:/of_root

client a --reuid $one --regid $one --clear-groups
client b --reuid $two --regid $two --clear-groups
tell a open all:/fa wc > /dev/null
tell b open all:/fb wc > /dev/null
check_is "one sees one's own sessions" "$(sessions_of as $one)" = \
	"$one $one False"
check_is "a member of admin_group sees all" "$(sessions_of as $one -g "$adm")" \
	= "$one $one $two True"
check_is "who has no line of another's" \
	"$(as $one "$tmp/programs/nfswb" who | grep -c " $two ")" -eq 0
# says NAME REQUEST REGEX: of the answer to a control request.
says() {
	local answer
	answer=$(tell "$1" control "$2")
	echo "$answer"
	grep -Eq "$3" <<< "$answer"
}
eperm="^error 1 .*admin_group"
check "log is for administrators" \
	says a '{"command":"log","level":"debug"}' "$eperm"
check "config too" says a '{"command":"config"}' "$eperm"
client admin --reuid $two --regid $two --groups "$adm"
check "who may" says admin '{"command":"log","level":"info"}' '"level":"info"'
hang_up admin
check "what one lost oneself anybody may ask for" \
	says b '{"command":"failed"}' 'ok {"given_up":\[\]}'

client b2 --reuid $two --regid $two --clear-groups
tell b2 open all:/fb wc > "$tmp/said"
check "a file more than max_files is refused, with the reason" \
	grep -q "^error 24 .*max_files" "$tmp/said"
refused "so is a session more than max_sessions" 1 'max_sessions' \
	as $two "$tmp/programs/nfswb" stat
client a2 --reuid $one --regid $one --clear-groups
check "others have as many as they like" tell a2 open all:/fa2 wc

# Keys of time.
tell a write 1000 1 > /dev/null
check "old data is written back, as dirty_expire_centisecs says" \
	await 15 cmp "$tmp/store/fa" <(pattern 1000 1)
tell a write 1000000 1 > /dev/null
tell a fsync > /dev/null
data_blocks() {
	local fd n=0
	for fd in /proc/"$nfswbd_pid"/fd/*; do
		case $(readlink "$fd") in
		*memfd:nfswb-data*) n=$((n + $(stat -L -c %b "$fd"))) ;;
		esac
	done
	[ $n -"$1" 600 ]	# half a KiB each
}
check "data nobody uses leaves the memory, as clean_expire_sec says" \
	await 20 data_blocks lt
for name in a a2 b b2; do
	hang_up $name
done
done_testing
