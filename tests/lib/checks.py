# SPDX-License-Identifier: BSD-3-Clause
"""What tests in Python say again and again."""

import contextlib

from lib.runner import Failure
from lib.server import Server
from lib.wire import Wire, show


def ensure(holds, text):
    if not holds:
        raise Failure(text)


def ensure_equal(got, expected, what):
    if got != expected:
        got, expected = (show(x) if isinstance(x, bytes) else x for x in (got, expected))
        raise Failure(f"{what}: expected {expected}, got {got}")


def connect(server, timeout=10.0, endpoint=None):
    return Wire(server.connect_socket(timeout, endpoint), timeout)


def ensure_no_complaint(server):
    complaint = server.complaint()
    if complaint:
        raise Failure(complaint)


@contextlib.contextmanager
def serving(binary, *options, **settings):
    """A started server; at the end it must stop cleanly (unless it is gone) and have complained of nothing."""
    with Server(binary, options, **settings) as server:
        server.start()
        try:
            yield server
        except Exception as error:
            if server.complaint():
                raise Failure(f"{error}\n{server.complaint()}") from None
            raise
        if server.running():
            server.stop()
        ensure_no_complaint(server)
