# SPDX-License-Identifier: BSD-3-Clause
"""Runs coffer-bench, in turn against several servers, and keeps the figures by test and server."""

import json
import statistics
import subprocess
import sys

from kit import servers

WRONG = ("wrong", "errors", "misses")


def _words(options):
    """keys=5, hashed_keys=True: --keys 5 --hashed-keys"""
    words = []
    for name, value in options.items():
        words += [] if value is False else ["--" + name.replace("_", "-")]
        words += [] if value is True or value is False else [str(value)]
    return words


def run(arguments, server, device=False, **options):
    """One run of coffer-bench.  `device`: count what the disk is sent, which costs a sync before and after.  The figures of its last phase, of all operations together."""
    if "seconds" not in options and "requests" in options:
        options["seconds"] = 0
    command = [arguments.bench, "--host", server.host, "--port", str(server.port), "--verify", "--json", "-", "--quiet",
               "--protocol", "resp" if server.kind == "redis" else arguments.protocol,
               "--threads", str(min(arguments.client_threads, options.get("connections", 50)))]
    command += ["--pid", str(server.pid)] if server.pid else []
    command += ["--device-of", server.directory] if device and server.directory else []
    command += _words(options)
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode == 2 or not done.stdout:
        sys.exit(f"{' '.join(command)} failed")
    phase = json.loads(done.stdout)["phases"][-1]
    if phase["trouble"]:
        print(f"{server.kind}: {phase['trouble']}", file=sys.stderr)
    operations = phase["operations"]
    return operations.get("all") or next(iter(operations.values()))


class Session:
    """What a test is given: one server in one round.  Each run() adds figures under a test's name."""

    def __init__(self, arguments, server, label, results, device=False):
        self.arguments, self.server, self.label, self.results = arguments, server, label, results
        self.device = device
        self.fixed = {}  # options of every run

    def run(self, name, unit=1, expect_misses=False, **options):
        """`unit`: how often the published test's piece of work is done in one run, for the column of seconds."""
        figures = run(self.arguments, self.server, self.device, **{**self.fixed, **options})
        figures["unit_seconds"] = figures["seconds"] / unit
        figures["unexpected"] = sum(figures[key] for key in WRONG if not (key == "misses" and expect_misses))
        self.add(name, figures)
        return figures

    def add(self, name, figures):
        self.results.add(name, self.label, figures)


class Results:
    """Figures by test and label, in the order in which they first came."""

    def __init__(self, data=None):
        self.data = data if data is not None else {}

    def add(self, name, label, figures):
        self.data.setdefault(name, {}).setdefault(label, []).append(figures)

    def merge(self, other):
        for name, by_label in other.data.items():
            for label, rounds in by_label.items():
                for figures in rounds:
                    self.add(name, label, figures)

    def has(self, name, label):
        return bool(self.data.get(name, {}).get(label))

    def values(self, name, label, figure):
        return [figures.get(figure) or 0 for figures in self.data[name][label]]

    def median(self, name, label, figure):
        return statistics.median(self.values(name, label, figure))

    def ratio(self, name, label, base, figure):
        below = self.median(name, base, figure)
        return self.median(name, label, figure) / below if below else 0.0

    def unexpected(self):
        return sum(figures.get("unexpected", 0) for by_label in self.data.values() for rounds in by_label.values()
                   for figures in rounds)

    def rounds(self):
        return max(len(rounds) for by_label in self.data.values() for rounds in by_label.values())


def in_turn(arguments, entrants, rounds, test, device=False):
    """A B A B ...: starts each server afresh `rounds` times and calls test(session).  Returns the Results."""
    results = Results()
    for number in range(rounds):
        for entrant in entrants:
            print(f"  round {number + 1} of {rounds}: {entrant.label}", file=sys.stderr)
            with servers.Server(entrant, arguments) as server:
                test(Session(arguments, server, entrant.label, results, device))
    return results
