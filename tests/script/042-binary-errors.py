# SPDX-License-Identifier: BSD-3-Clause
"""An error in a request leaves the connection in step; one in the framing is told and ends it."""

import struct

from lib import binary as b
from lib.checks import connect, ensure_equal, serving

EXPIRY = struct.pack(">I", 100)
BAD_FRAMING = {
    "a get without a key": b.request("get"),
    "a get with extras": b.request("get", b"k", EXPIRY),
    "a get with a value": b.request("get", b"k", value=b"v"),
    "a gat without a time": b.request("gat", b"k"),
    "a touch without a time": b.request("touch", b"k"),
    "a set without a key": b.store("set", b"", b"v"),
    "a set without extras": b.request("set", b"k", value=b"v"),
    "an append with extras": b.request("append", b"k", bytes(8), b"v"),
    "a delete with a value": b.request("delete", b"k", value=b"v"),
    "an incr with short extras": b.request("incr", b"k", bytes(8)),
    "a noop with a key": b.request("noop", b"k"),
    "a version with a value": b.request("version", value=b"v"),
    "a quit with a key": b.request("quit", b"k"),
    "a flush with a key": b.request("flush", b"k"),
    "a flush with half a delay": b.request("flush", extras=b"\0\0"),
    "a stat with extras": b.request("stat", extras=EXPIRY),
    "a key of 251 bytes": b.request("get", b"k" * 251),
    "a set of a key of 251 bytes": b.store("set", b"k" * 251, b"v"),
    "a key that is longer than the body": b.HEADER.pack(0x80, 0, 5, 0, 0, 0, 1, 0, 0) + b"k",
    "extras that are longer than the body": b.HEADER.pack(0x80, 0x77, 1, 9, 0, 0, 2, 0, 0) + b"kk",
    "a response": b.request("get", b"k", magic=0x81),
    "text": b"get k\r\n" * 9,
}


def bad_framing(server):
    for what, packet in BAD_FRAMING.items():
        wire = connect(server)
        wire.send(b.request("noop") + packet + b.store("set", b"behind", b"v"))
        ensure_equal(b.read(wire).opcode, b.code("noop"), f"before {what}")
        b.ensure_status(b.read(wire), b.INVALID, what)
        ensure_equal(wire.until_closed(), b"", f"behind {what}")
    ensure_equal(b.ask(connect(server), b.request("get", b"behind")).status, b.NOT_FOUND, "what came behind")


def unknown(wire):
    for opcode in [0x1f, *range(0x25, 0x100, 9), 0xff]:
        for packet in (b.request(opcode), b.request(opcode, b"key", b"extras", b"value" * 1000)):
            answer, = b.ask_all(wire, [packet])
            b.ensure_status(answer, b.UNKNOWN, f"opcode {opcode:#x}")


def too_large(wire):
    value = b"\x80" * ((1 << 20) + 1)
    for name, kept in (("set", False), ("setq", False), ("add", True), ("replaceq", True), ("append", True)):
        b.ensure_status(b.ask(wire, b.store("set", b"big", b"old")), b.OK, "set")
        packet = b.request(name, b"big", value=value) if name == "append" else b.store(name, b"big", value)
        answer, = b.ask_all(wire, [packet])
        b.ensure_status(answer, b.TOO_LARGE, f"too large a {name}")
        ensure_equal(b.ask(wire, b.request("get", b"big")).status, b.OK if kept else b.NOT_FOUND, f"after that {name}")
    b.ensure_status(b.ask(wire, b.store("set", b"big", value[:-1])), b.OK, "the largest value")
    b.ensure_status(b.ask(wire, b.request("append", b"big", value=b"x")), b.TOO_LARGE, "an append to it")


def test(binary):
    with serving(binary) as server:
        bad_framing(server)
        wire = connect(server)
        unknown(wire)
        too_large(wire)
