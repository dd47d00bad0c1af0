"""Moments of a site beside quadrature with 40 digits: ``python -m studies.moments``."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from typing import NamedTuple

import mpmath as mp
import numpy as np
from rich.console import Console
from rich.progress import track
from tests.reference import tilted_counts_by_quadrature

from fabcost.tilted import tilted_counts
from studies.documents import origin, write_page

DIGITS = 40
BOUND = 1e-8
RANDOM, SEED = 1_000, 0
WEIGHTS = (1e-3, 1.0, 30.0, 1e6)
SHARES = (0.0, 1e-6, 0.04, 0.5, 1.0)
SDS = (1e-6, 0.15, 0.43, 1.0, 6.9, 7.1, 100.0, 1e3)
MEANS = (-60.0, -4.0, 0.0, 60.0)
TILTS = (-3.0, -1.0, -0.51, -0.5, -0.49, -0.1, 0.5, 1.0, 2.0)  # means in variances


class Point(NamedTuple):
    """Clicks and misses of a site, and mean and variance of its cavity."""

    clicks: float
    misses: float
    mean: float
    variance: float


class Errors(NamedTuple):
    """Of the tilted mean in tilted sds, beyond the rounding of the slope; of the variance; of Z.

    The last two are relative, that of log Z if it is above one.
    """

    mean: float
    variance: float
    mass: float


def corners() -> Iterator[Point]:
    """Where formulas change, and the ends of what is stated."""
    for weight, share, sd in product(WEIGHTS, SHARES, SDS):
        for mean in (*MEANS, *(tilt * sd * sd for tilt in TILTS if sd > 1.0)):
            yield Point(share * weight, weight - share * weight, mean, sd * sd)


def anywhere(many: int) -> Iterator[Point]:
    """Weights and sds in all sizes, clicks few or many, means as they come and in variances."""
    rng = np.random.default_rng(SEED)
    for _ in range(many):
        weight, sd = 10.0 ** rng.uniform(-3, 6), 10.0 ** rng.uniform(-6, 3)
        some = weight * rng.random() ** 4
        clicks = some if rng.random() < 0.5 else weight - some
        far = rng.random() < 0.3 and sd > 1.0
        mean = rng.uniform(-3, 2) * sd * sd if far else rng.uniform(-60, 60)
        yield Point(clicks, weight - clicks, mean, sd * sd)


def errors(point: Point) -> Errors:
    """Ours beside the quadrature."""
    found = tilted_counts(point.mean, point.variance, point.clicks, point.misses)
    with mp.workdps(DIGITS):
        sd = mp.sqrt(mp.mpf(point.variance))
        given = (point.clicks, point.misses, point.mean, sd)
        slope, kept, log_z = tilted_counts_by_quadrature(*given, digits=DIGITS)
        spread = sd / mp.sqrt(kept)
        finest = 4 * np.finfo(float).eps * abs(slope) * spread
        away = abs(mp.mpf(float(found.slope)) - slope) * spread
        return Errors(
            float(max(away - finest, 0)),
            float(abs(mp.mpf(float(found.kept)) / kept - 1)),
            float(abs(mp.mpf(float(found.log_z)) - log_z) / max(1, abs(log_z))),
        )


def by_quad(point: Point) -> float:
    """How far the quadrature is from that of mpmath in all digits: of the variance, relatively."""
    with mp.workdps(DIGITS):
        a, b, m, v = (mp.mpf(each) for each in point)
        slope, kept, _ = tilted_counts_by_quadrature(a, b, m, mp.sqrt(v), digits=DIGITS)
        centre, width = m + v * slope, mp.sqrt(v * kept)

        def height(t: mp.mpf) -> mp.mpf:
            def level(eta: mp.mpf) -> mp.mpf:
                falls = a * mp.log1p(mp.exp(-eta)) + b * mp.log1p(mp.exp(eta))
                return -falls - (eta - m) ** 2 / (2 * v)

            return mp.exp(level(centre + width * t) - level(centre))

        edge, far = mp.log(max(a + b, 1)), mp.mpf(60)
        bends = [c + k for c in (-edge, 0, edge) for k in (-40, -10, -3, 0, 3, 10, 40)]
        inner = [-20, -8, -3, 0, 3, 8, 20, *((eta - centre) / width for eta in bends)]
        ends = sorted({-far, far, *(mp.mpf(t) for t in inner if -far < t < far)})
        sums = [mp.quad(lambda t, k=k: t**k * height(t), ends) for k in range(3)]
        return float(abs(sums[2] / sums[0] - (sums[1] / sums[0]) ** 2 - 1))


def worst(points: list[Point], found: list[Errors]) -> str:
    """A row of the table for each kind of error: the largest, where, and how many are above."""
    rows = []
    for name, column in zip(Errors._fields, np.array(found).T, strict=True):
        at = points[int(column.argmax())]
        site = f"a = {at.clicks:.4g}, b = {at.misses:.4g}"
        where = f"{site}, m = {at.mean:.5g}, s = {at.variance**0.5:.4g}"
        above = int((column > BOUND).sum())
        middle = float(np.median(column))
        rows.append(f"| {name} | {column.max():.2g} | {middle:.1g} | {above} | {where} |")
    return "\n".join(rows)


def page(table: str, many: int, checked: str) -> str:
    """The page of the documentation."""
    return "\n\n".join(
        [
            "# Moments of a site",
            origin("python -m studies.moments --docs"),
            "A site σ(η)ᵃ σ(−η)ᵇ under a Gaussian cavity N(m, s²), beside quadrature with "
            f"{DIGITS} digits at {many:,} points: n = a + b from 0.001 to a million, all shares of "
            "clicks, s from 1e-6 to 1e3, m from −60 to 60 and, where s is above 1, from −3 s² to "
            "2 s². Corners of this box, the places where formulas change, and random points "
            "within. The error of the tilted mean is in tilted sds, beyond four roundings of the "
            "slope, a number of 16 digits; that of the tilted variance is relative, that of log Z "
            f"relative where it is above one. {BOUND:g} is allowed.",
            "\n".join(
                [
                    "| error of | largest | median | points above the bound | where the largest |",
                    "|---|---:|---:|---:|---|",
                    table,
                ]
            ),
            checked,
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.moments", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few points: a smoke test")
    parser.add_argument("--docs", action="store_true", help="write measurements/moments.md")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    start, console = time.monotonic(), Console(width=140)
    points = [*corners(), *anywhere(RANDOM)]
    points = points[:: 100 if given.quick else 1]
    with ProcessPoolExecutor(given.jobs) as pool:
        answers = pool.map(errors, points, chunksize=20)
        found = list(track(answers, "quadrature", total=len(points), console=console))
        apart = max(pool.map(by_quad, points[:: len(points) // 20]))
    checked = (
        f"At 20 of the points mpmath's own quadrature, all of it in {DIGITS} digits, has variances "
        f"within {apart:.1g} of those used here."
    )
    table = worst(points, found)
    console.print(table, checked, f"{time.monotonic() - start:.0f} s", sep="\n")
    if given.docs:
        console.print(f"wrote {write_page('moments.md', page(table, len(points), checked))}")


if __name__ == "__main__":
    main()
