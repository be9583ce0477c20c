# SPDX-License-Identifier: BSD-3-Clause
"""stat: the groups of the text protocol, a packet a value, ended by one without a name (datadog, bmemcached)."""

from lib import binary as b
from lib.checks import connect, ensure, ensure_equal, serving

GROUPS = ["", "settings", "items", "slabs", "sizes", "persist", "conns"]


def test(binary):
    with serving(binary) as server:
        wire, text = connect(server), connect(server)
        text.store(b"k", b"v")
        for group in GROUPS:
            names, wanted = list(b.stats(wire, group.encode())), list(text.stats(group))
            ensure_equal(len(names), len(set(names)), f"names of stats {group}")
            if group != "conns":
                ensure_equal(names, wanted, f"names of stats {group}")
        ensure(any(name.endswith(":state") for name in b.stats(wire, b"conns")), "stats conns")
        ensure_equal(b.stats(wire, b"settings")["maxconns"], text.stats("settings")["maxconns"], "a setting")

        for bad in (b"nosuch", b"detail", b"detail what"):
            b.ensure_status(b.ask(wire, b.request("stat", bad)), b.NOT_FOUND, f"stat {bad}")
        ensure_equal(b.stats(wire, b"detail on"), {}, "stat detail on")
        wire.send(b.store("setq", b"user:1", b"v"))
        ensure_equal(b.stats(wire, b"detail dump"),
                     {"detailed": "PREFIX user get 0 hit 0 set 1 del 0\r\nEND\r\n"}, "stat detail dump")
        ensure_equal(b.stats(wire, b"detail off"), {}, "stat detail off")
        before = int(b.stats(wire)["cmd_set"])
        ensure_equal(b.stats(wire, b"reset"), {}, "stat reset")
        ensure_equal((before, int(b.stats(wire)["cmd_set"])), (2, 0), "cmd_set before and after a reset")

        counted = [b.store("setq", b"a", b"1"), b.request("getq", b"a"), b.request("getq", b"nope"),
                   b.touch("gatq", b"a", 100), b.touch("touch", b"nope", 100), b.arith("incrq", b"a"),
                   b.arith("decrq", b"nope"), b.request("deleteq", b"a"), b.request("deleteq", b"a"),
                   b.store("setq", b"nope", b"x", cas=5), b.request("flushq")]
        b.ask_all(wire, counted)
        now = b.stats(wire)
        expected = dict(cmd_set=2, cmd_get=2, get_hits=1, get_misses=1, cmd_touch=2, touch_hits=1, touch_misses=1,
                        incr_hits=1, decr_misses=1, delete_hits=1, delete_misses=1, cas_misses=1, cmd_flush=1)
        ensure_equal({name: int(now[name]) for name in expected}, expected, "counters")
