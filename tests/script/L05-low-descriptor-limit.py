# SPDX-License-Identifier: BSD-3-Clause
"""`ulimit -n` below -c: it starts with a warning, and refuses what does not fit (docker-library/memcached#18)."""

import re

from lib.checks import connect, ensure, ensure_no_complaint
from lib.server import Server
from lib.wire import WireError

LIMIT = 200


def test(binary):
    with Server(binary, ["-c", "5000"]) as server:
        plain = server.command
        server.command = lambda extra=(): ["/bin/sh", "-c", f'ulimit -n {LIMIT}; exec "$@"', "sh"] + plain(extra)
        server.start()
        ensure(re.search(rb"warn", server.log()), "no warning about the limit of descriptors")
        wires, refused = [], 0
        for _ in range(LIMIT + 50):
            wire = connect(server)
            wire.send(b"version\r\n")
            try:
                line = wire.line()
                ensure(line.startswith(b"VERSION") or line == b"ERROR Too many open connections", f"answer {line!r}")
                refused += line.startswith(b"ERROR")
            except WireError:
                refused += 1
            wires.append(wire)
        ensure(refused > 0, "more connections than descriptors")
        ensure(wires[0].ask(b"version").startswith(b"VERSION"), "an old connection does not work any more")
        for wire in wires[1:]:
            wire.close()
        for _ in range(50):
            try:
                ensure(connect(server).ask(b"version").startswith(b"VERSION"), "a new connection")
                break
            except WireError:
                continue
        else:
            ensure(False, "it does not recover")
        server.stop()
        ensure_no_complaint(server)
