"""Logs of decisions for an evaluation: tables whose columns are named, or exports of a service."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fabcost.features.tables import cells
from fabcost.features.tables.cells import BoolArray
from fabcost.features.tables.columns import Arrow, Coded
from fabcost.features.tables.files import read_file
from fabcost.features.tables.sheet import Wrong
from fabcost.features.tables.table import Table
from fabcost.impressions import FloatArray
from fabcost.offline.logs.counted import amounts_of, read_counted, weights_of
from fabcost.offline.logs.export_rounds import AMOUNTS
from fabcost.offline.logs.exports import is_export, read_export
from fabcost.offline.logs.rounds import (
    Log,
    LoggedAmounts,
    LoggedItems,
    Places,
    column_alarms,
    missing,
    schema_of,
)

MOST_LEVELS = 500
#: Reward, propensity and action of an export.
OF_EXPORT = ("reward", "propensity", "action")


@dataclass(frozen=True)
class Columns:
    """The names of a log's columns."""

    reward: str  # from 0 to 1, or how many clicks of the impressions
    propensity: str  # the logged probability of the action
    action: str  # the id of the chosen item
    context: tuple[str, ...] = ()  # what was known of the visitor
    slot: str | None = None  # candidates are only items that the log shows in the same one
    impressions: str | None = None  # how many equal decisions a row stands for
    weight: str | None = None  # how much a row counts for a model
    value: str | None = None  # of a click on the chosen item, here or in the table of items
    cost: str | None = None  # of showing it, likewise

    @property
    def named(self) -> tuple[str, ...]:
        """All of them."""
        slot = () if self.slot is None else (self.slot,)
        return (self.reward, self.propensity, self.action, *self.context, *slot)


def columns_of(
    path: Path,
    named: tuple[str | None, str | None, str | None],
    context: Sequence[str],
    slot: str | None,
    impressions: str | None = None,
    weight: str | None = None,
    amounts: tuple[str | None, str | None] = (None, None),
) -> tuple[Columns, bool]:
    """The columns of a log, and whether it is the export of a service, which need not be named."""
    fits = all(given in (None, name) for given, name in zip(named, OF_EXPORT, strict=True))
    if fits and is_export(path):
        if slot is not None:
            raise ValueError(f"{path} names the candidates of each row: slot is not for such logs")
        for name, given in (("impressions", impressions), ("weight", weight)):
            if given is not None:
                raise ValueError(f"{path} has a row for each decision: {name} is not for such logs")
        for given, known in zip(amounts, AMOUNTS, strict=True):
            if given not in (None, known):
                raise ValueError(f"{path} has the column {known}: {given} is not for such logs")
        return Columns(*OF_EXPORT, tuple(context)), True
    reward, propensity, action = named
    if reward is None or propensity is None or action is None:
        raise ValueError(
            f"{path} is no Parquet log of a service: --reward, --propensity and --action must name "
            "its columns"
        )
    more = (tuple(context), slot, impressions, weight, *amounts)
    return Columns(reward, propensity, action, *more), False


def check_kinds(
    kinds: Iterable[str], drop: Iterable[str], columns: Columns, items: Path | None
) -> list[str]:
    """Columns to drop that are not of the items; a ValueError if one is not where it must be."""
    of_items = () if items is None else read_file(items).columns
    for name in kinds:
        if name not in (*columns.context, *of_items):
            raise ValueError(f"column {name!r} is neither a --context nor one of --items")
    for name in drop:
        if name in columns.named:
            raise ValueError(f"column {name!r} is dropped, but another option names it")
    return [name for name in drop if name not in of_items]


