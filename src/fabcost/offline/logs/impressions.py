"""Logs for the replay: files to rows of features and outcomes, with every bad row named."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from fabcost.features.schema import Schema
from fabcost.features.tables import cells
from fabcost.impressions import FloatArray

MOST_LEVELS = 1000
MOST_CELLS = 2**28  # 2 GiB of features

_DELIMITERS = (",", ";", "\t")
_SHOWN = 10


class Fault(NamedTuple):
    """A bad row: its number (from 1, without the heading), the column, its value, what must be."""

    row: int
    column: str
    value: str
    expected: str

    def __str__(self) -> str:
        return f"row {self.row}: {self.column} is {self.value} but must be {self.expected}"


class BadRowsError(ValueError):
    """Rows that are not what they must be; `faults` names each."""

    def __init__(self, source: str, faults: Sequence[Fault]) -> None:
        lines = [str(fault) for fault in faults[:_SHOWN]]
        if len(faults) > _SHOWN:
            lines.append(f"… and {len(faults) - _SHOWN:,} more")
        rows = "1 bad row" if len(faults) == 1 else f"{len(faults):,} bad rows"
        super().__init__(f"{source} has {rows}:\n  " + "\n  ".join(lines))
        self.faults = tuple(faults)


@dataclass(frozen=True, eq=False)
class Source:
    """A table as it was read: row ``numbers[i]`` of the file is row i of the table."""

    name: str
    table: Any
    numbers: npt.NDArray[np.intp]
    faults: tuple[Fault, ...] = ()

    @classmethod
    def of(cls, table: Any, name: str = "the table") -> Source:
        """A table that is at hand."""
        return cls(name, table, np.arange(1, table.num_rows + 1))


@dataclass(frozen=True, eq=False)
class ReplayLog:
    """Impressions as rows of features, and whether each was clicked.

    Attributes
    ----------
    X, y
        The rows of features, of which the first is 1, and the outcomes, 0 or 1.
    columns
        The name of each column of X.
    skipped
        How many rows were left out, for each complaint.
    """

    X: FloatArray
    y: FloatArray
    columns: tuple[str, ...]
    skipped: Counter[str] = field(default_factory=Counter)

    @property
    def warning(self) -> str | None:
        """What a reader should know who expects both outcomes."""
        if 0 < self.y.sum() < self.y.size:
            return None
        return f"every outcome is {self.y[0]:.0f}: every policy has the same clicks"


def read_log(
    path: Path, reward: str, *, drop: Iterable[str] = (), skip_bad_rows: bool = False
) -> ReplayLog:
    r"""The log in a CSV file (its delimiter found, also .gz) or a Parquet file.

    Every named column but ``reward`` and those in ``drop`` is a feature; see `encode`.  A column
    without a name, such as the row numbers that pandas writes, is none.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "log.csv")
    ...     _ = path.write_text("age;make;click\n1;kia;yes\n3;ford;no\n")
    ...     log = read_log(path, "click")
    >>> log.columns, log.y
    (('bias', 'age', 'make=ford', 'make=kia'), array([1., 0.]))
    """
    return encode(read_source(path), reward, drop=drop, skip_bad_rows=skip_bad_rows)


def encode(
    source: Source, reward: str, *, drop: Iterable[str] = (), skip_bad_rows: bool = False
) -> ReplayLog:
    """The features and outcomes of a table.

    Numbers are standardised by the mean and sd over all rows, text has one column for each of its
    values, and a column with empty cells gets one more for them.  These constants come from the
    features of all rows but from no outcome, so that they tell a policy nothing it must learn.

    A row whose reward is no outcome, or that has something else than a finite number in a column
    of numbers, is a `BadRowsError`, or is skipped and counted.

    Examples
    --------
    >>> log = encode(Source.of(pa.table({"age": [1, 3], "click": [True, False]})), "click")
    >>> log.X
    array([[ 1., -1.],
           [ 1.,  1.]])
    """
    names = _features(source, reward, tuple(drop))
    clean = {name: cells.clean(name, source.table[name]) for name in names}
    y, no_outcome = cells.outcomes(source.table[reward])
    wrong = [(reward, no_outcome, cells.OUTCOMES)]
    wrong += [(name, each.wrong, cells.NUMBER) for name, each in clean.items()]
    faults = sorted([*source.faults, *_faults(source, wrong)])
    if faults and not skip_bad_rows:
        raise BadRowsError(source.name, faults)
    sound = ~np.any([bad for _, bad, _ in wrong], axis=0)
    if not sound.any():
        raise ValueError(f"{source.name} has no sound row ({len(faults):,} bad ones)")
    table = pa.table({name: each.values for name, each in clean.items()}).filter(pa.array(sound))
    X, columns = _design(source.name, table)
    skipped = Counter(f"{fault.column} must be {fault.expected}" for fault in faults)
    return ReplayLog(X, y[sound], columns, skipped)


def read_source(path: Path) -> Source:
    """The table in a CSV or Parquet file; CSV cells are still text.

    Examples
    --------
    >>> read_source(Path("log.txt"))
    Traceback (most recent call last):
    ...
    ValueError: log.txt must end in .csv, .csv.gz, .tsv, .tsv.gz or .parquet
    """
    kind = path.suffixes[-2:-1] if path.suffix == ".gz" else path.suffixes[-1:]
    try:
        if path.suffix == ".parquet":
            return Source.of(pyarrow.parquet.read_table(path), str(path))
        if kind and kind[0] in {".csv", ".tsv"}:
            return _read_csv(path)
    except (OSError, EOFError, UnicodeDecodeError, pa.ArrowInvalid) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
    raise ValueError(f"{path} must end in .csv, .csv.gz, .tsv, .tsv.gz or .parquet")


def _read_csv(path: Path) -> Source:
    heading, delimiter = _heading(path)
    named = [name for name in heading if name]
    twice = [name for name, count in Counter(named).items() if count > 1]
    if twice:
        raise ValueError(f"{path} has {twice[0]!r} twice in its heading but names must differ")
    ragged: list[Fault] = []

    def note(row: Any) -> str:
        value = f"{row.actual_columns} cells"
        ragged.append(Fault(row.number - 1, "the line", value, f"{row.expected_columns} cells"))
        return "skip"

    table = pyarrow.csv.read_csv(
        path,
        read_options=pyarrow.csv.ReadOptions(use_threads=False),  # else rows have no numbers
        parse_options=pyarrow.csv.ParseOptions(
            delimiter=delimiter, newlines_in_values=True, invalid_row_handler=note
        ),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(named, pa.string()),
            include_columns=named,
            strings_can_be_null=False,
        ),
    )
    everything = np.arange(1, table.num_rows + len(ragged) + 1)
    numbers = np.setdiff1d(everything, [fault.row for fault in ragged])
    return Source(str(path), table, numbers, tuple(ragged))


def _heading(path: Path) -> tuple[list[str], str]:
    """The names of the columns, and the delimiter that makes most of them."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8-sig", newline="") as lines:
        first = next(iter(lines), "")
    headings = {each: next(csv.reader([first], delimiter=each), []) for each in _DELIMITERS}
    delimiter = max(headings, key=lambda each: len(headings[each]))
    return headings[delimiter], delimiter


