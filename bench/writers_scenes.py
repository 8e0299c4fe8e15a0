# SPDX-License-Identifier: LGPL-2.1-or-later
"""writers_scenes - where bench/writers measures: in real time, in virtual time"""

from collections import OrderedDict, namedtuple

MIB = 1 << 20

VARIANTS = ['ioless', 'foreground', 'none']
BARE = 'bare'           # no limit in the way, and so much offered
WRITERS = [1, 10, 100]

# server: nfssim's model, '' (none: it takes no time), or 'ganesha'.  offered:
# of the bare copying, bytes a second of all writers; 0: there is none.
Real = namedtuple('Real',
                  'what server limit warm window writers bytes offered')
REAL = OrderedDict([
    ('drain', Real('nfssim, discarding, a disk of 100 MB/s without seeks, over '
                   'TCP', 'ssd,link=10G,disk=100MB', 1024, 2.5, 3, [10, 100],
                   1 << 20, 100e6)),
    ('discard', Real('nfssim, discarding, as fast as it can, over TCP', '',
                     256, 1.5, 2.5, WRITERS, 64 << 10, 0)),
    ('ganesha', Real('nfs-ganesha on a local file system, over TCP', 'ganesha',
                     256, 2, 3, WRITERS, 64 << 10, 0)),
])

SIM_MODELS = OrderedDict([
    ('disk', 'S1: one disk, 80 MB/s, 8 ms a seek; a COMMIT flushes its file'),
    ('ext3', 'S2: the same; a COMMIT flushes all files, then the journal'),
    ('ssd', '500 MB/s behind 1 Gbit/s, no seek'),
])
SIM_LIMIT = 1000        # MiB
SIM_SETTLE, SIM_MEASURE = 15, 60        # s
SIM_BYTES = 64 << 10


def bytes_of(scene):
    return SIM_BYTES if scene == 'sim' else REAL[scene].bytes


def sim_arguments(model, writers, variant, seed, size, seconds):
    """As matrix_sim takes them."""
    return ['model=' + model, 'limit=%dM' % SIM_LIMIT, 'bounds=all',
            'group=%d,bytes=%d' % (writers, size), 'throttling=' + variant,
            'seed=%d' % seed,
            'measure=%d' % SIM_SETTLE, 'seconds=%d' % (SIM_SETTLE + seconds)]


def keys(scene, writers, variant):
    """nfswbd's."""
    s = REAL[scene]
    limit = s.limit * MIB
    k = OrderedDict([
        ('experiments', 'yes'),
        ('dirty_throttling', 'none' if variant == BARE else variant),
        ('dirty_bytes', limit),
        ('dirty_background_bytes', limit // 2),
        ('slab_bytes', max(16 * MIB, min(limit + MIB,
                                         2 * limit // writers // MIB * MIB))),
    ])
    if variant == BARE:         # it writes from the first MiB on
        k['dirty_bytes'], k['dirty_background_bytes'] = 4 * limit, MIB
    return k
