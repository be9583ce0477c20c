# SPDX-License-Identifier: BSD-3-Clause
"""Rotation of the log file by rename + SIGHUP and by copytruncate: the new file is used, no line is lost or sparse,
each has its time (memcached#466, #758)."""

import os
import re
import signal

from lib.checks import connect, ensure, serving
from lib.server import wait_until

LINE = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z? \w+ .+")


def content(path):
    with open(path, "rb") as file:
        return file.read()


def ensure_lines(data, path):
    for line in data.splitlines():
        ensure(LINE.fullmatch(line), f"{path}: a line without its time: {line!r}")
    ensure(b"\0" not in data, f"{path} is sparse")


def test(binary):
    with serving(binary, "--log-file=server.log", "-v", "--enable-debug") as server:
        path = os.path.join(server.home, "server.log")
        ensure(os.path.getsize(path) > 0, "nothing was logged at start")
        wire = connect(server)
        old = content(path)
        os.rename(path, path + ".1")
        os.kill(server.pid(), signal.SIGHUP)
        wait_until(lambda: os.path.exists(path), 10, "a new log file after SIGHUP")
        ensure(wire.ask(b"version").startswith(b"VERSION"), "not serving after SIGHUP")
        ensure(content(path + ".1").startswith(old), "the renamed file lost lines")
        # copytruncate: what is written afterwards starts at the file's beginning.
        os.truncate(path, 0)
        server.stop()
        ensure(os.path.getsize(path) > 0, "the stop was not logged")
        for name in (path, path + ".1"):
            ensure_lines(content(name), name)
        server.start()
