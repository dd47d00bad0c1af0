"""The full belief at 2,000 weights, beside libraries that take sparse rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
from bayesianbandits import BayesianGLM
from vowpalwabbit import Workspace

from fabcost import FabCost, Gaussian
from fabcost.impressions import FloatArray
from fabcost.inference.wide.learner import VARIANCE
from fabcost.sparse import SparseRows
from studies.claims import Claim
from studies.timing import as_text
from studies.wide.models import BAYESIAN, VOWPAL, VW, Learn, Predict, as_scipy, as_texts
from studies.wide.streams import simulated

WEIGHTS, MOST_MEDIAN, MOST_WORST = 2_000, 1.0, 10.0
FULL = f"fabcost, full belief of {WEIGHTS:,} weights"


def refined(variance: float, weights: int) -> tuple[Predict, Learn]:
    """A full belief as it comes: EP, spread over the calls."""
    learner = FabCost(Gaussian.isotropic(weights, variance=variance))

    def predict(rows: SparseRows) -> FloatArray:
        return learner.posterior.predict(rows)

    return predict, learner.observe_many


def calls(rows: int) -> Iterator[Claim]:
    """Median and worst of single updates, each row learnt by all before the next."""
    stream = simulated(1, rows, columns=WEIGHTS)
    learner = FabCost(Gaussian.isotropic(WEIGHTS, variance=VARIANCE))
    slow, vw = BayesianGLM(alpha=1.0, link="logit", sparse=True), Workspace(VW)
    texts, seconds = as_texts(stream.rows), np.empty((rows, 3))
    for k, (text, label) in enumerate(zip(texts, stream.y, strict=True)):
        row = stream.rows[k]
        matrix = as_scipy(row, WEIGHTS)
        acts: tuple[Callable[[], object], ...] = (
            lambda row=row, label=label: learner.observe(row, label),  # type: ignore[misc]
            lambda text=text, label=label: vw.learn(f"{1 if label else -1} {text}"),  # type: ignore[misc]
            lambda matrix=matrix, y=stream.y[k : k + 1]: slow.partial_fit(matrix, y),  # type: ignore[misc]
        )
        seconds[k] = [_seconds(act) for act in acts]
    yield from _claims(seconds)


def _seconds(act: Callable[[], object]) -> float:
    started = time.thread_time()
    act()
    return time.thread_time() - started


def _claims(seconds: FloatArray) -> Iterator[Claim]:
    found = (("median", np.median, MOST_MEDIAN), ("worst call", np.max, MOST_WORST))
    for which, of, most in found:
        mine, vw, slow = (float(of(each)) for each in seconds.T)
        what = f"{FULL}, refined by EP: update, 20 non-zeros, {which} of {len(seconds):,}"
        beside = f"{VOWPAL} {as_text(vw)}, {BAYESIAN} {as_text(slow)}"
        yield Claim(what, 1e3 * mine, "at most", most, beside, unit=" ms")