def _features(source: Source, reward: str, drop: Sequence[str]) -> list[str]:
    present = [name for name in source.table.column_names if name]
    for name in (reward, *drop):
        if name not in present:
            shown = ", ".join(present) or "none"
            raise ValueError(f"{source.name} has no column {name!r}; it has {shown}")
    names = [name for name in present if name != reward and name not in drop]
    if not names:
        raise ValueError(f"{source.name} has no column left to learn from")
    return names


def _faults(source: Source, wrong: Iterable[tuple[str, cells.BoolArray, str]]) -> Iterable[Fault]:
    """The first fault of each bad row."""
    found: dict[int, Fault] = {}
    for name, bad, expected in wrong:
        for place in np.flatnonzero(bad):
            value = source.table[name][int(place)].as_py()
            row = int(source.numbers[place])
            shown = "missing" if value in (None, "") else repr(value)
            found.setdefault(row, Fault(row, name, shown, expected))
    return found.values()


def _design(name: str, table: Any) -> tuple[FloatArray, tuple[str, ...]]:
    schema = Schema.infer(table, most_levels=MOST_LEVELS)
    for feature in schema.features.values():
        if feature.kind == "text":
            raise ValueError(
                f"column {feature.name!r} of {name} has more than {MOST_LEVELS:,} different "
                "texts, too many for a weight each: drop it"
            )
    if table.num_rows * schema.width > MOST_CELLS:
        widest = max(schema.features.values(), key=lambda feature: len(feature.labels))
        raise ValueError(
            f"{name} makes {table.num_rows:,} rows of {schema.width:,} features but at most "
            f"{MOST_CELLS:,} cells fit: drop a column, such as {widest.name!r} with "
            f"{len(widest.labels):,} features"
        )
    return schema.design(table), schema.columns
