# SPDX-License-Identifier: BSD-3-Clause
"""The log's tail after a power cut: cut, zeros or garbage from some byte on.  What was never synced is dropped with a
warning and the start goes on unaided; damage in what was synced is told and refused (redis#5177, valkey#1148)."""

import os
import random
import re
import shutil

from kill9_load import OPTIONS
from lib.checks import connect, ensure, ensure_equal, ensure_no_complaint
from lib.runner import Failure
from lib.server import Server, ServerError

RECORDS = 60
LAST = 3  # the records whose bytes are damaged
PAGE = 4096


def key_of(i):
    return b"tail-%04d" % i


def value_of(i):
    return b"value %04d of the tail " % i * (1 + i % 7)


def write_records(server):
    """One request, one group."""
    wire = connect(server)
    for i in range(RECORDS):
        ensure_equal(wire.store(key_of(i), value_of(i), i), b"STORED", "set")
    wire.close()


def find_record(server, i):
    """(path, offset of the key, offset behind the value) of a record in the log."""
    directory = os.path.join(server.dir, "log")
    for name in sorted(os.listdir(directory)):
        path = os.path.join(directory, name)
        with open(path, "rb") as file:
            data = file.read()
        at = data.find(key_of(i) + value_of(i))
        if at >= 0:
            return path, at, at + len(key_of(i) + value_of(i))
    raise Failure(f"record {i} is in no file of {directory}")


def cut(path, at, rng):
    os.truncate(path, at)


def zeros(path, at, rng):
    overwrite(path, at, bytes(2 * PAGE))


def garbage(path, at, rng):
    overwrite(path, at, rng.randbytes(2 * PAGE))


def one_bit(path, at, rng):
    with open(path, "rb") as file:
        file.seek(at)
        byte = file.read(1)[0]
    overwrite(path, at, bytes([byte ^ 1 << rng.randrange(8)]))


def overwrite(path, at, data):
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(data)


DAMAGES = (cut, zeros, garbage, one_bit)


def check_prefix(server, least):
    """Records 0 to n, n >= least, and none behind; returns n."""
    found = connect(server).get([key_of(i) for i in range(RECORDS)])
    count = len(found)
    for i in range(count):
        ensure_equal(found.get(key_of(i)), (i, value_of(i)), f"record {i} of a prefix of {count}")
    ensure(count >= least, f"only {count} records are left, {least} were whole")
    return count


def run(binary, seed, every=False):
    """Unsynced records (--sync=os): any damage there drops a tail, and nothing else."""
    rng = random.Random(seed)
    starts = 0
    with Server(binary, OPTIONS + ["--sync=os", "--checkpoint-seconds=3600"]) as server:
        server.start()
        write_records(server)
        server.kill9()
        keep = server.dir + ".keep"
        shutil.copytree(server.dir, keep)
        spans = [find_record(server, i) for i in range(RECORDS - LAST, RECORDS)]
        path, records = spans[0][0], [span[1:] for span in spans]
        first, end = records[0][0], records[-1][1]
        places = list(range(first - 100, end))
        if not every:
            places = sorted(rng.sample(places, 4) + [first - 1, first, end - 1])
        for at in places + [end, end + PAGE]:
            for damage in DAMAGES:
                shutil.rmtree(server.dir)
                shutil.copytree(keep, server.dir)
                damage(path, at, rng)
                try:
                    check_start(server, damage, at, records)
                except (Failure, ServerError) as error:
                    raise Failure(f"{damage.__name__} at byte {at} ({at - first:+d} from the key of record "
                                  f"{RECORDS - LAST}), seed {seed}: {error}\n{server.log_tail(8)}") from None
                starts += 1
        ensure_no_complaint(server)
    return f"seed {seed}: {starts} starts"


def check_start(server, damage, at, records):
    """records: (start, end) of the last ones.  Zeros where a record would begin look like the log's proper end: nothing
    can be told of what stood there."""
    os.truncate(server.log_path, 0)
    server.start()
    count = check_prefix(server, RECORDS - LAST - 1 if at < records[-1][1] else RECORDS)
    torn = damage in (garbage, one_bit) or any(start < at < end for start, end in records)
    if count < RECORDS and torn:
        ensure(re.search(rb"warn.*\d+ bytes", server.log()), "no warning tells how many bytes were dropped")
    # It goes on where the prefix ends, and the dropped tail never comes back.
    wire = connect(server)
    ensure_equal(wire.store(b"afterwards", b"x"), b"STORED", "set")
    server.kill9()
    server.start()
    ensure_equal(check_prefix(server, count), count, "records after one more crash")
    ensure_equal(connect(server).get(b"afterwards"), {b"afterwards": (0, b"x")}, "what was stored on the prefix")
    server.kill9()


def refuse_damage(binary, seed):
    """Synced records (--sync=always) with a broken byte: no start, and the file is named; nothing wrong is served."""
    rng = random.Random(seed)
    with Server(binary, OPTIONS + ["--sync=always", "--checkpoint-seconds=3600"]) as server:
        server.start()
        write_records(server)
        server.kill9()
        path, at, end = find_record(server, RECORDS // 2)
        one_bit(path, rng.randrange(at, end), rng)
        server.spawn()
        code = server.wait_death()
        ensure(0 < code < 126, f"exit status {code} with a damaged log\n{server.log_tail()}")
        ensure(os.path.basename(path).encode() in server.log(), f"the message does not name the file {path}\n"
               + server.log_tail())
    return f"seed {seed}"
