# SPDX-License-Identifier: BSD-3-Clause
"""A client library in a process of its own, and what is asked of it.

Every program in programs/ wraps one library and speaks a small language on its standard streams, so that the checks
here are written once for all of them. See README.md for the language.
"""

import base64
import random
import select
import subprocess
import threading
import time

from lib.checks import ensure, ensure_equal
from lib.runner import Failure, Skip
from lib.server import patience, scale, wait_until

RECORDS = 400
BIG = random.Random(11211).randbytes(500_000)  # nothing that a client could make smaller

# The columns of the table.  A program names those that its library has.
COMMANDS = ("set", "get", "add", "replace", "append", "prepend", "cas", "incr", "decr", "touch", "gat", "delete",
            "multi", "big", "expiry", "flush")


def make_value(i):
    return b"record %d " % i * (1 + i * 7 % 300)


class Gone(Exception):
    """The client said that the server did not do it."""


class Client:
    """A running program; close() ends it."""

    def __init__(self, words, environment=None):
        self.words = words
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=environment)
        self.noise = bytearray()
        self.buffer = bytearray()
        self.reader = threading.Thread(target=self._read_noise, daemon=True)
        self.reader.start()
        first, _, rest = self._line(60).partition(" ")
        if first == "unable":
            raise Skip(rest)
        ensure_equal(first, "ready", f"the first word of {' '.join(words)}")
        self.can = rest.split()

    def _read_noise(self):
        for line in self.process.stderr:
            self.noise += line[:1000]

    def _line(self, seconds=30):
        deadline = time.monotonic() + patience(seconds)
        stream = self.process.stdout
        while b"\n" not in self.buffer:
            if not select.select([stream], [], [], max(0, deadline - time.monotonic()))[0]:
                raise Failure(f"the client hangs: {' '.join(self.words)}\n{self._noise()}")
            data = stream.read1(1 << 20)
            if not data:
                raise Failure(f"the client ended: {' '.join(self.words)}\n{self._noise()}")
            self.buffer += data
        line, _, rest = self.buffer.partition(b"\n")
        self.buffer = rest
        return line.decode("latin-1").strip()

    def _noise(self):
        self.process.poll()
        return self.noise[-1500:].decode("utf-8", "replace")

    def _ask(self, *words):
        try:
            self.process.stdin.write(" ".join(str(word) for word in words).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Failure(f"the client ended: {' '.join(self.words)}\n{self._noise()}") from None
        kind, *rest = self._line().split(" ", 1)
        if kind == "error":
            raise Gone(f"{words[0]}: {rest}")
        return kind, rest[0] if rest else ""

    def _value(self, *words):
        kind, text = self._ask(*words)
        if kind not in ("value", "none"):
            raise Failure(f"{words[:2]} answered {kind} {text[:100]}")
        return base64.b64decode(text) if kind == "value" else None

    def _did(self, *words):
        kind, text = self._ask(*words)
        if kind not in ("yes", "no"):
            raise Failure(f"{words[:2]} answered {kind} {text[:100]}")
        return kind == "yes"

    def _stores(self, verb, key, value, ttl):
        return self._did(verb, key, ttl, base64.b64encode(value).decode())

    def set(self, key, value, ttl=0):
        return self._stores("set", key, value, ttl)

    def add(self, key, value, ttl=0):
        return self._stores("add", key, value, ttl)

    def replace(self, key, value, ttl=0):
        return self._stores("replace", key, value, ttl)

    def append(self, key, value):
        return self._stores("append", key, value, 0)

    def prepend(self, key, value):
        return self._stores("prepend", key, value, 0)

    def cas(self, key, value, ttl=0):
        """With what the last gets of that key learned."""
        return self._stores("cas", key, value, ttl)

    def get(self, key):
        return self._value("get", key)

    def gets(self, key):
        return self._value("gets", key)

    def gat(self, key, ttl):
        return self._value("gat", key, ttl)

    def touch(self, key, ttl):
        return self._did("touch", key, ttl)

    def delete(self, key):
        return self._did("delete", key)

    def flush(self):
        return self._did("flush")

    def count(self, verb, key, by):
        kind, text = self._ask(verb, key, by)
        return int(text) if kind == "number" else None

    def multi(self, keys):
        kind, text = self._ask("multi", *keys)
        ensure_equal(kind, "values", "multi")
        return {key: base64.b64decode(value) for key, value in (pair.split("=", 1) for pair in text.split())}

    def open(self):
        """Makes the library begin anew."""
        self._ask("open")

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(patience(10))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.reader.join(1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


# ---- one check for each column

def check_set(client):
    ensure_equal((client.set("k", b"one"), client.set("k", b"two")), (True, True), "set")


def check_get(client):
    ensure_equal((client.get("k"), client.get("nope")), (b"two", None), "get")
    client.set("empty", b"")
    ensure_equal(client.get("empty") or b"", b"", "an empty value")


def check_add(client):
    ensure_equal((client.add("k", b"x"), client.add("new", b"x")), (False, True), "add")
    ensure_equal((client.get("k"), client.get("new")), (b"two", b"x"), "after add")


def check_replace(client):
    ensure_equal((client.replace("k", b"r"), client.replace("nope", b"r")), (True, False), "replace")
    ensure_equal((client.get("k"), client.get("nope")), (b"r", None), "after replace")


def check_append(client):
    client.set("joined", b"b")
    ensure_equal((client.append("joined", b"c"), client.append("nope", b"c")), (True, False), "append")
    ensure_equal(client.get("joined"), b"bc", "after append")


def check_prepend(client):
    client.set("joined", b"b")
    ensure_equal((client.prepend("joined", b"a"), client.prepend("nope", b"a")), (True, False), "prepend")
    ensure_equal(client.get("joined"), b"ab", "after prepend")


def check_cas(client):
    client.set("c", b"one")
    ensure_equal(client.gets("c"), b"one", "gets")
    ensure_equal(client.cas("c", b"two"), True, "cas with the current number")
    ensure_equal(client.gets("c"), b"two", "gets after cas")
    client.set("c", b"three")
    ensure_equal((client.cas("c", b"four"), client.get("c")), (False, b"three"), "cas with an old number")


def check_incr(client):
    client.set("n", b"41")
    ensure_equal((client.count("incr", "n", 1), client.count("incr", "n", 1000)), (42, 1042), "incr")
    ensure_equal(client.count("incr", "nope", 1), None, "incr of a miss")


def check_decr(client):
    client.set("n", b"42")
    ensure_equal((client.count("decr", "n", 2), client.count("decr", "n", 100)), (40, 0), "decr")


def check_touch(client):
    client.set("t", b"x")
    ensure_equal((client.touch("t", 1000), client.touch("nope", 1000)), (True, False), "touch")
    ensure_equal(client.get("t"), b"x", "after touch")


def check_gat(client):
    client.set("t", b"x")
    ensure_equal((client.gat("t", 1000), client.gat("nope", 1000)), (b"x", None), "gat")
    ensure_equal(client.get("t"), b"x", "after gat")


def check_delete(client):
    client.set("d", b"x")
    ensure_equal((client.delete("d"), client.get("d"), client.delete("d")), (True, None, False), "delete")


def check_multi(client):
    stored = {f"m{i}": make_value(i) for i in range(100)}
    for key, value in stored.items():
        client.set(key, value)
    ensure_equal(client.multi([*stored, "nope"]), stored, "a get of 101 keys, one of them missing")


def check_big(client):
    ensure_equal(client.set("big", BIG), True, "set of 500 kB")
    ensure(client.get("big") == BIG, "get of 500 kB")


def check_expiry(client):
    client.set("short", b"x", 1)
    client.set("long", b"x", 1000)
    names = ["short"]
    if "touch" in client.can:
        client.set("touched", b"x")
        client.touch("touched", 1)
        names.append("touched")
    if "gat" in client.can:
        client.set("gotten", b"x")
        client.gat("gotten", 1)
        names.append("gotten")
    wait_until(lambda: all(client.get(name) is None for name in names), 10, f"the end of {names}")
    ensure_equal(client.get("long"), b"x", "what has time left")


def check_flush(client):
    client.set("k", b"x")
    ensure_equal((client.flush(), client.get("k")), (True, None), "flush")
    ensure_equal((client.set("k", b"y"), client.get("k")), (True, b"y"), "set after flush")


def covered(client):
    """The columns that this program takes part in; big and expiry need nothing but set and get."""
    return [name for name in COMMANDS if name in client.can or name in ("big", "expiry")]


def check_commands(client, leave_out=()):
    names = [name for name in covered(client) if name not in leave_out]
    for name in names:
        try:
            globals()["check_" + name](client)
        except Gone as error:
            raise Failure(f"{name}: the client said: {error}") from None
    return names


# ---- over a restart and kill -9

def comes_back(client):
    """The same client object serves again, or one opened anew; returns which."""
    def there():
        try:
            return client.get("record1") == make_value(1)
        except Gone:
            return False
    try:
        wait_until(there, 5, "a client that comes back")
        return "itself"
    except Exception:
        client.open()
    wait_until(there, 20, "the client that was opened anew to read the first record")
    return "anew"


def read_back(client, count, when):
    for i in range(count):
        ensure_equal(client.get(f"record{i}"), make_value(i), f"record {i} of {count} after {when}")
    if "multi" in client.can:
        keys = [f"record{i}" for i in range(0, count, 5)]
        ensure_equal(client.multi(keys), {key: make_value(int(key[6:])) for key in keys}, f"multi-get after {when}")
    ensure(client.get("big") == BIG, f"500 kB after {when}")


def store_record(client, i):
    return client.set(f"record{i}", make_value(i), 1000 if i % 3 == 0 else 0)


def write_until_killed(server, client, first):
    """Stores records one by one, kills the server in the midst; returns how many have been acknowledged."""
    acknowledged = first
    enough = threading.Event()
    trouble = []

    def write():
        nonlocal acknowledged
        try:
            while store_record(client, acknowledged):
                acknowledged += 1
                if acknowledged == first + first // 4:
                    enough.set()
        except Gone:
            pass
        except Exception as error:  # noqa: BLE001 - told by the other thread
            trouble.append(error)
        finally:
            enough.set()

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    ensure(enough.wait(patience(60)), "the writer hangs")
    server.kill9()
    writer.join(patience(60))
    ensure(not writer.is_alive(), "the client hangs after the kill")
    if trouble:
        raise trouble[0]
    ensure(acknowledged > first, "nothing was written before the kill")
    return acknowledged


def check_restarts(server, client):
    """A clean restart, then kill -9 while the client writes: all that was acknowledged is read back."""
    count = scale(RECORDS, 50)
    for i in range(count):
        ensure(store_record(client, i), f"record {i} was not stored")
    ensure(client.set("big", BIG), "500 kB were not stored")
    if "cas" in client.can:
        client.set("c", b"one")
        client.gets("c")
    if "incr" in client.can:
        client.set("n", b"1")
        client.count("incr", "n", 41)
    server.restart()
    how = comes_back(client)
    read_back(client, count, "a restart")
    if "cas" in client.can and how == "itself":
        ensure_equal(client.cas("c", b"two"), True, "cas with the number from before the restart")
    count = write_until_killed(server, client, count)
    server.start()
    how = max(how, comes_back(client), key=["itself", "anew"].index)
    read_back(client, count, "kill -9")
    if "cas" in client.can and how == "itself":
        ensure_equal((client.cas("c", b"three"), client.get("c")), (False, b"two"), "an old cas number after kill -9")
    if "incr" in client.can:
        ensure_equal(client.count("incr", "n", 1), 43, "a counter after kill -9")
    return count, how
