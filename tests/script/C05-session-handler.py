# SPDX-License-Identifier: BSD-3-Clause
"""What php-memcached's session handler sends for two requests of one session: the second waits for the lock."""

from lib import binary as b
from lib.checks import connect, ensure_equal, serving

LOCK, SESSION = b"memc.sess.key.lock.abc", b"memc.sess.key.abc"


def expect(wire, packet, status, what):
    answer = b.ask(wire, packet)
    ensure_equal(answer.status, status, what)
    return answer


def test(binary):
    with serving(binary) as server:
        first, second = connect(server), connect(server)
        expect(first, b.store("add", LOCK, b"1", exptime=31), b.OK, "the first takes the lock")
        expect(second, b.store("add", LOCK, b"1", exptime=31), b.EXISTS, "the second does not")
        expect(first, b.request("get", SESSION), b.NOT_FOUND, "a new session")
        expect(first, b.store("set", SESSION, b"user|i:1;", exptime=1440), b.OK, "the session is stored")
        expect(first, b.touch("touch", SESSION, 1440), b.OK, "and touched")
        expect(second, b.store("add", LOCK, b"1", exptime=31), b.EXISTS, "the second still waits")
        expect(first, b.request("delete", LOCK), b.OK, "the lock is given back")
        expect(second, b.store("add", LOCK, b"1", exptime=31), b.OK, "the second has it")
        ensure_equal(expect(second, b.request("get", SESSION), b.OK, "its session").value, b"user|i:1;", "its data")
        server.kill9()
        server.start()
        third = connect(server)
        expect(third, b.store("add", LOCK, b"1", exptime=31), b.EXISTS, "the lock holds over a crash")
        ensure_equal(expect(third, b.request("get", SESSION), b.OK, "the session").value, b"user|i:1;", "its data")
