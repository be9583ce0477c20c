# SPDX-License-Identifier: BSD-3-Clause
"""Keys of any bytes and lengths, values of all sizes, in pieces; both protocols see the same items."""

from lib import binary as b
from lib.checks import connect, ensure_equal, serving

KEYS = [b"a", b"k" * 250, b"a b", b" ", b"\r\n", b"a\0b", b"\xff" * 250, b"VALUE x 0 1\r\n", b"\x80\x81", bytes(250)]


def roundtrip(wire, key, value, **options):
    cas = b.ask(wire, b.store("set", key, value, **options)).cas
    got = b.ask(wire, b.request("getk", key))
    ensure_equal((got.status, got.key, got.cas), (b.OK, key, cas), f"getk of {key[:20]}")
    ensure_equal(got.value == value, True, f"the {len(value)} bytes come back")


def in_pieces(server):
    packets = (b.store("set", b"p q", b"pieces\r\n") + b.request("getk", b"p q") + b.store("set", b"e", b"") +
               b.request(0x77, b"unknown", b"xx", b"dropped") + b.request("noop"))
    for size in (1, 7, 23, 25):
        wire = connect(server)
        for at in range(0, len(packets), size):
            wire.send(packets[at:at + size])
            wire.drained()
        answers = [b.read(wire) for _ in range(5)]
        ensure_equal([answer.status for answer in answers], [b.OK, b.OK, b.OK, b.UNKNOWN, b.OK], f"by {size} bytes")
        ensure_equal(answers[1].value, b"pieces\r\n", "the value sent in pieces")


def test(binary):
    with serving(binary, "--enable-debug") as server:
        wire = connect(server)
        text = connect(server)
        for key in KEYS:
            roundtrip(wire, key, b"value of " + key)
        for size in (0, 1, 2, 4095, 4096, 4097, 100_000, 1 << 20):
            roundtrip(wire, b"size %d" % size, b"\x80\r\n"[:size] + b"v" * max(0, size - 3))
        in_pieces(server)

        ensure_equal(text.get(b"a"), {b"a": (0, b"value of a")}, "a text get of a binary item")
        text.store(b"t", b"text", flags=7)
        got = b.ask(wire, b.request("get", b"t"))
        ensure_equal((got.extras, got.value), (b"\0\0\0\7", b"text"), "a binary get of a text item")

        for _ in range(2):  # from memory, and from the tree
            ensure_equal(set(KEYS) - set(text.dump()), set(), "keys that metadump leaves out")
            ensure_equal(text.ask(b"debug checkpoint"), b"OK", "checkpoint")
        text.send(b"stats cachedump 1 0\r\n")
        while (line := text.line()) != b"END":
            ensure_equal(line.count(b" "), 5, f"words of {line!r}")
