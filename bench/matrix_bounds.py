# SPDX-License-Identifier: LGPL-2.1-or-later
"""matrix_bounds - what a cell could have at most, by arithmetic on the model

S1, equal shares: a file's turn on the disk brings b, and costs a seek.  b is what
the client holds of a file and what the server holds of it, each limit / writers:

    80 * b / (b + 0.64)             b = max(2 * limit / writers, 64 KiB) in MB

By turns: a turn brings a whole WRITE at least, the writers one after the other (for
one writer there is no other file to go to).

S2: a COMMIT flushes what is present of all files, then the journal, and nothing of
a flush comes back to the client before its end.  So the client holds the bytes of
the flush that runs (D), and the next one can find no more than the rest of the
limit (L), but for what is sent in the time in which the disk rests.  With f files
in each flush:

    D / (D/80 + seeks * 8 ms + 28 ms + (2 D - L)/125)       L/2 <= D <= L

seeks: one a turn of 8 MiB of a file, one in all where f is 1.  The most over D.
Three f are told.  Equal: every writer's file (equal shares at every moment).  By
turns: as many as have a whole WRITE.  One: one writer after the other, a whole
flush each."""

MIB = 1 << 20
DISK, LINK = 80e6, 125e6        # bytes a second
SEEK, JOURNAL_WRITE = 0.008, 0.020      # seconds
JOURNAL = SEEK + JOURNAL_WRITE
TURN = 8 * MIB
WSIZE = MIB


def s1(limit, writers):
    """MB/s."""
    b = max(2 * limit * MIB / writers, 65536) / 1e6
    return 80 * b / (b + 0.64)


def s1_whole(limit, writers):
    return max(s1(limit, writers), 80 if writers == 1 else
               s1(limit, 2 * limit * MIB / WSIZE))


def flush_seconds(size, files):
    seeks = files * -(-size // (files * TURN)) if files > 1 else 1
    return size / DISK + seeks * SEEK + JOURNAL


def s2_flush(limit, size, files):
    """MB/s where each flush is of so many bytes."""
    rests = (2 * size - limit) / LINK
    return size / (flush_seconds(size, files) + rests) / 1e6


def s2(limit, files_of):
    limit *= MIB
    sizes = [limit / 2 * (1 + i / 32) for i in range(33)]
    return max(s2_flush(limit, size, files_of(size)) for size in sizes)


def s2_equal(limit, writers):
    return s2(limit, lambda size: writers)


def s2_whole(limit, writers):
    return s2(limit, lambda size: int(max(1, min(writers, size // WSIZE))))


def s2_one(limit, writers):
    return s2(limit, lambda size: 1)


# What is printed beside each cell's write_bw.
BESIDE = {'disk': s1, 'ext3': s2_equal}

# All that are told, in tables of their own.
KINDS = {
    'disk': [('equal', s1), ('by turns', s1_whole)],
    'ext3': [('equal', s2_equal), ('by turns', s2_whole), ('one', s2_one)],
}
