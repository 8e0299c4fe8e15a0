# SPDX-License-Identifier: LGPL-2.1-or-later
"""matrix_cells - what the matrix consists of: models, cells, variants, scenes"""

from collections import OrderedDict, namedtuple

MIB = 1 << 20

# disk is S1, ext3 is S2; nfssim knows them by these names.
Model = namedtuple('Model', 'what seconds')
MODELS = OrderedDict([
    ('disk', Model('S1: one disk, 80 MB/s, 8 ms a seek; a COMMIT flushes its '
                   'file', 200)),
    ('ext3', Model('S2: the same; a COMMIT flushes all files, then the '
                   'journal', 200)),
    ('ssd', Model('500 MB/s, no seek', 200)),
    ('long', Model('S1 behind a link of 20 ms', 200)),
    ('10g', Model('10 Gbit/s, a disk of 1 GB/s', 60)),
])

LIMITS = [1, 10, 100, 1000, 2048]       # MiB
WRITERS = [1, 10, 100]

POLICIES = ['none', 'single', 'split']
PRIORITIES = ['fifo', 'ahead']
RULES = ['kernel', 'bandwidth']

BASELINE = 'none+fifo+kernel'
OURS = 'split+ahead+bandwidth'

# A bound is switched on by these arguments of matrix_sim.
BOUNDS = OrderedDict([(b, ['bounds=' + b])
                      for b in ('pass', 'tails', 'commits')])


def make_variants():
    """Name to arguments of matrix_sim."""
    variants = OrderedDict()
    for policy in POLICIES:
        for priority in PRIORITIES:
            for rule in RULES:
                variants['+'.join((policy, priority, rule))] = [
                    'policy=' + policy, 'priority=' + priority,
                    'rule=' + rule]
    for name, args in BOUNDS.items():
        variants['%s+%s' % (OURS, name)] = variants[OURS] + args
    if len(BOUNDS) > 1:
        variants[OURS + '+bounds'] = variants[OURS] + ['bounds=all']
    return variants


VARIANTS = make_variants()


def add_variant(name):
    """policy+priority+rule+bound+... of any kind; is it one?"""
    parts = name.split('+')
    if len(parts) < 3 or parts[0] not in POLICIES or \
            parts[1] not in PRIORITIES or parts[2] not in RULES or \
            not set(parts[3:]) <= set(BOUNDS) | {'bounds'}:
        return False
    VARIANTS[name] = ['policy=' + parts[0], 'priority=' + parts[1],
                      'rule=' + parts[2]]
    if 'bounds' in parts:
        VARIANTS[name].append('bounds=all')
    elif parts[3:]:
        VARIANTS[name].append('bounds=' + '+'.join(parts[3:]))
    return True


# The way from the historical baseline, one step a line.
STEPS = [v for v in (
    'none+fifo+kernel', 'single+fifo+kernel', 'split+fifo+kernel',
    'split+ahead+kernel', OURS) + tuple(
        '%s+%s' % (OURS, b) for b in list(BOUNDS) + ['bounds'])
    if v in VARIANTS]

# A sync writer among floods: under the cells' own congestion limit, and under
# one at which async WRITEs always wait for it.
SYNC_MODELS = ['disk', 'ext3']
SYNC_LIMITS = [1000, 2048]
FLOODS = 10
SCENES = OrderedDict([
    ('sync', ['sync=1']),
    ('told-apart', ['sync=1', 'congestion=2M']),
    ('bulk', ['sync=1', 'congestion=2M', 'bulk=256M']),
])


class Run(namedtuple('Run', 'model variant limit writers seed scene')):
    def __new__(cls, model, variant, limit, writers, seed, scene=''):
        return super().__new__(cls, model, variant, limit, writers, seed,
                               scene)

    def arguments(self, seconds, more=()):
        return ['model=' + self.model, 'limit=%dM' % self.limit,
                'writers=%d' % self.writers, 'seed=%d' % self.seed,
                'seconds=%d' % seconds] + VARIANTS[self.variant] + \
            SCENES.get(self.scene, []) + list(more)

    def name(self):
        return '%s %s %s %d %s' % (self.model, case_name(
            self.limit, self.writers), self.variant, self.seed, self.scene)


def limit_name(limit):
    return '2G' if limit == 2048 else '%dM' % limit


def case_name(limit, writers):
    return 'thresh=%s/nfs-%ddd' % (limit_name(limit), writers)


def physical_bound(limit, writers):
    """MB/s on S1 with equal shares: a file's turn brings b, and costs a seek."""
    b = max(2 * limit * MIB / writers, 65536) / 1e6
    return 80 * b / (b + 0.64)
