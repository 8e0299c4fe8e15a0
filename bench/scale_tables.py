# SPDX-License-Identifier: LGPL-2.1-or-later
"""scale_tables - figures of bench/scale as tables and curves, beside the goals"""

import os
import shutil
import statistics
import tempfile

import matrix_plots as plots
import matrix_store as store
import scale_run as run

PLOT = '''set terminal svg size 760,420 font "sans,12" background "white"
set output "%s"
set title "%s"
set logscale x
set format x "%%.0s%%c"
set xlabel "how many"
set ylabel "cost of a write, the smallest of each curve is 1"
set yrange [0:*]
set key left top
set grid
plot %s
'''


def about(rounds):
    return [a for a in store.about('disk', rounds, 0)
            if a[0] not in ('model', 'seeds', 'simulated')] + [
        ('rounds', '%d; medians (least - most)' % rounds),
        ('load', '%.1f' % os.getloadavg()[0])]


def values(rounds, name):
    return [r[name] for r in rounds if name in r]


def middle(rounds, name):
    return statistics.median(values(rounds, name))


def three(rounds, name, form='%.1f'):
    v = values(rounds, name)
    return (form + ' (' + form + ' - ' + form + ')') % (
        statistics.median(v), min(v), max(v))


def sim_table(series, sizes):
    lines = ['%10s%10s%8s%8s%8s%8s%8s%26s' % (
        '', 'steps', 'post', 'turn', 'answer', 'commit', 'reclaim',
        'ns')]
    for n, rounds in sizes.items():
        line = '%10d' % n
        for k in ('steps', 'post_steps', 'turn_steps', 'answer_steps',
                  'commit_steps', 'reclaim_steps'):
            line += '%*.0f' % (10 if k == 'steps' else 8, middle(rounds, k))
        lines.append(line + '%26s' % three(rounds, 'cost', '%.0f'))
    return lines


def real_table(series, sizes):
    lines = ['%10s%22s%22s%24s%12s%12s%10s' % (
        '', 'daemon us', 'application us', 'MB/s', 'KiB opened',
        'KiB after', 'stat ms')]
    for n, rounds in sizes.items():
        lines.append('%10d%22s%22s%24s%12.0f%12.0f%10.0f' % (
            n, three(rounds, 'cost'), three(rounds, 'app'),
            three(rounds, 'rate', '%.0f'),
            middle(rounds, 'opened') / 1024, middle(rounds, 'after') / 1024,
            middle(rounds, 'stat')))
    return lines


def growth(sizes, name, least=None):
    """The largest against the first, or against the least of all."""
    v = [middle(r, name) for r in sizes.values()]
    return v[-1] / (min(v[:-1]) if least and len(v) > 1 else v[0])


def goal(what, value, most, form='%.2f'):
    return '%-58s %s, goal %s%s' % (
        what, form % value, form % most,
        '' if value <= most else '   MISSED')


def goals(data):
    lines = []
    if 'dirty' in data:
        sizes = data['dirty']
        for name in ('steps', 'cost'):
            lines.append(goal('%s a write, 4 KiB, to %d dirty, of the least'
                              % ({'cost': 'ns'}.get(name, name), max(sizes)),
                              growth(sizes, name, True), 2))
        r = sizes[max(sizes)]
        each = middle(r, 'extent'), middle(r, 'entry'), middle(r, 'chunk')
        for size, most in ((4096, 5), (KIB64, 1)):
            chunk = each[2] * size / KIB64
            lines.append(goal(
                '%% of %d KiB: extent %d, list %d, chunk %.0f bytes' % (
                    size >> 10, each[0], each[1], chunk),
                (each[0] + each[1] + chunk) * 100 / size, most))
    for name in ('files', 'sessions'):
        if name in data:
            lines.append(goal('steps a write, 1 to %d %s' % (
                max(data[name]), name), growth(data[name], 'steps'), 1.5))
        if 'real-' + name in data:
            sizes = data['real-' + name]
            what = '1 to %d %s: ' % (max(sizes), name)
            lines.append(goal(what + 'daemon CPU a write',
                              growth(sizes, 'cost'), 1.5))
            lines.append(goal(what + 'time a write',
                              1 / growth(sizes, 'rate'), 1 / 0.9))
    return lines


KIB64 = run.KIB64


def report(about_, data):
    lines = ['%s: %s' % a for a in about_]
    for name, sizes in data.items():
        series = run.SERIES[name]
        lines += ['', '%s: %s' % (name, series.what)]
        lines += (sim_table if isinstance(series, run.Sim)
                  else real_table)(series, sizes)
    return '\n'.join(lines + [''] + goals(data))


def numbers(points):
    f = tempfile.NamedTemporaryFile('w', suffix='.dat', delete=False)
    with f:
        f.writelines('%d %.6g\n' % p for p in points)
    return f.name


def draw(path, title, data, names, figure):
    curves, files = [], []
    for name in names:
        if name not in data:
            continue
        points = [(k, middle(r, figure)) for k, r in data[name].items()]
        least = min(v for _, v in points)
        dat = numbers([(k, v / least) for k, v in points])
        files.append(dat)
        curves.append('"%s" using 1:2 with linespoints lw 2 title "%s"' % (
            dat, run.SERIES[name].what))
    if curves:
        plots.draw(PLOT % (path, title, ', '.join(curves)))
    for name in files:
        os.unlink(name)


def save(folder, data, text):
    os.makedirs(folder, exist_ok=True)
    with open(folder + '/scale.txt', 'w') as f:
        f.write(text + '\n')
    if not shutil.which('gnuplot'):
        return
    sim = [n for n, s in run.SERIES.items() if isinstance(s, run.Sim)]
    draw(folder + '/scale-steps.svg', 'Steps of the pipeline', data, sim,
         'steps')
    draw(folder + '/scale-time.svg', 'Processor time of the pipeline', data,
         sim, 'cost')
    draw(folder + '/scale-real.svg', 'Processor time of nfswbd', data,
         [n for n in run.SERIES if n not in sim], 'cost')
