# SPDX-License-Identifier: BSD-3-Clause
"""Three servers behind twemproxy (nutcracker) as etc/nutcracker.yml says: one is killed, nothing is lost."""

import contextlib
import os
import shutil
import subprocess
import tempfile

import clients
import conversation
from lib.checks import connect, ensure, ensure_equal, ensure_no_complaint
from lib.runner import Failure, Skip
from lib.server import Server, own_address, patience, scale, wait_until

CONFIGURATION = os.path.join(clients.HERE, "..", "..", "etc", "nutcracker.yml")
RECORDS = 900
# What twemproxy knows of a client's commands.
NOT_PASSED = ("flush",)


class Proxy:
    def __init__(self, path, home, servers):
        self.address, self.port = own_address(), 22121
        with open(CONFIGURATION, encoding="utf-8") as file:
            text = file.read().replace("127.0.0.1:22121", f"{self.address}:{self.port}")
        for i, server in enumerate(servers):
            text = text.replace(f"127.0.0.1:{11311 + i}:1", f"{server.address}:{server.port}:1")
        with open(os.path.join(home, "nutcracker.yml"), "w", encoding="utf-8") as file:
            file.write(text)
        self.log = os.path.join(home, "nutcracker.log")
        self.process = subprocess.Popen(
            [path, "-c", file.name, "-o", self.log, "-p", os.path.join(home, "pid"), "-a", self.address, "-s", "22222"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def wait(self):
        def answers():
            if self.process.poll() is not None:
                with open(self.log, encoding="latin-1") as file:
                    raise Failure(f"nutcracker ended:\n{file.read()[-2000:]}")
            with contextlib.suppress(OSError):
                Server.connect_socket(None, 2, (self.address, self.port)).close()
                return True
            return False
        wait_until(answers, 20, "nutcracker to accept")

    def close(self):
        self.process.kill()
        self.process.wait()


def find_nutcracker():
    unpacked = os.path.join(clients.KITCHEN, "nutcracker", "usr", "sbin", "nutcracker")
    found = shutil.which("nutcracker") or shutil.which("nutcracker", path="/usr/sbin") or shutil.which(unpacked)
    if not found:
        raise Skip("nutcracker is not there (scripts/setup-clients)")
    return found


@contextlib.contextmanager
def three_behind_a_proxy(binary):
    path = find_nutcracker()
    library = clients.LIBRARIES[0]
    library.need()
    with contextlib.ExitStack() as stack:
        home = stack.enter_context(tempfile.TemporaryDirectory(prefix="coffer-proxy-"))
        servers = [stack.enter_context(Server(binary, listen="tcp")).start() for _ in range(3)]
        proxy = stack.enter_context(contextlib.closing(Proxy(path, home, servers)))
        proxy.wait()
        client = stack.enter_context(library.start(proxy.address, proxy.port, home))
        yield servers, client
        for server in servers:
            server.stop()
            ensure_no_complaint(server)


def commands(binary):
    with three_behind_a_proxy(binary) as (_, client):
        return f"{len(conversation.check_commands(client, NOT_PASSED))} commands through the proxy"


def items_of(server):
    wire = connect(server)
    count = int(wire.stats()["curr_items"])
    wire.close()
    return count


def store(client, i, acknowledged):
    """Stores record i when its server is there; returns whether it was."""
    try:
        done = client.set(f"record{i}", conversation.make_value(i))
    except conversation.Gone:
        done = False
    if done:
        acknowledged.append(i)
    return done


def reads(client, i):
    try:
        return client.get(f"record{i}")
    except conversation.Gone:
        return "refused"


def read_all(client, acknowledged, deleted, when):
    for i in acknowledged:
        expected = None if i in deleted else conversation.make_value(i)
        ensure_equal(client.get(f"record{i}"), expected, f"record {i} {when}")
    keys = {f"record{i}": conversation.make_value(i) for i in acknowledged if i not in deleted}
    ensure_equal(client.multi(list(keys)), keys, f"a multi-get over all servers {when}")


def one_is_killed(binary):
    with three_behind_a_proxy(binary) as (servers, client):
        count = scale(RECORDS, 90)
        acknowledged = []
        for i in range(count):
            ensure(store(client, i, acknowledged), f"record {i} was not stored")
        deleted = set(range(0, count, 10))
        for i in deleted:
            ensure_equal(client.delete(f"record{i}"), True, f"delete of record {i}")
        shares = [items_of(server) for server in servers]
        ensure_equal(sum(shares), count - len(deleted), "items on all servers together")
        ensure(min(shares) > count / 10, f"the keys are not spread: {shares}")
        read_all(client, acknowledged, deleted, "before")

        servers[1].kill9()
        refused = sum(not store(client, i, acknowledged) for i in range(count, count + count // 3))
        ensure(0 < refused < count // 3, f"{refused} of {count // 3} were refused with one server of three gone")
        answers = [reads(client, i) for i in range(count) if i not in deleted]
        ensure_equal(answers.count("refused"), shares[1], "reads refused, as many as the lost server has items")
        ensure(None not in answers, "a read missed what another server holds: keys have moved")

        servers[1].start()
        i = next(i for i in range(count) if i not in deleted and reads(client, i) == "refused" or i == count - 1)
        wait_until(lambda: reads(client, i) == conversation.make_value(i), 30, "the proxy to find it again")
        read_all(client, acknowledged, deleted, "after kill -9 and a start")
        servers[2].restart()
        wait_until(lambda: all(reads(client, i) != "refused" for i in range(0, count, 7)), 30, "the proxy again")
        read_all(client, acknowledged, deleted, "after a clean restart")
        return f"{len(acknowledged)} records on 3 servers ({' '.join(map(str, shares))}), {refused} refused meanwhile"


def tests(binary):
    return [("nutcracker-commands", lambda: commands(binary)),
            ("nutcracker-one-killed", lambda: one_is_killed(binary))]
