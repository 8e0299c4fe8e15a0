# SPDX-License-Identifier: LGPL-2.1-or-later
"""small_tables - figures of bench/small as a table, held against the goals"""

import os
import statistics

import matrix_plots as plots
import peers_tables as peers
import small_run as run

WSIZE = 1 << 20                 # nfssim's
GIB = float(1 << 30)
FIGURES = ['first', 'again', 'local_first', 'local_again', 'write']


def about(rounds, keys):
    return [a for a in peers.about(rounds, 0, keys) if a[0] != 'a run'][:-1] + [
        ('figures', 'us a pwrite; first: in memory that was not used before, '
         'again: in such as was'),
        ('load', 'before it %.1f' % os.getloadavg()[0])]


def values(rounds, fn):
    return [fn(r) for r in rounds]


def middle(rounds, fn):
    return statistics.median(values(rounds, fn))


def rows(data):
    lines = ['%-28s%22s%22s%22s%12s%11s' % (
        '', 'first', 'again', 'local file', 'writes/s', 'WRITE KiB')]
    for name, rounds in data.items():
        case = run.CASES[name]
        times = [peers.three(values(rounds, lambda r, k=k: r[k]), 3)
                 for k in ('first', 'again', 'local_first')]
        if case.passes == 1:
            times[1] = '-'
        lines.append('%-28s%22s%22s%22s%12.0f%11.1f' % (
            (case.what,) + tuple(times) + (
                1e6 / middle(rounds, lambda r: r['again']),
                middle(rounds, lambda r: r['write']) / 1024)))
    return lines


def ratio(when):
    return lambda r: r[when] / r['local_' + when]


# case, what, its figure of a round, at least, limit, unit
GOALS = [
    ('4K', '4 KiB accepted, first', ratio('first'), False, 1, 'x local file'),
    ('4K', '4 KiB accepted, again', ratio('again'), False, 1, 'x local file'),
    ('50us', '4 KiB each 50 us', ratio('first'), False, 2, 'x local file'),
    ('128', '128 bytes, first', lambda r: 1 / r['first'], True, 5,
     'million/s'),
    ('128', '128 bytes, again', lambda r: 1 / r['again'], True, 5,
     'million/s'),
    ('128', '128 bytes, mean WRITE', lambda r: r['write'] / WSIZE, True, 0.95,
     'x wsize'),
    ('1M', '1 MiB accepted, first',
     lambda r: run.CASES['1M'].bytes / r['first'] * 1e6 / GIB, True, 6,
     'GiB/s'),
    ('1M', '1 MiB accepted, again',
     lambda r: run.CASES['1M'].bytes / r['again'] * 1e6 / GIB, True, 6,
     'GiB/s'),
]
IDLE = [('wakeups', 'wake-ups a second, idle', 1, '/s, the timer\'s'),
        ('anon_mib', 'own memory, idle', 10, 'MiB')]


def goal(what, v, digits, atleast, limit, unit):
    m = statistics.median(v)
    met = m >= limit if atleast else m <= limit
    return '%-26s %-32s %-22s %s' % (
        what, 'at %s %g %s' % ('least' if atleast else 'most', limit, unit),
        peers.three(v, digits) if any(v) else '0',
        'met' if met else 'not met')


def goals(data, idle):
    lines = [goal(what, values(data[case], fn), 2, atleast, limit, unit)
             for case, what, fn, atleast, limit, unit in GOALS if case in data]
    if idle:
        lines += [goal(what, [idle[key]], 1, False, limit, unit)
                  for key, what, limit, unit in IDLE]
    return lines


def report(about_, data, idle):
    lines = ['%s: %s' % a for a in about_] + [''] + rows(data)
    return '\n'.join(lines + ['', 'goals, of what is within a round'] +
                     goals(data, idle)) + '\n'


def save(folder, data, text):
    peers.store_rounds(folder + '/small', 'case', FIGURES, data, text,
                       lambda path: draw(path, data))


def draw(path, data):
    """Against the local file: those that are a matter of the memory alone."""
    cases = [c for c in data if c != 'fsync']
    dat = plots.table([(run.CASES[c].what,) + tuple(
        middle(data[c], lambda r, w=w: r[w] / r['local_' + w])
        for w in ('first', 'again')) for c in cases])
    script = plots.HEAD % (path, 'time of a pwrite, a local file in memory = 1')
    script += 'set yrange [0:*]\nplot ' + plots.bars(dat, ['first', 'again'])
    plots.draw(script + ', 1 notitle with lines lc rgb "#c00000"\n')
    os.unlink(dat)
