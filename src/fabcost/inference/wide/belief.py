"""A belief over very many weights: full on a core of columns, diagonal elsewhere."""

from __future__ import annotations

import hashlib
import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fabcost import kernels
from fabcost.gaussian import LANE, LARGEST_VARIANCE, SMALLEST_VARIANCE, Marginal, at_a_line
from fabcost.impressions import FloatArray
from fabcost.sparse import Columns, SparseRows, as_sparse
from fabcost.tilted import Moments, is_exact


class WideChanges(NamedTuple):
    """Of some columns of a wide belief mean, variance and slot, and all of its core.

    Examples
    --------
    >>> WideGaussian(10).changes(np.array([7])).mean
    array([0.])
    """

    columns: Columns
    mean: FloatArray
    variance: FloatArray
    slots: npt.NDArray[np.int32]
    core: FloatArray
    places: Columns
    of_core: FloatArray


class WideGaussian:
    r"""A normal law over very many weights, with covariances among the columns of a core only.

    :math:`q(\theta) = \mathcal{N}(\theta_C; \mu_C, R R^\top)\prod_{j \notin C}
    \mathcal{N}(\theta_j; \mu_j, v_j)`.  It takes 20 bytes a weight and 8 C² for the core.

    It is what `WideFabCost` learns into, and changes with it; `copy` makes one that stays.

    Parameters
    ----------
    dimension
        How many weights.
    variance
        Of each before the first impression; all means are 0.
    core
        For how many columns covariances are kept, 0 for none.

    Attributes
    ----------
    mean
        μ of all weights.
    members
        The columns of the core so far.

    Examples
    --------
    >>> belief = WideGaussian(2**20, variance=4.0, core=0)
    >>> belief.marginal([([3, 70_000], [1.0, 2.0])])
    Marginal(mean=array([0.]), variance=array([20.]))
    """

    def __init__(self, dimension: int, *, variance: float = 1.0, core: int = 0) -> None:
        if dimension < 1:
            raise ValueError(f"dimension is {dimension} but must be at least 1")
        if not SMALLEST_VARIANCE <= variance <= LARGEST_VARIANCE:
            raise ValueError(f"variance is {variance} but must be finite and above zero")
        if not 0 <= core <= dimension:
            raise ValueError(f"core is {core} but must lie between 0 and the {dimension} weights")
        self.dimension = dimension
        self.mean: FloatArray = np.zeros(dimension)
        self.variance: FloatArray = np.full(dimension, float(variance))
        self.slots = np.full(dimension, -1, dtype=np.int32)
        self.root: FloatArray = at_a_line(core, -(-max(core, 1) // LANE) * LANE)
        self.places: Columns = np.zeros(core, dtype=np.int64)
        self.filled = 0

    @property
    def members(self) -> Columns:
        """The columns of the core, in the order in which they joined it."""
        return self.places[: self.filled].copy()

    @property
    def known(self) -> Columns:
        """The columns that any impression had."""
        return np.flatnonzero(self.slots != -1)

    @property
    def uses(self) -> Columns:
        """How many impressions had each column, until it joined the core (−1 if it has)."""
        return np.maximum(-1 - self.slots.astype(np.int64), -1)

    @property
    def sd(self) -> FloatArray:
        """Marginal standard deviations of the weights."""
        variance = self.variance.copy()
        variance[self.members] = (self.root[: self.filled] ** 2).sum(axis=1)
        return np.sqrt(variance)

    def covariance(self, columns: Any) -> FloatArray:
        """The covariance matrix of some weights.

        Examples
        --------
        >>> WideGaussian(10, variance=4.0).covariance([7, 8])
        array([[4., 0.],
               [0., 4.]])
        """
        chosen = np.asarray(columns)
        slots = self.slots[chosen]
        inside = slots >= 0
        found = np.diag(np.where(inside, 0.0, self.variance[chosen]))
        root = self.root[slots[inside]]
        found[np.ix_(inside, inside)] += kernels.times_own_transpose(np.ascontiguousarray(root))
        return found

    def copy(self) -> WideGaussian:
        """The same belief, which no learner changes."""
        twin = WideGaussian.__new__(WideGaussian)
        twin.dimension, twin.filled = self.dimension, self.filled
        twin.mean, twin.variance = self.mean.copy(), self.variance.copy()
        twin.slots, twin.places = self.slots.copy(), self.places.copy()
        twin.root = at_a_line(*self.root.shape)
        twin.root[:] = self.root
        return twin

    def age(self, kept: float, variance: float) -> None:
        """Keep a share of the precision beyond that of the prior variance; the mean stays.

        Examples
        --------
        >>> belief = WideGaussian(10)
        >>> belief.variance[7], belief.slots[7] = 0.25, -3
        >>> belief.age(0.5, 1.0)
        >>> belief.variance[7]
        np.float64(0.4)
        """
        known, filled = self.known, self.filled
        outside = known[self.slots[known] < 0]
        now = self.variance[outside]
        self.variance[outside] = now * variance / (kept * variance + (1.0 - kept) * now)
        low = math.sqrt(variance) * np.eye(filled)
        if kept == 0.0:
            self.root[:filled, :filled] = low
        elif filled:
            kernels.age(self.root[:filled], low, kept)

    def changes(self, columns: Columns) -> WideChanges:
        """Copies of what `follow` needs in another thread, if only these columns have changed."""
        filled, places = self.filled, self.members
        of_columns = (self.mean[columns], self.variance[columns], self.slots[columns])
        root = self.root[:filled, :filled].copy()
        return WideChanges(columns, *of_columns, root, places, self.mean[places])

    def follow(self, changes: WideChanges) -> None:
        """Become equal to the belief whose changes these are.

        Examples
        --------
        >>> mirror, told = WideGaussian(10), WideGaussian(10, variance=4.0).changes(np.array([7]))
        >>> mirror.follow(told)
        >>> mirror.sd[6:8]
        array([1., 2.])
        """
        columns, filled = changes.columns, changes.places.size
        self.mean[columns], self.variance[columns] = changes.mean, changes.variance
        self.slots[columns] = changes.slots
        self.root[:filled, :filled] = changes.core
        self.places[:filled], self.filled = changes.places, filled
        self.mean[changes.places] = changes.of_core

    def digest(self) -> str:
        """SHA-256 of the bits of all columns that any impression had."""
        known, filled = self.known, self.filled
        content = hashlib.sha256(known.tobytes())
        for each in (self.mean[known], self.variance[known], self.slots[known]):
            content.update(each.tobytes())
        content.update(np.ascontiguousarray(self.root[:filled, :filled]).tobytes())
        return content.hexdigest()

    def marginal(self, X: Any) -> Marginal:
        """Mean and variance of the score of each row."""
        rows = as_sparse(X, self.dimension)
        given = (*self._law, rows.starts, rows.columns, rows.values)
        centre, variance = kernels.wide_marginals(*given)
        return Marginal(centre, variance)

    def predict(self, X: Any, *, moments: Moments = "exact") -> FloatArray:
        r"""Click probability of each row, :math:`\int \sigma(x^\top\theta)\,q(\theta)\,d\theta`.

        Examples
        --------
        >>> WideGaussian(10).predict([([7], [1.0])])
        array([0.5])
        """
        centre, variance = self.marginal(X)
        clicks: FloatArray = kernels.predictions(
            centre, np.maximum(variance, 1e-300), is_exact(moments)
        )
        return clicks

    def drawn(self, columns: Columns, seeds: FloatArray, scale: float = 1.0) -> FloatArray:
        """The weights of some columns in one draw of all; ``seeds`` are `kernels.SEEDS` uniforms.

        Examples
        --------
        >>> WideGaussian(10).drawn(np.array([7, 8]), np.array([0.1, 0.2, 0.3])).shape
        (2,)
        """
        given = (*self._law, columns, seeds, scale)
        theta: FloatArray = kernels.wide_draw(*given)
        return theta

    def drawn_scores(self, rows: Any, rng: np.random.Generator, scale: float) -> FloatArray:
        """Scores under one draw of those weights that any of the rows has."""
        given = as_sparse(rows, self.dimension)
        columns, places = given.touched
        theta = self.drawn(columns, rng.random(kernels.SEEDS), scale)
        scores: FloatArray = kernels.sparse_times(given.starts, places, given.values, theta)
        return scores

    def law(self, rows: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Centre and spread of scores, and the noise that each has of its own.

        Examples
        --------
        >>> WideGaussian(10, variance=4.0).law([([7, 8], [1.0, 1.0]), ([7], [1.0])])
        (array([0., 0.]), array([[2.],
               [2.]]), array([2., 0.]))
        """
        given = as_sparse(rows, self.dimension)
        columns, places = given.touched
        sparse = (given.starts, places, given.values, columns)
        centre, spread, noise = kernels.wide_law(*self._law, *sparse)
        return centre, spread, noise

    @property
    def _law(self) -> tuple[Any, ...]:
        return self.mean, self.variance, self.slots, self.root, self.filled


def rows_of(x: Any, weights: int) -> SparseRows:
    """One impression's row; a ValueError if they are several.

    Examples
    --------
    >>> len(rows_of(([0], [1.0]), 3))
    1
    """
    rows = as_sparse(x, weights)
    if len(rows) != 1:
        raise ValueError(f"there are {len(rows)} rows but one impression has one")
    return rows
