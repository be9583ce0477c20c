# SPDX-License-Identifier: BSD-3-Clause
"""What pymemcache, pylibmc and python-memcached have beyond the commands of all clients: types, statistics, sets of
many, writes without reply."""

from conversation import make_value
from lib.checks import ensure, ensure_equal, ensure_no_complaint
from lib.runner import Skip
from lib.server import Server


# ---- pymemcache

def open_pymemcache(server):
    try:
        from pymemcache.client.base import Client
    except ImportError:
        raise Skip("python3-pymemcache is not installed") from None
    return Client((server.address, server.port), default_noreply=False, timeout=20)


def pymemcache_commands(server):
    client = open_pymemcache(server)
    ensure_equal(client.set(b"k", b"v"), True, "set")
    ensure_equal(client.get(b"k"), b"v", "get")
    ensure_equal(client.get(b"nope", b"default"), b"default", "get of a miss")
    ensure_equal((client.add(b"k", b"x"), client.add(b"new", b"x")), (False, True), "add")
    ensure_equal((client.replace(b"k", b"r"), client.replace(b"nope", b"r")), (True, False), "replace")
    ensure_equal((client.append(b"k", b"2"), client.prepend(b"k", b"1")), (True, True), "append, prepend")
    ensure_equal(client.get_many([b"k", b"new", b"nope"]), {b"k": b"1r2", b"new": b"x"}, "get_many")
    value, cas = client.gets(b"k")
    ensure_equal(client.cas(b"k", b"c", cas), True, "cas")
    ensure_equal((client.cas(b"k", b"c", cas), client.cas(b"nope", b"c", cas)), (False, None), "cas with an old one")
    ensure_equal(client.gets_many([b"k"])[b"k"][0], b"c", "gets_many")
    ensure_equal(client.set_many({b"a": b"1", b"b": b"2"}), [], "set_many")
    ensure_equal((client.incr(b"a", 41), client.decr(b"a", 2), client.incr(b"nope", 1)), (42, 40, None), "arithmetic")
    ensure_equal((client.touch(b"a", 100), client.touch(b"nope", 1)), (True, False), "touch")
    ensure_equal((client.delete(b"a"), client.delete(b"a")), (True, False), "delete")
    ensure_equal(client.delete_many([b"b", b"new"]), True, "delete_many")
    ensure(client.version().count(b".") == 2, f"version {client.version()}")
    stats = client.stats()
    ensure(isinstance(stats[b"curr_items"], int) and isinstance(stats[b"rusage_user"], float), "types of stats")
    ensure(client.stats(b"settings")[b"maxconns"] > 0, "stats settings")
    ensure_equal(client.cache_memlimit(64), True, "cache_memlimit")
    for i in range(500):
        client.set(b"n%d" % i, make_value(i), noreply=True)
    ensure_equal(client.get(b"n499"), make_value(499), "a value behind 500 sets without reply")
    ensure_equal((client.flush_all(), client.get(b"k")), (True, None), "flush_all")
    client.quit()


# ---- pylibmc (libmemcached)

def open_pylibmc(server):
    try:
        import pylibmc
    except ImportError:
        raise Skip("python3-pylibmc is not installed") from None
    return pylibmc.Client([f"{server.address}:{server.port}"], binary=False,
                          behaviors={"cas": True, "tcp_nodelay": True, "connect_timeout": 5000})


