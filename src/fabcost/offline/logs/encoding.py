"""Cells of a log or of a catalogue as numbers, by a schema."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fabcost.features.kinds import Role, Text
from fabcost.features.schema import Schema
from fabcost.features.tables.columns import Column, Numbers, Values
from fabcost.features.tables.table import Table
from fabcost.impressions import FloatArray
from fabcost.offline.logs.faults import number, text

_MOST_CATEGORIES = 500


def encoded(
    cells: Sequence[Sequence[Any]], names: Sequence[str], role: Role, path: Path
) -> FloatArray:
    """Numbers standardised, text as one column for each value.

    Examples
    --------
    >>> encoded([["1", "kia"], ["3", "audi"]], ["age", "make"], "item", Path("items.csv"))
    array([[-1.,  0.,  1.],
           [ 1.,  1.,  0.]])
    """
    columns = {name: _column([row[j] for row in cells], name, path) for j, name in enumerate(names)}
    table = Table(columns, len(cells))
    context = names if role == "context" else ()
    try:
        schema = Schema.infer(table, context=context, most_levels=_MOST_CATEGORIES, bias=False)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    for name, feature in schema.features.items():
        if isinstance(feature, Text):
            raise _too_many(name, columns[name].coded.values, path)
    return schema.design(table)


def encoded_records(records: Sequence[Mapping[str, Any]], path: Path, *, most: int) -> FloatArray:
    """Records that need not have the same keys: what is missing gets a column where it occurs.

    Numbers are standardised.  Strings have a column each, features of few different ones first,
    until there are ``most`` columns; the others have none.

    Examples
    --------
    >>> encoded_records([{"age": 1, "make": "kia"}, {"age": 3}], Path("log.parquet"), most=100)
    array([[-1.,  0.,  1.],
           [ 1.,  1.,  0.]])
    """
    names = dict.fromkeys(n for each in records for n, value in each.items() if value is not None)
    cells = {name: [each.get(name) for each in records] for name in names}
    few_first = sorted(cells, key=lambda name: len(set(cells[name])))
    table = Table({name: Values(cells[name]) for name in few_first}, len(records))
    strings = [name for name in few_first if any(isinstance(c, str) for c in cells[name])]
    try:
        schema = Schema.infer(table, text=strings, bias=False)
        schema.limit_columns(most)
        return schema.design(table)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _column(cells: list[Any], name: str, path: Path) -> Column:
    missing = next((i for i, cell in enumerate(cells, start=1) if text(cell) is None), None)
    if missing is not None:
        raise ValueError(f"row {missing} of {path}: {name} is missing")
    numbers = [number(cell) for cell in cells]
    if all(each is not None and math.isfinite(each) for each in numbers):
        return Numbers(np.array(numbers, dtype=np.float64))
    return Values([str(cell) for cell in cells])


def _too_many(name: str, values: list[str], path: Path) -> ValueError:
    strange = next(value for value in values if number(value) is None)
    return ValueError(
        f"{name} of {path} has {len(values)} different values and is not numeric ({strange!r} is "
        f"not a number) but a column of text may have at most {_MOST_CATEGORIES}"
    )
