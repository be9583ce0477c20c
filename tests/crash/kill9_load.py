# SPDX-License-Identifier: BSD-3-Clause
"""kill -9 at random moments under the load of eight connections; after each restart everything is checked."""

import random
import threading
import time

from fleet import BASE_KEYS, Fleet, checkpoint_often
from lib.checks import ensure_no_complaint
from lib.runner import Failure
from lib.server import Server, ServerError, patience
from lib.wire import WireError

# Small files and frequent checkpoints, so that kills land in their midst.
OPTIONS = ["--enable-debug", "--checkpoint-seconds=1", "--log-max=16m", "--log-segment=4m", "-I", "1m",
           "--memory-limit=64"]
LONGEST_LOAD = 0.6


def one_round(server, fleet, rng):
    """Load, kill, restart (now and then killed once more in the middle of nothing), check."""
    fleet.begin()
    stop = threading.Event()
    helper = threading.Thread(target=checkpoint_often, args=(server, random.Random(rng.random()), stop), daemon=True)
    if rng.random() < 0.5:
        helper.start()
    time.sleep(patience(rng.uniform(0.02, LONGEST_LOAD)))
    if not server.running():
        raise ServerError(f"the server died by itself\n{server.log_tail()}")
    fleet.killed()
    server.kill9()
    stop.set()
    fleet.join()
    server.start()
    if rng.random() < 0.2:
        server.kill9()
        server.start()
    fleet.check()


def run(binary, sync, rounds, seed, environment=None, options=(), base_keys=BASE_KEYS):
    """Returns a remark; raises Failure with the seed in its text."""
    rng = random.Random(seed)
    times = []
    with Server(binary, OPTIONS + ["--sync=" + sync, *options], environment=environment) as server:
        try:
            server.start()
            fleet = Fleet(server, rng.getrandbits(64))
            fleet.load_base(base_keys)
            for number in range(rounds):
                one_round(server, fleet, rng)
                times.append(server.recovery_seconds)
            server.restart()
            fleet.check()
            server.stop()
        except (Failure, ServerError, WireError) as error:
            raise Failure(f"round {len(times) + 1}, seed {seed}: {error}") from None
        ensure_no_complaint(server)
    return (f"seed {seed}: {rounds} kills, {fleet.acknowledged()} acknowledged, "
            f"restart {max(times) * 1000:.0f} ms at most")
