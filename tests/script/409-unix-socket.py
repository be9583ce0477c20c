# SPDX-License-Identifier: BSD-3-Clause
"""The unix socket has the mask of -a, and a stale one is no obstacle after kill -9."""

import os
import stat

from lib.checks import connect, ensure_equal, serving


def test(binary):
    with serving(binary, "-a", "750") as server:
        ensure_equal(stat.S_IMODE(os.stat(server.socket_path).st_mode), 0o750, "mode of the socket")
        ensure_equal(connect(server).store(b"k", b"v"), b"STORED", "set")
        server.kill9()
        server.start()
        ensure_equal(connect(server).get(b"k"), {b"k": (0, b"v")}, "get after kill -9")
