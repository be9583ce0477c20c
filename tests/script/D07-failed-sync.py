# SPDX-License-Identifier: BSD-3-Clause
"""A failed sync or write of the log: that write is not acknowledged, the store is read-only until restarted, a later
success of the same call proves nothing (redb#299, wiredtiger#4072)."""

from lib.checks import connect, ensure, ensure_equal, serving
from lib.server import wait_until
from lib.wire import WireError


def ensure_refused(wire, key):
    answer = wire.store(key, b"x")
    ensure(answer.startswith(b"SERVER_ERROR"), f"a write to the failed store was answered by {answer!r}")


def one(binary, plan, sync):
    with serving(binary, f"--sync={sync}", "--enable-debug", "--checkpoint-seconds=3600") as server:
        wire, side = connect(server), connect(server)
        ensure_equal(wire.store(b"before", b"kept"), b"STORED", "set")
        ensure_equal(side.ask(b"debug checkpoint"), b"OK", "checkpoint")
        ensure_equal(wire.store(b"logged", b"kept"), b"STORED", "set")
        ensure_equal(side.ask(b"debug fault " + plan), b"OK", "fault")
        if sync == "always":
            ensure_refused(wire, b"failed")
        else:
            # Acknowledged as this mode allows, until the sync has failed.
            wait_until(lambda: wire.store(b"failed", b"x").startswith(b"SERVER_ERROR"), 10, "the store to refuse")
        ensure_equal(side.ask(b"debug fault"), b"OK", "fault")
        ensure_refused(wire, b"again")
        for command in (b"delete before", b"touch before 10", b"flush_all"):
            answer = side.ask(command)
            ensure(answer.startswith(b"SERVER_ERROR"), f"{command!r} was answered by {answer!r}")
        ensure_equal(side.get([b"before", b"logged"]), {b"before": (0, b"kept"), b"logged": (0, b"kept")}, "reads")
        server.kill9()
        server.start()
        wire = connect(server)
        found = wire.get([b"before", b"logged", b"again"])
        ensure_equal(found, {b"before": (0, b"kept"), b"logged": (0, b"kept")}, "after the restart")
        ensure_equal(wire.store(b"new", b"x"), b"STORED", "set after the restart")


def quiet(binary):
    """A noreply write whose sync fails: its connection ends, rather than answer what comes behind as if all were well."""
    with serving(binary, "--sync=always", "--enable-debug", "--checkpoint-seconds=3600") as server:
        wire = connect(server)
        ensure_equal(wire.ask(b"debug fault LOG_SYNC:1:eio"), b"OK", "fault")
        wire.send(b"set quiet 0 0 1 noreply\r\nx\r\nversion\r\n")
        try:
            answer = wire.line()
            ensure(answer.startswith(b"SERVER_ERROR"), f"behind a failed noreply write came {answer!r}")
        except WireError:
            ensure(wire.ended, "nothing came behind a failed noreply write")
        ensure_equal(connect(server).get(b"nope"), {}, "another connection's read")
        server.kill9()


def quiet_after(binary):
    """A noreply write to a store that is read-only already: the same."""
    with serving(binary, "--sync=always", "--enable-debug", "--checkpoint-seconds=3600") as server:
        side = connect(server)
        ensure_equal(side.ask(b"debug fault LOG_SYNC:1:eio"), b"OK", "fault")
        ensure_refused(side, b"first")
        wire = connect(server)
        ensure(wire.ask(b"version").startswith(b"VERSION"), "version")
        wire.send(b"set quiet 0 0 1 noreply\r\nx\r\nversion\r\n")
        try:
            ensure(False, f"behind a refused noreply write came {wire.line()!r}")
        except WireError:
            ensure(wire.ended, "the connection of a refused noreply write is still open")
        server.kill9()


def test(binary):
    quiet(binary)
    quiet_after(binary)
    one(binary, b"LOG_SYNC:1:eio", "always")
    one(binary, b"LOG_WRITE:1:eio", "always")
    one(binary, b"LOG_SYNC:1:eio", "interval=20")
