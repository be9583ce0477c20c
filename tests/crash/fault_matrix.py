# SPDX-License-Identifier: BSD-3-Clause
"""For each fault point of src/tbl/faults.h: die there, and fail there; nothing acknowledged may be lost.

A point is tried in each situation of a server's life: a fresh start, running (load, checkpoints, flushes), a start
with another size of log files, recovery after kill -9, and a clean stop.  A point that is reached in none of them is a failure: then the table, the product or
this test is out of date.
"""

import contextlib
import os
import random
import re
import signal
import subprocess

from fleet import Fleet
from kill9_load import OPTIONS
from lib.checks import ensure_no_complaint
from lib.runner import Failure
from lib.server import Server, ServerError, patience, wait_until
from lib.wire import Wire, WireError

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/tbl/faults.h")
SYNC = "--sync=interval=20"
CONNECTIONS = 4
# Points before, between or after system calls: there is nothing to fail.
NOT_A_CALL = re.compile(r"LOG_WRITTEN|TREE_COMMITTED|TREE_SWITCH|CHECKPOINT_\w+|RECOVERY_\w+")
# What a full disk can refuse.
TAKES_ROOM = re.compile(r"LOG_(OPEN|ZERO|RENAME)|SECRET_WRITE|MANIFEST_\w+|TREE_(CREATE|COMMIT)")
# Writes into files that have their room already: should the disk refuse them all the same, they wait for room.
HAS_ROOM = re.compile(r"LOG_(HEADER|WRITE)")


def points():
    with open(TABLE, encoding="ascii") as file:
        return re.findall(r"^\s*X\((\w+),", file.read(), re.M)


