# SPDX-License-Identifier: BSD-3-Clause
"""A server process under test: private directory, start, readiness, clean stop, kill -9, restart.

Every server gets a directory of its own under $TMPDIR (or /tmp) and listens on a unix socket there, so tests never
meet each other; where TCP is wanted it gets an address of its own in 127/8.  Readiness is a connection that was
answered, never a pause.
"""

import contextlib
import ctypes
import itertools
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

# Small files, so that a start costs little and checkpoints and log recycling happen in short tests too.
USUAL_OPTIONS = ["--memory-limit=64", "--threads=2", "--readers=2", "--log-max=64m", "--log-segment=4m"]
TCP_PORT = 11311
SANITIZER_PATTERN = re.compile(
    rb"(ERROR: AddressSanitizer|ERROR: LeakSanitizer|WARNING: ThreadSanitizer|runtime error:|check failed:"
    rb"|stack smashing)")

_numbers = itertools.count(1)
_libc = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG = 1


class ServerError(Exception):
    """The server did not do what a process has to do: start, stay up, stop."""


def scale(count, least=1):
    """A count for this run: COFFER_TEST_SCALE makes slow builds (sanitizers) do less."""
    return max(least, int(count * float(os.environ.get("COFFER_TEST_SCALE", "1"))))


def patience(seconds):
    """How long to wait for something that must come: longer where everything is slower."""
    return seconds / min(1.0, float(os.environ.get("COFFER_TEST_SCALE", "1")))


def wait_until(condition, seconds=10, what="condition"):
    """Returns the first true result of condition(); raises ServerError when it stays false."""
    deadline = time.monotonic() + patience(seconds)
    pause = 0.001
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            raise ServerError(f"waited {patience(seconds):.0f} s in vain for: {what}")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)


def own_address():
    """An address in 127/8 that no other test on this machine is using."""
    number = (os.getpid() * 64 + next(_numbers)) % (254 * 256 * 254)
    return f"127.{1 + number // (256 * 254)}.{number // 254 % 256}.{1 + number % 254}"


def _die_with_parent():
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Server:
    """One server; `with Server(path) as s:` stops it and removes its directory at the end.

    listen: "unix" (default), "tcp", or "none" when the options say it all.
    """

    def __init__(self, binary, options=(), listen="unix", home=None, usual=True, environment=None):
        self.binary = os.path.abspath(binary)
        # memcached itself, to compare with: it knows none of our long options, and no directory.
        self.reference = os.path.basename(self.binary) == "memcached"
        self.options = [word for word in options if not (self.reference and word.startswith("--"))]
        self.usual = usual
        self.listen = listen
        self.own_home = home is None
        self.home = home or tempfile.mkdtemp(prefix="coffer-test-")
        self.dir = os.path.join(self.home, "data")
        self.socket_path = os.path.join(self.home, "socket")
        self.address = own_address()
        self.port = TCP_PORT
        self.log_path = os.path.join(self.home, "stderr")
        self.environment = environment
        self.process = None
        self.recovery_seconds = 0.0

    # ---- the command line

    def command(self, extra=()):
        words = [self.binary]
        if self.reference:
            words += ["-u", "root"] if os.geteuid() == 0 else []
        else:
            words += (USUAL_OPTIONS if self.usual else []) + ["-H", self.dir]
        if self.listen == "unix":
            words += ["-s", self.socket_path]
        elif self.listen == "tcp":
            words += ["-l", self.address, "-p", str(self.port)]
        return words + self.options + list(extra)

    def endpoint(self):
        """What a client connects to: a path, or (address, port)."""
        return self.socket_path if self.listen == "unix" else (self.address, self.port)

    # ---- life

    def spawn(self, extra=()):
        """Starts the process without waiting for it to serve."""
        if self.running():
            raise ServerError("started twice")
        environment = dict(os.environ)
        environment.update(self.environment or {})
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.command(extra), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            cwd=self.home, env=environment, preexec_fn=_die_with_parent)
        return self.process

    def start(self, extra=(), seconds=30):
        """Starts the process and returns when it answers."""
        began = time.monotonic()
        self.spawn(extra)
        self.wait_ready(seconds)
        self.recovery_seconds = time.monotonic() - began
        return self

    def wait_ready(self, seconds=30, alive=None):
        """alive() tells of a process that is not our child whether it is there."""
        def answered():
            if not (alive or self.running)():
                raise ServerError(f"the server ended with {self.process.returncode} at start\n{self.log_tail()}")
            with contextlib.suppress(OSError), self.connect_socket(2) as probe:
                probe.sendall(b"version\r\n")
                return probe.recv(100).startswith(b"VERSION ")
            return False
        wait_until(answered, seconds, "the server to answer `version`")

    def connect_socket(self, timeout=10.0, endpoint=None):
        endpoint = endpoint or self.endpoint()
        if isinstance(endpoint, str):
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        else:
            sock = socket.socket(socket.AF_INET6 if ":" in endpoint[0] else socket.AF_INET, socket.SOCK_STREAM)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(patience(timeout))
        try:
            sock.connect(endpoint)
        except OSError:
            sock.close()
            raise
        return sock

    def running(self):
        return self.process is not None and self.process.poll() is None

    def pid(self):
        return self.process.pid

    def kill9(self):
        """kill -9, by pid, and waits until the process is gone."""
        if self.running():
            os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def wait_death(self, seconds=30):
        """Waits until the process ends by itself and returns its exit code (-9: killed)."""
        try:
            return self.process.wait(patience(seconds))
        except subprocess.TimeoutExpired:
            raise ServerError(f"the server did not end within {patience(seconds):.0f} s") from None

    def stop(self, with_signal=signal.SIGTERM, seconds=15):
        """Stops it as an operator does; the exit status must be 0."""
        if self.process is None:
            return
        if self.running():
            os.kill(self.process.pid, with_signal)
        code = self.wait_death(seconds)
        if code != 0:
            raise ServerError(f"exit status {code} instead of 0 after a stop\n{self.log_tail()}")

    def restart(self, extra=()):
        self.stop()
        return self.start(extra)

    # ---- what it said

    def log(self):
        try:
            with open(self.log_path, "rb") as file:
                return file.read()
        except FileNotFoundError:
            return b""

    def log_tail(self, lines=30):
        """The last lines; all of a sanitizer's or a failed check's words."""
        if self.complaint():
            return "\n".join("    | " + line for line in self.complaint().splitlines())
        tail = self.log().decode("utf-8", "replace").splitlines()[-lines:]
        return "\n".join("    | " + line for line in tail)

    def complaint(self):
        """What a sanitizer or a failed check wrote, or None."""
        found = SANITIZER_PATTERN.search(self.log())
        if not found:
            return None
        text = self.log()[max(0, found.start() - 200):found.start() + 6000]
        return text.decode("utf-8", "replace")

    # ---- end

    def close(self):
        """Kills what still runs and removes the directory."""
        if self.process is not None:
            self.kill9()
        if self.own_home:
            shutil.rmtree(self.home, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
