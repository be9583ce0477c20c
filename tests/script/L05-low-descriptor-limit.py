# SPDX-License-Identifier: BSD-3-Clause
"""`ulimit -n` below -c: it starts with a warning, and refuses what does not fit (docker-library/memcached#18)."""

import re

from lib.checks import connect, ensure, ensure_no_complaint
from lib.server import Server, wait_until
from lib.wire import WireError

LIMIT = 200


def serves_new(server):
    """Refused while the server has not seen yet that others have closed."""
    try:
        return connect(server).ask(b"version").startswith(b"VERSION")
    except WireError:
        return False


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
        wait_until(lambda: serves_new(server), what="a new connection is served")
        server.stop()
        ensure_no_complaint(server)
