"""Training data: labels of two classes, weights, and columns whose units do not suit a prior."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import _check_sample_weight

from fabcost import kernels
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray, Rows, as_outcomes, as_rows, grouped
from fabcost.inference import adf, laplace, result
from fabcost.inference.ep import log_mass
from fabcost.inference.online import FabCost
from fabcost.inference.passes import Swept
from fabcost.inference.schedule import Portion, Refresh
from fabcost.inference.sparse.parallel import keep
from fabcost.sparse import SparseRows, as_sparse
from fabcost.tilted import check_moments

Inference = Literal["fab-cost", "ep", "adf", "laplace"]
ClassWeight = Mapping[Any, float] | Literal["balanced"] | None
Weights = FloatArray | None
#: Rows as an array, or as a matrix of `scipy.sparse` in CSR form.
Design = Any

# How far a column moves the log-odds a priori; beyond these the prior speaks of its units.
_MOST_MOVED, _LEAST_MOVED, _MOST_NAMED = 200.0, 0.01, 5
_BEYOND_ANY_STREAM = 2**53  # a refresh point never reached: rows and sites are kept for EP


class Lesson(NamedTuple):
    """Rows as the model has them, which are of the second class, their weights and times.

    Examples
    --------
    >>> Lesson(np.ones((1, 2)), np.array([True]), None).second
    array([ True])
    """

    design: Rows
    second: npt.NDArray[np.bool_]
    weight: Weights
    at: npt.ArrayLike | None = None


def design(rows: Design, weights: int) -> Rows:
    """Rows as the model has them: with a column of ones if it has one weight more than they have.

    Examples
    --------
    >>> design(np.zeros((1, 2)), 3)
    array([[0., 0., 1.]])
    """
    many, columns = rows.shape
    if issparse(rows):
        sparse = as_sparse(rows, columns)
        return sparse if columns == weights else sparse.with_ones()
    return as_rows(rows if columns == weights else np.column_stack([rows, np.ones(many)]), weights)


def lesson(design: Rows, second: npt.NDArray[np.bool_], weight: Weights, at: Any = None) -> Lesson:
    """What there is to learn: rows of weight zero have no part in it.

    Examples
    --------
    >>> lesson(np.eye(2), np.array([True, False]), np.array([0.0, 3.0])).design
    array([[0., 1.]])
    """
    if weight is None:
        return Lesson(design, second, weight, at)
    told, times = weight > 0.0, None if at is None else np.broadcast_to(at, weight.shape)
    return Lesson(design[told], second[told], weight[told], None if times is None else times[told])


def teach(learner: FabCost, lesson: Lesson, *, is_all: bool) -> None:
    """Learn row by row, with scikit-learn's warning in place of ours; all refreshes if it is all.

    Examples
    --------
    >>> learner = FabCost(Gaussian.isotropic(2))
    >>> teach(learner, Lesson(np.eye(2), np.array([True, False]), None), is_all=False)
    >>> learner.seen
    2
    """
    rows, second, weight, at = lesson
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        learner.observe_many(rows, second, weight=weight, at=at)
        if is_all:
            learner.finish()
    for each in told:
        ours = issubclass(each.category, result.ConvergenceWarning)
        category = ConvergenceWarning if ours else each.category
        warnings.warn(str(each.message), category, stacklevel=5)


def teach_whole(learner: FabCost, lesson: Lesson, max_sweeps: int) -> tuple[Swept, float]:
    """Learn all rows there are, in no order, and then go on as scheduled; and log p(y | X).

    EP sweeps over the rows that differ until nothing moves; without EP each is filtered once.
    Where EP matches the sites of many sparse rows at once, they are only kept for it.

    Examples
    --------
    >>> learner = FabCost(Gaussian.isotropic(2))
    >>> teach_whole(learner, Lesson(np.ones((3, 2)), np.array([True, False, True]), None), 20)[0][1]
    True
    >>> learner.seen, learner.next_refresh
    (1, 2)
    """
    batch, schedule = _distinct(lesson, learner), learner.refresh_schedule
    if schedule.kind == "never":
        learner.learn(batch.part(adf.scattered(batch.rows, batch.labels)))
        return Swept(1, True, learner.skipped, math.nan), math.nan
    learner.refresh_schedule = Refresh.at(_BEYOND_ANY_STREAM, max_sweeps=max_sweeps)
    learner.plan(_BEYOND_ANY_STREAM)
    if isinstance(batch.rows, SparseRows) and batch.size >= learner.prior.dimension:
        keep(learner, batch)
    else:
        learner.learn(batch)
    swept, learner.refresh_schedule = refine(learner, max_sweeps, stacklevel=6), schedule
    learner.plan(schedule.next_after(learner.seen))
    mass = log_mass(learner.prior, learner.posterior, batch.rows, learner.sites, None, ())
    return swept, swept.log_factors + mass


def _distinct(lesson: Lesson, learner: FabCost) -> Portion:
    """The rows that differ with the counts of all, or all where none are equal or have counts."""
    rows, outcomes = lesson.design, as_outcomes(*lesson[1:3], len(lesson.second))
    if check_moments(learner.moments, outcomes.counts) and _may_repeat(rows):
        rows, outcomes, _ = grouped(rows, outcomes)
    return Portion(rows, outcomes.labels, counts=outcomes.counts)


def _may_repeat(rows: Rows) -> bool:
    """False if all rows differ, as they do along some direction, and hardly ever else."""
    along = np.random.default_rng(0).standard_normal((rows.shape[1],))
    scores = rows @ along if isinstance(rows, SparseRows) else kernels.times(rows, along)
    scores.sort()
    return bool((scores[1:] == scores[:-1]).any())


def prior(columns: int, variance: float, of_intercept: float | None) -> Gaussian:
    """Independent weights of one variance and mean zero, the intercept last, if there is one.

    Examples
    --------
    >>> prior(2, 1.0, 16.0).sd
    array([1., 1., 4.])
    """
    more = [] if of_intercept is None else [of_intercept]
    variances = np.array([variance] * columns + more, dtype=np.float64)
    return Gaussian(np.zeros(variances.size), np.diag(variances))


def schedule(
    inference: Inference, refresh: Refresh | Callable[[int], bool] | None, max_sweeps: int
) -> Refresh | Callable[[int], bool] | None:
    """When a learner refines what it keeps: as it is told, never, or when it is asked to.

    Examples
    --------
    >>> schedule("adf", None, 20).kind
    'never'
    """
    all_rows = Refresh.at(_BEYOND_ANY_STREAM, max_sweeps=max_sweeps)
    return {"adf": Refresh.never(), "ep": all_rows}.get(inference, refresh)


def step(posterior: Gaussian, lesson: Lesson) -> tuple[Gaussian, int, float]:
    """Laplace's posterior of a lesson, its Newton steps, and log p(y | X), NaN of a single row.

    Examples
    --------
    >>> step(Gaussian.isotropic(1), Lesson(np.ones((1, 1)), np.array([True]), None))[1:]
    (1, nan)
    """
    if lesson.design.shape[0] == 1:
        return laplace.update(posterior, *lesson[:2], weight=lesson.weight), 1, math.nan
    fit = laplace.fit(posterior, *lesson[:2], weight=lesson.weight)
    return fit.posterior, fit.iterations, fit.log_evidence


def refine(learner: FabCost, max_sweeps: int, stacklevel: int = 4) -> Swept:
    """EP over all that a learner keeps, with scikit-learn's warning if it still moves.

    Examples
    --------
    >>> learner = FabCost(Gaussian.isotropic(1))
    >>> learner.observe([1.0], True)
    >>> refine(learner, 20).converged
    True
    """
    swept = learner.refresh()
    lost = "; log_evidence_ is NaN without their factors" if swept.skipped else ""
    if not swept.converged:
        warnings.warn(
            f"EP still moves after {swept.sweeps} sweeps, of which {swept.skipped} visits were "
            f"skipped{lost}: max_sweeps is {max_sweeps} and tolerance {learner.tolerance}",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )
    return swept


def row_weights(
    labels: npt.NDArray[Any],
    classes: npt.NDArray[Any],
    sample_weight: npt.ArrayLike | None,
    class_weight: ClassWeight,
) -> Weights:
    """The weight of each row, its class's included; None if all are one.

    Examples
    --------
    >>> row_weights(np.array([0, 1, 0]), np.array([0, 1]), [1.0, 1.0, 2.0], {1: 10.0})
    array([ 1., 10.,  2.])
    """
    if sample_weight is None and class_weight is None:
        return None
    weight: FloatArray = _check_sample_weight(
        sample_weight, labels, dtype=np.float64, ensure_non_negative=True, copy=True
    )
    if class_weight is not None:
        each = compute_class_weight(class_weight, classes=classes, y=labels, sample_weight=weight)
        weight *= np.where(labels == classes[1], each[1], each[0])
    return None if (weight == 1.0).all() else weight


def for_a_part(class_weight: ClassWeight) -> ClassWeight:
    """Weights of classes as they are; a ValueError if they need all labels to be known.

    Examples
    --------
    >>> for_a_part({"click": 5.0})
    {'click': 5.0}
    """
    if isinstance(class_weight, str):
        raise ValueError(
            f"class_weight is {class_weight!r} but must be a dictionary or None for partial_fit, "
            "which does not see all labels"
        )
    return class_weight


def check_inference(inference: str, **of_fab_cost: object) -> None:
    """A ValueError if there is no such inference, or it lacks what it is set to.

    Examples
    --------
    >>> check_inference("ep", window=5)
    Traceback (most recent call last):
    ValueError: window is 5 but must be None with inference='ep': it belongs to 'fab-cost'
    """
    if inference not in get_args(Inference):
        options = ", ".join(repr(name) for name in get_args(Inference))
        raise ValueError(f"inference is {inference!r} but must be one of {options}")
    for name, value in of_fab_cost.items():
        owners = ("fab-cost", "adf") if name == "half_life" else ("fab-cost",)
        if value is not None and inference not in owners:
            raise ValueError(
                f"{name} is {value} but must be None with inference={inference!r}: "
                f"it belongs to {' and '.join(map(repr, owners))}"
            )


def two_classes(labels: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Both labels, sorted; a ValueError if they are not two.

    Examples
    --------
    >>> two_classes(np.array(["skip", "click", "skip"]), "y")
    array(['click', 'skip'], dtype='<U5')
    """
    classes = np.unique(labels)
    if classes.size != 2:
        raise ValueError(
            f"Only binary classification is supported. {name} has {classes.size} "
            f"class{'' if classes.size == 1 else 'es'}, {classes}, but must have exactly two"
        )
    return classes


