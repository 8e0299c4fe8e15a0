# SPDX-License-Identifier: LGPL-2.1-or-later
"""matrix_plots - SVG by gnuplot, where that is installed"""

import os
import shutil
import subprocess
import sys
import tempfile

import matrix_bounds as bounds
import matrix_cells as cells

HEAD = '''set terminal svg size 900,420 font "sans,12" background "white"
set output "%s"
set title "%s"
set style data histogram
set style histogram clustered gap 1
set style fill solid 0.8 border -1
set boxwidth 0.9
set key outside bottom center horizontal
set xtics rotate by -35 scale 0
set grid ytics
'''


def table(rows):
    f = tempfile.NamedTemporaryFile('w', suffix='.dat', delete=False)
    for row in rows:
        f.write(' '.join('"%s"' % row[0] if i == 0 else '%.6g' % v
                         for i, v in enumerate(row)) + '\n')
    f.close()
    return f.name


def draw(script):
    done = subprocess.run(['gnuplot'], input=script, universal_newlines=True,
                          stderr=subprocess.PIPE)
    if done.returncode:
        raise RuntimeError('gnuplot: ' + done.stderr.strip())


def label(case):
    return '%s, %d' % (cells.limit_name(case[0]), case[1])


COLOURS = ['#999999', '#7fb0e0', '#20609f', '#104070']


def bars(dat, variants):
    return ', '.join('"%s" using %d:xtic(1) title "%s" lc rgb "%s"' % (
        dat, i + 2, v, COLOURS[min(i, len(COLOURS) - 1)])
        for i, v in enumerate(variants))


def plot_bandwidth(path, model, data, variants):
    bound = bounds.BESIDE.get(model)
    rows = [(label(c),) +
            tuple(data.median(v, c, 'write_bw') for v in variants) +
            ((bound(*c),) if bound else ())
            for c in data.cases()]
    dat = table(rows)
    script = HEAD % (path, 'write\\\\_bw by limit and writers, %s (MB/s)' %
                     model)
    script += 'set yrange [0:*]\nplot ' + bars(dat, variants)
    if bound:
        script += ', "%s" using 0:%d with points pt 2 ps 1 lc rgb ' \
            '"#c00000" title "bound for equal shares"' % (
                dat, len(variants) + 2)
    draw(script + '\n')
    os.unlink(dat)


def plot_queue(path, model, data, variants):
    rows = [(label(c),) + tuple(
        max(data.median(v, c, 'nfs_write_queue_time'), 0.01)
        for v in variants) for c in data.cases()]
    dat = table(rows)
    script = HEAD % (path, 'Mean time a WRITE is queued, %s (ms)' % model)
    script += 'set logscale y\nset yrange [0.01:*]\nplot ' + \
        bars(dat, variants) + '\n'
    draw(script)
    os.unlink(dat)


def plot(folder, model, data, variants):
    there = data.variants()
    variants = [v for v in variants if v in there]
    if len(variants) < 2:
        return
    if not shutil.which('gnuplot'):
        sys.stderr.write('matrix: no plots: gnuplot is not installed '
                         '(Debian: apt-get install gnuplot-nox)\n')
        return
    for figure, fn in (('write_bw', plot_bandwidth), ('queue', plot_queue)):
        fn('%s/matrix-%s-%s.svg' % (folder, model, figure), model, data,
           variants)
