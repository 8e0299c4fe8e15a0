# SPDX-License-Identifier: LGPL-2.1-or-later
"""survival_scenes - what bench/survival does to nfswbd, its users and itself

Each scene gives a round after the other.  A round has a window in which somebody
dies, and one of the same length in which nobody does: what else the machine does
meanwhile is in both."""

import os
import signal
import subprocess
import sys
import time

import real

MIB = 1 << 20
HOSTILE = real.TOP + '/tests/integration/hostile.py'
MANAGER = real.TOP + '/tests/integration/manager.py'
NOBODY = 65534
# bytes a second of all writers; 0: as fast as they are let
LOADS = {'even': 100e6, 'full': 0}
DISK = 'ssd,link=10G,disk=100MB'
SERVERS = {     # nfssim's model, keys of nfswbd
    'discard': ('', {}),
    'drain': (DISK, {}),
    'drain-nowbt': (DISK, {'wbt_lat_usec': 0}),
}


def keys():
    return {'dirty_bytes': 256 * MIB, 'dirty_background_bytes': 128 * MIB,
            'slab_bytes': 16 * MIB}


def begin(bench, server, writers, load):
    model, more = SERVERS[server]
    bench.nfssim('-d', *(['-m', model] if model else []))
    bench.nfswbd(dict(keys(), **more))
    bench.flood(writers, 64 << 10, int(LOADS[load] / writers))
    time.sleep(1)


def longest(bench, seconds, do=lambda: None):
    """The longest pwrite of all writers, in ms, while that is done."""
    bench.flooded()
    end = time.monotonic() + seconds
    time.sleep(0.2)
    do()
    time.sleep(max(0, end - time.monotonic()))
    return bench.flooded()['max'] / 1000




# ---- the daemon dies, or is upgraded ----

def kill_daemon(bench):
    bench.daemon.kill()
    bench.daemon.wait()
    bench.launch()


def upgrade(bench):
    before = bench.stat()['instance']
    bench.daemon.send_signal(signal.SIGUSR2)
    end = time.monotonic() + 20
    while bench.stat()['instance'] == before:
        if time.monotonic() > end:
            raise RuntimeError('nfswbd was not executed anew')
        time.sleep(0.01)


def daemon_rounds(build, args, load, do):
    """Each on a server and an instance of its own: who is killed twice within
    late_duplicate_sec is another scene."""
    for _ in range(args.rounds):
        with real.Bench(build) as b:
            begin(b, 'discard', args.writers, load)
            yield {'quiet': longest(b, args.window),
                   'pause': longest(b, args.window, lambda: do(b))}


def again_rounds(build, args, load):
    """Killed once more two seconds later: what the first left under way may
    still land, so files are closed to newer data for late_duplicate_sec."""
    for _ in range(min(args.rounds, 5)):
        with real.Bench(build) as b:
            begin(b, 'discard', args.writers, load)
            quiet = longest(b, args.window)
            kill_daemon(b)
            time.sleep(2)
            yield {'quiet': quiet,
                   'pause': longest(b, 14, lambda: kill_daemon(b))}


# ---- an application dies ----

def make_folder(bench, name):
    os.mkdir(bench.folder + '/empty')
    path, _, query = bench.url.partition('?')
    subprocess.run([bench.build + '/nfswb', '-s', bench.socket, 'put', '-r',
                    bench.folder + '/empty', path + name + '?' + query],
                   check=True, stderr=bench.log)


def application_rounds(build, args):
    """Those who look on write evenly; those who die, all they can.  They write in
    both windows until they die or, in the quiet one, to its end."""
    with real.Bench(build) as b:
        begin(b, 'discard', args.writers, 'even')
        make_folder(b, '/victims')
        for nr in range(args.rounds):
            v = {}
            for what in ('quiet', 'pause') if nr % 2 else ('pause', 'quiet'):
                victims = b.start_flood(4, 64 << 10, name='/victims',
                                        preexec_fn=real.ordinary)
                time.sleep(0.3)
                v[what] = longest(b, args.window, victims.kill if
                                  what == 'pause' else lambda: None)
                b.processes.end_one(victims)
                time.sleep(0.5)
            yield v


# ---- both die, and a service manager has kept the memory ----

