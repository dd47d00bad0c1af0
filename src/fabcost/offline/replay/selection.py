"""Choosing features by a random forest, on rows that the replay never sees."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import RandomForestClassifier

from fabcost.impressions import FloatArray
from fabcost.offline.logs.impressions import ReplayLog

SHARE = 0.1
MOST_ROWS = 20_000
TREES = 200
_LEAST_IN_LEAF = 5
_SELECTION_STREAM = 1


class Selection(NamedTuple):
    """Which columns were chosen, how important each was, and which rows that took.

    Attributes
    ----------
    columns
        Indices of the chosen columns, the constant first, the others as they stood.
    importance
        The forest's importance of each of them; that of the constant is 0.
    rows
        Indices of the rows that the forest was fitted to.
    """

    columns: npt.NDArray[np.intp]
    importance: FloatArray
    rows: npt.NDArray[np.intp]


def select(
    X: FloatArray, y: FloatArray, many: int, *, rng: np.random.Generator, jobs: int = 1
) -> Selection:
    """The ``many`` columns of largest importance besides the constant first one.

    A forest of 200 trees is fitted to a random tenth of the rows, at most 20,000, and columns are
    ranked by mean decrease in impurity (Breiman, 2001).  Leave `Selection.rows` out of whatever
    the columns are used for: their outcomes have been looked at.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([np.ones(2000), rng.normal(size=(2000, 9))])
    >>> select(X, (X[:, 7] > 1.0).astype(float), 1, rng=rng).columns
    array([0, 7])
    """
    if not 1 <= many <= X.shape[1] - 1:
        raise ValueError(f"select is {many} but there are {X.shape[1] - 1} features to choose from")
    size = min(MOST_ROWS, round(SHARE * y.size))
    rows = np.sort(rng.permutation(y.size)[:size])
    if np.unique(y[rows]).size < 2:
        raise ValueError(
            f"the {size:,} rows kept for choosing features have {y[rows].sum():,.0f} positive "
            "outcomes but need some of either kind: do without --select, or bring more rows"
        )
    forest = RandomForestClassifier(
        TREES, min_samples_leaf=_LEAST_IN_LEAF, random_state=int(rng.integers(2**31)), n_jobs=jobs
    )
    importance = np.append(0.0, forest.fit(X[rows, 1:], y[rows]).feature_importances_)
    # A stable sort of the negated values: of equals the first column wins.
    best = 1 + np.argsort(-importance[1:], kind="stable")[:many]
    columns = np.append(0, np.sort(best))
    return Selection(columns, importance[columns], rows)


def chosen(
    log: ReplayLog, features: int | None, *, seed: int, jobs: int = 1
) -> tuple[Selection | None, FloatArray, FloatArray]:
    """The features and outcomes to replay, and how they were chosen."""
    if features is None:
        return None, log.X, log.y
    rng = np.random.default_rng([seed, _SELECTION_STREAM])
    selection = select(log.X, log.y, features, rng=rng, jobs=jobs)
    unseen = np.delete(np.arange(log.y.size), selection.rows)
    return selection, np.ascontiguousarray(log.X[np.ix_(unseen, selection.columns)]), log.y[unseen]
