#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Include direction: src/main, src/server -> net -> src/cmd -> storage -> src/base; src/tbl is data.

net and src/cmd see of storage only its public header.  Only src/server*.c joins net and storage.  Some libraries
have one file each that may include them.  Quoted paths are written from the top and exist."""

import os
import re

import common

BASE = ("src/base/", "src/tbl/")
# room -> what it may include, as prefixes or whole paths
ALLOWED = {
    "src/tbl/": ("src/tbl/",),
    "src/base/": BASE,
    "storage/": ("storage/",) + BASE,
    "src/cmd/": ("src/cmd/", "storage/store.h") + BASE,
    "net/": ("net/", "src/cmd/", "storage/store.h") + BASE,
}
# library header -> who may include it
SINGLE = {
    r"lmdb\.h": r"storage/tree(_\w+)?\.c",
    r"zlib\.h": r"storage/deflate\.c",
    r"event2/.*|event\.h|evhttp\.h": r"net/loop\.c",
    r"xxhash\.h": r"src/base/hash\.c",
    r"cmocka\.h": r"tests/.*",
}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def room_of(path):
    for room in ALLOWED:
        if path.startswith(room):
            return room
    return None


def allowed(path, target):
    room = room_of(path)
    if room is not None:
        return target.startswith(ALLOWED[room])
    if path.startswith("src/") and not os.path.basename(path).startswith("server"):
        return target.startswith("src/")
    return True


def check(root):
    for path in filter(common.is_c, common.files(root)):
        for number, line in enumerate(common.lines(root, path), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            quoted, target = match.group(1) == '"', match.group(2)
            for header, owner in SINGLE.items():
                if re.fullmatch(header, target) and not re.fullmatch(owner, path):
                    yield path, number, f"only {owner} may include <{target}>"
            if quoted and not os.path.isfile(os.path.join(root, target)):
                yield path, number, f'"{target}" is no file; paths are written from the top'
            elif quoted and not allowed(path, target):
                yield path, number, f'"{target}" must not be included from here'


if __name__ == "__main__":
    common.main(check)
