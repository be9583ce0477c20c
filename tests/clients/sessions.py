# SPDX-License-Identifier: BSD-3-Clause
"""Web sessions kept by frameworks: who has logged in still is after a restart and after kill -9.

Each application runs in its own web server on an address of its own and knows four pages: /login/NAME, / (the name,
and how often this session was here), /slow (the same, with a pause between reading and writing), /logout.
"""

import http.cookiejar
import os
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import clients
from lib.checks import ensure_equal, ensure_no_complaint
from lib.runner import Failure, Skip
from lib.server import ServerError, Server, own_address, patience, scale, wait_until

USERS = 20
PORT = 8080


class Browser:
    """One visitor with cookies of its own."""

    def __init__(self, base):
        self.base = base
        self.opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}),
            urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar(http.cookiejar.DefaultCookiePolicy())))

    def visit(self, path="/"):
        """The page's text, or None when the application failed."""
        try:
            with self.opener.open(self.base + path, timeout=patience(20)) as reply:
                return reply.read().decode().strip()
        except (urllib.error.URLError, OSError):
            return None


class Application:
    """A framework's web server, told by its environment where to listen and where to store."""

    def __init__(self, server, words, environment=None):
        self.address = own_address()
        self.base = f"http://{self.address}:{PORT}"
        own = {"STORE": f"{server.address}:{server.port}", "LISTEN": f"{self.address}:{PORT}",
               "NODE_PATH": clients.NODE_PATH, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore"}
        self.log = os.path.join(server.home, "application.log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [word.replace("@LISTEN", own["LISTEN"]).replace("@STORE", own["STORE"]) for word in words],
                env={**os.environ, **own, **(environment or {})}, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                cwd=server.home, start_new_session=True)

    def wait(self):
        def answers():
            if self.process.poll() is not None:
                with open(self.log, encoding="utf-8", errors="replace") as file:
                    raise Failure(f"the application ended:\n{file.read()[-2000:]}")
            return Browser(self.base).visit() is not None
        try:
            wait_until(answers, 30, "the application to serve")
        except ServerError as error:
            with open(self.log, encoding="utf-8", errors="replace") as file:
                raise Failure(f"{error}\n{file.read()[-2000:]}") from None

    def close(self):
        try:
            os.killpg(self.process.pid, 9)  # a group of its own: its workers too
        except ProcessLookupError:
            pass
        self.process.wait()


def connects_again(application):
    """Someone new logs in: the request that meets the broken connection fails in some frameworks, and Django drops the
    cookie of whoever sent it."""
    visitor = Browser(application.base)
    return visitor.visit("/login/someone") == "someone 0" and visitor.visit() == "someone 1"


def all_come_back(application, users, count, when):
    """Once the application has connected again, everybody is who they were."""
    wait_until(lambda: connects_again(application), 30, f"the application to work after {when}")
    for i, user in enumerate(users):
        ensure_equal(user.visit(), f"user{i} {count}", f"session {i} after {when}")


def sessions_survive(server, application):
    users = [Browser(application.base) for _ in range(scale(USERS, 5))]
    for i, user in enumerate(users):
        ensure_equal(user.visit(f"/login/user{i}"), f"user{i} 0", "login")
        ensure_equal(user.visit(), f"user{i} 1", "a first visit")
    server.restart()
    all_come_back(application, users, 2, "a restart")
    server.kill9()
    server.start()
    all_come_back(application, users, 3, "kill -9")
    ensure_equal((users[0].visit("/logout"), users[0].visit()), ("bye", "nobody"), "logout")
    ensure_equal(users[1].visit(), "user1 4", "another after that logout")
    return f"{len(users)} sessions over restart and kill -9"


def locked_sessions(application):
    """Requests of one session at the same time go one after another: no count is lost."""
    user = Browser(application.base)
    user.visit("/login/locked")
    threads = [threading.Thread(target=user.visit, args=("/slow",)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ensure_equal(user.visit(), "locked 7", "after six requests at the same time")


def check(binary, need, words, environment=None, more=None):
    reason = need()
    if reason:
        raise Skip(reason + " (scripts/setup-clients)")
    with Server(binary, listen="tcp") as server:
        server.start()
        application = Application(server, words, environment)
        try:
            application.wait()
            remark = sessions_survive(server, application)
            if more:
                more(application)
                remark += ", locked"
        finally:
            application.close()
        server.stop()
        ensure_no_complaint(server)
        return remark


def needs(*probe, what):
    def need():
        try:
            done = subprocess.run(probe, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=patience(60),
                                  stderr=subprocess.DEVNULL, check=False,
                                  env={**os.environ, "NODE_PATH": clients.NODE_PATH})
        except FileNotFoundError:
            return f"{what} is not installed"
        return None if done.returncode == 0 else f"{what} is not installed"
    return need


def php(handler, store, *settings):
    page = os.path.join(clients.PROGRAMS, "session.php")
    words = ["php", "-d", f"session.save_handler={handler}", "-d", f"session.save_path={store}"]
    for setting in settings:
        words += ["-d", setting]
    return [*words, "-S", "@LISTEN", page]


def tests(binary):
    def python(file, *words):
        return [sys.executable, os.path.join(clients.PROGRAMS, file), *words]

    have_php = needs("php", "-r", "exit(extension_loaded('memcached') ? 0 : 1);", what="php-memcached")
    have_django = needs(sys.executable, "-c", "import django, pymemcache, pylibmc", what="python3-django")
    have_flask = needs(sys.executable, "-c", "import flask, beaker, pylibmc", what="python3-flask or python3-beaker")
    have_express = needs("node", "-e", "for (const name of ['express', 'express-session', 'connect-memcached']) "
                         "require.resolve(name)", what="express from npm")
    # By default five tries 150 ms apart, which six visitors would use up.
    patient = "memcached.sess_lock_retries=100"
    workers = {"PHP_CLI_SERVER_WORKERS": "4"}
    return [
        ("session-php-binary", lambda: check(binary, have_php, php("memcached", "@STORE", patient), workers,
                                             locked_sessions)),
        ("session-php-text", lambda: check(
            binary, have_php, php("memcached", "@STORE", patient, "memcached.sess_binary_protocol=Off"), workers,
            locked_sessions)),
        ("session-django-pymemcache", lambda: check(binary, have_django, python("session_django.py",
                                                                                "PyMemcacheCache"))),
        ("session-django-pylibmc", lambda: check(binary, have_django, python("session_django.py", "PyLibMCCache"))),
        ("session-flask-beaker", lambda: check(binary, have_flask, python("session_flask.py"))),
        ("session-express", lambda: check(binary, have_express,
                                          ["node", os.path.join(clients.PROGRAMS, "session_express.js")])),
    ]
