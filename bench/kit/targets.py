# SPDX-License-Identifier: BSD-3-Clause
"""Coffer's targets of speed, measured: each function returns Verdicts, and keeps its Results for tables and plots.

In a quick run every measurement is short and the sizes are small; the full run takes the sizes of the targets."""

import os
import statistics
import sys
import tempfile
import time

from kit import generator, machine, table
from kit.servers import Entrant

SLOW_SYNC = 0.005  # seconds
SLACK = 0.0002
CONNECTIONS = (1, 10, 50, 100, 300, 1000)
OLD_MEMCACHED = (1, 6, 18)  # up to this one a pipelined get costs memcached five times what it costs later
HUNDRED_BYTES = {"keys": 1_000_000, "size": 100, "connections": 50}


class Verdict:
    """One line of the table of targets.  bound: ("<=", 0.95), or None where there is nothing to meet."""

    def __init__(self, target, what, ours, theirs, ratio, bound):
        self.target, self.what, self.ours, self.theirs, self.ratio, self.bound = target, what, ours, theirs, ratio, bound

    @staticmethod
    def missing(target, what, why):
        return Verdict(target, what, why, "", None, None)

    def met(self):
        """True, False, or None where it was not measured or has no bound."""
        if self.ratio is None or self.bound is None:
            return None
        relation, limit = self.bound
        return self.ratio <= limit if relation == "<=" else self.ratio >= limit

    def cells(self):
        wanted = f"{self.bound[0]} {self.bound[1]:g}" if self.bound else "-"
        ratio = f"{self.ratio:.2f}" if self.ratio is not None else "-"
        verdict = {True: "met", False: "NOT MET", None: "not measured" if self.ratio is None else "-"}[self.met()]
        return [self.target, self.what, self.ours, self.theirs, ratio, wanted, verdict]


def lay_out(verdicts):
    head = ["", "target", "cofferd", "peer", "ratio", "wanted", ""]
    return table.lay_out([head] + [verdict.cells() for verdict in verdicts])


class Context:
    """What all measurements share; `results` {name: (title, columns, Results)} gathers their tables."""

    def __init__(self, arguments, kinds, rounds, seconds, full):
        self.arguments, self.kinds, self.rounds, self.seconds, self.full = arguments, kinds, rounds, seconds, full
        self.results = {}

    def has(self, kind):
        return kind in self.kinds

    def measure(self, name, title, entrants, test, columns=table.USUAL, rounds=None, device=False):
        print(f"{name}: {title}", file=sys.stderr)
        present = [entrant for entrant in entrants if self.has(entrant.kind)]
        results = generator.in_turn(self.arguments, present, rounds or self.rounds, test, device)
        self.results[name] = (title, columns, results)
        return results


# What a verdict compares: figure, its text, and whether it is compared at all.
UNITS = {
    "server_cpu_us": lambda value: f"{value:.2f} us CPU",
    "requests_per_s": lambda value: f"{value:,.0f} /s",
    "keys_per_s": lambda value: f"{value:,.0f} keys/s",
    "p99_us": lambda value: f"p99 {value:,.0f} us",
    "p999_us": lambda value: f"p99.9 {value:,.0f} us",
    "mean_us": lambda value: f"{value / 1000:,.1f} ms",
}


def against(results, target, test, figure, bound, ours="cofferd", theirs="memcached", what=None):
    """Compares medians of one test."""
    what = what or test
    for label in (ours, theirs):
        if not results.has(test, label):
            return Verdict.missing(target, what, f"{label} is not there")
    text = UNITS[figure]
    return Verdict(target, what, text(results.median(test, ours, figure)),
                   f"{theirs} {text(results.median(test, theirs, figure))}",
                   results.ratio(test, ours, theirs, figure), bound)


# ---- 1, 2: gets and sets in memory

