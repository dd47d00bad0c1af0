"""What a fit costs: each is a process of its own, from its start to its end."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet
from sklearn.metrics import log_loss

import fabcost

MEMORY = "1GB"
REWARD = "clicked"
#: A process inherits the peak of the one that starts it, which therefore is to be small.
LAUNCHER = """
import os, sys
nowhere = os.open(os.devnull, os.O_WRONLY)
actions = [(os.POSIX_SPAWN_DUP2, nowhere, 1)]
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=actions)
_, status, used = os.wait4(pid, 0)
print([used.ru_utime + used.ru_stime, used.ru_maxrss / 1024])
sys.exit(os.waitstatus_to_exitcode(status))
"""
FABCOST = (sys.executable, "-m", "fabcost")


class Cost(NamedTuple):
    """Of a command and all processes it started; ``loss`` on rows it has not seen."""

    seconds: float
    processor: float
    megabytes: float  # of its largest process
    loss: float = float("nan")


def run(command: tuple[str, ...]) -> Cost:
    """Run a command to its end."""
    start = time.perf_counter()
    told = subprocess.run(  # noqa: S603
        [sys.executable, "-S", "-c", LAUNCHER, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=True,
    ).stdout
    processor, megabytes = json.loads(told)
    return Cost(time.perf_counter() - start, processor, megabytes)


def fitted(log: Path, held_out: Path | None, *options: str) -> Cost:
    """The cost of `fabcost fit`."""
    out = log.parent / "model.fabcost"
    shutil.rmtree(f"{out}.work", ignore_errors=True)  # of a run that was stopped
    given = ("--reward", REWARD, "--out", str(out), "--force", *options)
    cost = run((*FABCOST, "fit", str(log), *given))
    if held_out is None:
        return cost
    recommender = fabcost.Recommender.load(out)
    table = pyarrow.parquet.read_table(held_out)
    rows = recommender.schema.design(table.drop_columns([REWARD]))
    chances = recommender.learner.posterior.predict(rows)
    return cost._replace(loss=float(log_loss(table[REWARD].to_numpy(), chances)))


def other(name: str, log: Path, held_out: Path) -> Cost:
    """The cost of another library in a process of its own, up to the end of its fit."""
    out, now = log.parent / "other.json", str(time.time())
    given = (name, str(log), str(held_out), str(out), now)
    run((sys.executable, "-m", "studies.scale.others", *given))
    return Cost(*json.loads(out.read_text()))
