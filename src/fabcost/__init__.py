"""Cold-start recommendation by Bayesian logistic regression: ADF, EP and their combination."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fabcost.bandit.bandit import Bandit
    from fabcost.bandit.beta import BetaBernoulli
    from fabcost.bandit.rules import BayesianUCB, EpsilonGreedy, Greedy, Thompson, Uniform
    from fabcost.bandit.targeted import TSUCB, InformationDirected, InformationRelaxation
    from fabcost.estimator import BayesianLogisticRegression
    from fabcost.features.kinds import Boolean, Categorical, Date, Numeric, Text
    from fabcost.features.schema import Schema
    from fabcost.gaussian import Gaussian
    from fabcost.impressions import Tally
    from fabcost.inference.forgetting import HalfLife
    from fabcost.inference.online import FabCost
    from fabcost.inference.schedule import Refresh
    from fabcost.inference.wide.hashing import HashedFeatures
    from fabcost.inference.wide.learner import Wide, WideFabCost
    from fabcost.notebook.file import load, save
    from fabcost.notebook.plots import plot_calibration, plot_weights, to_arviz
    from fabcost.notebook.river import RiverClassifier as RiverClassifier
    from fabcost.prior import Prior
    from fabcost.recommend.recommender import Recommender

__version__ = "0.1.0"

__all__ = [
    "TSUCB",
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
    "HalfLife",
    "HashedFeatures",
    "InformationDirected",
    "InformationRelaxation",
    "Numeric",
    "Prior",
    "Recommender",
    "Refresh",
    "Schema",
    "Tally",
    "Text",
    "Thompson",
    "Uniform",
    "Wide",
    "WideFabCost",
    "load",
    "plot_calibration",
    "plot_weights",
    "save",
    "to_arviz",
]

#: Imported when asked for: a client needs no kernels, and hardly anyone scikit-learn.
_HOMES = {
    "bandit.bandit": ("Bandit",),
    "bandit.beta": ("BetaBernoulli",),
    "bandit.rules": ("BayesianUCB", "EpsilonGreedy", "Greedy", "Thompson", "Uniform"),
    "bandit.targeted": ("TSUCB", "InformationDirected", "InformationRelaxation"),
    "estimator": ("BayesianLogisticRegression",),
    "features.kinds": ("Boolean", "Categorical", "Date", "Numeric", "Text"),
    "features.schema": ("Schema",),
    "gaussian": ("Gaussian",),
    "impressions": ("Tally",),
    "inference.forgetting": ("HalfLife",),
    "inference.online": ("FabCost",),
    "inference.schedule": ("Refresh",),
    "inference.wide.hashing": ("HashedFeatures",),
    "inference.wide.learner": ("Wide", "WideFabCost"),
    "notebook.file": ("load", "save"),
    "notebook.plots": ("plot_calibration", "plot_weights", "to_arviz"),
    "notebook.river": ("RiverClassifier",),  # not among __all__: an extra has its base
    "prior": ("Prior",),
    "recommend.recommender": ("Recommender",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    try:
        found = import_module(f"{__name__}.{home or name}")
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{name}":
            raise
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    return found if home is None else getattr(found, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