def _depths(context, session):
    session.fixed = dict(HUNDRED_BYTES)
    session.run("load", load=True, seconds=0)
    for depth in (1, 16, 32):
        for operation in ("set", "get"):
            session.run(f"{operation.upper()} {depth} deep", op=operation, depth=depth, seconds=context.seconds,
                        warm_up=0.3)


def speed(context):
    results = context.measure("speed", "1 M keys, 100 B, 50 connections, -m 1024",
                              [Entrant("memcached"), Entrant("cofferd"), Entrant("redis")],
                              lambda session: _depths(context, session))
    old = machine.memcached_version(context.arguments) <= OLD_MEMCACHED
    deep = ("<=", 0.18 if old else 0.85)
    verdicts = []
    for depth, get, put in ((1, ("<=", 0.95), ("<=", 1.0)), (16, deep, ("<=", 1.1)), (32, deep, ("<=", 1.1))):
        verdicts.append(against(results, "1", f"GET {depth} deep", "server_cpu_us", get))
        verdicts.append(against(results, "1", f"GET {depth} deep", "requests_per_s", (">=", 1.0)))
        verdicts.append(against(results, "2", f"SET {depth} deep", "server_cpu_us", put))
    verdicts.append(against(results, "2", "SET 16 deep", "server_cpu_us", ("<=", 0.5), theirs="redis",
                            what="SET 16 deep, Redis everysec"))
    return sorted(verdicts, key=lambda verdict: verdict.target)


def _steady(session, spans):
    session.fixed = dict(HUNDRED_BYTES)
    session.run("load", load=True, seconds=0)
    for depth, seconds in spans:
        session.run(f"SET {depth} deep, steady", op="set", depth=depth, seconds=seconds)


def steady(context):
    """Overwriting through checkpoints: at depth 1 one comes each minute, deeper whenever the log is full."""
    spans = ((1, 180), (16, 120), (32, 120)) if context.full else ((1, 62), (16, 25))
    entrants = [Entrant("memcached"), Entrant("cofferd")] if context.full else [Entrant("cofferd")]
    results = context.measure("steady", "overwriting 1 M keys, checkpoints included, -m 1024", entrants,
                              lambda session: _steady(session, spans), rounds=1, device=True)
    small = context.measure("steady-64", "the same with -m 64", [Entrant("cofferd", memory=64)],
                            lambda session: _steady(session, [(16, spans[1][1])]), rounds=1, device=True)
    if not context.full and context.has("memcached"):
        # It has no checkpoints: its short runs are its steady state.
        for depth, _ in spans:
            for figures in context.results["speed"][2].data[f"SET {depth} deep"]["memcached"]:
                results.add(f"SET {depth} deep, steady", "memcached", figures)
    verdicts = [against(results, "2", f"SET {depth} deep, steady", "server_cpu_us", ("<=", 1.0 if depth == 1 else 1.1))
                for depth, _ in spans]
    cost = small.median("SET 16 deep, steady", "cofferd", "server_cpu_us")
    verdicts.append(Verdict("2", "SET 16 deep, steady, -m 64", f"{cost:.2f} us CPU", "", None, None))
    return verdicts


# ---- 3: a sync behind every reply

def _sync_seconds(directory, repeats=300):
    """How long this disk takes to sync a page that is written over."""
    with tempfile.NamedTemporaryFile(dir=directory) as file:
        os.write(file.fileno(), b"\0" * 4096 * 64)
        os.fsync(file.fileno())
        times = []
        for i in range(repeats):
            os.pwrite(file.fileno(), b"x" * 4096, i % 64 * 4096)
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - began)
    return statistics.median(times)


def _always(context, session):
    session.fixed = {**HUNDRED_BYTES, "keys": 100_000}
    session.run("load", load=True, seconds=0)
    for connections, depth in ((50, 1), (50, 32), (1, 1)):
        figures = session.run(f"SET {depth} deep, {connections} connection{'s' if connections > 1 else ''}", op="set",
                              depth=depth, connections=connections, seconds=context.seconds, warm_up=0.2)
        figures["sync_us"] = _sync_seconds(session.server.directory, 100) * 1e6


