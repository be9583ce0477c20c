# SPDX-License-Identifier: BSD-3-Clause
"""SIGINT stops as SIGTERM does; a second signal while stopping does no harm; all is kept."""

import os
import signal

from lib.checks import connect, ensure_equal, serving


def test(binary):
    with serving(binary) as server:
        for number, how in enumerate((signal.SIGINT, signal.SIGTERM)):
            wire = connect(server)
            wire.store(b"k%d" % number, b"x" * 1000)
            server.stop(how)
            server.start()
        wire = connect(server)
        ensure_equal(len(wire.get([b"k0", b"k1"])), 2, "values kept")
        os.kill(server.pid(), signal.SIGTERM)
        if server.running():
            os.kill(server.pid(), signal.SIGTERM)
        ensure_equal(server.wait_death(), 0, "exit status")
