"""A belief, its sites and the effects of items, as they are some half-lives later."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from fabcost import kernels
from fabcost.gaussian import Gaussian
from fabcost.inference.forgetting.half_life import Ageing
from fabcost.inference.history import Carried, History
from fabcost.inference.own.directory import Key
from fabcost.inference.own.effects import OwnEffects
from fabcost.inference.schedule import Portion

if TYPE_CHECKING:
    from fabcost.inference.online import FabCost

#: Beyond so many half-lives nothing is left: the belief is as wide as the prior.
ALL_OF_IT = 30.0
#: What remains of an impression, or is known of an item, that is no longer kept by itself.  EP of
#: older ones too would be nearer to the posterior, and slower to follow a world that has changed.
LEAST_KEPT = 0.95
LEAST_KNOWN = 1e-3


def parts_of(learner: FabCost, ageing: Ageing, batch: Portion) -> Iterable[Portion]:
    """Parts of a batch, between which a learner ages.

    Examples
    --------
    >>> from fabcost import FabCost, HalfLife
    >>> learner, batch = FabCost(Gaussian.isotropic(1)), Portion(np.ones((3, 1)), np.ones(3))
    >>> [part.size for part in parts_of(learner, Ageing(HalfLife(32.0), few=1), batch)]
    [2, 1]
    """
    spans = ageing.parts(learner.seen, batch.size, batch.at, partial(_age, learner))
    return map(batch.part, spans)


def _age(learner: FabCost, halvings: float) -> int:
    """Forget, for so many half-lives; a number of visits that cost more than that."""
    own = learner.own
    age(learner._belief, learner.prior, learner._history, own, halvings)
    learner._posterior = None
    return learner.prior.dimension // 2 + (0 if own is None else len(own) // 8)


def age(
    belief: Carried, prior: Gaussian, history: History, own: OwnEffects | None, halvings: float
) -> None:
    """Let a belief, its sites and the items' effects age by so many half-lives, in place.

    Precision goes back towards the prior's, and the mean stays: it is the best guess there is.
    Impressions of which little is left are no longer kept; what is left of them ages on with the
    belief.  Items of which nothing else is kept, and little is known, are integrated out.

    Examples
    --------
    >>> prior = Gaussian.isotropic(1, variance=4.0)
    >>> belief = Carried.of(Gaussian([3.0], [[1.0]]))
    >>> age(belief, prior, History(1, None), None, halvings=1.0)
    >>> belief.mean.round(6), round(1.0 / belief.root[0, 0] ** 2, 6)
    (array([3.]), np.float64(0.625))
    """
    kept = 0.0 if halvings > ALL_OF_IT else float(kernels.half_power(halvings))
    history.fade(kept, LEAST_KEPT)
    if kept == 0.0:
        _begin_again(belief, prior, own)
    elif own is None:
        kernels.age(belief.root, prior.triangle, kept)
    else:
        items = (own.table, len(own.keys), 1.0 / own.variance)
        kernels.own_age(*belief, prior.triangle, kept, *items)
        own.note_all()
    if own is not None:
        own.forget(_hardly_known(own, history))


def _begin_again(belief: Carried, prior: Gaussian, own: OwnEffects | None) -> None:
    belief.root[:, : prior.dimension] = prior.root
    if own is not None:
        own.clear()


def _hardly_known(own: OwnEffects, history: History) -> list[Key]:
    known = np.abs(own.rows[:, 0] * own.variance - 1.0) > LEAST_KNOWN
    slots = history.items_between(0, history.count)
    if slots is not None:
        known[slots[slots >= 0]] = True
    pairs = zip(own.keys, known.tolist(), strict=True)
    return [key for key, is_known in pairs if key is not None and not is_known]
