"""One side: pieces of work, timed when asked, with whatever sources it is given.

They use only what earlier commits have, too: ``python -m studies.beside.pieces``.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, Any

import numpy as np

from fabcost import (
    Bandit,
    Categorical,
    FabCost,
    Gaussian,
    Numeric,
    Recommender,
    Refresh,
    Schema,
    Thompson,
)
from fabcost.inference import adf, ep, laplace

Piece = tuple[str, Callable[[], object]]
SINGLE, VISITS = 500, 200
NEVER = Refresh.at(2**40)
MAKES = [f"make-{k}" for k in range(10)]


def pieces() -> Iterator[Piece]:
    """Names, and what is measured."""
    for weights, rows in ((15, 5_000), (50, 2_000), (200, 500)):
        yield from learning(weights, rows)
        yield from deciding(weights)
    yield from recommending()


def data(weights: int, rows: int) -> tuple[Gaussian, Any, Any]:
    """A prior, rows with a constant, and a click in twenty."""
    rng = np.random.default_rng(weights)
    X = rng.standard_normal((rows, weights))
    X[:, 0] = 1.0
    return Gaussian.isotropic(weights, variance=10.0), X, rng.random(rows) < 0.05


def learning(weights: int, rows: int) -> Iterator[Piece]:
    """Impressions one by one and many at once."""
    prior, X, y = data(weights, rows)
    size = f"D = {weights}"
    few = X[:SINGLE], y[:SINGLE]
    batch = f"{rows:,} rows, {size}"
    yield f"{SINGLE} × `observe` without EP, {size}", partial(one_by_one, prior, NEVER, *few)
    always = Refresh.geometric()
    yield f"{SINGLE} × `observe`, {size}", partial(one_by_one, prior, always, *few)
    yield f"`observe_many`, {batch}", lambda: FabCost(prior).observe_many(X, y)
    yield f"`adf.fit`, {batch}", partial(adf.fit, prior, X, y)
    yield f"`ep.fit`, two sweeps, {batch}", partial(ep.fit, prior, X, y, max_sweeps=2)
    yield f"`laplace.fit`, {batch}", partial(laplace.fit, prior, X, y)


def one_by_one(prior: Gaussian, schedule: Refresh, X: Any, y: Any) -> None:
    """A learner that begins."""
    learner = FabCost(prior, refresh=schedule)
    for row, click in zip(X, y, strict=True):
        learner.observe(row, click)


def deciding(weights: int) -> Iterator[Piece]:
    """A belief, and Thompson sampling over rows that are given as an array."""
    prior, X, y = data(weights, 1_000)
    learner = FabCost(prior, refresh=NEVER)
    learner.observe_many(X, y)
    bandit = Bandit(learner, policy=Thompson(), seed=0)
    belief, rng, size = learner.posterior, np.random.default_rng(0), f"D = {weights}"
    yield f"`Gaussian.predict` of 1,000 rows, {size}", partial(belief.predict, X)
    yield f"`Gaussian.sample`, {size}", partial(belief.sample, rng)
    for many in (10, 100, 1_000):
        yield f"`Bandit.choose` of {many:,}, {size}", partial(bandit.choose, X[:many])
    among = partial(bandit.choose, X[:100], draws=256)
    yield f"`Bandit.choose` of 100, 256 draws, {size}", among


def recommending() -> Iterator[Piece]:
    """Visits with feedback: the rule and the prior are those that all commits have."""
    rng = np.random.default_rng(1)
    records = {
        f"ad-{k}": {"make": MAKES[k % 10], "age": float(rng.integers(12)), "price": rng.normal()}
        for k in range(50)
    }
    for draws in (None, 256):
        told = "" if draws is None else ", 256 draws"
        for named in (False, True):
            how = "a catalogue of 50" if named else "records of 50"
            run = partial(visits, records, draws, named)
            yield f"{VISITS} × `recommend` and `feedback`, {how}{told}", run


def visits(records: dict[str, Any], draws: int | None, named: bool) -> None:
    """A recommender that begins."""
    schema = Schema(
        [
            Categorical("device", role="context", levels=("mobile", "desktop", "tablet")),
            Categorical("make", levels=tuple(MAKES)),
            Numeric("age", mean=6.0, scale=3.0),
            Numeric("price"),
        ],
        crosses=[("device", "price"), ("device", "age")],
    )
    recommender = Recommender(schema, policy=Thompson(), prior_variance=10.0, seed=7)
    candidates = recommender.catalogue(records) if named else records
    for visit in range(VISITS):
        context = {"device": ("mobile", "desktop", "tablet")[visit % 3]}
        decision = recommender.recommend(context, candidates, draws=draws)
        recommender.feedback(decision.id, clicked=visit % 20 == 0)


def answer(asked: IO[str], told: IO[str]) -> None:
    """For each line with a name and a number: the processor seconds of so many runs."""
    ready = dict(pieces())
    for run in ready.values():
        run()
    told.write(json.dumps(list(ready)) + "\n")
    told.flush()
    for line in asked:
        name, runs = json.loads(line)
        start = time.process_time()
        for _ in range(runs):
            ready[name]()
        told.write(f"{time.process_time() - start}\n")
        told.flush()


if __name__ == "__main__":
    answer(sys.stdin, sys.stdout)
