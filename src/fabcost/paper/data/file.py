"""Simulated impressions as a Parquet file, which ``fabcost replay`` reads."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from fabcost import __version__
from fabcost.paper.data.designs import DESIGNS, Impressions

REWARD = "clicked"

_ROWS_AT_ONCE = 65_536


def simulate(design: str, rows: int, seed: int) -> Impressions:
    """The impressions of a design by its name.

    Examples
    --------
    >>> simulate("authors", 3, seed=0).X.shape
    (3, 6)
    """
    if design not in DESIGNS:
        raise ValueError(f"design is {design!r} but must be one of {', '.join(DESIGNS)}")
    return DESIGNS[design](rows, seed=seed)


def write(
    impressions: Impressions,
    path: Path,
    *,
    design: str,
    seed: int,
    force: bool = False,
    advance: Callable[[int], None] | None = None,
) -> None:
    """One column for each covariate and ``clicked``; the rest under "fabcost" in the schema.

    The constant is left out, because every reader adds its own.  The file appears when it is
    complete, and an existing one is only replaced by ``force``; ``advance`` is told of the rows.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "day.parquet")
    ...     write(simulate("authors", 9, seed=4), path, design="authors", seed=4)
    ...     read_origin(path)["seed"]
    4
    """
    check_new(path, force=force)
    weights = dict(zip(impressions.columns, impressions.theta.tolist(), strict=True))
    origin = {"design": design, "seed": seed, "version": __version__, "weights": weights}
    fields = [(name, pa.float64()) for name in impressions.columns[1:]] + [(REWARD, pa.bool_())]
    schema = pa.schema(fields, metadata={"fabcost": json.dumps(origin)})
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with pyarrow.parquet.ParquetWriter(unfinished, schema) as file:
            for table in _tables(impressions, schema):
                file.write_table(table)
                if advance is not None:
                    advance(table.num_rows)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def check_new(path: Path, *, force: bool = False) -> None:
    """Refuse a name that `write` would refuse.

    Examples
    --------
    >>> check_new(Path("day.csv"))
    Traceback (most recent call last):
    ...
    ValueError: day.csv must end in .parquet
    """
    if path.suffix != ".parquet":
        raise ValueError(f"{path} must end in .parquet")
    if path.exists() and not force:
        raise ValueError(f"{path} exists but is only overwritten with --force")


def read_origin(path: Path) -> dict[str, Any]:
    """The design, seed, version and true weights of a file that `write` wrote.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "day.parquet")
    ...     write(simulate("authors", 9, seed=4), path, design="authors", seed=4)
    ...     read_origin(path)["weights"]["x2"]
    1.5
    """
    metadata = pyarrow.parquet.read_schema(path).metadata or {}
    if b"fabcost" not in metadata:
        raise ValueError(f"{path} has no origin in its schema: fabcost simulate did not write it")
    return dict(json.loads(metadata[b"fabcost"]))


def _tables(impressions: Impressions, schema: Any) -> Iterator[Any]:
    for start in range(0, impressions.y.size, _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        columns = [*impressions.X[rows, 1:].T, impressions.y[rows] == 1.0]
        yield pa.table([pa.array(each) for each in columns], schema=schema)
