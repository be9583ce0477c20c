# SPDX-License-Identifier: BSD-3-Clause
"""Every client library: where it comes from, how its program is started, and its test."""

import json
import os
import shutil
import subprocess
import sys

import conversation
from lib.checks import ensure_no_complaint
from lib.runner import Skip
from lib.server import Server, patience

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")
# Where scripts/setup-clients unpacks what is not installed for all of the machine.
KITCHEN = os.environ.get("COFFER_CLIENTS", os.path.join(HERE, "..", "..", "build", "clients"))
NODE_PATH = os.path.join(os.path.abspath(KITCHEN), "node_modules")
SPYMEMCACHED = "/usr/share/java/spymemcached.jar"
GOMEMCACHE = "/usr/share/gocode/src/github.com/bradfitz/gomemcache/memcache"


class Library:
    """A client library in one protocol.

    package: Debian's, or "npm" for one of node/package.json called `module`.
    probe: a command that succeeds where the library is installed; a path that exists there.
    quick: scripts/setup installs it, so that `make check` has it.
    """

    def __init__(self, name, package, probe, words, quick=False, module=None):
        self.name = name
        self.package = package
        self.probe = probe
        self.words = words
        self.quick = quick
        self.module = module

    def environment(self):
        return dict(os.environ, NODE_PATH=NODE_PATH)

    def need(self):
        paths = [word for word in self.probe if word.startswith("/") and not os.access(word, os.X_OK)]
        missing = shutil.which(self.probe[0]) is None or not all(os.path.exists(path) for path in paths)
        if not missing:
            missing = subprocess.run([word for word in self.probe if word not in paths], env=self.environment(),
                                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                     timeout=patience(60), check=False).returncode != 0
        if missing:
            where = f"{self.module} from npm" if self.module else self.package
            raise Skip(f"{where} is not installed (scripts/setup-clients)")

    def version(self):
        if self.module:
            with open(os.path.join(NODE_PATH, self.module, "package.json"), encoding="utf-8") as file:
                return json.load(file)["version"]
        done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", self.package], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=False) if shutil.which("dpkg-query") else None
        return done.stdout.decode().split("-")[0].split(":")[-1] if done else ""

    def start(self, host, port, home):
        """The library's program, connected to that address."""
        return conversation.Client(self.words(home) + [host, str(port)], self.environment())


def program(interpreter, file, *words):
    return lambda home: [*interpreter, os.path.join(PROGRAMS, file), *words]


def built_gomemcache(home):
    """Debian's Go packages are sources below a GOPATH; no network is asked."""
    path = os.path.join(home, "gomemcache")
    environment = dict(os.environ, GO111MODULE="off", GOPATH="/usr/share/gocode", GOFLAGS="", GOPROXY="off",
                       GOCACHE=os.path.join(home, "go-cache"), GOTOOLCHAIN="local", CGO_ENABLED="0")
    if not os.path.exists(path):
        subprocess.run(["go", "build", "-o", path, os.path.join(PROGRAMS, "gomemcache.go")], env=environment,
                       timeout=patience(110), check=True)
    return [path]


def in_python(name, package, module, quick=True):
    return Library(name, package, [sys.executable, "-c", f"import {module}"],
                   program([sys.executable], "python.py", name), quick)


def in_perl(name, package, module, word):
    return Library(name, package, ["perl", f"-M{module}", "-e1"], program(["perl"], "client.pl", word))


def in_php(name, package, extension, word):
    return Library(name, package, ["php", "-r", f"exit(extension_loaded('{extension}') ? 0 : 1);"],
                   program(["php"], "client.php", word))


def in_node(name, module):
    return Library(name, "npm", ["node", "-e", f"require.resolve('{module}')"],
                   program(["node"], "client.js", module), module=module)


def in_java(protocol):
    return Library(f"spymemcached-{protocol}", "libspymemcached-java", ["javac", "-version", SPYMEMCACHED],
                   program(["java", "-cp", SPYMEMCACHED], "Spymemcached.java", protocol))


def in_ruby(protocol):
    return Library(f"dalli-{protocol}", "ruby-dalli", ["ruby", "-e", "require 'dalli'"],
                   program(["ruby"], "dalli.rb", protocol))


LIBRARIES = [
    in_python("pymemcache", "python3-pymemcache", "pymemcache"),
    in_python("pylibmc-text", "python3-pylibmc", "pylibmc"),
    in_python("pylibmc-binary", "python3-pylibmc", "pylibmc"),
    in_python("python-memcached", "python3-memcache", "memcache"),
    in_python("bmemcached", "python3-binary-memcached", "bmemcached", quick=False),
    in_php("php-memcached-text", "php-memcached", "memcached", "memcached-text"),
    in_php("php-memcached-binary", "php-memcached", "memcached", "memcached-binary"),
    in_php("php-memcache", "php-memcache", "memcache", "memcache"),
    in_ruby("binary"),
    in_ruby("meta"),
    in_perl("Cache-Memcached", "libcache-memcached-perl", "Cache::Memcached", "cache-memcached"),
    in_perl("Cache-Memcached-Fast", "libcache-memcached-fast-perl", "Cache::Memcached::Fast", "cache-memcached-fast"),
    in_perl("perl-libmemcached-text", "libmemcached-libmemcached-perl", "Memcached::libmemcached",
            "libmemcached-text"),
    in_perl("perl-libmemcached-binary", "libmemcached-libmemcached-perl", "Memcached::libmemcached",
            "libmemcached-binary"),
    Library("gomemcache", "golang-github-bradfitz-gomemcache-dev", ["go", "version", GOMEMCACHE], built_gomemcache),
    in_java("text"),
    in_java("binary"),
    in_node("memjs", "memjs"),
    in_node("npm-memcached", "memcached"),
]


def check(library, binary, reference):
    library.need()
    with Server(binary, listen="tcp") as server:  # not every client speaks through unix sockets
        server.start()
        with library.start(server.address, server.port, server.home) as client:
            row = {"version": library.version(), "commands": conversation.check_commands(client)}
            if not reference:
                row["records"], row["back"] = conversation.check_restarts(server, client)
        server.stop()
        ensure_no_complaint(server)
    remark = f"{len(row['commands'])} commands"
    if not reference:
        remark += f"; {row['records']} records over restart and kill -9"
    return f"{remark}\n{json.dumps(row)}"


def tests(binary, reference, quick):
    return [(library.name, lambda library=library: check(library, binary, reference))
            for library in LIBRARIES if library.quick or not quick]
