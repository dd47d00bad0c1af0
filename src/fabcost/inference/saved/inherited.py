"""What a file says of what a learner has from another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from fabcost.gaussian import Gaussian
from fabcost.inference.history import Sites
from fabcost.inference.inheritance.effects import InheritedEffects
from fabcost.inference.inheritance.information import Information
from fabcost.inference.inheritance.inheritance import Inheritance
from fabcost.inference.own.directory import check_keys
from fabcost.inference.saved.checks import entry, numbers, real, whole

_KEY = "inheritance"


def state_of(inheritance: Inheritance | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings (plain JSON values) and arrays, for `inheritance_of`.

    Examples
    --------
    >>> state_of(None)
    ({}, {})
    """
    if inheritance is None:
        return {}, {}
    rows, sites = inheritance.information
    arrays = {
        "base_mean": inheritance.base.mean,
        "base_root": inheritance.base.root,
        "inherited": rows,
        "inherited_precision": sites.precision,
        "inherited_shift": sites.shift,
    }
    settings: dict[str, Any] = {"discount": inheritance.discount, "look": inheritance.look}
    effects = inheritance.effects
    if effects is not None:
        arrays["inherited_own"] = effects.rows
        of = {"variance": effects.variance, "before": effects.before}
        settings["own"] = {"keys": list(effects.keys), **of}
    return {_KEY: settings}, arrays


def inheritance_of(
    settings: Any, arrays: Mapping[str, npt.NDArray[Any]], weights: int
) -> Inheritance | None:
    """What the learner has from another; None in a file without.

    Examples
    --------
    >>> inheritance_of({}, {}, 1) is None
    True
    """
    if _KEY not in settings:
        return None
    given = settings[_KEY]
    discount, many = real(given, "discount"), entry(arrays, "inherited_shift").size
    if not 0.0 <= discount <= 1.0:
        raise ValueError(f"discount is {discount} but must lie in [0, 1]")
    sites = Sites(*(numbers(arrays, f"inherited_{name}", many) for name in ("precision", "shift")))
    for wrong in sites.precision[sites.precision < 0.0]:
        raise ValueError(f"inherited_precision contains {wrong} but must not be negative")
    base = Gaussian.from_root(
        numbers(arrays, "base_mean", weights), numbers(arrays, "base_root", weights, weights)
    )
    information = Information(numbers(arrays, "inherited", many, weights), sites)
    look = None if entry(given, "look") is None else whole(given, "look", least=1)
    return Inheritance(base, information, discount, look, _effects_of(given, arrays, weights))


def _effects_of(
    given: Any, arrays: Mapping[str, npt.NDArray[Any]], weights: int
) -> InheritedEffects | None:
    if "own" not in given:
        return None
    keys, rows = entry(given["own"], "keys"), entry(arrays, "inherited_own")
    if not isinstance(keys, list) or None in keys or len(set(keys)) != len(keys):
        raise ValueError(f"keys are {keys!r:.80} but must be a list of items, each once")
    check_keys(keys)
    columns = min(rows.shape[-1], weights + 2)
    variance, before = (real(given["own"], name) for name in ("variance", "before"))
    rows = numbers(arrays, "inherited_own", len(keys), columns)
    for wrong in rows[~(rows[:, 0] * before >= 1.0), 0]:
        raise ValueError(f"an inherited precision is {wrong} but must be at least {1.0 / before}")
    return InheritedEffects(tuple(keys), rows, before, variance)