def open_log(
    path: Path,
    columns: Columns,
    *,
    export: bool,
    items: LoggedItems | None,
    skip_bad_rows: bool,
    crosses: bool,
    kinds: Mapping[str, cells.Kind] | None = None,
    drop: Sequence[str] = (),
) -> Log:
    """The log with the columns of `columns_of`."""
    options: dict[str, Any] = {"items": items, "skip_bad_rows": skip_bad_rows, "crosses": crosses}
    options["drop"] = drop
    if not export:
        return read_log(path, columns, kinds=kinds, **options)
    if not {*columns.context}.isdisjoint(kinds or ()):
        raise ValueError(f"{path} says what its contexts are: kinds are not for such logs")
    return read_export(path, context=columns.context, **options)


def read_items(
    path: Path,
    item_id: str,
    amounts: tuple[str | None, str | None] = (None, None),
    kinds: Mapping[str, cells.Kind] | None = None,
    drop: Sequence[str] = (),
) -> LoggedItems:
    """Items of a table: all its named columns but the id and those to ``drop`` are features.

    Those that ``amounts`` names, value and cost, are kept as they are besides, if all are here.
    """
    sheet = replace(read_file(path), kinds=kinds or {})
    sheet.check_has([item_id])
    ids = cells.texts(item_id, sheet.table[item_id])
    values, wrong = sheet.clean(name for name in sheet.columns if name not in (item_id, *drop))
    places, codes = Arrow(ids).coded
    repeated = np.ones(len(sheet), dtype=bool)
    repeated[np.unique(codes, return_index=True)[1]] = False
    is_here = all(name is None or name in sheet.columns for name in amounts)
    worth, no_amount = amounts_of(sheet, *amounts) if is_here else (None, [])
    wrong += [
        *no_amount,
        Wrong(item_id, missing(ids), "have a value"),
        Wrong(item_id, repeated, "differ from those above it"),
    ]
    sheet.sound(wrong, skip=False)
    table = Table({name: Arrow(each) for name, each in values.items()}, len(sheet))
    schema = schema_of(table, str(path), most_levels=MOST_LEVELS, bias=False)
    features = schema.design(table)
    alarms = column_alarms(schema, features, len(sheet))
    return LoggedItems(tuple(places), features, False, alarms, worth)


def read_log(
    path: Path,
    columns: Columns,
    *,
    items: LoggedItems | None = None,
    skip_bad_rows: bool = False,
    crosses: bool = False,
    kinds: Mapping[str, cells.Kind] | None = None,
    drop: Sequence[str] = (),
) -> Log:
    """The log in ``path``; what is not named is no feature, so that to ``drop`` it changes nothing.

    A bad row is a `BadRowsError` that names its number, or is skipped and counted.  Without
    ``items`` they are those of the log, told apart by a feature each.
    """
    given = (columns.reward, columns.impressions)
    sheet, no_counts = read_counted(path, *given, skip_bad_rows=skip_bad_rows)
    sheet.check_has((*columns.named, *drop))
    sheet = replace(sheet, kinds=kinds or {})
    cleaned, wrong = sheet.clean(columns.context)
    read = _Read(
        *cells.outcomes(sheet.table[columns.reward], cells.fraction),
        cells.numbers(columns.propensity, sheet.table[columns.propensity]),
        cells.texts(columns.action, sheet.table[columns.action]),
        None if columns.slot is None else cells.texts(columns.slot, sheet.table[columns.slot]),
        cleaned,
    )
    weight, no_weight = weights_of(sheet, columns.weight)
    of_items = items is not None and items.amounts is not None
    named = (None, None) if of_items else (columns.value, columns.cost)
    amounts, no_amount = amounts_of(sheet, *named)
    wrong = [*read.wrong(columns, items), *no_weight, *no_amount, *wrong]
    sound, skipped = sheet.sound(wrong, skip=skip_bad_rows)
    found = read.only(sound).log(items, str(path), crosses)
    amounts = None if amounts is None else (amounts[0][sound], amounts[1][sound])
    found = replace(found, amounts=_worth(found, amounts))
    weight = None if weight is None else weight[sound]
    grouped = columns.impressions is not None or weight is not None
    return replace(found, skipped=skipped + no_counts, weight=weight, grouped=grouped)


