#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The top level holds these names, dotfiles, and nothing else."""

import os

import common

ALLOWED = set("Makefile README.md COPYING src storage net tests bench etc scripts".split())
# What running the program and the build leave there, see .gitignore.
MADE = {"build", "coffer-data"}


def check(root):
    for name in sorted(os.listdir(root)):
        if name not in ALLOWED | MADE and not name.startswith("."):
            yield name, 1, "has no place at the top level"


if __name__ == "__main__":
    common.main(check)
