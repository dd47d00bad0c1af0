"""A process that warms up and then lives through a session; it prints which kernels that missed.

A kernel is missed if the session has to compile it, or to load it, for the types it is called with.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from numba.core.dispatcher import Dispatcher

import fabcost
from fabcost.bandit.pool.pool import Pool
from fabcost.inference import adf, ep, laplace
from fabcost.service.server import warm_up
from fabcost.service.service import Service
from fabcost.wire.messages import DecisionRequest, FeedbackRequest, Record
from fabcost.wire.settings import (
    EpsilonGreedySettings,
    GreedySettings,
    HalfLifeSettings,
    InformationDirectedSettings,
    InformationRelaxationSettings,
    ModelSettings,
    ThompsonSettings,
    TSUCBSettings,
    UCBSettings,
    UniformSettings,
)
from tests.service.core.running import ITEMS, serving

MODELS = {
    "thompson": ModelSettings(window=8),
    "forgetful": ModelSettings(most_kept=8, half_life=HalfLifeSettings(5.0)),
    "narrow": ModelSettings(policy=ThompsonSettings(scale=0.5), moments="mackay", floor=0.1),
    "greedy": ModelSettings(policy=GreedySettings(), holdback=0.5),
    "epsilon-greedy": ModelSettings(policy=EpsilonGreedySettings(), propensities="exact"),
    "ucb": ModelSettings(policy=UCBSettings(), propensities="none"),
    "ts-ucb": ModelSettings(policy=TSUCBSettings(), floor=0.1),
    "ts-ucb-none": ModelSettings(policy=TSUCBSettings(log_odds=True), propensities="none"),
    "relaxed": ModelSettings(policy=InformationRelaxationSettings()),
    "directed": ModelSettings(policy=InformationDirectedSettings()),
    "uniform": ModelSettings(policy=UniformSettings(), mode="apprentice"),
}


def kernels() -> dict[Dispatcher, int]:
    """For how many types each compiled function of the package is there, wherever it is kept."""
    found = [each for each in gc.get_objects() if isinstance(each, Dispatcher)]
    return {each: len(each.overloads) for each in found if name_of(each).startswith("fabcost.")}


def name_of(kernel: Dispatcher) -> str:
    return f"{kernel.py_func.__module__}.{kernel.py_func.__qualname__}"


async def serve(folder: Path) -> None:
    """Decisions and feedback of models of every kind, before and after a restart."""
    address = f"sqlite:///{folder}/bandit.db"
    async with serving(address) as service:
        for name, settings in MODELS.items():
            await service.create_model(name, settings)
            await service.put_items(name, ITEMS)
            await decide_and_learn(service, name)
    async with serving(address) as service:
        for name in MODELS:
            await decide_and_learn(service, name)


async def decide_and_learn(service: Service, model: str) -> None:
    for k in range(6):
        inline: dict[str, Record] = {f"new-{k}": {"size": k}, "old": {"colour": "red"}}
        candidates = inline if k % 2 else None
        values = {"old": 2.0} if k % 4 == 3 else None
        asked = DecisionRequest(
            context={"k": k}, candidates=candidates, exclude=["ad-1"][:k], values=values
        )
        decision = await service.decide(model, asked)
        told = FeedbackRequest(decision_id=decision.decision_id, value=float(k % 2))
        await service.feedback(model, [told])


def use_the_library(folder: Path) -> None:
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(60, 5)), rng.random(60) < 0.4
    prior = fabcost.Gaussian.isotropic(5)
    frozen = rows.copy()
    frozen.setflags(write=False)
    for X in (rows, frozen, rows.tolist(), np.asfortranarray(rows), rows[::2][::-1]):
        y = labels[: len(X)]
        for fit in (adf.fit, ep.fit, laplace.fit):
            fit(prior, X, y)
        learner = fabcost.FabCost(prior, most_kept=20)
        learner.observe_many(X, y)
        learner.observe(X[0], True)
        learner.posterior.predict(X)
        bandit = fabcost.Bandit(learner, seed=0)
        bandit.choose(X, top_k=3)
        bandit.choose(X, draws=32, exclude=[2])
        bandit.choose(X[:2], draws=32)
        Pool(X, rng=rng).best(learner.posterior.sample(rng), learner.posterior)
        fabcost.save(learner, folder / "learner.fabcost")
        fabcost.load(folder / "learner.fabcost").observe(X[1], False)
    fabcost.BayesianLogisticRegression().fit(rows, labels).predict_proba(rows)


def session() -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(serve(Path(folder)))
        use_the_library(Path(folder))


if __name__ == "__main__":
    asyncio.run(warm_up())
    warm = kernels()
    session()
    after = kernels()
    missed = [name_of(each) for each in after if after[each] > warm.get(each, 0)]
    used = sum(map(bool, after.values()))
    sys.stdout.write(json.dumps({"used": used, "missed": missed}))
