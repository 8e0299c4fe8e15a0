# SPDX-License-Identifier: LGPL-2.1-or-later
"""matrix_tables - the values as text: by figure, by variant, against the goals"""

import matrix_bounds as bounds
import matrix_cells as cells
import matrix_goals as goals

# As the patch of 2011 named them, and what they are counted in.
FIGURES = [
    ('write_bw', 'MB/s on stable storage'),
    ('nfs_nr_commits', 'calls'),
    ('nfs_nr_writes', 'calls'),
    ('nfs_commit_size', 'MB'),
    ('nfs_write_size', 'MB'),
    ('nfs_write_queue_time', 'ms'),
    ('nfs_write_rtt_time', 'ms'),
    ('nfs_write_execute_time', 'ms'),
    ('nfs_commit_queue_time', 'ms'),
    ('nfs_commit_rtt_time', 'ms'),
    ('nfs_commit_execute_time', 'ms'),
]


def change(without, with_):
    if not without:
        return '' if not with_ else 'new'
    return '%+.1f%%' % ((with_ / without - 1) * 100)


def heading(text):
    return ['', text, '=' * len(text), '']


def figure_table(model, data, name, unit, without, with_):
    bound = bounds.BESIDE.get(model) if name == 'write_bw' else None
    lines = ['%s (%s)' % (name, unit),
             '%-26s %12s %9s %12s  %8s%s' % (
                 'case', 'without', 'change', 'with', 'spread',
                 '     bound  of it' if bound else '')]
    for case in data.cases():
        a = data.median(without, case, name)
        b = data.median(with_, case, name)
        line = '%-26s %12.2f %9s %12.2f  %7.1f%%' % (
            cells.case_name(*case), a, change(a, b), b,
            data.spread(with_, case, name) * 100)
        if bound:
            most = bound(*case)
            line += '  %8.2f %5.0f%%' % (most, b / most * 100)
        lines.append(line)
    a, b = data.total(without, name), data.total(with_, name)
    line = '%-26s %12.2f %9s %12.2f' % ('TOTAL ' + name, a, change(a, b), b)
    if bound:
        most = sum(bound(*c) for c in data.cases())
        line += '  %8s  %8.2f %5.0f%%' % ('', most, b / most * 100)
    return lines + [line, '']


def commits_table(data, without, with_):
    lines = ['COMMITs per GB', '%-26s %12s %9s %12s' % (
        'case', 'without', 'change', 'with')]
    for case in data.cases():
        a = data.median(without, case, 'commits_per_gb')
        b = data.median(with_, case, 'commits_per_gb')
        lines.append('%-26s %12.1f %9s %12.1f' % (
            cells.case_name(*case), a, change(a, b), b))
    return lines + ['']


def bound_of(disk, transfer, seek, journal, link):
    if transfer >= 0.95:
        return "the disk's rate"
    if link >= 0.95:
        return 'the link'
    if disk >= 0.95:
        return 'the journal' if journal > seek else 'seeks'
    return 'the client: the disk idles %.0f%%' % ((1 - disk) * 100)


def shares_table(data, without, with_):
    """What disk, link and server threads did with the time."""
    names = ['disk_busy', 'disk_transfer', 'disk_seek', 'disk_journal',
             'link_busy']
    lines = ['what bounds each (per cent of the time; COMMITs out: mean)',
             '%-26s %6s %6s %6s %6s %6s %6s %8s %s' % (
                 'case', 'was', 'disk', 'writes', 'seeks', 'jrnl', 'link',
                 'COMMITs', 'bound by')]
    for case in data.cases():
        v = [data.median(with_, case, n) for n in names]
        lines.append('%-26s %6.1f %6.1f %6.1f %6.1f %6.1f %6.1f %8.1f %s' % (
            (cells.case_name(*case),
             data.median(without, case, 'disk_busy') * 100) +
            tuple(x * 100 for x in v) +
            (data.median(with_, case, 'commits_out'), bound_of(*v))))
    return lines + ['']


