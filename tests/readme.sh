#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# README's C example is lib/example.c, which is compiled.
set -u
cd "${top_srcdir:-.}" || exit 99
echo 1..1
shown=$(sed -n '/^```c$/,/^```$/{/^```/d;p}' README.md)
if [ "$shown" = "$(cat lib/example.c)" ]; then
	echo "ok 1 - README shows lib/example.c"
else
	echo "not ok 1 - README shows lib/example.c"
	diff <(echo "$shown") lib/example.c | sed 's/^/# /'
fi
