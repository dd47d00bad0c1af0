"""A belief about more weights than anything was learnt about."""

from __future__ import annotations

import math

import numpy as np

from fabcost.gaussian import Gaussian


def widened(belief: Gaussian, width: int, prior_variance: float) -> Gaussian:
    """The belief with independent weights of mean zero added, up to ``width``.

    Examples
    --------
    >>> widened(Gaussian.isotropic(1), 3, 4.0).sd
    array([1., 2., 2.])
    """
    known = belief.dimension
    if known >= width:
        return belief
    mean, root = np.zeros(width), np.zeros((width, width))
    mean[:known] = belief.mean
    root[:known, :known] = belief.root
    root[range(known, width), range(known, width)] = math.sqrt(prior_variance)
    return Gaussian.from_kernel(mean, root)
