# SPDX-License-Identifier: BSD-3-Clause
"""A client connection that hides nothing: bytes out, lines and counted bytes in, with a deadline on each wait."""

import fcntl
import select
import socket
import struct
import termios
import time
from urllib.parse import unquote_to_bytes

from lib.server import patience

SIOCOUTQ = termios.TIOCOUTQ


class WireError(Exception):
    """The server closed, was silent, or said something else."""


def show(data, most=200):
    """Bytes as text for a message."""
    if len(data) > most:
        return show(data[:most // 2]) + f" ...{len(data) - most} bytes... " + show(data[-most // 2:])
    return data.decode("latin-1").encode("unicode_escape").decode("ascii")


class Wire:
    def __init__(self, sock, timeout=10.0):
        self.sock = sock
        self.timeout = patience(timeout)
        self.buffer = bytearray()
        self.ended = False
        sock.settimeout(self.timeout)

    def send(self, data):
        """Sends all, taking in what arrives meanwhile: a server may wait for its replies to be read."""
        view = memoryview(data)
        if len(view) <= 4096:
            try:
                self.sock.sendall(view)
            except ConnectionError:
                pass  # what the server said before it closed is read later
            return
        deadline = time.monotonic() + self.timeout
        while view:
            can_read, can_write, _ = select.select([] if self.ended else [self.sock], [self.sock], [], 1.0)
            if can_read and self._receive():
                deadline = time.monotonic() + self.timeout
            if can_write:
                self.sock.setblocking(False)
                try:
                    view = view[self.sock.send(view[:1 << 18]):]
                    deadline = time.monotonic() + self.timeout
                except BlockingIOError:
                    pass
                except ConnectionError:
                    return
                finally:
                    self.sock.settimeout(self.timeout)
            if time.monotonic() > deadline:
                raise WireError(f"{len(view)} bytes could not be sent within {self.timeout:.0f} s")

    def _receive(self, timeout=None):
        """Reads once; False at the end of the stream or when nothing came in time."""
        self.sock.settimeout(self.timeout if timeout is None else timeout)
        try:
            data = self.sock.recv(1 << 18)
        except (TimeoutError, socket.timeout, BlockingIOError):
            return False
        except ConnectionError:
            data = b""
        finally:
            self.sock.settimeout(self.timeout)
        if not data:
            self.ended = True
            return False
        self.buffer += data
        return True

    def _need(self, what):
        if not self._receive():
            why = "connection closed" if self.ended else f"nothing came within {self.timeout:.0f} s"
            rest = f" (unread: {show(bytes(self.buffer))})" if self.buffer else ""
            raise WireError(f"{why} while waiting for {what}{rest}")

    def peek_line(self):
        """The next line when one comes soon, still to be read; else None."""
        self.silent(1.0)
        end = self.buffer.find(b"\r\n")
        return bytes(self.buffer[:end]) if end >= 0 else None

    def line(self, longest=1 << 21, bare_lf=False):
        """The next line without its CRLF."""
        start = 0
        while True:
            at = self.buffer.find(b"\n", start)
            if at >= 0:
                break
            start = len(self.buffer)
            if start > longest:
                raise WireError(f"a line of more than {longest} bytes: {show(bytes(self.buffer))}")
            self._need("a line")
        line = bytes(self.buffer[:at + 1])
        del self.buffer[:at + 1]
        if bare_lf and not line.endswith(b"\r\n"):
            return line[:-1]
        if not line.endswith(b"\r\n"):
            raise WireError(f"a line that does not end with CRLF: {show(line)}")
        return line[:-2]

    def exactly(self, count):
        while len(self.buffer) < count:
            self._need(f"{count} bytes")
        data = bytes(self.buffer[:count])
        del self.buffer[:count]
        return data

    def silent(self, seconds=0.08):
        """What came within that time; empty when all was quiet."""
        deadline = time.monotonic() + seconds
        while not self.buffer and not self.ended:
            left = deadline - time.monotonic()
            if left <= 0:
                break
            self._receive(left)
        return bytes(self.buffer)

    def until_closed(self):
        """All bytes up to the end of the stream."""
        while self._receive():
            pass
        if not self.ended:
            raise WireError("the connection is still open")
        data = bytes(self.buffer)
        self.buffer.clear()
        return data

    def drained(self, seconds=0.3):
        """Waits (a while) until the peer has read all that was sent; on unix sockets the kernel tells."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                if struct.unpack("i", fcntl.ioctl(self.sock, SIOCOUTQ, b"\0\0\0\0"))[0] == 0:
                    break
            except OSError:
                break
            time.sleep(0.0002)
        if self.sock.family != socket.AF_UNIX:
            time.sleep(0.003)

    def close(self):
        self.sock.close()

    # ---- small talk in the classic protocol

    def ask(self, line):
        """One command line, one reply line."""
        self.send(line + b"\r\n")
        return self.line()

    def store(self, key, value, flags=0, exptime=0, verb=b"set"):
        self.send(b"%s %s %d %d %d\r\n%s\r\n" % (verb, key, flags, exptime, len(value), value))
        return self.line()

    def get(self, keys, with_cas=False, verb=None):
        """{key: (flags, value[, cas])} of those found; keys may be one key."""
        if isinstance(keys, bytes):
            keys = [keys]
        self.send((verb or (b"gets" if with_cas else b"get")) + b" " + b" ".join(keys) + b"\r\n")
        return self.items()

    def items(self):
        found = {}
        while True:
            line = self.line()
            if line == b"END":
                return found
            words = line.split(b" ")
            if words[0] != b"VALUE" or len(words) not in (4, 5):
                raise WireError(f"expected a VALUE line, got: {show(line)}")
            value = self.exactly(int(words[3]) + 2)
            if not value.endswith(b"\r\n"):
                raise WireError(f"the data block of {show(words[1])} does not end with CRLF")
            found[words[1]] = (int(words[2]), value[:-2]) + tuple(int(cas) for cas in words[4:])

    def stats(self, group=""):
        """{name: value} of a stats group, in the server's order."""
        self.send(f"stats {group}".strip().encode() + b"\r\n")
        found = {}
        while True:
            line = self.line()
            if line == b"END":
                return found
            words = line.decode("latin-1").split(" ")
            if words[0] != "STAT" or len(words) < 3:
                raise WireError(f"expected a STAT line, got: {show(line)}")
            found[words[1]] = " ".join(words[2:])

    def dump(self):
        """{key: {field: text}} of `lru_crawler metadump all`; an error when a key comes twice."""
        self.send(b"lru_crawler metadump all\r\n")
        found = {}
        while True:
            line = self.line(bare_lf=True)  # memcached ends these lines by LF alone
            if line == b"END":
                return found
            if line == b"OK" and not found:
                continue
            fields = dict(word.split("=", 1) for word in line.decode("latin-1").split(" ") if "=" in word)
            if "key" not in fields:
                raise WireError(f"expected a metadump line, got: {show(line)}")
            key = unquote_to_bytes(fields["key"])
            if key in found:
                raise WireError(f"metadump lists {show(key)} twice")
            found[key] = fields
