# SPDX-License-Identifier: BSD-3-Clause
"""What all linters share: the files of a tree, and how findings are reported."""

import os
import sys

SKIPPED = {".git", "build", "coffer-data", "__pycache__"}
# Prose and recorded data are not held to the rules for code.
TEXT_ENDINGS = (".c", ".h", ".py", ".sh", ".md", ".service", ".socket", ".conf", ".ini", ".supp")


def files(root):
    """Paths of all files below root, relative to it, with '/' and sorted."""
    found = []
    for where, directories, names in os.walk(root):
        directories[:] = [d for d in directories if d not in SKIPPED]
        for name in names:
            found.append(os.path.relpath(os.path.join(where, name), root).replace(os.sep, "/"))
    return sorted(found)


def is_c(path):
    return path.endswith((".c", ".h"))


def is_script(root, path):
    """True for an executable text: it has no ending but begins with #!."""
    if "." in os.path.basename(path) and not path.endswith((".py", ".sh")):
        return False
    with open(os.path.join(root, path), "rb") as file:
        return file.read(2) == b"#!"


def is_text(root, path):
    return path.endswith(TEXT_ENDINGS) or path == "Makefile" or is_script(root, path)


def lines(root, path):
    """The file's lines without their ends; bytes that are no UTF-8 become replacement characters."""
    with open(os.path.join(root, path), encoding="utf-8", errors="replace", newline="\n") as file:
        return file.read().split("\n")


def main(check):
    """Runs check(root), which yields (path, line number, message), and ends the process."""
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    findings = list(check(root))
    for path, number, message in findings:
        print(f"{path}:{number}: {message}")
    sys.exit(1 if findings else 0)
