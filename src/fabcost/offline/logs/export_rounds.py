"""Rounds in the rows of an exported log: which of them count, and what each says."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from fabcost.bandit.values import LARGEST_AMOUNT
from fabcost.features.tables.cells import A_FRACTION, fraction

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

Record = dict[str, Any]
Features = dict[str, Any]
Numbered = tuple[int, Record]


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


def countable(records: Sequence[Record]) -> tuple[list[Numbered], list[str]]:
    """The rows, numbered from 1, whose outcome and probabilities are known, and notes on others.

    A click is known at once, and that there is none only at the deadline: since the first decision
    that still waits, those that do not wait are too often clicks.  None since then counts.
    Decisions that were imported have waited elsewhere, and are looked at by themselves.
    """
    waiting = [r for r in records if r["active"] and r["outcome"] is None]
    first = {True: math.inf, False: math.inf}
    for record in waiting:
        first[_is_imported(record)] = min(first[_is_imported(record)], record["time"])
    numbered = list(enumerate(records, start=1))
    final = [(i, record) for i, record in numbered if record["time"] < first[_is_imported(record)]]
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


def _is_imported(record: Record) -> bool:
    return bool(record["arm"] == "imported")


def round_of(record: Record) -> ExportedRound:
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


def _amounts(record: Record) -> tuple[float, float]:
    given = {name: each for name in AMOUNTS if (each := record.get(name)) is not None}
    value, cost = (AMOUNTS | given).values()
    if not 0.0 <= value <= LARGEST_AMOUNT:
        raise RoundError("click_value", f"is {value}", "be a number, at least 0")
    if not abs(cost) <= LARGEST_AMOUNT:
        raise RoundError("cost", f"is {cost}", "be a number")
    return value, cost


def _chances(record: Record, candidates: Features) -> dict[str, float]:
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


def _decoded(record: Record, column: str) -> Features:
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
