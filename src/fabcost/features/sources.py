"""Tables from which a schema learns: DataFrames, Arrow tables, Parquet and CSV files."""

from __future__ import annotations

import dataclasses
import importlib
import math
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fabcost.features.kinds import (
    Boolean,
    Categorical,
    Feature,
    Missing,
    Numeric,
    Role,
    Text,
    is_missing,
)

Columns = Mapping[str, list[Any]]
_READERS = {".parquet": ("pyarrow.parquet", "read_table"), ".csv": ("pyarrow.csv", "read_csv")}


class Asked(NamedTuple):
    """What the caller decided about the columns."""

    context: frozenset[str] = frozenset()
    text: frozenset[str] = frozenset()
    most_levels: int = 50
    other: bool = False


def read(source: Any) -> Columns:
    """The columns of a table as lists of Python values, None where they are missing.

    Examples
    --------
    >>> import pandas
    >>> read(pandas.DataFrame({"age": [1.0, None]}))
    {'age': [1.0, None]}
    """
    if isinstance(source, str | os.PathLike):
        source = _read_file(Path(source))
    if hasattr(source, "to_pylist") and hasattr(source, "column_names"):
        columns = {name: source.column(name).to_pylist() for name in source.column_names}
    elif hasattr(source, "columns") and hasattr(source, "isna"):
        columns = {name: _series(source[name]) for name in source.columns}
    else:
        raise ValueError(
            f"source is a {type(source).__name__} but must be a pandas DataFrame, a pyarrow "
            "Table, or the path of a .parquet or .csv file"
        )
    return {
        name: [None if is_missing(value) else value for value in values]
        for name, values in columns.items()
    }


def inferred(columns: Columns, asked: Asked, drop: Collection[str]) -> list[Feature]:
    """One feature for each column that is not dropped.

    Examples
    --------
    >>> inferred({"new": [True, False]}, Asked(), ())
    [Boolean(name='new', role='item', missing='error')]
    """
    for name in {*asked.context, *asked.text, *drop}:
        if name not in columns:
            shown = ", ".join(map(repr, columns))
            raise ValueError(f"there is no column {name!r}: the table has {shown}")
    return [_feature(name, values, asked) for name, values in columns.items() if name not in drop]


def standardised(feature: Feature, columns: Columns) -> Feature:
    """A numeric feature with mean and scale of its column; any other as it is.

    Examples
    --------
    >>> standardised(Numeric("age"), {"age": [1.0, 3.0]})
    Numeric(name='age', role='item', missing='error', mean=2.0, scale=1.0)
    """
    if not isinstance(feature, Numeric):
        return feature
    if feature.name not in columns:
        shown = ", ".join(map(repr, columns))
        raise ValueError(f"there is no column {feature.name!r}: the table has {shown}")
    plain = dataclasses.replace(feature, mean=0.0, scale=1.0, missing="zero")
    values = [value for value in columns[feature.name] if value is not None]
    numbers = np.array([plain.term(value).number for value in values])
    if not numbers.size:
        raise ValueError(f"column {feature.name!r} has no values but needs some to learn from")
    scale = float(numbers.std())
    # A constant column has an sd of rounding size, not of zero.
    constant = scale <= 1e-12 * float(np.abs(numbers).max()) or math.isclose(scale, 0.0)
    return dataclasses.replace(
        feature, mean=float(numbers.mean()), scale=1.0 if constant else scale
    )


def _feature(name: str, values: list[Any], asked: Asked) -> Feature:
    present = [value for value in values if value is not None]
    missing: Missing = "error" if len(present) == len(values) else "weight"
    role: Role = "context" if name in asked.context else "item"
    if not present:
        raise ValueError(f"column {name!r} has no values but needs some to learn from: drop it")
    if name in asked.text:
        return Text(name, role, missing)
    if all(isinstance(value, bool | np.bool_) for value in present):
        return Boolean(name, role, missing)
    if all(isinstance(value, str) for value in present):
        levels = tuple(sorted(set(present)))
        if len(levels) > asked.most_levels:
            return Text(name, role, missing)
        return Categorical(name, role, missing, levels=levels, other=asked.other)
    return _numeric(Numeric(name, role, missing), present)


def _numeric(feature: Numeric, present: list[Any]) -> Feature:
    try:
        return standardised(feature, {feature.name: present})
    except ValueError as error:
        raise ValueError(
            f"column {feature.name!r} is neither all numbers, all strings nor all booleans: {error}"
        ) from error


def _read_file(path: Path) -> Any:
    if path.suffix not in _READERS:
        raise ValueError(f"{path} ends in {path.suffix!r} but must be a .parquet or .csv file")
    module, function = _READERS[path.suffix]
    return getattr(importlib.import_module(module), function)(path)


def _series(series: Any) -> list[Any]:
    values = series.astype(object)
    return list(values.where(series.notna(), None))
