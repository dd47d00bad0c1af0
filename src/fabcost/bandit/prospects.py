"""What a belief says of candidates: the joint law of their log-odds, and what a click is worth."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fabcost import kernels
from fabcost.bandit.rows import CheckedRows, OwnRows, Positions, Rows, is_checked, law
from fabcost.bandit.values import ValuedRows, worths
from fabcost.gaussian import Gaussian, Marginal, standard_normal
from fabcost.impressions import FloatArray, as_rows, read_only
from fabcost.inference.wide.belief import WideGaussian
from fabcost.sparse import SparseRows, as_sparse

Belief = Gaussian | WideGaussian
Candidates = npt.ArrayLike | CheckedRows | SparseRows
Scores = FloatArray | Callable[[], FloatArray]  # or what finds them


class Drawn(NamedTuple):
    """Joint draws: the best of each and whose it is, four by rows of normals; and one of them.

    Any is this one with the same probability, given all.

    Examples
    --------
    >>> Drawn(np.ones((4, 1)), np.zeros((4, 1), dtype=np.int64), np.ones(1)).best.shape
    (4, 1)
    """

    best: FloatArray
    leader: npt.NDArray[np.int64]
    one: FloatArray


@dataclass(frozen=True, eq=False)
class Prospects:
    r"""The law of candidates' log-odds: centre + spread z + noise · (a normal of each item's own).

    With values and costs a candidate is worth :math:`v\,\sigma(\eta) - c`.

    Examples
    --------
    >>> found = Prospects.of(Gaussian([0.0], [[4.0]]), np.array([[1.0], [0.0]]))
    >>> found.variance
    array([4., 0.])
    """

    centre: FloatArray
    spread: FloatArray
    noise: FloatArray = field(default_factory=lambda: kernels.NOTHING)
    places: Positions = field(default_factory=lambda: kernels.NO_EFFECTS[1])
    items: int = 0  # normals that a draw of the items' effects needs
    values: FloatArray = field(default_factory=lambda: kernels.NOTHING)
    costs: FloatArray = field(default_factory=lambda: kernels.NOTHING)

    @classmethod
    def of(cls, belief: Belief, rows: Rows) -> Prospects:
        """Those of the rows under the belief."""
        if isinstance(rows, ValuedRows):
            return replace(cls.of(belief, rows.rows), values=rows.values, costs=rows.costs)
        if isinstance(belief, WideGaussian):
            return cls(*belief.law(rows), np.arange(len(rows)), len(rows))
        centre, spread = law(rows, belief.mean, belief.root)
        if not isinstance(rows, OwnRows):
            return cls(centre, spread)
        own = rows.law_of_items
        return cls(centre, spread, own.noise, own.places, rows.normals)

    @cached_property
    def variance(self) -> FloatArray:
        """Of the log-odds of each."""
        squares: FloatArray = kernels.squares(self.spread)
        return squares + self.noise * self.noise if self.noise.size else squares

    def scaled(self, on_centre: FloatArray | float, on_deviation: FloatArray | float) -> Prospects:
        """The same with centres and deviations from them multiplied."""
        factors = np.broadcast_to(np.asarray(on_deviation, dtype=np.float64), self.centre.shape)
        noise = self.noise * factors[: self.noise.size]
        spread = self.spread * factors[:, None]
        return replace(self, centre=self.centre * on_centre, spread=spread, noise=noise)

    def drawn(self, rng: np.random.Generator, rows: int) -> Drawn:
        """``rows`` independent joint draws, and three more that share the normals of each."""
        normals, own = self._normals(rng, rows)
        best, leader = self._leaders(normals, own)
        row = self._row(rng, rows)
        one = self.centre + kernels.times(self.spread, normals[row])
        noise, places, of_items = own
        return Drawn(best, leader, one + noise * of_items[row + places] if noise.size else one)

    def best(self, rng: np.random.Generator, rows: int) -> FloatArray:
        """That of `drawn`, from the same random numbers."""
        best, _ = self._leaders(*self._normals(rng, rows))
        self._row(rng, rows)
        return best

    def scattered(
        self, rng: np.random.Generator, rows: int, draws: int, rule: tuple[bool, float, float]
    ) -> tuple[FloatArray, FloatArray]:
        """Scores in one of 4 × ``rows`` draws of a `TSUCB` with scatter, and shares over all."""
        uniforms = 2 * (kernels.SEEDS + 1)
        if not self.noise.size:
            uniforms = (rows + max((rows + 3) // 4, draws)) * self.spread.shape[1] + 1
        law = (self.centre, self.spread, self.noise, self.places, self.items)
        given = (draws, *rule, rows, rng.random(uniforms), *law)
        scores, shares = kernels.scattered_story(*given, self.values, self.costs)
        return scores, shares

    def outcomes(
        self, rng: np.random.Generator, rows: int
    ) -> tuple[FloatArray, npt.NDArray[np.int64]]:
        """What each candidate is worth in each of 4 × ``rows`` draws, and the best in each."""
        normals, own = self._normals(rng, rows)
        law_and_draws = (self.centre, self.spread, normals, *own)
        values = self.values if self.values.size else np.ones_like(self.centre)
        costs = self.costs if self.costs.size else np.zeros_like(self.centre)
        _, leader = self._leaders(normals, own)
        return kernels.drawn_worths(*law_and_draws, values, costs), leader.ravel()

    def shared(self, wins: FloatArray) -> FloatArray:
        """Wins of candidates that are equal in everything, of which the first has won, divided."""
        law = (self.centre, self._features, wins, self.noise, self.places)
        shares: FloatArray = kernels.share_among_equals(*law)
        return shares

    @property
    def _features(self) -> FloatArray:
        """What is the same of candidates that are equal in everything, beside centre and noise."""
        if not self.values.size:
            return np.ascontiguousarray(self.spread)
        return np.ascontiguousarray(np.column_stack([self.spread, self.values, self.costs]))

    def win_shares(self, drawn: Drawn, draws: int) -> FloatArray:
        """How often each candidate was the best in the first ``draws``."""
        leaders = drawn.leader.T.ravel()[:draws]
        return self.shared(np.bincount(leaders, minlength=self.centre.size) / leaders.size)

    def _normals(
        self, rng: np.random.Generator, rows: int
    ) -> tuple[FloatArray, tuple[Any, Any, Any]]:
        columns = self.spread.shape[1]
        if not self.noise.size:
            return standard_normal(rng, (rows, columns)), kernels.NO_EFFECTS
        of_weights = rows * columns
        fresh = kernels.fresh_normals(rng.random(kernels.SEEDS), of_weights + self.items + rows - 1)
        own = (self.noise, self.places, fresh[of_weights:])
        return fresh[:of_weights].reshape(rows, columns), own

    def _leaders(
        self, normals: FloatArray, own: tuple[Any, Any, Any]
    ) -> tuple[FloatArray, npt.NDArray[np.int64]]:
        law_and_draws = (self.centre, self.spread, normals, *own, self.values, self.costs)
        best, leader = kernels.drawn_leaders(*law_and_draws)
        return best, leader

    def _row(self, rng: np.random.Generator, rows: int) -> int:
        """Any: without effects of items they are exchangeable, with them neighbours are alike."""
        return int(rows * rng.random()) if self.noise.size else 0


def drawn_log_odds(
    belief: Belief, rows: Rows, rng: np.random.Generator, scale: float = 1.0
) -> FloatArray:
    """Log-odds under one draw of the weights, and of the items' own effects if they have any.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> drawn_log_odds(Gaussian([1.0], [[9.0]]), np.array([[2.0], [3.0]]), rng, scale=0.0)
    array([2., 3.])
    """
    if isinstance(rows, ValuedRows):
        return drawn_log_odds(belief, rows.rows, rng, scale)
    if isinstance(belief, WideGaussian):
        return belief.drawn_scores(rows, rng, scale)
    if is_checked(rows):
        seeds = kernels.SEEDS if isinstance(rows, OwnRows) else 0
        uniforms = rng.random(belief.dimension + seeds)
        return rows.drawn(belief.mean, belief.root, uniforms, scale)
    uniforms = rng.random(belief.dimension)
    given = np.ascontiguousarray(rows)
    found = kernels.drawn_leader(given, belief.mean, belief.root, uniforms, scale)
    return np.asarray(found[0])


def drawn_and_marginal(
    belief: Belief, rows: Rows, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """`drawn_log_odds`, and mean and variance as of `marginal`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> drawn_and_marginal(Gaussian([1.0], [[9.0]]), np.array([[2.0]]), rng)[1:]
    (array([2.]), array([36.]))
    """
    if isinstance(rows, ValuedRows):
        return drawn_and_marginal(belief, rows.rows, rng)
    if isinstance(belief, WideGaussian) or not isinstance(rows, np.ndarray):
        return drawn_log_odds(belief, rows, rng), *marginal(belief, rows)
    uniforms = rng.random(belief.dimension)
    drawn, centre, variance, _ = kernels.drawn_marginals(*drawn_law(belief, rows, uniforms))
    return drawn[0], centre, variance


def drawn_law(
    belief: Gaussian, rows: npt.NDArray[Any], uniforms: FloatArray
) -> tuple[FloatArray, ...]:
    """What `kernels.drawn_marginals` is asked with.

    Examples
    --------
    >>> len(drawn_law(Gaussian([1.0], [[9.0]]), np.array([[2.0]]), np.array([0.5])))
    4
    """
    return read_only(np.ascontiguousarray(rows)), belief.mean, belief.root, uniforms


def marginal(belief: Belief, rows: Rows) -> Marginal:
    """Mean and variance of the log-odds of each row.

    Examples
    --------
    >>> marginal(Gaussian([1.0], [[9.0]]), ValuedRows(np.array([[2.0]])))
    Marginal(mean=array([2.]), variance=array([36.]))
    """
    if isinstance(rows, ValuedRows):
        return marginal(belief, rows.rows)
    if isinstance(belief, WideGaussian):
        return belief.marginal(rows)
    return rows.marginal(belief) if isinstance(rows, OwnRows) else belief.marginal(np.asarray(rows))


def moments(rows: Rows, centre: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of each row's click probability, or of what it is worth.

    Examples
    --------
    >>> mean, radius = moments(np.ones((1, 1)), np.array([0.0]), np.array([4.0]))
    >>> mean.round(3), radius.round(3)
    (array([0.5]), array([0.314]))
    """
    mean, radius = kernels.click_moments(centre, variance)
    if not isinstance(rows, ValuedRows):
        return mean, radius
    return mean * rows.values - rows.costs, radius * rows.values


