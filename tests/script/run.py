#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the wire scripts: tests/script/*.ct, and tests/script/*.py for what the little language cannot say.

    tests/script/run.py                         all, against build/cofferd
    tests/script/run.py P01 'S.*'               those whose name starts so
    tests/script/run.py --reference /usr/bin/memcached
                                                the scripts marked `reference`, against memcached: expectations
                                                are facts, not guesses

tests/README.md describes the language.
"""

import argparse
import importlib.util
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

from lib import runner, script  # noqa: E402


def load(path):
    name = os.path.basename(path)[:-3].replace("-", "_")
    spec = importlib.util.spec_from_file_location("script_" + name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_of(path, binary, reference):
    if path.endswith(".ct"):
        return lambda: script.Script(path, binary, reference).run()
    return lambda: load(path).test(binary)


def chosen(names, patterns, reference):
    for name in names:
        stem, kind = os.path.splitext(name)
        path = os.path.join(HERE, name)
        if kind not in (".ct", ".py") or name == "run.py":
            continue
        if patterns and not any(re.match(pattern, stem) for pattern in patterns):
            continue
        if reference and not (kind == ".ct" and script.is_reference(path)):
            continue
        yield stem, path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--server", default="build/cofferd", metavar="PATH")
    parser.add_argument("--reference", metavar="PATH", help="run the scripts marked `reference` against memcached")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    parser.add_argument("--list", action="store_true", help="only name the scripts")
    parser.add_argument("names", nargs="*", help="regular expressions; the start of a script's name")
    options = parser.parse_args()
    tests = list(chosen(sorted(os.listdir(HERE)), options.names, options.reference))
    if options.list:
        print("\n".join(name for name, _ in tests))
        return 0
    binary = runner.need_server(options.reference or options.server)
    return runner.run_all([(name, test_of(path, binary, options.reference)) for name, path in tests], options.jobs)


if __name__ == "__main__":
    sys.exit(main())
