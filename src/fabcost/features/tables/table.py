"""Tables column by column, from whatever hands out Arrow data, arrays by name, and files."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fabcost.features.reader import FOR_PEOPLE
from fabcost.features.tables.columns import (
    Arrow,
    Column,
    Values,
    arrow_table,
    column_of,
    pyarrow_for,
)


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
    >>> import numpy as np
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
        """The table in a source; see `is_table`.  Of records a key that is absent is missing."""
        if isinstance(source, Table):
            return source
        if isinstance(source, str | os.PathLike):
            return cls._of_file(Path(source))
        if _is_arrow(source):
            return cls._of_arrow(source)
        if not isinstance(source, Mapping):
            return cls._of_records(source)
        columns = {name: column_of(name, values) for name, values in source.items()}
        return cls(columns, len(next(iter(columns.values()), ())))

    @classmethod
    def _of_records(cls, source: Any) -> Table:
        records = list(source) if isinstance(source, Iterable) else [source]
        for kind in {type(record) for record in records if not isinstance(record, Mapping)}:
            raise ValueError(
                f"source has a {kind.__name__} but must be a DataFrame or another table with Arrow "
                "data, a mapping of names to arrays, the path of a file, or records"
            )
        names = dict.fromkeys(name for record in records for name in record)
        kept = [name for name in names if name not in FOR_PEOPLE]
        columns = {name: Values([record.get(name) for record in records]) for name in kept}
        return cls(columns, len(records))

    @classmethod
    def _of_arrow(cls, source: Any) -> Table:
        """Whatever hands out Arrow data: of pandas, polars, pyarrow, DuckDB and others."""
        table = arrow_table(source)
        names = table.column_names
        for i, name in enumerate(names):
            if name in names[:i]:
                raise ValueError(f"there are two columns {name!r} but names must be distinct")
        return cls({name: Arrow(table[name]) for name in names}, table.num_rows)

    @classmethod
    def _of_file(cls, path: Path) -> Table:
        pyarrow_for(str(path))
        from fabcost.features.tables.files import read_file  # noqa: PLC0415 - needs the extra

        sheet = read_file(path)
        columns, wrong = sheet.clean(sheet.columns)
        sheet.check(wrong)
        return cls({name: Arrow(each) for name, each in columns.items()}, len(sheet))

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
    return isinstance(source, str | os.PathLike | Mapping) or _is_arrow(source)


def _is_arrow(source: Any) -> bool:
    return hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__")
