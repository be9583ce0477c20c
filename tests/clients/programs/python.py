# SPDX-License-Identifier: BSD-3-Clause
"""pymemcache, pylibmc, python-memcached and bmemcached behind the language of README.md.

    python.py NAME HOST PORT
"""

import base64
import sys

BASIC = "set get add replace cas incr decr delete multi flush "


class Pymemcache:
    can = BASIC + "append prepend touch gat"

    def __init__(self, host, port):
        from pymemcache.client.base import Client
        self.client = Client((host, port), default_noreply=False, timeout=20)
        self.add, self.replace, self.set = self.client.add, self.client.replace, self.client.set
        self.get, self.touch, self.gat = self.client.get, self.client.touch, getattr(self.client, "gat", None)
        self.delete, self.multi, self.flush = self.client.delete, self.client.get_many, self.client.flush_all
        self.incr, self.decr = self.client.incr, self.client.decr
        if self.gat is None:
            self.can = self.can.replace(" gat", "")

    def append(self, key, value, _):
        return self.client.append(key, value)

    def prepend(self, key, value, _):
        return self.client.prepend(key, value)

    def gets(self, key):
        return self.client.gets(key)

    def cas(self, key, value, ttl, token):
        return self.client.cas(key, value, token, ttl)

    def close(self):
        self.client.close()


class Pylibmc:
    """libmemcached; the binary protocol when asked."""

    can = BASIC + "append prepend touch"

    def __init__(self, host, port, binary=False):
        import pylibmc
        self.client = pylibmc.Client([f"{host}:{port}"], binary=binary,
                                     behaviors={"cas": True, "tcp_nodelay": True, "connect_timeout": 5000,
                                                "retry_timeout": 1})
        self.missing = pylibmc.NotFound
        self.set, self.add = self.client.set, self.client.add
        self.get, self.gets, self.multi = self.client.get, self.client.gets, self.client.get_multi
        self.delete, self.flush, self.touch = self.client.delete, self.client.flush_all, self.client.touch

    def replace(self, key, value, ttl):
        try:
            return self.client.replace(key, value, ttl)
        except self.missing:  # in binary, where the status says which of the two it was
            return False

    def append(self, key, value, _):
        return self.client.append(key, value)

    def prepend(self, key, value, _):
        return self.client.prepend(key, value)

    def cas(self, key, value, ttl, token):
        return self.client.cas(key, value, token, ttl)

    def incr(self, key, by):
        try:
            return self.client.incr(key, by)
        except self.missing:
            return None

    def decr(self, key, by):
        return self.client.decr(key, by)

    def close(self):
        self.client.disconnect_all()


class PylibmcBinary(Pylibmc):
    def __init__(self, host, port):
        super().__init__(host, port, binary=True)


class Memcache:
    can = BASIC + "append prepend touch"

    def __init__(self, host, port):
        import memcache
        self.client = memcache.Client([f"{host}:{port}"], socket_timeout=20, cache_cas=True, dead_retry=0)
        self.set, self.add, self.replace = self.client.set, self.client.add, self.client.replace
        self.append, self.prepend, self.get = self.client.append, self.client.prepend, self.client.get
        self.incr, self.decr, self.touch = self.client.incr, self.client.decr, self.client.touch
        self.multi = self.client.get_multi

    def gets(self, key):
        return self.client.gets(key), None  # it keeps the number itself

    def cas(self, key, value, ttl, _):
        return self.client.cas(key, value, ttl)

    def delete(self, key):
        # Its own delete takes NOT_FOUND for a success.
        return self.client.get(key) is not None and self.client.delete(key) == 1

    def flush(self):
        self.client.flush_all()
        return True

    def close(self):
        self.client.disconnect_all()


class Bmemcached:
    """The binary protocol only."""

    can = BASIC

    def __init__(self, host, port):
        import bmemcached
        self.client = bmemcached.Client([f"{host}:{port}"], compression=None, socket_timeout=20)
        self.client.enable_retry_delay(False)
        self.set, self.add, self.replace = self.client.set, self.client.add, self.client.replace
        self.get, self.gets, self.multi = self.client.get, self.client.gets, self.client.get_multi
        self.flush = self.client.flush_all

    def delete(self, key):
        # It says True for a miss too.
        return self.client.get(key) is not None and self.client.delete(key)

    def cas(self, key, value, ttl, token):
        return self.client.cas(key, value, token, ttl)

    def incr(self, key, by):
        # It makes the counter that is missing.
        return None if self.client.get(key) is None else self.client.incr(key, by)

    def decr(self, key, by):
        return self.client.decr(key, by)

    def close(self):
        self.client.disconnect_all()


CLIENTS = {"pymemcache": Pymemcache, "pylibmc-text": Pylibmc, "pylibmc-binary": PylibmcBinary,
           "python-memcached": Memcache, "bmemcached": Bmemcached}


def value_reply(value):
    if isinstance(value, (str, int)):
        value = str(value).encode()
    return "none" if value is None else "value " + base64.b64encode(value).decode()


def flag_reply(flag):
    return "yes" if flag else "no"


class Talk:
    def __init__(self, make):
        self.make = make
        self.client = make()
        self.tokens = {}

    def obey(self, verb, words):
        client = self.client
        if verb == "open":
            client.close()
            self.client = self.make()
            return "yes"
        if verb in ("set", "add", "replace", "append", "prepend", "cas"):
            key, ttl = words[0], int(words[1])
            value = base64.b64decode(words[2] if len(words) > 2 else "")
            more = (self.tokens[key],) if verb == "cas" else ()
            return flag_reply(getattr(client, verb)(key, value, ttl, *more))
        if verb == "get":
            return value_reply(client.get(words[0]))
        if verb == "gets":
            value, self.tokens[words[0]] = client.gets(words[0])
            return value_reply(value)
        if verb == "gat":
            return value_reply(client.gat(words[0], int(words[1])))
        if verb in ("incr", "decr"):
            number = getattr(client, verb)(words[0], int(words[1]))
            return "none" if number is None else f"number {number}"
        if verb == "multi":
            found = client.multi(words)
            return "values " + " ".join(f"{key}={base64.b64encode(value).decode()}" for key, value in found.items())
        if verb == "touch":
            return flag_reply(client.touch(words[0], int(words[1])))
        return flag_reply(getattr(client, verb)(*words))


def main():
    name, host, port = sys.argv[1:4]
    talk = Talk(lambda: CLIENTS[name](host, int(port)))
    print("ready", talk.client.can, flush=True)
    for line in sys.stdin:
        verb, *words = line.split()
        try:
            reply = talk.obey(verb, words)
        except Exception as error:  # noqa: BLE001 - each library has its own words for `the server is gone`
            reply = f"error {type(error).__name__} {error}".replace("\n", " ")
        print(reply, flush=True)


if __name__ == "__main__":
    main()
