"""Labels of two classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


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
