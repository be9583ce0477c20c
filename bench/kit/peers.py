# SPDX-License-Identifier: BSD-3-Clause
"""The same load from another generator, so that coffer-bench itself is trusted: memcaslap (of libmemcached-tools) for
memcached and cofferd, redis-benchmark for Redis."""

import csv
import re
import shutil
import subprocess
import sys
import tempfile

from kit import generator, table
from kit.servers import Entrant

LIMIT = 0.15
# Keys of 16 bytes, values of 100, one set to nine gets.
MEMCASLAP_LOAD = "key\n16 16 1\nvalue\n100 100 1\ncmd\n0 0.1\n1 0.9\n"
MEMCASLAP_WINDOW = 10_000  # keys that each connection has of its own
SAME = {"size": 100, "connections": 50, "prefix": "our:"}  # redis-benchmark's keys begin with "key:"


def _output(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, text=True)
    return done.stdout


def _memcaslap(server, seconds):
    with tempfile.NamedTemporaryFile("w", suffix=".cfg") as load:
        load.write(MEMCASLAP_LOAD)
        load.flush()
        text = _output(["memcaslap", "-s", f"{server.host}:{server.port}", "-F", load.name, "-T", "1", "-c", "50",
                        "-w", "10k", "-t", f"{max(2, round(seconds))}s"])
    found = re.search(r"TPS: (\d+)", text)
    return float(found.group(1)) if found else None


def _redis_benchmark(server, operation, depth, requests):
    text = _output(["redis-benchmark", "-h", server.host, "-p", str(server.port), "-c", "50", "-d", "100", "-r",
                    "100000", "-n", str(requests), "-P", str(depth), "-t", operation, "--csv"])
    rows = [row for row in csv.reader(text.splitlines()) if row and row[0].upper() == operation.upper()]
    return float(rows[0][1]) if rows else None


class Pair:
    """What both generators saw, a speed a round."""

    def __init__(self):
        self.ours, self.theirs = [], []


def _test(session, seconds, pairs):
    server = session.server

    def both(name, other, **options):
        pair = pairs.setdefault(name, Pair())
        pair.ours.append(session.run(name, **SAME, **options)["requests_per_s"])
        pair.theirs.append(other())
    if server.kind == "redis":
        session.fixed = {"keys": 100_000}
        session.run("load", load=True, seconds=0, **SAME)
        for operation in ("set", "get"):
            for depth in (1, 16):
                requests = int(seconds * (80_000 if depth == 1 else 300_000))
                both(f"redis, {operation.upper()} {depth} deep: redis-benchmark",
                     lambda op=operation, d=depth, n=requests: _redis_benchmark(server, op, d, n),
                     op=operation, depth=depth, seconds=seconds)
    else:
        keys = MEMCASLAP_WINDOW * 50
        session.run("load", keys=keys, load=True, seconds=0, **SAME)
        both(f"{server.kind}, 1 set to 9 gets: memcaslap", lambda: _memcaslap(server, seconds), keys=keys,
             ratio="1:9", seconds=seconds)


def compare(context):
    """Returns (text of a table, whether all agree within the limit; None where nothing could be compared)."""
    print("peers: other generators", file=sys.stderr)
    kinds = [kind for kind, tool in (("memcached", "memcaslap"), ("cofferd", "memcaslap"), ("redis", "redis-benchmark"))
             if context.has(kind) and shutil.which(tool)]
    pairs = {}
    generator.in_turn(context.arguments, [Entrant(kind) for kind in kinds], context.rounds,
                      lambda session: _test(session, 2 * context.seconds, pairs))
    rows = [["server, load, other generator", "", "other /s", "coffer-bench /s", "ratio", ""]]
    agree = None
    for name, pair in pairs.items():
        if None in pair.theirs:
            continue
        # The ratio of each round, whose two runs followed each other, drifts less than that of the medians.
        ratios = sorted(ours / theirs for ours, theirs in zip(pair.ours, pair.theirs))
        ratio = ratios[len(ratios) // 2]
        good = abs(ratio - 1) <= LIMIT
        agree = good if agree is None else agree and good
        rows.append([name, "", table.grouped(sorted(pair.theirs)[len(ratios) // 2]),
                     table.grouped(sorted(pair.ours)[len(ratios) // 2]), f"{ratio:.2f}",
                     "within 15 %" if good else "NOT within 15 %"])
    return table.lay_out(rows), agree
