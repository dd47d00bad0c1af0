"""Training data: labels of two classes, and columns whose units do not suit a prior."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fabcost.impressions import FloatArray

# How far a column moves the log-odds a priori; beyond these the prior speaks of its units.
_MOST_MOVED, _LEAST_MOVED = 200.0, 0.01
_MOST_NAMED = 5


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


def check_known(labels: npt.NDArray[Any], classes: npt.NDArray[Any]) -> None:
    """A ValueError that shows the first label of neither class.

    Examples
    --------
    >>> check_known(np.array([0, 1, 0]), np.array([0, 1]))
    """
    unknown = labels[(labels != classes[0]) & (labels != classes[1])]
    if unknown.size:
        raise ValueError(f"y contains {unknown[0]!r} but the classes are {classes}")


def complaints(rows: FloatArray, names: Iterable[Any], variance: float) -> Iterator[str]:
    """Sentences that name the columns for which weights of this variance are out of scale.

    Examples
    --------
    >>> rows = np.array([[2.0, 12_000.0], [3.0, 15_000.0]])
    >>> next(complaints(rows, ["age", "price"], 1.0))
    'the numbers in column price are too large for weights of sd 1: standardise them'
    """
    sd = math.sqrt(variance)
    with np.errstate(over="ignore"):
        moved = sd * np.sqrt(np.mean(np.square(rows), axis=0))
    # A small variance may be meant: only small numbers under an ordinary one are named.
    largest = max(sd, 1.0) * np.abs(rows).max(axis=0)
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
