"""How the cost grows with the number of weights and of impressions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fabcost.inference import adf, ep
from studies.claims import Claim
from studies.inference.workloads import Sizes, Workload, cold_start
from studies.timing import as_text, in_turn, log_log_slope, median

Fit = Callable[[Workload], object]

_FIXED_SWEEPS = 4


def _filter(work: Workload) -> object:
    return adf.fit(work.prior, work.X, work.y)


def _sweep(work: Workload) -> object:
    # A tolerance that is never met keeps the number of sweeps the same at all sizes.
    return ep.fit(work.prior, work.X, work.y, tolerance=1e-300, max_sweeps=_FIXED_SWEEPS)


def _converge(work: Workload) -> object:
    return ep.fit(work.prior, work.X, work.y)


def slopes_in_weights(sizes: Sizes) -> Iterator[Claim]:
    works = [cold_start(rows, weights) for weights, rows in sizes.widths]
    widths = [weights for weights, _ in sizes.widths]
    for name, fit, visits in (("ADF", _filter, 1), ("EP", _sweep, _FIXED_SWEEPS)):
        durations = [
            each / (visits * len(work.y))
            for each, work in zip(_durations(fit, works, sizes.repeats), works, strict=True)
        ]
        yield _claim(f"{name} visit: exponent of D", widths, durations, 2.2)


def slopes_in_impressions(work: Workload, sizes: Sizes) -> Iterator[Claim]:
    works = [work.first(length) for length in sizes.lengths]
    fits = (
        ("ADF", _filter),
        (f"EP, {_FIXED_SWEEPS} sweeps", _sweep),
        ("EP to convergence", _converge),
    )
    for name, fit in fits:
        durations = _durations(fit, works, sizes.repeats)
        yield _claim(f"{name}: exponent of T", sizes.lengths, durations, 1.05)


def _durations(fit: Fit, works: Sequence[Workload], repeats: int) -> list[float]:
    rounds = in_turn(*(_bound(fit, work) for work in works), repeats=repeats)
    return [median(column) for column in rounds.T]


def _bound(fit: Fit, work: Workload) -> Callable[[], object]:
    return lambda: fit(work)


def _claim(what: str, sizes: Sequence[int], durations: Sequence[float], most: float) -> Claim:
    slope = log_log_slope(sizes, durations)
    first, last = as_text(durations[0]), as_text(durations[-1])
    ends = f"{first} at {sizes[0]:,}, {last} at {sizes[-1]:,}"
    return Claim(what, slope, "at most", most, ends, unit="")
