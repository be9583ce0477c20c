# SPDX-License-Identifier: BSD-3-Clause
"""On a disk without a free byte: deletes and flushes work (they are the way out), and so does a start, with
everything acknowledged."""

import os

from lib.checks import connect, ensure, ensure_equal, serving
from lib.disk import small_disk
from lib.server import wait_until

VALUE = b"x" * 20_000


def take_the_rest(directory):
    """Whatever room is left, to the last page."""
    with open(os.path.join(directory, "filler"), "ab", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass


def test(binary):
    with small_disk("160m") as home, serving(binary, "--log-max=32m", "--enable-debug", "--checkpoint-seconds=1",
                                             home=home) as server:
        wire, count = connect(server, timeout=60), 0
        while wire.store(b"k%d" % count, VALUE) == b"STORED":
            count += 1
        take_the_rest(server.dir)
        server.kill9()
        take_the_rest(server.dir)
        server.start(seconds=60)
        wire = connect(server, timeout=60)
        for i in range(count):
            ensure_equal(wire.get(b"k%d" % i), {b"k%d" % i: (0, VALUE)}, f"value {i} of {count}")
        for i in range(20):
            ensure_equal(wire.ask(b"delete k%d" % i), b"DELETED", "delete on the full disk")
        answer = wire.ask(b"flush_all")
        ensure(answer == b"OK", f"flush_all on the full disk was answered by {answer!r}")
        os.unlink(os.path.join(server.dir, "filler"))
        wait_until(lambda: wire.store(b"again", VALUE) == b"STORED", 30, "writes to work again")
