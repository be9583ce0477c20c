# SPDX-License-Identifier: BSD-3-Clause
"""Every opcode of the binary protocol, answered, and its quiet form."""

import struct

from lib import binary as b
from lib.checks import connect, ensure, ensure_equal, serving


def answer(wire, packet, status=b.OK, extras=b"", key=b"", value=b""):
    """Asks and compares all but the cas, which is returned."""
    got = b.ask(wire, packet)
    sent = b.HEADER.unpack(packet[:24])
    ensure_equal((got.opcode, got.opaque), (sent[1], sent[7]), "opcode and opaque")
    if status != b.OK and not key:
        b.ensure_status(got, status, packet[:40])
    else:
        ensure_equal(tuple(got[i] for i in (1, 4, 5, 6)), (status, extras, key, value), f"answer to {packet[:40]}")
    return got.cas


def silent(wire, *packets):
    ensure_equal(b.ask_all(wire, packets), [], "answers to quiet packets")


def number(n):
    return struct.pack(">Q", n)


FLAGS = struct.pack(">I", 5)


def storage(wire):
    first = answer(wire, b.store("set", b"k", b"v", flags=5, opaque=0xdeadbeef))
    answer(wire, b.store("add", b"k", b"x"), b.EXISTS)
    answer(wire, b.store("replace", b"nope", b"x"), b.NOT_FOUND)
    answer(wire, b.request("append", b"nope", value=b"x"), b.NOT_STORED)
    answer(wire, b.request("prepend", b"nope", value=b"x"), b.NOT_STORED)
    ensure_equal(answer(wire, b.request("get", b"k"), extras=FLAGS, value=b"v"), first, "cas of a get")
    second = answer(wire, b.store("replace", b"k", b"m", flags=5))
    ensure(second > first, "a replace has a new cas")
    third = answer(wire, b.request("append", b"k", value=b"z"))
    answer(wire, b.request("prepend", b"k", value=b"a"))
    ensure(third > second, "an append has a new cas")
    answer(wire, b.request("getk", b"k"), extras=FLAGS, key=b"k", value=b"amz")
    answer(wire, b.store("add", b"new", b""))
    answer(wire, b.request("get", b"new"), extras=bytes(4))
    silent(wire, b.store("setq", b"k", b"q", flags=5), b.store("addq", b"k2", b"q"), b.store("replaceq", b"k2", b"r"),
           b.request("appendq", b"k", value=b"2"), b.request("prependq", b"k", value=b"1"))
    answer(wire, b.request("get", b"k"), extras=FLAGS, value=b"1q2")
    answer(wire, b.request("get", b"k2"), extras=bytes(4), value=b"r")


def conditions(wire):
    cas = answer(wire, b.store("set", b"c", b"1"))
    answer(wire, b.store("set", b"c", b"2", cas=cas + 1), b.EXISTS)
    answer(wire, b.store("set", b"nope", b"2", cas=cas), b.NOT_FOUND)
    answer(wire, b.request("append", b"c", value=b"2", cas=cas + 1), b.EXISTS)
    answer(wire, b.request("delete", b"c", cas=cas + 1), b.EXISTS)
    answer(wire, b.arith("incr", b"c", cas=cas + 1), b.EXISTS)
    for name in ("set", "replace", "add"):
        cas = answer(wire, b.store(name, b"c", b"3", cas=cas))
    cas = answer(wire, b.request("append", b"c", value=b"4", cas=cas))
    cas = answer(wire, b.arith("incr", b"c", cas=cas), value=number(35))
    answer(wire, b.request("delete", b"c", cas=cas))
    answer(wire, b.request("delete", b"c"), b.NOT_FOUND)