def _worth(log: Log, of_rounds: tuple[FloatArray, FloatArray] | None) -> LoggedAmounts | None:
    """What clicks are worth by each round, or else by each item."""
    if of_rounds is not None:
        return LoggedAmounts.of_rounds(of_rounds, log.action, log.items)
    if log.items.amounts is None:
        return None
    value, cost = log.items.amounts
    return LoggedAmounts((value[log.action], cost[log.action]), (value, cost))


class _Read(NamedTuple):
    """The columns of a log, each by its own rule."""

    reward: FloatArray
    no_outcome: BoolArray
    propensity: FloatArray
    action: Any
    slot: Any | None
    context: dict[str, Any]

    def wrong(self, columns: Columns, items: LoggedItems | None) -> Iterator[Wrong]:
        """What is wrong with a round, whatever its context."""
        unlikely = ~((self.propensity > 0.0) & (self.propensity <= 1.0))
        yield Wrong(columns.reward, self.no_outcome, cells.A_FRACTION)
        yield Wrong(columns.propensity, unlikely, "lie in (0, 1]")
        yield Wrong(columns.action, missing(self.action), "have a value")
        if items is not None:
            ids, codes = Arrow(self.action).coded
            unknown = np.array([each not in items.ids for each in ids], dtype=bool)[codes]
            yield Wrong(columns.action, unknown, "be a known item")
        if columns.slot is not None:
            yield Wrong(columns.slot, missing(self.slot), "have a value")

    def only(self, rows: BoolArray) -> _Read:
        slot = None if self.slot is None else self.slot.filter(rows)
        context = {name: each.filter(rows) for name, each in self.context.items()}
        arrays = (self.reward[rows], self.no_outcome[rows], self.propensity[rows])
        return _Read(*arrays, self.action.filter(rows), slot, context)

    def log(self, items: LoggedItems | None, source: str, crosses: bool) -> Log:
        chosen = Arrow(self.action).coded
        if items is None:
            ids = tuple(sorted(chosen.values))
            items = LoggedItems(ids, np.eye(len(ids)), by_id=True)
        slot = None if self.slot is None else Arrow(self.slot).coded
        columns = [Arrow(each).coded for each in self.context.values()]
        situation, first = _situations(columns + ([slot] if slot else []), self.reward.size)
        table = Table({name: Arrow(c.take(first)) for name, c in self.context.items()}, first.size)
        schema = schema_of(table, source, most_levels=MOST_LEVELS, context=table, bias=False)
        action, contexts = _placed(chosen, items), schema.design(table)
        return Log(
            self.reward,
            self.propensity,
            action,
            situation,
            contexts,
            _offered(action, slot, first, len(items.ids)),
            items,
            Counter(),
            crosses,
            alarms=(*column_alarms(schema, contexts, self.reward.size), *items.alarms),
        )


def _placed(chosen: Coded, items: LoggedItems) -> Places:
    """Where each round's item stands among all items."""
    place = {name: i for i, name in enumerate(items.ids)}
    return np.array([place[name] for name in chosen.values], dtype=np.intp)[chosen.codes]


def _situations(columns: Sequence[Coded], rounds: int) -> tuple[Places, Places]:
    """Each round's situation, and the first round of each, in the order of their appearance."""
    codes = [column.codes for column in columns]
    keys = np.column_stack(codes) if codes else np.zeros((rounds, 1), dtype=np.intp)
    _, first, situation = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return rank[situation.ravel()], first[order]


def _offered(action: Places, slot: Coded | None, first: Places, items: int) -> list[Places]:
    """The candidates of each situation: all items, or those that the log shows in its slot."""
    if slot is None:
        return [np.arange(items)] * first.size
    shown = np.zeros((len(slot.values), items), dtype=bool)
    shown[slot.codes, action] = True
    by_slot = [np.flatnonzero(each) for each in shown]
    return [by_slot[each] for each in slot.codes[first]]
