#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Licence line, blanks, line ends and length, and words that mark unfinished work."""

import re

import common

LICENCE = "SPDX-License-Identifier: BSD-3-Clause"
# Written apart so that this file passes its own rule.
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
LONGEST = 120


def licence_missing(lines, c):
    """C files carry it in their first line, scripts behind the line that names the interpreter."""
    first = lines[1] if not c and lines[0].startswith("#!") and len(lines) > 1 else lines[0]
    return first != f"/* {LICENCE} */" if c else first != f"# {LICENCE}"


def check_file(path, lines, c, script):
    if (c or script or path == "Makefile") and licence_missing(lines, c):
        yield 1, f"the first line must be the licence: {LICENCE}"
    if lines[-1] != "" or (len(lines) > 1 and lines[-2] == ""):
        yield len(lines), "the file must end with one line end"
    for number, line in enumerate(lines, 1):
        if UNFINISHED.search(line):
            yield number, "unfinished work: do it or file it"
        if line.endswith((" ", "\t", "\r")):
            yield number, "blanks at the end of the line"
        if c and "\t" in line:
            yield number, "a tab in C"
        if c and len(line) > LONGEST:
            yield number, f"{len(line)} columns, more than {LONGEST}"


def check(root):
    for path in common.files(root):
        if not common.is_text(root, path):
            continue
        lines = common.lines(root, path)
        if lines == [""]:
            continue  # such as a package's __init__.py
        c = common.is_c(path)
        script = path.endswith(".py") or common.is_script(root, path)
        for number, message in check_file(path, lines, c, script):
            yield path, number, message


if __name__ == "__main__":
    common.main(check)