def flush_size(data, variant, case):
    """MB that a flush of S2 is of; 0: no journal."""
    share = data.median(variant, case, 'disk_journal')
    return data.median(variant, case, 'write_bw') * bounds.JOURNAL_WRITE / \
        share if share else 0


def flush_table(data, variants):
    """How much of the limit a flush is of."""
    lines = ['What a flush is of (MB; per cent of the limit)',
             '%-26s' % 'case' + ''.join('  %s' % v for v in variants)]
    for case in data.cases():
        limit = case[0] * cells.MIB / 1e6
        line = '%-26s' % cells.case_name(*case)
        for v in variants:
            size = flush_size(data, v, case)
            line += '  %*s' % (len(v), '%.2f: %3.0f' % (
                size, size / limit * 100))
        lines.append(line)
    return lines + ['']


def bounds_table(model, data, variants):
    """How much of what the model allows each reached."""
    kinds = bounds.KINDS.get(model)
    if not kinds:
        return []
    lines = heading('Of what the model allows (write_bw, MB/s; per cent of it; '
                    'matrix_bounds.py)')
    lines.append('%-26s' % 'case' + ''.join(' %9s' % k for k, _ in kinds) +
                 ''.join('  %s' % v for v in variants))
    rows = [(cells.case_name(*c), [bound(*c) for _, bound in kinds],
             [data.median(v, c, 'write_bw') for v in variants])
            for c in data.cases()]
    rows.append(('TOTAL', [sum(r[1][i] for r in rows)
                           for i in range(len(kinds))],
                 [sum(r[2][i] for r in rows) for i in range(len(variants))]))
    for name, most, got in rows:
        lines.append('%-26s' % name + ''.join(' %9.2f' % b for b in most) +
                     ''.join('  %*s' % (len(v), '%.2f: %s' % (g, ', '.join(
                         '%.0f' % (g / b * 100) for b in most)))
                             for v, g in zip(variants, got)))
    _, most, got = rows[-1]
    lines += ['', 'The most that %s could gain in total: %s' % (
        variants[0], ', '.join('%+.0f%% (%s)' % ((b / got[0] - 1) * 100, k)
                               for b, (k, _) in zip(most, kinds))), '']
    return lines + (flush_table(data, variants) if model == 'ext3' else [])


def figure_tables(model, data, without, with_):
    lines = heading('%s against %s' % (with_, without))
    for name, unit in FIGURES:
        lines += figure_table(model, data, name, unit, without, with_)
    lines += commits_table(data, without, with_)
    return lines + shares_table(data, without, with_)


def worst_cell(data, variant, against):
    """The greatest loss of write_bw and its cell."""
    losses = []
    for case in data.cases():
        a = data.median(against, case, 'write_bw')
        b = data.median(variant, case, 'write_bw')
        losses.append((b / a - 1 if a else 0, cells.case_name(*case)))
    return min(losses)


def gigabytes(data, variant):
    return sum(data.median(variant, c, 'nfs_nr_commits') /
               (data.median(variant, c, 'commits_per_gb') or 1)
               for c in data.cases())


def attribution_row(data, variant, baseline):
    bw, was = data.total(variant, 'write_bw'), data.total(baseline, 'write_bw')
    queue = data.total(variant, 'nfs_write_queue_time')
    queue_was = data.total(baseline, 'nfs_write_queue_time')
    gb = gigabytes(data, variant)
    worst, where = worst_cell(data, variant, baseline)
    return '%-42s %9.2f %8s %12.1f %8s %9.1f %7.3f %+7.1f%% %s' % (
        variant, bw, change(was, bw), queue, change(queue_was, queue),
        data.total(variant, 'nfs_nr_commits') / gb if gb else 0,
        data.total(variant, 'nfs_write_size') / len(data.cases()),
        worst * 100, where)


ATTRIBUTION_HEAD = '%-42s %9s %8s %12s %8s %9s %7s %8s %s' % (
    'variant', 'write_bw', 'change', 'queue, ms', 'change', 'COMMIT/GB',
    'size', 'worst', 'cell')


