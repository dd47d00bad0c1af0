"""The belief over the weights: a Gaussian, as a frozen value."""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fabcost import kernels
from fabcost.impressions import FloatArray, GivenRows, as_rows, read_only
from fabcost.sparse import as_sparse, is_sparse
from fabcost.tilted import Moments, is_exact

LANE = 8  # float64 numbers in the widest vector register, and in a line of the cache
WIDE = 64  # weights from which it is worth the while where a root begins
SMALLEST_VARIANCE = 1e-75
LARGEST_VARIANCE = 1e75


class Marginal(NamedTuple):
    """Mean and variance of η = xᵀθ."""

    mean: FloatArray
    variance: FloatArray


class Gaussian:
    r"""A multivariate normal :math:`\mathcal{N}(\mu, \Sigma)` over the weights θ.

    It is carried as its mean and a square root of its covariance, :math:`\Sigma = R R^\top`,
    which keeps directions that are known a billion times better than others.

    Parameters
    ----------
    mean
        μ, of length D.
    covariance
        Σ, D × D, symmetric and positive definite; anything else is a ValueError.

    Examples
    --------
    >>> belief = Gaussian([0.0, 1.0], [[2.0, 0.5], [0.5, 1.0]])
    >>> belief.marginal([1.0, 1.0])
    Marginal(mean=np.float64(1.0), variance=np.float64(4.0))
    >>> belief.sample(np.random.default_rng(0), 3).shape
    (3, 2)
    """

    mean: FloatArray
    root: FloatArray

    def __init__(self, mean: npt.ArrayLike, covariance: npt.ArrayLike) -> None:
        centre = _checked_mean(mean)
        given = _checked_covariance(covariance, centre.size)
        self._freeze(centre, _cholesky(given))
        given.setflags(write=False)
        self.__dict__["covariance"] = given

    @classmethod
    def isotropic(cls, dimension: int, *, variance: float = 1.0, mean: float = 0.0) -> Gaussian:
        """N(mean, variance · I) over ``dimension`` weights.

        Examples
        --------
        >>> Gaussian.isotropic(2, variance=100.0).covariance
        array([[100.,   0.],
               [  0., 100.]])
        """
        if dimension < 1:
            raise ValueError(f"dimension is {dimension} but must be at least 1")
        _check_variances(np.array([variance], dtype=np.float64))
        belief = cls.from_root(
            np.full(dimension, mean, dtype=np.float64), math.sqrt(variance) * np.eye(dimension)
        )
        belief.__dict__["covariance"] = _frozen(variance * np.eye(dimension))
        return belief

    @classmethod
    def from_root(cls, mean: npt.ArrayLike, root: npt.ArrayLike) -> Gaussian:
        """The Gaussian of covariance ``root rootᵀ``, for a square ``root`` of full rank.

        Examples
        --------
        >>> Gaussian.from_root([0.0], [[3.0]]).covariance
        array([[9.]])
        """
        centre = _checked_mean(mean)
        square = np.array(root, dtype=np.float64, order="C")
        if square.shape != (centre.size, centre.size):
            raise ValueError(
                f"root has shape {square.shape} but the mean has {centre.size} weights"
            )
        if not np.isfinite(square).all():
            raise ValueError("root contains NaN or infinity but must be finite")
        _check_variances((square * square).sum(axis=1))
        belief = cls.__new__(cls)
        belief._freeze(centre, square)
        return belief

    @classmethod
    def from_kernel(cls, mean: FloatArray, root: FloatArray, *, keep: bool = False) -> Gaussian:
        """Like `from_root`, but unchecked: for arrays that the kernels made.

        They are copied, or kept if nobody will write to them.

        Examples
        --------
        >>> Gaussian.from_kernel(np.zeros(1), np.ones((1, 1))).sd
        array([1.])
        """
        belief = cls.__new__(cls)
        if keep and root.flags.c_contiguous:
            belief._freeze(mean, root)
        else:
            belief._freeze(mean.copy(), _copied(root))
        return belief

    def _freeze(self, mean: FloatArray, root: FloatArray) -> None:
        mean.setflags(write=False)
        root.setflags(write=False)
        known = self.__dict__
        known["mean"], known["root"] = mean, root

    def __getstate__(self) -> tuple[FloatArray, FloatArray]:
        return self.mean, self.root

    def __setstate__(self, state: tuple[FloatArray, FloatArray]) -> None:
        self._freeze(*state)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Gaussian is a value: {name} cannot be set")

    @cached_property
    def dimension(self) -> int:
        """D, the number of weights."""
        return self.mean.size

    @cached_property
    def covariance(self) -> FloatArray:
        """Σ = R Rᵀ, lifted by rounding's width where float64 cannot hold its smallest direction."""
        product: FloatArray = kernels.times_own_transpose(self.root)
        if not np.isfinite(product).all():
            raise ValueError("the root contains NaN or infinity, or its square overflows")
        lift = 0.0
        while not kernels.cholesky(product)[1]:
            lift = max(2.0 * lift, np.finfo(np.float64).eps * self.dimension)
            product[np.diag_indices_from(product)] *= 1.0 + lift
        return _frozen(product)

    @cached_property
    def precision(self) -> FloatArray:
        """Λ = Σ⁻¹ (equation 10 of the paper maps between the two)."""
        inverse = np.linalg.inv(self.root)
        return _frozen(inverse.T @ inverse)

    @cached_property
    def sd(self) -> FloatArray:
        """Marginal standard deviations of the weights, √Σⱼⱼ."""
        return _frozen(np.sqrt((self.root * self.root).sum(axis=1)))

    @cached_property
    def triangle(self) -> FloatArray:
        """The lower triangular L with Σ = L Lᵀ: another root than `root`, unless that is one."""
        if kernels.is_lower(self.root):
            return self.root
        return _frozen(kernels.narrow(self.root.copy()))

    @cached_property
    def log_determinant(self) -> float:
        """log |Σ|."""
        return 2.0 * float(kernels.sum_of_logs(np.abs(self.triangle.diagonal())))

    def marginal(self, x: GivenRows) -> Marginal:
        """Mean and variance of η = xᵀθ for one row, or for each row of a matrix, sparse or not.

        Examples
        --------
        >>> Gaussian.isotropic(2).marginal([[3.0, 4.0], [1.0, 0.0]]).variance
        array([25.,  1.])
        """
        if type(x) is not np.ndarray and is_sparse(x):
            given = as_sparse(x, self.dimension)
            return Marginal(*kernels.sparse_marginals(*given.arrays, self.mean, self.root))
        rows = np.asarray(x, dtype=np.float64)
        if rows.ndim == 0 or rows.shape[-1] != self.dimension:
            raise ValueError(
                f"x has shape {rows.shape} but the belief has {self.dimension} weights"
            )
        listed = read_only(np.ascontiguousarray(rows.reshape(-1, self.dimension)))
        centre, variance = kernels.marginals(listed, self.mean, self.root)
        shape = rows.shape[:-1]
        return Marginal(centre.reshape(shape)[()], variance.reshape(shape)[()])

    def predict(self, X: GivenRows, *, moments: Moments = "exact") -> FloatArray:
        r"""Click probability of each row, :math:`\int \sigma(x^\top\theta)\,q(\theta)\,d\theta`.

        It integrates the uncertainty: it is the Z of equation 15, not σ at the mean.

        Examples
        --------
        >>> Gaussian([2.0], [[1e-12]]).predict([[1.0]]).round(3)
        array([0.881])
        >>> Gaussian([2.0], [[25.0]]).predict([[1.0]]).round(3)
        array([0.647])
        """
        centre, variance = self.marginal(X if is_sparse(X) else as_rows(X, self.dimension))
        # A row of zeros has variance zero; any tiny variance gives the same ½.
        variance = np.maximum(variance, 1e-300)
        clicks: FloatArray = kernels.predictions(centre, variance, is_exact(moments))
        return clicks

    def sample(self, rng: np.random.Generator, size: int | None = None) -> FloatArray:
        """Draw weights, one vector or ``size`` of them, as θ = μ + R z with z standard normal."""
        normals = standard_normal(rng, (1 if size is None else size, self.dimension))
        draws: FloatArray = kernels.drawn(self.mean, self.root, normals)
        return draws[0] if size is None else draws

    def whiten(self, theta: npt.ArrayLike) -> FloatArray:
        """z with θ = μ + R z: how many sds, in independent directions, θ lies from the mean.

        Examples
        --------
        >>> Gaussian([1.0], [[4.0]]).whiten([5.0])
        array([2.])
        """
        away = np.asarray(theta, dtype=np.float64) - self.mean
        return np.asarray(np.linalg.solve(self.root, away.T).T, dtype=np.float64)

    def log_density(self, theta: npt.ArrayLike) -> FloatArray:
        """log N(θ; μ, Σ) for one vector or each row.

        Examples
        --------
        >>> float(Gaussian.isotropic(1).log_density([0.0]).round(4))
        -0.9189
        """
        z = self.whiten(theta)
        constant = self.dimension * math.log(2.0 * math.pi) + self.log_determinant
        return np.asarray(-0.5 * ((z * z).sum(axis=-1) + constant))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Gaussian):
            return NotImplemented
        return np.array_equal(self.mean, other.mean) and np.array_equal(
            self.covariance, other.covariance
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Gaussian(mean={self.mean!r}, sd={self.sd!r})"


def at_a_line(rows: int, columns: int) -> FloatArray:
    """Zeros that begin at a line of the processor's cache, so that lanes of whole rows cross none.

    Examples
    --------
    >>> at_a_line(2, 8).ctypes.data % 64
    0
    """
    spare = np.zeros(rows * columns + LANE)
    start = -(spare.ctypes.data // spare.itemsize) % LANE
    return spare[start : start + rows * columns].reshape(rows, columns)


def _copied(root: FloatArray) -> FloatArray:
    if root.shape[1] < WIDE or root.shape[1] % LANE:
        return root.copy()
    copy = at_a_line(*root.shape)
    copy[:] = root
    return copy


def _frozen(array: FloatArray) -> FloatArray:
    array.setflags(write=False)
    return array


def _checked_mean(mean: npt.ArrayLike) -> FloatArray:
    centre = np.array(mean, dtype=np.float64)
    if centre.ndim != 1 or centre.size == 0:
        raise ValueError(
            f"mean has shape {centre.shape} but must be a vector of at least one weight"
        )
    if not np.isfinite(centre).all():
        raise ValueError(f"mean contains {centre[~np.isfinite(centre)][0]} but must be finite")
    return centre


def _checked_covariance(covariance: npt.ArrayLike, weights: int) -> FloatArray:
    given = np.array(covariance, dtype=np.float64, order="C")
    if given.shape != (weights, weights):
        raise ValueError(f"covariance has shape {given.shape} but the mean has {weights} weights")
    if not np.isfinite(given).all():
        raise ValueError("covariance contains NaN or infinity but must be finite")
    gap = np.abs(given - given.T)
    scale = np.sqrt(np.abs(np.outer(np.diag(given), np.diag(given))))
    if (gap > 1e-10 * scale).any():
        i, j = np.unravel_index(int(gap.argmax()), gap.shape)
        raise ValueError(
            f"covariance is not symmetric: [{i}, {j}] is {given[i, j]} "
            f"but [{j}, {i}] is {given[j, i]}"
        )
    _check_variances(np.diag(given))
    return 0.5 * (given + given.T)


def _check_variances(variances: FloatArray) -> None:
    sound = (variances >= SMALLEST_VARIANCE) & (variances <= LARGEST_VARIANCE)
    for variance in variances[~sound]:
        raise ValueError(
            f"a variance is {variance} but must lie between {SMALLEST_VARIANCE:g} and "
            f"{LARGEST_VARIANCE:g}"
        )


def _cholesky(covariance: FloatArray) -> FloatArray:
    low: FloatArray
    low, sound = kernels.cholesky(covariance)
    if sound:
        return low
    smallest = float(np.linalg.eigvalsh(covariance)[0])
    raise ValueError(
        f"covariance is not positive definite: its smallest eigenvalue is {smallest:.3g} "
        "but must be above zero"
    )


def standard_normal(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    """Standard normal numbers, one for each that ``rng.random`` gives.

    `Generator.standard_normal` asks the C library for logarithms, whose last bits differ
    between machines.

    Examples
    --------
    >>> standard_normal(np.random.default_rng(0), (2,)).round(3)
    array([ 0.35 , -0.613])
    """
    numbers: FloatArray = rng.random(shape)
    kernels.make_normal(numbers)
    return numbers
