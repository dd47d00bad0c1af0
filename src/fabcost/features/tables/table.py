"""Tables column by column: DataFrames, Arrow tables, arrays by name, Parquet and CSV files."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fabcost.features.tables.columns import Column, Numbers, Values
from fabcost.features.tables.files import read_file
from fabcost.features.tables.foreign import Arrow, Factors


class Table(Mapping[str, Column]):
    """Columns of equal length by their names, in their order.

    Parameters
    ----------
    columns
        By name.
    length
        How many rows each must have.

    Examples
    --------
    >>> table = Table.of({"age": np.array([3.0, 5.0]), "make": ["kia", None]})
    >>> list(table), table.length, table["make"].coded.values
    (['age', 'make'], 2, ['kia', None])
    """

    def __init__(self, columns: Mapping[str, Column], length: int) -> None:
        for name, column in columns.items():
            if len(column) != length:
                raise ValueError(
                    f"column {name!r} has {len(column)} rows but the table has {length}"
                )
        self._columns = columns
        self.length = length

    @classmethod
    def of(cls, source: Any) -> Table:
        """The table in a source; see `is_table`."""
        if isinstance(source, Table):
            return source
        if isinstance(source, str | os.PathLike):
            source = read_file(Path(source))
        if _is_arrow(source):
            _check_names(source.column_names)
            names = source.column_names
            return cls({name: Arrow(source[name]) for name in names}, source.num_rows)
        if _is_frame(source):
            _check_names(list(source.columns))
            return cls({name: _of_series(source[name]) for name in source.columns}, len(source))
        if not isinstance(source, Mapping):
            raise ValueError(
                f"source is a {type(source).__name__} but must be a pandas DataFrame, a pyarrow "
                "Table, a mapping of names to arrays, or the path of a .parquet or .csv file"
            )
        columns = {name: _of_array(name, values) for name, values in source.items()}
        return cls(columns, len(next(iter(columns.values()), ())))

    def __getitem__(self, name: str) -> Column:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def check_has(self, names: Collection[str]) -> None:
        """A ValueError names a column that is not there."""
        for name in names:
            if name not in self:
                shown = ", ".join(map(repr, self))
                raise ValueError(f"there is no column {name!r}: the table has {shown}")

    def without(self, names: Collection[str]) -> Table:
        """The table without some of its columns.

        Examples
        --------
        >>> list(Table.of({"age": [3], "clicked": [0]}).without(["clicked"]))
        ['age']
        """
        self.check_has(names)
        kept = {name: column for name, column in self.items() if name not in names}
        return Table(kept, self.length)


def is_table(source: Any) -> bool:
    """Whether `Table.of` takes it; an iterable of records is none.

    Examples
    --------
    >>> is_table({"age": [3]}), is_table("log.parquet"), is_table([{"age": 3}])
    (True, True, False)
    """
    named = isinstance(source, str | os.PathLike | Mapping)
    return named or _is_arrow(source) or _is_frame(source)


def _is_arrow(source: Any) -> bool:
    return hasattr(source, "combine_chunks") and hasattr(source, "column_names")


def _is_frame(source: Any) -> bool:
    return hasattr(source, "columns") and hasattr(source, "isna")


def _check_names(names: list[Any]) -> None:
    for i, name in enumerate(names):
        if name in names[:i]:
            raise ValueError(f"there are two columns {name!r} but names must be distinct")


def _of_series(series: Any) -> Column:
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "iuf":
        return Numbers(series.to_numpy())
    if str(series.dtype) in ("str", "string", "category"):
        return Factors(series)
    values = series.astype(object)
    return Values(values.where(series.notna(), None).tolist())


def _of_array(name: str, values: Any) -> Column:
    if hasattr(values, "notna"):
        return _of_series(values)
    if not isinstance(values, np.ndarray):
        return Values(list(values))
    if values.ndim != 1:
        raise ValueError(f"column {name!r} has shape {values.shape} but must be a vector")
    if values.dtype.kind in "iuf":
        return Numbers(values)
    # Dates would become plain integers as a list.
    return Values(list(values) if values.dtype.kind in "mM" else values.tolist())
