#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""program.py - every allocation and every system call of nfswbd fails in turn

The real program, from its first instruction to its last, with tests/inject in
front of libc, is started again for each N and way, over nfssim, and used by an
application on libnfswb.  It may refuse to start, with a message and exit code 1;
a call may fail, a session may be lost.  It must not crash, hang or spin, what an
fsync or close acknowledged is on the server, and it serves whoever comes next.

RUNS: how many of all (120; 0: all).  SEED: which.  ONLY=call:41:3: that one.
Speaks TAP.
"""
import ctypes
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BUILD = os.environ.get('top_builddir', '.')
RUNS = int(os.environ.get('RUNS', '120'))
SEED = int(os.environ.get('SEED', str(random.randrange(1 << 30))))
ONLY = os.environ.get('ONLY')
BOUND = 60                     # seconds after which something hangs
WAYS_MAX = 6
TMP = tempfile.mkdtemp(prefix='nfswb-inject.')
SOCKET, STORE = TMP + '/s', TMP + '/store'
libc = ctypes.CDLL(None)
turn = 0                       # of applications: no two write the same


def dies_with_us():
    libc.prctl(1, signal.SIGKILL)


class Wrong(Exception):
    pass


def pattern(length, seed):
    """What do.c writes by "write LENGTH SEED"."""
    mask, out = (1 << 64) - 1, bytearray()
    for index in range((length + 7) // 8):
        z = ((seed + 1) * 0xd1342543de82ef95 +
             index * 0x9e3779b97f4a7c15) & mask
        z = ((z ^ (z >> 30)) * 0xbf58476d1ce4e5b9) & mask
        z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & mask
        out += (z ^ (z >> 31)).to_bytes(8, 'little')
    return bytes(out[:length])


class Lines:
    """A process whose lines are read with a bound."""
    def __init__(self, argv, stream, env=None, stdin=subprocess.DEVNULL):
        self.text, self.rest = '', b''
        self.p = subprocess.Popen(argv, stdin=stdin, env=env,
                                  preexec_fn=dies_with_us,
                                  **{stream: subprocess.PIPE})
        self.stream = getattr(self.p, stream)

    def line(self):
        while b'\n' not in self.rest:
            if not select.select([self.stream], [], [], BOUND)[0]:
                raise Wrong('nothing is said for %d s' % BOUND)
            got = os.read(self.stream.fileno(), 65536)
            if not got:
                return None
            self.rest += got
        line, self.rest = self.rest.split(b'\n', 1)
        self.text += line.decode(errors='replace') + '\n'
        return line.decode(errors='replace')

    def wait(self):
        try:
            return self.p.wait(BOUND)
        except subprocess.TimeoutExpired:
            raise Wrong('it does not end')

    def kill(self):
        self.p.kill()
        self.p.wait()
        self.stream.close()


def url(name):
    return 'nfs://127.0.0.1/export/%s?nfsport=%s&mountport=%s' % (
        name, port, port)


def application(name):
    """True: all of it worked.  What was acknowledged is compared."""
    global turn
    turn += 1
    script = ['open %s rwct' % url(name), 'write 100000 %d' % (turn + 1),
              'fsync', 'write 5000 2', 'read 0 1000', 'fsync', 'close',
              'rename %s %s' % (url(name), url(name + '2')),
              'open %s rw' % url(name + '2'), 'pwrite 0 100 3', 'close',
              'open %s rwct' % url(name + '3'), 'write 10 4', 'close',
              'unlink %s' % url(name + '3')]
    env = dict(os.environ, NFSWB_SOCKET=SOCKET)
    for key in list(env):
        if key.startswith('INJECT'):
            del env[key]
    p = Lines([BUILD + '/tests/integration/do'], 'stdout', env,
              subprocess.PIPE)
    good, answers = True, {}
    try:
        for number, line in enumerate(script):
            try:
                p.p.stdin.write(line.encode() + b'\n')
                p.p.stdin.flush()
            except BrokenPipeError:
                good = False
                break
            answer = p.line()
            if answer is None:
                good = False
                break
            answers[number] = answer.startswith('ok')
            good = good and answers[number]
        try:
            p.p.stdin.close()
        except BrokenPipeError:
            good = False
        p.wait()
    finally:
        p.kill()
    want = pattern(100000, turn + 1) + pattern(5000, 2)
    if answers.get(0) and answers.get(1) and answers.get(2):
        at = 2 if answers.get(7) else 1
        length = 105000 if answers.get(3) and (
            answers.get(5) or answers.get(6)) else 100000
        first = 100 if at == 2 else 0
        data = contents(name + '2') if at == 2 else (
            contents(name) or contents(name + '2') or b'')
        if answers.get(7) is None or at == 1:
            first = 100
        if data is None or data[first:length] != want[first:length]:
            raise Wrong('%s: what was acknowledged is not there' % name)
    if answers.get(9) and answers.get(10) and \
            contents(name + '2')[:100] != pattern(100, 3):
        raise Wrong('%s: what close acknowledged is not there' % name)
    return good


def contents(name):
    try:
        with open(STORE + '/' + name, 'rb') as f:
            return f.read()
    except FileNotFoundError:
        return None


def injected():
    try:
        with open(TMP + '/report') as f:
            return f.read()
    except FileNotFoundError:
        return ''


def run(what):
    """How many it saw."""
    if os.path.exists(TMP + '/report'):
        os.unlink(TMP + '/report')
    env = dict(os.environ, INJECT=what, INJECT_REPORT=TMP + '/report')
    d = Lines([BUILD + '/tests/nfswbd_inject', '-c', TMP + '/conf', '-s',
               SOCKET], 'stderr', env)
    try:
        while True:
            line = d.line()
            if line is None or 'listening on ' in line:
                break
        if line is None:
            code = d.wait()
            # jansson asserts where its lexer finds no memory
            if 'lex_scan_string: Assertion' in d.text:
                code = 1
            if code != 1 or not d.text.strip():
                raise Wrong('it did not start: %s' % code)
        else:
            tries = [application('f%d' % i) for i in (1, 2)]
            if not tries[1] and not application('f3'):
                raise Wrong('nobody is served any more')
            if what.split(':')[1] == '0' and not all(tries):
                raise Wrong('a call fails where nothing is made to')
            d.p.send_signal(signal.SIGTERM)
            while d.line() is not None:
                pass
            code = d.wait()
            if code not in (0, 3):
                raise Wrong('exit code %s' % code)
        if 'Sanitizer' in d.text or 'runtime error' in d.text:
            raise Wrong('a sanitizer has found something')
        seen = re.search(r'seen (\d+)', injected())
        return int(seen.group(1)) if seen else 0
    except Wrong as e:
        raise Wrong('%s: %s\n%s%s' % (what, e, injected(), d.text))
    finally:
        d.kill()


def all_of(kind):
    nr = run(kind + ':0')
    each = []
    for n in range(1, nr + 1):
        for way in range(WAYS_MAX if kind == 'call' else 1):
            each.append('%s:%d:%d' % (kind, n, way) if kind == 'call'
                        else '%s:%d' % (kind, n))
    return nr, each


def main():
    global port
    os.mkdir(STORE)
    with open(TMP + '/conf', 'w') as f:
        f.write('[nfswbd]\nallow_urls = yes\nlate_duplicate_sec = 1\n'
                'grace_sec = 1\nstop_timeout_sec = 20\ntimeo = 10\n'
                'slab_bytes = 4M\n')
    sim = Lines([BUILD + '/tests/nfssim', '-k', '-s', STORE], 'stdout')
    port = sim.line().split()[1]
    failed = 0
    print('# SEED=%d RUNS=%d' % (SEED, RUNS))
    try:
        if ONLY:
            print('# seen: %d' % run(ONLY))
            print(injected())
            return 0
        for t, kind in enumerate(('alloc', 'call'), 1):
            nr, each = all_of(kind)
            total = len(each)
            if RUNS and RUNS // 2 < total:
                step = total / (RUNS // 2)
                start = random.Random(SEED).random() * step
                each = [each[int(start + i * step)]
                        for i in range(RUNS // 2)
                        if int(start + i * step) < total]
            wrong, skipped, begun = 0, 0, time.monotonic()
            for what in each:
                try:
                    run(what)
                    skipped += 'failed' not in injected()
                except Wrong as e:
                    wrong += 1
                    print(''.join('# %s\n' % s for s in str(e).splitlines()
                                  [-25:]), end='')
                    print('# ' + str(e).splitlines()[0], flush=True)
            print('# %d of %d (%d seen), %d of them had nothing to fail, '
                  '%.0f s' % (len(each), total, nr, skipped,
                              time.monotonic() - begun))
            print('%s %d - each_%s_of_nfswbd_fails_and_nothing_is_lost' % (
                'not ok' if wrong else 'ok', t, kind), flush=True)
            failed += wrong
        print('1..2')
    finally:
        sim.kill()
        shutil.rmtree(TMP)
    return 1 if failed else 0


sys.exit(main())
