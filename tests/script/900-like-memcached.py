# SPDX-License-Identifier: BSD-3-Clause
"""Random requests, right and wrong ones, sent to memcached and to the server: the answers must be the same.

What may differ is written down here: cas numbers (compared by their order of appearance), the padding that
memcached leaves behind a decremented number or not, as its reference counts happen to be, and its second error line for the data block of a refused request.  Skipped where
memcached is not installed.
"""

import os
import random
import re
import shutil

from lib.checks import connect
from lib.runner import Failure, Skip
from lib.server import Server, scale
from lib.wire import show

MEMCACHED = "/usr/bin/memcached"
REQUESTS = 6000
KEYS = [b"k%d" % i for i in range(6)] + [b"x" * 250]
NUMBER_KEYS = [b"n%d" % i for i in range(4)]  # for decr, and so not for append: the padding would show
ALL_KEYS = KEYS + NUMBER_KEYS
VALUE_LINE = re.compile(rb"VALUE (\S+) (\d+) (\d+)(?: (\d+))?\r\n")
NUMBERS = (b"0", b"1", b"7", b"99", b"18446744073709551615", b"4294967296")
ODD_NUMBERS = (b"-1", b"x", b"1.5", b"18446744073709551616", b"1x", b"+1", b"00012")
TIMES = (b"0", b"0", b"0", b"1000", b"2592000", b"-1")  # nothing may depend on which second it is
ODD_TIMES = (b"x", b"1.5", b"99999999999999999999")


class Requests:
    """A stream of requests; each is (bytes, whether its data block follows a refusal)."""

    def __init__(self, rng):
        self.rng = rng

    def one(self):
        kind = self.rng.choices((self.storage, self.retrieval, self.arith, self.small, self.odd),
                                (40, 30, 15, 10, 8))[0]
        return kind()

    def odd_one(self, usual, odd, chance=0.04):
        return self.rng.choice(odd if self.rng.random() < chance else usual)

    def tail(self):
        return b" noreply" if self.rng.random() < 0.15 else b""

    def storage(self):
        rng = self.rng
        verb = rng.choice((b"set", b"set", b"add", b"replace", b"append", b"prepend", b"cas"))
        key = rng.choice(KEYS if verb in (b"append", b"prepend") else ALL_KEYS)
        value = rng.choice((b"%d" % rng.getrandbits(rng.choice((4, 30, 63))), b"v" * rng.randrange(40), b"a\r\nb"))
        flags = self.odd_one((b"0", b"5", b"4294967295"), (b"x", b"-1"), 0.02)
        # Neither server gives these out; memcached numbers from 1.
        cas = b" %d" % rng.choice((1 << 40, (1 << 64) - 2)) if verb == b"cas" else b""
        line = b"%s %s %s %s %d%s%s\r\n" % (verb, key, flags, self.odd_one(TIMES, (b"x", b"1.5"), 0.02), len(value), cas,
                                            self.tail())
        return line + value + b"\r\n"

    def retrieval(self):
        rng = self.rng
        keys = b" ".join(rng.choice(ALL_KEYS) for _ in range(rng.choice((1, 1, 2, 5))))
        verb = rng.choice((b"get", b"gets", b"get", b"gat " + self.odd_one(TIMES, ODD_TIMES),
                           b"gats " + self.odd_one(TIMES, ODD_TIMES)))
        return verb + b" " + keys + b"\r\n"

    def arith(self):
        verb = self.rng.choice((b"incr", b"decr"))
        return b"%s %s %s%s\r\n" % (verb, self.rng.choice(ALL_KEYS if verb == b"incr" else NUMBER_KEYS),
                                    self.odd_one(NUMBERS, ODD_NUMBERS[:5]), self.tail())

    def small(self):
        rng = self.rng
        return rng.choice((
            b"delete %s%s\r\n" % (rng.choice(ALL_KEYS), rng.choice((b"", b"", b" 0", b" noreply", b" 0 noreply", b" 5"))),
            b"touch %s %s%s\r\n" % (rng.choice(ALL_KEYS), self.odd_one(TIMES, ODD_TIMES), self.tail()),
            b"flush_all%s\r\n" % rng.choice((b"", b" 0", b" noreply", b" 0 noreply", b" x")),
            b"verbosity %s\r\n" % rng.choice((b"0", b"1", b"x")),
            b"cache_memlimit 100\r\n",
        ))

    def odd(self):
        return self.rng.choice((
            b"get " + b"y" * 251 + b"\r\n", b"nonsense\r\n", b"\r\n", b"   \r\n", b"GET k0\r\n", b"get  k0   k1 \r\n",
            b" get k0\r\n", b"delete\r\n", b"incr k0\r\n", b"touch k0\r\n", b"set k0\r\n", b"set k0 0 0\r\n",
            b"get\r\n", b"gets\r\n", b"touch k0 x\r\n", b"delete " + b"y" * 251 + b"\r\n", b"stats nonsense\r\n",
            b"set k0 0 0 -1\r\n", b"set k0 0 0 x\r\n", b"delete k0 0 0 0\r\n", b"incr k0 1 2 3\r\n",
        ))


