"""Logged rounds: what was offered, chosen, and came of it; and what was offered as numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fabcost.bandit.environments import crossed
from fabcost.features.kinds import Text
from fabcost.features.schema import Schema
from fabcost.features.tables.cells import BoolArray
from fabcost.features.tables.columns import Values
from fabcost.features.tables.table import Table
from fabcost.impressions import FloatArray
from fabcost.prior import Group
from fabcost.recommend.alarms import Alarm, Watch

Places = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class LoggedItems:
    """Ids of the items, and their features as numbers, one row each.

    An id whose features differ between rounds has several rows.  Where the ids themselves are the
    features, ``by_id``, items need no effects of their own.
    """

    ids: tuple[str, ...]
    features: FloatArray
    by_id: bool = False
    alarms: tuple[Alarm, ...] = ()
    # What a click on each is worth and showing it costs, if their table says so.
    amounts: tuple[FloatArray, FloatArray] | None = None


@dataclass(frozen=True, eq=False)
class LoggedAmounts:
    """What clicks are worth and what showing costs.

    Examples
    --------
    >>> items, price = LoggedItems(("a", "b", "c"), np.eye(3)), np.array([1.0, 3.0, 5.0])
    >>> found = LoggedAmounts.of_rounds((price, np.zeros(3)), np.array([0, 0, 2]), items)
    >>> found.of(np.array([0, 1, 2]))[0]
    array([2., 3., 5.])
    """

    logged: tuple[FloatArray, FloatArray]  # value and cost in each round, of what was shown
    items: tuple[FloatArray, FloatArray]  # of each item

    @classmethod
    def of_rounds(
        cls, logged: tuple[FloatArray, FloatArray], action: Places, items: LoggedItems
    ) -> LoggedAmounts:
        """An id has the mean of its rounds, or that of all if it was never shown."""
        ids = np.unique(np.array(items.ids, dtype=object), return_inverse=True)[1]
        rounds = np.bincount(ids[action], minlength=ids.max() + 1)

        def means(amount: FloatArray) -> FloatArray:
            total = np.bincount(ids[action], amount, minlength=rounds.size)
            return np.where(rounds > 0, total / np.maximum(rounds, 1), amount.mean())[ids]

        value, cost = map(means, logged)
        return cls(logged, (value, cost))

    def of(self, offered: Places) -> tuple[FloatArray, FloatArray]:
        """Values and costs of candidates."""
        return self.items[0][offered], self.items[1][offered]


@dataclass(frozen=True, eq=False)
class Log:
    """Decisions of a logging policy.

    Rounds with equal contexts and candidates share a *situation*: S of them, for n rounds.

    Examples
    --------
    >>> items = LoggedItems(("a", "b", "c"), np.array([[0.0], [5.0], [7.0]]))
    >>> log = Log(
    ...     np.ones(1), np.ones(1), np.array([2]), np.array([0]), np.array([[9.0]]),
    ...     [np.array([0, 2])], items, Counter()
    ... )
    >>> log.rows(0)
    array([[1., 9., 0.],
           [1., 9., 7.]])
    >>> log.logged_rows()
    array([[1., 9., 7.]])
    """

    # One for each round; ``action`` counts items, ``situation`` rows of ``contexts``.
    reward: FloatArray
    propensity: FloatArray
    action: Places
    situation: Places
    contexts: FloatArray  # S × C numbers
    offered: Sequence[Places]  # the candidates of each situation: items in ascending order
    items: LoggedItems
    skipped: Counter[str]  # how many rows were left out, for each complaint
    crosses: bool = False  # whether a candidate's row has the products of context and item
    # The probability of each candidate of each situation, if the log has them all.
    chances: Sequence[FloatArray] | None = None
    notes: tuple[str, ...] = ()  # what a reader of the result should know of the log
    alarms: tuple[Alarm, ...] = ()  # what is wrong with the features of contexts and items
    weight: FloatArray | None = None  # how much each round counts for a model, if that differs
    grouped: bool = False  # whether a model makes equal rounds one
    amounts: LoggedAmounts | None = None  # where clicks have values, or showing has costs

    def rows(self, situation: int) -> FloatArray:
        """The features of the candidates: (1, context, item), and the products if asked for."""
        items = self.items.features[self.offered[situation]]
        context = self.contexts[situation]
        if self.crosses:
            return crossed(context, items)
        same = np.broadcast_to(np.append(1.0, context), (items.shape[0], 1 + context.size))
        return np.column_stack([same, items])

    def by_situation(self, rounds: Places) -> Iterator[tuple[int, Places]]:
        """The situations of some rounds, each with those rounds that have it."""
        order = rounds[np.argsort(self.situation[rounds], kind="stable")]
        situations, starts = np.unique(self.situation[order], return_index=True)
        yield from zip(situations.tolist(), np.split(order, starts[1:]), strict=True)

    def logged_rows(self) -> FloatArray:
        """The features of each round's logged item."""
        full = np.empty((self.reward.size, self.rows(0).shape[1]))
        for situation, here in self.by_situation(np.arange(self.reward.size)):
            place = np.searchsorted(self.offered[situation], self.action[here])
            full[here] = self.rows(situation)[place]
        return full

    def names(self, situation: int) -> tuple[str, ...]:
        """The ids of the candidates."""
        return tuple([self.items.ids[each] for each in self.offered[situation]])

    def alike(self) -> int:
        """In how many rounds all candidates have the same features."""
        features = [self.items.features[each] for each in self.offered]
        same = np.array([len(each) > 1 and bool((each == each[0]).all()) for each in features])
        return int(same[self.situation].sum())

    def is_item(self, situation: int, name: str) -> FloatArray:
        """1 for the candidate of that id, 0 for the others."""
        ids = self.items.ids
        return np.array([float(ids[each] == name) for each in self.offered[situation]])


