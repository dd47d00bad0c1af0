"""The contextual bandit: choose among candidate rows, learn from what happened."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fabcost import kernels
from fabcost.bandit.lead import led_at_once
from fabcost.bandit.prospects import Belief, Candidates, Scores, checked
from fabcost.bandit.rows import Rows, own_rows
from fabcost.bandit.rules import DEFAULT, Policy, Thompson
from fabcost.bandit.targeted import compares
from fabcost.bandit.values import ValuedRows
from fabcost.impressions import FloatArray
from fabcost.inference.online import FabCost
from fabcost.inference.own.directory import Key
from fabcost.inference.wide.learner import WideFabCost
from fabcost.sparse import SparseRows


class Learner(Protocol):
    """What a bandit asks of a learner; `fabcost.FabCost` and `fabcost.WideFabCost` are two."""

    @property
    def posterior(self) -> Any:
        """The belief after all impressions so far, a `Belief`."""

    def observe(self, x: npt.ArrayLike, y: Any) -> None:
        """Learn from one impression."""


@dataclass(eq=False, slots=True)
class Choice:
    """What was chosen, and how.

    All come from the same draws: the scores are those of one of them, the ranking is theirs, and
    the choice is their largest; but with probability ``floor`` it is any candidate, which then
    leads the ranking in spite of its score (`by_chance`).

    Attributes
    ----------
    index
        The chosen candidate.
    ranking
        The best ``top_k`` candidates, the chosen one first.
    found
        The `scores`, or what finds them when they are first asked for.
    propensities
        The probability that each candidate had to be chosen, if it was asked for: over all draws,
        with the ``floor`` mixed in.
    """

    index: int
    ranking: npt.NDArray[np.intp]
    found: Scores = field(repr=False)
    propensities: FloatArray | None = None

    @property
    def scores(self) -> FloatArray:
        """One for each candidate; minus infinity if it was excluded."""
        if not isinstance(self.found, np.ndarray):
            self.found = self.found()
        return self.found

    @property
    def by_chance(self) -> bool:
        """Whether another has a larger score."""
        return bool(self.scores[self.index] < self.scores.max())


class Bandit:
    """A policy over a learner (Algorithm 1 of the paper).

    Parameters
    ----------
    learner
        `fabcost.FabCost`, `fabcost.WideFabCost`, or any `Learner`.
    policy
        `fabcost.bandit.rules.DEFAULT`, a `TSUCB`, unless given.
    seed
        Of the random stream: a seed, or a generator to draw from.

    Examples
    --------
    >>> import fabcost
    >>> learner = fabcost.FabCost(fabcost.Gaussian.isotropic(2, variance=100.0))
    >>> bandit = Bandit(learner, seed=7)
    >>> candidates = np.array([[1.0, 0.0], [1.0, 1.0]])
    >>> choice = bandit.choose(candidates)
    >>> bandit.learn(candidates[choice.index], clicked=True)
    >>> bandit.propensities(candidates, draws=1000).sum()
    np.float64(1.0)
    """

    def __init__(
        self, learner: Learner, *, policy: Policy | None = None, seed: int | np.random.Generator = 0
    ) -> None:
        self.learner = learner
        self.policy: Policy = DEFAULT if policy is None else policy
        self.rng = np.random.default_rng(seed)

    def choose(
        self,
        candidates: Candidates,
        *,
        top_k: int = 1,
        exclude: Collection[int] = (),
        draws: int | None = None,
        floor: float = 0.0,
        items: Sequence[Key | None] | None = None,
        values: npt.ArrayLike | None = None,
        costs: npt.ArrayLike | None = None,
    ) -> Choice:
        """Choose one row of ``candidates``, and rank the best ``top_k``.

        Candidates are a matrix, or the rows of `fabcost.Schema.folded`; ``items`` says whose
        effect each has, if the learner knows of such.  With ``values``, of a click on each, or
        ``costs``, of showing it, the rule compares value · P(click) − cost.
        With ``draws`` (a multiple of four, or the next) the choice is that of one of them and
        carries its `propensities` over all: the logged probability is exact given those draws.
        """
        given = values is not None or costs is not None or draws is not None or items is not None
        if not (given or exclude or floor) and top_k == 1:
            led = led_at_once(self.learner, self.policy, candidates, self.rng, keeps=True)
            if led is not None:
                return Choice(led[0], np.array([led[0]]), led[1])
        return choose(
            self.learner.posterior,
            self.policy,
            candidates if items is None else self._with_effects(candidates, items),
            rng=self.rng,
            top_k=top_k,
            exclude=exclude,
            draws=draws,
            floor=floor,
            values=values,
            costs=costs,
        )

    def pick(self, candidates: Candidates) -> int:
        """`choose`, but only which: the same choice, without the scores of who is behind.

        Examples
        --------
        >>> from fabcost import FabCost, Gaussian
        >>> Bandit(FabCost(Gaussian([1.0], [[0.01]]))).pick(np.array([[2.0], [3.0]]))
        1
        """
        led = led_at_once(self.learner, self.policy, candidates, self.rng, keeps=False)
        return self.choose(candidates).index if led is None else led[0]

    def propensities(
        self,
        candidates: Candidates,
        *,
        draws: int = 256,
        floor: float = 0.0,
        exclude: Collection[int] = (),
        items: Sequence[Key | None] | None = None,
        values: npt.ArrayLike | None = None,
        costs: npt.ArrayLike | None = None,
    ) -> FloatArray:
        r"""The probability of each candidate to be chosen.

        :math:`p = (1-f)\,\hat p + f/K` with :math:`\hat p` the win frequencies over ``draws``
        joint draws of the weights and f the ``floor``.
        """
        belief = self.learner.posterior
        given = candidates if items is None else self._with_effects(candidates, items)
        rows, excluded = checked(given, exclude, 1, belief)
        if values is not None or costs is not None:
            rows = ValuedRows(rows, values, costs)
        check_mixing(draws, floor)
        allowed = _others(rows, excluded)
        among = rows[allowed] if excluded else rows
        shares = np.array(self.policy.shares(belief, among, self.rng, draws), dtype=np.float64)
        kernels.mix(shares, floor)
        return _placed(shares, allowed, len(rows), 0.0)

    def learn(
        self,
        x: npt.ArrayLike | SparseRows,
        clicked: Any,
        item: Key | None = None,
        *,
        weight: float = 1.0,
        at: float | None = None,
    ) -> None:
        """Learn what became of the row that was shown, and of its item; ``at`` is when it was.

        What it counts, the ``weight``, is for our own learners.
        """
        if isinstance(self.learner, FabCost):
            self.learner.observe(x, clicked, item, weight=weight, at=at)
        elif isinstance(self.learner, WideFabCost):
            self.learner.observe(x, clicked, weight=weight, at=at)
        elif weight != 1.0:
            raise ValueError(f"weight is {weight} but {type(self.learner).__name__} has none")
        else:
            self.learner.observe(x, clicked)

    def _with_effects(self, candidates: Candidates, items: Sequence[Key | None]) -> Candidates:
        learner = self.learner
        if not isinstance(learner, FabCost) or learner.own is None:
            return candidates
        return own_rows(candidates, learner.own, items, learner.prior.dimension)


def choose(
    belief: Belief,
    policy: Policy,
    candidates: Candidates,
    *,
    rng: np.random.Generator,
    top_k: int = 1,
    exclude: Collection[int] = (),
    draws: int | None = None,
    floor: float = 0.0,
    values: npt.ArrayLike | None = None,
    costs: npt.ArrayLike | None = None,
) -> Choice:
    """`Bandit.choose` for a belief that somebody else keeps.

    Examples
    --------
    >>> from fabcost import Gaussian, Greedy
    >>> rng, rows = np.random.default_rng(0), np.array([[2.0], [3.0]])
    >>> choose(Gaussian([1.0], [[9.0]]), Greedy(), rows, rng=rng, top_k=2).ranking
    array([1, 0])
    """
    rows, excluded = checked(candidates, exclude, top_k, belief)
    if values is not None or costs is not None:
        rows = ValuedRows(rows, values, costs)
    many = min(top_k, len(rows) - len(excluded))
    check_mixing(1 if draws is None else draws, floor)
    if draws is None:
        scores = _scores(belief, policy, rows, excluded, rng)
        ranking = _ranked(scores, many, rng)
        if floor > 0.0 and rng.random() < floor:
            ranking = _led_by(int(rng.choice(_others(rows, excluded))), ranking)
        return Choice(int(ranking[0]), ranking, scores)
    allowed = _others(rows, excluded) if excluded else None
    among = rows if allowed is None else rows[allowed]
    # Four draws share their normals: only all of them are as likely to be the one that is shown.
    scores, shares = _compared(belief, policy, among, rng, draws + -draws % 4)
    chosen = _leader(scores, shares, floor, rng)
    kernels.mix(shares, floor)
    if allowed is not None:
        chosen = int(allowed[chosen])
        scores = _placed(scores, allowed, len(rows), -np.inf)
        shares = _placed(shares, allowed, len(rows), 0.0)
    ranking = np.array([chosen]) if many == 1 else _led_by(chosen, _ranked(scores, many, rng))
    return Choice(chosen, ranking, scores, shares)


def _scores(
    belief: Belief, policy: Policy, rows: Rows, excluded: list[int], rng: np.random.Generator
) -> FloatArray:
    if excluded and compares(policy):
        allowed = _others(rows, excluded)
        return _placed(policy.scores(belief, rows[allowed], rng), allowed, len(rows), -np.inf)
    scores = policy.scores(belief, rows, rng)
    if excluded:
        scores[excluded] = -np.inf
    return scores


def _compared(
    belief: Belief, policy: Policy, rows: Rows, rng: np.random.Generator, draws: int
) -> tuple[FloatArray, FloatArray]:
    """Scores whose largest is to be chosen, and the probability of each row to have it."""
    if isinstance(policy, Thompson):
        return policy.scored_shares(belief, rows, rng, draws)
    if compares(policy):
        return policy.compared(belief, rows, rng, draws)
    scores = policy.scores(belief, rows, rng)
    return scores, np.array(policy.shares(belief, rows, rng, draws), dtype=np.float64)


def _leader(scores: FloatArray, shares: FloatArray, floor: float, rng: np.random.Generator) -> int:
    """The largest score, ties at random; any row with probability ``floor``."""
    if floor > 0.0 and rng.random() < floor:
        return int(scores.size * rng.random())
    best, ties = kernels.first_largest(scores)
    if ties == 1 and shares[best] > 0.0:
        return int(best)
    # Equal but for rounding: what has no share was not counted as the best.
    likely = np.where(shares > 0.0, scores, -np.inf)
    return int(rng.choice(np.flatnonzero(likely == likely.max())))


def _others(rows: Rows, excluded: list[int]) -> npt.NDArray[np.intp]:
    return np.delete(np.arange(len(rows)), excluded)


def _placed(
    numbers: FloatArray, allowed: npt.NDArray[np.intp], many: int, otherwise: float
) -> FloatArray:
    """Numbers of those allowed among those of all."""
    if allowed.size == many:
        return numbers
    found = np.full(many, otherwise)
    found[allowed] = numbers
    return found


def _led_by(chosen: int, ranking: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    return np.concatenate([[chosen], ranking[ranking != chosen]])[: ranking.size]


def check_mixing(draws: float, floor: float) -> None:
    """A ValueError if there are no draws, or the floor is no share.

    Examples
    --------
    >>> check_mixing(256, 0.1)
    """
    if not isinstance(draws, int | np.integer) or draws < 1:
        raise ValueError(f"draws is {draws} but must be a whole number of at least 1")
    if not 0.0 <= floor <= 1.0:
        raise ValueError(f"floor is {floor} but must lie in [0, 1]")


def _ranked(scores: FloatArray, many: int, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """The ``many`` largest, largest first, ties at random."""
    if many > 1:
        return np.lexsort((rng.random(scores.size), -scores))[:many]
    best, ties = kernels.first_largest(scores)
    if ties == 1:
        return np.array([best])
    return rng.choice(np.flatnonzero(scores == scores[best]), 1)