def both_classes(given: npt.ArrayLike | None, known: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
    """Both labels: those of the first call, which a later one may repeat.

    Examples
    --------
    >>> both_classes(None, np.array(["click", "skip"]))
    array(['click', 'skip'], dtype='<U5')
    """
    if given is None:
        if known is None:
            raise ValueError("classes is None but the first partial_fit needs both labels")
        return np.asarray(known)
    both = two_classes(np.asarray(given), "classes")
    if known is not None and not np.array_equal(both, known):
        raise ValueError(f"classes are {both} but were {known} in the first call")
    return both


def check_known(labels: npt.NDArray[Any], classes: npt.NDArray[Any]) -> None:
    """A ValueError that shows the first label of neither class.

    Examples
    --------
    >>> check_known(np.array([0, 1, 0]), np.array([0, 1]))
    """
    unknown = labels[(labels != classes[0]) & (labels != classes[1])]
    if unknown.size:
        raise ValueError(f"y contains {unknown[0]!r} but the classes are {classes}")


def complaints(rows: Design, names: Iterable[Any], variance: float) -> Iterator[str]:
    """Sentences that name the columns for which weights of this variance are out of scale.

    Examples
    --------
    >>> rows = np.array([[2.0, 12_000.0], [3.0, 15_000.0]])
    >>> next(complaints(rows, ["age", "price"], 1.0))
    'the numbers in column price are too large for weights of sd 1: standardise them'
    """
    sd, is_sparse = math.sqrt(variance), issparse(rows)
    with np.errstate(over="ignore"):
        squares = rows.multiply(rows) if is_sparse else np.square(rows)
        moved = sd * np.sqrt(np.asarray(squares.mean(axis=0)).ravel())
    # A small variance may be meant: only small numbers under an ordinary one are named.
    most = abs(rows).max(axis=0)
    largest = max(sd, 1.0) * (most.toarray().ravel() if is_sparse else most)
    small = (largest > 0.0) & (largest < _LEAST_MOVED)
    for columns, size in ((moved > _MOST_MOVED, "large"), (small, "small")):
        if columns.any():
            named = [str(name) for name, is_out in zip(names, columns, strict=True) if is_out]
            where = f"the numbers in {_listed(named)}"
            yield f"{where} are too {size} for weights of sd {sd:g}: standardise them"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    kind = "column" if len(names) == 1 else "columns"
    return f"{kind} {', '.join(names[:_MOST_NAMED])}{more}"
