"""All that a learner is, as settings and arrays, and a learner that goes on from there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from fabcost import kernels
from fabcost.inference.history import History
from fabcost.inference.saved import checks, inherited, kept

if TYPE_CHECKING:
    from fabcost.inference.online import FabCost


def state_of(learner: FabCost) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Settings (plain JSON values) and arrays from which `restore` goes on bit for bit.

    Examples
    --------
    >>> from fabcost import FabCost, Gaussian
    >>> settings, arrays = state_of(FabCost(Gaussian.isotropic(2)))
    >>> settings["seen"], arrays["mean"]
    (0, array([0., 0.]))
    """
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
    more, of_more = inherited.state_of(learner.inheritance)
    return settings | more, arrays | of_more


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
    learner._posterior = None
