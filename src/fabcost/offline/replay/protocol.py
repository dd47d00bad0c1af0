"""Offline replay by the paper's protocol: the day's impressions are the pool."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fabcost.bandit.bandit import Learner
from fabcost.bandit.pool.pool import Pool
from fabcost.bandit.rows import OwnRows, Rows
from fabcost.bandit.rules import LinearPolicy, Policy, Uniform
from fabcost.bandit.targeted import ComparingPolicy
from fabcost.impressions import FloatArray, as_impressions, as_weights
from fabcost.inference.online import FabCost
from fabcost.inference.own.effects import OwnEffects

_REPORT_EVERY = 1000


@dataclass(frozen=True, eq=False)
class Replay:
    """What was shown, in order, and whether it was clicked."""

    order: npt.NDArray[np.intp]  # index of the impression shown in each round
    clicked: npt.NDArray[np.bool_]  # its logged outcome

    @property
    def clicks(self) -> npt.NDArray[np.intp]:
        """Clicks so far, after each round."""
        return np.cumsum(self.clicked)


def replay(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    learner: Learner,
    *,
    policy: Policy,
    rng: np.random.Generator,
    rounds: int | None = None,
    progress: Callable[[int], None] | None = None,
    items: npt.ArrayLike | None = None,
    weight: npt.ArrayLike | None = None,
) -> Replay:
    """Choose from all logged impressions, see the logged outcome, take it out, go on.

    Section IV-E of the paper.  Equal scores are decided at random, so that the order of the log
    leaks nothing (erratum 6).

    Parameters
    ----------
    X, y
        The logged impressions and their outcomes.
    learner
        Learns from what is shown.
    policy
        `Thompson` or `Greedy` (any `LinearPolicy`), or `Uniform`; or a rule that compares
        candidates, such as `TSUCB`, which scores all that is left in every round.
    rng
        Decides ties and draws.
    rounds
        Stop after this many; None shows every impression.
    progress
        Told the number of rounds so far, now and then.
    items
        Whose each impression is, as integers: for a learner whose items have effects of their own.
        Every round then scores all that is left.
    weight
        How much each impression counts for the learner; clicks are counted as they are.

    Examples
    --------
    >>> from fabcost import FabCost, Gaussian
    >>> from fabcost.bandit.rules import Thompson
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(50, 2)), rng.random(50) < 0.3
    >>> result = replay(X, y, FabCost(Gaussian.isotropic(2)), policy=Thompson(), rng=rng)
    >>> bool(result.clicks[-1] == y.sum()), sorted(result.order) == list(range(50))
    (True, True)
    """
    rows, labels = as_impressions(X, y, learner.posterior.dimension)
    counts = None if weight is None else as_weights(weight, labels.size)
    many = labels.size if rounds is None else rounds
    if not 1 <= many <= labels.size:
        raise ValueError(f"rounds is {many} but there are {labels.size} impressions to show")
    ties, draws = rng.spawn(2)
    own = learner.own if isinstance(learner, FabCost) else None
    keys = np.full(labels.size, None) if own is None or items is None else np.asarray(items)
    if keys.shape != labels.shape:
        raise ValueError(f"there are {keys.size} items but {labels.size} impressions")
    if isinstance(policy, ComparingPolicy):
        known = None if items is None else own
        choose = _comparing_chooser(policy, learner, known, rows, keys, ties, draws)
    elif own is None or items is None or isinstance(policy, Uniform):
        choose = _chooser(policy, learner, rows, ties, draws)
    else:
        choose = _owned_chooser(policy, learner, own, rows, keys, ties, draws)
    order = np.empty(many, dtype=np.intp)
    for t in range(many):
        index = choose()
        much = {} if counts is None else {"weight": float(counts[index])}
        if isinstance(learner, FabCost):
            learner.observe(rows[index], labels[index], keys.item(index), **much)
        else:
            learner.observe(rows[index], labels[index], **much)
        order[t] = index
        if progress is not None and (t + 1) % _REPORT_EVERY == 0:
            progress(t + 1)
    return Replay(order, labels[order] > 0)


def _owned_chooser(
    policy: Policy,
    learner: Learner,
    own: OwnEffects,
    rows: FloatArray,
    items: npt.NDArray[np.intp],
    ties: np.random.Generator,
    draws: np.random.Generator,
) -> Callable[[], int]:
    """The best of all that are left, one of equals at random."""
    order = ties.permutation(len(rows))
    shuffled, gone = rows[order], np.zeros(len(rows), dtype=bool)
    # A tuple, whose effects are looked up once.
    keys = tuple(items[order].tolist())

    def choose() -> int:
        scores = policy.scores(learner.posterior, OwnRows(shuffled, own, keys), draws)
        scores[gone] = -np.inf
        place = int(scores.argmax())
        gone[place] = True
        return int(order[place])

    return choose


def _comparing_chooser(
    policy: ComparingPolicy,
    learner: Learner,
    own: OwnEffects | None,
    rows: FloatArray,
    items: npt.NDArray[np.intp],
    ties: np.random.Generator,
    draws: np.random.Generator,
) -> Callable[[], int]:
    """The best of those that are left, which alone are compared."""
    left = ties.permutation(len(rows))

    def choose() -> int:
        nonlocal left
        given: Rows = rows[left]
        if own is not None:
            given = OwnRows(given, own, items[left].tolist())
        place = int(policy.scores(learner.posterior, given, draws).argmax())
        index = int(left[place])
        left = np.delete(left, place)
        return index

    return choose


def _chooser(
    policy: Policy,
    learner: Learner,
    rows: FloatArray,
    ties: np.random.Generator,
    draws: np.random.Generator,
) -> Callable[[], int]:
    if isinstance(policy, Uniform):
        upcoming = iter(draws.permutation(rows.shape[0]))
        return lambda: int(next(upcoming))
    if not isinstance(policy, LinearPolicy):
        raise ValueError(f"policy is {policy} but replay needs weights: Thompson or Greedy")
    pool = Pool(rows, rng=ties)

    def choose() -> int:
        belief = learner.posterior
        index = pool.best(policy.weights(belief, draws), belief)
        pool.remove(index)
        return index

    return choose
