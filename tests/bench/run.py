#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Smoke tests of the load generator and of the programs that use it, in small sizes: what they print, not how fast
anything is.

    tests/bench/run.py                        all, with build/coffer-bench against build/cofferd
"""

import argparse
import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.dirname(HERE))

from lib import runner  # noqa: E402
from lib.runner import Failure  # noqa: E402
from lib.server import Server, scale  # noqa: E402

KEYS = 1000


def expect(condition, what):
    if not condition:
        raise Failure(what)


def run(command, status=0):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                          stdin=subprocess.DEVNULL)
    if done.returncode != status:
        raise Failure(f"exit status {done.returncode} of {' '.join(command)}\n{done.stderr}{done.stdout}")
    return done.stdout


def figures(bench, server, *options, status=0):
    """The last phase's figures by operation."""
    text = run([bench, "-h", server.address, "-p", str(server.port), "--keys", str(KEYS), "-c", "4", "-q", "--json", "-",
                *options], status)
    return json.loads(text)["phases"][-1]["operations"]


def every_protocol(bench, binary):
    """Each protocol of memcached writes all keys and reads them back as the others wrote them."""
    with Server(binary, listen="tcp").start() as server:
        for protocol, seed in (("text", "1"), ("meta", "2"), ("binary", "3")):
            loaded = figures(bench, server, "-P", protocol, "--load", "-t", "0", "--seed", seed)
            expect(loaded["set"]["requests"] == KEYS, f"{protocol}: {loaded['set']['requests']} keys set")
            for reader in ("text", "meta", "binary"):
                read = figures(bench, server, "-P", reader, "-o", "get", "-D", "sequential", "-N", str(KEYS), "-d", "8",
                               "--verify", "--seed", seed)["get"]
                expect(read["hits"] == KEYS and read["wrong"] == 0 and read["errors"] == 0,
                       f"{reader} read what {protocol} wrote: {read}")
        read = figures(bench, server, "-o", "get", "-N", "100", "-m", "20", "--verify", "--seed", "3")["get"]
        expect(read["requests"] == 100 and read["hits"] == 2000, f"get of 20 keys: {read}")


def wrong_values_are_seen(bench, binary):
    """Values that another seed wrote are reported, and make the exit status say so."""
    with Server(binary, listen="tcp").start() as server:
        figures(bench, server, "--load", "-t", "0", "--seed", "1")
        read = figures(bench, server, "-o", "get", "-N", "50", "--verify", "--seed", "2", status=1)["get"]
        expect(read["wrong"] == 50, f"{read['wrong']} of 50 wrong values were seen")


def rate_memory_and_device(bench, binary):
    """A rate is kept, and the server's process and disk are sampled."""
    with Server(binary, listen="tcp").start() as server:
        rate = scale(1000)
        got = figures(bench, server, "--load", "-R", str(rate), "-t", "0.5", "--pid", str(server.pid()), "--device-of",
                      server.home)
        all_of = got["all"]
        expect(0.3 * rate < all_of["requests"] <= 0.55 * rate, f"{all_of['requests']} requests in 0.5 s at {rate} /s")
        expect(all_of["server_cpu_us"] > 0 and all_of["server_resident"] > 1e6, f"the process: {all_of}")
        expect(all_of["device_written"] is not None, "what the disk was sent is not known")


def csv_and_help(bench, binary):
    """A line for each operation in CSV; --help names every option; what is wrong is refused."""
    with Server(binary, listen="tcp").start() as server, tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "out.csv")
        for _ in range(2):
            figures(bench, server, "--load", "-N", "100", "--csv", path, "--label", "a, b")
        with open(path, encoding="utf-8") as file:
            rows = list(csv.DictReader(io.StringIO(file.read())))
        expect([row["operation"] for row in rows] == ["set", "set", "get", "all"] * 2, f"rows of CSV: {rows}")
        expect(rows[0]["label"] == "a, b" and float(rows[0]["requests"]) == KEYS, f"first row of CSV: {rows[0]}")
    expect(len(re.findall(r"^  .*--[a-z]", run([bench, "--help"]), re.MULTILINE)) > 25, "--help is short")
    run([bench, "--no-such-option"], status=2)
    run([bench, "--keys", "many"], status=2)


def scenario(bench, binary):
    """A scenario starts its servers, and prints published and measured figures; one runs against a given address."""
    program = os.path.join(TOP, "bench", "scenario")
    tools = ["--bench", bench, "--cofferd", binary]
    text = run([program, "tim-yang-100b", "--servers", "cofferd", "--scale", "0.0002", "--rounds", "1", *tools])
    for wanted in (r"August 2009", r"write, 16 clients +cofferd +[\d,]+", r"MemcacheDB +25,583", r"Redis 0\.900",
                   r"^median of 1 round; 0 errors, wrong values or unexpected misses$"):
        expect(re.search(wanted, text, re.MULTILINE), f"{wanted} is not in\n{text}")
    with Server(binary, listen="tcp").start() as server:
        text = run([program, "php-100k", "--address", f"{server.address}:{server.port}", "--pid", str(server.pid()),
                    "--scale", "0.001", "--rounds", "1", *tools])
        expect(re.search(r"get missing +cofferd +0\.\d+", text), f"against an address:\n{text}")


def targets(bench, binary):
    """A group of targets is measured and judged."""
    text = run([os.path.join(TOP, "bench", "targets"), "misses", "--servers", "cofferd", "--seconds", "0.1", "--rounds",
                "1", "--bench", bench, "--cofferd", binary])
    expect(re.search(r"^9 +a miss against a hit, 1 deep .*<= 1\.5 +(met|NOT MET)$", text, re.MULTILINE), text)


TESTS = (every_protocol, wrong_values_are_seen, rate_memory_and_device, csv_and_help, scenario, targets)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--server", default="build/cofferd", metavar="PATH")
    parser.add_argument("--bench", metavar="PATH", help="[coffer-bench beside the server]")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    parser.add_argument("names", nargs="*", help="regular expressions; the start of a test's name")
    options = parser.parse_args()
    binary = runner.need_server(options.server)
    bench = runner.need_server(options.bench or os.path.join(os.path.dirname(binary), "coffer-bench"))
    tests = [(test.__name__.replace("_", "-"), lambda test=test: test(bench, binary)) for test in TESTS]
    if options.names:
        tests = [test for test in tests if any(re.match(pattern, test[0]) for pattern in options.names)]
    return runner.run_all(tests, options.jobs)


if __name__ == "__main__":
    sys.exit(main())