def always(context):
    sync = Entrant("cofferd", "cofferd always", ["--sync=always"])
    results = context.measure("always", "SET, 100 k keys, 100 B: a sync behind every reply",
                              [Entrant("cofferd", "cofferd interval"), sync,
                               Entrant("redis", "redis always", fsync="always")],
                              lambda session: _always(context, session))
    verdicts = []
    for test, factor in (("SET 1 deep, 50 connections", 1.4), ("SET 32 deep, 50 connections", 1.5)):
        verdicts.append(against(results, "3", test, "requests_per_s", (">=", 0.9), "cofferd always",
                                "cofferd interval", what=f"sync=always: {test}"))
        verdicts.append(against(results, "3", test, "requests_per_s", (">=", factor), "cofferd always", "redis always",
                                what=f"sync=always: {test}"))
    one = "SET 1 deep, 1 connection"
    took = results.median(one, "cofferd always", "p50_us")
    allowed = results.median(one, "cofferd always", "sync_us") + 50
    verdicts.append(Verdict("3", "sync=always: one connection, p50", f"{took:,.0f} us",
                            f"sync + 50 us = {allowed:,.0f} us", took / allowed, ("<=", 1.0)))
    return verdicts + _slow_sync(context)


def _slow_sync(context):
    entrant = Entrant("cofferd", options=["--sync=always", "--enable-debug",
                                          f"--fault-plan=LOG_SYNC:*:sleep={SLOW_SYNC * 1e6:.0f}"])
    numbers = (1, 50, 300)

    def test(session):
        session.fixed = {"keys": 10_000, "size": 100, "op": "set"}
        for number in numbers:
            figures = session.run(f"SET, {number} connection{'s' if number > 1 else ''}", connections=number,
                                  warm_up=0.3, seconds=context.seconds)
            figures["sync_us"] = _sync_seconds(session.server.directory, 50) * 1e6
    results = context.measure("slow-sync", "sync=always, each sync made to take 5 ms", [entrant], test,
                              ("speed", "cpu", "latency"), rounds=1)
    verdicts = []
    for test_name, number in zip(results.data, numbers):
        rate = results.median(test_name, "cofferd", "requests_per_s")
        # The disk's own sync comes on top of the sleep.
        span = SLOW_SYNC + results.median(test_name, "cofferd", "sync_us") / 1e6 + SLACK
        verdicts.append(Verdict("3", f"sync of 5 ms: {test_name}", f"{rate:,.0f} /s",
                                f"connections / {span * 1000:.1f} ms = {number / span:,.0f}", rate * span / number,
                                (">=", 0.9)))
    return verdicts


# ---- 4: many keys in one get

def _multi(context, session):
    session.fixed = dict(HUNDRED_BYTES)
    session.run("load", load=True, seconds=0)
    session.run("get of 100 keys", op="get", multi=100, seconds=context.seconds, warm_up=0.3)
    before = session.server.resident()
    figures = session.run("get of 100,000 keys", op="get", multi=100_000, connections=1, requests=20)
    figures["grown"] = session.server.resident(peak=True) - before


def multi_get(context):
    results = context.measure("multi-get", "1 M keys, 100 B; 50 connections, then one",
                              [Entrant("memcached"), Entrant("cofferd")], lambda session: _multi(context, session),
                              ("keys", "cpu", "latency", "memory", "spread"))
    grown = results.median("get of 100,000 keys", "cofferd", "grown") / 1e6
    return [against(results, "4", "get of 100 keys", "keys_per_s", (">=", 1.2)),
            against(results, "4", "get of 100,000 keys", "mean_us", ("<=", 1.0)),
            Verdict("4", "get of 100,000 keys: memory", f"{grown:,.1f} MB more", "of 12 MB answered", grown / 12,
                    ("<=", 1.0))]


# ---- 5: connections

