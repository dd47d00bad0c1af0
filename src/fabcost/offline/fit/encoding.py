"""Batches of a log as rows of features with their counts, by a plan that all partitions share."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fabcost.features.kinds import LARGEST_NUMBER, Boolean, Feature, Numeric
from fabcost.features.schema import Schema
from fabcost.features.tables import cells
from fabcost.features.tables.cells import Cells
from fabcost.features.tables.columns import Arrow
from fabcost.features.tables.sheet import BadRowsError, Sheet, Wrong
from fabcost.features.tables.table import Table
from fabcost.impressions import FloatArray, Outcomes, Rows, Tally, as_outcomes, grouped
from fabcost.inference.sparse.memory import LARGE
from fabcost.offline.logs.counted import weights_of
from fabcost.sparse import SparseRows

_MANY = "fabcost: how many"


class OutcomeColumns(NamedTuple):
    """The columns of a log that are no features: the outcome, and what a row stands for."""

    reward: str  # the outcome, or the clicks of so many impressions
    impressions: str | None = None
    weight: str | None = None
    item: str | None = None  # whose effect of its own is fitted

    @property
    def named(self) -> list[str]:
        """Those that there are."""
        return [name for name in self if name is not None]


class CountedRows(NamedTuple):
    """Rows of features, and the clicks and misses of each; and its item, in a coded array.

    Examples
    --------
    >>> CountedRows(np.eye(2), Outcomes(np.array([1.0, -1.0]))).clicks
    1.0
    """

    X: Rows
    outcomes: Outcomes
    items: Any = None

    @property
    def codes(self) -> npt.NDArray[np.int64]:
        """Of the items, among those of these rows."""
        return np.asarray(self.items.indices.to_numpy(), dtype=np.int64)

    @property
    def keys(self) -> list[str] | None:
        """The item of each row; None if they are not told."""
        return None if self.items is None else self.items.to_pylist()

    @property
    def clicks(self) -> float:
        """How many there are, by their weights."""
        return float(self.outcomes.counted[:, 0].sum())

    @classmethod
    def joined(cls, parts: list[CountedRows]) -> CountedRows:
        """One after another."""
        labels = np.concatenate([each.outcomes.labels for each in parts])
        counts = None
        if any(each.outcomes.counts is not None for each in parts):
            counts = np.concatenate([each.outcomes.counted for each in parts])
        items = None
        if parts[0].items is not None:
            items = pa.chunked_array([each.items for each in parts]).combine_chunks()
        rows: list[Any] = [each.X for each in parts]
        join = SparseRows.joined if isinstance(rows[0], SparseRows) else np.concatenate
        return cls(join(rows), Outcomes(labels, counts), items)

    def distinct(self) -> CountedRows:
        """Equal rows made one."""
        slots = None if self.items is None else self.codes
        X, outcomes, kept = grouped(self.X, self.outcomes, slots)
        items = None
        if kept is not None:
            items = pa.DictionaryArray.from_arrays(kept.astype(np.int32), self.items.dictionary)
        return CountedRows(X, outcomes, items)

    def between(self, start: int, stop: int) -> CountedRows:
        """Some of them, as arrays of their own, with no other items."""
        labels, counts = self.outcomes
        some = slice(start, stop)
        kept = None if counts is None else counts[some].copy()
        items = None
        if self.items is not None:
            items = self.items[some].dictionary_decode().dictionary_encode()
        return CountedRows(self.X[some].copy(), Outcomes(labels[some].copy(), kept), items)


@dataclass(frozen=True)
class Plan:
    """How every partition is read: plain values, which any process can have.

    Examples
    --------
    >>> schema = Schema([Numeric("age")])
    >>> plan = Plan(schema.to_dict(), OutcomeColumns("click"), together=False, skip=False)
    >>> sheet = Sheet.of(pa.table({"age": [3, 5], "click": [True, False]}))
    >>> plan.encoded(sheet)[0].X
    array([[1., 3.],
           [1., 5.]])
    """

    document: dict[str, Any]
    columns: OutcomeColumns
    together: bool  # whether equal rows are made one
    skip: bool  # whether bad rows are left out and counted

    @cached_property
    def schema(self) -> Schema:
        """How features become numbers."""
        return Schema.from_dict(self.document)

    @cached_property
    def sources(self) -> list[str]:
        """The columns that features are made of; the parts of a date are not."""
        features = self.schema.features
        dates = tuple(f"{name} " for name, each in features.items() if each.kind == "date")
        return [name for name in features if not (dates and name.startswith(dates))]

    @cached_property
    def numbers(self) -> int:
        """How many of a row are at most not zero: one of each feature and cross, and the bias."""
        return len(self.document["features"]) + len(self.document["crosses"]) + 1

    @property
    def sparse(self) -> bool:
        """Whether rows are kept without zeros, which are then three quarters of many columns."""
        return self.schema.width >= max(LARGE, 4 * self.numbers)

    @property
    def row_bytes(self) -> int:
        """What a row takes at most: its numbers, and where they stand if zeros are left out."""
        return 16 * self.numbers + 8 if self.sparse else 8 * self.schema.width

    @property
    def used(self) -> list[str]:
        """All columns that are read."""
        return [*self.sources, *self.columns.named]

    def mark(self, told: object) -> str:
        """The same for the same plan and what else is told: what was made by others is not used."""
        given = [self.document, self.columns, self.together, self.skip, self.sparse, told]
        return hashlib.sha256(json.dumps(given).encode()).hexdigest()[:24]

    def encoded(self, sheet: Sheet) -> tuple[CountedRows, Counter[str]]:
        """The rows of a batch, and how many were left out for each complaint.

        Equal ones are encoded once if they are to be made one.  A bad row is a `BadRowsError` with
        its number.
        """
        sheet.check_has(self.used)
        if self.together and len(sheet):
            try:
                return self._encoded(self._condensed(sheet), skip=False)
            except (ValueError, pa.ArrowNotImplementedError):
                pass  # something is wrong in a row, of which the number is asked for
        return self._encoded(sheet, skip=self.skip)

    def _condensed(self, sheet: Sheet) -> Sheet:
        """The distinct rows of a batch, with a column of how many there are of each."""
        if sheet.faults:
            raise ValueError("there are lines that cannot be read")
        table = sheet.table.select(self.used).unify_dictionaries()
        counts = table.group_by(self.used, use_threads=False).aggregate([([], "count_all")])
        return Sheet.of(counts.rename_columns([*self.used, _MANY]), sheet.name)

    def _encoded(self, sheet: Sheet, *, skip: bool) -> tuple[CountedRows, Counter[str]]:
        schema, features = self.schema, self.schema.features
        found = {name: told_by(features[name], sheet.table[name]) for name in self.sources}
        wrong = [Wrong(name, each.wrong, _expected(features[name])) for name, each in found.items()]
        y, weight, of_outcome = self._outcomes(sheet)
        wrong += of_outcome
        keys, item = None, self.columns.item
        if item is not None:
            keys = cells.texts(item, sheet.table[item])
            wrong.append(Wrong(item, ~_present(keys), "have a value"))
        bad = sheet.bad(wrong)
        if bad and not skip:
            raise BadRowsError(sheet.name, bad)
        sound = ~np.any([each.rows for each in wrong], axis=0)
        columns = {name: Arrow(each.values.filter(sound)) for name, each in found.items()}
        table = Table(columns, int(sound.sum()))
        X = schema.sparse_design(table) if self.sparse else schema.design(table)
        if isinstance(y, Tally):
            y = Tally(np.asarray(y.clicks)[sound], np.asarray(y.impressions)[sound])
        else:
            y = y[sound]
        outcomes = as_outcomes(y, None if weight is None else weight[sound], len(X))
        items = None if keys is None else keys.filter(sound).dictionary_encode()
        return CountedRows(X, outcomes, items), Counter(fault.kind for fault in bad)

    def _outcomes(self, sheet: Sheet) -> tuple[Any, FloatArray | None, list[Wrong]]:
        """Labels or tallies, weights, and what is wrong with them."""
        reward, impressions, weight, _ = self.columns
        each, wrong = weights_of(sheet, weight)
        if _MANY in sheet.table.column_names:
            many = sheet.table[_MANY].to_numpy().astype(np.float64)
            each = many if each is None else many * each
        if impressions is None:
            y, no_outcome = cells.outcomes(sheet.table[reward])
            return y, each, [Wrong(reward, no_outcome, cells.AN_OUTCOME), *wrong]
        clicks, shown = (cells.numbers(name, sheet.table[name]) for name in (reward, impressions))
        within = (clicks >= 0.0) & (clicks <= shown)
        expected = f"be a number from 0 to {impressions!r}"
        wrong = [Wrong(impressions, ~(shown >= 0.0), "be a number, at least 0"), *wrong]
        return Tally(clicks, shown), each, [Wrong(reward, ~within, expected), *wrong]


def told_by(feature: Feature, column: Any) -> Cells:
    """The cells of a column that a feature reads, whatever a batch of them looks like.

    Examples
    --------
    >>> told_by(Numeric("age"), pa.array(["3", "old", "7"])).wrong
    array([False,  True, False])
    """
    name, kind = feature.name, column.type
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind)
    if isinstance(feature, Numeric) and text:
        numbers, present = cells.numbers(name, column), _present(cells.texts(name, column))
        found = Cells(
            pa.array(numbers, from_pandas=True), present & ~(np.abs(numbers) <= LARGEST_NUMBER)
        )
    elif isinstance(feature, Boolean) and text:
        words = cells.texts(name, column)
        values, wrong = cells.outcomes(words)
        known = pa.array(values.astype(bool), mask=wrong | ~_present(words))
        found = Cells(known, wrong & _present(words))
    elif feature.kind in ("categorical", "text") or (feature.kind == "date" and text):
        found = Cells(cells.texts(name, column), np.zeros(len(column), dtype=bool))
    else:
        found = cells.clean(name, column)
    return Cells(found.values, found.wrong | _refused(feature, found))


def _refused(feature: Feature, found: Cells) -> Any:
    """Which cells are of another kind than the feature's, or missing though it has no weight."""
    absent = ~_present(found.values)
    bad = absent & (feature.missing == "error")
    boolean = pa.types.is_boolean(found.values.type)
    if feature.kind in ("numeric", "boolean") and boolean != (feature.kind == "boolean"):
        return bad | ~absent
    if feature.kind in ("numeric", "boolean", "date"):
        return bad
    coded = Arrow(found.values).coded
    refused = [value is not None and not feature.accepts(value) for value in coded.values]
    return bad | np.array([*refused, False], dtype=bool)[coded.codes]


def _expected(feature: Feature) -> str:
    return f"be {feature._expected()}, as in the rows that were looked at first"


def _present(column: Any) -> Any:
    return np.asarray(pc.is_valid(column).to_numpy(zero_copy_only=False), dtype=bool)
