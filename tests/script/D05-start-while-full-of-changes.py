# SPDX-License-Identifier: BSD-3-Clause
"""Writes alone have filled the disk, and more of them wait for the tree than memory may hold: the server starts all the
same, more than once; deletes and a flush work, and writes do again after them.  (The ballast had gone to the writes,
and the replay needed the tree.)"""

from lib.checks import connect, ensure, ensure_equal, serving
from lib.disk import small_disk
from lib.server import wait_until

REFUSALS = 50  # one after another: the disk is full


def fill(wire, model):
    """Overwrites too, so that not all of the log is in the tree."""
    refused, i = 0, 0
    while refused < REFUSALS:
        key, value = b"k%d" % (i % 60_000), b"%d:" % i + b"x" * (i * 37 % 4000)
        answer = wire.store(key, value)
        if answer == b"STORED":
            model[key] = value
            refused = 0
        else:
            ensure_equal(answer, b"SERVER_ERROR out of disk space", "a write on the full disk")
            refused += 1
        i += 1


def ensure_all(server, model):
    wire = connect(server, timeout=60)
    for key, value in model.items():
        ensure_equal(wire.get(key), {key: (0, value)} if value is not None else {}, f"{key!r} of {len(model)}")
    return wire


def kill_and_start(server, model):
    server.kill9()
    server.start(seconds=60)
    return ensure_all(server, model)


def test(binary):
    model = {}
    with small_disk("128m") as home, serving(binary, "-m", "8", "--log-max=12m", "--log-segment=3m", home=home) as server:
        fill(connect(server, timeout=60), model)
        for _ in range(3):
            wire = kill_and_start(server, model)
        for key in list(model)[::20]:
            ensure_equal(wire.ask(b"delete " + key), b"DELETED", "delete on the full disk")
            model[key] = None
        wire = kill_and_start(server, model)
        ensure_equal(wire.ask(b"flush_all"), b"OK", "flush_all on the full disk")
        wait_until(lambda: wire.store(b"again", b"x") == b"STORED", 30, "writes to work again")
        wire = kill_and_start(server, {key: None for key in model})
        ensure(wire.get(b"again"), "what was stored after the flush")
