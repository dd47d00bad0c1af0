"""Which estimator to read of a policy, and why: by weights, before rewards were looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fabcost.offline.evaluate.support import Reach

_WHY = {
    "dr": "right on average whatever its model, and steadier than ips where that is good",
    "sndr": "as dr, with weights that sum to the rounds",
    "snips": "the steadiest without a model",
    "shrunk": "few rounds carry most of the weight, and count less here",
    "ips": "right on average, and the only one asked for that is",
    "replay": "rounds as the policy would have had them",
}
_ORDER = ("dr", "snips", "sndr", "shrunk", "ips", "replay")
_HEAVY_ORDER = ("shrunk", "sndr", "snips", "dr", "ips", "replay")
_PARTIAL_ORDER = ("snips", "replay")
_SAME_ORDER = ("ips", "snips", *_ORDER)


class Advice(NamedTuple):
    """The estimator to read, if any, and why."""

    estimator: str | None
    why: str


def advised(asked: Sequence[str], reach: Reach | None) -> Advice:
    """The best of the estimators that were asked for; the policy learns if ``reach`` is None.

    Examples
    --------
    >>> advised(("replay",), None)
    Advice(estimator='replay', why='the only one for a policy that learns')
    """
    if reach is None:
        return Advice("replay", "the only one for a policy that learns")
    if not reach.fits:
        return Advice(None, "its weights do not fit this log")
    if reach.is_same:
        why = "the policy chooses as the log did, and has its mean"
        return _first(_SAME_ORDER, asked, dict.fromkeys(_SAME_ORDER, why))
    if reach.is_partial:
        why = "of the rounds in which the policy has a candidate"
        return _first(_PARTIAL_ORDER, asked, dict.fromkeys(_PARTIAL_ORDER, why))
    return _first(_HEAVY_ORDER if reach.is_heavy else _ORDER, asked, _WHY)


def _first(order: Sequence[str], asked: Sequence[str], why: dict[str, str]) -> Advice:
    for name in order:
        if name in asked:
            return Advice(name, why[name])
    return Advice(None, "none that was asked for can be relied on")