def schema_of(
    table: Table,
    source: str,
    *,
    most_levels: int,
    context: Iterable[str] = (),
    bias: bool = True,
    other: bool = False,
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
        schema = Schema.infer(
            table, context=context, most_levels=most_levels, other=other, bias=bias
        )
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from error
    for feature in schema.features.values():
        if isinstance(feature, Text):
            raise ValueError(
                f"column {feature.name!r} of {source} has more than {most_levels:,} different "
                "texts, too many for a weight each: drop it"
            )
    return schema


def column_alarms(schema: Schema, rows: FloatArray, rounds: int) -> tuple[Alarm, ...]:
    """What is wrong with features, of which these rows were met in so many rounds.

    Examples
    --------
    >>> table = Table.of({"age": [1, 3]})
    >>> schema = Schema.infer(table)
    >>> [alarm.kind for alarm in column_alarms(schema, schema.design(table)[:1], rounds=100)]
    ['constant number']
    """
    watch = Watch()
    watch.saw(rows.min(axis=0), rows.max(axis=0), rounds)
    return watch.of_columns(schema)


def groups_of(X: FloatArray) -> list[Group]:
    """What the columns of rows stand for: ones are the constant, zeros and ones a category.

    Examples
    --------
    >>> groups_of(np.array([[1.0, -0.5, 0.0], [1.0, 0.5, 1.0]]))
    ['constant', 'numbers', 'categories']
    """
    ones = (X == 1.0).all(axis=0)
    zeros_and_ones = ((X == 0.0) | (X == 1.0)).all(axis=0)
    return [
        "constant" if one else "categories" if category else "numbers"
        for one, category in zip(ones, zeros_and_ones, strict=True)
    ]


def missing(words: Any) -> BoolArray:
    """Which of the cells of an Arrow column are empty."""
    return np.asarray(words.is_null().to_numpy(zero_copy_only=False), dtype=bool)


def encoded_records(
    records: Sequence[Mapping[str, Any]], source: str, *, most: int, rounds: int
) -> tuple[FloatArray, tuple[Alarm, ...]]:
    """Records that need not have the same keys: what is missing gets a column where it occurs.

    Numbers are standardised.  Strings have a column each, features of few different ones first,
    until there are ``most`` columns; the others have none.  The records are those of ``rounds``;
    what is wrong with their features is told beside the numbers.

    Examples
    --------
    >>> records = [{"age": 1, "make": "kia"}, {"age": 3}]
    >>> encoded_records(records, "log.parquet", most=100, rounds=2)[0]
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
        rows = schema.design(table)
        return rows, column_alarms(schema, rows, rounds)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from error
