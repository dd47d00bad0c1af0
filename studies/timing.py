"""Clocks for a noisy machine: processor time, sides taken in turn, medians."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fabcost.impressions import FloatArray
from fabcost.paper.measures import costs
from fabcost.paper.measures.costs import Action


def in_turn(*actions: Action, repeats: int) -> FloatArray:
    """Seconds of each action (columns) in each round (rows), the actions taking turns."""
    return costs.in_turn(actions, repeats=repeats)


def median(values: FloatArray) -> float:
    return float(np.median(values))


def as_text(duration: float) -> str:
    """Give seconds in the unit that people would choose."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if duration >= size:
            return f"{duration / size:.3g} {unit}"
    return f"{1e6 * duration:.3g} µs"


def log_log_slope(sizes: Sequence[int], durations: Sequence[float]) -> float:
    """Find the exponent p of duration ∝ sizeᵖ, by least squares on the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(durations), 1)[0])
