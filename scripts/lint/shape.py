#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A C file over 800 lines is two modules; a function over 80 lines is two functions; code that is compiled on a
condition is a function or file of its own, never a part of a function."""

import re

import common

FILE_LINES = 800
FUNCTION_LINES = 80
CONDITION = re.compile(r"^\s*#\s*if")
# A definition begins in the first column and has its parameters in the same line.
START = re.compile(r"^[A-Za-z_].*?(\w+)\s*\(")


def functions(lines):
    """Yields (name, first line, last line) of each function definition in the house's brace style."""
    name, first = None, 0
    for number, line in enumerate(lines, 1):
        match = START.match(line)
        if match:
            name, first = match.group(1), number
        if name and line.startswith("}"):
            yield name, first, number
            name = None
        elif name and line.endswith(";") and not line.startswith((" ", "\t")):
            name = None
        elif line.startswith("}"):
            name = None


def check(root):
    for path in filter(common.is_c, common.files(root)):
        lines = common.lines(root, path)
        count = len(lines) - 1
        if count > FILE_LINES:
            yield path, count, f"{count} lines, more than {FILE_LINES}: two modules"
        for name, first, last in functions(lines):
            length = last - first + 1
            if length > FUNCTION_LINES:
                yield path, first, f"{name} has {length} lines, more than {FUNCTION_LINES}"
            for number in range(first, last):
                if CONDITION.match(lines[number - 1]):
                    yield path, number, f"a condition of the preprocessor inside {name}"


if __name__ == "__main__":
    common.main(check)
