# SPDX-License-Identifier: BSD-3-Clause
"""The pages that ../sessions.py visits, by Django with sessions in its cache: session_django.py BACKEND."""

import os
import sys
from wsgiref.simple_server import make_server

import django
from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpResponse
from django.urls import path

settings.configure(
    ALLOWED_HOSTS=["*"],
    CACHES={"default": {"BACKEND": f"django.core.cache.backends.memcached.{sys.argv[1]}",
                        "LOCATION": os.environ["STORE"]}},
    MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware"],
    ROOT_URLCONF=__name__,
    SECRET_KEY="only for tests",
    SESSION_ENGINE="django.contrib.sessions.backends.cache",
    USE_TZ=True,
)


def login(request, name):
    request.session["name"] = name
    request.session["count"] = 0
    return HttpResponse(f"{name} 0")


def home(request):
    if "name" not in request.session:
        return HttpResponse("nobody")
    request.session["count"] += 1
    return HttpResponse(f"{request.session['name']} {request.session['count']}")


def logout(request):
    request.session.flush()
    return HttpResponse("bye")


urlpatterns = [path("login/<name>", login), path("logout", logout), path("", home)]

if __name__ == "__main__":
    django.setup()
    host, port = os.environ["LISTEN"].split(":")
    make_server(host, int(port), WSGIHandler()).serve_forever()
