"""The data that every measurement runs on, and how much of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fabcost import Gaussian
from fabcost.impressions import FloatArray
from fabcost.paper import designs

WEIGHTS = 15
PRIOR_VARIANCE = 100.0
SEED = 20_260_101
_WEIGHT_SD = 0.5


@dataclass(frozen=True)
class Workload:
    """Impressions of a cold start: rows, 0/1 labels, and the vague prior before them."""

    X: FloatArray
    y: FloatArray
    prior: Gaussian

    @property
    def signed(self) -> FloatArray:
        """The labels as −1/+1."""
        return np.where(self.y == 1, 1.0, -1.0)

    def first(self, rows: int) -> Workload:
        """Take the first ``rows`` impressions, as views."""
        return Workload(self.X[:rows], self.y[:rows], self.prior)


def cold_start(rows: int, weights: int = WEIGHTS) -> Workload:
    """Draw the first ``rows`` of one stream, with the prior N(0, 100 I)."""
    X, y, *_ = designs.cold_start(
        rows, weights, rng=np.random.default_rng(SEED), weight_sd=_WEIGHT_SD
    )
    return Workload(X, y, Gaussian.isotropic(weights, variance=PRIOR_VARIANCE))


@dataclass(frozen=True)
class Sizes:
    """How much to measure."""

    rows: int
    authors_updates: int
    authors_visits: int
    warm_rows: int
    stream: int
    streams: tuple[int, ...]
    widths: tuple[tuple[int, int], ...]
    lengths: tuple[int, ...]
    repeats: int


FULL = Sizes(
    rows=678_446,
    authors_updates=2_000,
    authors_visits=300,
    warm_rows=100_000,
    stream=2_000,
    streams=(1_000, 10_000, 100_000, 678_446),
    widths=((16, 20_000), (32, 10_000), (64, 4_000), (128, 2_000), (256, 1_000), (512, 600)),
    lengths=(10_000, 40_000, 160_000, 640_000),
    repeats=5,
)
QUICK = Sizes(
    rows=30_000,
    authors_updates=300,
    authors_visits=200,
    warm_rows=20_000,
    stream=400,
    streams=(1_000, 10_000),
    widths=((16, 4_000), (32, 2_000), (64, 1_000), (128, 300)),
    lengths=(5_000, 10_000, 30_000),
    repeats=3,
)
