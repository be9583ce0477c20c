# SPDX-License-Identifier: BSD-3-Clause
"""What a key must hold after a list of operations: states, operations, and whether what was found fits.

A key of the load belongs to one connection, so each reply and each state is known in advance, but for two things
that the server chooses: the second in which it computed an expiry (kept as bounds) and cas numbers (kept as `this
one` once seen, or else `above that one`).
"""

import random
import time
import zlib

from lib.wire import show

ITEM_MAX = 1 << 20
LARGEST_VALUE = 900_000
_blob = random.Random(7).randbytes(LARGEST_VALUE + 65536)


def make_value(key, serial, size):
    """Bytes that tell of which write they are, wherever they are cut."""
    head = b"%s#%d:" % (key, serial)
    start = zlib.crc32(head) % 65536
    return (head + _blob[start:start + size])[:max(size, len(head))]


def pick_size(rng):
    """Mostly small; now and then so large that it needs another way to disk."""
    dice = rng.random()
    if dice < 0.75:
        return rng.randrange(300)
    if dice < 0.95:
        return rng.randrange(300, 5000)
    if dice < 0.995:
        return rng.randrange(5000, 60_000)
    return rng.randrange(60_000, LARGEST_VALUE)


class Expiry:
    """An absolute time between two bounds; the upper one is known when the reply has come."""

    def __init__(self, ttl):
        self.ttl = ttl
        self.low = int(time.time()) + ttl - 1
        self.high = None

    def settle(self):
        if self.high is None:
            self.high = int(time.time()) + self.ttl + 1


class Cas:
    """The number of one value of a key: known once a gets has shown it, else only greater than the one before."""

    def __init__(self, before=None):
        self.number = None
        self.before = before

    def floor(self):
        """The highest number that this one must exceed."""
        cas = self.before
        while cas is not None and cas.number is None:
            cas = cas.before
        return cas.number if cas is not None else 0

    def accepts(self, number):
        return number == self.number if self.number is not None else number > self.floor()

    def learn(self, number):
        self.before = None
        self.number = number


class State:
    """value None: the key is absent (cas then is that of the last value)."""

    __slots__ = ("value", "flags", "expiry", "cas")

    def __init__(self, value, flags, expiry, cas):
        self.value, self.flags, self.expiry, self.cas = value, flags, expiry, cas

    def may_be_absent(self):
        return self.value is None or self.expiry is not None and time.time() >= self.expiry.low

    def may_be_present(self):
        return self.value is not None and (self.expiry is None or self.expiry.high is None
                                           or time.time() <= self.expiry.high + 1)

    def misfit(self, found):
        """None when `found` (None, or flags, value, cas, exp or None) is this state, else what is wrong."""
        if found is None:
            return None if self.may_be_absent() else f"is lost (expected {self.describe()})"
        flags, value, cas, exp = found
        if not self.may_be_present():
            return f"is there with {show(value, 60)}, but should not be"
        if value != self.value and not (self.value.isdigit() and value.rstrip(b" ") == self.value):
            return f"has the wrong value {show(value, 60)} ({len(value)} bytes), expected {self.describe()}"
        if flags != self.flags:
            return f"has flags {flags} instead of {self.flags}"
        if not self.cas.accepts(cas):
            expected = self.cas.number or f"one above {self.cas.floor()}"
            return f"has cas {cas} instead of {expected}"
        if exp is not None and self.expiry is None and exp != -1:
            return f"expires at {exp} instead of never"
        if exp is not None and self.expiry and not self.expiry.low <= exp <= (self.expiry.high or exp):
            return f"expires at {exp} instead of {self.expiry.low} to {self.expiry.high}"
        return None

    def describe(self):
        return "absent" if self.value is None else f"{show(self.value, 60)} ({len(self.value)} bytes)"


ABSENT = State(None, 0, None, Cas())


class Operation:
    """One request with its right reply and the state that it leaves."""

    __slots__ = ("key", "wire", "reply", "before", "after", "show_cas", "sets_expiry", "noreply", "shared")

    def __init__(self, key, wire, reply, before, after, noreply=False, show_cas=False, shared=None):
        self.key, self.wire, self.reply = key, wire, reply
        self.before, self.after = before, after
        self.noreply, self.show_cas, self.shared = noreply, show_cas, shared

    def settle(self):
        if self.after is not None and self.after.expiry is not None:
            self.after.expiry.settle()


