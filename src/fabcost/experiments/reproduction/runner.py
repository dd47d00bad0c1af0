"""Run units side by side on the cores, those that measure time by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed

from threadpoolctl import threadpool_limits

from fabcost.experiments.processes import workers
from fabcost.experiments.reproduction.units import Result, Store, Unit

Results = dict[str, Result]
Advance = Callable[[Unit], None]


def run(
    units: Sequence[Unit], store: Store, *, jobs: int, advance: Advance | None = None
) -> Results:
    """The results of all units by name, computing only those that the store does not have.

    ``advance`` is told of every unit when its result is there.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> store = Store(Path(tempfile.mkdtemp()))
    >>> run([Unit("answer", dict, {"value": 42})], store, jobs=1)["answer"]["value"]
    42
    """
    names = [unit.name for unit in units]
    if len(set(names)) < len(names):
        raise ValueError(f"units must have distinct names but they are {', '.join(names)}")
    results: Results = {}
    for unit, result in _found_or_computed(units, store, jobs):
        results[unit.name] = result
        if advance is not None:
            advance(unit)
    return {name: results[name] for name in names}


def _found_or_computed(
    units: Sequence[Unit], store: Store, jobs: int
) -> Iterator[tuple[Unit, Result]]:
    missing = []
    for unit in units:
        kept = store.find(unit)
        if kept is None:
            missing.append(unit)
        else:
            yield unit, kept
    for unit, result in _computed(missing, jobs):
        store.keep(unit, result)
        yield unit, result


def _computed(units: Sequence[Unit], jobs: int) -> Iterator[tuple[Unit, Result]]:
    for unit in units:
        if unit.alone:
            with threadpool_limits(1):
                yield unit, unit.compute()
    shared = [unit for unit in units if not unit.alone]
    if shared:
        yield from _side_by_side(shared, jobs)


def _side_by_side(units: Sequence[Unit], jobs: int) -> Iterator[tuple[Unit, Result]]:
    """The longest first, so that the processes end together."""
    longest_first = sorted(units, key=lambda unit: -unit.weight)
    with workers(min(jobs, len(units))) as pool:
        running = {pool.submit(unit.compute): unit for unit in longest_first}
        for future in as_completed(running):
            yield running[future], future.result()
