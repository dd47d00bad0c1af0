"""The classifier of River passes River's own checks, and is the online learner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from river import checks, compose, datasets, metrics, preprocessing

import fabcost
from fabcost import RiverClassifier


@pytest.mark.parametrize(
    "check", [*checks.yield_checks(RiverClassifier())], ids=lambda c: c.__name__
)
def test_rivers_own_checks(check: Callable[[Any], None]) -> None:
    check(RiverClassifier(most_kept=20))


def test_it_believes_what_the_learner_does() -> None:
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(50, 3)), rng.random(50) < 0.4
    model = RiverClassifier(prior_variance=2.0, intercept_variance=2.0)
    learner = fabcost.FabCost(fabcost.Gaussian.isotropic(4, variance=2.0))
    for row, clicked in zip(X, y, strict=True):
        model.learn_one(dict(zip("abc", row.tolist(), strict=True)), clicked)
        learner.observe(np.concatenate([[1.0], row]), bool(clicked))
    np.testing.assert_allclose(model.learner.posterior.mean, learner.posterior.mean, atol=1e-12)
    found = model.summary()
    assert found.names == ("intercept", "a", "b", "c")


def test_it_learns_in_a_pipeline() -> None:
    model = compose.Pipeline(preprocessing.StandardScaler(), RiverClassifier(most_kept=100))
    right = metrics.ROCAUC()
    for x, y in datasets.Phishing().take(300):
        right.update(y, model.predict_proba_one(x))
        model.learn_one(x, y)
    assert right.get() > 0.9
