# SPDX-License-Identifier: BSD-3-Clause
"""The binary protocol for tests: packets out, packets in, and what they should be."""

import collections
import struct

from lib.checks import ensure, ensure_equal
from lib.wire import WireError, show

HEADER = struct.Struct(">BBHBBHIIQ")
OPCODES = dict(
    get=0x00, set=0x01, add=0x02, replace=0x03, delete=0x04, incr=0x05, decr=0x06, quit=0x07, flush=0x08, getq=0x09,
    noop=0x0a, version=0x0b, getk=0x0c, getkq=0x0d, append=0x0e, prepend=0x0f, stat=0x10, setq=0x11, addq=0x12,
    replaceq=0x13, deleteq=0x14, incrq=0x15, decrq=0x16, quitq=0x17, flushq=0x18, appendq=0x19, prependq=0x1a,
    verbosity=0x1b, touch=0x1c, gat=0x1d, gatq=0x1e, sasl_list=0x20, sasl_auth=0x21, sasl_step=0x22, gatk=0x23,
    gatkq=0x24)
OK, NOT_FOUND, EXISTS, TOO_LARGE, INVALID, NOT_STORED, NOT_NUMERIC = range(7)
UNKNOWN, NO_MEMORY, INTERNAL = 0x81, 0x82, 0x84
NEVER_CREATE = 0xffffffff
TEXTS = {NOT_FOUND: b"Not found", EXISTS: b"Data exists for key.", TOO_LARGE: b"Too large.",
         INVALID: b"Invalid arguments", NOT_STORED: b"Not stored.", UNKNOWN: b"Unknown command",
         NOT_NUMERIC: b"Non-numeric server-side value for incr or decr", NO_MEMORY: b"Out of memory"}

Packet = collections.namedtuple("Packet", "opcode status opaque cas extras key value")


def code(name):
    return OPCODES[name] if isinstance(name, str) else name


def request(name, key=b"", extras=b"", value=b"", opaque=0, cas=0, magic=0x80):
    return HEADER.pack(magic, code(name), len(key), len(extras), 0, 0, len(extras) + len(key) + len(value), opaque,
                       cas) + extras + key + value


def store(name, key, value, flags=0, exptime=0, **more):
    return request(name, key, struct.pack(">II", flags, exptime), value, **more)


def arith(name, key, delta=1, initial=0, exptime=NEVER_CREATE, **more):
    return request(name, key, struct.pack(">QQI", delta, initial, exptime), **more)


def touch(name, key, exptime, **more):
    return request(name, key, struct.pack(">I", exptime), **more)


def read(wire):
    """The next packet."""
    magic, opcode, key_n, extras_n, kind, status, body_n, opaque, cas = HEADER.unpack(wire.exactly(HEADER.size))
    if magic != 0x81 or kind != 0 or extras_n + key_n > body_n:
        raise WireError(f"no packet: magic {magic:#x}, key {key_n}, extras {extras_n}, body {body_n}")
    body = wire.exactly(body_n)
    return Packet(opcode, status, opaque, cas, body[:extras_n], body[extras_n:extras_n + key_n],
                  body[extras_n + key_n:])


def ask(wire, packet):
    wire.send(packet)
    return read(wire)


def ask_all(wire, packets):
    """Sends them in one write with a NOOP behind; returns what was answered before that."""
    wire.send(b"".join(packets) + request("noop", opaque=0x5eed))
    answers = []
    while True:
        answer = read(wire)
        if answer.opcode == OPCODES["noop"] and answer.opaque == 0x5eed:
            ensure_equal(answer.status, OK, "status of a noop")
            return answers
        answers.append(answer)


def ensure_status(answer, status, what):
    """An error has its text as the value, and nothing else."""
    ensure_equal(f"{answer.status:#06x}", f"{status:#06x}", f"status of {what}")
    if status != OK:
        ensure(answer.extras == answer.key == b"" and answer.cas == 0, f"{what} has more than a text: {answer}")
        ensure_equal(show(answer.value), show(TEXTS[status]), f"text of {what}")


def stats(wire, group=b""):
    """{name: value}; the reply ends with a packet without a name."""
    wire.send(request("stat", group))
    found = {}
    while True:
        answer = read(wire)
        ensure_status(answer, OK, "stat")
        if not answer.key:
            return found
        found[answer.key.decode()] = answer.value.decode()
