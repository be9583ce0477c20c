# SPDX-License-Identifier: BSD-3-Clause
"""A client that asks for SASL learns that there is none, and goes on (bmemcached, memjs; gomemcached#13)."""

from lib import binary as b
from lib.checks import connect, ensure_equal, serving


def test(binary):
    with serving(binary) as server:
        wire = connect(server)
        for packet in (b.request("sasl_list", opaque=1), b.request("sasl_auth", b"PLAIN", value=b"\0user\0secret"),
                       b.request("sasl_step", b"PLAIN", value=b"more")):
            answer, = b.ask_all(wire, [packet])
            b.ensure_status(answer, b.UNKNOWN, "sasl")
        ensure_equal(b.ask(wire, b.store("set", b"k", b"v")).status, b.OK, "a set without authentication")
