#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Real clients, unchanged: every command of each, and all data read back after a restart and after kill -9 in the
midst of writing.

    tests/clients/run.py                                 all, against build/cofferd
    tests/clients/run.py --reference /usr/bin/memcached  the commands alone, against memcached

What is not installed is skipped by name (python3-pymemcache, python3-pylibmc, python3-memcache,
libmemcached-tools).
"""

import argparse
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), HERE]

import python_clients  # noqa: E402
import tools  # noqa: E402
from lib import runner  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--server", default="build/cofferd", metavar="PATH")
    parser.add_argument("--reference", metavar="PATH", help="run the commands against memcached")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    parser.add_argument("names", nargs="*", help="regular expressions; the start of a test's name")
    options = parser.parse_args()
    binary = runner.need_server(options.reference or options.server)
    tests = python_clients.tests(binary, bool(options.reference)) + tools.tests(binary, bool(options.reference))
    if options.names:
        tests = [test for test in tests if any(re.match(pattern, test[0]) for pattern in options.names)]
    return runner.run_all(tests, options.jobs)


if __name__ == "__main__":
    sys.exit(main())
