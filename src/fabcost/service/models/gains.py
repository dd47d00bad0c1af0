"""What the bandit gains over the arm beside it, from the minutes whose outcomes are known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby, takewhile

from fabcost.bandit.lift import Arm, lift
from fabcost.service.store.rows import CountRow
from fabcost.wire.messages import LiftView

_MINUTE = 60.0
_OTHERS = ("holdback", "baseline")


def gain(rows: Sequence[CountRow], wait: float, now: float) -> LiftView | None:
    """Of all minutes in their order; None while there is nothing to compare."""
    known = settled(rows, wait, now)
    ours = _arm(known, "bandit")
    for name in _OTHERS:
        theirs = _arm(known, name)
        if ours.impressions and theirs.impressions:
            return _view(name, ours, theirs)
    return None


def settled(rows: Sequence[CountRow], wait: float, now: float) -> list[CountRow]:
    """Counts of minutes whose wait is over, and of those after them up to the first that waits.

    A click is known at once, that there is none often only when the wait is over: of minutes that
    wait, those with clicks would be complete first.
    """
    minutes = [list(group) for _, group in groupby(rows, key=lambda row: row.start)]
    past = list(takewhile(lambda minute: minute[0].start + _MINUTE + wait <= now, minutes))
    early = [row for minute in takewhile(_is_known, minutes[len(past) :]) for row in minute]
    if all(row.rewards == row.impressions for row in early):
        early = []
    return [row for minute in past for row in minute] + early


def _is_known(minute: list[CountRow]) -> bool:
    return all(row.impressions >= row.decisions for row in minute)


def _arm(rows: Sequence[CountRow], name: str) -> Arm:
    ours = [row for row in rows if row.arm == name]
    return Arm(sum(row.rewards for row in ours), sum(row.impressions for row in ours))


def _view(name: str, ours: Arm, theirs: Arm) -> LiftView:
    found = lift(ours, theirs)
    value, low, high = found.gained(ours.clicks)
    return LiftView(
        over=name,
        impressions=int(ours.impressions),
        clicks=ours.clicks,
        impressions_beside=int(theirs.impressions),
        clicks_beside=theirs.clicks,
        level=found.level,
        value=_finite(found.value),
        low=found.low,
        high=_finite(found.high),
        verdict=found.verdict,
        gained=_finite(value),
        gained_low=_finite(low),
        gained_high=_finite(high),
    )


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
