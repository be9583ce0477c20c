# SPDX-License-Identifier: BSD-3-Clause
"""The language of tests/script/*.ct; tests/README.md describes it for people who write scripts."""

import contextlib
import os
import re
import shlex
import subprocess
import threading
import time

from lib.runner import Failure, Skip
from lib.server import Server, ServerError, own_address, patience, scale, wait_until
from lib.wire import Wire, WireError, show

REPEAT_PATTERN = re.compile(rb"\{((?:[^{}*]|\\[{}*])+)\*(\d+)\}")
VARIABLE_PATTERN = re.compile(r"\$\{(\w+)\}")
ESCAPE_PATTERN = re.compile(rb"\\(x[0-9a-fA-F]{2}|.)")
ESCAPES = {b"r": b"\r", b"n": b"\n", b"t": b"\t", b"0": b"\0", b"s": b" ", b"\\": b"\\", b"{": b"{", b"}": b"}",
           b"*": b"*"}
CONNECTION_MARK = re.compile(r"(\w+)([<>~=?^]|!\d*)$")
BLOCK_LINE = re.compile(r"(repeat|for) ")
LONGEST_REFERENCE_WAIT = 4


def unescape(text):
    """The bytes that a script's text stands for."""
    def one(match):
        code = match.group(1)
        if code.startswith(b"x"):
            return bytes([int(code[1:], 16)])
        if code not in ESCAPES:
            raise Failure(f"unknown escape \\{code.decode()}")
        return ESCAPES[code]
    raw = text.encode()
    raw = REPEAT_PATTERN.sub(lambda match: match.group(1) * int(match.group(2)), raw)
    return ESCAPE_PATTERN.sub(one, raw)


def count_of(word):
    """A count; "~1000" is scaled by COFFER_TEST_SCALE."""
    return scale(int(word[1:])) if word.startswith("~") else int(word)


class Line:
    def __init__(self, number, text):
        self.number = number
        self.text = text


def parse(path):
    """The script's lines without comments; `repeat` and `for` blocks nested as (Line, [block])."""
    with open(path, encoding="utf-8") as file:
        lines = [Line(number, text.rstrip("\n").lstrip()) for number, text in enumerate(file, 1)]
    lines = [line for line in lines if line.text.strip() and not line.text.startswith("#")]
    stack = [[]]
    for line in lines:
        if BLOCK_LINE.match(line.text):
            block = []
            stack[-1].append((line, block))
            stack.append(block)
        elif line.text == "end":
            stack.pop()
            if not stack:
                raise Failure(f"line {line.number}: `end` without `repeat` or `for`")
        else:
            stack[-1].append((line, None))
    if len(stack) != 1:
        raise Failure("`repeat` or `for` without `end`")
    return stack[0]


def is_reference(path):
    return any(line.text == "reference" for line, _ in parse(path))


class Flood(threading.Thread):
    """Sends without reading, in the background; on a copy of the socket, which has its own deadline."""

    def __init__(self, wire, pieces):
        super().__init__(daemon=True)
        self.sock = wire.sock.dup()
        self.sock.settimeout(patience(60))
        self.pieces = pieces
        self.error = None

    def run(self):
        try:
            for piece in self.pieces:
                self.sock.sendall(piece)
        except OSError as error:
            self.error = error
        finally:
            self.sock.close()


