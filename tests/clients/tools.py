# SPDX-License-Identifier: BSD-3-Clause
"""The command line tools of libmemcached: memccp, memccat, memcexist, memctouch, memcrm, memcstat, memcping,
memcflush, and its conformance test memccapable."""

import os
import re
import shutil
import subprocess

from lib.checks import connect, ensure, ensure_equal
from lib.runner import Failure, Skip
from lib.server import patience
from python_clients import with_server

CAPABILITIES = 54  # what memccapable checks of the text and the binary protocol
MEMCACHED_TOOL = "/usr/share/memcached/scripts/memcached-tool"
CONTENT = b"line one\nline two\r\n\x00\xff and bytes " * 500


def run(server, tool, *words, expect=0):
    path = shutil.which(tool)
    if path is None:
        raise Skip(f"{tool} is not installed (libmemcached-tools)")
    done = subprocess.run([path, f"--servers={server.address}:{server.port}", *words], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=patience(30), check=False)
    ensure(expect is None or done.returncode == expect,
           f"{tool} {' '.join(words)}: exit status {done.returncode}: {done.stdout[-500:]!r}")
    return done.stdout


def copy_and_cat(server, restart):
    path = os.path.join(server.home, "document")
    with open(path, "wb") as file:
        file.write(CONTENT)
    run(server, "memccp", "--set", path)
    ensure_equal(run(server, "memccat", "--file=" + path + ".out", "document"), b"", "memccat")
    with open(path + ".out", "rb") as file:
        ensure_equal(file.read() == CONTENT, True, "memccat gives back what memccp stored")
    run(server, "memcexist", "document")
    run(server, "memctouch", "--expire=1000", "document")
    if restart:
        server.kill9()
        server.start()
        run(server, "memccat", "--file=" + path + ".out2", "document")
        with open(path + ".out2", "rb") as file:
            ensure_equal(file.read() == CONTENT, True, "memccat after kill -9")
    run(server, "memcrm", "document")
    run(server, "memcexist", "document", expect=1)


def stat_and_ping(server):
    text = run(server, "memcstat").decode("latin-1")
    for name in ("pid", "uptime", "curr_items", "limit_maxbytes", "threads"):
        ensure(re.search(rf"\b{name}: \d+", text), f"memcstat does not show {name}:\n{text[:600]}")
    run(server, "memcping")
    run(server, "memcflush")


def capable(server):
    path = shutil.which("memccapable")
    if path is None:
        raise Skip("memccapable is not installed (libmemcached-tools)")
    done = subprocess.run([path, "-h", server.address, "-p", str(server.port), "-t", "10"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=patience(100), check=False)
    text = done.stdout.decode("latin-1")
    passed = len(re.findall(r"\[pass\]", text))
    failed = re.findall(r"^(.*\S)\s+\[FAIL\]", text, re.M)
    if failed or done.returncode != 0 or passed != CAPABILITIES:
        raise Failure(f"{passed} passed, failed: {', '.join(failed)}; exit status {done.returncode}\n{text[-1500:]}")
    return f"{passed} checks"


def memcached_tool(server):
    """memcached's own perl script: display, stats, settings, dump; without warnings (memcached itself causes one)."""
    if not os.path.exists(MEMCACHED_TOOL) or shutil.which("perl") is None:
        raise Skip(f"{MEMCACHED_TOOL} is not there (package memcached)")
    wire = connect(server)
    for i in range(20):
        wire.store(b"tool%d" % i, b"x" * 50)
    wanted = {"display": r"\n\s+\d+\s+[\d.]+[BK]\s", "stats": r"curr_items\s+20", "settings": r"maxconns\s+\d+",
              "dump": r"add tool7 0 \d+ 50"}
    for mode, pattern in wanted.items():
        done = subprocess.run(["perl", "-w", MEMCACHED_TOOL, f"{server.address}:{server.port}", mode],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=patience(30), check=False)
        text = done.stdout.decode("latin-1")
        ensure(re.search(pattern, text), f"memcached-tool {mode} shows no /{pattern}/:\n{text[:1500]}")
        noise = [line for line in done.stderr.decode("latin-1").splitlines() if "Dumping" not in line and line.strip()]
        ensure(done.returncode == 0 and (server.reference or not noise),
               f"memcached-tool {mode}: exit status {done.returncode}: {noise[:3]}")


def tests(binary, reference):
    return [
        ("libmemcached-copy-cat", lambda: with_server(binary, lambda server: copy_and_cat(server, not reference))),
        ("libmemcached-stat-ping-flush", lambda: with_server(binary, stat_and_ping)),
        ("memcached-tool", lambda: with_server(binary, memcached_tool)),
        ("memccapable", lambda: with_server(binary, capable)),
    ]
