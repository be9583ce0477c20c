# SPDX-License-Identifier: BSD-3-Clause
"""The public tests of the field, by name, for coffer-bench.  Each is a function of a session (one server, one round)
and a scale: 1 is the published size, less shrinks key counts and requests."""

from kit import table

CLIENTS = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 200, 300)
BYTES_PER_ITEM = 100  # of a server's memory, besides the value


def _count(published, scale, least=100):
    return max(least, int(published * scale))


def _write_then_read(session, keys, size, clients):
    session.fixed = {"keys": keys, "size": size}
    for number in clients:
        session.run(f"write, {number} clients", op="set", distribution="sequential", requests=keys, connections=number)
        session.run(f"read, {number} clients", op="get", requests=keys, connections=number)


def tim_yang_100b(session, scale):
    _write_then_read(session, _count(5_000_000, scale), 100, (16, 50))


def tim_yang_20k(session, scale):
    _write_then_read(session, _count(500_000, scale), "20k", (16,))


def antirez_clients(session, scale):
    keys = _count(100_000, scale)
    session.fixed = {"keys": keys, "size": 32}
    session.run("load", load=True, seconds=0)
    for number in CLIENTS:
        for operation in ("set", "get"):
            session.run(f"{operation.upper()}, {number} clients", op=operation, connections=number, requests=keys)
    session.run("CPU, 50 clients", ratio="1:1", connections=50, requests=_count(1_000_000, scale))


