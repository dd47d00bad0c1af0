"""First outcomes, for the discount of a start, where no history has them all when it is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fabcost.gaussian import Gaussian
from fabcost.impressions import Outcomes, Rows, check_weights
from fabcost.inference.inheritance.inheritance import LOOKED, Inheritance, put_below
from fabcost.inference.own.directory import Key, check_keys
from fabcost.inference.own.effects import OwnEffects
from fabcost.inference.saved.checks import entry, numbers
from fabcost.inference.schedule import Portion

if TYPE_CHECKING:
    from fabcost.inference.online import FabCost

Past = list[Portion]
#: A schedule that grows by more looks too seldom.
_OFTEN = 2.0
_ROWS, _LABELS, _COUNTS, _AT = "past_rows", "past_labels", "past_counts", "past_at"


def past_to_keep(learner: FabCost) -> Past | None:
    """An empty one for a learner to keep outcomes in; None if its refreshes look at all of them.

    Examples
    --------
    >>> from fabcost import FabCost, Gaussian
    >>> past_to_keep(FabCost(Gaussian.isotropic(1), half_life=40)) is None
    True
    """
    schedule, limit = learner.refresh_schedule, learner.most_kept
    if learner.inheritance is None or learner.inheritance.look is None:
        return None
    often = schedule.kind == "always" or schedule.growth <= _OFTEN
    whole = learner.half_life is None and (limit is None or limit >= LOOKED)
    return None if often and whole else []


def put_prior(learner: FabCost, prior: Gaussian | Inheritance) -> bool:
    """Put another prior below the sites of a learner that keeps all impressions; whether it does.

    Examples
    --------
    >>> from fabcost import FabCost
    >>> learner = FabCost(Gaussian.isotropic(1))
    >>> put_prior(learner, Gaussian.isotropic(1, variance=9.0)), learner.posterior.sd
    (True, array([3.]))
    """
    if prior.dimension != learner.prior.dimension:
        raise ValueError(
            f"the prior has {prior.dimension} weights but the learner {learner.prior.dimension}"
        )
    learner.finish()
    if learner._history.count != learner.seen:
        return False
    inheritance, first = put_below(learner.inheritance, prior)
    begin = OwnEffects.clear if inheritance is None else inheritance.begin
    rebuilt = learner._history.rebuilt(first, learner.own, begin)
    if rebuilt is None:
        return False
    learner.prior, learner._belief, learner._posterior = first, rebuilt, None
    learner.inheritance = inheritance
    if not learner.seen:
        learner._past = past_to_keep(learner)
    return True


def learn_and_look(learner: FabCost, batch: Portion) -> int:
    """Learn until the evidence is to be asked, or a refresh is under way; how many that were.

    Examples
    --------
    >>> from fabcost import FabCost, Gaussian
    >>> learn_and_look(FabCost(Gaussian.isotropic(1)), Portion(np.ones((2, 1)), np.ones(2)))
    2
    """
    _look(learner)  # one that was set aside at a look has not had it
    inheritance, past = learner.inheritance, learner._past
    if past is None or inheritance is None or inheritance.look is None:
        return learner.go_on(batch)
    some = batch.between(0, min(batch.size, inheritance.look - learner.seen))
    some = some.between(0, learner.go_on(some))
    timed = learner.half_life is not None and learner.half_life.unit == "seconds"
    times = np.broadcast_to(np.asarray(some.at, dtype=np.float64), some.size) if timed else None
    past.append(some._replace(rows=np.asarray(some.rows), at=times).copied())
    _look(learner)
    return some.size


def _look(learner: FabCost) -> None:
    """Ask the outcomes for the discount if it is time."""
    inheritance, past = learner.inheritance, learner._past
    if inheritance is None or not past:
        return
    if inheritance.look is not None and learner.seen >= inheritance.look:
        outcomes = joined(past)
        weighed = inheritance.chosen(learner.seen, outcomes, learner.own)
        if weighed.discount == inheritance.discount:
            learner.inheritance = weighed
        else:
            _begin_again(learner, weighed, outcomes)
    if learner.inheritance is None or learner.inheritance.look is None:
        learner._past = None


def _begin_again(learner: FabCost, inheritance: Inheritance, outcomes: Portion) -> None:
    """Let a learner be the one that began with another discount."""
    anew = type(learner)(
        inheritance,
        refresh=learner.refresh_schedule,
        moments=learner.moments,
        most_kept=learner.most_kept,
        half_life=learner.half_life,
        tolerance=learner.tolerance,
        own_variance=0.0 if learner.own is None else learner.own.variance,
        most_work=None,
    )
    anew.visits_all = learner.visits_all
    anew.learn(outcomes)
    anew.most_work = learner.most_work
    if anew._next is not None and learner._next is not None:
        anew._next = max(anew._next, learner._next)
    if anew.own is not None and learner.own is not None:
        anew.forget([key for key in anew.own.keys if key is not None and key not in learner.own])
    learner.__dict__.update(anew.__dict__)


def joined(past: Sequence[Portion]) -> Portion:
    """All outcomes that are kept, as one batch of dense rows.

    Examples
    --------
    >>> joined([Portion(np.ones((n, 2)), np.ones(n)) for n in (1, 2)]).rows.shape
    (3, 2)
    """
    arrays = outcomes_state(past)
    rows = np.concatenate([np.asarray(part.rows) for part in past])
    keys = [key for part in past for key in part.keys or [None] * part.size]
    return Portion(rows, arrays[_LABELS], keys, arrays.get(_COUNTS), arrays.get(_AT))


def widen(past: Past, more: int) -> None:
    """Give rows that are kept so many more features, all zero.

    Examples
    --------
    >>> past = [Portion(np.ones((1, 1)), np.ones(1))]
    >>> widen(past, 1)
    >>> past[0].rows
    array([[1., 0.]])
    """
    for place, part in enumerate(past):
        past[place] = part._replace(rows=np.pad(np.asarray(part.rows), ((0, 0), (0, more))))


def outcomes_state(past: Sequence[Portion]) -> dict[str, npt.NDArray[Any]]:
    """Arrays of labels, counts and times, for `outcomes_of`.

    Examples
    --------
    >>> outcomes_state([])
    {'past_labels': array([], dtype=float64)}
    """
    arrays = {_LABELS: np.concatenate([np.zeros(0), *(part.labels for part in past)])}
    if any(part.counts is not None for part in past):
        each = [Outcomes(part.labels, part.counts).counted for part in past]
        arrays[_COUNTS] = np.concatenate(each)
    times = [part.at for part in past if part.at is not None]
    return arrays | ({_AT: np.concatenate(times)} if times else {})


def outcomes_of(
    arrays: Mapping[str, npt.NDArray[Any]], rows: Rows, keys: list[Key | None] | None = None
) -> Portion:
    """Rows with their outcomes of `outcomes_state`; a ValueError if they are none.

    Examples
    --------
    >>> outcomes_of(outcomes_state([Portion(np.ones((1, 1)), np.ones(1))]), np.ones((1, 1))).size
    1
    """
    seen, counts, at = len(rows), None, None
    labels = numbers(arrays, _LABELS, seen)
    if not (np.abs(labels) == 1.0).all():
        raise ValueError("past_labels has labels that are not -1 or +1")
    if _COUNTS in arrays:
        counts = numbers(arrays, _COUNTS, seen, 2)
        check_weights(counts, _COUNTS)
    if _AT in arrays:
        at = numbers(arrays, _AT, seen)
    return Portion(rows, labels, keys, counts, at)


def past_state(past: Past) -> tuple[list[Key | None], dict[str, npt.NDArray[Any]]]:
    """Items and arrays of the outcomes that a learner keeps, for `past_of`.

    Examples
    --------
    >>> past_state([])
    ([], {})
    """
    if not past:
        return [], {}
    whole = joined(past)
    return list(whole.keys or ()), {_ROWS: np.asarray(whole.rows), **outcomes_state([whole])}


def past_of(
    items: Any, arrays: Mapping[str, npt.NDArray[Any]], *, seen: int, weights: int, timed: bool
) -> Past:
    """The outcomes of `past_state`; a ValueError if they are not all that were seen.

    Examples
    --------
    >>> past_of([], {}, seen=0, weights=1, timed=False)
    []
    """
    if not isinstance(items, list) or len(items) != seen:
        raise ValueError(f"past is {items!r:.80} but must be a list of {seen} items")
    check_keys(items)
    if timed and seen:
        entry(arrays, _AT)
    rows = numbers(arrays, _ROWS, seen, weights) if seen else np.zeros((0, weights))
    return [outcomes_of(arrays, rows, items)] if seen else []
