"""Folds of a log: what a model says of each that has learnt from the others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from fabcost.gaussian import Gaussian
from fabcost.impressions import Outcomes, Tally, as_batch
from fabcost.inference import ep

_MODEL_TOLERANCE = 1e-6


def cross_fit(
    prior: Gaussian, X: npt.ArrayLike, y: npt.ArrayLike, *, folds: int, rng: np.random.Generator
) -> Iterator[tuple[npt.NDArray[np.intp], Gaussian]]:
    """Each fold's row numbers, with the belief that EP learns from all the other folds.

    What a belief says about its fold, it says without having seen it: nothing leaks.

    References
    ----------
    Chernozhukov et al., "Double/debiased machine learning" (2018).

    Examples
    --------
    >>> X, y = np.ones((6, 1)), [0, 1, 0, 1, 0, 1]
    >>> fits = list(cross_fit(Gaussian.isotropic(1), X, y, folds=3, rng=np.random.default_rng(0)))
    >>> sorted(int(i) for held_out, _ in fits for i in held_out)
    [0, 1, 2, 3, 4, 5]
    """
    for held_out, fitted in cross_fits(prior, X, y, folds=folds, rng=rng):
        yield held_out, fitted.posterior


def cross_fits(
    prior: Gaussian,
    X: npt.ArrayLike,
    y: npt.ArrayLike | Tally,
    *,
    folds: int,
    rng: np.random.Generator,
    items: npt.ArrayLike | None = None,
    own_variance: float = 0.0,
    weight: npt.ArrayLike | None = None,
    group: bool = False,
) -> Iterator[tuple[npt.NDArray[np.intp], ep.EPResult]]:
    """`cross_fit` with all that EP finds, also of the effects of ``items``: one for each row.

    Outcomes may be a `fabcost.Tally`, and rows have a ``weight`` each; with ``group`` equal rows of
    a fit are made one.

    Examples
    --------
    >>> X, y, rng = np.ones((6, 1)), [0, 1, 0, 1, 0, 1], np.random.default_rng(0)
    >>> fits = cross_fits(
    ...     Gaussian.isotropic(1), X, y, folds=3, rng=rng, items=["a"] * 6, own_variance=1.0
    ... )
    >>> [fitted.own.keys for _, fitted in fits]
    [('a',), ('a',), ('a',)]
    """
    rows, (labels, counts) = as_batch(X, y, weight, prior.dimension)
    shown = np.full(labels.size, None) if items is None else np.asarray(items, dtype=object)
    if not 2 <= folds <= labels.size:
        raise ValueError(f"folds is {folds} but must lie between 2 and the {labels.size} rows")
    for held_out in np.array_split(rng.permutation(labels.size), folds):
        others = np.ones(labels.size, dtype=bool)
        others[held_out] = False
        outcomes = Outcomes(labels[others], None if counts is None else counts[others])
        yield (
            held_out,
            ep.fit(
                prior,
                rows[others],
                outcomes.given,
                tolerance=_MODEL_TOLERANCE,
                items=shown[others].tolist(),
                own_variance=own_variance,
                group=group,
            ),
        )
