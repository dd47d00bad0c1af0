"""A sheet: the cells of a file as they were read, with the number of every bad row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fabcost.features.tables import cells
from fabcost.features.tables.cells import BoolArray

_SHOWN = 10


class Fault(NamedTuple):
    """A bad row: its number (from 1, without a heading), the column, what it is, what it must."""

    row: int
    column: str
    found: str
    expected: str

    def __str__(self) -> str:
        return f"row {self.row}: {self.column} {self.found} but must {self.expected}"

    @property
    def kind(self) -> str:
        """The same of all rows that lack the same."""
        return f"{self.column} must {self.expected}"


class BadRowsError(ValueError):
    """Rows that are not what they must be; `faults` names each.

    Examples
    --------
    >>> print(BadRowsError("log.csv", [Fault(3, "age", "is 'old'", "be a number")]))
    log.csv has 1 bad row:
      row 3: age is 'old' but must be a number
    """

    def __init__(self, source: str, faults: Sequence[Fault]) -> None:
        lines = [str(fault) for fault in faults[:_SHOWN]]
        if len(faults) > _SHOWN:
            lines.append(f"… and {len(faults) - _SHOWN:,} more")
        rows = "1 bad row" if len(faults) == 1 else f"{len(faults):,} bad rows"
        super().__init__(f"{source} has {rows}:\n  " + "\n  ".join(lines))
        self.faults = tuple(faults)


class Wrong(NamedTuple):
    """Which cells of a column are wrong, and what they must be instead."""

    column: str
    rows: BoolArray
    expected: str


@dataclass(frozen=True, eq=False)
class Sheet:
    """A file's cells as they were read: row ``numbers[i]`` of the file is row i of the table.

    Examples
    --------
    >>> import pyarrow
    >>> Sheet.of(pyarrow.table({"age": [3, 5]})).columns
    ['age']
    """

    name: str
    table: Any
    numbers: npt.NDArray[np.intp]
    faults: tuple[Fault, ...] = ()  # rows that could not be read at all
    kinds: Mapping[str, cells.Kind] = field(default_factory=dict)  # of columns, where it is told

    @classmethod
    def of(cls, table: Any, name: str = "the table") -> Sheet:
        """A pyarrow table that is at hand."""
        return cls(name, table, np.arange(1, table.num_rows + 1))

    def __len__(self) -> int:
        return int(self.numbers.size)

    def after(self, row: int) -> Sheet:
        """The rows of larger numbers."""
        new = self.numbers > row
        if new.all() and all(fault.row > row for fault in self.faults):
            return self
        faults = tuple(fault for fault in self.faults if fault.row > row)
        return Sheet(self.name, self.table.filter(new), self.numbers[new], faults, self.kinds)

    @property
    def columns(self) -> list[str]:
        """Their names; a column without one, such as row numbers, is none."""
        return [name for name in self.table.column_names if name]

    def check_has(self, names: Iterable[str]) -> None:
        """A ValueError names a column that is not there."""
        present = self.columns
        for name in names:
            if name not in present:
                shown = ", ".join(islice(present, _SHOWN)) + (", …" if present[_SHOWN:] else "")
                raise ValueError(f"{self.name} has no column {name!r}; it has {shown or 'none'}")

    def clean(self, names: Iterable[str]) -> tuple[dict[str, Any], list[Wrong]]:
        """The named columns, cleaned as `cells.clean` does, and what is wrong in them."""
        kinds = self.kinds
        found = {name: cells.clean(name, self.table[name], kinds.get(name)) for name in names}
        values = {name: each.values for name, each in found.items()}
        musts = {
            name: cells.A_DATE if kinds.get(name) == "date" else cells.A_NUMBER for name in found
        }
        return values, [Wrong(name, found[name].wrong, musts[name]) for name in found]

    def check(self, wrong: Sequence[Wrong]) -> None:
        """A `BadRowsError` names every bad row."""
        faults = self.bad(wrong)
        if faults:
            raise BadRowsError(self.name, faults)

    def sound(self, wrong: Sequence[Wrong], *, skip: bool) -> tuple[BoolArray, Counter[str]]:
        """Which rows are sound, and how many are not, by kind; unless ``skip``, none may be bad."""
        if not skip:
            self.check(wrong)
        faults = self.bad(wrong)
        sound = ~np.any([each.rows for each in wrong], axis=0)
        if not sound.size and not faults:
            raise ValueError(f"{self.name} has no rows")
        if not sound.any():
            raise ValueError(f"{self.name} has no sound row ({len(faults):,} bad ones)")
        return sound, Counter(fault.kind for fault in faults)

    def bad(self, wrong: Iterable[Wrong]) -> list[Fault]:
        """The first fault of each bad row."""
        found: dict[int, Fault] = {fault.row: fault for fault in self.faults}
        for name, bad, expected in wrong:
            for place in np.flatnonzero(bad):
                row, value = int(self.numbers[place]), self.table[name][int(place)].as_py()
                shown = "is missing" if value in (None, "") else f"is {value!r}"
                found.setdefault(row, Fault(row, name, shown, expected))
        return sorted(found.values())