def _expiry_of(ttl):
    return Expiry(ttl) if ttl else None


def _line(verb, key, flags, ttl, value, tail=b"", noreply=False):
    return b"%s %s %d %d %d%s%s\r\n%s\r\n" % (verb, key, flags, ttl, len(value), tail,
                                              b" noreply" if noreply else b"", value)


def store(verb, key, state, value, flags, ttl, noreply=False):
    """set, add, replace, append or prepend."""
    present = state.value is not None
    wanted = {b"set": True, b"add": not present}.get(verb, present)
    after = state
    if wanted and verb in (b"set", b"add", b"replace"):
        after = State(value, flags, _expiry_of(ttl), Cas(state.cas))
    elif wanted:
        joined = state.value + value if verb == b"append" else value + state.value
        if len(joined) > ITEM_MAX:
            return read(key, state, with_cas=False)
        after = State(joined, state.flags, state.expiry, Cas(state.cas))
    reply = b"STORED" if wanted else b"NOT_STORED"
    return Operation(key, _line(verb, key, flags, ttl, value, noreply=noreply), reply, state, after, noreply)


def compare_and_set(key, state, value, flags, ttl, right):
    """With the right number or a wrong one; needs a known number to be right."""
    if state.value is None:
        return Operation(key, _line(b"cas", key, flags, ttl, value, b" 77"), b"NOT_FOUND", state, state)
    if not right:
        return Operation(key, _line(b"cas", key, flags, ttl, value, b" 18446744073709551615"), b"EXISTS", state,
                         state)
    if state.cas.number is None:
        return read(key, state, with_cas=True)
    after = State(value, flags, _expiry_of(ttl), Cas(state.cas))
    return Operation(key, _line(b"cas", key, flags, ttl, value, b" %d" % state.cas.number), b"STORED", state, after)


def delete(key, state, noreply=False):
    after = State(None, 0, None, state.cas)
    return Operation(key, b"delete %s%s\r\n" % (key, b" noreply" if noreply else b""),
                     b"DELETED" if state.value is not None else b"NOT_FOUND", state, after, noreply)


def too_large(key, state, noreply=False):
    """Refused, and the old value must go."""
    after = State(None, 0, None, state.cas)
    return Operation(key, _line(b"set", key, 0, 0, b"L" * (ITEM_MAX + 1), noreply=noreply),
                     b"SERVER_ERROR object too large for cache", state, after, noreply)


def touch(key, state, ttl):
    if state.value is None:
        return Operation(key, b"touch %s %d\r\n" % (key, ttl), b"NOT_FOUND", state, state)
    after = State(state.value, state.flags, _expiry_of(ttl), state.cas)
    return Operation(key, b"touch %s %d\r\n" % (key, ttl), b"TOUCHED", state, after)


def read(key, state, with_cas, ttl=None):
    """get, gets, or with a ttl gat, gats."""
    verb = (b"gat" if ttl is not None else b"get") + (b"s" if with_cas else b"")
    wire = verb + (b" %d" % ttl if ttl is not None else b"") + b" " + key + b"\r\n"
    after = state
    if ttl is not None and state.value is not None:
        after = State(state.value, state.flags, _expiry_of(ttl), state.cas)
    return Operation(key, wire, None, state, after, show_cas=with_cas)


def arith(key, state, delta, up, noreply=False):
    wire = b"%s %s %d%s\r\n" % (b"incr" if up else b"decr", key, delta, b" noreply" if noreply else b"")
    if state.value is None:
        return Operation(key, wire, b"NOT_FOUND", state, state, noreply)
    number = int(state.value)
    number = (number + delta) % (1 << 64) if up else max(0, number - delta)
    after = State(b"%d" % number, state.flags, state.expiry, Cas(state.cas))
    return Operation(key, wire, after.value, state, after, noreply)


def plain_set_wire(key, value, flags=0):
    return _line(b"set", key, flags, 0, value)
