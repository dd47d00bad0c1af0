"""Parquet and CSV files as pyarrow tables."""

from __future__ import annotations

import csv
import gzip
import importlib
from pathlib import Path
from typing import Any

DELIMITERS = (",", ";", "\t")


def read_file(path: Path) -> Any:
    """The table in a .parquet, .csv or .csv.gz file, by pyarrow.

    Examples
    --------
    >>> read_file(Path("log.txt"))
    Traceback (most recent call last):
    ValueError: log.txt ends in '.txt' but must be a .parquet or .csv file
    """
    if path.suffix == ".parquet":
        return _pyarrow("parquet", path).read_table(path)
    if path.suffix == ".csv" or path.suffixes[-2:] == [".csv", ".gz"]:
        arrow = _pyarrow("csv", path)
        options = arrow.ParseOptions(delimiter=delimiter(path), newlines_in_values=True)
        return arrow.read_csv(path, parse_options=options)
    raise ValueError(f"{path} ends in {path.suffix!r} but must be a .parquet or .csv file")


def delimiter(path: Path) -> str:
    """Comma, semicolon or tab: the one that makes the most columns of a CSV file's heading.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "log.csv")
    ...     _ = path.write_text('"age";"last, first name";"job"')
    ...     delimiter(path)
    ';'
    """
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8-sig", newline="") as lines:
        heading = [lines.readline()]
    return max(DELIMITERS, key=lambda each: len(next(csv.reader(heading, delimiter=each), [])))


def _pyarrow(module: str, path: Path) -> Any:
    try:
        return importlib.import_module(f"pyarrow.{module}")
    except ImportError as error:
        raise ImportError(f"{path} needs pyarrow: pip install 'fabcost[reports]'") from error
