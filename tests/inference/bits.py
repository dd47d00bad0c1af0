"""Digests of what the library computes: run as a program, it prints them in one line."""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fabcost import FabCost, Gaussian, Prior, Recommender, Refresh, Schema
from fabcost.bandit.bandit import Bandit
from fabcost.bandit.rules import DEFAULT, BayesianUCB, Policy, Thompson
from fabcost.bandit.targeted import TSUCB
from fabcost.features.folding import FoldedRows
from fabcost.inference import adf, ep
from fabcost.inference.saved import file as learner_file
from fabcost.tilted import Moments

#: It changes with the mathematics, and then `kernels.ARITHMETIC` does, and with the file format.
DIGEST = "6a134eb79f3a61edb133c79f6974162ad13db941bc46b4a23e3ddeb0ac021f12"

#: The same where items have effects of their own.
OWN_DIGEST = "0b7b03c0b27fd8be8d042873e0773457c49e40e1c9ac959311cabf4d88324ec5"

#: All rows at once.
WHOLE = 10_000
WEIGHTS = (1, 2, 7, 8, 15, 17, 64, 130)


def data(rows: int, weights: int) -> tuple[Any, Any]:
    """Rows and labels by whole numbers alone: no generator and no library has a part in them."""
    state, numbers = 88172645463325252, []
    for _ in range(rows * (weights + 1)):
        state ^= (state << 13) % 2**64
        state ^= state >> 7
        state ^= (state << 17) % 2**64
        numbers.append((state >> 11) * 2.0**-52 - 1.0)
    table = np.array(numbers).reshape(rows, weights + 1)
    X = table[:, :weights].copy()
    X[:, 0] = 1.0
    return X, np.where(table[:, weights] < -0.8, 1, 0)


def learnt(X: Any, y: Any, batch: int, snapshot: bool, **settings: Any) -> FabCost:
    """A learner that was given the rows in batches, and saved and loaded between them."""
    learner = FabCost(Gaussian.isotropic(X.shape[1], variance=4.0), **settings)
    for start in range(0, len(y), batch):
        learner.observe_many(X[start : start + batch], y[start : start + batch])
        if snapshot:
            learner = learner_file.from_bytes(learner_file.to_bytes(learner))
    return learner


def parts(batch: int, snapshot: bool) -> Iterator[Any]:
    """Whatever has a part in the digest, as arrays, numbers and bytes."""
    moments: tuple[Moments, ...] = ("exact", "mackay")
    for weights in WEIGHTS:
        X, y = data(120 if weights < 100 else 60, weights)
        for kind in moments:
            learner = learnt(X, y, batch, snapshot, moments=kind, window=90)
            yield learner_file.to_bytes(learner)
            yield from learner.sites
            belief = adf.fit(_correlated(weights), X, y, moments=kind).posterior
            yield from (belief.mean, belief.root, belief.covariance, belief.predict(X))
        result = ep.fit(_correlated(weights), X, y)
        yield from (result.posterior.mean, result.posterior.root, *result.sites)
        yield from (result.log_evidence, result.sweeps)
        yield from _choices(result.posterior, X[:40])
    wide = learnt(*data(40, 3), batch, snapshot, refresh=Refresh.always())
    yield from (wide.posterior.mean, wide.posterior.root)
    yield from _grown(snapshot, Prior.same(10.0))


def _correlated(weights: int) -> Gaussian:
    """A prior that is neither unit nor diagonal, by sums in the order of the rows."""
    mixing, _ = data(weights + 2, weights)
    covariance = sum((np.outer(row, row) for row in mixing), start=np.eye(weights))
    return Gaussian(mixing[0] / 3.0, covariance)


def _choices(belief: Gaussian, candidates: Any) -> Iterator[Any]:
    policies: tuple[Policy, ...] = (Thompson(), Thompson(0.5), BayesianUCB(0.9), DEFAULT, TSUCB(2))
    for policy in policies:
        bandit = Bandit(_Known(belief), policy=policy, seed=3)
        for _ in range(5):
            choice = bandit.choose(candidates, top_k=3)
            yield from (choice.ranking, choice.scores)
        chosen = bandit.choose(candidates, draws=64, floor=0.1, exclude=[2])
        yield from (chosen.index, chosen.propensities, chosen.scores)
        yield bandit.propensities(candidates, draws=100)
    yield belief.sample(np.random.default_rng(1), 3)


class _Known:
    def __init__(self, belief: Gaussian) -> None:
        self.posterior = belief

    def observe(self, x: Any, y: Any) -> None:
        raise NotImplementedError


