#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""probe.py - tries what nfswbd.service forbids, run with its settings

A line for each: "ok WHAT", or "no WHAT: what happened".  The last is "end".
"""
import ctypes
import errno
import mmap
import os
import socket
import time

libc = ctypes.CDLL(None, use_errno=True)


def refused(what, errors, call, *args):
    try:
        result = call(*args)
    except OSError as e:
        ok = e.errno in errors
        print("ok" if ok else "no", what + ("" if ok else ": " + str(e)))
    else:
        print("no %s: it is done (%r)" % (what, result))


def system(name, *args):
    if getattr(libc, name)(*args) < 0:
        err = ctypes.get_errno()
        raise OSError(err, os.strerror(err))


def create(folder):
    os.close(os.open(folder + "/probe", os.O_CREAT | os.O_WRONLY, 0o600))


def write(path):
    os.close(os.open(path, os.O_WRONLY))


def memory(prot):
    mmap.mmap(-1, 4096, prot=prot).close()


READ, WRITE, EXEC = mmap.PROT_READ, mmap.PROT_WRITE, mmap.PROT_EXEC
PERM, ACCES, ROFS = (errno.EPERM,), (errno.EACCES,), (errno.EROFS,)
HIDDEN = (errno.EACCES, errno.EPERM, errno.ENOENT)

refused("memory to write and execute", PERM, memory, READ | WRITE | EXEC)
refused("a netlink socket", (errno.EAFNOSUPPORT,), socket.socket,
        socket.AF_NETLINK, socket.SOCK_RAW, 0)
refused("a packet socket", (errno.EAFNOSUPPORT,), socket.socket,
        socket.AF_PACKET, socket.SOCK_DGRAM, 0)
refused("a user namespace", PERM, system, "unshare", 0x10000000)
refused("a mount", PERM, system, "mount", b"x", b"/tmp", b"tmpfs", 0, None)
refused("another user", PERM, os.setuid, 1)
refused("a higher priority", PERM, system, "setpriority", 0, 0, -5)
refused("another host's name", PERM, system, "sethostname", b"x", 1)
refused("setting the clock", PERM, time.clock_settime, 0, 0)
refused("a personality", PERM, system, "personality", 0x0008)
refused("writing to /usr", ROFS, create, "/usr")
refused("writing to /var", ROFS, create, "/var")
refused("writing to /proc/sys", ROFS + ACCES, write, "/proc/sys/vm/swappiness")
refused("looking into /root", HIDDEN, os.listdir, "/root")
refused("the kernel's log", HIDDEN, os.open, "/dev/kmsg", os.O_RDONLY)
print("end", flush=True)
