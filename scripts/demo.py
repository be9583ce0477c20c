# SPDX-License-Identifier: BSD-3-Clause
"""Loads this machine's Debian package index into Coffer while kill -9 strikes at random, and then compares every
acknowledged record byte for byte.

The records are the stanzas behind `apt-cache dumpavail`, some 60,000: key = package name, value = the stanza, the
last version of a name wins.  They go through pymemcache, one at a time, and count once the server has said STORED.

    scripts/demo                                  installs and builds what is missing first
    scripts/demo --sync always
    scripts/demo --server /usr/bin/memcached      what it looks like when a server forgets
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests"))

from lib.server import Server  # noqa: E402

WORST_PAUSE = 0.005  # seconds between the chosen record and the kill, so that it strikes anywhere in a request
RETRY_SECONDS = 30
READ_BATCH = 100


class Screen:
    """A bar on a terminal, lines elsewhere."""

    WIDTH = 40

    def __init__(self):
        self.tty = sys.stdout.isatty()
        self.shown = 0.0
        self.tenth = 0
        self.marks = set()

    def paint(self, text, colour):
        return f"\033[{colour}m{text}\033[0m" if self.tty else text

    def say(self, text):
        print(("\r\033[K" if self.tty else "") + text, flush=True)

    def progress(self, what, done, total, tail="", last=False):
        if self.tty:
            if time.monotonic() - self.shown > 0.05 or last:
                self.shown = time.monotonic()
                print(f"\r\033[K{what:9} {self.bar(done, total)} {done / total:4.0%}  {done:,}/{total:,}  {tail}",
                      end="\n" if last else "", flush=True)
        elif done * 10 // total > self.tenth:
            self.tenth = done * 10 // total
            print(f"{what:9} {done / total:4.0%}  {done:,}/{total:,}  {tail}", flush=True)
        if last:
            self.tenth, self.marks = 0, set()

    def mark(self, done, total):
        """A kill, shown in the bar where it struck."""
        self.marks.add(min(self.WIDTH - 1, done * self.WIDTH // total))

    def bar(self, done, total):
        filled = done * self.WIDTH // total
        cells = []
        for cell in range(self.WIDTH):
            if cell in self.marks:
                cells.append(self.paint("✗", "31;1"))
            else:
                cells.append(self.paint("█", "32") if cell < filled else self.paint("░", "90"))
        return "".join(cells)


def fail(text):
    sys.exit(f"demo: {text}")


def read_index():
    """[(name, stanza)] in the index's order."""
    try:
        text = subprocess.run(["apt-cache", "dumpavail"], stdout=subprocess.PIPE, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        fail(f"apt-cache dumpavail does not work here ({error}); the demo wants a Debian or Ubuntu machine")
    records = []
    for stanza in text.split(b"\n\n"):
        if stanza.startswith(b"Package: "):
            name = stanza[len(b"Package: "):].split(b"\n", 1)[0].strip()
            records.append((name, stanza))
    if not records:
        fail("the package index is empty; run `apt-get update` (as root) and try again")
    return records


def new_client(server):
    from pymemcache.client.base import Client
    return Client((server.address, server.port), default_noreply=False, connect_timeout=5, timeout=30, no_delay=True)


class Loader(threading.Thread):
    """Stores record after record; one that was not acknowledged is tried again on a new connection."""

    def __init__(self, server, records, strikes):
        super().__init__(daemon=True)
        self.server = server
        self.records = records
        self.strikes = strikes  # {number of a record: threading.Event}
        self.acknowledged = 0
        self.retried = 0
        self.error = None

    def run(self):
        client = new_client(self.server)
        for number, (name, stanza) in enumerate(self.records):
            if number in self.strikes:
                self.strikes[number].set()
            client = self.store(client, name, stanza)
            if client is None:
                break
            self.acknowledged += 1
        for event in self.strikes.values():
            event.set()

    def store(self, client, name, stanza):
        """Returns the client that succeeded, or None."""
        deadline = time.monotonic() + RETRY_SECONDS
        while True:
            try:
                if client.set(name, stanza):
                    return client
                raise RuntimeError(f"{name.decode()} was not stored")
            except Exception as error:  # noqa: BLE001 - the client's many words for `the server is gone`
                self.retried += 1
                client.close()
                if time.monotonic() > deadline:
                    self.error = f"{name.decode()} could not be stored for {RETRY_SECONDS} s: {error}"
                    return None
                time.sleep(0.002)
                client = new_client(self.server)


class Demo:
    def __init__(self, options):
        self.options = options
        self.screen = Screen()
        self.rng = random.Random(options.seed)
        self.recoveries = []
        self.load_seconds = 0.0
        self.check_seconds = 0.0
        self.lost, self.wrong = [], []

    def run(self):
        options, say = self.options, self.screen.say
        records = read_index()[:options.records]
        names = len({name for name, _ in records})
        size = sum(len(stanza) for _, stanza in records)
        say(f"{len(records):,} stanzas of {names:,} packages, {size / 1e6:.1f} MB, from apt-cache dumpavail")
        with Server(options.server, ["--memory-limit=64", f"--sync={options.sync}", "--log-max=64m"], listen="tcp",
                    usual=False) as server:
            server.start()
            say(f"{os.path.basename(options.server)} on {server.address}:{server.port}, --sync={options.sync}, "
                f"seed {options.seed}")
            self.load(server, records)
            self.check(server, dict(records))
            server.stop()
        self.table(records, names, size)
        return 1 if self.lost or self.wrong else 0

    def load(self, server, records):
        """All strikes but the last are at random; the last comes right behind the last acknowledgement."""
        kills = self.options.kills
        places = sorted(self.rng.sample(range(1, len(records)), max(0, kills - 1)))
        strikes = {place: threading.Event() for place in places}
        loader = Loader(server, records, strikes)
        began = time.monotonic()
        loader.start()
        for place in places:
            while not strikes[place].wait(0.05):
                self.show_load(loader, records, began)
            if loader.error:
                break
            time.sleep(self.rng.random() * WORST_PAUSE)
            self.strike(server, loader, records)
        while loader.is_alive():
            loader.join(0.05)
            self.show_load(loader, records, began)
        self.load_seconds = time.monotonic() - began - sum(self.recoveries)
        if loader.error:
            fail(loader.error)
        if kills:
            self.strike(server, loader, records)
        self.show_load(loader, records, began, last=True)

    def strike(self, server, loader, records):
        server.kill9()
        self.screen.mark(loader.acknowledged, len(records))
        server.start()
        self.recoveries.append(server.recovery_seconds)
        text = (f"kill -9 number {len(self.recoveries):2} behind {loader.acknowledged:,} acknowledged records, "
                f"serving again after {server.recovery_seconds * 1000:.0f} ms")
        if not self.screen.tty:
            self.screen.say(text)

    def show_load(self, loader, records, began, last=False):
        done = loader.acknowledged
        seconds = max(0.001, time.monotonic() - began - sum(self.recoveries))
        self.screen.progress("loading", done, len(records),
                             f"{done / (self.load_seconds or seconds):,.0f}/s  {len(self.recoveries)} kills", last)

    def check(self, server, expected):
        began = time.monotonic()
        client = new_client(server)
        names = list(expected)
        for at in range(0, len(names), READ_BATCH):
            batch = names[at:at + READ_BATCH]
            found = client.get_many(batch)
            for name in batch:
                if name not in found:
                    self.lost.append(name)
                elif found[name] != expected[name]:
                    self.wrong.append(name)
            done = min(len(names), at + READ_BATCH)
            self.screen.progress("comparing", done, len(names), last=done == len(names))
        self.check_seconds = time.monotonic() - began
        client.close()

    def table(self, records, names, size):
        paint = self.screen.paint
        times = sorted(round(seconds * 1000) for seconds in self.recoveries)
        rows = [
            ("acknowledged", f"{len(records):,} records, {names:,} names"),
            ("bytes", f"{size:,}"),
            ("sync mode", self.options.sync),
            ("kill -9", f"{len(times)} times"),
            ("serving again after", f"{times[0]} / {statistics.median(times):.0f} / {times[-1]} ms "
                                    "(best / median / worst)" if times else "-"),
            ("written", f"{len(records) / self.load_seconds:,.0f} records/s, "
                        f"{size / self.load_seconds / 1e6:.1f} MB/s, one client, one at a time"),
            ("read back", f"{names / self.check_seconds:,.0f} records/s"),
            ("lost", self.verdict(self.lost)),
            ("wrong", self.verdict(self.wrong)),
        ]
        width = max(len(name) for name, _ in rows)
        print()
        for name, text in rows:
            print(f"  {paint(name.rjust(width), '1')}   {text}")
        print()

    def verdict(self, names):
        if not names:
            return self.screen.paint("0", "32;1")
        examples = ", ".join(name.decode() for name in names[:3])
        return self.screen.paint(f"{len(names):,}", "31;1") + f"  ({examples}{', ...' if len(names) > 3 else ''})"


def main():
    parser = argparse.ArgumentParser(prog="scripts/demo", description=__doc__.split("\n\n")[0])
    parser.add_argument("--server", default=os.path.join(ROOT, "build/cofferd"), metavar="PATH")
    parser.add_argument("--sync", default="interval=100", metavar="MODE", help="always, interval=MS or os")
    parser.add_argument("--kills", type=int, default=10, metavar="N")
    parser.add_argument("--records", type=int, metavar="N", help="only the first N stanzas")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    options = parser.parse_args()
    options.server = os.path.abspath(options.server)
    if not os.access(options.server, os.X_OK):
        fail(f"{options.server}: no such program")
    try:
        return Demo(options).run()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