def answers(wire, requests, together):
    """The bytes that a server answers to each request, told apart by a `version` behind it."""
    found = []
    for at in range(0, len(requests), together):
        part = requests[at:at + together]
        wire.send(b"".join(request + b"version\r\n" for request in part))
        for _ in part:
            reply = []
            while True:
                line = wire.line()
                if line.startswith(b"VERSION "):
                    break
                reply.append(line + b"\r\n")
                if line.startswith(b"VALUE "):
                    reply.append(wire.exactly(int(line.split(b" ")[3]) + 2))
            found.append(b"".join(reply))
    return found


class Normal:
    """An answer without what may differ."""

    def __init__(self):
        self.cas = {}

    def value(self, match, data):
        key, flags, size, cas = match.groups()
        if cas is not None:
            cas = self.cas.setdefault(cas, len(self.cas))
        return repr((key, flags, data.replace(b" ", b""), cas)).encode()

    def form(self, reply):
        parts, at = [], 0
        while at < len(reply):
            match = VALUE_LINE.match(reply, at)
            if match:
                end = match.end() + int(match.group(3))
                parts.append(self.value(match, reply[match.end():end]))
                at = end + 2
            else:
                end = reply.index(b"\r\n", at) + 2
                parts.append(reply[at:end - 2])
                at = end
        return parts


def same(request, theirs, ours):
    """Equal, or different in a way that is known and right."""
    if theirs == ours:
        return True
    error = re.compile(rb"ERROR|CLIENT_ERROR .*")
    # Both refuse: the words may differ, and memcached takes the data block for a command.
    if theirs and ours and error.fullmatch(theirs[0]) and error.fullmatch(ours[0]) and len(ours) == 1:
        return True
    # A refused request with noreply: memcached 1.6.18 lets an error of the data block through.
    return not ours and b"noreply" in request and all(error.fullmatch(line) for line in theirs)


def test(binary):
    if not os.access(MEMCACHED, os.X_OK) and shutil.which("memcached") is None:
        raise Skip("memcached is not installed")
    seed = int(os.environ.get("COFFER_TEST_SEED", "20261201"))  # another one explores
    stream = Requests(random.Random(seed))
    requests = [stream.one() for _ in range(scale(REQUESTS))]
    with Server(MEMCACHED, ["-m", "100"]) as theirs, Server(binary, ["-m", "100"]) as ours:
        replies, normal = [], (Normal(), Normal())
        # memcached loses step when a refused request's data block comes along with what follows.
        for server, together in ((theirs, 1), (ours, 50)):
            server.start()
            replies.append(answers(connect(server), requests, together))
        for number, request in enumerate(requests):
            forms = [normal[i].form(replies[i][number]) for i in (0, 1)]
            if not same(request, *forms):
                before = "\n".join(show(earlier, 100) for earlier in requests[max(0, number - 6):number])
                raise Failure(f"seed {seed}, request {number}: {show(request)}\n"
                              f"memcached: {forms[0]}\n      we: {forms[1]}\nbefore it:\n{before}")
        ours.stop()
    return f"{len(requests)} requests, seed {seed}"
