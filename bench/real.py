# SPDX-License-Identifier: LGPL-2.1-or-later
"""real - servers, nfswbd and writers as processes, for benchmarks in real time"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# ganesha.sh's, as long as standard input is open
GANESHA = '''. "$1/tests/ganesha.sh"
missing=$(ganesha_missing)
[ -z "$missing" ] || { echo "$missing"; exit 1; }
ganesha_stub=$2
ganesha_prepare "$3" && ganesha_start >&2 || exit 1
echo "ok $ganesha_pid $ganesha_export?$ganesha_ports"
read -r _
ganesha_stop'''


class Processes:
    """Ends what it started, the last first."""

    def __init__(self):
        self.started = []

    def start(self, args, **more):
        p = subprocess.Popen(args, universal_newlines=True, **more)
        self.started.append(p)
        return p

    @staticmethod
    def end_one(p):
        """Who reads, ends by itself with all that it started."""
        if p.stdin:
            p.stdin.close()
            try:
                p.wait(20)
            except subprocess.TimeoutExpired:
                pass
        p.kill()
        p.wait()

    def end(self):
        for p in reversed(self.started):
            self.end_one(p)
            if p.stdout:
                p.stdout.close()
        self.started = []


def wait_for(path, seconds=20):
    end = time.time() + seconds
    while not os.path.exists(path):
        if time.time() > end:
            raise RuntimeError('no ' + path)
        time.sleep(0.01)


def counters(server):
    """nfssim's; not what its clients know."""
    server.send_signal(signal.SIGUSR2)
    return json.loads(server.stdout.readline())


def ordinary():
    """In a child: of the ordinary class, though we may be of a real-time one."""
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def cpu_of(pid):
    """Seconds of the processor that a process had, to the nanosecond."""
    return time.clock_gettime((~pid << 3) | 2)


class Bench:
    """A folder with a log, and a server, a daemon and writers in it."""

    def __init__(self, build):
        self.build = build
        self.processes = Processes()
        # where every user may go, for the server's sake
        self.folder = tempfile.mkdtemp(prefix='nfswb-bench.')
        os.chmod(self.folder, 0o755)
        self.log = open(self.folder + '/log', 'w')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.processes.end()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def failed(self, what):
        self.log.flush()
        with open(self.folder + '/log') as f:
            return RuntimeError(what + ': ' + f.read().strip())

    def start(self, args, **more):
        return self.processes.start(args, stderr=self.log, **more)

    def nfssim(self, *args):
        self.server = self.start([self.build + '/tests/nfssim', '-k', '-j'] +
                                 list(args), stdout=subprocess.PIPE)
        words = self.server.stdout.readline().split()
        if len(words) != 2:
            raise self.failed('nfssim')
        self.server_pid = self.server.pid
        self.url = 'nfs://127.0.0.1/export?nfsport=%s&mountport=%s' % (
            words[1], words[1])

    def ganesha(self):
        stub = self.build + '/tests/.libs/rpcb_stub.so'
        shell = self.start(['bash', '-c', GANESHA, 'ganesha', TOP, stub,
                            self.folder], stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE)
        line = shell.stdout.readline().strip()
        if not line.startswith('ok '):
            raise self.failed('ganesha: ' + line)
        _, pid, path = line.split(' ', 2)
        self.server_pid = int(pid)
        self.url = 'nfs://127.0.0.1' + path

    def configure(self, keys):
        with open(self.folder + '/conf', 'w') as f:
            f.write('[nfswbd]\nruntime_dir = %s\nallow_urls = yes\n'
                    'log_level = warning\n' % self.folder)
            f.writelines('%s = %s\n' % k for k in keys.items())
        self.socket = self.folder + '/sock'

    def launch(self):
        """nfswbd, as configured; it need not serve yet."""
        self.daemon = self.start(
            [self.build + '/nfswbd', '-c', self.folder + '/conf', '-s',
             self.socket], stdin=subprocess.DEVNULL)

    def nfswbd(self, keys):
        self.configure(keys)
        self.launch()
        wait_for(self.socket)

    def start_flood(self, writers, size, rate=0, name='', **more):
        """name: of a folder that is there."""
        path, _, query = self.url.partition('?')
        p = self.start(
            [self.build + '/bench/flood'] + (['-r', str(rate)] if rate else
                                             []) +
            [self.socket, path + name + '?' + query, str(writers), str(size),
             str(size)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            **more)
        if p.stdout.readline() != 'go\n':
            raise self.failed('flood')
        return p

    def flood(self, writers, size, rate=0):
        self.writers = self.start_flood(writers, size, rate)

    def flooded(self):
        """What the writers did since it was asked last."""
        self.writers.stdin.write('\n')
        self.writers.stdin.flush()
        line = self.writers.stdout.readline()
        if not line:
            raise self.failed('flood')
        return json.loads(line)

    def stat(self):
        done = subprocess.run(
            [self.build + '/nfswb', '-s', self.socket, 'stat', '--json'],
            stdout=subprocess.PIPE, stderr=self.log)
        if done.returncode:
            raise self.failed('nfswb stat')
        return json.loads(done.stdout)


def find_build(given):
    tries = [given] if given else ['.', TOP + '/build', TOP,
                                   TOP + '/build-check']
    for path in tries:
        if os.access(path + '/bench/flood', os.X_OK):
            return os.path.abspath(path)
    sys.exit('no bench/flood: make check TESTS= builds it; or --build FOLDER')
