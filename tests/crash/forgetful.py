#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A small memcached in Python with a log, for the self-test of the crash rigs: honest, or wrong in one way.

FORGETFUL says which (see WAYS); a rig that does not find it out is no check.
"""

import os
import pickle
import random
import selectors
import signal
import socket
import sys
import time
from urllib.parse import quote_from_bytes

WAYS = {
    "honest": "everything is logged before it is answered",
    "late": "answers leave before the log is written",
    "one": "one write in a hundred is never logged",
    "flags": "flags are not kept",
    "expiry": "expiry starts again at the restart",
    "touch": "touch is not logged",
    "delete": "delete is not logged",
    "cas": "cas numbers start again at the restart",
    "mixed": "a value that was replaced is half old, half new",
    "order": "a write in flight overtakes the one before it",
    "dirty": "readers see what is not logged yet",
}
ITEM_MAX = 1 << 20
DELAY = 0.03  # seconds that `late` and `dirty` put off the log


class Store:
    def __init__(self, path, way):
        self.way = way
        self.items = {}  # key: [flags, exp, value, cas]
        self.cas = 0
        self.pending = []
        self.random = random.Random()
        self.log = open(path, "ab+", buffering=0)
        self.replay()

    def replay(self):
        self.log.seek(0)
        data = self.log.read()
        at = 0
        while at + 4 <= len(data):
            size = int.from_bytes(data[at:at + 4], "big")
            if at + 4 + size > len(data):
                break
            key, item = pickle.loads(data[at + 4:at + 4 + size])
            at += 4 + size
            if self.way == "mixed" and item and key in self.items:
                item[2] = self.items[key][2][:len(item[2]) // 2] + item[2][len(item[2]) // 2:]
            if item is None:
                self.items.pop(key, None)
            else:
                self.items[key] = item
                self.cas = max(self.cas, item[3])
        os.ftruncate(self.log.fileno(), at)
        for item in self.items.values():
            if self.way == "flags":
                item[0] = 0
            if self.way == "expiry" and item[1]:
                item[1] += 5000
        self.cas = 0 if self.way == "cas" else self.cas + 1000

    def write(self, key, kind):
        """Logs the key as it is now."""
        skipped = {"touch": kind == "touch", "delete": kind == "delete", "one": self.random.random() < 0.01}
        if skipped.get(self.way):
            return
        item = self.items.get(key)
        data = pickle.dumps((key, list(item) if item else None))
        self.pending.append(len(data).to_bytes(4, "big") + data)

    def flush(self):
        """Writes the log."""
        if self.way == "order" and len(self.pending) > 1:
            # The first of a group goes out after the others, and a kill between is what the rig has to see.
            self.log.write(b"".join(self.pending[1:]))
            time.sleep(0.002)
            self.pending = self.pending[:1]
        self.log.write(b"".join(self.pending))
        self.pending = []

    def find(self, key):
        item = self.items.get(key)
        if item and item[1] and item[1] <= time.time():
            del self.items[key]
            return None
        return item

    def put(self, key, flags, exp, value, kind="set"):
        self.cas += 1
        self.items[key] = [flags, exp, value, self.cas]
        self.write(key, kind)

    def drop(self, key):
        if self.items.pop(key, None) is not None:
            self.write(key, "delete")


def absolute(ttl):
    if ttl < 0:
        return 1
    return 0 if ttl == 0 else int(time.time()) + ttl if ttl <= 2592000 else ttl


class Client:
    def __init__(self, sock, store):
        self.sock, self.store = sock, store
        self.input = b""
        self.output = []

    def execute(self):
        """All whole requests that have come."""
        while b"\r\n" in self.input:
            line, _, rest = self.input.partition(b"\r\n")
            words = line.split()
            verb = words[0].decode() if words else ""
            if verb in ("set", "add", "replace", "append", "prepend", "cas"):
                size = int(words[4])
                if len(rest) < size + 2:
                    return
                self.input = rest[size + 2:]
                reply = self.storage(verb, words, rest[:size])
            else:
                self.input = rest
                reply = getattr(self, "do_" + verb, self.unknown)(words)
            if words and words[-1] != b"noreply" and reply is not None:
                self.output.append(reply)

    def leading_reads(self):
        """How many of the waiting replies come before the first of a write."""
        count = 0
        while count < len(self.output) and self.output[count].endswith(b"END\r\n"):
            count += 1
        return count

    def storage(self, verb, words, value):
        store, key = self.store, words[1]
        old = store.find(key)
        if len(value) > ITEM_MAX:
            store.drop(key)
            return b"SERVER_ERROR object too large for cache\r\n"
        if verb == "add" and old or verb in ("replace", "append", "prepend") and not old:
            return b"NOT_STORED\r\n"
        if verb == "cas" and (not old or old[3] != int(words[5])):
            return b"EXISTS\r\n" if old else b"NOT_FOUND\r\n"
        if verb == "append":
            store.put(key, old[0], old[1], old[2] + value)
        elif verb == "prepend":
            store.put(key, old[0], old[1], value + old[2])
        else:
            store.put(key, int(words[2]), absolute(int(words[3])), value)
        return b"STORED\r\n"

    def values(self, keys, with_cas, ttl=None):
        out = []
        for key in keys:
            item = self.store.find(key)
            if item is None:
                continue
            if ttl is not None:
                item[1] = absolute(ttl)
                self.store.write(key, "touch")
            tail = b" %d" % item[3] if with_cas else b""
            out.append(b"VALUE %s %d %d%s\r\n%s\r\n" % (key, item[0], len(item[2]), tail, item[2]))
        return b"".join(out) + b"END\r\n"

    def do_get(self, words):
        return self.values(words[1:], False)

    def do_gets(self, words):
        return self.values(words[1:], True)

    def do_gat(self, words):
        return self.values(words[2:], False, int(words[1]))

    def do_gats(self, words):
        return self.values(words[2:], True, int(words[1]))

    def do_delete(self, words):
        found = self.store.find(words[1])
        self.store.drop(words[1])
        return b"DELETED\r\n" if found else b"NOT_FOUND\r\n"

    def do_touch(self, words):
        item = self.store.find(words[1])
        if item is None:
            return b"NOT_FOUND\r\n"
        item[1] = absolute(int(words[2]))
        self.store.write(words[1], "touch")
        return b"TOUCHED\r\n"

    def arith(self, words, up):
        item = self.store.find(words[1])
        if item is None:
            return b"NOT_FOUND\r\n"
        number, delta = int(item[2]), int(words[2])
        number = (number + delta) % (1 << 64) if up else max(0, number - delta)
        self.store.put(words[1], item[0], item[1], b"%d" % number)
        return b"%d\r\n" % number

    def do_incr(self, words):
        return self.arith(words, True)

    def do_decr(self, words):
        return self.arith(words, False)

    def do_flush_all(self, _):
        for key in list(self.store.items):
            self.store.drop(key)
        return b"OK\r\n"

    def do_lru_crawler(self, _):
        lines = [b"key=%s exp=%d\n" % (quote_from_bytes(key).encode(), item[1] or -1)
                 for key, item in list(self.store.items.items()) if self.store.find(key)]
        return b"".join(lines) + b"END\r\n"

    def do_version(self, _):
        return b"VERSION 1.6.0\r\n"

    def do_debug(self, _):
        return b"OK\r\n"

    def unknown(self, _):
        return b"ERROR\r\n"


def option(name):
    return sys.argv[sys.argv.index(name) + 1]


class Server:
    def __init__(self):
        self.way = os.environ.get("FORGETFUL", "honest")
        os.makedirs(option("-H"), exist_ok=True)
        self.store = Store(os.path.join(option("-H"), "log"), self.way)
        if os.path.exists(option("-s")):
            os.unlink(option("-s"))
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(option("-s"))
        self.listener.listen(64)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.flushed = time.monotonic()
        self.waiting = []  # clients with replies that have not left

    def one_pass(self):
        """Every ready client's requests, the log, then the replies."""
        answered = []
        for ready, _ in self.selector.select(DELAY / 10):
            if ready.fileobj is self.listener:
                sock = self.listener.accept()[0]
                self.selector.register(sock, selectors.EVENT_READ, Client(sock, self.store))
                continue
            client = ready.data
            try:
                data = client.sock.recv(1 << 20)
            except ConnectionError:
                data = b""
            if not data:
                self.selector.unregister(client.sock)
                client.sock.close()
                continue
            client.input += data
            client.execute()
            answered.append(client)
        self.finish(answered)

    def finish(self, clients):
        self.waiting += [client for client in clients if client not in self.waiting]
        due = time.monotonic() - self.flushed > DELAY
        if due or self.way not in ("late", "dirty"):
            self.store.flush()
            self.flushed = time.monotonic()
        elif self.way == "dirty":
            for client in self.waiting:
                self.reply(client, client.leading_reads())
            return
        for client in self.waiting:
            self.reply(client, len(client.output))
        self.waiting = []

    @staticmethod
    def reply(client, count):
        try:
            client.sock.settimeout(10)
            client.sock.sendall(b"".join(client.output[:count]))
        except OSError:
            pass
        del client.output[:count]


def stop(*_):
    sys.exit(0)


def main():
    signal.signal(signal.SIGTERM, stop)
    server = Server()
    try:
        while True:
            server.one_pass()
    finally:
        server.store.flush()


if __name__ == "__main__":
    main()
