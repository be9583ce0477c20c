# SPDX-License-Identifier: BSD-3-Clause
"""Killed during recovery, and again, and again: recovery can be repeated from wherever it was stopped."""

from fault_matrix import Trial, points
from lib.checks import ensure_no_complaint
from lib.runner import Failure
from lib.server import ServerError
from lib.wire import WireError

# Where a start after a crash may be; those that the table has.
PLACES = ("LOG_READ LOG_REWRITE LOG_OPEN LOG_ZERO LOG_HEADER LOG_RENAME LOG_SYNC DIR_SYNC LOG_WRITE LOG_UNLINK "
          "TREE_COMMIT TREE_COMMITTED TREE_UNLINK MANIFEST_WRITE RECOVERY_SCANNED RECOVERY_REPLAYED "
          "CHECKPOINT_BEGIN CHECKPOINT_WAIT CHECKPOINT_END").split()
CRASHES = 3


def crash_at_recovery(trial):
    """One start that ends by a kill; returns where."""
    place = trial.rng.choice([place for place in PLACES if place in points()])
    if trial.dies_at_start(f"{place}:{trial.rng.choice((1, 1, 2))}:kill"):
        return place
    trial.server.kill9()
    return "serving"


def run(binary, seed, scenarios):
    died = {}
    for number in range(scenarios):
        with Trial(binary, seed + number) as trial:
            path = []
            try:
                trial.server.start()
                trial.fleet.load_base()
                trial.load_and_kill(0.1)
                for _ in range(CRASHES):
                    path.append(crash_at_recovery(trial))
                trial.recovered()
                trial.load_and_kill(0.1)
                trial.recovered()
                trial.close()
                ensure_no_complaint(trial.server)
            except (Failure, ServerError, WireError) as error:
                raise Failure(f"seed {seed + number}, stopped at {' '.join(path)}: {error}\n"
                              f"{trial.server.log_tail()}") from None
            for place in path:
                died[place] = died.get(place, 0) + 1
    return f"seed {seed}: {scenarios} stores, {sum(died.values())} crashes at {len(died)} places"
