# SPDX-License-Identifier: LGPL-2.1-or-later
"""writers_tables - tables and goals of bench/writers"""

import statistics
from collections import namedtuple

import writers_scenes as scenes

Column = namedtuple('Column', 'head key form')
REAL = [Column(*c) for c in (
    ('MB/s', 'mbps', '%.1f'), ('taken', 'taken', '%.1f'),
    ('daemon s/GiB', 'daemon_gib', '%.3f'),
    ('writers s/GiB', 'writers_gib', '%.3f'),
    ('daemon %', 'daemon_core', '%.1f'), ('writers %', 'writers_core', '%.1f'),
    ('pauses/s', 'pauses', '%.0f'), ('p50', 'pause_p50', '%.1f'),
    ('p99', 'pause_p99', '%.1f'), ('max', 'pause_max', '%.1f'),
    ('at limit/s', 'limit_waits', '%.0f'), ('max', 'limit_wait_max', '%.1f'),
    ('write p50', 'write_p50', '%.1f'), ('p99', 'write_p99', '%.1f'),
    ('max', 'write_max', '%.1f'), ('Jain', 'jain', '%.4f'),
    ('KiB a WRITE', 'write_kib', '%.0f'), ('slow %', 'slow', '%.2f'),
    ('by reclaim', 'reclaim_writes', '%.0f'))]
SIM = [Column(*c) for c in (
    ('MB/s', 'write_bw', '%.2f'), ('taken', 'taken_bw', '%.2f'),
    ('pauses', 'pauses', '%.0f'), ('p50', 'pause_p50', '%.1f'),
    ('p99', 'pause_p99', '%.1f'), ('max', 'pause_max', '%.1f'),
    ('at limit', 'limit_waits', '%.0f'), ('max', 'limit_wait_max', '%.1f'),
    ('write p50', 'taking_p50', '%.1f'), ('p99', 'taking_p99', '%.1f'),
    ('max', 'taking_max', '%.1f'), ('Jain', 'jain', '%.4f'),
    ('KB a WRITE', 'write_kb', '%.0f'),
    ('COMMITs/GB', 'commits_per_gb', '%.0f'),
    ('seeks', 'disk_seeks', '%.0f'), ('slow %', 'slow', '%.2f'),
    ('by reclaim', 'reclaim_writes', '%.0f'))]


class Data:
    """Values by place (scene or model), writers and variant: one a round."""

    def __init__(self):
        self.of = {}

    def add(self, place, writers, variant, values):
        self.of.setdefault((place, writers, variant), []).append(values)

    def values(self, place, writers, variant, key):
        return [v[key] for v in self.of[place, writers, variant]]

    def median(self, *what):
        return statistics.median(self.values(*what))

    def has(self, place, writers, variant):
        return (place, writers, variant) in self.of

    def cases(self):
        return list(dict.fromkeys(k[:2] for k in self.of))

    def variants(self, place, writers):
        return [k[2] for k in self.of if k[:2] == (place, writers)]

    def ratios(self, place, writers, a, b, fn):
        """fn's of a by b's, of each round by itself."""
        pairs = [(fn(x), fn(y)) for x, y in zip(
            self.of[place, writers, a], self.of[place, writers, b])]
        return [x / y for x, y in pairs] if all(y for _, y in pairs) else []


def aligned(rows):
    wide = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    return '\n'.join('  '.join(
        r[i].ljust(wide[i]) if i == 0 else r[i].rjust(wide[i])
        for i in range(len(r))).rstrip() for r in rows)


def spread(values):
    """Most less least, of the median, in percent."""
    middle = statistics.median(values)
    return 100 * (max(values) - min(values)) / middle if middle else 0


def table(data, place, writers, columns):
    rows = [['', columns[0].head, 'spread'] + [c.head for c in columns[1:]]]
    for v in data.variants(place, writers):
        cells = [c.form % data.median(place, writers, v, c.key)
                 for c in columns]
        cells.insert(1, '%.1f %%' % spread(
            data.values(place, writers, v, columns[0].key)))
        rows.append([v] + cells)
    return aligned(rows)


# ---- ioless by the others, within each round ----

def cpu_gib(v):
    return v['daemon_gib'] + v['writers_gib']


REAL_RATIOS = [
    ('MB/s', lambda v: v['mbps']),
    ('processor, daemon', lambda v: v['daemon_gib']),
    ('writers', lambda v: v['writers_gib']),
    ('both', cpu_gib),
    ('pwrite p99', lambda v: v['write_p99'] if v['write_p99'] >= 1 else 0),
]
SIM_RATIOS = [
    ('MB/s', lambda v: v['write_bw']),
    ('COMMITs/GB', lambda v: v['commits_per_gb']),
    ('pwrite p99', lambda v: v['taking_p99'] if v['taking_p99'] >= 1 else 0),
]


