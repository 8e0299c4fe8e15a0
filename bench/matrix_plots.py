# SPDX-License-Identifier: LGPL-2.1-or-later
"""matrix_plots - SVG by gnuplot, where that is installed"""

import os
import shutil
import subprocess
import sys
import tempfile

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


def plot_bandwidth(path, model, data, without, with_):
    bound = model == 'disk'
    rows = [(label(c), data.median(without, c, 'write_bw'),
             data.median(with_, c, 'write_bw')) +
            ((cells.physical_bound(*c),) if bound else ())
            for c in data.cases()]
    dat = table(rows)
    script = HEAD % (path, 'write\\\\_bw by limit and writers, %s (MB/s)' %
                     model)
    script += 'set yrange [0:*]\nplot "%s" using 2:xtic(1) title "%s" ' \
        'lc rgb "#999999", "" using 3 title "%s" lc rgb "#2060a0"' % (
            dat, without, with_)
    if bound:
        script += ', "" using 0:4 with points pt 2 ps 1 lc rgb "#c00000" ' \
            'title "bound for equal shares"'
    draw(script + '\n')
    os.unlink(dat)


def plot_queue(path, model, data, without, with_):
    name = 'nfs_write_queue_time'
    rows = [(label(c), max(data.median(without, c, name), 0.01),
             max(data.median(with_, c, name), 0.01)) for c in data.cases()]
    dat = table(rows)
    script = HEAD % (path, 'Mean time a WRITE is queued, %s (ms)' % model)
    script += 'set logscale y\nset yrange [0.01:*]\n' \
        'plot "%s" using 2:xtic(1) title "%s" lc rgb "#999999", ' \
        '"" using 3 title "%s" lc rgb "#2060a0"\n' % (dat, without, with_)
    draw(script)
    os.unlink(dat)


def plot(folder, model, data, without, with_):
    there = data.variants()
    if without not in there or with_ not in there:
        return
    if not shutil.which('gnuplot'):
        sys.stderr.write('matrix: no plots: gnuplot is not installed '
                         '(Debian: apt-get install gnuplot-nox)\n')
        return
    for figure, fn in (('write_bw', plot_bandwidth), ('queue', plot_queue)):
        fn('%s/matrix-%s-%s.svg' % (folder, model, figure), model, data,
           without, with_)
