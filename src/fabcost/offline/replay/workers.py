"""Replays on several processes that share one copy of the log on disk."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from fabcost.impressions import FloatArray
from fabcost.offline.methods import Contender
from fabcost.offline.processes import SPAWN, workers

Advance = Callable[[int], None]
Curve = npt.NDArray[np.intp]
Play = Callable[..., Curve]

_LOOK_EVERY_SECONDS = 0.2


class Shared(NamedTuple):
    """What all replays have in common: the log, and the rounds at which clicks are counted."""

    X: FloatArray
    y: FloatArray
    marks: Curve


class Task(NamedTuple):
    """One replay."""

    contender: Contender
    seed: int
    rounds: int
    prior_variance: float


def play_all(
    shared: Shared, tasks: Sequence[Task], play: Play, *, jobs: int, advance: Advance
) -> list[Curve]:
    """Clicks at the marks for each task, in the order of the tasks.

    Every replay has one thread for its linear algebra wherever it runs, so that its bits do not
    depend on ``jobs``.
    """
    if not jobs >= 1:
        raise ValueError(f"jobs is {jobs} but must be at least 1")
    if min(jobs, len(tasks)) == 1:
        with threadpool_limits(1):
            return [_played(shared, task, play, advance) for task in tasks]
    with tempfile.TemporaryDirectory(prefix="fabcost-") as folder:
        for name, array in shared._asdict().items():
            np.save(Path(folder, f"{name}.npy"), array)
        return _played_side_by_side(folder, tasks, play, min(jobs, len(tasks)), advance)


def _played(shared: Shared, task: Task, play: Play, advance: Advance) -> Curve:
    told = 0

    def progress(rounds: int) -> None:
        nonlocal told
        advance(rounds - told)
        told = rounds

    clicks = play(
        shared.X,
        shared.y,
        task.contender,
        seed=task.seed,
        rounds=task.rounds,
        prior_variance=task.prior_variance,
        progress=progress,
    )
    progress(task.rounds)
    return clicks[shared.marks - 1]


def _played_side_by_side(
    folder: str, tasks: Sequence[Task], play: Play, jobs: int, advance: Advance
) -> list[Curve]:
    counter = SPAWN.Value("q", 0)
    with workers(jobs, _Worker.start, folder, counter, play) as pool:
        running = [pool.submit(_Worker.play, task) for task in tasks]
        _watch(running, counter, advance)
        return [each.result() for each in running]


def _watch(running: Sequence[Future[Curve]], counter: Any, advance: Advance) -> None:
    """Tell of progress until all is done; the first failure is raised at once."""
    told, pending = 0, set(running)
    while pending:
        done, pending = wait(pending, _LOOK_EVERY_SECONDS, FIRST_COMPLETED)
        for each in done:
            each.result()
        advance(counter.value - told)
        told = counter.value


class _Worker:
    """What a process keeps between its replays."""

    shared: Shared
    counter: Any
    run: Play

    @classmethod
    def start(cls, folder: str, counter: Any, play: Play) -> None:
        # As plain arrays: indexing a memmap object is several times slower.
        arrays = (
            np.asarray(np.load(Path(folder, f"{name}.npy"), mmap_mode="r"))
            for name in Shared._fields
        )
        cls.shared, cls.counter, cls.run = Shared(*arrays), counter, staticmethod(play)

    @classmethod
    def play(cls, task: Task) -> Curve:
        def advance(rounds: int) -> None:
            with cls.counter.get_lock():
                cls.counter.value += rounds

        return _played(cls.shared, task, cls.run, advance)
