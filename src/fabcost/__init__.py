"""Cold-start recommendation by Bayesian logistic regression: ADF, EP and their combination."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabcost.archive import load, save
from fabcost.gaussian import Gaussian
from fabcost.inference.fabcost import FabCost
from fabcost.inference.refresh import Refresh

if TYPE_CHECKING:
    from fabcost.estimator import BayesianLogisticRegression

__version__ = "0.1.0"

__all__ = [
    "BayesianLogisticRegression",
    "FabCost",
    "Gaussian",
    "Refresh",
    "load",
    "save",
]


def __getattr__(name: str) -> Any:
    # scikit-learn takes longer to import than all the rest: only who asks for it pays.
    if name == "BayesianLogisticRegression":
        from fabcost.estimator import BayesianLogisticRegression

        return BayesianLogisticRegression
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
