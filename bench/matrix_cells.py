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
PLAIN = 'split+ahead+bandwidth'         # the product without its bounds
OURS = PLAIN + '+bounds'                # and as it is by default

BOUNDS = ['pass', 'tails', 'commits', 'grants']

# What is told of the bounds: each by itself; all but the one that changes how
# room is handed out; all, and what the rest is worth with them.
BOUNDED = ['%s+%s' % (PLAIN, b) for b in BOUNDS] + [
    PLAIN + '+pass+tails+commits', OURS] + [
    v + '+bounds' for v in (
        'none+ahead+bandwidth', 'single+fifo+bandwidth',
        'single+ahead+bandwidth', 'split+fifo+bandwidth',
        'split+ahead+kernel')]


def arguments_of(name):
    """policy+priority+rule+bound+... as matrix_sim takes it; None: it is none."""
    parts = name.split('+')
    if len(parts) < 3 or parts[0] not in POLICIES or \
            parts[1] not in PRIORITIES or parts[2] not in RULES or \
            not set(parts[3:]) <= set(BOUNDS) | {'bounds'}:
        return None
    args = ['policy=' + parts[0], 'priority=' + parts[1], 'rule=' + parts[2]]
    if 'bounds' in parts:
        args.append('bounds=all')
    elif parts[3:]:
        args.append('bounds=' + '+'.join(parts[3:]))
    return args


FACTORIAL = ['+'.join((policy, priority, rule)) for policy in POLICIES
             for priority in PRIORITIES for rule in RULES]
VARIANTS = OrderedDict((v, arguments_of(v)) for v in FACTORIAL + BOUNDED)


def add_variant(name):
    """Of any kind; is it one?"""
    args = arguments_of(name)
    if args:
        VARIANTS[name] = args
    return bool(args)


# The way from the historical baseline: what came, the variant, that before it.
STEPS = [
    ('one queue', 'single+fifo+kernel', BASELINE),
    ('two queues', 'split+fifo+kernel', BASELINE),
    ('priority', 'split+ahead+kernel', 'split+fifo+kernel'),
    ('COMMIT rule', PLAIN, 'split+ahead+kernel'),
] + [('bound ' + b, '%s+%s' % (PLAIN, b), PLAIN) for b in BOUNDS] + [
    ('all but grants', PLAIN + '+pass+tails+commits', PLAIN),
    ('all bounds', OURS, PLAIN),
    ('all of it', OURS, BASELINE),
    # with all bounds
    ('two queues', OURS, 'none+ahead+bandwidth+bounds'),
    ('the second', OURS, 'single+ahead+bandwidth+bounds'),
    ('priority', OURS, 'split+fifo+bandwidth+bounds'),
    ('both', OURS, 'single+fifo+bandwidth+bounds'),
    ('COMMIT rule', OURS, 'split+ahead+kernel+bounds'),
]

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

