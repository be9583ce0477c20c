#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kills, failures and damage: what was acknowledged must be there afterwards.

    tests/crash/run.py                      what `make check` runs
    tests/crash/run.py --rounds 200 kill9   D01 of the public cases, in each sync mode
    tests/crash/run.py --seed 7 ...         the same random choices again (timing still differs)
    tests/crash/run.py --full               every byte of the tail, more double crashes
    tests/crash/run.py --self-test          the rigs against servers that forget: they must find each one out
"""

import argparse
import os
import random
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), HERE]

import double_crash  # noqa: E402
import fault_matrix  # noqa: E402
import forgetful  # noqa: E402
import kill9_load  # noqa: E402
import tail_damage  # noqa: E402
from lib import runner  # noqa: E402
from lib.server import scale  # noqa: E402

SYNC_MODES = ("always", "interval=50", "os")
ROUNDS = 12
SELF_TEST_ROUNDS = 6
LITTLE_MEMORY = "8"  # megabytes, so that reads are cold and writers wait for checkpoints
LARGER_THAN_MEMORY = 8000  # keys of 2 KB


def all_tests(binary, options):
    seed = options.seed
    rounds = options.rounds or scale(ROUNDS, 3)
    found = [(f"kill9-load-{sync}", lambda sync=sync: kill9_load.run(binary, sync, rounds, seed))
             for sync in SYNC_MODES]
    found.append(("kill9-load-little-memory",
                  lambda: kill9_load.run(binary, "os", rounds // 2, seed, options=["-m", LITTLE_MEMORY],
                                         base_keys=LARGER_THAN_MEMORY)))
    found.append(("double-crash", lambda: double_crash.run(binary, seed, 40 if options.full else scale(6, 2))))
    found.append(("tail-damage", lambda: tail_damage.run(binary, seed, options.full)))
    found.append(("damage-refused", lambda: tail_damage.refuse_damage(binary, seed)))
    return found + fault_matrix.tests(binary, seed)


def must_find_out(way, seed):
    """The rig passes the honest server and fails every other."""
    fake = os.path.join(HERE, "forgetful.py")
    try:
        remark = kill9_load.run(fake, "os", SELF_TEST_ROUNDS, seed, {"FORGETFUL": way})
    except runner.Failure as found:
        if way == "honest" or "died" in str(found):
            raise
        return "found out: " + str(found).split(": ", 1)[-1][:60]
    if way != "honest":
        raise runner.Failure(f"not found out: {forgetful.WAYS[way]}")
    return remark


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--server", default="build/cofferd", metavar="PATH")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    parser.add_argument("--rounds", type=int, metavar="N", help=f"kills in each sync mode ({ROUNDS})")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("names", nargs="*", help="regular expressions; the start of a test's name")
    options = parser.parse_args()
    print(f"seed {options.seed}")
    if options.self_test:
        tests = [(f"self-test-{way}", lambda way=way: must_find_out(way, options.seed)) for way in forgetful.WAYS]
    else:
        tests = all_tests(runner.need_server(options.server), options)
    if options.names:
        tests = [test for test in tests if any(re.match(pattern, test[0]) for pattern in options.names)]
    return runner.run_all(tests, options.jobs, 3600 if options.full or options.rounds else 120)


if __name__ == "__main__":
    sys.exit(main())
