# SPDX-License-Identifier: BSD-3-Clause
"""What the binary protocol was told is there after kill -9, a checkpoint and a restart: quiet requests, too."""

from lib import binary as b
from lib.checks import connect, ensure, ensure_equal, serving


def prepare(wire):
    packets = [b.store("setq", b"quiet", b"q", flags=7, exptime=5000), b.store("setq", b"a b\r\n", b"odd key"),
               b.store("setq", b"large", b"L" * 1_000_000), b.arith("incrq", b"n", 1, 41, 4000),
               b.arith("incrq", b"n", 1), b.store("setq", b"dead", b"x"), b.request("deleteq", b"dead"),
               b.store("setq", b"touched", b"t"), b.touch("gatq", b"touched", 3000), b.store("setq", b"k", b"2"),
               b.request("appendq", b"k", value=b"3"), b.request("prependq", b"k", value=b"1")]
    answers = b.ask_all(wire, packets)
    ensure_equal([(answer.opcode, answer.status) for answer in answers], [(b.code("gatq"), b.OK)], "quiet requests")
    return {key: b.ask(wire, b.request("get", key)).cas for key in (b"quiet", b"n", b"touched", b"k")}


def check(wire, cas):
    ensure_equal(b.ask(wire, b.request("get", b"quiet"))[3:], (cas[b"quiet"], b"\0\0\0\7", b"", b"q"), "quiet")
    ensure_equal(b.ask(wire, b.request("get", b"a b\r\n")).value, b"odd key", "an odd key")
    ensure_equal(len(b.ask(wire, b.request("get", b"large")).value), 1_000_000, "a large value")
    ensure_equal(b.ask(wire, b.request("get", b"n"))[3:], (cas[b"n"], bytes(4), b"", b"42"), "a counter")
    ensure_equal(b.ask(wire, b.request("get", b"dead")).status, b.NOT_FOUND, "what was deleted")
    ensure_equal(b.ask(wire, b.request("get", b"k")).value, b"123", "append and prepend")
    for key in cas:
        ensure_equal(b.ask(wire, b.request("get", key)).cas, cas[key], f"the cas of {key}")


def check_times(server):
    wire = connect(server)
    now = int(wire.stats()["time"])
    for key, seconds in ((b"quiet", 5000), (b"n", 4000), (b"touched", 3000)):
        left = int(wire.dump()[key]["exp"]) - now
        ensure(seconds - 60 < left <= seconds, f"{key} has {left} s left of {seconds}")


def test(binary):
    for sync in ("always", "interval=50", "os"):
        with serving(binary, f"--sync={sync}", "--enable-debug") as server:
            cas = prepare(connect(server))
            for how in ("kill9", "checkpoint", "kill9", "restart"):
                if how == "checkpoint":
                    ensure_equal(connect(server).ask(b"debug checkpoint"), b"OK", "checkpoint")
                elif how == "kill9":
                    server.kill9()
                    server.start()
                else:
                    server.restart()
                check(connect(server), cas)
            check_times(server)
            wire = connect(server)
            b.ensure_status(b.ask(wire, b.store("set", b"k", b"new", cas=cas[b"k"])), b.OK, "set with the old cas")
            b.ensure_status(b.ask(wire, b.store("set", b"k", b"new", cas=cas[b"k"])), b.EXISTS, "again")
