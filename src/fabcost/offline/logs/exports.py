"""The log that a service exported, read as it is: every round has candidates of its own."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet

from fabcost.bandit.values import LARGEST_AMOUNT
from fabcost.features.tables.cells import A_FRACTION, fraction
from fabcost.features.tables.sheet import BadRowsError, Fault
from fabcost.offline.logs.rounds import Log, LoggedAmounts, LoggedItems, encoded_records

#: The columns by which an export is recognised; all of them are read.
EXPORTED = (
    "action",
    "reward",
    "propensity",
    "propensities",
    "candidates",
    "context",
    "excluded",
    "time",
    "arm",
    "outcome",
    "active",
    "changed",
    "missing",
)
#: What a click on the chosen item was worth and showing it cost, in exports that have it.
AMOUNTS = {"click_value": 1.0, "cost": 0.0}
# Probabilities of logs from elsewhere may be rounded.
_ROUNDING = 1e-3

Features = dict[str, Any]
Numbered = tuple[int, Features]


class ExportedRound(NamedTuple):
    """A decision among candidates."""

    action: str
    reward: float
    context: Features
    chances: dict[str, float]  # the probability of each candidate that could be chosen
    features: dict[str, Features]  # of each of them
    changed: bool  # whether features are those of the export
    missing: frozenset[str]  # whose had left the catalogue by then
    amounts: tuple[float, float] = (1.0, 0.0)  # value of a click, and cost


class RoundError(ValueError):
    """What is wrong with a round: the column and what it is, and what it must be."""

    def __init__(self, column: str, found: str, expected: str) -> None:
        super().__init__(f"{column} {found} but must {expected}")
        self.parts = (column, found, expected)


def countable(records: Sequence[Features]) -> tuple[list[Numbered], list[str]]:
    """The rows, numbered from 1, whose outcome and probabilities are known, and notes on others.

    A click is known at once, and that there is none only at the deadline: since the first decision
    that still waits, those that do not wait are too often clicks.  None since then counts.
    Decisions that were imported have waited elsewhere, and are looked at by themselves.
    """
    waiting = [r for r in records if r["active"] and r["outcome"] is None]
    first = {True: math.inf, False: math.inf}
    for record in waiting:
        imported = record["arm"] == "imported"
        first[imported] = min(first[imported], record["time"])
    numbered = list(enumerate(records, start=1))
    final = [(i, each) for i, each in numbered if each["time"] < first[each["arm"] == "imported"]]
    known = [(i, record) for i, record in final if record["reward"] is not None]
    drawn = [(i, record) for i, record in known if record["propensities"] is not None]
    reasons = (
        (len(numbered) - len(final), f"made since the first of {len(waiting)} that still wait"),
        (len(final) - len(known), "not activated, or without an outcome"),
        (
            len(known) - len(drawn),
            "without propensities: nothing was drawn, or none were asked for",
        ),
    )
    return drawn, [f"{many:,} rounds are left out: {why}" for many, why in reasons if many]


def round_of(record: Features) -> ExportedRound:
    """What a row says, or a `RoundError`.

    Examples
    --------
    >>> record = {
    ...     "action": "a", "reward": 1, "candidates": '{"a": {}, "b": {}, "c": {}}',
    ...     "context": "{}", "propensities": [0.5, 0.5, 0.0], "excluded": ["c"],
    ...     "changed": False, "missing": []
    ... }
    >>> round_of(record).chances
    {'a': 0.5, 'b': 0.5}
    """
    decoded = _decoded(record, "candidates")
    candidates = {name: _flat("candidates", each) for name, each in decoded.items()}
    chances = _chances(record, candidates)
    excluded = set(record["excluded"] or ())
    offered = {name: p for name, p in chances.items() if name not in excluded}
    if sum(offered.values()) < 1.0 - _ROUNDING:
        raise RoundError("excluded", f"is {sorted(excluded)}", "have no probability")
    reward = fraction(record["reward"])
    if reward is None:
        raise RoundError("reward", f"is {record['reward']}", A_FRACTION)
    return ExportedRound(
        action=record["action"],
        reward=reward,
        context=_flat("context", _decoded(record, "context")),
        chances=offered,
        features={name: candidates[name] for name in offered},
        changed=bool(record["changed"]),
        missing=frozenset(record["missing"] or ()),
        amounts=_amounts(record),
    )


def _amounts(record: Features) -> tuple[float, float]:
    given = {name: each for name in AMOUNTS if (each := record.get(name)) is not None}
    value, cost = (AMOUNTS | given).values()
    if not 0.0 <= value <= LARGEST_AMOUNT:
        raise RoundError("click_value", f"is {value}", "be a number, at least 0")
    if not abs(cost) <= LARGEST_AMOUNT:
        raise RoundError("cost", f"is {cost}", "be a number")
    return value, cost


def _chances(record: Features, candidates: Features) -> dict[str, float]:
    given, action = record["propensities"], record["action"]
    if len(given) != len(candidates):
        found = f"are {len(given)} for {len(candidates)} candidates"
        raise RoundError("propensities", found, "be one for each")
    if not all(p is not None and 0.0 <= p <= 1.0 for p in given):
        raise RoundError("propensities", f"are {given}", "lie in [0, 1]")
    if abs(sum(given) - 1.0) > _ROUNDING:
        raise RoundError("propensities", f"add up to {sum(given):.6g}", "add up to 1")
    chances = dict(zip(candidates, given, strict=True))
    if not chances.get(action, 0.0) > 0.0:
        raise RoundError("action", f"is {action}", "be a candidate of nonzero probability")
    return chances


def _decoded(record: Features, column: str) -> Features:
    try:
        found = json.loads(record[column])
    except (TypeError, ValueError):
        found = None
    if not isinstance(found, dict):
        raise RoundError(column, f"is {str(record[column])[:40]!r}", "be a JSON object")
    return found


def _flat(column: str, found: Any) -> Features:
    if not isinstance(found, dict):
        raise RoundError(column, f"has {found!r}", "have features by name")
    for name, value in found.items():
        if isinstance(value, dict | list):
            raise RoundError(column, f"has {name} = {value!r}", "have plain values")
    return found


#: Columns of items, and of contexts, whose strings may be as many as there are visitors.
MOST_OF_ITEMS, MOST_OF_CONTEXT = 500, 100


def read_export(
    path: Path,
    *,
    context: Sequence[str] = (),
    items: LoggedItems | None = None,
    skip_bad_rows: bool = False,
    crosses: bool = False,
) -> Log:
    """The log of a service: Parquet of ``fabcost export-log``, or of ``GET …/log?format=parquet``.

    Of the ``context`` the named features are used, or all; ``items`` replace those of the log.  A
    bad row is an error that names it, from 1, and what is wrong, or is skipped and counted.
    """
    there = set(pyarrow.parquet.read_schema(path).names)
    columns = [*EXPORTED, *(name for name in AMOUNTS if name in there)]
    drawn, notes = countable(pyarrow.parquet.read_table(path, columns=columns).to_pylist())
    rounds, skipped = _sound(path, drawn, skip_bad_rows)
    if not rounds:
        why = "; ".join([*notes, f"{skipped.total()} bad rows were skipped"])
        raise ValueError(f"{path} has no round with an outcome and propensities ({why})")
    notes += _notes_on(rounds)
    rounds = _with_context(path, _as_of_export(rounds), context)
    log = _assembled(path, rounds, items, skipped, crosses)
    return replace(log, notes=tuple(notes), amounts=_worth(log, rounds))


def _worth(log: Log, rounds: list[ExportedRound]) -> LoggedAmounts | None:
    """What clicks are worth, unless each is worth 1 and nothing costs."""
    value, cost = np.array([each.amounts for each in rounds]).T.copy()
    if (value == 1.0).all() and not cost.any():
        return None
    return LoggedAmounts.of_rounds((value, cost), log.action, log.items)


def _sound(
    path: Path, numbered: list[Numbered], skip_bad_rows: bool
) -> tuple[list[ExportedRound], Counter[str]]:
    sound, faults = [], []
    for row, record in numbered:
        try:
            sound.append(round_of(record))
        except RoundError as error:
            faults.append(Fault(row, *error.parts))
    if faults and not skip_bad_rows:
        raise BadRowsError(str(path), faults)
    return sound, Counter(fault.kind for fault in faults)


def _assembled(
    path: Path,
    rounds: list[ExportedRound],
    items: LoggedItems | None,
    skipped: Counter[str],
    crosses: bool,
) -> Log:
    candidates, items = _items_of(path, rounds, items)
    keys = []
    for each, places in zip(rounds, candidates, strict=True):
        chances = each.chances
        offered = sorted((place, chances[name]) for name, place in places.items())
        keys.append((tuple(each.context.items()), tuple(offered)))
    distinct = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    records = [dict(context) for context, _ in distinct]
    contexts, alarms = encoded_records(records, str(path), most=MOST_OF_CONTEXT, rounds=len(rounds))
    return Log(
        np.array([each.reward for each in rounds]),
        np.array([each.chances[each.action] for each in rounds]),
        np.array([places[r.action] for r, places in zip(rounds, candidates, strict=True)]),
        np.array([distinct[key] for key in keys]),
        contexts,
        [np.array([place for place, _ in offered]) for _, offered in distinct],
        items,
        skipped,
        crosses,
        [np.array([chance for _, chance in offered]) for _, offered in distinct],
        alarms=(*alarms, *items.alarms),
    )


def _as_of_export(rounds: list[ExportedRound]) -> list[ExportedRound]:
    """Rounds on a catalogue that has changed, with the features of the export for all candidates.

    The log has those of the decision for the chosen candidate alone.  A policy that saw them could
    tell what the log has chosen, and no weight would be right.
    """
    now: dict[str, Features] = {}
    for each in rounds:
        if each.changed:
            now |= {name: f for name, f in each.features.items() if name != each.action}
    return [
        each._replace(features={n: now.get(n, f) for n, f in each.features.items()})
        if each.changed
        else each
        for each in rounds
    ]


def _with_context(
    path: Path, rounds: list[ExportedRound], names: Sequence[str]
) -> list[ExportedRound]:
    """Rounds with the named features of the context only, or all if none is named."""
    if not names:
        return rounds
    known = dict.fromkeys(name for each in rounds for name in each.context)
    for name in names:
        if name not in known:
            shown = ", ".join(known) or "none"
            raise ValueError(f"{path} has no context feature {name!r}; it has {shown}")
    return [
        each._replace(context={name: each.context.get(name) for name in names}) for each in rounds
    ]


def _items_of(
    path: Path, rounds: list[ExportedRound], items: LoggedItems | None
) -> tuple[list[dict[str, int]], LoggedItems]:
    """Each round's candidates as places among the items: the given ones, or those of the log.

    Of the latter an id has a place for each of its features.
    """
    if items is not None:
        return _known(path, rounds, items), items
    place: dict[tuple[str, object], int] = {}
    records: list[Features] = []
    places = []
    for each in rounds:
        here = {}
        for name, features in each.features.items():
            here[name] = place.setdefault((name, tuple(features.items())), len(place))
            if len(place) > len(records):
                records.append(features)
        places.append(here)
    ids = tuple(name for name, _ in place)
    by_id = not _has_features(rounds)
    if by_id:
        records = [{"id": name} for name in ids]
    rows, alarms = encoded_records(records, str(path), most=MOST_OF_ITEMS, rounds=len(rounds))
    return places, LoggedItems(ids, rows, by_id, () if by_id else alarms)


def _has_features(rounds: list[ExportedRound]) -> bool:
    """Whether any candidate has any."""
    return any(features for each in rounds for features in each.features.values())


def _notes_on(rounds: list[ExportedRound]) -> Iterator[str]:
    """What the candidates are, where that is not plain."""
    unlikely = sum(min(each.chances.values()) == 0.0 for each in rounds)
    changed = sum(each.changed for each in rounds)
    gone = {name for each in rounds for name in each.missing}
    if unlikely:
        yield f"in {unlikely:,} rounds candidates had no chance: the floor was 0"
    if changed:
        yield (
            f"in {changed:,} rounds the catalogue was another one: policies that learn see the "
            "features of the export"
        )
    if gone:
        yield (
            f"{len(gone):,} candidates have left the catalogue: policies that learn see none of "
            "their features; uniform and always:ITEM need none"
        )
    if not _has_features(rounds):
        yield "no candidate has features: policies that learn tell items apart by their ids"


def _known(path: Path, rounds: list[ExportedRound], items: LoggedItems) -> list[dict[str, int]]:
    place = {name: i for i, name in enumerate(items.ids)}
    for each in rounds:
        for name in each.chances:
            if name not in place:
                raise ValueError(f"{path} has the candidate {name!r}, which is no known item")
    return [{name: place[name] for name in each.chances} for each in rounds]
