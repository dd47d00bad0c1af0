"""One call of the online learner beside a peer's, and whole streams beside one ADF pass."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from bayesianbandits import Arm, BayesianGLM, ContextualAgent, ThompsonSampling

from fabcost import FabCost, Refresh
from fabcost.inference import adf
from studies.claims import Claim
from studies.inference.workloads import PRIOR_VARIANCE, Sizes, Workload
from studies.timing import as_text, in_turn, median

Update = Callable[[int], object]


class Call(NamedTuple):
    """Seconds of one call in a stream of calls."""

    mean: float
    median: float


def observe_beside_peer(work: Workload, sizes: Sizes) -> Iterator[Claim]:
    makers = {
        "observe": _observe,
        "partial_fit": _peer_estimator,
        "ContextualAgent.update": _peer_agent,
    }
    calls: dict[str, list[Call]] = {name: [] for name in makers}
    for _ in range(sizes.repeats):
        for name, make in makers.items():
            calls[name].append(_call(make(work), sizes.stream))
    typical = {name: Call(*np.median(each, axis=0).tolist()) for name, each in calls.items()}
    ours = typical.pop("observe")
    for field in Call._fields:
        theirs, peer = min((getattr(call, field), name) for name, call in typical.items())
        yield _observe_claim(field, getattr(ours, field), theirs, peer, sizes.stream)


def _observe_claim(which: str, ours: float, theirs: float, peer: str, stream: int) -> Claim:
    what = f"FabCost.observe, {which} call of {stream:,}, beside bayesianbandits"
    detail = f"{as_text(ours)} against {as_text(theirs)} ({peer}, Laplace)"
    return Claim(what, theirs / ours, "at least", 30.0, detail)


def _observe(work: Workload) -> Update:
    learner = FabCost(work.prior)
    return lambda i: learner.observe(work.X[i], work.y[i])


def _peer_estimator(work: Workload) -> Update:
    learner = BayesianGLM(alpha=1.0 / PRIOR_VARIANCE)
    return lambda i: learner.partial_fit(work.X[i : i + 1], work.y[i : i + 1])


def _peer_agent(work: Workload) -> Update:
    arm = Arm(0, learner=BayesianGLM(alpha=1.0 / PRIOR_VARIANCE))
    agent = ContextualAgent([arm], ThompsonSampling(), random_seed=0)
    return lambda i: agent.update(work.X[i : i + 1], work.y[i : i + 1])


def _call(update: Update, many: int) -> Call:
    """Processor time for the mean; for the median the wall clock, whose reading costs less."""
    ticks = np.empty(many + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the peer warns of rows it has not converged on
        start = time.process_time()
        ticks[0] = time.perf_counter()
        for i in range(many):
            update(i)
            ticks[i + 1] = time.perf_counter()
        mean = (time.process_time() - start) / many
    return Call(mean, median(np.diff(ticks)))


def streams_beside_adf(work: Workload, sizes: Sizes) -> Iterator[Claim]:
    for length in sizes.streams:
        yield _stream_claim(work.first(length), sizes.repeats)


def _stream_claim(part: Workload, repeats: int) -> Claim:
    schedule = Refresh.geometric(1.1)
    rounds = in_turn(
        lambda: FabCost(part.prior, refresh=schedule).observe_many(part.X, part.y),
        lambda: adf.fit(part.prior, part.X, part.y),
        repeats=repeats if len(part.y) > 20_000 else 3 * repeats,
    )
    stream, single = (median(column) for column in rounds.T)
    return Claim(
        f"stream of {len(part.y):,} with geometric(1.1), over one ADF pass",
        median(rounds[:, 0] / rounds[:, 1]),
        "at most",
        40.0,
        f"{as_text(stream)} over {as_text(single)}",
    )