def ratios(data, kinds):
    rows = [['ioless by ...'] + [k[0] for k in kinds]]
    for place, writers in data.cases():
        for other in ('foreground', 'none'):
            if not data.has(place, writers, other):
                continue
            row = ['%s, %d writers, %s' % (place, writers, other)]
            for _, fn in kinds:
                r = data.ratios(place, writers, 'ioless', other, fn)
                row.append('%.2f (%.2f to %.2f)' % (
                    statistics.median(r), min(r), max(r)) if r else '-')
            rows.append(row)
    return aligned(rows)


# ---- what pacing costs above the copying ----

def above_bare(data, place, writers, variant):
    """Percent of a core, of each round: less what the same bytes cost where no
    limit is in the way."""
    above = []
    for v, b in zip(data.of[place, writers, variant],
                    data.of[place, writers, scenes.BARE]):
        bare = (b['daemon_gib'] * v['sent_gib_s'] +
                b['writers_gib'] * v['taken_gib_s']) * 100
        above.append(v['daemon_core'] + v['writers_core'] - bare)
    return above


def cost(data):
    rows = [['above the copying, % of a core', 'median', 'least', 'most']]
    for place, writers in data.cases():
        if not data.has(place, writers, scenes.BARE):
            continue
        for v in data.variants(place, writers):
            if v != scenes.BARE:
                a = above_bare(data, place, writers, v)
                rows.append(['%s, %d writers, %s' % (place, writers, v),
                             '%.2f' % statistics.median(a), '%.2f' % min(a),
                             '%.2f' % max(a)])
    return aligned(rows) if rows[1:] else ''


# ---- goals ----

SLACK = 0.005           # of what is measured in real time: equal is not below


def goal(text, figure, met):
    return '  %s: %s: %s' % (text, figure, 'met' if met else 'NOT MET')


def cost_goals(data, place, writers):
    if writers != 100 or not data.has(place, writers, scenes.BARE):
        return []
    a = statistics.median(above_bare(data, place, writers, 'ioless'))
    b = statistics.median(above_bare(data, place, writers, 'foreground'))
    return [goal('100 writers at 100 MB/s, processor above the copying <= 3 % '
                 'of a core', '%.2f %%' % a, a <= 3),
            goal('and <= 1/5 of foreground\'s', '%.2f of %.2f %%' % (a, b),
                 a <= b / 5)]


def case_goals(data, place, writers, throughput, steady):
    name = '%s, %d writers' % (place, writers)
    r = statistics.median(data.ratios(place, writers, 'ioless', 'foreground',
                                      lambda v: v[throughput]) or [0])
    lines = [goal('%s: throughput against foreground %s' % (
        name, '>= +10 %' if writers == 100 else 'never below'),
        '%+.1f %%' % (100 * r - 100),
        r >= (1.1 if writers == 100 else 1 - SLACK * (place in scenes.REAL)))]
    if steady and data.median(place, writers, 'ioless', 'pauses'):
        p99 = data.median(place, writers, 'ioless', 'pause_p99')
        most = data.median(place, writers, 'ioless', 'pause_max')
        lines.append(goal('%s: a pause <= 50 ms (p99), 200 ms (max)' % name,
                          '%.1f, %.1f ms' % (p99, most),
                          p99 <= 50 and most <= 200.5))
    if steady and writers > 1:
        j = data.median(place, writers, 'ioless', 'jain')
        lines.append(goal('%s: Jain >= 0.95' % name, '%.4f' % j, j >= 0.95))
    return lines


def goals(data, throughput, steady):
    lines = ['Goals (medians)']
    for place, writers in data.cases():
        lines += cost_goals(data, place, writers)
        lines += case_goals(data, place, writers, throughput, steady)
    reclaimed = max(v['reclaim_writes'] for of in data.of.values() for v in of)
    lines.append(goal('WRITEs by reclaim: 0', '%d' % reclaimed,
                      not reclaimed))
    return '\n'.join(lines)


def report(about, data, what, columns, kinds, throughput, steady):
    parts = ['\n'.join('%-10s %s' % a for a in about),
             goals(data, throughput, steady), ratios(data, kinds), cost(data)]
    for place, writers in data.cases():
        parts.append('%s: %s; %d writers\n\n%s' % (
            place, what[place], writers, table(data, place, writers,
                                               columns)))
    return '\n\n'.join(p for p in parts if p)