def _connections(context, session):
    session.fixed = {**HUNDRED_BYTES, "keys": 100_000}
    session.run("load", load=True, seconds=0)
    for number in CONNECTIONS:
        for operation in ("get", "set"):
            session.run(f"{operation.upper()}, {number}", op=operation, connections=number,
                        seconds=context.seconds / 2, warm_up=0.2)
    session.run("GET, 50, none idle", op="get", seconds=context.seconds, warm_up=0.3)
    session.run("GET, 50, and 10,000 idle", op="get", idle=10_000, seconds=context.seconds, warm_up=0.3)


def connections(context):
    results = context.measure("connections", "100 k keys, 100 B, depth 1, by number of connections",
                              [Entrant("memcached"), Entrant("cofferd")],
                              lambda session: _connections(context, session), ("speed", "cpu", "latency", "spread"))
    verdicts = [against(results, "5", f"{operation}, {number}", "requests_per_s", (">=", 0.95),
                        what=f"{operation}, {number} connection{'s' if number > 1 else ''}")
                for operation in ("GET", "SET") for number in CONNECTIONS]
    for figure, bound in (("requests_per_s", (">=", 0.95)), ("server_cpu_us", ("<=", 1.05))):
        idle, none = (results.median(test, "cofferd", figure) for test in ("GET, 50, and 10,000 idle",
                                                                          "GET, 50, none idle"))
        verdicts.append(Verdict("5", "GET, 10,000 idle connections more", UNITS[figure](idle),
                                f"without {UNITS[figure](none)}", idle / none, bound))
    return verdicts


# ---- 6: latency at a rate

def latency(context):
    """At half of what the slower of the two could do."""
    fast = context.results["speed"][2]
    rates = {operation: int(min(fast.median(f"{operation} 1 deep", label, "requests_per_s")
                                for label in fast.data["load"] if label != "redis") / 2)
             for operation in ("GET", "SET")}

    def test(session):
        session.fixed = dict(HUNDRED_BYTES)
        session.run("load", load=True, seconds=0)
        for operation, rate in rates.items():
            session.run(f"{operation} at half speed", op=operation.lower(), rate=rate, seconds=2 * context.seconds,
                        warm_up=0.3)
    busy = Entrant("cofferd", "cofferd busy", ["--checkpoint-seconds=2"])
    results = context.measure("latency", f"GET at {rates['GET']:,} /s, SET at {rates['SET']:,} /s, 50 connections; "
                              "busy: a checkpoint every 2 s", [Entrant("memcached"), Entrant("cofferd"), busy], test,
                              ("speed", "cpu", "latency", "spread"))
    return [against(results, "6", f"{operation} at half speed", figure, ("<=", 1.1), ours,
                    what=f"{operation} at half speed{' with checkpoints' if ours != 'cofferd' else ''}")
            for operation in rates for ours in ("cofferd", "cofferd busy") for figure in ("p99_us", "p999_us")]


# ---- 7: growth

def _sizes(context):
    if not context.full:
        return [10_000, 1_000_000, 5_000_000]
    return [10_000, 1_000_000] + [n for n in (20_000_000, 50_000_000) if n * 300 < 0.7 * machine.memory()]


def _name(items):
    return f"{items / 1e6:g} M" if items >= 1_000_000 else f"{items / 1000:g} k"


