# SPDX-License-Identifier: BSD-3-Clause
"""Errors of quiet requests come with their own opcode and opaque, in order, before the noop (libmemcached#142)."""

from lib import binary as b
from lib.checks import connect, ensure_equal, serving


def test(binary):
    with serving(binary) as server:
        wire = connect(server)
        for key in (b"there", b"text"):
            ensure_equal(b.ask(wire, b.store("set", key, b"abc")).status, b.OK, "set")
        wire.send(b.request("deleteq", b"nope", opaque=1) + b.arith("incrq", b"text", opaque=2) +
                  b.request("getq", b"nope", opaque=3) + b.store("addq", b"there", b"x", opaque=4) +
                  b.request("getkq", b"nope", opaque=5) + b.touch("gatq", b"nope", 1, opaque=6) +
                  b.store("replaceq", b"nope", b"x", opaque=7) + b.request("appendq", b"nope", value=b"x", opaque=8) +
                  b.store("setq", b"there", b"x", cas=1, opaque=9) + b.request("getkq", b"there", opaque=10) +
                  b.store("setq", b"there", b"fine", opaque=11) + b.request("noop", opaque=12))
        expected = [("deleteq", b.NOT_FOUND, 1), ("incrq", b.NOT_NUMERIC, 2), ("addq", b.EXISTS, 4),
                    ("replaceq", b.NOT_FOUND, 7), ("appendq", b.NOT_STORED, 8), ("setq", b.EXISTS, 9)]
        for name, status, opaque in expected:
            answer = b.read(wire)
            ensure_equal((answer.opcode, answer.opaque), (b.code(name), opaque), f"opcode and opaque of {name}")
            b.ensure_status(answer, status, name)
        ensure_equal(b.read(wire)[:3], (b.code("getkq"), b.OK, 10), "a quiet hit")
        ensure_equal(b.read(wire)[:3], (b.code("noop"), b.OK, 12), "the noop")
        ensure_equal(b.ask(wire, b.request("get", b"there")).value, b"fine", "the next get has its own answer")
