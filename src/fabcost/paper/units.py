"""Pieces of work: done side by side, kept, and found again unless their code has changed.

How much work a reproduction is, its scale says.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import time
import zipfile
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.util import resolve_name
from pathlib import Path
from typing import Any

import numpy as np

import fabcost
from fabcost.offline.processes import workers

Result = dict[str, Any]
PACKAGE = Path(fabcost.__file__).parent
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
# A file that the disk did not keep whole is as good as none.
_UNREADABLE = (
    FileNotFoundError,
    ValueError,
    KeyError,
    TypeError,
    EOFError,
    zipfile.BadZipFile,
    zlib.error,
)


@dataclass(frozen=True)
class Unit:
    """A function of the module level and its arguments, plain JSON values all of them.

    The function returns plain JSON values and NumPy arrays by name; the same arguments give the
    same values, apart from measured seconds.

    Examples
    --------
    >>> Unit("answer", dict, {"value": 42}).compute()["value"]
    42
    """

    name: str  # distinct among the units of a run; also that of its files
    function: Callable[..., Result]
    arguments: Mapping[str, Any] = field(default_factory=dict)  # seeds included
    weight: float = 1.0  # about how many seconds it takes, for the progress bar
    alone: bool = False  # whether it measures time and must not share the machine

    def compute(self) -> Result:
        """Do the work; its seconds are added to the result."""
        start = time.perf_counter()
        result = self.function(**self.arguments)
        return {**result, "seconds": time.perf_counter() - start}

    @property
    def fingerprint(self) -> str:
        """Changes with the function, its arguments, and the code of fabcost that it can reach."""
        module, function = self.function.__module__, self.function.__qualname__
        text = json.dumps([module, function, self.arguments, digest(module)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


class UnitFolder:
    """A directory of finished units: a JSON file for each, its arrays beside it.

    A file appears under its name only when it is complete, arrays first, so that a unit which
    was interrupted is simply not there.

    ``origin`` is kept beside every result, with the time: by which commit and machine it was made.

    Examples
    --------
    >>> import tempfile
    >>> folder = UnitFolder(Path(tempfile.mkdtemp()))
    >>> unit = Unit("answer", dict, {"value": [1, 2]})
    >>> folder.find(unit) is None
    True
    >>> folder.keep(unit, {"value": [1, 2], "curve": np.arange(3.0)})
    >>> folder.find(unit)["curve"]
    array([0., 1., 2.])
    """

    def __init__(self, directory: Path, origin: Mapping[str, str] | None = None) -> None:
        self._directory = directory
        self._origin = dict(origin or {})
        directory.mkdir(parents=True, exist_ok=True)

    def find(self, unit: Unit) -> Result | None:
        """The result of the unit, if it was kept and nothing that it depends on has changed."""
        try:
            kept = self._read(unit)
            if kept["fingerprint"] != unit.fingerprint:
                return None
            file = self._path(unit, ".npz").open("rb")
            with file, np.load(file, allow_pickle=False) as arrays:
                return {**kept["values"], **{name: arrays[name] for name in arrays.files}}
        except _UNREADABLE:
            return None

    def origin(self, unit: Unit) -> dict[str, str]:
        """Where the result comes from: what the folder was told when it was kept, and the time."""
        return dict(self._read(unit)["origin"])

    def keep(self, unit: Unit, result: Result) -> None:
        """Write the result so that `find` has it, whatever happens meanwhile."""
        arrays = {name: each for name, each in result.items() if isinstance(each, np.ndarray)}
        values = {name: each for name, each in result.items() if name not in arrays}
        self._path(unit, ".json").unlink(missing_ok=True)  # it speaks of the arrays before
        unfinished = self._path(unit, ".npz.part")
        with unfinished.open("wb") as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
        os.replace(unfinished, self._path(unit, ".npz"))
        origin = {**self._origin, "finished": datetime.now(UTC).isoformat(timespec="seconds")}
        kept = {"fingerprint": unit.fingerprint, "origin": origin, "values": values}
        unfinished = self._path(unit, ".json.part")
        unfinished.write_text(json.dumps(kept, allow_nan=False), encoding="utf-8")
        os.replace(unfinished, self._path(unit, ".json"))

    def _read(self, unit: Unit) -> dict[str, Any]:
        kept: dict[str, Any] = json.loads(self._path(unit, ".json").read_text(encoding="utf-8"))
        return kept

    def _path(self, unit: Unit, suffix: str) -> Path:
        return self._directory / f"{unit.name}{suffix}"


def run(
    units: Sequence[Unit],
    folder: UnitFolder,
    *,
    jobs: int,
    begin: Callable[[Unit], object] = lambda _: None,
    advance: Callable[[Unit], object] = lambda _: None,
) -> dict[str, Result]:
    """The results of all units by name, computing only those that the folder does not have.

    ``begin`` is told of every unit that has to be computed when its turn comes, ``advance`` of
    every unit when its result is there.  Results are as read from the folder, so that they are the
    same when they are found again.

    Examples
    --------
    >>> import tempfile
    >>> folder = UnitFolder(Path(tempfile.mkdtemp()))
    >>> run([Unit("answer", dict, {"value": 42})], folder, jobs=1)["answer"]["value"]
    42
    """
    names = [unit.name for unit in units]
    if len(set(names)) < len(names):
        raise ValueError(f"units must have distinct names but they are {', '.join(names)}")
    found: dict[str, Result] = {}

    def take(unit: Unit) -> bool:
        kept = folder.find(unit)
        if kept is not None:
            found[unit.name] = kept
            advance(unit)
        return kept is not None

    def finish(unit: Unit, result: Result) -> None:
        folder.keep(unit, result)
        if not take(unit):
            raise OSError(f"the result of {unit.name} was written but cannot be read")

    missing = [unit for unit in units if not take(unit)]
    for alone, processes in ((True, 1), (False, jobs)):
        _compute([unit for unit in missing if unit.alone is alone], processes, begin, finish)
    return {name: found[name] for name in names}


def _compute(
    units: Sequence[Unit],
    jobs: int,
    begin: Callable[[Unit], object],
    finish: Callable[[Unit, Result], None],
) -> None:
    """The longest first, so that the processes end together."""
    if not units:
        return
    waiting = deque(sorted(units, key=lambda unit: -unit.weight))
    running: dict[Future[Result], Unit] = {}
    with workers(min(jobs, len(units))) as pool:
        while waiting or running:
            while waiting and len(running) < jobs:
                unit = waiting.popleft()
                running[pool.submit(unit.compute)] = unit
                begin(unit)
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                finish(running.pop(future), future.result())


@cache
def digest(module: str, package: Path = PACKAGE) -> str:
    """Changes with the code of a module, and of all modules of the package that it can reach.

    Imports are followed wherever they stand, those of functions included.  Comments, docstrings
    and layout do not count, nor does code of other packages.

    Examples
    --------
    >>> digest("fabcost.gaussian") == digest("fabcost.paper.tour")
    False
    """
    reached: dict[str, str] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = _file(name, package)
        if path is not None and name not in reached:
            reached[name], imports = _read(path, name)
            waiting += [*imports, name.rpartition(".")[0]]
    return hashlib.sha256(repr(sorted(reached.items())).encode()).hexdigest()


def _file(module: str, package: Path) -> Path | None:
    first, *inner = module.split(".")
    if first != package.name:
        return None
    place = package.joinpath(*inner)
    candidates = (place.with_suffix(".py"), place / "__init__.py")
    return next((path for path in candidates if path.is_file()), None)


def _read(path: Path, module: str) -> tuple[str, tuple[str, ...]]:
    """A hash of what the file says, and the modules that it may import."""
    home = module if path.name == "__init__.py" else module.rpartition(".")[0]
    return _understood(path.read_bytes(), home)


@cache
def _understood(source: bytes, home: str) -> tuple[str, tuple[str, ...]]:
    tree = ast.parse(source)
    imports = tuple(_imports(tree, home))
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest(), imports


def _imports(tree: ast.AST, home: str) -> Iterator[str]:
    """Names that are modules, or that may be."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = resolve_name("." * node.level + (node.module or ""), home)
            yield from (origin, *(f"{origin}.{each.name}" for each in node.names))


