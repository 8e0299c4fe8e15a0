# SPDX-License-Identifier: LGPL-2.1-or-later
"""small_run - writes accepted by nfswb, and by a file in memory"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections import OrderedDict, namedtuple

import real

# of bench/app: bytes of a pwrite, how many of them in a pass, passes, and what
# else.  A pass is of 64 MiB or less, so that it has room and nothing is written
# back before its end; the last one meets memory that was used before: the slab has
# 256 MiB.
Case = namedtuple('Case', 'what bytes writes passes more')
CASES = OrderedDict([
    ('4K', Case('4 KiB, sequential', 4096, 16384, 6, [])),
    ('128', Case('128 bytes, sequential', 128, 524288, 6, [])),
    ('random', Case('4 KiB, random', 4096, 16384, 6, ['-r'])),
    ('fsync', Case('4 KiB, each with its fsync', 4096, 1000, 1, ['-f'])),
    ('50us', Case('4 KiB, one each 50 us', 4096, 10000, 1, ['-e', '50'])),
    ('1M', Case('1 MiB', 1 << 20, 64, 6, [])),
])


def settled(pid):
    """How often it went to sleep, and its own memory in KiB."""
    with open('/proc/%d/status' % pid) as f:
        text = f.read()
    return tuple(int(re.search(r'^%s:\s*(\d+)' % k, text,
                               re.MULTILINE).group(1))
                 for k in ('voluntary_ctxt_switches', 'RssAnon'))


class Small(real.Bench):
    """nfssim, nfswbd, and a folder in memory for what is held against them."""

    def __init__(self, build, keys):
        super().__init__(build)
        self.keys = keys
        self.nr = 0
        shm = '/dev/shm' if os.access('/dev/shm', os.W_OK) else self.folder
        self.memory = tempfile.mkdtemp(prefix='nfswb-small.', dir=shm)

    def __enter__(self):
        self.nfssim('-d')
        self.nfswbd(self.keys)
        return self

    def __exit__(self, *what):
        super().__exit__(*what)
        shutil.rmtree(self.memory, ignore_errors=True)

    def app(self, case, *args):
        """What the first and the last pass took for a pwrite, in us."""
        command = [self.build + '/bench/app', '-b', str(case.bytes), '-n',
                   str(case.writes), '-p', str(case.passes)] + case.more
        done = subprocess.run(command + list(args), stdout=subprocess.PIPE,
                              stderr=self.log)
        if done.returncode:
            raise self.failed(' '.join(command))
        passes = [json.loads(p)['accept_ns'] / 1000 / case.writes
                  for p in done.stdout.splitlines()]
        return passes[0], passes[-1]

    def local(self, case):
        times = self.app(case, self.memory + '/file')
        for name in os.listdir(self.memory):
            os.unlink('%s/%s' % (self.memory, name))
        return times

    def nfswb(self, case):
        """Also the mean size of the WRITEs that came of it."""
        path, query = self.url.split('?', 1)
        self.nr += 1
        before = real.counters(self.server)
        times = self.app(case, '-s', self.socket,
                         '%s/small%d?%s' % (path, self.nr, query))
        after = real.counters(self.server)
        writes = after['WRITE'] - before['WRITE']
        return times + ((after['written_bytes'] - before['written_bytes']) /
                        max(writes, 1),)

    def run(self, name, nr):
        case = CASES[name]
        if nr % 2:
            local = self.local(case)
            ours = self.nfswb(case)
        else:
            ours = self.nfswb(case)
            local = self.local(case)
        return {'first': ours[0], 'again': ours[1], 'write': ours[2],
                'local_first': local[0], 'local_again': local[1]}

    def idle(self, seconds):
        """With a mount and no session: wake-ups a second, memory in MiB."""
        time.sleep(2)
        before, _ = settled(self.daemon.pid)
        began = time.monotonic()
        time.sleep(seconds)
        after, anon = settled(self.daemon.pid)
        return {'wakeups': (after - before) / (time.monotonic() - began),
                'anon_mib': anon / 1024}
