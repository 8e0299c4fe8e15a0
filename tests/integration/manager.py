#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""manager.py - as much of a service manager as nfswbd can tell from systemd

    manager.py [-l SOCKET] [-w WATCHDOG_USEC] FOLDER PROGRAM ARGUMENT...

Runs PROGRAM with NOTIFY_SOCKET, keeps what it stores (FDSTORE=1, FDNAME=,
FDSTOREREMOVE=1) and hands it over at the next start (LISTEN_FDS, LISTEN_FDNAMES),
behind the listening socket of -l.  A program that dies by a signal or by exit
code other than 0 is started again.

What happens is written to FOLDER/events, a line each.  What to do is read from
standard input; each line is answered by one on standard output when it is done:

    pid            the main process
    start          started, and ready
    kill           SIGKILL; the next one is ready
    killing        SIGKILL, and no more: not awaited
    ready          awaited
    crash N        the next to be started kills itself at its N-th place to die
                   at (common/crash.h)
    stop           SIGTERM; its exit code.  Nothing is kept (systemd 252)
    restart        SIGTERM, started again with what is kept, ready
    reload         SIGUSR2; RELOADING=1 and READY=1 came
    store          the names of what is kept
    forge NAME KIND   replaces NAME in the store: unsealed, small, null, none
    quit           SIGKILL, and the end
