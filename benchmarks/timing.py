"""Clocks for a noisy machine: processor time, sides taken in turn, medians."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from fabcost.impressions import FloatArray

Action = Callable[[], object]

SHORTEST = 0.01  # seconds of work below which one reading of the clock is too coarse


def seconds(action: Action) -> float:
    """Processor time of one call; everything runs on one thread, so idle it is wall time."""
    start = time.process_time()
    action()
    return time.process_time() - start


def in_turn(*actions: Action, repeats: int) -> FloatArray:
    """Seconds of each action (columns) in each round (rows), after one call that is not counted.

    The actions alternate, so a slow spell of the machine falls on all of them.
    """
    calls = [_calls_worth_timing(action) for action in actions]
    rounds = [
        [_seconds_each(action, many) for action, many in zip(actions, calls, strict=True)]
        for _ in range(repeats)
    ]
    return np.array(rounds)


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


def _calls_worth_timing(action: Action) -> int:
    once = max(seconds(action), 1e-6)
    return max(1, round(SHORTEST / once))


def _seconds_each(action: Action, calls: int) -> float:
    start = time.process_time()
    for _ in range(calls):
        action()
    return (time.process_time() - start) / calls
