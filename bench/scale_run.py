# SPDX-License-Identifier: LGPL-2.1-or-later
"""scale_run - the pipeline alone, and real processes, of one size"""

import re
import resource
import subprocess
import time
from collections import OrderedDict

import real

KIB64 = 65536
MIB = 1 << 20
KEYS = {'max_sessions': 2000, 'dirty_bytes': '1G',
        'dirty_background_bytes': '256M'}
RSS = re.compile(r'^RssAnon:\s*(\d+)', re.MULTILINE)


def rss_anon(pid):
    """Bytes."""
    with open('/proc/%d/status' % pid) as f:
        return int(RSS.search(f.read()).group(1)) * 1024


class Sim:
    """bench/scale_sim for the time; for the steps, which do not vary, its twin
    that counts, once."""

    unit = 'ns'

    def __init__(self, what, sizes, quick, options):
        self.what, self.sizes, self.quick = what, sizes, quick
        self.options = options

    @staticmethod
    def values(program, options):
        done = subprocess.run(
            [program] + ['%s=%d' % o for o in options.items()],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            universal_newlines=True)
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
        return {k: float(v) for k, v in
                (line.split('=') for line in done.stdout.splitlines())}

    def run(self, build, n, first):
        options = self.options(n)
        v = self.values(build + '/bench/scale_sim', options)
        out = {'cost': v['nsec'], 'memory': v['extent_bytes'] +
               v['entry_bytes'], 'rss': v['extent_rss'],
               'entry': v['entry_bytes'], 'extent': v['extent_bytes'],
               'chunk': v['chunk_bytes'], 'file': v['file_bytes']}
        if first:
            counted = self.values(build + '/bench/scale_steps', options)
            out.update((k, counted[k]) for k in counted
                       if k.endswith('steps'))
        return out


class Real:
    """nfswbd over sockets; size n is what `shape` makes of it: sessions, files,
    those that are written, servers."""

    unit = 'us'

    def __init__(self, what, sizes, quick, shape):
        self.what, self.sizes, self.quick = what, sizes, quick
        self.shape = shape

    def run(self, build, n, _):
        sessions, files, active, servers, size, writes = self.shape(n)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        with real.Bench(build) as b:
            urls = []
            for _ in range(servers):
                b.nfssim('-d')
                urls.append(b.url)
            b.nfswbd(dict(KEYS, slab_bytes='64M' if sessions > 1
                          else '256M'))
            empty = rss_anon(b.daemon.pid)
            load = b.start([build + '/bench/scale_load', b.socket] +
                           [str(v) for v in (sessions, files, active, size,
                                             writes)] + urls,
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            if load.stdout.readline() != 'open\n':
                raise b.failed('scale_load')
            opened = rss_anon(b.daemon.pid)
            before = real.cpu_of(b.daemon.pid)
            load.stdin.write('\n')
            load.stdin.flush()
            line = load.stdout.readline().split()
            if len(line) != 3:
                raise b.failed('scale_load')
            cpu = real.cpu_of(b.daemon.pid) - before
            began = time.monotonic()
            b.stat()
            stat = time.monotonic() - began
            return {'cost': cpu * 1e6 / writes,
                    'app': float(line[2]) / writes,
                    'rate': writes * size / float(line[1]),
                    'opened': opened - empty,
                    'after': rss_anon(b.daemon.pid) - opened,
                    'stat': stat * 1e3}


class Flood:
    """nfswbd, and n writers that are processes of their own (bench/flood)."""

    unit = 'us'

    def __init__(self, what, sizes, quick, size, seconds):
        self.what, self.sizes, self.quick = what, sizes, quick
        self.size, self.seconds = size, seconds

    def run(self, build, n, _):
        with real.Bench(build) as b:
            b.nfssim('-d')
            b.nfswbd(dict(KEYS, slab_bytes='64M'))
            empty = rss_anon(b.daemon.pid)
            b.flood(n, self.size)
            opened = rss_anon(b.daemon.pid)
            time.sleep(self.seconds / 3)
            b.flooded()
            before, began = real.cpu_of(b.daemon.pid), time.monotonic()
            time.sleep(self.seconds)
            cpu = real.cpu_of(b.daemon.pid) - before
            took = time.monotonic() - began
            did = b.flooded()
            after = rss_anon(b.daemon.pid)
            began = time.monotonic()
            b.stat()
            stat = time.monotonic() - began
            writes = sum(did['bytes']) / self.size
            return {'cost': cpu * 1e6 / writes,
                    'app': did['cpu_us'] / writes,
                    'rate': sum(did['bytes']) / 1e6 / took,
                    'opened': opened - empty, 'after': after - opened,
                    'stat': stat * 1e3}


def dirty(n):
    return {'dirty': n, 'random': 1, 'sessions': 8, 'files': 1,
            'slab': 1024, 'limit': 16384, 'writes': max(n, 50000)}


def many(**more):
    options = {'extent': KIB64, 'writes': 30000, 'slab': 16}
    options.update(more)
    return options


SERIES = OrderedDict([
    ('dirty', Sim('4 KiB extents, random, DIRTY at a time in one file',
                  [1, 100, 1000, 10000, 100000, 1000000],
                  [100, 10000, 100000], dirty)),
    ('files', Sim('files, written 1 MiB by turns',
                  [1, 10, 100, 1000, 10000], [1, 10000],
                  lambda n: many(files=n, slab=1024, extent=MIB,
                                 writes=3000))),
    ('turns', Sim('files, written 64 KiB by turns: WRITEs are as small',
                  [1, 10, 100, 1000, 10000], [1, 10000],
                  lambda n: many(files=n, slab=1024))),
    ('sessions', Sim('sessions, each with a file written 64 KiB by turns',
                     [1, 10, 100, 1000], [1, 1000],
                     lambda n: many(files=n, sessions=n))),
    ('idle', Sim('sessions, of which one writes', [1, 10, 100, 1000],
                 [1, 1000],
                 lambda n: many(files=n, sessions=n, active=1))),
    ('servers', Sim('servers, 64 files by turns', [1, 4, 16], [1, 16],
                    lambda n: many(files=64, servers=n, slab=1024))),
    ('real-files', Real('files in one session, 1 MiB by turns',
                        [1, 100, 1000, 10000], [1, 1000],
                        lambda n: (1, n, n, 1, MIB, max(n, 4000)))),
    ('real-sessions', Flood('writers, each a process with a session and a '
                            'file, 64 KiB', [1, 10, 100, 1000], [1, 200],
                            KIB64, 2)),
    ('real-idle', Real('sessions, of which one writes 64 KiB',
                       [1, 10, 100, 1000], [1, 200],
                       lambda n: (n, n, 1, 1, KIB64, 20000))),
    ('real-servers', Real('servers, 64 files in 16 sessions by turns',
                          [1, 4, 16], [1, 4],
                          lambda n: (16, 64, 64, n, KIB64, 20000))),
])
