"""What a schema learns from a table: the kinds of its columns, and mean and scale of numbers."""

from __future__ import annotations

import dataclasses
import re
import warnings
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import numpy as np

from fabcost.features import dates
from fabcost.features.encoding import missing_rows, part_columns, terms_of
from fabcost.features.kinds import (
    Boolean,
    Categorical,
    Date,
    Feature,
    Missing,
    Numeric,
    Role,
    Text,
    is_missing,
)
from fabcost.features.reader import BOUND, anchors
from fabcost.features.tables.columns import Column
from fabcost.features.tables.table import Table
from fabcost.impressions import FloatArray

#: Values from which the shape of a column is judged.
FEWEST = 30
#: Skewness beyond which a number is bounded.
SKEWED = 2.0
#: Spreads from the median beyond which a value is called wild.
WILD = 10_000.0

_A_DATE = re.compile(
    r"(\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{1,2}([-/.])\d{1,2}\3\d{4})([T ]\d{1,2}:\d{2}.*)?"
)


class ColumnWarning(UserWarning):
    """A column is constant, or has values far from its others.

    Examples
    --------
    >>> issubclass(ColumnWarning, UserWarning)
    True
    """


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
    kept = table.without(drop).items()
    found = [each for name, column in kept for each in _features(name, column, asked)]
    _warn_of(found, table)
    return found


def fitted(features: Iterable[Feature], table: Table) -> list[Feature]:
    """The features, numeric ones with what is `standardised`.

    Examples
    --------
    >>> fitted([Boolean("new")], Table.of({}))
    [Boolean(name='new', role='item', missing='error')]
    """
    found = [standardised(feature, table) for feature in features]
    _warn_of(found, table)
    return found


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


def _standardised(feature: Numeric, column: Column) -> Numeric:
    plain = dataclasses.replace(feature, mean=0.0, scale=1.0, bound=None, missing="zero")
    labels, codes, numbers = terms_of(plain, column)
    numbers = numbers[np.array([label == feature.name for label in labels], dtype=bool)[codes]]
    if not numbers.size:
        raise ValueError(f"column {feature.name!r} has no values but needs some to learn from")
    mean, scale = float(numbers.mean()), float(numbers.std())
    if _is_constant(numbers):
        return dataclasses.replace(feature, mean=mean, scale=1.0)
    centre, spread = anchors(numbers.tolist()) if _is_skewed(numbers) else (mean, scale)
    bound = BOUND if (centre, spread) != (mean, scale) else feature.bound
    return dataclasses.replace(feature, mean=centre, scale=spread, bound=bound)


def _is_constant(numbers: FloatArray) -> bool:
    """Whether all values are one but for what rounding may have done to it."""
    return bool(np.ptp(numbers) <= 8.0 * np.spacing(np.abs(numbers).max()))


def _is_skewed(numbers: FloatArray) -> bool:
    """Whether enough values lie so unevenly about their mean that a bound is called for."""
    low, high = np.quantile(numbers, (0.25, 0.75))
    if numbers.size < FEWEST or low == high:
        return False
    away = (numbers - numbers.mean()) / numbers.std()
    return bool(abs(np.mean(away**3)) > SKEWED)


def _warn_of(features: Iterable[Feature], table: Table) -> None:
    """A `ColumnWarning` that names columns that are constant, and those with wild values."""
    constant, wild = [], []
    for feature in features:
        column = table.get(feature.name)
        if not isinstance(feature, Numeric) or column is None or column.numbers is None:
            continue
        numbers = column.numbers[~np.isnan(column.numbers)]
        if numbers.size > 1 and _is_constant(numbers):
            constant.append(feature.name)
        elif numbers.size >= FEWEST:
            centre, spread = anchors(numbers.tolist())
            if np.abs(numbers - centre).max() > WILD * spread:
                wild.append(feature.name)
    for names, what in ((constant, "one value"), (wild, "values far from all others")):
        if names:
            told = f"{', '.join(map(repr, names))} in the table: {what}; drop or mend the column"
            warnings.warn(told, ColumnWarning, stacklevel=4)


def _features(name: str, column: Column, asked: Asked) -> list[Feature]:
    """That of a column; of a column of dates those of its parts as well."""
    if name in asked.text or column.numbers is not None:
        return [_feature(name, column, asked)]
    present = [value for value in column.coded.values if not is_missing(value)]
    if not present or not all(map(dates.is_date, present)):
        return [_feature(name, column, asked)]
    role: Role = "context" if name in asked.context else "item"
    parts = part_columns(name, column)
    day = _standardised(Numeric(name + dates.DAY, role, "zero"), parts[name + dates.DAY])
    weekday = Categorical(name + dates.WEEKDAY, role, "zero", levels=dates.WEEKDAYS)
    timed = _presence(parts[name + dates.SINE])[1]
    clock = [Numeric(name + each, role, "zero") for each in dates.OF_THE_CLOCK if timed]
    missing: Missing = "weight" if _presence(column)[0] else "error"
    return [Date(name, role, missing), day, weekday, *clock]


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
    found = [value for value in values if _is_date(value)]
    if 2 * len(found) > len(values):
        raise ValueError(
            f"column {name!r} holds dates, such as {found[0]}: write them all as in ISO 8601, such "
            f"as 2024-01-05, or drop it; replay and evaluate read 31.12.2024 with --date {name}"
        )


def _is_date(value: Any) -> bool:
    if isinstance(value, str):
        return _A_DATE.fullmatch(value.strip()) is not None
    return isinstance(value, np.datetime64) or hasattr(value, "isoformat")


def _presence(column: Column) -> tuple[bool, bool]:
    """Whether some values are missing, and whether some are there."""
    missing = missing_rows(column)
    return bool(missing.any()), not missing.all()


def _numeric(feature: Numeric, column: Column) -> Feature:
    try:
        return _standardised(feature, column)
    except ValueError as error:
        raise ValueError(
            f"column {feature.name!r} is neither all numbers, all strings nor all booleans: {error}"
        ) from error
