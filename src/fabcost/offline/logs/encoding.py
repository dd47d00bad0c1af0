"""Columns of a log as numbers, by a schema that its own rows make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fabcost.features.kinds import Text
from fabcost.features.schema import Schema
from fabcost.features.tables.columns import Values
from fabcost.features.tables.table import Table
from fabcost.impressions import FloatArray
from fabcost.prior import Group


def schema_of(
    table: Table, source: str, *, most_levels: int, context: Iterable[str] = (), bias: bool = True
) -> Schema:
    """Numbers standardised, text with one column for each value: never more than ``most_levels``.

    Examples
    --------
    >>> table = Table.of({"age": [1, 3], "make": ["kia", "audi"]})
    >>> schema_of(table, "items.csv", most_levels=500, bias=False).design(table)
    array([[-1.,  0.,  1.],
           [ 1.,  1.,  0.]])
    """
    try:
        schema = Schema.infer(table, context=context, most_levels=most_levels, bias=bias)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from error
    for feature in schema.features.values():
        if isinstance(feature, Text):
            raise ValueError(
                f"column {feature.name!r} of {source} has more than {most_levels:,} different "
                "texts, too many for a weight each: drop it"
            )
    return schema


def groups_of(X: FloatArray) -> list[Group]:
    """What the columns of rows stand for: ones are the constant, zeros and ones a category.

    Examples
    --------
    >>> import numpy as np
    >>> groups_of(np.array([[1.0, -0.5, 0.0], [1.0, 0.5, 1.0]]))
    ['constant', 'numbers', 'categories']
    """
    ones = (X == 1.0).all(axis=0)
    zeros_and_ones = ((X == 0.0) | (X == 1.0)).all(axis=0)
    return [
        "constant" if one else "categories" if category else "numbers"
        for one, category in zip(ones, zeros_and_ones, strict=True)
    ]


def encoded_records(records: Sequence[Mapping[str, Any]], source: str, *, most: int) -> FloatArray:
    """Records that need not have the same keys: what is missing gets a column where it occurs.

    Numbers are standardised.  Strings have a column each, features of few different ones first,
    until there are ``most`` columns; the others have none.

    Examples
    --------
    >>> encoded_records([{"age": 1, "make": "kia"}, {"age": 3}], "log.parquet", most=100)
    array([[-1.,  0.,  1.],
           [ 1.,  1.,  0.]])
    """
    names = dict.fromkeys(n for each in records for n, value in each.items() if value is not None)
    values = {name: [each.get(name) for each in records] for name in names}
    few_first = sorted(values, key=lambda name: len(set(values[name])))
    table = Table({name: Values(values[name]) for name in few_first}, len(records))
    strings = [name for name in few_first if any(isinstance(v, str) for v in values[name])]
    try:
        schema = Schema.infer(table, text=strings, bias=False)
        schema.limit_columns(most)
        return schema.design(table)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from error
