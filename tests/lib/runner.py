# SPDX-License-Identifier: BSD-3-Clause
"""Runs named tests side by side, one process each; prints one line a test and the closing count.

A test is a function that returns None (passed) or a short remark, raises Skip, or raises anything else (failed).
"""

import multiprocessing
import multiprocessing.connection
import os
import sys
import time
import traceback

from lib.server import ServerError
from lib.wire import WireError


class Skip(Exception):
    """The test cannot run here; the text says why."""


class Failure(Exception):
    """The test found something wrong; the text says what."""


EXPECTED = (Failure, ServerError, WireError)


def _in_child(function, pipe):
    try:
        remark = function()
        pipe.send(("ok", remark or ""))
    except Skip as skip:
        pipe.send(("skip", str(skip)))
    except EXPECTED as error:
        pipe.send(("FAIL", str(error) or type(error).__name__))
    except BaseException:
        pipe.send(("FAIL", traceback.format_exc()))
    finally:
        pipe.close()


class Job:
    def __init__(self, name, function, limit):
        self.name = name
        self.limit = limit
        self.began = time.monotonic()
        self.pipe, end = multiprocessing.Pipe(duplex=False)
        self.process = multiprocessing.Process(target=_in_child, args=(function, end))
        self.process.start()
        end.close()

    def result(self):
        """(verdict, text), or None while it runs."""
        if self.pipe.poll(0):
            try:
                result = self.pipe.recv()
            except EOFError:
                self.process.join()
                result = ("FAIL", f"the test process died with {self.process.exitcode}")
        elif time.monotonic() - self.began > self.limit:
            self.process.kill()
            result = ("FAIL", f"still running after {self.limit:.0f} s")
        else:
            return None
        self.process.join()
        self.pipe.close()
        return result


class Report:
    """The lines and the count."""

    def __init__(self):
        self.count = {"ok": 0, "FAIL": 0, "skip": 0}
        self.failed = []

    def add(self, name, verdict, text, seconds):
        self.count[verdict] += 1
        first, *rest = (text.rstrip() or "").split("\n")
        if verdict == "FAIL":
            self.failed.append(name)
            first, rest = "", [first] + rest
        print(f"{verdict:4} {name:44} {seconds:6.2f} s  {first}".rstrip())
        for line in rest:
            print("       " + line)
        sys.stdout.flush()

    def close(self):
        for name in self.failed if self.count["ok"] + self.count["skip"] > 20 else ():
            print(f"failed: {name}")
        skipped = f", {self.count['skip']} skipped" if self.count["skip"] else ""
        print(f"{self.count['ok']} passed, {self.count['FAIL']} failed{skipped}")
        return 1 if self.count["FAIL"] or not self.count["ok"] + self.count["skip"] else 0


def run_all(tests, jobs=2, limit=120.0, report=None):
    """tests: [(name, function)]; report: a Report of one's own.  Returns the exit code."""
    report = report or Report()
    limit /= min(1.0, float(os.environ.get("COFFER_TEST_SCALE", "1")))
    waiting, running = list(tests), []
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                running.append(Job(*waiting.pop(0), limit))
            multiprocessing.connection.wait([job.pipe for job in running], 0.5)
            for job in list(running):
                result = job.result()
                if result is not None:
                    running.remove(job)
                    report.add(job.name, *result, time.monotonic() - job.began)
    finally:
        for job in running:
            job.process.kill()
    return report.close()


def need_server(path):
    """The path of the server as an absolute one; ends the program when there is none."""
    if not os.access(path, os.X_OK):
        sys.exit(f"{path}: no such program; build it with `make` or say --server PATH")
    return os.path.abspath(path)
