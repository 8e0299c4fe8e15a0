# SPDX-License-Identifier: LGPL-2.1-or-later
"""peers_run - one way to bring bytes to a server, once, and what it took"""

import os
import re
import subprocess
import tempfile
import time

import real

MIB = 1 << 20
GIB = float(1 << 30)
APPS = {'nfswb': 1, 'nfswb-10': 10}
WAYS = ['limit', 'libnfs-raw', 'nfs-cp', 'nfswb', 'nfswb-10', 'put']
OURS = ['nfswb', 'nfswb-10', 'put']


def memory(pid):
    """VmHWM, RssAnon, RssShmem in MiB."""
    with open('/proc/%d/status' % pid) as f:
        kib = dict(re.findall(r'^(VmHWM|RssAnon|RssShmem):\s*(\d+)', f.read(),
                              re.MULTILINE))
    return [int(kib[k]) / 1024 for k in ('VmHWM', 'RssAnon', 'RssShmem')]


class Peers(real.Bench):
    """A server and nfswbd, for many runs.  Each has a file of its own, which goes
    with the next run."""

    def __init__(self, build, server, keys):
        super().__init__(build)
        self.nr = 0
        self.is_sim = server == 'nfssim'
        self.keys = keys
        self.source = None

    def __enter__(self):
        if self.is_sim:
            self.nfssim('-d')
        else:
            self.ganesha()
        self.nfswbd(self.keys)
        # in memory, so that no disk is measured
        shm = '/dev/shm' if os.access('/dev/shm', os.W_OK) else self.folder
        self.source = tempfile.NamedTemporaryFile(dir=shm,
                                                  prefix='nfswb-peers.')
        return self

    def __exit__(self, *what):
        super().__exit__(*what)
        if self.source:
            self.source.close()

    def target(self):
        """nfs://ADDRESS/PATH/FILE, and what belongs behind it."""
        path, query = self.url.split('?', 1)
        return '%s/peer%d' % (path, self.nr), query

    def raw(self, way, size):
        target, query = self.target()
        address, path = re.match('nfs://([^/]*)(/.*)/', target).groups()
        port = dict(p.split('=') for p in query.split('&'))
        return [self.build + '/bench/raw', way, address, port['mountport'],
                port['nfsport'], path, 'peer%d' % self.nr, str(size)]

    def app(self, apps, size):
        return [self.build + '/bench/app', '-s', self.socket, '-a', str(apps),
                '-n', str((size >> 20) // apps), '?'.join(self.target())]

    def put(self, size):
        return ['bash', '-c', 'dd if="$1" bs=1M status=none | "$2" -s "$3" '
                'put - "$4"', 'put', self.source.name, self.build + '/nfswb',
                self.socket, '?'.join(self.target())]

    def command(self, way, size):
        if way == 'limit':
            return self.raw('limit', size)
        if way == 'libnfs-raw':
            return self.raw('libnfs', size)
        if way == 'put':
            return self.put(size)
        if way == 'nfs-cp':
            return ['nfs-cp', self.source.name, '?'.join(self.target())]
        return self.app(APPS[way], size)

    def fill_source(self, size):
        """Real bytes: a hole is read for less than any file."""
        block = os.urandom(MIB)
        with open(self.source.name, 'r+b') as f:
            for at in range(f.seek(0, os.SEEK_END), size, MIB):
                f.write(block[:size - at])
            f.truncate(size)

    def forget_last(self):
        """The server's file system has room for the next, and nothing to do."""
        if self.is_sim:
            return
        folder = self.folder + '/export'
        for name in os.listdir(folder):
            os.unlink('%s/%s' % (folder, name))
        os.sync()

    def run(self, way, size):
        self.nr += 1
        self.forget_last()
        self.fill_source(size)
        with open('/proc/%d/clear_refs' % self.daemon.pid, 'w') as f:
            f.write('5\n')                      # VmHWM begins anew
        writes = self.writes()
        pids = [self.daemon.pid, self.server_pid]
        before = [real.cpu_of(p) for p in pids]
        start = time.monotonic()
        p = subprocess.Popen(self.command(way, size), stderr=self.log,
                             stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(p.pid, 0)
        seconds = time.monotonic() - start
        p.returncode = os.waitstatus_to_exitcode(status)
        if p.returncode:
            raise self.failed(' '.join(self.command(way, size)))
        daemon, server = (real.cpu_of(p) - b for p, b in zip(pids, before))
        return self.figures(way, size / GIB, seconds, writes,
                            (used.ru_utime + used.ru_stime, daemon, server),
                            used.ru_maxrss / 1024)

    def writes(self):
        return real.counters(self.server)['WRITE'] if self.is_sim else 0

    def figures(self, way, gib, seconds, writes, cpu, client_mib):
        ours = way in OURS
        client, daemon = cpu[0] / gib, cpu[1] / gib if ours else 0
        peak, anon, shared = memory(self.daemon.pid) if ours else (0, 0, 0)
        return {'gib_s': gib / seconds, 'client': client, 'daemon': daemon,
                'both': client + daemon, 'server': cpu[2] / gib,
                'writes': (self.writes() - writes) / gib,
                'client_mib': client_mib, 'daemon_mib': peak,
                'daemon_anon_mib': anon, 'daemon_shared_mib': shared}
