# SPDX-License-Identifier: BSD-3-Clause
"""The fields of metadump lines, many pages of them, half from the tree, while others write."""

import re
import threading

from lib.checks import connect, ensure, ensure_equal, serving
from lib.server import scale

LINE = re.compile(r"key=(\S+) exp=(-1|\d+) la=\d+ cas=\d+ fetch=(yes|no) cls=\d+ size=\d+")


def test(binary):
    count = scale(20_000)
    with serving(binary, "--enable-debug") as server:
        wire = connect(server, timeout=30)
        wire.send(b"".join(b"set k%d 0 0 10 noreply\r\n0123456789\r\n" % i for i in range(count)))
        ensure_equal(wire.ask(b"debug checkpoint"), b"OK", "checkpoint")
        wire.send(b"".join(b"set k%d 0 0 5 noreply\r\nabcde\r\n" % i for i in range(0, count, 2)))
        wire.get(b"k1")
        wire.send(b"lru_crawler metadump all\r\n")
        keys = set()
        while (line := wire.line(bare_lf=True)) != b"END":
            match = LINE.fullmatch(line.decode("latin-1").rstrip())
            ensure(match, f"a line of another form: {line!r}")
            ensure(match.group(1) not in keys, f"{match.group(1)} is listed twice")
            keys.add(match.group(1))
        ensure_equal(len(keys), count, "keys listed")

        stop = threading.Event()

        def churn():
            other = connect(server)
            serial = 0
            while not stop.is_set():
                serial += 1
                other.send(b"set new%d 0 0 1\r\nx\r\nset k%d 0 0 1\r\ny\r\n" % (serial % 1000, serial % count))
                ensure_equal((other.line(), other.line()), (b"STORED", b"STORED"), "sets during a dump")

        thread = threading.Thread(target=churn)
        thread.start()
        try:
            for _ in range(3):
                found = wire.dump()
                missing = [i for i in range(count) if b"k%d" % i not in found]
                ensure(not missing, f"{len(missing)} keys are not listed while others write, like k{missing[:1]}")
        finally:
            stop.set()
            thread.join()
