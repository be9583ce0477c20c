#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Real clients, unchanged: every command of each, and all data read back after a restart and after kill -9 in the
midst of writing; web sessions in the same way; and a proxy before three servers.

    tests/clients/run.py                                 all, against build/cofferd
    tests/clients/run.py --quick                         what scripts/setup installs
    tests/clients/run.py --reference /usr/bin/memcached  the commands alone, against memcached

What is not installed is skipped by name; scripts/setup-clients installs it.  Without --quick and without names at
least ten clients must run.
"""

import argparse
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), HERE]

import clients  # noqa: E402
import proxy  # noqa: E402
import python_clients  # noqa: E402
import sessions  # noqa: E402
import tools  # noqa: E402
from lib import runner  # noqa: E402
from table import Table  # noqa: E402

ENOUGH = 10


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--server", default="build/cofferd", metavar="PATH")
    parser.add_argument("--reference", metavar="PATH", help="run the commands against memcached")
    parser.add_argument("--quick", action="store_true", help="only what needs no further packages")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    parser.add_argument("names", nargs="*", help="regular expressions; the start of a test's name")
    options = parser.parse_args()
    reference = bool(options.reference)
    binary = runner.need_server(options.reference or options.server)
    tests = clients.tests(binary, reference, options.quick) + python_clients.tests(binary)
    tests += tools.tests(binary, reference)
    if not options.quick and not reference:
        tests += sessions.tests(binary) + proxy.tests(binary)
    if options.names:
        tests = [test for test in tests if any(re.match(pattern, test[0]) for pattern in options.names)]
    report = Table([library.name for library in clients.LIBRARIES], 0 if options.quick or options.names else ENOUGH)
    return runner.run_all(tests, options.jobs, report=report)


if __name__ == "__main__":
    sys.exit(main())
