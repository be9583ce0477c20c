#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every header says at its top what it is for, and is guarded by a name made of its path.

Tables (src/tbl) define one macro each and need no guard."""

import re

import common


def guard_of(path):
    name = re.sub(r"^src/", "", path)
    return "COFFER_" + re.sub(r"[^A-Z0-9]", "_", name.upper())


def check(root):
    for path in common.files(root):
        if not path.endswith(".h"):
            continue
        lines = common.lines(root, path)
        if len(lines) < 2 or not re.match(r"/\* \S", lines[1]):
            yield path, 2, "the second line must begin a comment that says what this is for"
        if path.startswith("src/tbl/"):
            continue
        guard = guard_of(path)
        directives = [line for line in lines if line.startswith("#")]
        if directives[:2] != [f"#ifndef {guard}", f"#define {guard}"] or directives[-1:] != ["#endif"]:
            yield path, 1, f"must be guarded by {guard}"


if __name__ == "__main__":
    common.main(check)
