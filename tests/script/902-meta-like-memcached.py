# SPDX-License-Identifier: BSD-3-Clause
"""Random meta commands sent to memcached and to the server, one by one: the answers must be the same.

What may differ: cas numbers (compared by their order of appearance), the padding of decremented numbers, seconds,
the words of a CLIENT_ERROR.  Left out is what memcached 1.6.18 does not know yet, see 038-meta-since-1.6.18.ct.
Skipped where memcached is not installed.
"""

import os
import random
import re

from lib.checks import connect
from lib.runner import Failure, Skip
from lib.server import Server, scale
from lib.wire import show

MEMCACHED = "/usr/bin/memcached"
REQUESTS = 5000
KEYS = [b"k%d" % i for i in range(5)] + [b"x" * 250]
BASE64_KEYS = [b"YSBi", b"DQoA"]
# For ma alone: whether memcached pads a number, and whether it keeps what N, R and I have marked, depends on who looks
# at the item just then.
NUMBER_KEYS = [b"n%d" % i for i in range(3)]
TIMES = (b"0", b"0", b"1000", b"2592000")
NUMBERS = (b"0", b"1", b"7", b"99", b"18446744073709551615")
ODD_FLAGS = (b"!", b"S1", b"Tx", b"N", b"Cx", b"MXX", b"Dx", b"z")
TOKEN = re.compile(rb" (c)(\d+)| (t)(\d+)")


class Commands:
    def __init__(self, rng):
        self.rng = rng

    def one(self):
        verb = self.rng.choices((b"mg", b"ms", b"md", b"ma", b"mn"), (35, 35, 10, 20, 2))[0]
        return verb if verb == b"mn" else getattr(self, verb.decode())()

    def some(self, flags, most=4):
        """Some of these flags in any order, each once; but T and N come first, since they decide what t shows."""
        picked = self.rng.sample(flags, self.rng.randrange(min(most, len(flags)) + 1))
        if self.rng.random() < 0.03:
            picked.append(self.rng.choice(ODD_FLAGS))
        return sorted(picked, key=lambda flag: flag[:1] not in b"TN")

    def line(self, verb, keys, flags, middle=()):
        key = self.rng.choice(keys)
        if key in BASE64_KEYS:
            flags = flags + [b"b"]
        return b" ".join([verb, key, *middle, *flags])

    def time(self, letter):
        return letter + self.rng.choice(TIMES)

    def cas(self):
        return self.rng.choice((b"C@", b"C@", b"C1099511627776"))

    def mg(self):
        # Of T and R together memcached takes the time after the touch.
        changes = self.rng.choice(([self.time(b"T")], [self.time(b"N"), b"R30"], [b"R2000"]))
        picked = self.some([b"v", b"k", b"s", b"t", b"c", b"f", b"q", b"O%d" % self.rng.randrange(1000), b"u", b"P",
                            b"Lx", *changes], 6)
        # memcached forgets that a key came in base64 when mg makes the item or ms appends to it.
        marks = any(flag[:1] in b"NR" for flag in picked)
        return self.line(b"mg", KEYS + ([] if marks else NUMBER_KEYS) + ([] if b"k" in picked else BASE64_KEYS), picked)

    def ms(self):
        rng = self.rng
        value = rng.choice((b"%d" % rng.getrandbits(30), b"v" * rng.randrange(40), b"a\r\nb"))
        mode = rng.choice((b"MS", b"ME", b"MA", b"MP", b"MR", b"MX"))
        picked = self.some([self.time(b"T"), b"F%d" % rng.randrange(99), self.cas(), b"I", b"c", b"k", b"O7", b"q",
                            mode, mode], 5)
        return self.line(b"ms", KEYS + BASE64_KEYS, list(dict.fromkeys(picked)), [b"%d" % len(value)]) + b"\r\n" + value

    def md(self):
        picked = self.some([self.rng.choice((b"I", b"P")), self.time(b"T"), self.cas(), b"k", b"O7", b"q"])
        return self.line(b"md", KEYS + BASE64_KEYS + ([] if b"I" in picked else NUMBER_KEYS), picked)

    def ma(self):
        rng = self.rng
        # Without T, which memcached gives to the old item when the number grows longer.  With q it tells all the same
        # of an item that ma makes.
        rest = rng.choice((self.time(b"N"), b"q"))
        mode = rng.choice((b"MI", b"MD", b"M-", b"M+", b"MX"))
        return self.line(b"ma", NUMBER_KEYS, self.some([rest, mode, b"J" + rng.choice(NUMBERS),
                                                        b"D" + rng.choice(NUMBERS), self.cas(), b"v", b"t", b"c", b"k",
                                                        b"O7"], 6))


class Peer:
    """One of the two servers: its connection, and what it has told of cas numbers."""

    def __init__(self, server):
        self.wire = connect(server)
        self.order = {b"0": 0}
        self.last = {}

    def run(self, command):
        key = command.split(b" ")[1] if b" " in command else b""
        self.wire.send(command.replace(b"C@", b"C" + self.last.get(key, b"1")) + b"\r\nversion\r\n")
        found = []
        while not (line := self.wire.line()).startswith(b"VERSION "):
            value = self.wire.exactly(int(line.split(b" ")[1]) + 2) if line.startswith(b"VA ") else b""
            told = re.search(rb" c(\d+)", line)
            if told and told.group(1) != b"0":
                self.last[key] = told.group(1)
            found.append((self.form(line), value.replace(b" ", b"")))
        return found

    def form(self, line):
        def one(match):
            if match.group(1):
                return b" c#%d" % self.order.setdefault(match.group(2), len(self.order))
            return b" t#"
        line = re.sub(rb"^VA \d+| s\d+", b"VA", TOKEN.sub(one, line))  # the padding makes numbers longer
        return b"CLIENT_ERROR" if line.startswith(b"CLIENT_ERROR") else line


def test(binary):
    if not os.access(MEMCACHED, os.X_OK):
        raise Skip("memcached is not installed")
    seed = int(os.environ.get("COFFER_TEST_SEED", "20261201"))  # another one explores
    commands = Commands(random.Random(seed))
    with Server(MEMCACHED, ["-m", "100"]) as their_server, Server(binary, ["-m", "100"]) as our_server:
        theirs, ours = Peer(their_server.start()), Peer(our_server.start())
        for peer in (theirs, ours):
            for _ in range(5):  # so that C1 is an old one for both
                peer.run(b"ms k0 1\r\nx")
        before = []
        for number in range(scale(REQUESTS)):
            command = commands.one()
            expected, got = theirs.run(command), ours.run(command)
            if expected != got:
                raise Failure(f"seed {seed}, request {number}: {show(command)}\nmemcached: {expected}\n      we: {got}\n"
                              "before it:\n" + "\n".join(before[-8:]))
            before.append(show(command, 100))
        our_server.stop()
    return f"{scale(REQUESTS)} requests, seed {seed}"
