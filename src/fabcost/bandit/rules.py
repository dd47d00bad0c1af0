"""Policies: from a belief and candidate rows to a choice, with all randomness passed in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from fabcost import kernels
from fabcost.bandit.prospects import Belief, Prospects, drawn_log_odds, marginal, worth
from fabcost.bandit.rows import OwnRows, Rows, law, scored
from fabcost.bandit.targeted import TSUCB, InformationDirected, InformationRelaxation
from fabcost.bandit.values import ValuedRows
from fabcost.gaussian import Gaussian, standard_normal
from fabcost.impressions import FloatArray
from fabcost.inference.wide.belief import WideGaussian


class Policy(Protocol):
    """What a bandit asks of a policy.

    The rows are an array, or `candidates.Rows` that have ``dot`` and become an array by
    ``np.asarray``.
    """

    def scores(self, belief: Belief, rows: Rows, rng: np.random.Generator) -> FloatArray:
        """One score for each row; the largest is chosen, ties at random."""
        ...

    def shares(
        self, belief: Belief, rows: Rows, rng: np.random.Generator, draws: int
    ) -> FloatArray:
        """The probability of each row to be chosen; if it has no formula, over ``draws``."""
        ...


@runtime_checkable
class LinearPolicy(Policy, Protocol):
    """A policy whose scores are rows times weights, so that a pool can find the best of many."""

    def weights(self, belief: Belief, rng: np.random.Generator) -> FloatArray:
        """The weights of this decision."""
        ...


@dataclass(frozen=True)
class Thompson:
    r"""Thompson sampling: the best row under weights drawn from the belief.

    :math:`\arg\max_j a_j^\top\tilde\theta`, :math:`\tilde\theta = \mu + \text{scale}\cdot R z`
    (equation 2 and Algorithm 1 of the paper).

    Parameters
    ----------
    scale
        Factor on the sd of the draw: 1 is Thompson's; less explores less.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Thompson(scale=0.0).scores(Gaussian([1.0], [[9.0]]), np.array([[2.0], [3.0]]), rng)
    array([2., 3.])
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        _check(self.scale >= 0, f"scale is {self.scale} but must be at least 0")

    def weights(self, belief: Belief, rng: np.random.Generator) -> FloatArray:
        """One draw of the weights."""
        if isinstance(belief, WideGaussian):
            return belief.drawn(np.arange(belief.dimension), rng.random(kernels.SEEDS), self.scale)
        uniforms = rng.random(belief.dimension)
        theta: FloatArray = kernels.drawn_weights(belief.mean, belief.root, uniforms, self.scale)
        return theta

    def scores(self, belief: Belief, rows: Rows, rng: np.random.Generator) -> FloatArray:
        """Scores under one draw of the weights, and of the items' own effects if they have any.

        Of rows with values, what they are worth in that draw.
        """
        return worth(rows, drawn_log_odds(belief, rows, rng, self.scale))

    def shares(
        self, belief: Belief, rows: Rows, rng: np.random.Generator, draws: int
    ) -> FloatArray:
        """How often each row wins over ``draws`` joint draws, four of which share their normals.

        With z also −z, and ±z with every second sign changed, are standard normal: each draw has
        the law of the belief, and drawing normals is what takes longest.
        """
        return self.scored_shares(belief, rows, rng, draws)[1]

    def scored_shares(
        self, belief: Belief, rows: Rows, rng: np.random.Generator, draws: int
    ) -> tuple[FloatArray, FloatArray]:
        """`shares`, after the scores under one of the draws, any with the same probability."""
        if isinstance(rows, ValuedRows) or isinstance(belief, WideGaussian):
            known = Prospects.of(belief, rows).scaled(1.0, self.scale)
            drawn = known.drawn(rng, (draws + 3) // 4)
            return worth(rows, drawn.one), known.win_shares(drawn, draws)
        if isinstance(rows, OwnRows) and rows.are_wide:
            return self._wide_shares(belief, rows, rng, draws)
        centre, spread = law(rows, belief.mean, belief.root)
        if self.scale != 1.0:
            spread *= self.scale
        normals, own, row = _normals(rows, self.scale, (draws + 3) // 4, spread.shape[1], rng)
        worths = (kernels.NOTHING, kernels.NOTHING)
        _, leader = kernels.drawn_leaders(centre, spread, normals, *own, *worths)
        shares: FloatArray = kernels.drawn_shares(centre, spread, normals, leader, draws, *own, row)
        return centre, shares

    def _wide_shares(
        self, belief: Gaussian, rows: OwnRows, rng: np.random.Generator, draws: int
    ) -> tuple[FloatArray, FloatArray]:
        """`scored_shares` by draws of the weights themselves."""
        normals, own, row = _normals(rows, self.scale, (draws + 3) // 4, belief.dimension, rng)
        normals *= self.scale
        scores, won = rows.drawn_wins(belief.mean, belief.root, normals, draws, *own, row)
        won /= draws
        return scores, won


@dataclass(frozen=True)
class Greedy:
    """The best row under the mean of the belief: never explores on purpose.

    Examples
    --------
    >>> rng, belief = np.random.default_rng(0), Gaussian([1.0], [[9.0]])
    >>> Greedy().scores(belief, np.array([[2.0], [3.0]]), rng)
    array([2., 3.])
    """

    def weights(self, belief: Belief, rng: np.random.Generator) -> FloatArray:
        """The mean weights."""
        return belief.mean

    def scores(self, belief: Belief, rows: Rows, rng: np.random.Generator) -> FloatArray:
        """Scores under the mean weights; of rows with values, what they are worth on average."""
        return _expected(belief, rows)

    def shares(
        self, belief: Belief, rows: Rows, rng: np.random.Generator, draws: int
    ) -> FloatArray:
        """All on the best row, or equally on those that tie."""
        return wins(_expected(belief, rows)[None, :])


@dataclass(frozen=True)
class EpsilonGreedy:
    """`Greedy`, but any row with probability ``epsilon``.

    Examples
    --------
    >>> rng, belief = np.random.default_rng(0), Gaussian([1.0], [[9.0]])
    >>> EpsilonGreedy(0.2).shares(belief, np.array([[2.0], [3.0]]), rng, 1)
    array([0.1, 0.9])
    """

    epsilon: float = 0.1

    def __post_init__(self) -> None:
        _check(0 <= self.epsilon <= 1, f"epsilon is {self.epsilon} but must lie in [0, 1]")

    def scores(self, belief: Belief, rows: Rows, rng: np.random.Generator) -> FloatArray:
        """Random scores with probability epsilon, else those of `Greedy`."""
        if rng.random() < self.epsilon:
            return _random_scores(rows, rng)
        return _expected(belief, rows)

    def shares(
        self, belief: Belief, rows: Rows, rng: np.random.Generator, draws: int
    ) -> FloatArray:
        """Greedy's with the uniform mixed in."""
        best = wins(_expected(belief, rows)[None, :])
        return np.asarray((1.0 - self.epsilon) * best + self.epsilon / rows.shape[0])


@dataclass(frozen=True)
class BayesianUCB:
    r"""The row of the highest quantile of its score, :math:`a^\top\mu + z_q\sqrt{a^\top\Sigma a}`.

    References
    ----------
    Kaufmann, Cappé & Garivier, "On Bayesian upper confidence bounds for bandit problems" (2012).

    Examples
    --------
    >>> rng, belief = np.random.default_rng(0), Gaussian([1.0], [[9.0]])
    >>> BayesianUCB(0.5).scores(belief, np.array([[2.0], [3.0]]), rng)
    array([2., 3.])
    """

    quantile: float = 0.95

    def __post_init__(self) -> None:
        _check(0 < self.quantile < 1, f"quantile is {self.quantile} but must lie in (0, 1)")

    def scores(self, belief: Belief, rows: Rows, rng: np.random.Generator) -> FloatArray:
        """The quantile of each row's score, or of what it is worth."""
        centre, variance = marginal(belief, rows)
        upper = centre + kernels.normal_quantile(self.quantile) * np.sqrt(variance)
        return worth(rows, np.asarray(upper))

    def shares(
        self, belief: Belief, rows: Rows, rng: np.random.Generator, draws: int
    ) -> FloatArray:
        """All on the best row, or equally on those that tie."""
        return wins(self.scores(belief, rows, rng)[None, :])


@dataclass(frozen=True)
class Uniform:
    """Any row with equal probability: what a holdback sees.

    Examples
    --------
    >>> rng, belief = np.random.default_rng(0), Gaussian([1.0], [[9.0]])
    >>> Uniform().shares(belief, np.array([[2.0], [3.0]]), rng, 1)
    array([0.5, 0.5])
    """

    def scores(self, belief: Belief, rows: Rows, rng: np.random.Generator) -> FloatArray:
        """Random scores."""
        return _random_scores(rows, rng)

    def shares(
        self, belief: Belief, rows: Rows, rng: np.random.Generator, draws: int
    ) -> FloatArray:
        """The same for every row."""
        return np.full(rows.shape[0], 1.0 / rows.shape[0])


Rule = (
    Thompson
    | Greedy
    | EpsilonGreedy
    | BayesianUCB
    | Uniform
    | TSUCB
    | InformationRelaxation
    | InformationDirected
)

#: What decides unless another rule is given; chosen in docs/measurements/rules.md.
DEFAULT = TSUCB(log_odds=True, scatter=0.125, rare=0.02)

#: The rules by the names that settings and commands give them.
RULES: dict[str, type[Rule]] = {
    "thompson": Thompson,
    "greedy": Greedy,
    "epsilon-greedy": EpsilonGreedy,
    "ucb": BayesianUCB,
    "uniform": Uniform,
    "ts-ucb": TSUCB,
    "information-relaxation": InformationRelaxation,
    "information-directed": InformationDirected,
}


#: What commands call the rules.
SPELT: dict[str, Callable[..., Rule]] = {"default": lambda: DEFAULT, **RULES}


def rule_of(spec: str) -> Rule:
    """A rule as commands spell it: its name, and its first parameter after a colon.

    Examples
    --------
    >>> rule_of("thompson:0.5"), rule_of("ts-ucb")
    (Thompson(scale=0.5), TSUCB(draws=1, log_odds=False, scatter=0.0, rare=0.0))
    >>> rule_of("default") == DEFAULT
    True
    """
    kind, _, argument = spec.partition(":")
    if kind not in SPELT:
        raise ValueError(f"the rule is {kind!r} but must be one of {', '.join(SPELT)}")
    rule = SPELT[kind]
    try:
        return rule(float(argument)) if argument else rule()
    except (TypeError, ValueError) as error:
        raise ValueError(f"{argument!r} does not suit {kind}") from error


def wins(scores: FloatArray) -> FloatArray:
    """How often each column is the largest of its row; columns that tie share the win.

    Examples
    --------
    >>> wins(np.array([[1.0, 3.0, 3.0], [5.0, 4.0, 4.0]]))
    array([1. , 0.5, 0.5])
    """
    shares: FloatArray = kernels.count_wins(np.ascontiguousarray(scores))
    return shares


def _normals(
    rows: Rows, scale: float, many: int, columns: int, rng: np.random.Generator
) -> tuple[FloatArray, tuple[Any, Any, Any], int]:
    """Those of ``many`` draws of the weights, and of the items' own effects if they have any.

    And which of them is to be shown.  Without effects they are exchangeable, and the first is any
    of them; but neighbours share normals of items.
    """
    if not isinstance(rows, OwnRows):
        return standard_normal(rng, (many, columns)), kernels.NO_EFFECTS, 0
    law, of_weights = rows.law_of_items, many * columns
    fresh = kernels.fresh_normals(rng.random(kernels.SEEDS), of_weights + rows.normals + many - 1)
    own = scale * law.noise, law.places, fresh[of_weights:]
    return fresh[:of_weights].reshape(many, columns), own, int(many * rng.random())


def _expected(belief: Belief, rows: Rows) -> FloatArray:
    if isinstance(rows, ValuedRows):
        clicks = kernels.predictions(*marginal(belief, rows), True)
        return np.asarray(rows.values * clicks - rows.costs)
    return scored(rows, belief.mean)


def _random_scores(rows: Rows, rng: np.random.Generator) -> FloatArray:
    return np.asarray(rng.random(len(rows)), dtype=np.float64)


def _check(sound: bool, complaint: str) -> None:
    if not sound:
        raise ValueError(complaint)
