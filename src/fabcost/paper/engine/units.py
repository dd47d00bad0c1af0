"""Pieces of work that are done once, kept, and found again after an interruption."""

from __future__ import annotations

import hashlib
import json
import os
import time
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fabcost.paper.engine.fingerprint import digest

Result = dict[str, Any]
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

    Parameters
    ----------
    name
        Distinct among the units of a run; also the name of its files.
    function
        Returns plain JSON values and NumPy arrays by name.  The same arguments give the same
        values, apart from measured seconds.
    arguments
        Everything that the result depends on, seeds included.
    weight
        About how many seconds it takes, for the progress bar.
    alone
        Whether it measures time and must not share the machine with other units.

    Examples
    --------
    >>> Unit("answer", dict, {"value": 42}).compute()["value"]
    42
    """

    name: str
    function: Callable[..., Result]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    weight: float = 1.0
    alone: bool = False

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
        self._write_arrays(unit, arrays)
        origin = {**self._origin, "finished": datetime.now(UTC).isoformat(timespec="seconds")}
        kept = {"fingerprint": unit.fingerprint, "origin": origin, "values": values}
        text = json.dumps(kept, allow_nan=False)
        temporary = self._path(unit, ".json.part")
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, self._path(unit, ".json"))

    def _write_arrays(self, unit: Unit, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        self._path(unit, ".json").unlink(missing_ok=True)  # it speaks of the arrays before
        temporary = self._path(unit, ".npz.part")
        with temporary.open("wb") as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
        os.replace(temporary, self._path(unit, ".npz"))

    def _read(self, unit: Unit) -> dict[str, Any]:
        kept: dict[str, Any] = json.loads(self._path(unit, ".json").read_text(encoding="utf-8"))
        return kept

    def _path(self, unit: Unit, suffix: str) -> Path:
        return self._directory / f"{unit.name}{suffix}"
