"""Tables to terms, column by column, with the results and the errors of records one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fabcost import kernels
from fabcost.features import dates
from fabcost.features.items import Placed, place
from fabcost.features.kinds import LARGEST_NUMBER, Feature, Numeric, Role, is_missing
from fabcost.features.layout import Layout, Places
from fabcost.features.reader import Reader
from fabcost.features.tables.columns import Column, Values
from fabcost.features.tables.table import Table, is_table
from fabcost.impressions import FloatArray


class Terms(NamedTuple):
    """What a column contributes: each row's place among the labels, and its number.

    Examples
    --------
    >>> terms = Terms(["age", "age missing"], np.array([0, 1]), np.array([3.0, 1.0]))
    >>> terms.labels[terms.codes[1]], float(terms.numbers[1])
    ('age missing', 1.0)
    """

    labels: list[str]
    codes: Places
    numbers: FloatArray


class RowError(ValueError):
    """A value that its feature refuses, with its row.

    Examples
    --------
    >>> RowError(0, "item feature 'age' is 'old' but must be a number")
    RowError("row 1: item feature 'age' is 'old' but must be a number")
    """

    def __init__(self, row: int, message: str) -> None:
        super().__init__(f"row {row + 1}: {message}")
        self.row = row


def read_table(reader: Reader, table: Table) -> dict[str, Terms]:
    """The terms of every feature, those included that ``reader`` meets here.

    Of all that is wrong, the error tells what reading row by row would have found first.

    Examples
    --------
    >>> reader = Reader({"x": Numeric("x", missing="zero")}, None)
    >>> read_table(reader, Table.of({"x": [3, None]}))["x"]
    Terms(labels=['x', ''], codes=array([0, 1]), numbers=array([3., 0.]))
    >>> read_table(reader, Table.of({"x": [3, "old"]}))
    Traceback (most recent call last):
    fabcost.features.encoding.RowError: row 2: item feature 'x' is 'old' but must be a number
    """
    _check_known(reader, table)
    faults: list[tuple[int, int, RowError]] = []
    try:
        _meet_features(reader, table)
    except RowError as error:
        faults.append((error.row, 1, error))
    found, table = {}, _with_parts(table, [*reader.dates("context"), *reader.dates("item")])
    absent = Values([None] * table.length)
    stages: dict[Role, int] = {"context": 0, "item": 2}
    for role, stage in stages.items():
        for name in reader.names(role):
            try:
                found[name] = terms_of(reader.feature(name), table.get(name, absent))
            except RowError as error:
                faults.append((error.row, stage, error))
    if faults:
        raise min(faults, key=lambda fault: fault[:2])[2]
    return found


def read_source(
    reader: Reader, source: Any, drop: frozenset[str]
) -> tuple[Callable[[Layout], dict[str, Placed]], int]:
    """A table or an iterable of records, read: how to place it in a layout, and how long it is.

    Examples
    --------
    >>> read, many = read_source(Reader({"x": Numeric("x")}, None), [{"x": 3}], frozenset())
    >>> layout = Layout()
    >>> block = layout.add(Numeric("x"))
    >>> read(layout)["x"].numbers, many
    (array([3.]), 1)
    """
    if is_table(source):
        table = Table.of(source).without(drop)
        found = read_table(reader, table)
        return partial(place_terms, found=found), table.length
    records = list(source)
    pairs = [reader.read_flat(record, drop, records) for record in records]

    def placed(layout: Layout) -> dict[str, Placed]:
        contexts = place(layout, reader.names("context"), [context for context, _ in pairs])
        return contexts | place(layout, reader.names("item"), [item for _, item in pairs])

    return placed, len(pairs)


def place_terms(layout: Layout, found: Mapping[str, Terms]) -> dict[str, Placed]:
    """Slots and numbers of each feature over all rows; open features grow.

    Examples
    --------
    >>> from fabcost.features.kinds import Text
    >>> layout = Layout()
    >>> block = layout.add(Text("make"))
    >>> terms = Terms(["make=kia", "make=audi"], np.array([0, 1, 0]), np.ones(3))
    >>> place_terms(layout, {"make": terms})["make"].slots
    array([0, 1, 0])
    """
    placed = {}
    for name, (labels, codes, numbers) in found.items():
        block = layout.blocks[name]
        slots = np.array([layout.slot(block, label) for label in labels], dtype=np.intp)
        placed[name] = Placed.known(slots[codes], numbers)
    return placed


def terms_of(feature: Feature, column: Column) -> Terms:
    """What each row of a column contributes, or a `RowError` for the first that is refused.

    Examples
    --------
    >>> from fabcost.features.kinds import Boolean
    >>> terms_of(Boolean("new"), Values([True, False, True])).numbers
    array([1., 0., 1.])
    """
    if isinstance(feature, Numeric) and column.numbers is not None:
        return _of_numbers(feature, column, column.numbers)
    values, codes = column.coded
    terms = []
    for i, value in enumerate(values):
        try:
            terms.append(feature.term(value))
        except ValueError as error:
            raise RowError(int(np.argmax(codes == i)), str(error)) from error
    numbers = np.array([term.number for term in terms], dtype=np.float64)
    return Terms([term.label for term in terms], codes, numbers[codes])


def _of_numbers(feature: Numeric, column: Column, given: FloatArray) -> Terms:
    missing = np.isnan(given)
    with np.errstate(over="ignore", invalid="ignore"):
        numbers = (given - feature.mean) / feature.scale
        large = given if feature.bound is not None else numbers
        sound = np.maximum(np.abs(given), np.abs(large)) <= LARGEST_NUMBER
    if feature.missing != "error":
        sound |= missing
    if not sound.all():
        row = int(np.argmin(sound))
        try:
            feature.term(column[row])
        except ValueError as error:
            raise RowError(row, str(error)) from error
    if feature.bound is not None:
        numbers = kernels.bounded(numbers, feature.bound)
    if not missing.any():
        return Terms([feature.name], np.zeros(given.size, dtype=np.intp), numbers)
    instead = feature.term(None)
    numbers[missing] = instead.number
    return Terms([feature.name, instead.label], missing.astype(np.intp), numbers)


def _with_parts(table: Table, names: Iterable[str]) -> Table:
    """The table, and columns for the parts of those of its columns that are dates."""
    columns = dict(table.items())
    for name in names:
        if name in table:
            parts = part_columns(name, table[name])
            for part in parts.keys() & columns.keys():
                raise ValueError(f"the table has a column {part!r} but that is a part of {name!r}")
            columns |= parts
    return Table(columns, table.length)


def part_columns(name: str, column: Column) -> dict[str, Column]:
    """The parts of a column of dates, by their names.

    Examples
    --------
    >>> part_columns("seen", Values(["2024-01-05", None]))["seen weekday"].coded.values
    ['friday', None]
    """
    values, codes = column.coded
    found = [dates.parts_of(value) for value in values]
    nothing = dates.NO_PARTS.under(name)
    each = [nothing if parts is None else parts.under(name) for parts in found]
    return {part: Values([each[code][part] for code in codes.tolist()]) for part in nothing}


def _values_of(column: Column) -> Iterator[Any]:
    if column.numbers is not None:
        yield from column.numbers.tolist()
    else:
        values, codes = column.coded
        yield from [values[code] for code in codes.tolist()]


def _check_known(reader: Reader, table: Table) -> None:
    known = [*reader.names("context"), *reader.names("item")]
    for name in table:
        if reader.openness is None and name not in known:
            shown = ", ".join(map(repr, known)) or "none"
            raise ValueError(f"the table has a column {name!r} but the features are {shown}")


def _meet_features(reader: Reader, table: Table) -> None:
    """Let ``reader`` meet the new columns as it would row by row.

    Something can happen only in the first row, in those where a column has its first value, and
    in the rows after them, when the schema may have become full.
    """
    known = {*reader.names("context"), *reader.names("item")}
    new = {name: column for name, column in table.items() if name not in known}
    rows = {0}
    for column in new.values():
        present = ~missing_rows(column)
        first = int(np.argmax(present)) if present.any() else table.length
        rows |= {first, first + 1}
    for row in sorted(row for row in rows if row < table.length):
        for name in [name for name in new if name not in reader.names("item")]:
            try:
                reader.meet(name, new[name][row], "item", _values_of(new[name]))
            except ValueError as error:
                raise RowError(row, str(error)) from error


def missing_rows(column: Column) -> npt.NDArray[np.bool_]:
    """Which rows of a column have no value.

    Examples
    --------
    >>> missing_rows(Values(["kia", None]))
    array([False,  True])
    """
    if column.numbers is not None:
        return np.isnan(column.numbers)
    values, codes = column.coded
    return np.array([is_missing(value) for value in values], dtype=bool)[codes]