@dataclass(frozen=True)
class Scale:
    """Sizes of every part; ``name`` is the one on the command line."""

    name: str
    day_rows: int  # impressions of the simulated day of car adverts (15 covariates)
    posterior_sizes: tuple[int, ...]  # where marginals are drawn; the last is the whole day
    convergence_sizes: tuple[int, ...]  # where errors are measured
    streams: int  # independent data sets behind each point of the convergence figure
    draws: int  # of NUTS
    truth_draws: int  # of importance sampling on the day; the easier design takes a quarter
    fitted_from: int  # impressions from which on rates of convergence are fitted
    ep_batch: int  # impressions after which a method that works in batch is run again
    bandit_seeds: int  # paired replays of each policy
    bandit_rounds: int  # of each replay
    whole_day: bool  # whether replays are also run to the last impression
    timed_rows: int  # impressions on which costs are measured
    timed_widths: tuple[int, ...]  # numbers of weights with which their growth is measured


QUICK = Scale(
    name="quick",
    day_rows=30_000,
    posterior_sizes=(1_000, 3_000, 10_000, 30_000),
    convergence_sizes=(100, 300, 1_000, 3_000, 10_000, 30_000),
    streams=4,
    draws=1_000,
    truth_draws=64_000,
    fitted_from=1_000,
    ep_batch=1_000,
    bandit_seeds=8,
    bandit_rounds=1_500,
    whole_day=False,
    timed_rows=20_000,
    timed_widths=(48, 96, 192),
)
PAPER = Scale(
    name="paper",
    day_rows=678_446,
    posterior_sizes=(1_000, 10_000, 50_000, 678_446),
    convergence_sizes=(100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000),
    streams=12,
    draws=4_000,
    truth_draws=160_000,
    fitted_from=1_000,
    ep_batch=5_000,
    bandit_seeds=30,
    bandit_rounds=31_000,
    whole_day=True,
    timed_rows=678_446,
    timed_widths=(48, 96, 192),
)
SCALES = {scale.name: scale for scale in (QUICK, PAPER)}


def find_scale(name: str) -> Scale:
    """The scale of that name.

    Examples
    --------
    >>> find_scale("paper").day_rows
    678446
    """
    if name not in SCALES:
        raise ValueError(f"scale is {name!r} but must be one of {', '.join(SCALES)}")
    return SCALES[name]
