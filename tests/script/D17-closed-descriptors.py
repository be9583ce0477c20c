# SPDX-License-Identifier: BSD-3-Clause
"""Started with descriptors 0 to 2 closed, in the background: they never become data files (monero#6147).
Also: the pid file, and that -d loses nothing (py-lmdb#346)."""

import os
import signal
import subprocess

from lib.checks import connect, ensure, ensure_equal, ensure_no_complaint
from lib.server import Server, wait_until


def read_pid(path):
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read() or 0)
    except FileNotFoundError:
        return 0


def gone(pid):
    """All of it: its first thread is a zombie while others may still hold the data directory's lock."""
    try:
        with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
            zombie = file.read().rsplit(")", 1)[1].split()[0] == "Z"
        return zombie and len(os.listdir(f"/proc/{pid}/task")) == 1
    except (FileNotFoundError, ProcessLookupError):
        return True


def start_in_background(server, pid_file):
    """Returns the pid of the background process."""
    def close_all():
        for fd in (0, 1, 2):
            os.close(fd)
    starter = subprocess.Popen(server.command(["-d", "-v", "-P", pid_file, "--log-file=" + server.log_path]),
                               cwd=server.home, preexec_fn=close_all)
    ensure_equal(starter.wait(30), 0, "exit status of the starter")
    pid = wait_until(lambda: read_pid(pid_file), 10, "the pid file")
    server.wait_ready(alive=lambda: not gone(pid))
    return pid


def test(binary):
    with Server(binary) as server:
        pid_file = os.path.join(server.home, "pid")
        pid = 0
        try:
            for number in range(2):
                pid = start_in_background(server, pid_file)
                wire = connect(server)
                ensure_equal(wire.store(b"k%d" % number, b"x" * 100000), b"STORED", "set")
                for fd in (0, 1, 2):
                    target = os.readlink(f"/proc/{pid}/fd/{fd}")
                    ensure(target == "/dev/null" or target == server.log_path, f"descriptor {fd} is {target}")
                found = wire.get([b"k0", b"k1"])
                ensure_equal(len(found), number + 1, "values found")
                # Once killed, once stopped.
                how = (signal.SIGKILL, signal.SIGTERM)[number]
                os.kill(pid, how)
                wait_until(lambda: gone(pid), 15, "the background process to end")
            ensure(not os.path.exists(pid_file), "the pid file is still there after a clean stop")
        finally:
            if pid and not gone(pid):
                os.kill(pid, signal.SIGKILL)
        server.start()
        ensure_equal(len(connect(server).get([b"k0", b"k1"])), 2, "values found in the foreground")
        server.stop()
        ensure_no_complaint(server)