def arithmetic(wire):
    answer(wire, b.arith("incr", b"n"), b.NOT_FOUND)
    cas = answer(wire, b.arith("incr", b"n", 1, 10, 0), value=number(10))
    ensure(answer(wire, b.arith("incr", b"n", 1, 10, 0), value=number(11)) > cas, "an incr has a new cas")
    answer(wire, b.arith("decr", b"n", 5), value=number(6))
    answer(wire, b.arith("decr", b"n", 100), value=number(0))
    answer(wire, b.arith("incr", b"n", 2 ** 64 - 1), value=number(2 ** 64 - 1))
    answer(wire, b.arith("incr", b"n", 2), value=number(1))
    answer(wire, b.arith("decr", b"m", 1, 2 ** 64 - 1, 0), value=number(2 ** 64 - 1))
    silent(wire, b.arith("incrq", b"n", 4), b.arith("decrq", b"n", 2), b.arith("incrq", b"fresh", 1, 7, 0))
    ensure_equal(wire_text(wire, b"n"), b"3", "after quiet arithmetic")
    ensure_equal(wire_text(wire, b"fresh"), b"7", "made by quiet arithmetic")
    answer(wire, b.store("set", b"word", b"abc"))
    answer(wire, b.arith("incr", b"word"), b.NOT_NUMERIC)


def wire_text(wire, key):
    return b.ask(wire, b.request("get", key)).value.rstrip()


def reads(wire):
    cas = answer(wire, b.store("set", b"r", b"v", flags=5))
    hit = dict(extras=FLAGS, value=b"v")
    for packet, key in ((b.request("get", b"r"), b""), (b.request("getq", b"r"), b""), (b.request("getk", b"r"), b"r"),
                        (b.request("getkq", b"r"), b"r"), (b.touch("gat", b"r", 100), b""),
                        (b.touch("gatq", b"r", 100), b""), (b.touch("gatk", b"r", 100), b"r"),
                        (b.touch("gatkq", b"r", 100), b"r")):
        ensure_equal(answer(wire, packet, key=key, **hit), cas, "cas of a read")
    answer(wire, b.request("get", b"nope"), b.NOT_FOUND)
    answer(wire, b.touch("gat", b"nope", 100), b.NOT_FOUND)
    answer(wire, b.request("getk", b"nope"), b.NOT_FOUND, key=b"nope")
    answer(wire, b.touch("gatk", b"nope", 100), b.NOT_FOUND, key=b"nope")
    silent(wire, b.request("getq", b"nope"), b.request("getkq", b"nope"), b.touch("gatq", b"nope", 1),
           b.touch("gatkq", b"nope", 1))


def deletes(wire):
    for name in ("delete", "deleteq"):
        answer(wire, b.store("set", b"d", b"v"))
        ensure_equal(len(b.ask_all(wire, [b.request(name, b"d")])), int(name == "delete"), f"answers to {name}")
        answer(wire, b.request("get", b"d"), b.NOT_FOUND)


def the_rest(wire):
    answer(wire, b.request("noop"))
    answer(wire, b.request("verbosity", extras=struct.pack(">I", 1)))
    answer(wire, b.request("verbosity", extras=struct.pack(">I", 0)))
    version = b.ask(wire, b.request("version"))
    ensure(version.value.replace(b".", b"").isdigit() and version.value.count(b".") == 2, f"version {version}")
    answer(wire, b.store("set", b"f", b"v"))
    answer(wire, b.request("flush", extras=struct.pack(">I", 3600)))
    answer(wire, b.request("get", b"f"), extras=bytes(4), value=b"v")
    answer(wire, b.request("flush"))
    answer(wire, b.request("get", b"f"), b.NOT_FOUND)
    answer(wire, b.store("set", b"f", b"v"))
    silent(wire, b.request("flushq"), b.request("getq", b"f"))


def quit_and_quitq(server):
    for name, answers in (("quit", 1), ("quitq", 0)):
        wire = connect(server)
        wire.send(b.store("set", b"last", b"v") + b.request(name) + b.request("noop"))
        answer_to_set = b.read(wire)
        ensure_equal(answer_to_set.status, b.OK, "set")
        if answers:
            ensure_equal(b.read(wire).opcode, b.code(name), "opcode")
        ensure_equal(wire.until_closed(), b"", f"behind {name}")


def test(binary):
    with serving(binary) as server:
        wire = connect(server)
        for part in (storage, conditions, arithmetic, reads, deletes, the_rest):
            part(wire)
        quit_and_quitq(server)
