"""All that a learner is, as settings and arrays, and a learner that goes on from there."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fabcost import kernels
from fabcost.impressions import LARGEST_FEATURE, as_rows, check_weights
from fabcost.inference.history import SPARSE, History, Sites
from fabcost.inference.inheritance.information import Information, InheritedEffects
from fabcost.inference.inheritance.inheritance import Inheritance
from fabcost.inference.inheritance.past import past_of, past_state
from fabcost.inference.own.directory import NOBODY, Slots, check_keys
from fabcost.inference.own.effects import OwnEffects
from fabcost.inference.refreshing import Refreshing
from fabcost.inference.saved import checks
from fabcost.inference.saved.checks import SavedCounts, entry, numbers, real, whole
from fabcost.sparse import SparseRows

if TYPE_CHECKING:
    from fabcost.inference.online import FabCost

_REFRESHING = ("begun", "ends", "visits")
_SERVED = ("served_mean", "served_root", "served_own")
_UNSAID = 24_000_000  # a call's work, of files that do not say it


def state_of(learner: FabCost) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Settings (plain JSON values) and arrays from which `restore` goes on bit for bit.

    Examples
    --------
    >>> from fabcost import FabCost, Gaussian
    >>> settings, arrays = state_of(FabCost(Gaussian.isotropic(2)))
    >>> settings["seen"], arrays["mean"]
    (0, array([0., 0.]))
    """
    if learner._refreshing is not None:
        return _state_of_refreshing(learner, learner._refreshing)
    settings: dict[str, Any] = {
        "moments": learner.moments,
        "window": None if learner.visits_all else learner.most_kept,
        "tolerance": learner.tolerance,
        "refresh": checks.refresh_to_dict(learner.refresh_schedule),
        "seen": learner.seen,
        "refreshes": learner.refreshes,
        "skipped": learner.skipped,
        "unconverged": learner.unconverged,
        "next": learner._next,
        "slot": learner._history.slot,
        "arithmetic": kernels.ARITHMETIC,
    }
    arrays = {
        "prior_mean": learner.prior.mean,
        "prior_root": learner.prior.root,
        "mean": learner._belief.mean,
        "root": learner._belief.root,
        **learner._history.state(),
    }
    if learner._history.rows.written_out:
        settings["written_out"] = True
    if learner.visits_all and learner.most_kept is not None:
        settings["most_kept"] = learner.most_kept
    if learner._ageing is not None:
        settings["half_life"] = learner._ageing.state()
    if learner.own is not None:
        settings["own"] = checks.own_to_dict(learner.own)
        arrays["own"] = learner.own.rows
    if learner.most_work != _UNSAID:
        settings["most_work"] = learner.most_work
    if rests(learner):
        settings["rests_until"] = learner._next
    if learner.seen and learner._next is not None and learner.kept == 0:
        settings["without_rows"] = True
    more, of_more = inherited_state(learner.inheritance)
    if learner._past is not None:
        more[_KEY]["past"], of_past = past_state(learner._past)
        of_more |= of_past
    return settings | more, arrays | of_more


def without_rows(learner: FabCost) -> FabCost:
    """A copy that keeps no impressions: it learns on, but what they said is no longer refined.

    If a refresh is under way, it ends first.

    Examples
    --------
    >>> from fabcost import FabCost, Gaussian
    >>> learner = FabCost(Gaussian.isotropic(1))
    >>> learner.observe_many([[1.0]] * 3, [1, 0, 0])
    >>> alone = without_rows(learner)
    >>> alone.kept, alone.seen, alone.posterior == learner.posterior
    (0, 3, True)
    """
    learner.finish()
    alone = copy.copy(learner)
    alone._history, alone._past = learner._no_history(), None
    return alone


def rests(learner: FabCost) -> bool:
    """Whether the schedule is asked later than it says, because a refresh was spread.

    Examples
    --------
    >>> from fabcost import FabCost, Gaussian
    >>> rests(FabCost(Gaussian.isotropic(1)))
    False
    """
    planned, latest = learner._next, learner.refresh_schedule.next_after(learner.seen)
    return planned is not None and (latest is None or planned > latest)


def _state_of_refreshing(
    learner: FabCost, refreshing: Refreshing
) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """The refreshed learner up to date, and in "served" what is believed until it takes over."""
    settings, arrays = state_of(refreshing.caught_up())
    served: dict[str, Any] = {name: getattr(refreshing, name) for name in _REFRESHING}
    served["skipped"] = learner.skipped
    arrays["served_mean"], arrays["served_root"] = learner._belief
    if learner._ageing is not None:
        served["half_life"] = learner._ageing.state()
    if learner.own is not None:
        served["own"] = checks.own_to_dict(learner.own)
        arrays["served_own"] = learner.own.rows
    return settings | {"served": served}, arrays


