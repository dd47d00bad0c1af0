"""What a schema learns from a table: the kinds of its columns, and mean and scale of numbers."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from fabcost.features.encoding import terms_of
from fabcost.features.feature import Feature, Missing, Role, is_missing
from fabcost.features.kinds import Boolean, Categorical, Numeric, Text
from fabcost.features.tables.columns import Column
from fabcost.features.tables.table import Table

_A_DATE = re.compile(
    r"(\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{1,2}([-/.])\d{1,2}\3\d{4})([T ]\d{1,2}:\d{2}.*)?"
)


class Asked(NamedTuple):
    """What the caller decided about the columns."""

    context: frozenset[str] = frozenset()
    text: frozenset[str] = frozenset()
    most_levels: int = 50
    other: bool = False


def inferred(table: Table, asked: Asked, drop: Collection[str]) -> list[Feature]:
    """One feature for each column that is not dropped.

    Examples
    --------
    >>> inferred(Table.of({"new": [True, False]}), Asked(), ())
    [Boolean(name='new', role='item', missing='error')]
    """
    table.check_has({*asked.context, *asked.text})
    return [_feature(name, column, asked) for name, column in table.without(drop).items()]


def standardised(feature: Feature, table: Table) -> Feature:
    """A numeric feature with mean and scale of its column; any other as it is.

    Examples
    --------
    >>> standardised(Numeric("age"), Table.of({"age": [1.0, 3.0]}))
    Numeric(name='age', role='item', missing='error', mean=2.0, scale=1.0)
    """
    if not isinstance(feature, Numeric):
        return feature
    table.check_has([feature.name])
    return _standardised(feature, table[feature.name])


def _standardised(feature: Numeric, column: Column) -> Feature:
    plain = dataclasses.replace(feature, mean=0.0, scale=1.0, missing="zero")
    labels, codes, numbers = terms_of(plain, column)
    numbers = numbers[np.array([label == feature.name for label in labels], dtype=bool)[codes]]
    if not numbers.size:
        raise ValueError(f"column {feature.name!r} has no values but needs some to learn from")
    scale = float(numbers.std())
    # A constant column has an sd of rounding size, not of zero.
    constant = scale <= 1e-12 * float(np.abs(numbers).max()) or math.isclose(scale, 0.0)
    return dataclasses.replace(
        feature, mean=float(numbers.mean()), scale=1.0 if constant else scale
    )


def _feature(name: str, column: Column, asked: Asked) -> Feature:
    role: Role = "context" if name in asked.context else "item"
    some_missing, some_present = _presence(column)
    missing: Missing = "weight" if some_missing else "error"
    if not some_present:
        raise ValueError(f"column {name!r} has no values but needs some to learn from: drop it")
    if name in asked.text:
        return Text(name, role, missing)
    if column.numbers is not None:
        return _numeric(Numeric(name, role, missing), column)
    present = [value for value in column.coded.values if not is_missing(value)]
    _check_no_dates(name, present)
    if all(isinstance(value, bool | np.bool_) for value in present):
        return Boolean(name, role, missing)
    if all(isinstance(value, str) for value in present):
        levels = tuple(sorted(set(present)))
        if len(levels) > asked.most_levels:
            return Text(name, role, missing)
        return Categorical(name, role, missing, levels=levels, other=asked.other)
    return _numeric(Numeric(name, role, missing), column)


def _check_no_dates(name: str, values: list[Any]) -> None:
    """Dates would be so many categories that never come again: no one wants that by accident."""
    dates = [value for value in values if _is_date(value)]
    if 2 * len(dates) > len(values):
        raise ValueError(
            f"column {name!r} holds dates, such as {dates[0]}: drop it, or put in its place what "
            "matters of them, such as the hour, the weekday or an age"
        )


def _is_date(value: Any) -> bool:
    if isinstance(value, str):
        return _A_DATE.fullmatch(value.strip()) is not None
    return isinstance(value, np.datetime64) or hasattr(value, "isoformat")


def _presence(column: Column) -> tuple[bool, bool]:
    """Whether some values are missing, and whether some are there."""
    if column.numbers is not None:
        missing = np.isnan(column.numbers)
        return bool(missing.any()), not missing.all()
    missing = np.array([is_missing(value) for value in column.coded.values], dtype=bool)
    return bool(missing.any()), not missing.all()


def _numeric(feature: Numeric, column: Column) -> Feature:
    try:
        return _standardised(feature, column)
    except ValueError as error:
        raise ValueError(
            f"column {feature.name!r} is neither all numbers, all strings nor all booleans: {error}"
        ) from error