class Script:
    """Runs one script; binary is cofferd, or memcached when reference is set."""

    def __init__(self, path, binary, reference=False):
        self.path = path
        self.binary = binary
        self.reference = reference
        self.server = None
        self.wires = {}
        self.endpoints = {}
        self.floods = {}
        self.pending = None  # (connection, [bytes]) of send lines that leave together
        self.control = None
        self.sent_at = 0.0
        self.marks = {}
        self.variables = {"ADDRESS2": own_address(), "PORT6": str(20000 + os.getpid() % 20000)}
        self.output = None

    # ---- running

    def run(self):
        lines = parse(self.path)
        try:
            self.block(lines)
            self.flush()
            self.finish()
        finally:
            if self.server is not None:
                self.server.close()

    def block(self, lines):
        for line, block in lines:
            try:
                if block is None:
                    self.step(line.text)
                else:
                    self.repeat(line.text, block)
            except (Failure, ServerError, WireError) as error:
                if getattr(error, "placed", False):
                    raise
                told = self.server is None or "    | " in str(error)
                tail = "" if told else f"\n{self.server.log_tail()}"
                placed = Failure(f"{os.path.basename(self.path)}:{line.number}: {line.text[:200]}\n{error}{tail}")
                placed.placed = True
                raise placed from None

    def repeat(self, text, block):
        words = text.split()
        if words[0] == "for":
            rounds = [(words[1], word) for word in words[3:]]
        else:
            rounds = [("i", f"{i:06d}") for i in range(count_of(words[1]))]
        for name, value in rounds:
            self.variables[name] = value
            self.block(block)

    def step(self, text):
        word, _, rest = text.partition(" ")
        match = CONNECTION_MARK.match(self.fill(word))
        if match:
            self.connection_step(match.group(1), match.group(2), self.fill(rest, match.group(2)))
            return
        self.flush()
        word, _, rest = self.fill(text).partition(" ")
        name, _, argument = rest.partition(" ")
        if hasattr(self, "do_" + word):
            getattr(self, "do_" + word)(rest)
        elif word in self.wires and hasattr(self, "on_" + name):
            getattr(self, "on_" + name)(word, argument)
        else:
            raise Failure("not a line of the script language (or a connection that was never opened)")

    def fill(self, text, mark=""):
        def one(match):
            name = match.group(1)
            if name not in self.variables:
                raise Failure(f"no variable {name}")
            return re.escape(self.variables[name]) if mark == "~" else self.variables[name]
        return VARIABLE_PATTERN.sub(one, text)

    # ---- send and expect

    def wire(self, name):
        if name not in self.wires:
            raise Failure(f"no connection {name}")
        return self.wires[name]

    def flush(self):
        if self.pending:
            name, parts = self.pending
            self.sent_at = time.monotonic()
            self.pending = None
            self.wire(name).send(b"".join(parts))

    def connection_step(self, name, mark, text):
        wire = self.wire(name)
        if mark[0] in ">!":
            self.join_flood(name)
        if mark == ">":
            if self.pending and self.pending[0] != name:
                self.flush()
            self.pending = self.pending or (name, [])
            self.pending[1].append(unescape(text) + b"\r\n")
            return
        self.flush()
        if mark.startswith("!"):
            data = unescape(text)
            size = int(mark[1:] or len(data) or 1)
            for start in range(0, len(data), size):
                wire.send(data[start:start + size])
                wire.drained()
        elif mark == "<":
            expected, got = unescape(text), wire.line()
            if got != expected:
                raise Failure(f"expected: {show(expected)}\n     got: {show(got)}")
        elif mark in "?^":
            if mark == "?" or self.reference:
                self.maybe(wire, unescape(text), must=mark == "^")
        elif mark == "=":
            expected = unescape(text)
            got = wire.exactly(len(expected))
            if got != expected:
                raise Failure(f"expected: {show(expected)}\n     got: {show(got)}")
        else:
            got = wire.line().decode("latin-1")
            match = re.fullmatch(text, got)
            if not match:
                raise Failure(f"expected: /{text}/\n     got: {show(got.encode('latin-1'))}")
            self.variables.update({key: value for key, value in match.groupdict().items() if value is not None})

    @staticmethod
    def maybe(wire, expected, must):
        if wire.peek_line() == expected:
            wire.line()
        elif must:
            raise Failure(f"memcached was expected to add: {show(expected)}")

    def on_silence(self, name, argument):
        came = self.wire(name).silent(float(argument or 0.08))
        if came or self.wire(name).ended:
            raise Failure(f"expected silence, got: {show(came) or 'end of stream'}")

    def on_closed(self, name, _):
        rest = self.wire(name).until_closed()
        if rest:
            raise Failure(f"expected the end of the stream, got: {show(rest)}")

    def on_open(self, name, _):
        self.join_flood(name)
        got = self.wire(name).ask(b"version")
        if not got.startswith(b"VERSION "):
            raise Failure(f"expected the answer to `version`, got: {show(got)}")

    def on_close(self, name, _):
        self.wires.pop(name).close()

    def on_end(self, name, _):
        self.wire(name).sock.shutdown(1)

    def on_ignore(self, name, _):
        """Takes all that comes up to the answer of a `version` sent now."""
        self.join_flood(name)
        wire = self.wire(name)
        wire.send(b"version\r\n")
        while not wire.line().startswith(b"VERSION "):
            pass

    def on_flood(self, name, argument):
        count, _, text = argument.partition(" ")
        count = count_of(count)
        pieces = (b"".join(unescape(text.replace("@", str(i))) for i in range(at, min(at + 500, count)))
                  for at in range(0, count, 500))
        self.floods[name] = Flood(self.wire(name), pieces)
        self.floods[name].start()

    def on_drain(self, name, argument):
        count, _, text = argument.partition(" ")
        expected, wire = unescape(text), self.wire(name)
        for i in range(count_of(count)):
            got = wire.line()
            if got != expected:
                raise Failure(f"reply {i}: expected: {show(expected)}, got: {show(got)}")
        self.join_flood(name)

    def join_flood(self, name):
        """Nothing else may be sent before a flood is through."""
        flood = self.floods.pop(name, None)
        if flood:
            flood.join(patience(60))
            if flood.error or flood.is_alive():
                raise Failure(f"the flood did not get through: {flood.error or 'still sending'}")

    # ---- the server

    def do_reference(self, _):
        pass

    def do_needs(self, rest):
        checks = {"root": os.geteuid() == 0,
                  "ipv6": os.path.exists("/proc/net/if_inet6")}
        if not checks[rest]:
            raise Skip(f"needs {rest}")

    def do_assert(self, rest):
        """assert A < B on whole numbers."""
        left, relation, right = rest.split()
        left, right = int(left), int(right)
        if not {"<": left < right, ">": left > right, "=": left == right, "<=": left <= right}[relation]:
            raise Failure(f"{left} {relation} {right} does not hold")

    def do_server(self, rest):
        if self.server is not None:
            self.finish()
            self.server.close()
            self.wires.clear()
        words = shlex.split(rest)
        listen = words.pop(0) if words and words[0] in ("tcp", "none") else "unix"
        self.server = Server(self.binary, ["--enable-debug", "--checkpoint-seconds=3600"] + words, listen)
        self.variables.update(DIR=self.server.dir, HOME=self.server.home, SOCKET=self.server.socket_path,
                              ADDRESS=self.server.address, PORT=str(self.server.port), PID="0")
        self.begin()

    def begin(self, extra=()):
        self.server.start(extra)
        self.variables["PID"] = str(self.server.pid())
        self.control = None

    def reopen(self):
        """Connections that were open when the server went are there again when it is back."""
        for name in list(self.wires):
            self.wires[name].close()
            self.wires[name] = Wire(self.server.connect_socket(endpoint=self.endpoints[name]))

    def do_connect(self, rest):
        name, _, where = rest.partition(" ")
        endpoint = None
        if where.startswith("unix:"):
            endpoint = where[5:]
        elif where:
            address, _, port = where.rpartition(":")
            endpoint = (address.strip("[]"), int(port))
        self.endpoints[name] = endpoint
        self.wires[name] = Wire(self.server.connect_socket(endpoint=endpoint))

    def no_reference(self):
        if self.reference:
            raise Failure("a `reference` script cannot do this with memcached")

    def leave(self):
        if self.control is not None:
            self.control.close()
            self.control = None

    def do_stop(self, rest):
        self.leave()
        self.server.stop()

    def do_kill(self, rest):
        self.leave()
        self.server.kill9()

    def do_start(self, rest):
        self.begin(shlex.split(rest))
        self.reopen()

    def do_restart(self, rest):
        self.no_reference()
        self.do_stop("")
        self.do_start(rest)

    def do_kill9(self, rest):
        self.no_reference()
        self.do_kill("")
        self.do_start(rest)

    def do_pause(self, rest):
        time.sleep(float(rest))

    def ask(self, text):
        if self.control is None:
            self.control = Wire(self.server.connect_socket())
        return self.control.ask(text.encode())

    def ask_ok(self, text):
        self.no_reference()
        answer = self.ask(text)
        if answer != b"OK":
            raise Failure(f"`{text}` was answered by: {show(answer)}")

    def do_clock(self, rest):
        if self.reference:
            if int(rest) > LONGEST_REFERENCE_WAIT:
                self.no_reference()
            time.sleep(int(rest) + 0.1)
        else:
            self.ask_ok(f"debug clock {int(rest)}")

    def do_checkpoint(self, _):
        self.ask_ok("debug checkpoint")

    def do_fault(self, rest):
        self.ask_ok(f"debug fault {rest}".strip())

    # ---- counters

    def stats(self, group=""):
        if self.control is None:
            self.control = Wire(self.server.connect_socket())
        return self.control.stats(group)

    def do_mark(self, _):
        self.marks = self.stats()

    def stat_holds(self, rest):
        name, relation, value = re.fullmatch(r"(\S+) (=|>=|<=|~|\+|-)\s*(\S+)", rest).groups()
        group, _, field = name.rpartition("/")
        now = self.stats(group).get(field)
        if now is None:
            raise Failure(f"no {field} in `stats {group}`".replace(" `", "`"))
        if relation in "+-":
            got = int(now) - int(self.marks.get(field, 0))
            return got == int(relation + value), f"{field} changed by {got:+d}"
        holds = {"=": lambda: now == value, ">=": lambda: float(now) >= float(value),
                 "<=": lambda: float(now) <= float(value), "~": lambda: re.fullmatch(value, now)}[relation]()
        return holds, f"{field} is {now}"

    def do_stat(self, rest):
        holds, found = self.stat_holds(rest)
        if not holds:
            raise Failure(found)

    def do_soon(self, rest):
        word, _, condition = rest.partition(" ")
        check = {"stat": lambda: self.stat_holds(condition)[0],
                 "log": lambda: re.search(condition.encode(), self.server.log())}[word]
        try:
            wait_until(check, 10, rest)
        except ServerError as error:
            raise Failure(f"{error}; {self.stat_holds(condition)[1] if word == 'stat' else 'not in the log'}") from None

    def do_log(self, rest):
        self.do_soon("log " + rest)

    def do_nolog(self, rest):
        found = re.search(rest.encode(), self.server.log())
        if found:
            raise Failure(f"the log has: {show(found.group(0))}")

    def do_ttl(self, rest):
        """ttl KEY N: KEY expires in N seconds (N-2 to N, since clocks go on), or `never`."""
        key, value = rest.split(" ")
        exp, now = self.expiry(key), int(self.stats()["time"])
        if value == "never":
            if exp not in (-1, 0):
                raise Failure(f"{key} expires in {exp - now} s")
        elif not -2 <= exp - now - int(value) <= (1 if self.reference else 0):
            raise Failure(f"{key} expires in {exp - now} s" if exp > 0 else f"{key} never expires")

    def expiry(self, key):
        """The key's expiry as metadump tells it; memcached leaves out an item that is being looked at."""
        for _ in range(50 if self.reference else 1):
            wire = Wire(self.server.connect_socket())
            entry = wire.dump().get(unescape(key))
            wire.close()
            if entry is not None:
                return int(entry["exp"])
            time.sleep(0.05)
        raise Failure(f"{key} is not in the dump")

    def do_date(self, rest):
        """date KEY T: KEY expires at that date, in seconds since 1970."""
        key, value = rest.split(" ")
        exp = self.expiry(key)
        if exp != int(value):
            raise Failure(f"{key} expires at {exp}")

    def do_keys(self, rest):
        """keys A B C: exactly these are listed by metadump."""
        wire = Wire(self.server.connect_socket())
        found = set(wire.dump())
        wire.close()
        expected = {unescape(word) for word in rest.split()}
        if found != expected:
            raise Failure(f"metadump lists {sorted(map(show, found))}")

    # ---- running the program to its end

    def do_run(self, rest):
        words = [self.binary] + shlex.split(rest)
        try:
            done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=patience(15), cwd=self.server.home if self.server else None)
        except subprocess.TimeoutExpired:
            raise Failure("it goes on running") from None
        self.output = done.stdout.decode("latin-1")
        self.variables["EXIT"] = str(done.returncode)

    def do_exit(self, rest):
        code = self.variables["EXIT"]
        if not (code == rest or rest == "nonzero" and 0 < int(code) < 126):
            raise Failure(f"exit status {code}; output:\n{self.output}")

    def do_output(self, rest):
        if not re.search(rest, self.output, re.M):
            raise Failure(f"output:\n{self.output}")

    # ---- the end: nothing unread, a clean stop, no complaints

    def finish(self):
        if self.server is None:
            return
        self.leave()
        if self.server.running() or self.server.process is not None:
            self.check_stop()
        complaint = self.server.complaint()
        if complaint:
            raise Failure(complaint)

    def check_stop(self):
        if self.server.running():
            self.server.stop()
        for name, wire in self.wires.items():
            with contextlib.suppress(WireError):
                rest = bytes(wire.buffer) if wire.ended else wire.until_closed()
                if rest:
                    raise Failure(f"left unread on connection {name}: {show(rest)}")

    def do_gone(self, rest):
        """gone CODE: the process ends by itself with that status."""
        self.leave()
        code = self.server.wait_death()
        if code != int(rest):
            raise Failure(f"exit status {code}")

    def do_nothing(self, _):
        """For `for how in nothing restart`."""

    def do_rss(self, rest):
        """rss N: the process holds at most N MB of anonymous memory (sanitizers' own memory is not counted)."""
        with open(f"/proc/{self.server.pid()}/status", encoding="ascii") as file:
            text = file.read()
        megabytes = int(re.search(r"RssAnon:\s+(\d+) kB", text).group(1)) / 1024
        if megabytes > int(rest) and "COFFER_TEST_SCALE" not in os.environ:
            raise Failure(f"{megabytes:.0f} MB")

    def do_within(self, rest):
        """within S: at most S seconds since the last send line."""
        taken = time.monotonic() - self.sent_at
        if taken > patience(float(rest)):
            raise Failure(f"{taken:.2f} s since the last line was sent")