def attribution(data, baseline):
    """Every combination against the baseline, then each step by itself."""
    variants = data.variants()
    if baseline not in variants:
        return []
    lines = heading('What each contributes: totals against %s' % baseline)
    lines.append(ATTRIBUTION_HEAD)
    lines += [attribution_row(data, v, baseline) for v in variants]
    lines += ['', 'Step by step: each against the variant named last',
              '%-16s %s  against' % ('what came', ATTRIBUTION_HEAD)]
    for what, variant, before in cells.STEPS:
        if variant in variants and before in variants:
            lines.append('%-16s %s  %s' % (
                what, attribution_row(data, variant, before), before))
    return lines + main_effects(data) + ['']


def main_effects(data):
    """A factor's mean effect over all settings of the others."""
    lines = ['', 'Mean effect on the total write_bw, over all settings of the '
             'others']
    factors = [('policy', 0, [('none', 'single'), ('none', 'split'),
                              ('single', 'split')]),
               ('priority', 1, [('fifo', 'ahead')]),
               ('rule', 2, [('kernel', 'bandwidth')])]
    there = set(data.variants())
    for name, place, pairs in factors:
        for a, b in pairs:
            ratios = []
            for v in there:
                parts = v.split('+')
                if len(parts) != 3 or parts[place] != a:
                    continue
                other = '+'.join(parts[:place] + [b] + parts[place + 1:])
                if other in there:
                    ratios.append(data.total(other, 'write_bw') /
                                  data.total(v, 'write_bw'))
            if ratios:
                lines.append('%-10s %-8s -> %-10s %+6.1f%%  (%+.1f%% to '
                             '%+.1f%%)' % (
                                 name, a, b,
                                 (sum(ratios) / len(ratios) - 1) * 100,
                                 (min(ratios) - 1) * 100,
                                 (max(ratios) - 1) * 100))
    return lines


SCENE_TITLES = {
    'sync': 'A sync writer (4 KiB and fsync, every 100 ms) beside %d floods',
    'told-apart': 'The same, congestion_kb = 2048: async WRITEs always wait',
    'bulk': 'So it is here, and one of the floods fsyncs every 256 MiB',
}


def scene_table(data, scene):
    lines = heading(SCENE_TITLES[scene] % cells.FLOODS
                    if '%' in SCENE_TITLES[scene] else SCENE_TITLES[scene])
    lines.append('%-42s %6s %7s %10s %10s %10s   %10s %9s' % (
        'fsync, ms', 'limit', 'fsyncs', 'p50', 'p99', 'max',
        'write+ p99', 'floods'))
    for variant in data.variants(scene):
        for case in data.cases(scene):
            m = [data.median(variant, case, n, scene) for n in (
                'fsyncs', 'fsync_p50', 'fsync_p99', 'fsync_max',
                'sync_write_p99', 'write_bw')]
            lines.append('%-42s %6s %7d %10.1f %10.1f %10.1f   %10.1f %9.2f'
                         % ((variant, cells.limit_name(case[0])) + tuple(m)))
    return lines + ['']


def spread_line(data, variant):
    spreads = [(data.spread(variant, c, 'write_bw'), cells.case_name(*c))
               for c in data.cases()]
    most, where = max(spreads)
    return 'spread of write_bw over the seeds, %s: mean %.2f%%, most %.2f%% ' \
        '(%s)' % (variant, sum(s for s, _ in spreads) / len(spreads) * 100,
                  most * 100, where)


def report(model, data, about, without, with_):
    lines = ['The matrix: %s' % model, '']
    lines += ['%-10s %s' % (name + ':', value) for name, value in about]
    there = data.variants()
    if without in there and with_ in there:
        lines += ['', spread_line(data, without), spread_line(data, with_)]
    lines += goals.report(model, data, without, with_)
    if without in there:
        lines += attribution(data, without)
        if with_ in there:
            lines += bounds_table(model, data, (without, with_))
        for other in dict.fromkeys((with_, cells.PLAIN)):
            if other in there and other != without:
                lines += figure_tables(model, data, without, other)
    for scene in cells.SCENES:
        if data.variants(scene):
            lines += scene_table(data, scene)
    return '\n'.join(lines)
