"""Simulated impressions as a Parquet file, which ``fabcost replay`` reads."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from fabcost import __version__
from fabcost.paper.designs import Dataset

REWARD = "clicked"

_ROWS_AT_ONCE = 65_536


def write(
    impressions: Dataset,
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
    """
    check_new(path, force=force)
    weights = dict(zip(impressions.columns, impressions.theta.tolist(), strict=True))
    origin = {"design": design, "seed": seed, "version": __version__, "weights": weights}
    fields = [(name, pa.float64()) for name in impressions.columns[1:]] + [(REWARD, pa.bool_())]
    schema = pa.schema(fields, metadata={"fabcost": json.dumps(origin)})
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with pyarrow.parquet.ParquetWriter(unfinished, schema, write_page_checksum=True) as file:
            for start in range(0, impressions.y.size, _ROWS_AT_ONCE):
                rows = slice(start, start + _ROWS_AT_ONCE)
                columns = [*impressions.X[rows, 1:].T, impressions.y[rows] == 1.0]
                table = pa.table([pa.array(each) for each in columns], schema=schema)
                file.write_table(table)
                if advance is not None:
                    advance(table.num_rows)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def check_new(path: Path, *, force: bool = False) -> None:
    """Refuse a name that `write` would refuse."""
    if path.suffix != ".parquet":
        raise ValueError(f"{path} must end in .parquet")
    if path.exists() and not force:
        raise ValueError(f"{path} exists but is only overwritten with --force")