def _one_client(session, name, keys, **options):
    """Sets, gets, and gets by a hundred of all keys, one after the other."""
    session.fixed = {"keys": keys, "connections": 1, "distribution": "sequential", **options}
    session.run(f"{name}: set", op="set", requests=keys)
    session.run(f"{name}: get", op="get", requests=keys)
    session.run(f"{name}: get by 100", op="get", multi=100, requests=max(1, keys // 100))


def toilet_sizes(session, scale):
    keys = _count(100_000, scale)
    for length in (10, 20, 50, 100, 250):
        _one_client(session, f"key {length} B", keys, key_size=length, size=3)
    for length in ("10", "100", "1k", "4k", "8k", "16k"):
        _one_client(session, f"value {length}", keys, key_size=10, size=length)


def _php_multi(session, title, keys, **options):
    session.fixed = {"keys": keys, "connections": 1, "size": 10, "distribution": "sequential", **options}
    session.run(f"{title}multi set 100,000", op="set", depth=min(1000, keys), requests=keys)
    session.run(f"{title}multi get 100,000", op="get", multi=keys, requests=1)


def php_100k(session, scale):
    keys = _count(100_000, scale)
    session.fixed = {"keys": keys, "connections": 1, "size": 10, "distribution": "sequential"}
    session.run("set 100,000", op="set", requests=keys)
    session.run("get existing", op="get", requests=keys)
    session.run("get missing", op="get", requests=keys, prefix="gone:", expect_misses=True)
    _php_multi(session, "", keys)
    _php_multi(session, "md5 keys: ", keys, hashed_keys=True, prefix="")
    # Only keys that the sets have happened to choose are there.
    session.fixed.update(hashed_keys=False, prefix="random:", distribution="uniform", key_size=0)
    session.run("random keys: multi set 100,000", op="set", depth=min(1000, keys), requests=keys)
    session.run("random keys: multi get 100,000", op="get", multi=keys, requests=1, expect_misses=True)
    session.fixed = {"keys": keys, "connections": 1, "size": 10, "distribution": "sequential"}
    for number in (1000, 100):
        repeats = max(1, keys // number)
        session.run(f"multi set {number:,}", op="set", depth=min(number, keys), requests=keys, unit=repeats)
        session.run(f"multi get {number:,}", op="get", multi=min(number, keys), requests=repeats, unit=repeats)
    session.run("delete 100,000", op="delete", requests=keys)


def memurai_pipeline(session, scale):
    session.fixed = {"keys": 100_000, "size": 3, "connections": 50}
    session.run("load", load=True, seconds=0)
    for _ in range(_count(300, scale, least=3)):
        for depth in (1, 16):
            for operation in ("set", "get"):
                session.run(f"{operation.upper()} {depth} deep", op=operation, depth=depth, requests=200_000)


def pipeline_depth(session, scale):
    session.fixed = {"keys": _count(1_000_000, scale), "size": 100, "connections": 50}
    session.run("load", load=True, seconds=0)
    for depth in (1, 4, 8, 16, 32):
        for operation in ("get", "set"):
            session.run(f"{operation.upper()} {depth} deep", op=operation, depth=depth, seconds=max(1, 10 * scale),
                        warm_up=0.2)


def _small_memory(scale):
    """MB that the servers get, so that twice as much is written in reasonable time."""
    return max(64, int(1024 * scale))


def cold(session, scale):
    keys = 2 * _small_memory(scale) * 1000
    session.fixed = {"keys": keys, "size": 1000, "connections": 50}
    misses = session.server.kind == "memcached"
    session.run("write all", load=True, seconds=0)
    session.server.restart_cold()
    session.run("read, oldest first", op="get", distribution="sequential", requests=keys, expect_misses=misses)
    session.server.restart_cold()
    session.run("read at random", op="get", requests=keys, expect_misses=misses)


def random_overwrite(session, scale):
    keys = 2 * _small_memory(scale) * 1000
    misses = session.server.kind == "memcached"
    session.fixed = {"keys": keys, "size": 1000, "connections": 50}
    session.run("write all", op="set", distribution="sequential", requests=keys)
    for part in ("first", "second", "third"):
        session.run(f"overwrite, {part} part", op="set", seconds=max(2, 60 * scale))
    session.run("read at random", op="get", seconds=max(2, 60 * scale), expect_misses=misses)


class Scenario:
    """test(session, scale); the columns of its table; how many items of what size it keeps at scale 1."""

    def __init__(self, test, columns, items, size, best=False, small_memory=False, help_text=""):
        self.test, self.columns, self.items, self.size = test, columns, items, size
        self.best, self.small_memory, self.help_text = best, small_memory, help_text

    def memory(self, scale):
        """MB that a server needs."""
        if self.small_memory:
            return _small_memory(scale)
        return max(256, int(1.5 * self.items * scale * (self.size + BYTES_PER_ITEM) / 1e6))


SCENARIOS = {
    "tim-yang-100b": Scenario(tim_yang_100b, table.USUAL, 5_000_000, 100,
                              help_text="5,000,000 keys of 100 B, 16 and 50 clients: write all, read at random"),
    "tim-yang-20k": Scenario(tim_yang_20k, table.USUAL, 500_000, 20480,
                             help_text="500,000 keys of 20 KB: 10 GB, --scale shrinks it"),
    "antirez-clients": Scenario(antirez_clients, ("speed", "cpu", "split", "tail"), 100_000, 32, best=True,
                                help_text="32 B, 1 to 300 clients, the best of the rounds"),
    "toilet-sizes": Scenario(toilet_sizes, ("keys", "cpu", "latency"), 700_000, 2600,
                             help_text="one client; lengths of keys and values swept"),
    "php-100k": Scenario(php_100k, ("seconds", "cpu"), 400_000, 10,
                         help_text="one client: seconds for 100,000 sets, gets, multi-gets, deletes"),
    "memurai-pipeline": Scenario(memurai_pipeline, ("speed", "cpu", "tail", "spread"), 100_000, 3,
                                 help_text="50 clients, depth 1 and 16, the median of many short runs"),
    "pipeline-depth": Scenario(pipeline_depth, ("speed", "cpu", "split", "tail"), 1_000_000, 100,
                               help_text="depth 1 4 8 16 32, user and system time apart"),
    "cold": Scenario(cold, ("speed", "hits", "cpu", "latency", "memory", "device"), 2_000_000, 1000, small_memory=True,
                     help_text="twice the server's memory, read from disk, oldest first"),
    "random-overwrite": Scenario(random_overwrite, ("speed", "hits", "cpu", "latency", "memory", "device"), 2_000_000,
                                 1000, small_memory=True,
                                 help_text="twice the server's memory, overwritten in random order"),
}