def worth(rows: Rows, log_odds: FloatArray) -> FloatArray:
    """What rows are worth at given log-odds; these themselves without values.

    Examples
    --------
    >>> worth(ValuedRows(np.ones((1, 1)), [3.0]), np.array([0.0]))
    array([1.5])
    """
    return worths(log_odds, rows.values, rows.costs) if isinstance(rows, ValuedRows) else log_odds


def checked(
    candidates: Candidates, exclude: Collection[int], top_k: int, belief: Belief
) -> tuple[Rows, list[int]]:
    """Rows that fit the belief, and which are excluded; a ValueError that says what is wrong.

    Examples
    --------
    >>> checked([[1.0], [2.0]], [1], 1, Gaussian([0.0], [[1.0]]))[1]
    [1]
    """
    rows: Rows
    if isinstance(belief, WideGaussian):
        rows = as_sparse(candidates, belief.dimension)
    elif type(candidates) is not np.ndarray and is_checked(candidates):
        rows, columns = candidates, candidates.shape[1]
        if columns != belief.dimension:
            raise ValueError(
                f"the rows have {columns} columns but the prior has {belief.dimension} weights"
            )
    else:
        rows = as_rows(candidates, belief.dimension)
    if len(rows) == 0:
        raise ValueError("candidates are empty but there must be at least one")
    if top_k < 1:
        raise ValueError(f"top_k is {top_k} but must be at least 1")
    if not exclude:
        return rows, []
    excluded = sorted(set(exclude))
    for index in excluded:
        if not 0 <= index < len(rows):
            raise ValueError(f"exclude names {index} but there are {len(rows)} candidates")
    if len(excluded) == len(rows):
        raise ValueError(f"all {len(rows)} candidates are excluded but one must be left")
    return rows, excluded


def positions(names: Sequence[Any], exclude: Collection[Hashable]) -> list[int]:
    """Where the excluded ids are among the names; a ValueError if none is left.

    Examples
    --------
    >>> positions(("ad-1", "ad-2"), {"ad-2", "ad-9"})
    [1]
    """
    if not exclude:
        return []
    unwanted = set(exclude)
    found = [index for index, name in enumerate(names) if name in unwanted]
    if len(found) == len(names):
        raise ValueError(f"all {len(names)} candidates are excluded but one must be left")
    return found
