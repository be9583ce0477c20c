# SPDX-License-Identifier: BSD-3-Clause
"""touch answers TOUCHED or NOT_FOUND, whatever others do to the key (xmemcached#125)."""

import threading

from lib.checks import connect, ensure, serving
from lib.server import scale


def test(binary):
    with serving(binary) as server:
        odd, done = [], threading.Event()

        def writer(number):
            wire = connect(server)
            while not done.is_set():
                wire.send(b"set k 0 0 1 noreply\r\nx\r\ndelete k noreply\r\nset k 0 0 1\r\ny\r\n")
                if wire.line() != b"STORED":
                    odd.append(number)

        threads = [threading.Thread(target=writer, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        wire = connect(server)
        try:
            for _ in range(scale(1000)):
                answer = wire.ask(b"touch k 100")
                ensure(answer in (b"TOUCHED", b"NOT_FOUND"), f"touch was answered by {answer!r}")
        finally:
            done.set()
            for thread in threads:
                thread.join()
        ensure(not odd, "a set was not answered by STORED")