class Trial:
    """A server with its fleet, on a directory of its own."""

    def __init__(self, binary, seed, tolerant=False):
        self.rng = random.Random(seed)
        self.server = Server(binary, OPTIONS + [SYNC])
        self.fleet = Fleet(self.server, self.rng.getrandbits(64), CONNECTIONS, careful=tolerant, tolerant=tolerant)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.close()

    def ask(self, line):
        """The answer, or None when the server died."""
        try:
            wire = Wire(self.server.connect_socket(20), 20)
            answer = wire.ask(line)
            wire.close()
            return answer
        except (OSError, WireError):
            return None

    def lives(self, seconds):
        """Lets it run for a moment; False when it died before."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.server.process.wait(patience(seconds))
        return self.server.running()

    def load(self, seconds):
        """Load for a moment; ends at once when the server dies."""
        self.fleet.begin()
        if self.lives(seconds):
            self.fleet.end()
        else:
            self.fleet.killed()
            self.fleet.join()

    def load_and_kill(self, seconds):
        self.fleet.begin()
        self.lives(seconds)
        self.fleet.killed()
        self.server.kill9()
        self.fleet.join()

    def exercise(self, with_flush):
        """What a running server does: load, checkpoints, a flush; until it has died, or refuses the flush."""
        steps = [lambda: self.load(0.12), lambda: self.ask(b"debug checkpoint"), lambda: self.load(0.05)]
        if with_flush:
            steps += [self.fleet.flush, lambda: self.load(0.05), lambda: self.ask(b"debug checkpoint")]
        for step in steps:
            if self.server.running() and not (self.fleet.tolerant and self.fleet.flush_in_doubt):
                step()
                self.notice_death()

    def notice_death(self):
        """A process that is being killed answers no more some moments before it is gone."""
        if self.ask(b"version") is None:
            self.lives(10)

    def must_be_killed(self):
        code = self.server.wait_death(5)
        if code != -signal.SIGKILL:
            raise Failure(f"the server ended with {code} instead of being killed\n{self.server.log_tail()}")

    def dies_at_start(self, plan):
        """Starts with the plan: True when it died of it."""
        self.server.spawn(["--fault-plan=" + plan])
        try:
            self.server.wait_ready()
            return False
        except ServerError:
            if self.server.running():
                raise
            self.must_be_killed()
            return True

    def recovered(self):
        self.server.start()
        self.fleet.check()

    def reads_base(self):
        wire = Wire(self.server.connect_socket(20), 20)
        if wire.get(list(self.fleet.base)) != self.fleet.base:
            raise Failure("what was stored before the failure cannot be read")
        wire.close()

    def takes_writes_again(self):
        """After a full disk writes come back without a restart."""
        wire = Wire(self.server.connect_socket(20), 20)
        write = self.fleet.shared.begin(b"shared-0", b"room again")
        wait_until(lambda: wire.store(b"shared-0", b"room again") == b"STORED", 10, "writes to work again")
        self.fleet.shared.acknowledged(write)
        wire.close()

    def close(self):
        self.server.stop()
        ensure_no_complaint(self.server)


# ---- killed at a point: each returns whether the point was reached

def fresh(trial, point):
    reached = trial.dies_at_start(f"{point}:1:kill")
    if not reached:
        trial.server.kill9()
    trial.recovered()
    trial.load(0.03)
    return reached


def running(trial, point):
    """The second time that the point is reached, or else the first one after some cycles."""
    trial.server.start()
    trial.fleet.load_base()
    trial.load(0.03)
    for count in (trial.rng.choice((1, 2)), 1):
        trial.ask(f"debug fault {point}:{count}:kill".encode())
        trial.exercise(with_flush=True)
        if not trial.lives(0.1):
            break
    reached = not trial.server.running()
    if reached:
        trial.must_be_killed()
    else:
        trial.fleet.killed()
        trial.server.kill9()
    trial.recovered()
    return reached


def resized(trial, point):
    """A start with another size of log files than before: the old ones cannot be used again."""
    trial.server.start()
    trial.load(0.05)
    trial.server.stop()
    trial.server.options += ["--log-segment=5m", "--log-max=25m"]
    reached = trial.dies_at_start(f"{point}:1:kill")
    if not reached:
        trial.exercise(with_flush=False)
        reached = not trial.lives(0.1)
    if not reached:
        trial.fleet.killed()
        trial.server.kill9()
    trial.recovered()
    return reached


def recovery(trial, point):
    trial.server.start()
    trial.fleet.load_base()
    trial.ask(b"debug checkpoint")
    trial.load_and_kill(0.08)
    reached = trial.dies_at_start(f"{point}:1:kill")
    if not reached:
        trial.server.kill9()
    trial.recovered()
    return reached


def stopping(trial, point):
    trial.server.start()
    trial.load(0.05)
    trial.ask(f"debug fault {point}:1:kill".encode())
    os.kill(trial.server.pid(), signal.SIGTERM)
    reached = trial.server.wait_death() != 0
    if reached:
        trial.must_be_killed()
    trial.recovered()
    return reached


SITUATIONS = {"fresh": fresh, "running": running, "resized": resized, "recovery": recovery, "stop": stopping}


def killed_at(binary, point, seed):
    """The test of one point."""
    reached = []
    for name, situation in SITUATIONS.items():
        with Trial(binary, seed) as trial:
            try:
                if situation(trial, point):
                    reached.append(name)
                trial.close()
            except (Failure, ServerError, WireError, OSError) as error:
                raise Failure(f"{name}, seed {seed}: {error}\n{trial.server.log_tail()}") from None
    if not reached:
        raise Failure("never reached")
    return "in " + " ".join(reached)


# ---- failing at a point

def fails_while_running(trial, plan):
    """The process lives through it, reads what it had, and has everything acknowledged after a restart."""
    trial.server.start()
    trial.fleet.load_base()
    trial.load(0.03)
    trial.ask(f"debug fault {plan}".encode())
    trial.exercise(with_flush=False)
    if trial.server.running():
        trial.reads_base()
        trial.exercise(with_flush=True)
    if not trial.server.running():
        raise Failure(f"the server ended with {trial.server.process.returncode}")
    trial.ask(b"debug fault")
    if "enospc" in plan:
        trial.takes_writes_again()
    refused = trial.fleet.refused()
    trial.fleet.killed()
    trial.server.kill9()
    trial.recovered()
    return refused


def waits_while_running(trial, point):
    """A full disk under files that had their room: requests wait, reads of what is safe go on, nothing is lost."""
    trial.server.start()
    trial.fleet.load_base()
    trial.load(0.03)
    trial.ask(f"debug fault {point}:*:enospc".encode())
    trial.fleet.begin()
    if not trial.lives(0.3):
        raise Failure(f"the server ended with {trial.server.process.returncode}")
    trial.reads_base()
    trial.ask(b"debug fault")
    trial.takes_writes_again()
    trial.fleet.end()
    trial.load_and_kill(0.03)
    trial.recovered()


def waits_at(binary, point, seed):
    with Trial(binary, seed, tolerant=True) as trial:
        try:
            waits_while_running(trial, point)
            trial.close()
        except (Failure, ServerError, WireError, OSError) as error:
            raise Failure(f"seed {seed}: {error}\n{trial.server.log_tail(8)}") from None
    return f"{trial.fleet.refused()} requests refused"


def fails_at_start(trial, plan, after_crash):
    """It refuses to start, in good order, or starts; then a start without trouble finds everything."""
    if after_crash:
        trial.server.start()
        trial.fleet.load_base()
        trial.load_and_kill(0.05)
    trial.server.spawn(["--fault-plan=" + plan])
    try:
        trial.server.wait_ready()
        trial.server.kill9()
    except ServerError:
        if trial.server.running() or trial.server.process.returncode < 0:
            raise
        if not trial.server.log():
            raise Failure("it refused to start without a word") from None
    trial.recovered()


def fails_at(binary, point, action, seed):
    count = "*" if action == "enospc" else "1"
    plan = f"{point}:{count}:{action}"
    refused = 0
    for name in ("running", "fresh start", "start after a crash"):
        with Trial(binary, seed, tolerant=True) as trial:
            try:
                if name == "running":
                    refused = fails_while_running(trial, plan)
                else:
                    fails_at_start(trial, plan, name != "fresh start")
                trial.close()
            except (Failure, ServerError, WireError, OSError) as error:
                raise Failure(f"{plan} {name}, seed {seed}: {error}\n{trial.server.log_tail()}") from None
    return f"{refused} requests refused"


def tests(binary, seed):
    """[(name, function)] of the whole matrix."""
    found = []
    for number, point in enumerate(points()):
        def kill(point=point, number=number):
            return killed_at(binary, point, seed + number)
        found.append((f"kill-at-{point}", kill))
    for number, point in enumerate(points()):
        for action in ("eio", "enospc"):
            if NOT_A_CALL.fullmatch(point) or action == "enospc" and not TAKES_ROOM.fullmatch(point):
                continue
            def fail(point=point, number=number, action=action):
                return fails_at(binary, point, action, seed + number)
            found.append((f"{action}-at-{point}", fail))
        if HAS_ROOM.fullmatch(point):
            def wait(point=point, number=number):
                return waits_at(binary, point, seed + number)
            found.append((f"enospc-at-{point}", wait))
    return found
