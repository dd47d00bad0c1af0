"""All that a learner is, as settings and arrays, and a learner that goes on from there."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from fabcost import kernels
from fabcost.inference.history import History
from fabcost.inference.refreshing import MOST_WORK, Refreshing
from fabcost.inference.saved import checks, inherited, kept

if TYPE_CHECKING:
    from fabcost.inference.online import FabCost

_REFRESHING = ("begun", "ends", "visits")
_SERVED = ("served_mean", "served_root", "served_own")


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
    if learner.visits_all and learner.most_kept is not None:
        settings["most_kept"] = learner.most_kept
    if learner._ageing is not None:
        settings["half_life"] = learner._ageing.state()
    if learner.own is not None:
        settings["own"] = checks.own_to_dict(learner.own)
        arrays["own"] = learner.own.rows
    if learner.most_work != MOST_WORK:
        settings["most_work"] = learner.most_work
    if rests(learner):
        settings["rests_until"] = learner._next
    more, of_more = inherited.state_of(learner.inheritance)
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
    alone._history = learner._no_history()
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
    learner.inheritance = inherited.inheritance_of(settings, arrays, weights)
    learner.own = checks.own_of(settings, arrays, weights)
    fades = learner._ageing is not None
    rows = kept.kept_of(arrays, counts, limit, weights, learner.own, fades=fades)
    learner._history = History.restored(weights, limit, counts.slot, rows)
    learner.most_work = _work_of({"most_work": MOST_WORK, **settings})
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
    learner.plan(None)
    learner._refreshing = Refreshing(behind, visits, behind._next, begun=begun, ends=ends)
