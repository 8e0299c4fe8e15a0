# SPDX-License-Identifier: LGPL-2.1-or-later
"""peers_tables - figures of bench/peers as a table, held against the goals"""

import csv
import os
import shutil
import statistics
import sys
from collections import namedtuple

import matrix_plots as plots
import matrix_store as store

# key, name, digits
FIGURES = [('gib_s', 'GiB/s', 2), ('client', 'client s/GiB', 3),
           ('daemon', 'daemon s/GiB', 3), ('both', 'both s/GiB', 3),
           ('server', 'server s/GiB', 3), ('writes', 'WRITEs/GiB', 0)]
MEMORY = [('client_mib', 'client, peak', 0), ('daemon_mib', 'daemon, peak', 0),
          ('daemon_anon_mib', 'its own', 1),
          ('daemon_shared_mib', 'shared with clients', 0)]

Goal = namedtuple('Goal', 'what way key than than_key atleast factor')
GOALS = {
    'nfssim': [
        Goal('daemon CPU', 'nfswb', 'daemon', 'limit', 'client', False, 1.15),
        Goal('daemon + application CPU', 'nfswb', 'both', 'libnfs-raw',
             'client', False, 0.75),
        Goal('throughput', 'nfswb', 'gib_s', 'libnfs-raw', 'gib_s', True, 1.5),
        Goal('throughput', 'nfswb', 'gib_s', 'nfs-cp', 'gib_s', True, 2),
        Goal('throughput', 'nfswb', 'gib_s', 'limit', 'gib_s', True, 0.75),
    ],
    'ganesha': [
        Goal('throughput', 'nfswb', 'gib_s', 'nfs-cp', 'gib_s', True, 1.3),
        Goal('throughput', 'nfswb', 'gib_s', 'libnfs-raw', 'gib_s', True, 1),
    ],
}


def about(rounds, mib, keys):
    kept = ('date', 'machine', 'commit', 'command')
    return [a for a in store.about('disk', rounds, 0) if a[0] in kept] + [
        ('rounds', '%d, the ways by turns in each; median (least-most)' %
         rounds),
        ('a run', '%d MiB, from the start of the program to its end; by nfswb '
         'to what its close returned' % mib),
        ('nfswbd', ', '.join(keys) or 'by default'),
        ('load', 'before it %.1f' % os.getloadavg()[0])]


def three(values, digits):
    if not any(values):
        return '-'
    return '%.*f (%.*f-%.*f)' % (digits, statistics.median(values), digits,
                                 min(values), digits, max(values))


def columns(figures, data, wide):
    lines = ['%-12s' % '' + ''.join('%*s' % (wide, f[1]) for f in figures)]
    for way, rounds in data.items():
        lines.append('%-12s' % way + ''.join(
            '%*s' % (wide, three([r[key] for r in rounds], digits))
            for key, _, digits in figures))
    return lines


def ratios(goal, data):
    """Round by round, so that what else the machine did is in both."""
    return [a[goal.key] / b[goal.than_key] if b[goal.than_key] else 0
            for a, b in zip(data[goal.way], data[goal.than])]


def goals(server, data):
    lines = []
    for g in GOALS[server]:
        if g.way not in data or g.than not in data:
            continue
        r = ratios(g, data)
        middle = statistics.median(r)
        met = middle >= g.factor if g.atleast else middle <= g.factor
        lines.append('%-26s %-44s %-20s %s' % (
            g.what, 'at %s %g x %s' % ('least' if g.atleast else 'most',
                                       g.factor, g.than),
            three(r, 2), 'met' if met else 'not met'))
    return lines


def report(server, about_, data):
    lines = ['%s: %s' % a for a in [('server', server)] + about_]
    lines += ['', 'processor seconds per GiB'] + columns(FIGURES, data, 21)
    lines += ['', 'MiB of memory'] + columns(MEMORY, data, 21)
    return '\n'.join(lines + ['', 'goals, as ratios within a round'] +
                     goals(server, data)) + '\n'


def store_rounds(base, first, keys, data, text, plot):
    """The text; a line for each round; and what plot draws, if it can."""
    os.makedirs(os.path.dirname(base), exist_ok=True)
    with open(base + '.txt', 'w') as f:
        f.write(text)
    with open(base + '.csv', 'w') as f:
        w = csv.writer(f, lineterminator='\n')
        w.writerow([first, 'round'] + keys)
        for what, rounds in data.items():
            for nr, r in enumerate(rounds):
                w.writerow([what, nr + 1] + ['%.6g' % r[k] for k in keys])
    if shutil.which('gnuplot'):
        plot(base + '.svg')
    else:
        sys.stderr.write('%s: no plot: gnuplot is not installed\n' %
                         os.path.basename(base).split('-')[0])


def save(folder, server, data, text):
    store_rounds('%s/peers-%s' % (folder, server), 'way',
                 [f[0] for f in FIGURES + MEMORY], data, text,
                 lambda path: draw(path, server, data))


def draw(path, server, data):
    """Speed to the left, cost to the right."""
    middle = {w: {k: statistics.median(r[k] for r in rounds)
                  for k in rounds[0]} for w, rounds in data.items()}
    dat = plots.table([(w, m['gib_s'], m['client'], m['daemon'], m['server'])
                       for w, m in middle.items()])
    script = '''set terminal svg size 900,380 font "sans,12" background "white"
set output "%s"
set multiplot layout 1,2 title "1 MiB writes to %s"
set style data histogram
set style fill solid 0.8 border -1
set boxwidth 0.7
set grid ytics
set yrange [0:*]
set xtics rotate by -35 scale 0
set key top right
set title "GiB/s"
plot "%s" using 2:xtic(1) notitle lc rgb "#20609f"
set title "processor seconds per GiB"
set style histogram rowstacked
plot "%s" using 3:xtic(1) title "client" lc rgb "#7fb0e0", \\
     "%s" using 4 title "nfswbd" lc rgb "#20609f", \\
     "%s" using 5 title "server" lc rgb "#bbbbbb"
unset multiplot
''' % (path, server, dat, dat, dat, dat)
    plots.draw(script)
    os.unlink(dat)
