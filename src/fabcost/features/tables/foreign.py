"""Columns of pandas and of pyarrow, coded by these libraries; neither is imported here."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from fabcost.features.tables.columns import Coded, Values
from fabcost.impressions import FloatArray


class Factors:
    """A pandas Series of strings or categories.

    Examples
    --------
    >>> import pandas
    >>> Factors(pandas.Series(["kia", None, "kia"], dtype="category")).coded
    Coded(values=['kia', None], codes=array([0, 1, 0]))
    """

    def __init__(self, series: Any) -> None:
        self._series = series

    def __len__(self) -> int:
        return len(self._series)

    def __getitem__(self, row: int) -> Any:
        return self.coded.values[self.coded.codes[row]]

    @cached_property
    def numbers(self) -> FloatArray | None:
        """The rows as floats, if the categories are numbers."""
        values, codes = self.coded
        numbers = Values(values).numbers
        return None if numbers is None else numbers[codes]

    @cached_property
    def coded(self) -> Coded:
        """The rows by their distinct values."""
        codes, distinct = self._series.factorize(use_na_sentinel=False)
        values = zip(distinct.isna(), distinct.astype(object), strict=True)
        return Coded([None if gone else value for gone, value in values], codes)


class Arrow:
    """A column of a pyarrow table, whose nulls are None.

    Examples
    --------
    >>> import pyarrow
    >>> Arrow(pyarrow.chunked_array([["kia", None], ["kia"]])).coded
    Coded(values=['kia', None], codes=array([0, 1, 0]))
    """

    def __init__(self, column: Any) -> None:
        if hasattr(column.type, "index_type"):  # a dictionary, in an order of its own
            column = column.cast(column.type.value_type)
        # The nulls of a view are lost when it is encoded (pyarrow 26).
        self._column = column.cast("string") if str(column.type) == "string_view" else column

    def __len__(self) -> int:
        return len(self._column)

    def __getitem__(self, row: int) -> Any:
        return self._column[row].as_py()

    @cached_property
    def numbers(self) -> FloatArray | None:
        """The rows as floats, if the column's type is a number's."""
        if not str(self._column.type).startswith(("int", "uint", "float", "double", "halffloat")):
            return None
        rows = self._column.to_numpy()
        return np.asarray(rows, dtype=np.float64)

    @cached_property
    def coded(self) -> Coded:
        """The rows by their distinct values."""
        try:
            encoded = self._column.dictionary_encode(null_encoding="encode").combine_chunks()
        except NotImplementedError:  # of a nested type
            return Values(self._column.to_pylist()).coded
        codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.intp)
        return Coded(encoded.dictionary.to_pylist(), codes)
