# SPDX-License-Identifier: BSD-3-Clause
"""The disk fills up: writes get SERVER_ERROR, reads go on, the process lives; once there is room writes work again by
themselves; nothing acknowledged is lost (redis#1522, kvrocks#627)."""

import os
import shutil
import subprocess
import tempfile

from lib.checks import connect, ensure, ensure_equal, serving
from lib.runner import Skip
from lib.server import wait_until
from lib.wire import WireError

DISK = "160m"
FILLER_MB = 40
VALUE = 20_000


def value_of(i):
    return b"%08d" % i * (VALUE // 8)


class Mount:
    """A small tmpfs, unmounted at the end."""

    def __init__(self, path):
        os.mkdir(path)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "none", path], stderr=subprocess.PIPE,
                              check=False)
        if done.returncode != 0:
            raise Skip(f"cannot mount a tmpfs: {done.stderr.decode().strip()}")
        self.path = path

    def close(self):
        subprocess.run(["umount", "-l", self.path], check=False)


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
    if os.geteuid() != 0:
        raise Skip("needs root to mount a small disk")
    home = tempfile.mkdtemp(prefix="coffer-test-")
    mount = Mount(os.path.join(home, "data"))
    try:
        filler = os.path.join(mount.path, "filler")
        with open(filler, "wb") as file:
            file.write(bytes(FILLER_MB << 20))
        with serving(binary, "--log-max=32m", "--enable-debug", "--checkpoint-seconds=1", home=home) as server:
            check(server, filler)
            ensure_equal(server.running(), True, "alive")
    finally:
        mount.close()
        shutil.rmtree(home, ignore_errors=True)


def check(server, filler):
    wire, stored = connect(server, timeout=60), []
    fill(wire, stored, 0)
    ensure(len(stored) > 500, f"only {len(stored)} values fit")
    ensure_all(server, stored)
    ensure_equal(wire.ask(b"incr nope 1"), b"NOT_FOUND", "incr of an absent key")
    os.unlink(filler)
    wait_until(lambda: wire.store(b"again", b"x") == b"STORED", 30, "writes to work again")
    more = len(stored)
    for i in range(100_000, 100_000 + 500):
        if wire.store(b"k%d" % i, value_of(i)) == b"STORED":
            stored.append(i)
    ensure(len(stored) - more > 300, f"only {len(stored) - more} of 500 writes worked after there was room")
    ensure_all(server, stored)
    # Full again, killed, and started while full.
    fill(wire, stored, 200_000)
    server.kill9()
    server.start(seconds=60)
    ensure_all(server, stored)
    ensure(connect(server, timeout=30).ask(b"version").startswith(b"VERSION"), "version")
