"""Files of rows: CSV and TSV, Parquet and JSON Lines, with the number of every bad row.

Only what reads files imports this module: it needs pyarrow.
"""

from __future__ import annotations

import csv
import gzip
import json
import shutil
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TextIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from fabcost.features.tables import cells
from fabcost.features.tables.cells import BoolArray
from fabcost.features.tables.columns import arrow_table

ENDINGS = ".csv, .tsv or .jsonl (also .gz, or one in a .zip), or .parquet"

DELIMITERS = (",", ";", "\t")
_JSON = (".jsonl", ".ndjson")
_AN_OBJECT = "be a JSON object"
_SHOWN = 10
#: As spreadsheets write: Latin-1, and a few letters more.
_OTHER = "cp1252"
_HINT = "is not UTF-8 and was read as Latin-1; if names look odd: iconv -f ENCODING -t UTF-8"


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
    >>> Sheet.of(pa.table({"age": [3, 5]})).columns
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


def read_file(path: Path) -> Sheet:
    """The rows of a file; the cells of CSV are still text.

    Examples
    --------
    >>> read_file(Path("log.txt"))
    Traceback (most recent call last):
    ValueError: log.txt must end in .csv, .tsv or .jsonl (also .gz, or one in a .zip), or .parquet
    """
    if path.suffix == ".zip":
        return _read_zip(path)
    kind = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    try:
        if path.suffix == ".parquet":
            return Sheet.of(arrow_table(pyarrow.parquet.read_table(path)), str(path))
        if kind in (".csv", ".tsv"):
            return _read_csv(path, DELIMITERS if kind == ".csv" else ("\t",))
        if kind in _JSON:
            with _opened(path) as lines:
                return json_sheet(str(path), filter(str.strip, lines))
    except FileNotFoundError:
        raise
    except (OSError, EOFError, UnicodeDecodeError, pa.ArrowInvalid) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
    raise ValueError(f"{path} must end in {ENDINGS}")


def _read_zip(path: Path) -> Sheet:
    try:
        with zipfile.ZipFile(path) as archive, TemporaryDirectory() as folder:
            names = [each for each in archive.namelist() if not each.endswith("/")]
            if len(names) != 1:
                raise ValueError(f"{path} has {len(names)} files but must have one")
            inner = Path(folder, Path(names[0]).name)
            with archive.open(names[0]) as packed, inner.open("wb") as plain:
                shutil.copyfileobj(packed, plain)
            return replace(read_file(inner), name=str(path))
    except (zipfile.BadZipFile, OSError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def _opened(path: Path, encoding: str = "utf-8-sig") -> TextIO:
    opened = gzip.open if path.suffix == ".gz" else open
    return opened(path, "rt", encoding=encoding, newline="")


def _read_csv(path: Path, delimiters: Sequence[str]) -> Sheet:
    try:
        return _read_cells(path, delimiters)
    except (UnicodeDecodeError, pa.ArrowInvalid) as error:
        if "utf8" not in f"{error}".lower().replace("-", ""):
            raise
    found = _read_cells(path, delimiters, _OTHER)
    warnings.warn(f"{path} {_HINT}", stacklevel=4)
    return found


def _read_cells(path: Path, delimiters: Sequence[str], encoding: str = "utf-8-sig") -> Sheet:
    with _opened(path, encoding) as lines:
        heading, delimiter = heading_of(next(iter(lines), ""), delimiters)
    named = [name for name in heading if name]
    twice = [name for name, count in Counter(named).items() if count > 1]
    if twice:
        raise ValueError(f"{path} has {twice[0]!r} twice in its heading but names must differ")
    ragged: list[Fault] = []
    options = csv_options(named, delimiter, ragged)
    options["read_options"].encoding = encoding.removesuffix("-sig")
    table = pyarrow.csv.read_csv(path, **options)
    # The rows by their numbers among those that could not be read.
    every = np.arange(1, table.num_rows + len(ragged) + 1)
    numbers = np.setdiff1d(every, [fault.row for fault in ragged])
    return Sheet(str(path), table, numbers, tuple(ragged))


def csv_options(names: Sequence[str], delimiter: str, ragged: list[Fault]) -> dict[str, Any]:
    """To read cells as text; lines that have not as many as the heading go to ``ragged``.

    Examples
    --------
    >>> csv_options(["age"], ";", [])["parse_options"].delimiter
    ';'
    """

    def note(row: Any) -> str:
        found, expected = f"has {row.actual_columns} cells", f"have {row.expected_columns}"
        ragged.append(Fault(row.number - 1, "the line", found, expected))
        return "skip"

    return {
        # Else rows have no numbers.
        "read_options": pyarrow.csv.ReadOptions(use_threads=False),
        "parse_options": pyarrow.csv.ParseOptions(
            delimiter=delimiter, newlines_in_values=True, invalid_row_handler=note
        ),
        "convert_options": pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            include_columns=list(names),
            strings_can_be_null=False,
        ),
    }


def heading_of(line: str, delimiters: Sequence[str] = DELIMITERS) -> tuple[list[str], str]:
    """The names of the columns, and the delimiter that makes most of them.

    Examples
    --------
    >>> heading_of("age;make")
    (['age', 'make'], ';')
    """
    headings = {each: next(csv.reader([line], delimiter=each), []) for each in delimiters}
    delimiter = max(headings, key=lambda each: len(headings[each]))
    return headings[delimiter], delimiter


def json_sheet(
    name: str, lines: Iterable[str], columns: Iterable[str] | None = None, before: int = 0
) -> Sheet:
    """Lines of JSON objects as a sheet, with all their keys or some, after so many rows before.

    Examples
    --------
    >>> json_sheet("the log", ['{"age": 3}', "{"]).faults[0].row
    2
    """
    records: list[dict[str, Any]] = []
    numbers, broken = [], []
    for row, line in enumerate(lines, start=before + 1):
        record = _object(line)
        if record is None:
            broken.append(Fault(row, "the line", f"is {line.strip()[:40]!r}", _AN_OBJECT))
        else:
            records.append(record)
            numbers.append(row)
    names = dict.fromkeys(name for record in records for name in record)
    wanted = names if columns is None else columns
    cells = {each: _typed([record.get(each) for record in records]) for each in wanted}
    return Sheet(name, pa.table(cells), np.array(numbers, dtype=np.intp), tuple(broken))


def _object(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _typed(values: list[Any]) -> Any:
    """A column of JSON values; of several types, as text, like the cells of CSV."""
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        plain = (str, type(None))
        return pa.array([v if isinstance(v, plain) else json.dumps(v) for v in values])