"""
import array
import ctypes
import fcntl
import os
import select
import signal
import socket
import sys
import time

BOUND = 60      # seconds; nothing takes so long


class Manager:
    def __init__(self, folder, argv, listen, watchdog):
        self.argv, self.watchdog = argv, watchdog
        self.store = []         # (name, fd)
        self.pid = 0
        self.ready = self.reloading = False
        self.again = True       # is it to be started when it dies?
        self.crash_at = None
        self.code = None        # its last exit code; -N: by signal N
        self.fed = time.monotonic()
        self.events = open(folder + "/events", "a", buffering=1)
        self.path = folder + "/notify"
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(self.path)
        self.listen = None
        if listen:
            self.listen = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.listen.bind(listen)
            self.listen.listen(128)
        self.wake, self.waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(self.waker)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def event(self, text):
        self.events.write("%.6f %s\n" % (time.monotonic(), text))

    # -- the program

    def child(self, fds):
        """In the child: descriptors from 3 on, the environment, the program."""
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 1000) for _, fd in fds]
        for i, fd in enumerate(high):
            os.dup2(fd, 3 + i, inheritable=True)
        os.closerange(3 + len(high), 5000)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        env = dict(os.environ, NOTIFY_SOCKET=self.path)
        if fds:
            env.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(fds)),
                       LISTEN_FDNAMES=":".join(name for name, _ in fds))
        if self.crash_at:
            env["NFSWB_CRASH_AT"] = self.crash_at
        if self.watchdog:
            env.update(WATCHDOG_PID=str(os.getpid()),
                       WATCHDOG_USEC=str(self.watchdog))
        os.execve(self.argv[0], self.argv, env)

    def launch(self):
        fds = [("nfswbd.socket", self.listen.fileno())] if self.listen else []
        fds += self.store
        self.ready = self.reloading = False
        self.fed = time.monotonic()
        self.pid = os.fork()
        if not self.pid:
            try:
                self.child(fds)
            finally:
                os._exit(127)
        self.crash_at = None
        self.event("started %d with %d" % (self.pid, len(fds)))

    def ended(self):
        """Reaps it, when all it said has been heard."""
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid != self.pid:
            return
        self.pid = 0
        self.code = os.waitstatus_to_exitcode(status)
        self.event("ended %d" % self.code)
        if self.again and self.code:
            self.launch()

    # -- what it says

    def forget(self, name):
        for each in [e for e in self.store if e[0] == name]:
            os.close(each[1])
            self.store.remove(each)

    def keep(self, name, fds):
        for fd in fds:
            new = os.fstat(fd)
            if any((s.st_dev, s.st_ino) == (new.st_dev, new.st_ino)
                   for s in (os.fstat(f) for _, f in self.store)):
                os.close(fd)    # it has that one
            else:
                self.store.append((name, fd))

    def hear(self):
        room = socket.CMSG_SPACE(16 * 4)
        data, control, _, _ = self.notify.recvmsg(8192, room,
                                                  socket.MSG_CMSG_CLOEXEC)
        fds = array.array("i")
        for level, kind, some in control:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                fds.frombytes(some)
        said = dict(line.partition("=")[::2]
                    for line in data.decode().splitlines())
        self.event(data.decode().replace("\n", " "))
        if said.get("FDSTORE") == "1":
            self.keep(said["FDNAME"], fds)
        if said.get("FDSTOREREMOVE") == "1":
            self.forget(said["FDNAME"])
        if said.get("RELOADING") == "1":
            self.ready, self.reloading = False, True
        if said.get("READY") == "1":
            self.ready = True
        if said.get("WATCHDOG") == "1":
            self.fed = time.monotonic()

    # -- waiting

    def step(self, timeout):
        """What it said comes before its end; true: there is a command."""
        inputs = [self.notify, self.wake, sys.stdin]
        got = select.select(inputs, [], [], timeout)[0]
        if self.notify in got:
            self.hear()
        elif self.wake in got:
            os.read(self.wake, 4096)
            if self.pid:
                self.ended()
        late = time.monotonic() - self.fed
        if self.watchdog and self.pid and late * 1e6 > self.watchdog:
            self.event("watchdog")
            os.kill(self.pid, signal.SIGABRT)
            self.fed = time.monotonic()
        return sys.stdin in got

    def wait(self, what):
        end = time.monotonic() + BOUND
        while not what():
            if time.monotonic() > end:
                raise TimeoutError("not within %d s" % BOUND)
            self.step(0.2 if self.watchdog else 1)

    # -- what it is told

    def do_pid(self):
        return self.pid

    def do_start(self):
        self.again = True
        self.launch()
        return self.do_ready()

    def do_ready(self):
        self.wait(lambda: self.ready)
        return self.pid

    def do_killing(self):
        old = self.pid
        os.kill(old, signal.SIGKILL)
        self.wait(lambda: self.pid != old)
        return self.pid

    def do_crash(self, place):
        self.crash_at = place
        return place

    def do_kill(self):
        self.do_killing()
        return self.do_ready()

    def end(self):
        self.again = False
        os.kill(self.pid, signal.SIGTERM)
        self.wait(lambda: not self.pid)
        return self.code

    def do_stop(self):
        self.end()
        while self.store:
            self.forget(self.store[0][0])
        return self.code

    def do_restart(self):
        code = self.end()
        self.do_start()
        return code

    def do_reload(self):
        self.reloading = False
        os.kill(self.pid, signal.SIGUSR2)
        self.wait(lambda: self.reloading and self.ready)
        return self.pid

    def do_store(self):
        return " ".join(sorted(name for name, _ in self.store))

    def do_forge(self, name, kind):
        size = [os.fstat(fd).st_size for n, fd in self.store if n == name][0]
        self.forget(name)
        if kind == "none":
            return name
        if kind == "null":
            fd = os.open("/dev/null", os.O_RDWR)
        else:
            fd = os.memfd_create("forged", os.MFD_ALLOW_SEALING)
            os.ftruncate(fd, size // 2 if kind == "small" else size)
            if kind != "unsealed":      # SEAL, SHRINK, GROW
                fcntl.fcntl(fd, fcntl.F_ADD_SEALS, 1 | 2 | 4)
        self.store.append((name, fd))
        return name

    def obey(self, line):
        words = line.split()
        if words[0] == "quit":
            return False
        try:
            answer = getattr(self, "do_" + words[0])(*words[1:])
            print("ok", answer, flush=True)
        except (TimeoutError, ProcessLookupError, IndexError) as why:
            print("error", why, flush=True)
        return True

    def run(self):
        going = True
        while going:
            if self.step(0.2 if self.watchdog else None):
                line = sys.stdin.readline()
                going = bool(line) and self.obey(line)
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)


def main(args):
    listen, watchdog = None, 0
    while args and args[0].startswith("-"):
        if args[0] == "-l":
            listen = args[1]
        else:
            watchdog = int(args[1])
        args = args[2:]
    Manager(args[0], args[1:], listen, watchdog).run()


main(sys.argv[1:])
