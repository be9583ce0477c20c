# SPDX-License-Identifier: BSD-3-Clause
"""Eight connections increment one counter: no step is lost, at no moment and over no kill -9."""

import threading

from lib.checks import connect, ensure, ensure_equal, serving
from lib.server import scale

CLIENTS = 8


def test(binary):
    steps = scale(500)
    with serving(binary, "--sync=os", "--enable-debug", "--checkpoint-seconds=1") as server:
        connect(server).store(b"n", b"0")
        seen = [[] for _ in range(CLIENTS)]

        def client(numbers):
            wire = connect(server)
            for at in range(0, steps, 10):
                count = min(10, steps - at)
                wire.send(b"incr n 1\r\n" * count)
                numbers += [int(wire.line()) for _ in range(count)]

        threads = [threading.Thread(target=client, args=(numbers,)) for numbers in seen]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        everything = sorted(number for numbers in seen for number in numbers)
        ensure_equal(everything, list(range(1, CLIENTS * steps + 1)), "the numbers told")
        ensure(all(numbers == sorted(numbers) for numbers in seen), "a client saw the counter go back")
        server.kill9()
        server.start()
        ensure_equal(int(connect(server).get(b"n")[b"n"][1]), CLIENTS * steps, "the counter after kill -9")
