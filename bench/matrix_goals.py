# SPDX-License-Identifier: LGPL-2.1-or-later
"""matrix_goals - the goals that were set before anything was measured"""

import matrix_cells as cells

# model: total gain, stretch, loss that a cell may have
GAINS = {'disk': (0.25, 0.33, 0.02), 'ext3': (0.50, 0.60, 0.03),
         'ssd': (None, None, 0.02), 'long': (None, None, 0.02),
         '10g': (None, None, 0.02)}
WSIZE_MB = (1 << 20) / 1e6


class Goals:
    def __init__(self, model, data, without, with_):
        self.model, self.data = model, data
        self.without, self.with_ = without, with_
        self.lines = []

    def say(self, goal, met, figure):
        self.lines.append('%-7s  %-72s %s' % (
            'met' if met else 'NOT MET', goal, figure))

    def pairs(self, name, without=None, with_=None):
        for case in self.data.cases():
            yield (cells.case_name(*case), case,
                   self.data.median(without or self.without, case, name),
                   self.data.median(with_ or self.with_, case, name))

    def ratio(self, name, without=None, with_=None):
        a = self.data.total(without or self.without, name)
        b = self.data.total(with_ or self.with_, name)
        return b / a - 1 if a else 0

    def losers(self, most, without=None, with_=None):
        return [(b / a - 1, name) for name, _, a, b in
                self.pairs('write_bw', without, with_)
                if a and b / a - 1 < -most]

    def worst(self, without=None, with_=None):
        return min((b / a - 1, name) for name, _, a, b in
                   self.pairs('write_bw', without, with_) if a)

    def cell_goal(self, text, most, without=None, with_=None):
        losers = self.losers(most, without, with_)
        worst, where = self.worst(without, with_)
        figure = 'worst %+.1f%%, %s' % (worst * 100, where)
        if len(losers) > 1:
            figure += '; %d cells' % len(losers)
        self.say(text, not losers, figure)

    def bandwidth(self):
        least, stretch, loss = GAINS[self.model]
        got = self.ratio('write_bw')
        if least:
            self.say('total write_bw at least %+.0f%%' % (least * 100),
                     got >= least, '%+.1f%%' % (got * 100))
            self.say('  stretch: %+.0f%%' % (stretch * 100), got >= stretch,
                     '%+.1f%%' % (got * 100))
        else:
            self.say('total write_bw not below the baseline', got >= 0,
                     '%+.1f%%' % (got * 100))
        self.cell_goal('no cell below the baseline by more than %.0f%%' % (
            loss * 100), loss)

    def against_single(self):
        """Same priority, rule and bounds; then without the priority, with the
        bounds and as it is without any."""
        there = self.data.variants()
        single = self.with_.replace('split', 'single')
        if single in there and single != self.with_:
            got = self.ratio('write_bw', single)
            self.say('against %s: total at least -1%%' % single, got >= -0.01,
                     '%+.1f%%' % (got * 100))
            self.cell_goal('  cells at least -3%', 0.03, single)
        fifo = single.replace('ahead', 'fifo')
        for other in dict.fromkeys((fifo, '+'.join(fifo.split('+')[:3]))):
            if other in there and other != self.with_:
                got = self.ratio('write_bw', other)
                self.say('against %s: total at least +5%%' % other,
                         got >= 0.05, '%+.1f%%' % (got * 100))

    def queue_time(self):
        got = self.ratio('nfs_write_queue_time')
        self.say('nfs_write_queue_time, total at least -75%', got <= -0.75,
                 '%+.1f%%' % (got * 100))
        self.say('  stretch: -92%', got <= -0.92, '%+.1f%%' % (got * 100))
        bad = [(b / a - 1 if a else 9, b, name) for name, _, a, b in
               self.pairs('nfs_write_queue_time')
               if b >= 20 and (not a or b / a > 1.1)]
        self.say('  per cell at most +10%, or below 20 ms', not bad,
                 '%+.0f%% to %.0f ms, %s' % (max(bad)[0] * 100, max(bad)[1],
                                            max(bad)[2]) if bad else '')

    def write_size(self):
        bad = []
        for name, (limit, writers), a, b in self.pairs('nfs_write_size'):
            least = 0.95 * WSIZE_MB if limit / writers >= 4 else a * 0.9999
            if b < least:
                bad.append('%s %.3f MB' % (name, b))
        self.say('mean WRITE: 0.95 wsize where limit/writers >= 4 MiB, else '
                 'as before', not bad, ', '.join(bad))

    def commits(self):
        bad = []
        for name, _, a, b in self.pairs('commits_per_gb'):
            if b > max(a * 1.1, 60):
                bad.append((b / max(a * 1.1, 60), name, a, b))
        bad.sort(reverse=True)
        self.say('COMMITs per GB at most baseline + 10%, or 60', not bad,
                 '%s: %.0f against %.0f; %d cells' % (
                     bad[0][1], bad[0][3], bad[0][2], len(bad))
                 if bad else '')

    def sync(self):
        there = self.data.variants('sync')
        fifo = 'single+fifo+' + self.with_.split('+')[2]
        for against, times in ((self.without, 15), (fifo, 5)):
            if against not in there or self.with_ not in there:
                continue
            for case in self.data.cases('sync'):
                a = self.data.median(against, case, 'fsync_p99', 'sync')
                b = self.data.median(self.with_, case, 'fsync_p99', 'sync')
                self.say('fsync p99, limit %s: %d times better than %s' % (
                    cells.limit_name(case[0]), times, against),
                    b * times <= a, '%.1f times: %.0f ms, was %.0f ms' % (
                        a / b if b else 0, b, a))

    def told_apart(self, scene, what):
        there = self.data.variants(scene)
        single = self.with_.replace('split', 'single')
        if single not in there or self.with_ not in there:
            return
        for case in self.data.cases(scene):
            p99, most = ([self.data.median(v, case, n, scene)
                          for v in (self.with_, single)]
                         for n in ('fsync_p99', 'fsync_max'))
            self.lines.append(
                'shown    %-72s p99 %.0f ms against %.0f, longest %.0f against '
                '%.0f' % (('%s, limit %s: fsync, split/single' % (
                    what, cells.limit_name(case[0])),) + tuple(p99 + most)))

    def check(self):
        self.bandwidth()
        self.against_single()
        self.queue_time()
        self.write_size()
        self.commits()


def report(model, data, without, with_):
    lines = []
    for variant in dict.fromkeys((with_, cells.PLAIN)):
        g = Goals(model, data, without, variant)
        there = data.variants()
        if without in there and variant in there:
            g.check()
        g.sync()
        g.told_apart('told-apart', 'async congested')
        g.told_apart('bulk', 'and a bulk fsync')
        if g.lines:
            title = 'Goals: %s against %s' % (variant, without)
            lines += ['', title, '=' * len(title), ''] + g.lines
    return lines