def restore(
    learner: FabCost, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]
) -> None:
    """Let a new learner with the same prior and moments go on from this state.

    A ValueError if it is that of no learner; then the new one is of no use either.

    Examples
    --------
    >>> from fabcost import FabCost, Gaussian
    >>> learner, other = (FabCost(Gaussian.isotropic(1), most_kept=many) for many in (5, 9))
    >>> restore(other, *state_of(learner))
    >>> other.most_kept
    5
    """
    limit, weights = checks.limit_of(settings), learner.prior.dimension
    learner.refresh_schedule = checks.refresh_of(settings)
    counts = checks.counts_of(settings, learner.refresh_schedule)
    learner.seen, learner.refreshes, learner.skipped, learner.unconverged = counts[:4]
    learner.tolerance = checks.tolerance_of(settings)
    learner.most_kept, learner.visits_all = limit, checks.entry(settings, "window") is None
    learner._ageing = checks.ageing_of(settings)
    if learner._ageing is not None and not learner._exact:
        raise ValueError(f"moments is {learner.moments!r} but a half-life needs 'exact'")
    learner.half_life = None if learner._ageing is None else learner._ageing.half_life
    learner._next = counts.next
    learner._belief = checks.belief_of(arrays, weights)
    learner.inheritance = inheritance_of(settings, arrays, weights)
    learner.own = checks.own_of(settings, arrays, weights)
    given_past = settings.get(_KEY, {}).get("past")
    learner._past = None
    if given_past is not None:
        timed = learner.half_life is not None and learner.half_life.unit == "seconds"
        how: dict[str, Any] = {"seen": counts.seen, "weights": weights, "timed": timed}
        learner._past = past_of(given_past, arrays, **how)
    fades = learner._ageing is not None or settings.get("without_rows") is True
    rows = kept_of(arrays, counts, limit, weights, learner.own, fades=fades)
    given, written_out = (weights, limit, counts.slot, rows), bool(settings.get("written_out"))
    learner._history = History.restored(*given, written_out=written_out)
    learner.most_work = _work_of({"most_work": _UNSAID, **settings})
    learner._posterior = None
    if "served" in settings:
        _restore_refreshing(learner, settings["served"], arrays)


def _work_of(settings: dict[str, Any]) -> int | None:
    given = settings["most_work"]
    return None if given is None else checks.whole(settings, "most_work", least=1)


def _restore_refreshing(
    learner: FabCost, served: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]
) -> None:
    begun, visits = checks.whole(served, "begun"), checks.whole(served, "visits", least=2)
    ends = checks.whole(served, "ends", least=learner.seen + 1)
    skipped, weights = checks.whole(served, "skipped"), learner.prior.dimension
    behind = copy.copy(learner)
    of_served = {name.removeprefix("served_"): arrays[name] for name in arrays if name in _SERVED}
    learner._belief = checks.belief_of(of_served, weights)
    learner._ageing = checks.ageing_of(served)
    learner.own = checks.own_of(served, of_served, weights)
    if (learner._ageing is None, learner.own is None) != (
        behind._ageing is None,
        behind.own is None,
    ):
        raise ValueError("served has other parts than the learner that is refreshed")
    learner.skipped = skipped
    learner._past = None
    learner.plan(None)
    learner._refreshing = Refreshing(behind, visits, behind._next, begun=begun, ends=ends)


_KEY = "inheritance"


def inherited_state(inheritance: Inheritance | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings (plain JSON values) and arrays, for `inheritance_of`.

    Examples
    --------
    >>> inherited_state(None)
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
    base = checks.gaussian_of(arrays, "base_")
    if base.dimension != weights:
        raise ValueError(f"base_mean has {base.dimension} weights but there are {weights}")
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


def kept_of(
    arrays: Mapping[str, npt.NDArray[Any]],
    counts: SavedCounts,
    limit: int | None,
    weights: int,
    own: OwnEffects | None = None,
    *,
    fades: bool = False,
) -> dict[str, npt.NDArray[Any]]:
    """The impressions that are kept, with their sites, for `fabcost.inference.history`.

    Examples
    --------
    >>> kept_of({}, SavedCounts(3, 0, 0, unconverged=0, next=4, slot=2), None, 1)
    Traceback (most recent call last):
    ValueError: slot is 2 but 3 impressions are kept
    """
    kept = 0 if counts.next is None else min(counts.seen, limit or counts.seen)
    if own is not None or fades:  # some may have been forgotten
        kept = min(kept, entry(arrays, "y").size)
    if counts.slot != kept and not (kept == limit and counts.slot < kept):
        raise ValueError(f"slot is {counts.slot} but {kept} impressions are kept")
    checked = {
        **_rows_of(arrays, kept, weights),
        **{name: numbers(arrays, name, kept) for name in ("y", "site_precision", "site_shift")},
    }
    if not (np.abs(checked["y"]) == 1.0).all():
        raise ValueError("y has labels that are not -1 or +1")
    for name in ("site_precision", "site_shift"):
        for wrong in checked[name][np.abs(checked[name]) > LARGEST_FEATURE]:
            raise ValueError(f"{name} contains {wrong} but no site can be so large")
    if own is not None:
        checked["items"] = _items_of(arrays, kept, own)
    if "counts" in arrays:  # of a learner whose rows had weights
        checked["counts"] = numbers(arrays, "counts", kept, 2)
        check_weights(checked["counts"], "counts")
        if not checked["counts"].any(axis=1).all():
            raise ValueError("counts has a row of no impressions but each must have some")
    return checked


def _rows_of(
    arrays: Mapping[str, npt.NDArray[Any]], kept: int, weights: int
) -> dict[str, npt.NDArray[Any]]:
    if not any(name in arrays for name in SPARSE):
        return {"X": as_rows(numbers(arrays, "X", kept, weights), weights)}
    size = entry(arrays, SPARSE[2]).size
    starts, columns = (
        numbers(arrays, name, many, kind="i")
        for name, many in zip(SPARSE, (kept + 1, size), strict=False)
    )
    rows = SparseRows(starts, columns, numbers(arrays, SPARSE[2], size), weights)
    return dict(zip(SPARSE, rows.arrays, strict=True))


def _items_of(arrays: Mapping[str, npt.NDArray[Any]], kept: int, own: OwnEffects) -> Slots:
    items = numbers(arrays, "items", kept, kind="i")
    taken = [slot for slot, key in enumerate(own.keys) if key is not None]
    for wrong in items[~np.isin(items, [NOBODY, *taken])]:
        raise ValueError(f"items contains slot {wrong}, which is no item's")
    return items