class Managed:
    def __init__(self, bench):
        self.bench = bench
        bench.configure(keys())
        self.process = bench.start(
            [sys.executable, MANAGER, '-l', bench.socket, bench.folder,
             bench.build + '/nfswbd', '-c', bench.folder + '/conf', '-s',
             bench.socket], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def tell(self, what):
        self.process.stdin.write(what + '\n')
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split(None, 1)
        if not answer or answer[0] != 'ok':
            raise self.bench.failed('manager: %s: %s' % (what, answer))
        return answer[1].strip() if len(answer) > 1 else ''


def left_of(stat):
    return sum(v[k] for v in stat['servers'] for k in
               ('dirty_bytes', 'writeback_bytes', 'unstable_bytes'))


def both_die(bench, manager):
    left = left_of(bench.stat())
    start = time.monotonic()
    bench.writers.kill()
    manager.tell('killing')
    manager.tell('ready')
    ready = time.monotonic() - start
    done = subprocess.run([bench.build + '/nfswb', '-s', bench.socket, 'sync',
                           '--timeout', '120'], stderr=bench.log)
    if done.returncode:
        raise bench.failed('nfswb sync')
    end = time.monotonic() - start
    bench.processes.end_one(bench.writers)
    while manager.tell('store'):
        if time.monotonic() - start > 120:
            raise RuntimeError('what was kept is not let go')
        time.sleep(0.01)
    return {'left_mb': left / 1e6, 'ready': 1000 * ready, 'all': 1000 * end}


def both_rounds(build, args):
    for _ in range(args.rounds):
        with real.Bench(build) as b:
            b.nfssim('-d', '-m', DISK)
            manager = Managed(b)
            manager.tell('start')
            b.flood(args.writers, 64 << 10)
            time.sleep(1.5)
            yield both_die(b, manager)


# ---- beside hostile clients ----

# so much of a processor, of each hundredth of a second
BURN = '''import sys, time
share = float(sys.argv[1])
while True:
    end = time.monotonic() + 0.01 * share
    while time.monotonic() < end:
        pass
    if share < 1:
        time.sleep(0.01 * (1 - share))'''


KINDS = ['alone', 'hostile', 'burner', 'asker']


class Beside:
    """What runs beside the writers; with counts what it had of a processor."""

    def __init__(self, bench, what, seed, share):
        self.out = open(bench.folder + '/beside', 'w+')
        path, _, query = bench.url.partition('?')
        args = {
            'hostile': [sys.executable, HOSTILE, bench.socket,
                        path + '/hostile?' + query, str(seed), 'soak'],
            'burner': [sys.executable, '-c', BURN, '%.3f' % share],
            'asker': [bench.build + '/bench/ask', bench.socket, bench.url,
                      'sync', '3600'],
        }[what]
        if os.geteuid() == 0:   # another user's: limits are for each
            args = ['setpriv', '--reuid', str(NOBODY), '--regid', str(NOBODY),
                    '--clear-groups'] + args
        self.process = bench.start(args, stdin=subprocess.DEVNULL,
                                   stdout=self.out, preexec_fn=real.ordinary)

    def cpu(self):
        if self.process.poll() is not None:
            raise RuntimeError('what ran beside has ended')
        return real.cpu_of(self.process.pid)

    def lines(self):
        self.out.flush()
        with open(self.out.name) as f:
            return f.read().count('\n')

    def end(self, bench):
        bench.processes.end_one(self.process)
        self.out.close()


def window(bench, what, seconds, seed, share):
    beside = None if what == 'alone' else Beside(bench, what, seed, share)
    time.sleep(0.5)
    lines = beside.lines() if beside else 0
    bench.flooded()
    began, daemon = time.monotonic(), real.cpu_of(bench.daemon.pid)
    server = real.cpu_of(bench.server_pid)
    cpu = beside.cpu() if beside else 0
    time.sleep(seconds)
    did, sec = bench.flooded(), time.monotonic() - began
    v = {'mbps': sum(did['bytes']) / sec / 1e6, 'max': did['max'] / 1000,
         'p99': did['p99'] / 1000, 'writers': did['cpu_us'] / 1e4 / sec,
         'daemon': 100 * (real.cpu_of(bench.daemon.pid) - daemon) / sec,
         'server': 100 * (real.cpu_of(bench.server_pid) - server) / sec,
         'beside': 0, 'clients': 0}
    if beside:
        v['beside'] = 100 * (beside.cpu() - cpu) / sec
        v['clients'] = (beside.lines() - lines) / sec
        beside.end(bench)
    time.sleep(0.3)
    return v


def hostile_rounds(build, args, server, load):
    """Alone, beside hostile clients, beside one that takes as much of the
    processors and does not know the daemon, and beside one that means no harm and
    fsyncs 4 KiB each 100 ms; another is first each time."""
    with real.Bench(build) as b:
        begin(b, server, args.writers, load)
        time.sleep(2)
        share = window(b, 'hostile', 1, 0, 0)['beside'] / 100
        left, nr = args.seconds, 0
        while left > 0:
            v = {}
            for what in KINDS[nr % 4:] + KINDS[:nr % 4]:
                v[what] = window(b, what, args.hostile_window, nr + 1, share)
            share = min(1, v['hostile']['beside'] / 100)
            left -= 4 * args.hostile_window
            nr += 1
            yield v
