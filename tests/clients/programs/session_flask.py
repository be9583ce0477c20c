# SPDX-License-Identifier: BSD-3-Clause
"""The pages that ../sessions.py visits, by Flask with Beaker's sessions."""

import os
from wsgiref.simple_server import make_server

from beaker.middleware import SessionMiddleware
from flask import Flask, request

application = Flask(__name__)


@application.route("/login/<name>")
def login(name):
    session = request.environ["beaker.session"]
    session["name"], session["count"] = name, 0
    session.save()
    return f"{name} 0"


@application.route("/")
def home():
    session = request.environ["beaker.session"]
    if "name" not in session:
        return "nobody"
    session["count"] += 1
    session.save()
    return f"{session['name']} {session['count']}"


@application.route("/logout")
def logout():
    request.environ["beaker.session"].delete()
    return "bye"


if __name__ == "__main__":
    host, port = os.environ["LISTEN"].split(":")
    options = {"session.type": "ext:memcached", "session.url": os.environ["STORE"],
               "session.memcache_module": "pylibmc", "session.lock_dir": os.path.join(os.getcwd(), "locks"),
               "session.auto": False}
    make_server(host, int(port), SessionMiddleware(application, options)).serve_forever()
