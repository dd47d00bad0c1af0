"""Cold-start recommendation by Bayesian logistic regression: ADF, EP and their combination."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fabcost.bandit.bandit import Bandit
from fabcost.bandit.beta import BetaBernoulli
from fabcost.bandit.rules import BayesianUCB, EpsilonGreedy, Greedy, Thompson, Uniform
from fabcost.features.kinds import Boolean, Categorical, Date, Numeric, Text
from fabcost.features.schema import Schema
from fabcost.gaussian import Gaussian
from fabcost.inference.file import load, save
from fabcost.inference.online import FabCost
from fabcost.inference.schedule import Refresh
from fabcost.prior import Prior
from fabcost.recommend.recommender import Recommender

if TYPE_CHECKING:
    from fabcost.estimator import BayesianLogisticRegression

__version__ = "0.1.0"

__all__ = [
    "Bandit",
    "BayesianLogisticRegression",
    "BayesianUCB",
    "BetaBernoulli",
    "Boolean",
    "Categorical",
    "Date",
    "EpsilonGreedy",
    "FabCost",
    "Gaussian",
    "Greedy",
    "Numeric",
    "Prior",
    "Recommender",
    "Refresh",
    "Schema",
    "Text",
    "Thompson",
    "Uniform",
    "load",
    "save",
]


def __getattr__(name: str) -> Any:
    # scikit-learn takes longer to import than all the rest: only who asks for it pays.
    if name == "BayesianLogisticRegression":
        from fabcost.estimator import BayesianLogisticRegression

        return BayesianLogisticRegression
    if name == "client":  # needs an extra
        return import_module("fabcost.client")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
