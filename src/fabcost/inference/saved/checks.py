"""What a saved learner says, checked: a file may come from anywhere."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fabcost.gaussian import LANE, Gaussian
from fabcost.inference.forgetting import Ageing, HalfLife
from fabcost.inference.history import Carried
from fabcost.inference.own.directory import OwnChanges
from fabcost.inference.own.effects import OwnEffects
from fabcost.inference.schedule import Refresh

#: Larger counts are not exact as float64, in which schedules calculate.
_LARGEST_COUNT = 2**53
_LARGEST_NUMBER = 1e100
_WIDEST = 8  # bytes


class SavedCounts(NamedTuple):
    """How far a learner has come."""

    seen: int
    refreshes: int
    skipped: int
    unconverged: int
    next: int | None
    slot: int


def entry(document: Any, name: str) -> Any:
    """What a document says under ``name``, or a ValueError that it says nothing.

    Examples
    --------
    >>> entry({"seen": 3}, "window")
    Traceback (most recent call last):
    ValueError: 'window' is missing
    """
    if not isinstance(document, Mapping):
        raise ValueError(f"{document!r:.80} was found but must be a dictionary with {name!r}")
    if name not in document:
        raise ValueError(f"{name!r} is missing")
    return document[name]


def whole(document: Any, name: str, *, least: int = 0) -> int:
    """A count under ``name``, or a ValueError that says what is there.

    Examples
    --------
    >>> whole({"seen": -1}, "seen")
    Traceback (most recent call last):
    ValueError: seen is -1 but must be a whole number of at least 0
    """
    found = entry(document, name)
    if type(found) is not int or not least <= found <= _LARGEST_COUNT:
        raise ValueError(f"{name} is {found!r:.80} but must be a whole number of at least {least}")
    return found


def real(document: Any, name: str) -> float:
    """A finite number under ``name``, or a ValueError that says what is there.

    Examples
    --------
    >>> real({"tolerance": "small"}, "tolerance")
    Traceback (most recent call last):
    ValueError: tolerance is 'small' but must be a finite number
    """
    found = entry(document, name)
    if type(found) not in (int, float) or not abs(found) <= _LARGEST_NUMBER:
        raise ValueError(f"{name} is {found!r:.80} but must be a finite number")
    return float(found)


def tolerance_of(settings: Any) -> float:
    """At which a refresh stops.

    Examples
    --------
    >>> tolerance_of({"tolerance": 1e-10})
    1e-10
    """
    tolerance = real(settings, "tolerance")
    if not tolerance > 0:
        raise ValueError(f"tolerance is {tolerance} but must be above zero")
    return tolerance


def numbers(
    arrays: Mapping[str, npt.NDArray[Any]], name: str, *shape: int, kind: str = "f"
) -> npt.NDArray[Any]:
    """A copy of an array of ``shape`` and of floats (or of ``kind``), all of them finite.

    Examples
    --------
    >>> numbers({"y": np.zeros(2)}, "y", 3)
    Traceback (most recent call last):
    ValueError: y has shape (2,) but must have (3,)
    """
    found = entry(arrays, name)
    if found.dtype.kind != kind or found.dtype.itemsize > _WIDEST:
        raise ValueError(f"{name} is of type {found.dtype} but must be of kind {kind!r}")
    if found.shape != shape:
        raise ValueError(f"{name} has shape {found.shape} but must have {shape}")
    copied = np.array(found, dtype=np.float64 if kind == "f" else np.intp, order="C")
    for wrong in copied[~(np.abs(copied) <= _LARGEST_NUMBER)]:
        raise ValueError(f"{name} contains {wrong} but must contain finite numbers")
    return copied


def limit_of(settings: Any) -> int | None:
    """How many impressions are kept, by the new name or the old; None for all.

    Examples
    --------
    >>> limit_of({"window": 9}), limit_of({"window": None, "most_kept": 8})
    (9, 8)
    """
    name = "most_kept" if "most_kept" in settings else "window"
    return None if entry(settings, name) is None else whole(settings, name, least=1)


def ageing_of(settings: Any) -> Ageing | None:
    """How the learner forgets; None in a file without.

    Examples
    --------
    >>> ageing_of({}) is None
    True
    """
    if "half_life" not in settings:
        return None
    given = settings["half_life"]
    ageing = Ageing(HalfLife(real(given, "length"), entry(given, "unit")), whole(given, "few"))
    ageing.since = whole(given, "since")
    ageing.reached = None if entry(given, "reached") is None else real(given, "reached")
    return ageing


def refresh_to_dict(schedule: Refresh) -> dict[str, Any]:
    """A schedule as plain JSON values; a ValueError if it is a function.

    Examples
    --------
    >>> refresh_to_dict(Refresh.geometric(1.5))["growth"]
    1.5
    """
    if schedule.predicate is not None:
        raise ValueError(
            "a learner whose refresh schedule is a function cannot be saved: "
            "give it one of Refresh.geometric, at, never or always"
        )
    return {
        "kind": schedule.kind,
        "points": list(schedule.points),
        "growth": schedule.growth if schedule.kind == "geometric" else None,
        "max_sweeps": schedule.max_sweeps,
    }


def refresh_of(settings: Any) -> Refresh:
    """The schedule.

    Examples
    --------
    >>> never = {"kind": "never", "points": [], "growth": None, "max_sweeps": 100}
    >>> refresh_of({"refresh": never}).kind
    'never'
    """
    given = entry(settings, "refresh")
    kind, sweeps = entry(given, "kind"), whole(given, "max_sweeps", least=1)
    if kind == "geometric":
        return Refresh.geometric(real(given, "growth"), max_sweeps=sweeps)
    if kind == "at":
        points = entry(given, "points")
        if not isinstance(points, list):
            raise ValueError(f"points are {points!r:.80} but must be a list of iterations")
        checked = [whole({"a point": point}, "a point", least=1) for point in points]
        return Refresh.at(*checked, max_sweeps=sweeps)
    if kind == "never":
        return Refresh.never()
    if kind == "always":
        return Refresh.always(max_sweeps=sweeps)
    raise ValueError(f"kind of refresh is {kind!r:.80} but must be geometric, at, never or always")


def counts_of(settings: Any, schedule: Refresh) -> SavedCounts:
    """How far the learner has come, in step with its schedule.

    Examples
    --------
    >>> settings = {"seen": 3, "refreshes": 0, "skipped": 0, "next": None, "slot": 0}
    >>> counts_of(settings, Refresh.never()).seen
    3
    >>> counts_of({**settings, "next": 2}, Refresh.never())
    Traceback (most recent call last):
    ValueError: next is 2 but the schedule has no refresh to come
    """
    seen = whole(settings, "seen")
    latest, due = schedule.next_after(seen), entry(settings, "next")
    if "rests_until" in settings:
        latest = whole(settings, "rests_until")
    if latest is None:
        if due is not None:
            raise ValueError(f"next is {due!r:.80} but the schedule has no refresh to come")
    elif not seen < whole(settings, "next") <= latest:
        raise ValueError(f"next is {due} but after {seen} impressions must be at most {latest}")
    refreshes, skipped = whole(settings, "refreshes"), whole(settings, "skipped")
    # Files of earlier versions do not count them.
    unconverged = whole({"unconverged": 0, **settings}, "unconverged")
    return SavedCounts(seen, refreshes, skipped, unconverged, due, whole(settings, "slot"))


def gaussian_of(arrays: Mapping[str, npt.NDArray[Any]], prefix: str = "") -> Gaussian:
    """The belief of arrays named mean and root, after a prefix.

    Examples
    --------
    >>> gaussian_of({"prior_mean": np.zeros(1), "prior_root": np.array([[2.0]])}, "prior_").sd
    array([2.])
    """
    mean, root = f"{prefix}mean", f"{prefix}root"
    weights = entry(arrays, mean).size
    return Gaussian.from_root(
        numbers(arrays, mean, weights), numbers(arrays, root, weights, weights)
    )


def belief_of(arrays: Mapping[str, npt.NDArray[Any]], weights: int) -> Carried:
    """The belief so far, with its padding.

    Examples
    --------
    >>> belief_of({"mean": np.zeros(1), "root": np.zeros((1, LANE))}, 1)
    Traceback (most recent call last):
    ValueError: a variance is 0.0 but must be above zero and finite
    """
    padded = -(-weights // LANE) * LANE
    carried = Carried(numbers(arrays, "mean", weights), numbers(arrays, "root", weights, padded))
    if carried.root[:, weights:].any():
        raise ValueError("root has numbers beyond its weights but must have zeros")
    for variance in (carried.root * carried.root).sum(axis=1):
        if not 0.0 < variance < math.inf:
            raise ValueError(f"a variance is {variance} but must be above zero and finite")
    return Carried.of(carried.gaussian())


def own_to_dict(own: OwnEffects) -> dict[str, Any]:
    """What a file says of the items' own effects beside their rows.

    Examples
    --------
    >>> own_to_dict(OwnEffects(1, 4.0))
    {'variance': 4.0, 'keys': []}
    """
    return {"variance": own.variance, "keys": list(own.keys)}


def own_of(
    settings: Any, arrays: Mapping[str, npt.NDArray[Any]], weights: int
) -> OwnEffects | None:
    """The items' own effects, or None in a file without.

    Examples
    --------
    >>> own_of({}, {}, 1) is None
    True
    """
    if "own" not in settings:
        return None
    keys = entry(settings["own"], "keys")
    if not isinstance(keys, list):
        raise ValueError(f"keys are {keys!r:.80} but must be a list of items")
    own = OwnEffects(weights, real(settings["own"], "variance"))
    own.find(keys)  # a ValueError if one can be no item
    rows = numbers(arrays, "own", len(keys), weights + 2)
    for precision in rows[~(rows[:, 0] > 0.0), 0]:
        raise ValueError(f"the precision of an item is {precision} but must be above zero")
    own.follow(OwnChanges(None, tuple(keys), rows, 0))
    known = [key for key in keys if key is not None]
    if len(own) != len(known):
        raise ValueError("an item is there twice")
    return own
