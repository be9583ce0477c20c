# SPDX-License-Identifier: BSD-3-Clause
"""The answer to a binary touch has the flags and no value, and the next answer its own (pylibmc#179)."""

import struct

from lib import binary as b
from lib.checks import connect, ensure_equal, serving


def test(binary):
    with serving(binary) as server:
        wire = connect(server)
        cas = b.ask(wire, b.store("set", b"k", b"value", flags=0x01020304)).cas
        wire.send(b.touch("touch", b"k", 100, opaque=1) + b.request("get", b"k", opaque=2) +
                  b.touch("touch", b"nope", 100, opaque=3) + b.request("noop", opaque=4))
        flags = struct.pack(">I", 0x01020304)
        ensure_equal(b.read(wire), b.Packet(0x1c, b.OK, 1, cas, flags, b"", b""), "touch")
        ensure_equal(b.read(wire), b.Packet(0x00, b.OK, 2, cas, flags, b"", b"value"), "get behind it")
        ensure_equal(b.read(wire), b.Packet(0x1c, b.NOT_FOUND, 3, 0, b"", b"", b"Not found"), "touch of a miss")
        ensure_equal(b.read(wire).opaque, 4, "noop")
