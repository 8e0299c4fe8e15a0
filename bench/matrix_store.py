# SPDX-License-Identifier: LGPL-2.1-or-later
"""matrix_store - the runs' values in memory and in bench/results"""

import csv
import gzip
import io
import os
import platform
import statistics
import subprocess
import sys
import time

import matrix_cells as cells

KEY = ['variant', 'limit', 'writers', 'seed', 'scene']
KEPT = [
    'write_bw', 'acked_bw', 'accepted_bw', 'least_bw', 'most_bw',
    'nfs_nr_commits', 'nfs_nr_writes', 'nfs_commit_size', 'nfs_write_size',
    'nfs_write_queue_time', 'nfs_write_queue_time_p99', 'nfs_write_rtt_time',
    'nfs_write_execute_time', 'nfs_commit_queue_time', 'nfs_commit_rtt_time',
    'nfs_commit_execute_time', 'commits_per_gb', 'disk_busy', 'disk_transfer',
    'disk_seek', 'disk_journal', 'link_busy', 'commits_out',
    'journals', 'held_writes', 'most_queued', 'async_waits', 'async_wait',
    'sync_waits', 'sync_wait', 'limit_waits', 'limit_wait', 'fsyncs', 'fsync',
    'fsync_p50', 'fsync_p99', 'fsync_max', 'sync_write_p50', 'sync_write_p99',
    'sync_write_max', 'bulk', 'bulk_p99', 'cpu_seconds']


class Data:
    """Values by scene, variant, limit, writers and seed."""

    def __init__(self, results):
        self.runs = {}
        for run, values in results:
            key = (run.scene, run.variant, run.limit, run.writers)
            self.runs.setdefault(key, {})[run.seed] = values

    def variants(self, scene=''):
        there = {k[1] for k in self.runs if k[0] == scene}
        return [v for v in cells.VARIANTS if v in there]

    def cases(self, scene=''):
        there = {k[2:] for k in self.runs if k[0] == scene}
        return sorted(there)

    def seeds(self, variant, case, scene=''):
        return self.runs[(scene, variant) + case]

    def values(self, variant, case, name, scene=''):
        return [v.get(name, 0) for v in
                self.seeds(variant, case, scene).values()]

    def median(self, variant, case, name, scene=''):
        return statistics.median(self.values(variant, case, name, scene))

    def spread(self, variant, case, name, scene=''):
        """Most less least over the seeds, as a share of the median."""
        v = self.values(variant, case, name, scene)
        middle = statistics.median(v)
        return (max(v) - min(v)) / middle if middle else 0

    def total(self, variant, name, scene=''):
        return sum(self.median(variant, c, name, scene)
                   for c in self.cases(scene))


def command(*args):
    try:
        return subprocess.run(
            args, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            universal_newlines=True,
            cwd=os.path.dirname(os.path.abspath(__file__))).stdout.strip()
    except OSError:
        return ''


def processor():
    try:
        with open('/proc/cpuinfo') as f:
            for line in f:
                if line.startswith('model name'):
                    return line.split(':', 1)[1].strip()
    except OSError:
        pass
    return platform.machine()


def about(model, seeds, seconds):
    """As it is before the runs."""
    changed = command('git', 'status', '--porcelain', '-uno', '--', '..',
                      ':!results')
    return [
        ('model', '%s (%s)' % (model, cells.MODELS[model].what)),
        ('date', time.strftime('%Y-%m-%d %H:%M:%S %z')),
        ('machine', '%d processors, %s, %s %s' % (
            os.cpu_count(), processor(), platform.system(),
            platform.release())),
        ('commit', command('git', 'rev-parse', 'HEAD') +
         (' and changes' if changed else '')),
        ('command', 'bench/%s %s' % (os.path.basename(sys.argv[0]),
                                 ' '.join(sys.argv[1:]))),
        ('seeds', '1 to %d; medians' % seeds),
        ('simulated', '%d s a run, in virtual time' % seconds),
    ]


def csv_path(folder, model):
    return '%s/matrix-%s.csv.gz' % (folder, model)


def short(value):
    return '%.6g' % value


def write_csv(f, data, about_):
    for name, value in about_:
        f.write('# %s: %s\n' % (name, value))
    w = csv.writer(f, lineterminator='\n')
    w.writerow(KEY + KEPT)
    for (scene, variant, limit, writers), seeds in data.runs.items():
        for seed, values in seeds.items():
            w.writerow([variant, limit, writers, seed, scene] +
                       [short(values[k]) if k in values else ''
                        for k in KEPT])


def save(folder, model, data, about_, text):
    os.makedirs(folder, exist_ok=True)
    with open('%s/matrix-%s.txt' % (folder, model), 'w') as f:
        f.write(text + '\n')
    f = io.StringIO()
    write_csv(f, data, about_)
    with open(csv_path(folder, model), 'wb') as out:
        out.write(gzip.compress(f.getvalue().encode(), mtime=0))


def load(folder, model):
    results, about_, rows = [], [], []
    with gzip.open(csv_path(folder, model), 'rt') as f:
        for line in f:
            if line.startswith('# '):
                about_.append(tuple(line[2:].rstrip().split(': ', 1)))
            else:
                rows.append(line)
    for row in csv.DictReader(rows):
        run = cells.Run(model, row['variant'], int(row['limit']),
                        int(row['writers']), int(row['seed']), row['scene'])
        if run.variant not in cells.VARIANTS:
            cells.add_variant(run.variant)
        results.append((run, {k: float(row[k]) for k in KEPT if row[k]}))
    return Data(results), about_
