# SPDX-License-Identifier: BSD-3-Clause
"""What the figures were measured on."""

import datetime
import os
import platform
import re
import shutil
import subprocess


def _first(path, pattern):
    with open(path, encoding="utf-8", errors="replace") as file:
        found = re.search(pattern, file.read(), re.MULTILINE)
    return found.group(1).strip() if found else "unknown"


def _said_by(*command):
    if not shutil.which(command[0]):
        return "not installed"
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, text=True)
    return done.stdout.splitlines()[0].strip() if done.stdout else "unknown"


def memory():
    """Bytes of RAM."""
    return int(_first("/proc/meminfo", r"^MemTotal:\s+(\d+)")) * 1024


def processor():
    return _first("/proc/cpuinfo", r"^model name\s*:\s*(.*)$")


def filesystem(directory):
    """Device and type of the filesystem that holds the directory."""
    number = os.stat(directory).st_dev
    wanted = f"{os.major(number)}:{os.minor(number)}"
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        for line in file:
            if line.split()[2] == wanted:
                kind, device = line.split(" - ")[1].split()[:2]
                return f"{kind} on {device}"
    return "unknown"


def memcached_version(arguments):
    """As numbers, (0,) when it is not there."""
    found = re.search(r"(\d+(\.\d+)+)", _said_by(arguments.memcached, "-V"))
    return tuple(int(part) for part in found.group(1).split(".")) if found else (0,)


def load():
    return os.getloadavg()[0]


def today():
    return datetime.date.today().isoformat()


def short():
    return f"{os.cpu_count()} x {processor()}, {memory() / 2**30:.0f} GB, Linux {platform.release()}"


def describe(arguments):
    """[(what, text)]"""
    return [
        ("date", datetime.datetime.now().strftime("%Y-%m-%d %H:%M")),
        ("processor", f"{processor()}, {os.cpu_count()} cores"),
        ("memory", f"{memory() / 2**30:.1f} GB"),
        ("kernel", f"{platform.system()} {platform.release()}"),
        ("data directory", filesystem(arguments.dir)),
        ("load before", f"{load():.2f} (other work on the machine, averaged over a minute)"),
        ("cofferd", _said_by(arguments.cofferd, "--version")),
        ("memcached", _said_by(arguments.memcached, "-V")),
        ("redis", _said_by(arguments.redis, "--version")),
    ]