def growth(context):
    sizes = _sizes(context)
    merged = generator.Results()
    for items in sizes:
        def test(session, items=items):
            before = session.server.resident()
            session.fixed = {"keys": items, "size": 100, "connections": 50}
            session.run(f"{_name(items)} items: load", load=True, seconds=0)
            figures = session.run(f"{_name(items)} items: GET", op="get", seconds=context.seconds, warm_up=0.5)
            figures["per_item"] = (session.server.resident() - before) / items
        memory = max(1024, items * 400 // 1_000_000)
        merged.merge(context.measure(f"growth-{items}", f"{_name(items)} items, 16 B key, 100 B value, -m {memory}",
                                     [Entrant("memcached", memory=memory), Entrant("cofferd", memory=memory)], test,
                                     rounds=context.rounds if items <= 5_000_000 else 1))
        del context.results[f"growth-{items}"]
    context.results["growth"] = ("16 B key, 100 B value, by number of items", table.USUAL, merged)
    costs = {items: merged.median(f"{_name(items)} items: GET", "cofferd", "server_cpu_us") for items in sizes}
    verdicts = [Verdict("7", f"GET: {_name(items)} against {_name(sizes[0])} items", f"{costs[items]:.2f} us CPU",
                        f"{costs[sizes[0]]:.2f} us CPU", costs[items] / costs[sizes[0]], ("<=", 1.3))
                for items in sizes[1:]]
    for items in sizes[1:]:
        if context.has("memcached"):
            ours, theirs = (merged.median(f"{_name(items)} items: GET", label, "per_item")
                            for label in ("cofferd", "memcached"))
            verdicts.append(Verdict("7", f"memory for an item, {_name(items)}", f"{ours:.0f} B",
                                    f"memcached {theirs:.0f} B", ours / theirs, ("<=", 1.0)))
    return verdicts


# ---- 8: large values

def large(context):
    keys = 100_000 if context.full else 25_000

    def test(session):
        session.fixed = {"keys": keys, "size": "20k", "connections": 50}
        session.run("load", load=True, seconds=0)
        for operation in ("get", "set"):
            session.run(f"{operation.upper()} 20 KB", op=operation, seconds=context.seconds, warm_up=0.3)
    memory = 2 * keys * 21 // 1000
    results = context.measure("large", f"{keys:,} keys, 20 KB, 50 connections, -m {memory}",
                              [Entrant("memcached", memory=memory), Entrant("cofferd", memory=memory)], test,
                              device=True)
    cost = results.median("SET 20 KB", "cofferd", "server_cpu_us")
    peer = f"memcached {results.median('SET 20 KB', 'memcached', 'server_cpu_us'):.1f} us CPU" \
        if context.has("memcached") else ""
    return [against(results, "8", "GET 20 KB", "requests_per_s", (">=", 1.0)),
            Verdict("8", "SET 20 KB: us CPU against 25", f"{cost:.1f} us CPU", peer, cost / 25, ("<=", 1.0))]


# ---- 9: misses

def misses(context):
    def test(session):
        session.fixed = dict(HUNDRED_BYTES)
        session.run("load", load=True, seconds=0)
        session.server.wait_for_checkpoint()
        for depth in (1, 16):
            session.run(f"hit, {depth} deep", op="get", depth=depth, seconds=context.seconds, warm_up=0.3)
            session.run(f"miss, {depth} deep", op="get", depth=depth, prefix="no:", expect_misses=True,
                        seconds=context.seconds, warm_up=0.3)
    results = context.measure("misses", "1 M keys, all in the tree; keys that are nowhere",
                              [Entrant("cofferd", options=["--checkpoint-seconds=1"])], test,
                              ("speed", "cpu", "split", "latency", "spread"))
    verdicts = []
    for depth, bound in ((1, ("<=", 1.5)), (16, None)):
        hit, miss = (results.median(f"{kind}, {depth} deep", "cofferd", "server_cpu_us") for kind in ("hit", "miss"))
        verdicts.append(Verdict("9", f"a miss against a hit, {depth} deep", f"{miss:.2f} us CPU", f"{hit:.2f} us CPU",
                                miss / hit, bound))
    return verdicts


TARGETS = {"speed": speed, "steady": steady, "always": always, "multi-get": multi_get, "connections": connections,
           "latency": latency, "growth": growth, "large": large, "misses": misses}
NEEDS = {"steady": ["speed"], "latency": ["speed"]}  # measured before


def measure(context, names):
    """The verdicts of the named groups, with what they need, in order."""
    wanted = set(names).union(*(NEEDS.get(name, []) for name in names))
    verdicts = []
    for name, function in TARGETS.items():
        if name in wanted:
            verdicts += function(context)
    return sorted(verdicts, key=lambda verdict: verdict.target)