def pylibmc_commands(server):
    import pylibmc
    client = open_pylibmc(server)
    ensure_equal(client.set("k", b"v"), True, "set")
    ensure_equal(client.get("k"), b"v", "get")
    ensure_equal((client.add("k", b"x"), client.add("new", b"x")), (False, True), "add")
    ensure_equal((client.replace("k", b"r"), client.replace("nope", b"r")), (True, False), "replace")
    ensure_equal((client.append("k", b"2"), client.prepend("k", b"1")), (True, True), "append, prepend")
    ensure_equal(client.get_multi(["k", "new", "nope"]), {"k": b"1r2", "new": b"x"}, "get_multi")
    _, cas = client.gets("k")
    ensure_equal((client.cas("k", b"c", cas), client.cas("k", b"d", cas)), (True, False), "cas")
    for value in (7, "text", 1.5, ["a", {"list": None}], True, b"x" * 100_000):
        client.set("typed", value)
        ensure_equal(client.get("typed"), value, "a value with its type in the flags")
    client.set("n", 1)
    ensure_equal((client.incr("n", 41), client.decr("n", 2)), (42, 40), "incr, decr")
    try:
        client.incr("nope")
        ensure(False, "incr of a miss succeeded")
    except pylibmc.NotFound:
        pass
    ensure_equal((client.touch("n", 100), client.touch("nope", 1)), (True, False), "touch")
    ensure_equal(client.set_multi({"a": b"1", "b": b"2"}, key_prefix="p:"), [], "set_multi")
    ensure_equal(client.get_multi(["a", "b"], key_prefix="p:"), {"a": b"1", "b": b"2"}, "get_multi with a prefix")
    ensure_equal((client.delete("n"), client.delete("n")), (True, False), "delete")
    ensure_equal(client.delete_multi(["a", "b"], key_prefix="p:"), True, "delete_multi")
    ensure(int(client.get_stats()[0][1]["curr_items"]) > 0, "get_stats")
    # A negative expiry goes over the wire as a number of 64 bits: an error, and in step afterwards.
    try:
        client.set("late", b"x", time=-1)
    except pylibmc.Error:
        pass
    ensure_equal(client.get("k"), b"c", "get after an odd expiry")
    ensure_equal((client.flush_all(), client.get("k")), (True, None), "flush_all")
    client.disconnect_all()


# ---- python-memcached

def open_memcache(server):
    try:
        import memcache
    except ImportError:
        raise Skip("python3-memcache is not installed") from None
    return memcache.Client([f"{server.address}:{server.port}"], socket_timeout=20, cache_cas=True, dead_retry=0)


def memcache_commands(server):
    client = open_memcache(server)
    ensure_equal(bool(client.set("k", b"v")), True, "set")
    ensure_equal(client.get("k"), b"v", "get")
    ensure_equal((bool(client.add("k", b"x")), bool(client.add("new", b"x"))), (False, True), "add")
    ensure_equal(bool(client.replace("k", b"r")), True, "replace")
    ensure_equal((bool(client.append("k", b"2")), bool(client.prepend("k", b"1"))), (True, True), "append, prepend")
    ensure_equal(client.gets("k"), b"1r2", "gets")
    ensure_equal(bool(client.cas("k", b"c")), True, "cas")
    ensure_equal(client.set_multi({"a": 1, "b": "two"}), [], "set_multi")
    ensure_equal(client.get_multi(["a", "b", "nope"]), {"a": 1, "b": "two"}, "get_multi")
    ensure_equal((client.incr("a", 41), client.decr("a", 2)), (42, 40), "incr, decr")
    ensure_equal(bool(client.touch("a", 100)), True, "touch")
    ensure_equal(bool(client.delete("a")), True, "delete")
    ensure(client.get_stats()[0][1]["curr_items"], "get_stats")
    client.flush_all()
    ensure_equal(client.get("k"), None, "flush_all")
    client.disconnect_all()


CLIENTS = {
    "pymemcache": pymemcache_commands,
    "pylibmc": pylibmc_commands,
    "python-memcached": memcache_commands,
}


def with_server(binary, function):
    """On TCP, since not every client speaks through unix sockets."""
    with Server(binary, listen="tcp") as server:
        server.start()
        remark = function(server)
        server.stop()
        ensure_no_complaint(server)
        return remark


def tests(binary):
    return [(f"{name}-more", lambda commands=commands: with_server(binary, commands))
            for name, commands in CLIENTS.items()]
