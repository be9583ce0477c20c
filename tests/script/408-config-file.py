# SPDX-License-Identifier: BSD-3-Clause
"""--config reads options by their long names; the command line goes first; mistakes are told with file and line."""

import os
import subprocess

from lib.checks import connect, ensure, ensure_equal
from lib.server import Server


def test(binary):
    with Server(binary) as server:
        path = os.path.join(server.home, "coffer.conf")
        with open(path, "w", encoding="ascii") as file:
            file.write("# a comment\nmemory-limit = 100\nconn-limit = 33\nsync = always\n")
        server.options = ["--config", path]
        server.usual = False
        server.start()
        settings = connect(server).stats("settings")
        ensure_equal((settings["maxconns"], settings["maxbytes"]), ("33", str(100 << 20)), "maxconns, maxbytes")
        server.stop()
        server.options += ["-c", "44"]
        server.start()
        ensure_equal(connect(server).stats("settings")["maxconns"], "44", "maxconns with -c 44")
        server.stop()
        for line in ("no-such-option = 1", "conn-limit = many", "sync = never"):
            with open(path, "w", encoding="ascii") as file:
                file.write("memory-limit = 100\n" + line + "\n")
            done = subprocess.run([binary, "--check-config", "--config", path], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=20, check=False)
            ensure(done.returncode not in (0, -6, -11), f"{line!r} was accepted with {done.returncode}")
            ensure(b"coffer.conf" in done.stdout and b"2" in done.stdout,
                   f"{line!r}: the message does not tell file and line: {done.stdout!r}")
