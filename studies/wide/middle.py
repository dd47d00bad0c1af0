"""The full belief at 2,000 weights, beside libraries that take sparse rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from bayesianbandits import BayesianGLM
from vowpalwabbit import Workspace

from fabcost import FabCost, Gaussian, Refresh
from fabcost.impressions import FloatArray
from fabcost.inference.wide.learner import VARIANCE
from fabcost.sparse import SparseRows
from studies.claims import Claim
from studies.timing import as_text
from studies.wide.models import (
    BAYESIAN,
    MODELS,
    OURS,
    VOWPAL,
    VW,
    Learn,
    Make,
    Predict,
    as_scipy,
    as_texts,
)
from studies.wide.streams import simulated

WEIGHTS, MOST_MEDIAN, MOST_WORST = 2_000, 1.0, 10.0
FULL = f"fabcost, full belief of {WEIGHTS:,} weights"
REFINED, FILTERED = f"{FULL}, refined by EP", f"{FULL}, without EP"


def _full(refresh: Refresh, variance: float, weights: int) -> tuple[Predict, Learn]:
    learner = FabCost(Gaussian.isotropic(weights, variance=variance), refresh=refresh)

    def predict(rows: SparseRows) -> FloatArray:
        return learner.posterior.predict(rows)

    return predict, learner.observe_many


#: Full beliefs, as `studies.wide.models.MODELS`; EP is spread over the calls.
BELIEFS: dict[str, tuple[Make, tuple[float, ...]]] = {
    REFINED: (partial(_full, Refresh.geometric()), MODELS[OURS][1]),
    FILTERED: (partial(_full, Refresh.never()), MODELS[OURS][1]),
}


def calls(rows: int, every: int) -> Iterator[Claim]:
    """Single updates in turn; the slow peer makes one after every so many, which it learns at once.

    So it has learnt from the same rows as the others when one of its updates is timed.
    """
    stream = simulated(1, rows, columns=WEIGHTS)
    learner, vw = FabCost(Gaussian.isotropic(WEIGHTS, variance=VARIANCE)), Workspace(VW)
    slow = BayesianGLM(alpha=1.0, link="logit", sparse=True)
    mine, theirs, slowly = [], [], []
    for k, text in enumerate(as_texts(stream.rows)):
        row, label = stream.rows[k], stream.y[k]
        mine.append(_seconds(partial(learner.observe, row, label)))
        theirs.append(_seconds(partial(vw.learn, f"{1 if label else -1} {text}")))
        if k % every == every - 1:
            before = slice(k + 1 - every, k)
            slow.partial_fit(as_scipy(stream.rows[before], WEIGHTS), stream.y[before])
            last = as_scipy(row, WEIGHTS), stream.y[k : k + 1]
            slowly.append(_seconds(partial(slow.partial_fit, *last)))
    yield from _claims(np.array(mine), np.array(theirs), np.array(slowly))


def _seconds(act: Callable[[], object]) -> float:
    started = time.thread_time()
    act()
    return time.thread_time() - started


def _claims(*seconds: FloatArray) -> Iterator[Claim]:
    found = (("median", np.median, MOST_MEDIAN), ("worst call", np.max, MOST_WORST))
    many, few = len(seconds[0]), len(seconds[2])
    for which, of, most in found:
        mine, vw, slow = (float(of(each)) for each in seconds)
        what = f"{REFINED}: update, 20 non-zeros, {which} of {many:,}"
        beside = f"{VOWPAL} {as_text(vw)}, {BAYESIAN} {as_text(slow)} ({few} calls)"
        yield Claim(what, 1e3 * mine, "at most", most, beside, unit=" ms")
