# SPDX-License-Identifier: LGPL-2.1-or-later
"""writers_real - one run in real time: server, nfswbd and writers over TCP"""

import time

import real
import writers_scenes as scenes

GIB = float(1 << 30)


def start_server(bench, model):
    if model == 'ganesha':
        bench.ganesha()
    else:
        bench.nfssim('-d', *(['-m', model] if model else []))


def sample(bench, model):
    """What is counted from the beginning."""
    s = bench.stat()
    v = s['servers'][0]
    w = v['ops'].get('WRITE', {'bytes_sent': 0, 'ops': 0})
    if 'disk=' in model:        # what went out may lie in its memory
        done = real.counters(bench.server)['disk_written_bytes']
    else:
        done = w['bytes_sent']
    return {'sec': time.monotonic(), 'done': done, 'sent': w['bytes_sent'],
            'write_calls': w['ops'], 'commits': v['nfs_nr_commits'],
            'pauses': s['throttle']['pauses'],
            'limit_waits': s['throttle']['limit_waits'],
            'fast': s['reclaim']['fast'], 'slow': s['reclaim']['slow'],
            'reclaim_writes': s['reclaim']['reclaim_writes']}, s


def clocks(bench):
    return [time.monotonic(), real.cpu_of(bench.daemon.pid),
            real.cpu_of(bench.server_pid)]


def jain(shares):
    squares = sum(n * n for n in shares)
    return sum(shares) ** 2 / len(shares) / squares if squares else 0


def percentiles(values, name, hist):
    for p in ('p50', 'p99', 'max'):
        values['%s_%s' % (name, p)] = hist[p] / 1000


def measure(bench, scene, window):
    """Values of the window; those of pauses are since the writers began."""
    first, _ = sample(bench, scene.server)
    bench.flooded()
    began = clocks(bench)
    time.sleep(window)
    ended = clocks(bench)
    did = bench.flooded()
    last, stat = sample(bench, scene.server)
    sec, daemon, server = (e - b for b, e in zip(began, ended))
    n = {k: last[k] - first[k] for k in first}
    accepted, writers = sum(did['bytes']), did['cpu_us'] / 1e6
    values = {
        'mbps': n['done'] / n['sec'] / 1e6,
        'taken': accepted / sec / 1e6,
        'sent_gib_s': n['sent'] / n['sec'] / GIB,
        'taken_gib_s': accepted / sec / GIB,
        'daemon_gib': daemon / sec / (n['sent'] / n['sec']) * GIB
        if n['sent'] else 0,
        'writers_gib': writers / accepted * GIB if accepted else 0,
        'daemon_core': 100 * daemon / sec, 'writers_core': 100 * writers / sec,
        'server_core': 100 * server / sec,
        'pauses': n['pauses'] / sec, 'limit_waits': n['limit_waits'] / sec,
        'jain': jain(did['bytes']),
        'write_kib': n['sent'] / 1024 / max(n['write_calls'], 1),
        'commits': n['commits'] / sec,
        'slow': 100 * n['slow'] / max(n['fast'] + n['slow'], 1),
        'reclaim_writes': stat['reclaim']['reclaim_writes'],
    }
    percentiles(values, 'pause', stat['throttle']['pause_us'])
    percentiles(values, 'limit_wait', stat['throttle']['limit_wait_us'])
    percentiles(values, 'write', did)
    return values


def run(build, name, writers, variant, size, warm, window):
    scene = scenes.REAL[name]
    rate = int(scene.offered / writers) if variant == scenes.BARE else 0
    with real.Bench(build) as b:
        start_server(b, scene.server)
        b.nfswbd(scenes.keys(name, writers, variant))
        b.flood(writers, size, rate)
        time.sleep(warm)
        return measure(b, scene, window)
