"""Clicks of every setting on the same seeds, and the seconds of the defaults' calls."""

from __future__ import annotations

import multiprocessing
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from studies.peers.settings import HUGE, LARGE, OURS, RIVAL, SETTINGS, SMALL, Setting
from studies.peers.workload import Round, played, scenario
from studies.timing import median

_WARM_UP = 20
_TIMED_ROUNDS = 4_000
_PROCESSES = 2
TIMED = (SMALL, LARGE, HUGE)


@dataclass(frozen=True)
class Sizes:
    """How much to play: the contenders, fabcost and its rival as they come, get more seeds."""

    rounds: int
    seeds: dict[int, int]
    contender_seeds: dict[int, int]
    blocks: int
    block: float


FULL = Sizes(5_000, {SMALL: 5, LARGE: 3}, {SMALL: 24, LARGE: 24}, blocks=10, block=0.12)
QUICK = Sizes(100, {SMALL: 1, LARGE: 1}, {SMALL: 2, LARGE: 2}, blocks=2, block=0.01)


class Task(NamedTuple):
    """One run: which setting, on how many items, with which seed, for how many rounds."""

    setting: int
    items: int
    seed: int
    rounds: int


class Clock(NamedTuple):
    """Seconds of the typical calls of one policy, and of its updates on average."""

    decide: float
    update: float
    mean_update: float


Shares = dict[tuple[int, int], dict[int, float]]
Clocks = dict[tuple[int, int], Clock]


def tasks(sizes: Sizes) -> list[Task]:
    """Every run, the longest first so that the processes end together."""
    return [
        Task(number, items, seed, sizes.rounds)
        for items in (LARGE, SMALL)
        for number, setting in sorted(enumerate(SETTINGS), key=lambda each: -each[0])
        if items in setting.shares
        for seed in range(_seeds(setting, items, sizes))
    ]


def _seeds(setting: Setting, items: int, sizes: Sizes) -> int:
    contends = setting.default and setting.library in {OURS, RIVAL}
    return (sizes.contender_seeds if contends else sizes.seeds)[items]


def shares(todo: list[Task]) -> Iterator[tuple[Task, float]]:
    """Play the runs side by side, each on one thread, and give each share as it comes."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(_PROCESSES, context, quietly) as pool:
        runs: dict[Future[float], Task] = {pool.submit(_share, task): task for task in todo}
        for run in as_completed(runs):
            yield runs[run], run.result()


def quietly() -> None:
    """One thread, and no word of rows on which a peer has not converged."""
    threadpool_limits(1)
    warnings.simplefilter("ignore")


def _share(task: Task) -> float:
    world = scenario(task.items, task.rounds, task.seed)
    player = SETTINGS[task.setting].make(task.seed, task.items)
    return world.share([each.chosen for each in played(player, world)])


def clocks(items: int, sizes: Sizes) -> Clocks:
    """Time the default of every library on one catalogue, in turns."""
    world = scenario(items, min(sizes.rounds, _TIMED_ROUNDS), 0)
    streams = {
        number: played(setting.make(0, items), world)
        for number, setting in enumerate(SETTINGS)
        if setting.default and items in setting.timed
    }
    for stream in streams.values():
        _block(stream, 0.0)
    rounds: dict[int, list[Round]] = {number: [] for number in streams}
    for _ in range(sizes.blocks):
        for number, stream in streams.items():
            rounds[number] += _block(stream, sizes.block)
    return {(number, items): _clock(found) for number, found in rounds.items()}


def _block(stream: Iterator[Round], duration: float) -> list[Round]:
    """Play for ``duration`` seconds, but some rounds at least; nothing if the stream is over."""
    stop = time.perf_counter() + duration
    found = list(islice(stream, _WARM_UP if duration == 0 else 3))
    while time.perf_counter() < stop and (more := list(islice(stream, 3))):
        found += more
    return found


def _clock(rounds: list[Round]) -> Clock:
    _, decide, update = np.array(rounds).T
    return Clock(median(decide), median(update), float(update.mean()))
