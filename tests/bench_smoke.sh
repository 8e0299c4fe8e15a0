#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# bench/smoke, as a test: make check-bench
set -u
command -v python3 > /dev/null || {
	echo "1..0 # SKIP python3 is not installed"
	exit 0
}
exec "${top_srcdir:-.}/bench/smoke" --build "${top_builddir:-.}"
