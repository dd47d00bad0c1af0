"""Fits on Dask of which a worker or the driver is killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

from studies.scale.costs import FABCOST, MEMORY, REWARD


class Trial(NamedTuple):
    """Who was killed, how often the command was given, and whether the model has the same bits."""

    killed: str
    starts: int
    same: bool


def trial(log: Path, seed: int, expected: bytes) -> Trial:
    """Kill a worker or the driver of a fit at a random moment, and give the command again."""
    rng, out = random.Random(seed), log.parent / f"trial-{seed}.fabcost"  # noqa: S311
    who = ("worker", "driver")[seed % 2]
    given = ["--reward", REWARD, "--out", str(out), "--no-group", "--memory-limit", MEMORY]
    command = [*FABCOST, "fit", str(log), *given, "--dask", "--workers", "2"]
    starts = 0
    while not out.exists():
        starts += 1
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
        if starts == 1:
            _wait_for(Path(f"{out}.work"), process)
            time.sleep(rng.uniform(0.0, 4.0))
            _kill(process, who)
        process.wait()
    return Trial(who, starts, out.read_bytes() == expected)


def _wait_for(work: Path, process: subprocess.Popen[bytes]) -> None:
    """Until the first block is written."""
    while process.poll() is None and not list(work.glob("*/*rows*")):
        time.sleep(0.05)


def _kill(process: subprocess.Popen[bytes], who: str) -> None:
    """With SIGKILL; workers of a driver that is gone end by themselves."""
    if process.poll() is not None:
        return
    asked = ["pgrep", "--parent", str(process.pid), "--full", "spawn_main"]  # the first is a worker
    found = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()  # noqa: S603
    os.kill(process.pid if who == "driver" else int(found[0]), signal.SIGKILL)
