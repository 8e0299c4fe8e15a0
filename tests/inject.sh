#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# inject.sh - every allocation and every system call of nfswbd fails in turn
if ! command -v python3 >/dev/null; then
	echo "1..0 # SKIP python3 is not installed"
	exit 0
fi
exec python3 "${top_srcdir:-.}/tests/inject/program.py"
