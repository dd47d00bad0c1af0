"""Run units side by side on the cores, those that measure time by themselves."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing

from fabcost.offline.processes import workers
from fabcost.paper.engine.units import Result, Unit, UnitFolder

Tell = Callable[[Unit], None]
Finished = Generator[tuple[Unit, Result], None, None]


def run(
    units: Sequence[Unit],
    folder: UnitFolder,
    *,
    jobs: int,
    begin: Tell | None = None,
    advance: Tell | None = None,
) -> dict[str, Result]:
    """The results of all units by name, computing only those that the folder does not have.

    ``begin`` is told of every unit that has to be computed when its turn comes, ``advance`` of
    every unit when its result is there.  Results are as read from the folder, so that they are the
    same when they are found again.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> folder = UnitFolder(Path(tempfile.mkdtemp()))
    >>> run([Unit("answer", dict, {"value": 42})], folder, jobs=1)["answer"]["value"]
    42
    """
    names = [unit.name for unit in units]
    if len(set(names)) < len(names):
        raise ValueError(f"units must have distinct names but they are {', '.join(names)}")
    results: dict[str, Result] = {}
    with closing(_found_or_computed(units, folder, jobs, begin or _ignore)) as finished:
        for unit, result in finished:
            results[unit.name] = result
            (advance or _ignore)(unit)
    return {name: results[name] for name in names}


def _ignore(unit: Unit) -> None:
    """Nobody wants to know of ``unit``."""


def _found_or_computed(
    units: Sequence[Unit], folder: UnitFolder, jobs: int, begin: Tell
) -> Finished:
    missing = []
    for unit in units:
        kept = folder.find(unit)
        if kept is None:
            missing.append(unit)
        else:
            yield unit, kept
    with closing(_computed(missing, jobs, begin)) as computed:
        for unit, result in computed:
            folder.keep(unit, result)
            kept = folder.find(unit)
            if kept is None:
                raise OSError(f"the result of {unit.name} was written but cannot be read")
            yield unit, kept


def _computed(units: Sequence[Unit], jobs: int, begin: Tell) -> Finished:
    alone = [unit for unit in units if unit.alone]
    shared = [unit for unit in units if not unit.alone]
    for group, processes in ((alone, 1), (shared, jobs)):
        if group:
            with closing(_side_by_side(group, processes, begin)) as computed:
                yield from computed


def _side_by_side(units: Sequence[Unit], jobs: int, begin: Tell) -> Finished:
    """The longest first, so that the processes end together."""
    waiting = deque(sorted(units, key=lambda unit: -unit.weight))
    running: dict[Future[Result], Unit] = {}
    with workers(min(jobs, len(units))) as pool:
        while waiting or running:
            while waiting and len(running) < jobs:
                unit = waiting.popleft()
                running[pool.submit(unit.compute)] = unit
                begin(unit)
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()
