"""Compile the numerical kernels before they are needed, by doing once whatever uses them."""

from __future__ import annotations

from typing import get_args

import numpy as np

from fabcost.bandit.bandit import Bandit
from fabcost.bandit.pool.pool import Pool
from fabcost.bandit.pool.shortlist import Shortlist
from fabcost.bandit.rows import WIDE
from fabcost.bandit.rules import BayesianUCB, Greedy, Policy, Thompson
from fabcost.bandit.targeted import TSUCB, InformationDirected, InformationRelaxation
from fabcost.features.folding import FoldedRows
from fabcost.features.schema import Schema
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.inference import adf, ep, laplace
from fabcost.inference.history import Sites
from fabcost.inference.logistic import product
from fabcost.inference.online import FabCost
from fabcost.inference.schedule import Refresh
from fabcost.inference.sparse.memory import LARGE
from fabcost.inference.wide.learner import Wide, WideFabCost
from fabcost.prior import Prior
from fabcost.recommend.recommender import Recommender
from fabcost.sparse import as_sparse
from fabcost.tilted import Moments, tilted

_PRIOR = Gaussian.isotropic(3)
_ROWS = np.eye(4, 3)
_ITEMS = ("a", "b", None, "a")
_LABELS = np.array([1.0, -1.0, 1.0, -1.0])
_RULES: tuple[Policy | None, ...] = (
    None,
    Thompson(),
    Greedy(),
    BayesianUCB(),
    TSUCB(2),
    InformationRelaxation(),
    InformationDirected(8),
)


def warm_up() -> None:
    """Compile every kernel, or load it if that was done before on this machine.

    Otherwise each is compiled when it is first called.

    Examples
    --------
    >>> warm_up()
    """
    given = _ROWS.copy()
    given.setflags(write=False)  # compiled apart from those that can be written
    for rows in (_ROWS, given):
        _learn(rows)
        _choose(rows)
    _recommend()
    _choose_wide()
    _learn_wide()
    _learn_large()


def _learn(rows: FloatArray) -> None:
    _ = Gaussian(np.zeros(3), np.eye(3)).covariance
    for moments in get_args(Moments):
        learner = FabCost(_PRIOR, refresh=Refresh.at(2), moments=moments)
        learner.observe_many(rows, _LABELS)
        learner.grow(1.0)
        learner.posterior.predict(np.eye(4), moments=moments)
        learner.posterior.sample(np.random.default_rng(0), 2)
        adf.fit(_PRIOR, rows, _LABELS, moments=moments)
        ep.fit(_PRIOR, rows, _LABELS, moments=moments)
        tilted(0.0, 1.0, moments=moments)
        _learn_effects(rows, moments)
        _learn_sparse(moments)
    for precision in (1.0, 1e12):  # by a Gram matrix, and by one row after the other
        product(_PRIOR, rows, Sites(np.full(4, precision), _LABELS))
    _forget(rows)


def _learn_sparse(moments: Moments) -> None:
    learner = FabCost(_PRIOR, refresh=Refresh.at(2, 4, 9), moments=moments)
    learner.observe_many(as_sparse(_ROWS, 3), _LABELS)
    learner.replace_prior(_PRIOR)
    learner.posterior.predict(as_sparse(_ROWS, 3))
    if moments == "exact":
        ep.fit(_PRIOR, as_sparse(_ROWS, 3), _LABELS, weight=2.0)
        laplace.fit(_PRIOR, as_sparse(_ROWS, 3), _LABELS)


def _forget(rows: FloatArray) -> None:
    for variance in (0.0, 1.0):
        for refresh in (Refresh.at(2, 4, 9), Refresh.never()):
            learner = FabCost(_PRIOR, refresh=refresh, half_life=4.0, own_variance=variance)
            learner.observe_many(rows, _LABELS, _ITEMS)


def _learn_large() -> None:
    """Where the root lags behind, and is copied while impressions come."""
    rows = np.eye(len(_LABELS), LARGE)
    for half_life in (None, 4.0):
        for variance in (0.0, 1.0):
            learner = FabCost(
                Gaussian.isotropic(LARGE),
                refresh=Refresh.at(3, 9),
                half_life=half_life,
                own_variance=variance,
                most_work=1,
            )
            learner.observe_many(rows, _LABELS, _ITEMS)
            learner.refresh()


def _learn_effects(rows: FloatArray, moments: Moments) -> None:
    learner = FabCost(_PRIOR, refresh=Refresh.at(2, 9), moments=moments, own_variance=1.0)
    learner.observe_many(rows, _LABELS, _ITEMS)
    learner.replace_prior(_PRIOR)
    ep.fit(_PRIOR, rows, _LABELS, items=_ITEMS, own_variance=1.0)
    for policy in _RULES:
        bandit = Bandit(learner, policy=policy, seed=0)
        bandit.choose(rows, items=_ITEMS)
        learner.observe(rows[0], True, "a")
        bandit.choose(rows, items=_ITEMS)
        bandit.choose(rows, items=_ITEMS, draws=8, exclude=[1])


def _choose_wide() -> None:
    parts = np.ones((WIDE, 1))
    parts.setflags(write=False)
    rows = FoldedRows(parts, np.zeros(WIDE, dtype=np.intp), np.ones(WIDE))
    learner = FabCost(Gaussian.isotropic(WIDE), own_variance=1.0)
    for policy in _RULES[:2]:
        Bandit(learner, policy=policy, seed=0).choose(rows, items=range(WIDE), draws=8)


def _learn_wide() -> None:
    learner = WideFabCost(3)
    learner.observe_many(_ROWS, _LABELS)
    learner.observe_many(_ROWS, _LABELS, weight=2.0)
    learner.observe(([1, 0, 1], [1.0, 1.0, 1.0]), True)
    learner.posterior.predict(_ROWS)
    learner.posterior.covariance([0])
    for policy in _RULES:
        bandit = Bandit(learner, policy=policy, seed=0)
        bandit.choose(_ROWS)
        bandit.choose(_ROWS, draws=8, exclude=[1])
    recommender = Recommender(Schema.open(), belief=Wide(bits=4))
    recommender.feedback(recommender.recommend({"a": "b"}, {1: {"c": "d"}}).id, clicked=True)


def _choose(rows: FloatArray) -> None:
    for policy in _RULES:
        bandit = Bandit(FabCost(_PRIOR), policy=policy, seed=0)
        bandit.choose(rows)
        bandit.choose(rows, draws=8, floor=0.1, exclude=[1])
        bandit.choose(rows[:2], draws=8)  # fewer than weights
    Pool(rows, rng=np.random.default_rng(0)).best(_PRIOR.mean, _PRIOR)
    Shortlist(_ROWS, np.arange(len(rows)), _PRIOR, 0.0).best(np.ones(3))


def _recommend() -> None:
    priors = (Prior(), Prior.same(10.0))
    for prior, policy in ((prior, policy) for prior in priors for policy in _RULES[:2]):
        recommender = Recommender(Schema.open(), prior=prior, policy=policy, seed=0)
        items = recommender.catalogue({"a": {"x": 1.0, "y": "one"}, "b": {"x": 2.0, "y": "two"}})
        for draws in (None, 8):
            decision = recommender.recommend({"z": 1.0}, items, draws=draws)
            recommender.feedback(decision.id, clicked=True)
    schema = recommender.schema
    schema.design({"x": [1.0, 3.0]})
    schema.folded({"z": 1.0}, items).dot(np.ones((schema.width, 2)))
