"""Rules that weigh what a candidate may be worth against what showing it would tell.

They compare candidates with each other: which of them may be shown changes the scores of all.

The knowledge gradient is not among them: it asks for the best of all candidates after each outcome
of each, K² numbers for K candidates, and as it never chooses at random its log evaluates nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeGuard

import numpy as np

from fabcost import kernels
from fabcost.bandit.prospects import (
    Belief,
    Prospects,
    drawn_and_marginal,
    drawn_law,
    drawn_log_odds,
    moments,
    worth,
)
from fabcost.bandit.rows import OwnRows, Rows
from fabcost.bandit.values import ValuedRows, worths
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray


class ComparingPolicy(Protocol):
    """A policy of which excluded candidates must not know: it is asked about the others only.

    Those of here are of this class, and have `shares` from it.
    """

    def scores(self, belief: Belief, rows: Rows, rng: np.random.Generator) -> FloatArray:
        """As of any policy."""
        ...

    def compared(
        self, belief: Belief, rows: Rows, rng: np.random.Generator, draws: int
    ) -> tuple[FloatArray, FloatArray]:
        """Scores and shares, by the same draws."""
        ...

    def shares(
        self, belief: Belief, rows: Rows, rng: np.random.Generator, draws: int
    ) -> FloatArray:
        """How often each row is chosen over ``draws``."""
        return self.compared(belief, rows, rng, draws)[1]


def compares(policy: object) -> TypeGuard[ComparingPolicy]:
    """Whether a policy is a `ComparingPolicy`.

    Examples
    --------
    >>> compares(TSUCB()), compares(3)
    (True, False)
    """
    return hasattr(policy, "compared")


@dataclass(frozen=True)
class TSUCB(ComparingPolicy):
    r"""TS-UCB: the least distance to what the best candidate might be worth, in its own sds.

    .. math:: \arg\min_a \frac{f - \text{mean}_a}{\text{radius}_a}, \qquad
              f = \frac1m\sum_{i\le m}\max_a \sigma(a^\top\tilde\theta_i),

    with mean and standard deviation ("radius") of the click probability
    :math:`\sigma(a^\top\theta)` under the belief, and :math:`\tilde\theta_i` drawn from it.  It has
    no scale to tune: f is near the best mean once the belief is sharp.

    A draw can leave f no larger than the largest mean.  Then the candidate of that mean is chosen;
    of equal means that with the larger radius.  (The quotient itself would prefer the more certain
    of two candidates whose means exceed f, and neither earn nor learn more.)

    Given the draws the choice is a function of f, so that the shares are those of its law over
    intervals; candidates that win nowhere have share 0, which a floor repairs where a log is to
    evaluate others.

    Parameters
    ----------
    draws
        m: more make f, and so the choice, less random.
    log_odds
        Whether f, mean and radius are of log-odds instead, unless there are values or costs.  Of a
        small probability the sd is small too: by log-odds new items are tried sooner.
    scatter
        Of a candidate's own draw, in its sds, so much is added to its score.  The choice is random
        through f alone otherwise: until outcomes are known all visitors of a kind see the same.
    rare
        Where f is a click of smaller probability than this, the best of its draw is chosen, as by
        Thompson sampling.  Log-odds far below zero hardly change by outcomes, and candidates of
        the largest radius would stay the nearest to f.  This goes with scatter and one draw;
        with values or costs nothing is rare.

    References
    ----------
    Baek & Farias, "TS-UCB: Improving on Thompson sampling with little to no additional
    computation" (AISTATS 2023).

    Examples
    --------
    >>> from fabcost.gaussian import Gaussian
    >>> rng, belief = np.random.default_rng(0), Gaussian([0.0, 0.0], [[4.0, 0.0], [0.0, 1.0]])
    >>> TSUCB().shares(belief, np.eye(2), rng, 256)
    array([1., 0.])
    """

    draws: int = 1
    log_odds: bool = False
    scatter: float = 0.0
    rare: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "draws", _whole("draws", self.draws))
        if not 0.0 <= self.scatter <= MOST_SCATTER:
            raise ValueError(f"scatter is {self.scatter} but must lie in [0, {MOST_SCATTER:g}]")
        if not 0.0 <= self.rare <= 1.0:
            raise ValueError(f"rare is {self.rare} but must lie in [0, 1]")
        if self.rare > 0.0 and not (self.scatter > 0.0 and self.draws == 1):
            given = f"scatter is {self.scatter} and draws is {self.draws}"
            raise ValueError(f"rare is {self.rare}, {given}, but it goes with scatter and one draw")

    def scores(self, belief: Belief, rows: Rows, rng: np.random.Generator) -> FloatArray:
        """(mean − f) / radius; see above for f up to the largest mean."""
        if isinstance(belief, Gaussian):
            if isinstance(rows, np.ndarray):
                uniforms = rng.random(self.vectors * belief.dimension)
                return self.scores_of(*drawn_law(belief, rows, uniforms))
            if isinstance(rows, OwnRows) and rows.are_folded and self.draws == 1:
                many = self.vectors * (belief.dimension + kernels.SEEDS)
                return rows.target_scores(self.numbers, belief, rng.random(many))
        if self.draws == 1:
            drawn, centre, variance = drawn_and_marginal(belief, rows, rng)
            best = worth(rows, drawn).max(keepdims=True)
        else:
            known = Prospects.of(belief, rows)
            centre, variance = known.centre, known.variance
            best = known.best(rng, self.draws)[0]
        target = self._targets(rows, best).mean()
        mean, radius = self._moments(rows, centre, variance)
        if self.scatter == 0.0:
            return np.asarray(kernels.target_scores(target, mean, radius))
        own = drawn_log_odds(belief, rows, rng)
        if self._is_rare(rows, best):
            return drawn
        away = self.scatter * (own - centre) * kernels.inverse_roots(variance)
        return np.asarray(kernels.scattered_scores(target, mean, radius, away))

    @cached_property
    def vectors(self) -> int:
        """How many draws of the weights `scores_of` needs uniform numbers for."""
        return self.draws + (self.scatter > 0.0)

    def scores_of(self, *law: FloatArray) -> FloatArray:
        """`scores` by a `drawn_law`."""
        scores: FloatArray = kernels.drawn_target_leader(*self.numbers, *law)[0]
        return scores

    def compared(
        self, belief: Belief, rows: Rows, rng: np.random.Generator, draws: int
    ) -> tuple[FloatArray, FloatArray]:
        """Scores at one of the targets, and how often each row wins over ``draws`` of them.

        A target is the mean of m draws, and a draw belongs to m targets: each has its law.
        """
        known = Prospects.of(belief, rows)
        many = (draws + 3) // 4
        if self.scatter > 0.0:
            return known.scattered(rng, many, self.draws, self.numbers)
        best = known.best(rng, max(many, self.draws)).ravel()
        # One sign pattern after the other: m draws in a row are independent.
        targets = self._targets(rows, best)
        if self.draws > 1:
            targets = kernels.moving_means(targets, self.draws)
        mean, radius = self._moments(rows, known.centre, known.variance)
        shares: FloatArray = kernels.target_shares(targets, mean, radius)
        one = targets[int(targets.size * rng.random())]
        return kernels.target_scores(one, mean, radius), shares

    @cached_property
    def numbers(self) -> tuple[bool, float, float]:
        """Log-odds, scatter and rare, as kernels take them."""
        return bool(self.log_odds), float(self.scatter), float(self.rare)

    def _is_rare(self, rows: Rows, best: FloatArray) -> bool:
        return not isinstance(rows, ValuedRows) and bool(worths(best)[0] < self.rare)

    def _targets(self, rows: Rows, best: FloatArray) -> FloatArray:
        return best if self.log_odds or isinstance(rows, ValuedRows) else worths(best)

    def _moments(
        self, rows: Rows, centre: FloatArray, variance: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        if self.log_odds and not isinstance(rows, ValuedRows):
            return centre, np.sqrt(variance)
        return moments(rows, centre, variance)


@dataclass(frozen=True)
class InformationRelaxation(ComparingPolicy):
    r"""Thompson sampling of what so many impressions of each candidate could reveal.

    Thompson sampling draws weights as if they were to be known exactly after this decision.  With
    a horizon H the draw of a candidate's log-odds is that of their mean after H impressions of it:

    .. math:: \kappa\,(m + \rho\,(a^\top\tilde\theta - m)),\quad
              \rho^2 = \frac{H\lambda}{1 + H\lambda},\quad
              \frac{\lambda}{1+\lambda} = \frac{s^2 (E\,\sigma')^2}{E\sigma\,E(1-\sigma)},

    where :math:`\rho^2 s^2` is the variance of that mean (exactly if H is 1, and as if information
    added up beyond) and κ integrates out what remains unknown, as MacKay does.  Deviations stay
    those of joint draws.  An infinite horizon is Thompson sampling.

    Parameters
    ----------
    horizon
        H, above 0.

    References
    ----------
    Min, Maglaras & Moallemi, "Thompson sampling with information relaxation penalties" (2019):
    their IRS.FH, with the law of the posterior mean in place of its simulation.

    Examples
    --------
    >>> from fabcost.gaussian import Gaussian
    >>> rng, belief = np.random.default_rng(0), Gaussian([1.0, -1.0], np.eye(2))
    >>> InformationRelaxation(horizon=0.001).shares(belief, np.eye(2), rng, 256)
    array([1., 0.])
    """

    horizon: float = 5.0

    def __post_init__(self) -> None:
        if not 0.0 < self.horizon <= LONGEST_HORIZON:
            raise ValueError(
                f"horizon is {self.horizon} but must be above 0 and at most {LONGEST_HORIZON:g}"
            )

    def scores(self, belief: Belief, rows: Rows, rng: np.random.Generator) -> FloatArray:
        """Log-odds of each row in one draw of what is revealed, or what they are worth."""
        drawn, centre, variance = drawn_and_marginal(belief, rows, rng)
        on_centre, on_deviation = self._factors(centre, variance)
        return worth(rows, on_centre * centre + on_deviation * (drawn - centre))

    def compared(
        self, belief: Belief, rows: Rows, rng: np.random.Generator, draws: int
    ) -> tuple[FloatArray, FloatArray]:
        """`shares`, after the scores in one of the draws."""
        known = Prospects.of(belief, rows)
        known = known.scaled(*self._factors(known.centre, known.variance))
        drawn = known.drawn(rng, (draws + 3) // 4)
        return worth(rows, drawn.one), known.win_shares(drawn, draws)

    def _factors(self, centre: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
        mean, radius = kernels.click_moments(centre, variance)
        on_centre, on_deviation = kernels.revealed(variance, mean, radius, self.horizon)
        return on_centre, on_deviation


@dataclass(frozen=True)
class InformationDirected(ComparingPolicy):
    r"""Information-directed sampling: little regret for each bit learnt of which row is best.

    .. math:: \arg\min_\pi \frac{(\sum_a \pi_a \Delta_a)^2}{\sum_a \pi_a g_a},\quad
              \Delta_a = E \max_b p_b - E p_a,\quad g_a = \text{Var}\,E[p_a \mid \text{the best}],

    over draws of all click probabilities p: one or two rows have a share.

    Parameters
    ----------
    draws
        Of which Δ and g are made.  Propensities of more are the average of as many such shares.

    References
    ----------
    Russo & Van Roy, "Learning to optimize via information-directed sampling" (Operations Research
    66, 2018), with the variance-based ratio of their section 6.3.

    Examples
    --------
    >>> from fabcost.gaussian import Gaussian
    >>> rng, belief = np.random.default_rng(0), Gaussian([0.0, 0.0], [[4.0, 0.0], [0.0, 1.0]])
    >>> InformationDirected().shares(belief, np.eye(2), rng, 64)
    array([1., 0.])
    """

    draws: int = 64

    def __post_init__(self) -> None:
        object.__setattr__(self, "draws", _whole("draws", self.draws))

    def scores(self, belief: Belief, rows: Rows, rng: np.random.Generator) -> FloatArray:
        """−Δ²/g, but that of the best mixture for the row that was drawn from it."""
        scores, shares, least = self._directed(Prospects.of(belief, rows), rng)
        return _led(scores, shares, least, rng)

    def compared(
        self, belief: Belief, rows: Rows, rng: np.random.Generator, draws: int
    ) -> tuple[FloatArray, FloatArray]:
        """`scores` by the first draws, and π on average over as many as all are enough for."""
        known = Prospects.of(belief, rows)
        scores, total, least = self._directed(known, rng)
        scores = _led(scores, total, least, rng)
        many = max(draws // self.draws, 1)
        for _ in range(many - 1):
            total += self._directed(known, rng)[1]
        return scores, total / many

    def _directed(
        self, known: Prospects, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray, float]:
        """Scores, shares, and the least ratio."""
        drawn, leader = known.outcomes(rng, (self.draws + 3) // 4)
        regrets, gains = kernels.regrets_and_gains(drawn, leader)
        first, second, share, least = kernels.least_ratio(regrets, gains)
        shares = np.zeros(regrets.size)
        shares[second] += share
        shares[first] += 1.0 - share
        return kernels.ratio_scores(regrets, gains), known.shared(shares), least


def _led(
    scores: FloatArray, shares: FloatArray, least: float, rng: np.random.Generator
) -> FloatArray:
    """Scores of which that of a row is the largest which is drawn from the shares."""
    scores[kernels.place_of(rng.random(), shares)] = max(-least, scores.max())
    return scores


def _whole(name: str, given: float) -> int:
    if not (math.isfinite(given) and given == int(given) and 1 <= given <= MOST_DRAWS):
        raise ValueError(f"{name} is {given} but must be a whole number from 1 to {MOST_DRAWS}")
    return int(given)


LONGEST_HORIZON = 1e12  # beyond which Thompson sampling is the same in float64
MOST_DRAWS = 4096
MOST_SCATTER = 1e3  # beyond which it is Thompson sampling of standardised scores
