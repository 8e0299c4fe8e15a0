#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# check_includes.sh - who may include whom
#
# Reads every #include of the tree and holds it against the table below; then
# breaks each rule once in a tree of its own, to show that it would be seen.
# Speaks TAP.

top=${top_srcdir:-$(dirname "$0")/..}

# Prints "file:line: what: why" for each breach below folder $1.
breaches()
{
	(cd "$1" && find include common rpc daemon lib cli \
		-name '*.[ch]' -type f 2>/dev/null | sort |
	 xargs -r awk '
	BEGIN {
		# our own headers, by the folder they lie in
		own["include"] = "include"
		own["common"] = "include common"
		own["rpc"] = "include common rpc"
		own["daemon/writeback"] = "include common daemon/writeback"
		own["daemon"] = "include common rpc daemon/writeback daemon"
		own["lib"] = "include common lib"
		own["cli"] = "cli"

		# other peoples headers: where they may be named, and where
		# in spite of that they may not
		lib["^(event2/|event[.]h|ev[a-z]+[.]h)"] = "daemon/(loop|metrics)[.]c$"
		lib["^nfsc/"] = "daemon/mount[.]c$"
		lib["^jansson"] = "(daemon|cli)/[^/]*$"
		lib["^systemd/"] = "daemon/[^/]*$"
		lib["^ini[.]h"] = "daemon/[^/]*$"
		lib["^rpc/"] = "(rpc|daemon|lib)/[^/]*$"
		lib["^(sys/socket|sys/un|netinet/|netdb|sys/epoll)"] = \
			"(common|rpc|daemon|lib)/[^/]*$"
		lib["^poll"] = "(common|rpc|daemon|lib|cli)/[^/]*$"
	}
	function breach(why)
	{
		printf "%s:%d: %s: %s\n", FILENAME, FNR, $0, why
	}
	function folder_of(path)
	{
		sub("/[^/]*$", "", path)
		return path ~ "^daemon/writeback" ? "daemon/writeback" : path
	}
	function is_in(word, list)
	{
		return index(" " list " ", " " word " ") > 0
	}
	function check_own(name, from,   to)
	{
		if (name == "autoconf.h")
			return
		if (name !~ "/" || name ~ "[.][.]/")
			return breach("give the path from the top")
		to = folder_of(name)
		if (from == "cli" && name == "include/nfswb.h")
			return
		if (!is_in(to, own[from]))
			breach(from "/ may include: " own[from])
		if (FILENAME == "daemon/mount.c" &&
		    name ~ "_prot[.]h$")
			breach("libtirpc and libnfs cannot meet in one file")
	}
	function check_lib(name,   re)
	{
		for (re in lib)
			if (name ~ re && FILENAME !~ ("^" lib[re]))
				breach("only for " lib[re])
		if (FILENAME == "daemon/mount.c" && name ~ "^rpc/")
			breach("libtirpc and libnfs cannot meet in one file")
	}
	# what rpcgen made in the source folder is not ours
	FILENAME ~ "_prot(_xdr)?[.][ch]$" { next }
	/^[ \t]*#[ \t]*include[ \t]*"/ {
		split($0, part, "\"")
		check_own(part[2], folder_of(FILENAME))
	}
	/^[ \t]*#[ \t]*include[ \t]*</ {
		split($0, part, "[<>]")
		check_lib(part[2])
	}')
}

nr=0
ok()	# $1: 0 or else, $2: the sentence
{
	nr=$((nr + 1))
	if test "$1" = 0; then echo "ok $nr - $2"
	else echo "not ok $nr - $2"; fail=1; fi
}

fail=0
echo 1..23
found=$(breaches "$top")
test -z "$found" || echo "$found" | sed 's/^/# /'
ok "$(test -z "$found"; echo $?)" "every_include_keeps_to_the_table"

tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
try()	# $1: want "seen" or "fine", $2: file, $3: header with its marks
{
	mkdir -p "$tmp/$(dirname "$2")"
	echo "#include $3" >"$tmp/$2"
	got=$(breaches "$tmp")
	rm "$tmp/$2"
	if test "$1" = seen; then test -n "$got"; else test -z "$got"; fi
	ok $? "$2 with $3 is $1"
}
try seen include/x.h '"common/ring.h"'
try seen common/x.c '<event2/event.h>'
try seen common/x.c '"rpc/client.h"'
try seen common/x.c '<rpc/rpc.h>'
try seen common/x.h '<jansson.h>'
try seen rpc/x.c '"daemon/session.h"'
try seen rpc/x.c '<nfsc/libnfs.h>'
try seen daemon/writeback/x.c '"rpc/client.h"'
try seen daemon/writeback/x.c '"daemon/session.h"'
try seen daemon/writeback/x.c '<sys/socket.h>'
try seen daemon/writeback/x.c '<jansson.h>'
try seen daemon/session.c '<event2/event.h>'
try seen daemon/session.c '<nfsc/libnfs.h>'
try seen daemon/mount.c '<rpc/xdr.h>'
try seen daemon/mount.c '"include/nfswb_prot.h"'
try seen daemon/session.c '"lib/x.h"'
try seen lib/x.c '"rpc/client.h"'
try seen cli/x.c '"common/hist.h"'
try seen daemon/x.c '"session.h"'
try fine daemon/loop.c '<event2/event.h>'
try fine daemon/mount.c '<nfsc/libnfs.h>'
try fine cli/x.c '"include/nfswb.h"'
exit $fail
