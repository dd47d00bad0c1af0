"""Files of rows: CSV and TSV, Parquet and JSON Lines, with the number of every bad row.

Only what reads files imports this module: it needs pyarrow.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from fabcost.features.tables.columns import arrow_table
from fabcost.features.tables.sheet import Fault, Sheet

ENDINGS = ".csv, .tsv or .jsonl (also .gz, or one in a .zip), or .parquet"

DELIMITERS = (",", ";", "\t")
_JSON = (".jsonl", ".ndjson")
_AN_OBJECT = "be a JSON object"
#: With or without a mark; or as spreadsheets write: Latin-1, and a few letters more.
_FIRST, _OTHER = "utf-8-sig", "cp1252"
_HINT = "is not UTF-8 and was read as Latin-1; if names look odd: iconv -f ENCODING -t UTF-8"


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
            table = pyarrow.parquet.read_table(path, page_checksum_verification=True)
            return Sheet.of(arrow_table(table), str(path))
        if kind in (".csv", ".tsv"):
            return _read_csv(path, DELIMITERS if kind == ".csv" else ("\t",))
        if kind in _JSON:
            with io.TextIOWrapper(pa.input_stream(str(path)), encoding="utf-8-sig") as lines:
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


def _read_csv(path: Path, delimiters: Sequence[str]) -> Sheet:
    def opened() -> Any:
        return pa.input_stream(str(path))  # of .gz what is in it

    sheets = list(csv_sheets(str(path), opened, delimiters))
    table = pa.concat_tables(each.table for each in sheets)
    numbers = np.concatenate([each.numbers for each in sheets])
    return Sheet(str(path), table, numbers, tuple(f for each in sheets for f in each.faults))


def csv_sheets(
    name: str,
    opened: Callable[[], Any],
    delimiters: Sequence[str] = DELIMITERS,
    columns: Sequence[str] | None = None,
    block: int = 2**20,
) -> Iterator[Sheet]:
    r"""The rows of a CSV block by block, in UTF-8, UTF-16 or, with a note, Latin-1.

    ``opened`` opens it anew, ``columns`` are all unless given, and blocks about so many bytes.

    Examples
    --------
    >>> cells = "make;age\ncitroën;3\n".encode("utf-16")
    >>> [sheet.table["make"][0].as_py() for sheet in csv_sheets("log", lambda: io.BytesIO(cells))]
    ['citroën']
    """
    (heading, delimiter), first = csv_heading(name, opened, delimiters)
    names, before = heading if columns is None else columns, 0
    guessed = first == _FIRST and "".join(heading).isascii()
    for encoding in (first, _OTHER) if guessed else (first,):
        try:
            for sheet in _cells(name, opened(), encoding, names, delimiter, block):
                yield sheet.after(before)
                before = max([before, *sheet.numbers[-1:], *(each.row for each in sheet.faults)])
        except UnicodeDecodeError:
            continue
        except pa.ArrowInvalid as error:
            raise ValueError(_told(name, opened(), encoding, error)) from error
        if encoding == _OTHER:
            warnings.warn(f"{name} {_HINT}", stacklevel=5)
        return
    with io.TextIOWrapper(opened(), first, "replace") as lines:
        bad = next((number for number, line in enumerate(lines, 1) if "\ufffd" in line), 1)
    expected = "UTF-8, UTF-16 or Latin-1" if guessed else first.removesuffix("-sig").upper()
    raise ValueError(f"{name} cannot be read: line {bad} is no text in {expected}")


def csv_heading(
    name: str, opened: Callable[[], Any], delimiters: Sequence[str] = DELIMITERS
) -> tuple[tuple[list[str], str], str]:
    """The names of a CSV's columns and its delimiter, and in which encoding to read it first.

    Examples
    --------
    >>> csv_heading("log", lambda: io.BytesIO(b"age,age"))
    Traceback (most recent call last):
    ValueError: log has 'age' twice in its heading but names must differ
    """
    with opened() as stream:
        start = stream.read(2)
    encoding = "utf-16" if start in (b"\xff\xfe", b"\xfe\xff") else _FIRST
    line = _first_line(opened(), encoding)
    if "\ufffd" in line:
        encoding = _OTHER
        line = _first_line(opened(), encoding)
    if line.count('"') % 2:
        raise ValueError(
            f"{name} opens a quote in its heading, the first line, and does not close it"
        )
    names, delimiter = heading_of(line.rstrip("\r\n"), delimiters)
    named = [each for each in names if each]
    twice = [each for each, count in Counter(named).items() if count > 1]
    if twice:
        raise ValueError(f"{name} has {twice[0]!r} twice in its heading but names must differ")
    if not named:
        raise ValueError(f"{name} is empty, or has no names of columns in its first line")
    return (named, delimiter), encoding


def _first_line(stream: Any, encoding: str) -> str:
    with io.TextIOWrapper(stream, encoding, "replace", newline="") as text:
        return text.readline()


def _told(name: str, stream: Any, encoding: str, error: pa.ArrowInvalid) -> str:
    """Why a CSV cannot be read: mostly a quote that is not closed, so that a cell has no end."""
    with io.TextIOWrapper(stream, encoding, "replace") as lines:
        odd = [number for number, line in enumerate(lines, start=1) if line.count('"') % 2]
    if len(odd) % 2:
        return f"{name} cannot be read: line {odd[-1]} opens a quote that is never closed"
    return f"{name} cannot be read: {error}"


def _cells(
    name: str, stream: Any, encoding: str, columns: Sequence[str], delimiter: str, block: int
) -> Iterator[Sheet]:
    """Batches of text, and the lines that have not as many cells as the heading."""
    ragged: list[Fault] = []
    options = csv_options(columns, delimiter, ragged)
    options["read_options"].encoding = encoding
    options["read_options"].block_size = block
    before = told = 0
    with stream:
        for batch in pyarrow.csv.open_csv(stream, **options):
            # The reader is a block ahead: what it found there is not of these rows.
            bad = [fault.row for fault in ragged[told:]]
            last = before + len(batch) + len(bad)
            numbers = np.setdiff1d(np.arange(before + 1, last + 1), bad)[: len(batch)]
            before = int(numbers[-1]) if len(batch) else before
            faults = tuple(fault for fault in ragged[told:] if fault.row <= before)
            told += len(faults)
            yield Sheet(name, pa.Table.from_batches([batch]), numbers, faults)
    if ragged[told:] or before == 0:
        nothing = pa.table({each: pa.array([], pa.string()) for each in columns})
        yield Sheet(name, nothing, np.array([], dtype=np.intp), tuple(ragged[told:]))


def csv_options(names: Sequence[str], delimiter: str, ragged: list[Fault]) -> dict[str, Any]:
    """To read cells as text; lines that have not as many as the heading go to ``ragged``.

    Examples
    --------
    >>> csv_options(["age"], ";", [])["parse_options"].delimiter
    ';'
    """

    def note(row: Any) -> str:
        found = f"has {row.actual_columns} cells"
        if row.text.count('"') % 2:
            found = "opens a quote that is never closed, after which all is one cell,"
        must = f"have {row.expected_columns} cells"
        ragged.append(Fault(row.number - 1, "the line", found, must))
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
