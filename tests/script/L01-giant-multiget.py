# SPDX-License-Identifier: BSD-3-Clause
"""One get line with 100,000 keys (1.1 MB) is answered by 100,000 values, hot and cold (memcached#1046)."""

from lib.checks import connect, ensure_equal, serving
from lib.server import scale


def test(binary):
    count = scale(100_000)
    keys = [b"key%07d" % i for i in range(count)]
    with serving(binary, "--enable-debug", "--memory-limit=256") as server:
        wire = connect(server, timeout=60)
        wire.send(b"".join(b"set %s 0 0 9 noreply\r\nv%08d\r\n" % (key, i) for i, key in enumerate(keys)))
        wire.ask(b"version")
        expected = {key: (0, b"v%08d" % i) for i, key in enumerate(keys)}
        ensure_equal(wire.get(keys) == expected, True, "all keys with their values, from memory")
        ensure_equal(wire.get(keys[:10] * (count // 10)), dict(list(expected.items())[:10]), "the same keys often")
        server.kill9()
        server.start()
        wire = connect(server, timeout=60)
        ensure_equal(wire.ask(b"debug checkpoint"), b"OK", "checkpoint")
        server.restart()
        wire = connect(server, timeout=60)
        ensure_equal(wire.get(keys) == expected, True, "all keys with their values, from disk")
