# SPDX-License-Identifier: BSD-3-Clause
"""The disk fills up: writes get SERVER_ERROR, reads go on, the process lives; once there is room writes work again by
themselves; nothing acknowledged is lost (redis#1522, kvrocks#627)."""

import contextlib
import os

from lib.checks import connect, ensure, ensure_equal, serving
from lib.disk import small_disk
from lib.server import wait_until
from lib.wire import WireError

DISK = "160m"
FILLER_MB = 40
VALUE = 20_000
MORE = 500  # values that fit into the filler's place


def value_of(i):
    return b"%08d" % i * (VALUE // 8)


def fill(wire, stored, start):
    """Stores until a refusal; returns its text."""
    for i in range(start, start + 20_000):
        answer = wire.store(b"k%d" % i, value_of(i))
        if answer != b"STORED":
            ensure(answer.startswith(b"SERVER_ERROR"), f"a write on the full disk was answered by {answer!r}")
            return
        stored.append(i)
    raise WireError("20,000 values fit on the small disk")


def ensure_all(server, stored):
    wire = connect(server, timeout=30)
    for i in stored:
        found = wire.get(b"k%d" % i)
        ensure(found.get(b"k%d" % i) == (0, value_of(i)), f"value {i} of {len(stored)} is lost or wrong")


def test(binary):
    with small_disk(DISK) as home:
        filler = os.path.join(home, "data", "filler")
        with open(filler, "wb") as file:
            file.write(bytes(FILLER_MB << 20))
        with serving(binary, "--log-max=32m", "--enable-debug", "--checkpoint-seconds=1", home=home) as server:
            check(server, filler)


def check(server, filler):
    wire, stored = connect(server, timeout=60), []
    fill(wire, stored, 0)
    ensure(len(stored) > 500, f"only {len(stored)} values fit")
    ensure_all(server, stored)
    ensure_equal(wire.get(b"nope"), {}, "get of an absent key")
    os.unlink(filler)
    for i in range(100_000, 100_000 + MORE):
        wait_until(lambda i=i: wire.store(b"k%d" % i, value_of(i)) == b"STORED", 10, "writes to work again")
        stored.append(i)
    ensure_all(server, stored)
    # Full again, killed; with some room it starts and has everything.
    with contextlib.suppress(OSError), open(filler, "wb", buffering=0) as file:
        file.write(bytes(12 << 20))
    fill(wire, stored, 200_000)
    server.kill9()
    os.unlink(filler)
    server.start(seconds=60)
    ensure_all(server, stored)
