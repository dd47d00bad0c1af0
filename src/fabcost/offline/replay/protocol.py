"""Offline replay by the paper's protocol: the day's impressions are the pool."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fabcost.bandit.bandit import Learner
from fabcost.bandit.pool.pool import Pool
from fabcost.bandit.rows import OwnRows, Rows
from fabcost.bandit.rules import LinearPolicy, Policy, Uniform
from fabcost.bandit.targeted import ComparingPolicy, compares
from fabcost.bandit.values import ValuedRows, checked_amounts
from fabcost.impressions import FloatArray, as_impressions, as_weights
from fabcost.inference.online import FabCost
from fabcost.inference.own.effects import OwnEffects
from fabcost.offline.terms import as_finite

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
    values: npt.ArrayLike | None = None,
    costs: npt.ArrayLike | None = None,
    at: npt.ArrayLike | None = None,
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
    values, costs
        Of a click on each impression, and of showing it: then rules compare value · P(click) −
        cost, and every round scores all that is left.
    at
        When the log's impressions came: the rounds come at these times, from the first on, for a
        learner with a half-life in seconds.

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
    pool = _Offered(rows, None if items is None else own, keys, values, costs)
    if compares(policy):
        choose = _comparing_chooser(policy, learner, pool, ties, draws)
    elif pool.are_plain or isinstance(policy, Uniform):
        choose = _chooser(policy, learner, rows, ties, draws)
    else:
        choose = _scoring_chooser(policy, learner, pool, ties, draws)
    clock = None if at is None else np.sort(as_finite(at, "at", labels.size))
    order = np.empty(many, dtype=np.intp)
    for t in range(many):
        index = choose()
        much = {} if counts is None else {"weight": float(counts[index])}
        if isinstance(learner, FabCost):
            much |= {} if clock is None else {"at": float(clock[t])}
            learner.observe(rows[index], labels[index], keys.item(index), **much)
        else:
            learner.observe(rows[index], labels[index], **much)
        order[t] = index
        if progress is not None and (t + 1) % _REPORT_EVERY == 0:
            progress(t + 1)
    return Replay(order, labels[order] > 0)


class _Offered:
    """All impressions, with the effects of their items and what they are worth, where known."""

    def __init__(
        self,
        rows: FloatArray,
        own: OwnEffects | None,
        items: npt.NDArray[Any],
        values: npt.ArrayLike | None,
        costs: npt.ArrayLike | None,
    ) -> None:
        self._rows, self._own, self._items = rows, own, items
        self._amounts = (
            None if values is None and costs is None else checked_amounts(len(rows), values, costs)
        )

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def are_plain(self) -> bool:
        """Whether scores are rows times weights."""
        return self._own is None and self._amounts is None

    def at(self, places: npt.NDArray[np.intp]) -> Callable[[], Rows]:
        """Some of them as candidates, whose effects are looked up anew whenever they are asked."""
        plain = self._rows[places]
        # A tuple, whose effects are looked up once.
        keys = tuple(self._items[places].tolist())
        amounts = [] if self._amounts is None else [each[places] for each in self._amounts]

        def candidates() -> Rows:
            found: Rows = plain if self._own is None else OwnRows(plain, self._own, keys)
            return ValuedRows(found, *amounts) if amounts else found

        return candidates


def _scoring_chooser(
    policy: Policy,
    learner: Learner,
    offered: _Offered,
    ties: np.random.Generator,
    draws: np.random.Generator,
) -> Callable[[], int]:
    """The best of all that are left, one of equals at random."""
    order = ties.permutation(len(offered))
    candidates, gone = offered.at(order), np.zeros(len(offered), dtype=bool)

    def choose() -> int:
        scores = policy.scores(learner.posterior, candidates(), draws)
        scores[gone] = -np.inf
        place = int(scores.argmax())
        gone[place] = True
        return int(order[place])

    return choose


def _comparing_chooser(
    policy: ComparingPolicy,
    learner: Learner,
    offered: _Offered,
    ties: np.random.Generator,
    draws: np.random.Generator,
) -> Callable[[], int]:
    """The best of those that are left, which alone are compared."""
    left = ties.permutation(len(offered))

    def choose() -> int:
        nonlocal left
        place = int(policy.scores(learner.posterior, offered.at(left)(), draws).argmax())
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
