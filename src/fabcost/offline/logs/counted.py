"""Logs whose rows stand for many impressions, made into single ones."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fabcost.bandit.values import LARGEST_AMOUNT
from fabcost.features.tables import cells
from fabcost.features.tables.cells import BoolArray
from fabcost.features.tables.files import read_file
from fabcost.features.tables.sheet import Sheet, Wrong
from fabcost.impressions import LARGEST_WEIGHT, FloatArray

MOST_IMPRESSIONS = 2**27
_A_COUNT = "be a whole number, at least 0"


def named_outcome(reward: str | None, clicks: str | None, impressions: str | None) -> str | None:
    """The column of the outcome, or of the clicks where one counts the impressions of each row.

    Examples
    --------
    >>> named_outcome(None, "clicks", "shown"), named_outcome("click", None, None)
    ('clicks', 'click')
    """
    if clicks is None:
        return reward
    if reward is not None:
        raise ValueError("--reward and --clicks are given but must be only one of them")
    if impressions is None:
        raise ValueError("--clicks is given but --impressions must say of how many they are")
    return clicks


def weights_of(sheet: Sheet, name: str | None) -> tuple[FloatArray | None, list[Wrong]]:
    """How much each row counts by a column, if one says so, and what is wrong with that.

    Examples
    --------
    >>> sheet = Sheet.of(pa.table({"age": [1, 3], "w": [0.5, 2.0]}))
    >>> weights_of(sheet, "w")[0], weights_of(sheet, None)
    (array([0.5, 2. ]), (None, []))
    """
    if name is None:
        return None, []
    sheet.check_has([name])
    weight = cells.numbers(name, sheet.table[name])
    wrong = ~((weight >= 0.0) & (weight <= LARGEST_WEIGHT))
    return weight, [Wrong(name, wrong, f"be a number from 0 to {LARGEST_WEIGHT:g}")]


def times_of(sheet: Sheet, name: str | None) -> tuple[FloatArray | None, list[Wrong]]:
    """Seconds since 1970 by a column of dates, if one is named, and what is wrong there.

    Examples
    --------
    >>> times_of(Sheet.of(pa.table({"day": ["1970-01-02", "1970-01-01T00:01"]})), "day")[0]
    array([8.64e+04, 6.00e+01])
    """
    if name is None:
        return None, []
    sheet.check_has([name])
    found = cells.clean(name, sheet.table[name], "date").values
    seconds = pc.cast(pc.cast(found, pa.timestamp("s"), safe=False), pa.int64())
    times = pc.cast(seconds, pa.float64()).to_numpy(zero_copy_only=False)
    return times, [Wrong(name, np.isnan(times), cells.A_DATE)]


def amounts_of(
    sheet: Sheet, value: str | None, cost: str | None
) -> tuple[tuple[FloatArray, FloatArray] | None, list[Wrong]]:
    """What clicks are worth and showing costs by columns, if any says so, and what is wrong there.

    Without a column a click is worth 1, and showing costs nothing.

    Examples
    --------
    >>> sheet = Sheet.of(pa.table({"age": [1, 3], "price": [0.5, 2.0]}))
    >>> amounts_of(sheet, "price", None)[0]
    (array([0.5, 2. ]), array([0., 0.]))
    """
    if value is None and cost is None:
        return None, []
    named = [name for name in (value, cost) if name is not None]
    sheet.check_has(named)
    found = {name: cells.numbers(name, sheet.table[name]) for name in named}
    wrong = [
        Wrong(name, ~(np.abs(each) <= LARGEST_AMOUNT), "be a number")
        for name, each in found.items()
    ]
    if value is not None:
        wrong.append(Wrong(value, found[value] < 0.0, "be at least 0"))
    ones, zeros = np.ones(len(sheet)), np.zeros(len(sheet))
    worth = ones if value is None else found[value]
    return (worth, zeros if cost is None else found[cost]), wrong


def read_counted(
    path: Path, reward: str, impressions: str | None, *, skip_bad_rows: bool
) -> tuple[Sheet, Counter[str]]:
    """The rows of a file, or where a column counts ``impressions``, one for each of these.

    And how many rows were left out because they have no such counts, for each complaint.
    """
    sheet = read_file(path)
    if impressions is None:
        return sheet, Counter()
    return one_by_one(sheet, reward, impressions, skip_bad_rows=skip_bad_rows)


def one_by_one(
    sheet: Sheet, clicks: str, impressions: str, *, skip_bad_rows: bool = False
) -> tuple[Sheet, Counter[str]]:
    """Every row as often as it has impressions, with outcomes in place of the clicks.

    Clicks come before the others of their row.

    Examples
    --------
    >>> sheet = Sheet.of(pa.table({"age": [1, 3], "clicks": [1, 0], "shown": [3, 1]}))
    >>> one_by_one(sheet, "clicks", "shown")[0].table.to_pydict()
    {'age': [1, 1, 1, 3], 'clicks': [1, 0, 0, 0]}
    """
    sheet.check_has((clicks, impressions))
    clicked, shown = (cells.numbers(name, sheet.table[name]) for name in (clicks, impressions))
    wrong = [
        Wrong(impressions, ~_is_count(shown), _A_COUNT),
        Wrong(clicks, ~_is_count(clicked), _A_COUNT),
        Wrong(clicks, clicked > shown, f"be at most {impressions!r}"),
    ]
    sound, skipped = sheet.sound(wrong, skip=skip_bad_rows)
    each = np.where(sound, shown, 0.0)
    if each.sum() > MOST_IMPRESSIONS:
        raise ValueError(
            f"{sheet.name} has {each.sum():,.0f} impressions but at most {MOST_IMPRESSIONS:,} fit"
        )
    places = np.repeat(np.arange(len(sheet)), each.astype(np.intp))
    first = np.repeat(np.cumsum(each) - each, each.astype(np.intp))
    outcomes = np.arange(places.size) - first < clicked[places]
    table = sheet.table.drop_columns([impressions]).take(pa.array(places))
    at = table.column_names.index(clicks)
    table = table.set_column(at, clicks, pa.array(outcomes.astype(np.int64)))
    return replace(sheet, table=table, numbers=sheet.numbers[places], faults=()), skipped


def _is_count(numbers: FloatArray) -> BoolArray:
    return np.asarray((numbers >= 0.0) & (numbers == np.floor(numbers)))
