"""The rows of CSV and Parquet files, as they are written there."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from fabcost.features.tables.files import delimiter

Record = dict[str, Any]

_SHOWN = 10


def read_records(path: Path, columns: Sequence[str] | None = None) -> Iterator[Record]:
    """The rows of a CSV (also .gz) or Parquet file, with the named columns or all."""
    suffixes = path.suffixes[-2:]
    if suffixes[-1:] == [".parquet"]:
        return _parquet_records(path, columns)
    if suffixes[-1:] == [".csv"] or suffixes == [".csv", ".gz"]:
        return _csv_records(path, columns)
    raise ValueError(f"{path} must end in .csv, .csv.gz or .parquet")


def parquet_columns(path: Path) -> list[str]:
    """The names of the columns of a Parquet file."""
    with _parquet_file(path) as file:
        return list(file.schema_arrow.names)


def check_columns(path: Path, present: Iterable[str], wanted: Iterable[str]) -> None:
    """A ValueError names a wanted column that is not there."""
    names = [name for name in present if name]
    for name in wanted:
        if name and name not in names:
            shown = ", ".join(islice(names, _SHOWN)) + (", …" if len(names) > _SHOWN else "")
            raise ValueError(f"{path} has no column {name!r}; it has {shown or 'none'}")


def _csv_records(path: Path, columns: Sequence[str] | None) -> Iterator[Record]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8-sig", newline="") as lines:
        reader = csv.reader(lines, delimiter=delimiter(path))
        heading = next(reader, [])
        wanted = heading if columns is None else list(columns)
        check_columns(path, heading, wanted)
        places = [heading.index(name) for name in wanted]
        for fields in reader:
            if fields:
                yield {
                    name: fields[place] if place < len(fields) else None
                    for name, place in zip(wanted, places, strict=True)
                }


def _parquet_records(path: Path, columns: Sequence[str] | None) -> Iterator[Record]:
    with _parquet_file(path) as file:
        wanted = file.schema_arrow.names if columns is None else list(columns)
        check_columns(path, file.schema_arrow.names, wanted)
        for batch in file.iter_batches(columns=wanted):
            yield from batch.to_pylist()


def _parquet_file(path: Path) -> Any:
    try:
        import pyarrow.parquet as pq  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ValueError(
            f"{path} is Parquet, which needs the extra 'reports': pip install 'fabcost[reports]'"
        ) from error
    return pq.ParquetFile(path)