def _grown(snapshot: bool, prior: Prior) -> Iterator[Any]:
    """An open schema, whose learner gets weights while it learns."""
    recommender = Recommender(Schema.open(scaled=False), prior=prior, most_weights=None, seed=5)
    items = {f"ad-{k}": {"make": f"m{k % 5}", "age": 0.5 * k} for k in range(12)}
    for visit in range(60):
        context = {"device": ("mobile", "desktop")[visit % 2], "hour": f"h{visit % 7}"}
        decision = recommender.recommend(
            context, items, draws=32 if visit % 3 else None, floor=0.05
        )
        yield from (decision.scores, decision.item.encode())
        if decision.propensities is not None:
            yield decision.propensities
        recommender.feedback(decision.id, clicked=(visit * visit) % 5 == 1)
        if snapshot and visit % 20 == 19:
            recommender = Recommender.from_bytes(recommender.to_bytes())
    yield recommender.to_bytes()


def own_parts(batch: int, snapshot: bool) -> Iterator[Any]:
    """The same where items have effects of their own."""
    moments: tuple[Moments, ...] = ("exact", "mackay")
    for weights in (1, 7, 8, 15, 17, 64):
        X, y = data(120, weights)
        items = [None if k % 11 == 5 else f"ad-{k * k % 13}" for k in range(120)]
        for kind in moments:
            prior = Gaussian.isotropic(weights, variance=4.0)
            learner = FabCost(prior, moments=kind, window=90, own_variance=1.5)
            for start in range(0, 120, batch):
                part = slice(start, start + batch)
                learner.observe_many(X[part], y[part], items[part])
                if snapshot:
                    learner = learner_file.from_bytes(learner_file.to_bytes(learner))
            learner.forget(["ad-1", "ad-4"])
            learner.refresh()
            yield learner_file.to_bytes(learner)
        result = ep.fit(_correlated(weights), X, y, items=items, own_variance=0.7)
        yield from (result.posterior.mean, result.posterior.root, result.log_evidence)
        if result.own is not None:
            yield result.own.rows
        learner.grow(_correlated(2))
        whole = FabCost(_correlated(weights), own_variance=1.5)
        whole.observe_many(X, y, items)
        whole.replace_prior(Gaussian.isotropic(weights, variance=2.0))
        yield learner_file.to_bytes(whole)
        rows, _ = data(30, weights + 2)
        named = tuple(f"ad-{k % 20}" for k in range(30))
        policies: tuple[Policy, ...] = (
            Thompson(),
            Thompson(0.5),
            BayesianUCB(0.9),
            DEFAULT,
            TSUCB(2),
        )
        for policy in policies:
            bandit = Bandit(learner, policy=policy, seed=3)
            for draws in (None, 64):
                choice = bandit.choose(rows, top_k=3, draws=draws, items=named, exclude=[2])
                yield from (choice.ranking, choice.scores)
            yield bandit.propensities(rows, draws=100, items=named)
    yield from _wide()
    yield from _grown(snapshot, prior=Prior.same(2.0, items=1.0))


def _wide() -> Iterator[Any]:
    """Folded rows with effects, of many weights."""
    X, y = data(60, 130)
    learner = FabCost(Gaussian.isotropic(130), own_variance=0.5)
    items = [f"ad-{k}" for k in range(140)]
    learner.observe_many(X, y, items[:60])
    parts, factors = data(140, 6)[0], data(1, 130)[0][0]
    rows = FoldedRows(parts, np.arange(130) % 6, factors)
    for policy in (Thompson(), DEFAULT):
        choice = Bandit(learner, policy=policy, seed=3).choose(rows, draws=100, items=items)
        yield from (choice.scores, choice.propensities)


def digest(batch: int, *, snapshot: bool, own: bool) -> str:
    """SHA-256 over all parts."""
    return _hashed((own_parts if own else parts)(batch, snapshot))


def core() -> str:
    """Of what a learner finds and its bandit chooses: it takes a third of the kernels."""
    return _hashed(_core())


def _core() -> Iterator[Any]:
    for weights in WEIGHTS:
        X, y = data(60, weights)
        learner = learnt(X, y, WHOLE, snapshot=False)
        yield from (learner.posterior.mean, learner.posterior.root, *learner.sites)
        policies: tuple[Policy, ...] = (Thompson(), DEFAULT)
        for policy in policies:
            yield Bandit(learner, policy=policy, seed=3).choose(X[:40]).index


def _hashed(found: Iterator[Any]) -> str:
    hashed = hashlib.sha256()
    for part in found:
        hashed.update(part if isinstance(part, bytes) else np.asarray(part).tobytes())
    return hashed.hexdigest()


def digests(variables: dict[str, str], *options: str) -> list[str]:
    """As a process of its own finds them with these variables in its environment."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.inference.bits", *options],
        env={**os.environ, **variables},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.split()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=WHOLE)
    parser.add_argument("--core", action="store_true")
    given = parser.parse_args()
    if given.core:
        print(core())  # noqa: T201
    else:
        print(*(digest(given.batch, snapshot=False, own=own) for own in (False, True)))  # noqa: T201
