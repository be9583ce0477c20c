# SPDX-License-Identifier: BSD-3-Clause
"""Server processes to measure: started with a port and a directory of their own, or running somewhere already."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
START_SECONDS = 60
STOP_SECONDS = 60
PROTOCOL = {"memcached": "text", "cofferd": "text", "redis": "resp"}


def add_options(parser, **defaults):
    """What every program of the kit needs to know; `defaults` replace those below."""
    usual = {"servers": "memcached,cofferd,redis", "threads": 2, "memory": 1024, "client_threads": 1, **defaults}
    add = parser.add_argument
    add("--servers", default=usual["servers"], help="in turn; the first is what the others are compared with; of "
        "memcached, cofferd, redis (twice the same shows the noise) [%(default)s]")
    add("--threads", type=int, default=usual["threads"], help="of memcached and cofferd [%(default)s]")
    add("--memory", type=int, default=usual["memory"], help="-m of memcached and cofferd, MB [%(default)s]")
    add("--client-threads", type=int, default=usual["client_threads"], help="[%(default)s]")
    add("--protocol", default="text", help="for memcached and cofferd: text, meta or binary [%(default)s]")
    add("--bench", default=os.path.join(TOP, "build", "coffer-bench"), help="[%(default)s]")
    add("--cofferd", default=os.path.join(TOP, "build", "cofferd"), help="[%(default)s]")
    add("--cofferd-options", default="", help="more for cofferd: --cofferd-options='--sync=always -R 100'")
    add("--memcached", default="memcached", help="[%(default)s]")
    add("--redis", default="redis-server", help="[%(default)s]")
    add("--redis-fsync", default="everysec", help="its appendfsync [%(default)s]")
    add("--dir", default=tempfile.gettempdir(), help="where the servers' directories are made [%(default)s]")


def program_of(kind, arguments):
    return {"memcached": arguments.memcached, "cofferd": arguments.cofferd, "redis": arguments.redis}[kind]


def chosen(arguments, program):
    """The kinds of --servers that are installed, in order; says which are not."""
    kinds = arguments.servers.split(",")
    if not set(kinds) <= set(PROTOCOL):
        sys.exit(f"{program}: --servers are of {', '.join(PROTOCOL)}")
    found = [kind for kind in kinds if shutil.which(program_of(kind, arguments))]
    for kind in set(kinds) - set(found):
        print(f"{program}: {kind} is not installed, so it is left out", file=sys.stderr)
    if not found:
        sys.exit(f"{program}: there is no server to measure")
    return found


class Entrant:
    """Who takes part in a measurement: a kind of server, how it is started, and what it is called in tables."""

    def __init__(self, kind, label=None, options=(), memory=None, fsync=None):
        self.kind = kind
        self.label = label or kind
        self.options = list(options)
        self.memory = memory
        self.fsync = fsync


def entrants_of(kinds, memory=None):
    """With distinct labels: memcached, memcached-2."""
    return [Entrant(kind, kind if kinds[:i].count(kind) == 0 else f"{kind}-{kinds[:i].count(kind) + 1}", memory=memory)
            for i, kind in enumerate(kinds)]


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _command(entrant, arguments, port, directory):
    port, memory = str(port), str(entrant.memory or arguments.memory)
    usual = ["-l", "127.0.0.1", "-p", port, "-c", "20000", "-t", str(arguments.threads), "-m", memory]
    if entrant.kind == "memcached":
        user = ["-u", "nobody"] if os.geteuid() == 0 else []
        return [arguments.memcached, "-U", "0", *usual, *user, *entrant.options]
    if entrant.kind == "cofferd":
        return [arguments.cofferd, *usual, "-H", os.path.join(directory, "data"), *arguments.cofferd_options.split(),
                *entrant.options]
    return [arguments.redis, "--bind", "127.0.0.1", "--port", port, "--dir", directory, "--save", "", "--maxclients",
            "15000", "--appendonly", "yes", "--appendfsync", entrant.fsync or arguments.redis_fsync, *entrant.options]


def _drop_from_cache(directory):
    """Takes the files out of the page cache, so that the next read of each page comes from the disk."""
    for where, _, names in os.walk(directory):
        for name in names:
            fd = os.open(os.path.join(where, name), os.O_RDONLY)
            with contextlib.closing(os.fdopen(fd, "rb")):
                os.fsync(fd)
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)


class Running:
    """A server that somebody else has started."""

    def __init__(self, kind, host, port, pid=0):
        self.kind, self.host, self.port, self.pid = kind, host, port, pid
        self.directory = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def restart_cold(self):
        """It is not ours to stop."""


class Server:
    """A server process of ours and its directory, which go at the end of `with`."""

    def __init__(self, entrant, arguments):
        self.kind = entrant.kind
        self.host = "127.0.0.1"
        self.port = _free_port()
        self.directory = tempfile.mkdtemp(prefix=f"bench-{self.kind}-", dir=arguments.dir)
        self.command = _command(entrant, arguments, self.port, self.directory)
        self.log_path = os.path.join(self.directory, "output.log")
        self.process = None

    @property
    def pid(self):
        return self.process.pid

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.directory)

    def start(self):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        end = time.monotonic() + START_SECONDS
        while not self.serves():
            if self.process.poll() is not None or time.monotonic() > end:
                with open(self.log_path, encoding="utf-8", errors="replace") as file:
                    sys.exit(f"{self.kind} does not serve: {file.read()[-2000:]}")
            time.sleep(0.02)

    def serves(self):
        """Whether it answers; Redis already listens while it reads its files, and says so."""
        try:
            with socket.create_connection((self.host, self.port), 1) as connection:
                if self.kind != "redis":
                    return True
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False

    def stop(self):
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            print(f"{self.kind} does not stop; killed", file=sys.stderr)
            self.process.kill()
            self.process.wait()

    def restart_cold(self):
        """Stops it, takes its files out of the page cache, starts it.  A server without files is left alone: it would
        forget everything."""
        if self.kind == "memcached":
            return
        self.stop()
        _drop_from_cache(self.directory)
        self.start()

    def stats(self, group=""):
        """The answer to memcached's `stats` command as a dictionary."""
        with socket.create_connection((self.host, self.port), 10) as connection:
            connection.sendall(f"stats {group}".strip().encode() + b"\r\n")
            text = b""
            while not text.endswith(b"END\r\n"):
                text += connection.recv(65536)
        return dict(line.split(" ", 2)[1:] for line in text.decode().splitlines() if line.startswith("STAT "))

    def wait_for_checkpoint(self, seconds=60):
        """Returns when the tree of a cofferd holds all that has been set."""
        end = time.monotonic() + seconds
        while int(self.stats("persist")["items_dirty"]) > 0 and time.monotonic() < end:
            time.sleep(0.1)

    def resident(self, peak=False):
        """Bytes, now or at most so far."""
        name = "VmHWM:" if peak else "VmRSS:"
        with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))
