# SPDX-License-Identifier: BSD-3-Clause
"""Random binary requests sent to memcached and to the server, one by one: the answers must be the same.

What may differ: cas numbers (compared by their order of appearance) and the padding of decremented numbers.
Skipped where memcached is not installed.
"""

import os
import random
import struct

from lib import binary as b
from lib.checks import connect
from lib.runner import Failure, Skip
from lib.server import Server, scale

MEMCACHED = "/usr/bin/memcached"
REQUESTS = 5000
KEYS = [b"k%d" % i for i in range(6)] + [b"a b\r\n\0", b"x" * 250]
NUMBER_KEYS = [b"n%d" % i for i in range(4)]  # for arithmetic, and so not for append: padding would show
ALL_KEYS = KEYS + NUMBER_KEYS
TIMES = (0, 0, 0, 1000, 2592000, 0x7fffffff)  # nothing may depend on which second it is
NUMBERS = (0, 1, 7, 99, 2 ** 32, 2 ** 64 - 1)
STORES = ["set", "set", "add", "replace", "setq", "addq", "replaceq"]
READS = ["get", "getq", "getk", "getkq"]
TOUCHES = ["gat", "gatq", "gatk", "gatkq", "touch"]


def some_request(rng):
    """(function of a cas -> packet, its key, whether it wants the key's last known cas)."""
    kind = rng.choices(("store", "join", "read", "touch", "arith", "delete", "small"), (30, 10, 25, 10, 15, 8, 3))[0]
    key = rng.choice({"join": KEYS, "arith": NUMBER_KEYS}.get(kind, ALL_KEYS))
    value = rng.choice((b"%d" % rng.getrandbits(rng.choice((4, 30, 63))), b"v" * rng.randrange(1, 40), b"a\r\n\x80"))
    if kind == "store":
        name, flags, time = rng.choice(STORES), rng.choice((0, 5, 2 ** 32 - 1)), rng.choice(TIMES)
        return lambda cas: b.store(name, key, value, flags, time, cas=cas), key, True
    if kind == "join":
        name = rng.choice(("append", "prepend", "appendq", "prependq"))
        return lambda cas: b.request(name, key, value=value, cas=cas), key, True
    if kind == "read":
        name = rng.choice(READS)
        return lambda cas: b.request(name, key), key, False
    if kind == "touch":
        name, time = rng.choice(TOUCHES), rng.choice(TIMES)
        return lambda cas: b.touch(name, key, time), key, False
    if kind == "arith":
        name = rng.choice(("incr", "decr", "incrq", "decrq"))
        numbers = rng.choice(NUMBERS), rng.choice(NUMBERS), rng.choice((0, 1000, b.NEVER_CREATE))
        return lambda cas: b.arith(name, key, *numbers, cas=cas), key, True
    if kind == "delete":
        name = rng.choice(("delete", "deleteq"))
        return lambda cas: b.request(name, key, cas=cas), key, True
    packet = rng.choice((b.request("noop"), b.request("flush"), b.request("flushq"), b.request(0x3d),
                         b.request("flush", extras=struct.pack(">I", 0)), b.request("stat", b"nosuch"),
                         b.request("sasl_list")))
    return lambda cas: packet, b"", False


class Peer:
    """One of the two servers: its connection, and what it has told of cas numbers."""

    def __init__(self, server):
        self.wire = connect(server)
        self.order = {0: 0}
        self.last = {}

    def run(self, make, key, which):
        answers = b.ask_all(self.wire, [make(self.last.get(key, 1) if which == "last" else 1 if which == "old" else 0)])
        for answer in answers:
            if answer.cas:
                self.last[key] = answer.cas
        return [self.form(answer) for answer in answers]

    def form(self, answer):
        cas = self.order.setdefault(answer.cas, len(self.order))
        return answer._replace(cas=cas, value=answer.value.replace(b" ", b""))


def test(binary):
    if not os.access(MEMCACHED, os.X_OK):
        raise Skip("memcached is not installed")
    seed = int(os.environ.get("COFFER_TEST_SEED", "20261201"))  # another one explores
    rng = random.Random(seed)
    with Server(MEMCACHED, ["-m", "100"]) as their_server, Server(binary, ["-m", "100"]) as our_server:
        theirs, ours = Peer(their_server.start()), Peer(our_server.start())
        for peer in (theirs, ours):
            b.ask_all(peer.wire, [b.store("set", b"k0", b"x")] * 5)  # so that a cas of 1 is an old one for both
        for number in range(scale(REQUESTS)):
            make, key, conditional = some_request(rng)
            which = rng.choices(("none", "last", "old"), (6, 3, 1))[0] if conditional else "none"
            expected, got = theirs.run(make, key, which), ours.run(make, key, which)
            if expected != got:
                raise Failure(f"seed {seed}, request {number}: {make(0)!r} with cas {which}\n"
                              f"memcached: {expected}\n      we: {got}")
        our_server.stop()
    return f"{scale(REQUESTS)} requests, seed {seed}"
