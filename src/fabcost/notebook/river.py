"""The online learner as a classifier of River (extra ``river``)."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import numpy as np

from fabcost import archive
from fabcost.extras import told_what_is_missing
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.inference.online import FabCost
from fabcost.inference.saved.checks import entry
from fabcost.inference.summary import LEVEL, Summary
from fabcost.prior import Prior
from fabcost.recommend import document

with told_what_is_missing("fabcost.RiverClassifier", "river"):
    from river.base import Classifier

FORMAT = archive.Format("fabcost-river", 1, "classifier of River")

_PRIOR = Prior()
_INTERCEPT = "intercept"


class RiverClassifier(Classifier):
    """Two-class logistic regression that is refined as it goes, one record at a time.

    Weights come as features are met: one for a number or a boolean, one for each value of a
    text.  What is missing, or None, is zero.  The prior has one scale for all weights: put
    River's ``StandardScaler`` before it.

    Parameters
    ----------
    prior_variance
        Of every weight but the intercept's.
    intercept_variance
        Of the intercept, wide since rates differ by orders of magnitude.
    half_life
        Records after which what one says counts half; None for never.
    most_kept
        How many of the last records are kept to refine; None for all.

    Examples
    --------
    >>> model = RiverClassifier()
    >>> for price, clicked in ((1.0, True), (9.0, False), (2.0, True), (8.0, False)):
    ...     model.learn_one({"price": price - 5.0, "kind": "tea"}, clicked)
    >>> model.predict_one({"price": -4.0}), round(model.predict_proba_one({"price": 4.0})[True], 2)
    (True, 0.09)
    >>> model.summary().names
    ('intercept', 'kind=tea', 'price')
    """

    def __init__(
        self,
        prior_variance: float = _PRIOR.numbers,
        intercept_variance: float = _PRIOR.constant,
        half_life: float | None = None,
        most_kept: int | None = None,
    ) -> None:
        self.prior_variance = prior_variance
        self.intercept_variance = intercept_variance
        self.half_life = half_life
        self.most_kept = most_kept
        self.learner = FabCost(
            Gaussian.isotropic(1, variance=intercept_variance),
            half_life=half_life,
            most_kept=most_kept,
        )
        self._columns = {_INTERCEPT: 0}

    @property
    def _multiclass(self) -> bool:
        return False

    def learn_one(self, x: Mapping[Any, Any], y: Any) -> None:
        """Take in one record and whether it was a success."""
        found = dict(_named(x))
        new = sorted(found.keys() - self._columns.keys())
        if new:
            self.learner.grow(self.prior_variance, len(new))
            self._columns |= {name: len(self._columns) + k for k, name in enumerate(new)}
        self.learner.observe(self._row(found), bool(y))

    def predict_proba_one(
        self, x: Mapping[Hashable, Any], **_: Any
    ) -> dict[bool | str | int, float]:
        """The probability of each outcome, what is not known of the weights integrated out."""
        (probability,) = self.learner.posterior.predict(self._row(dict(_named(x)))[None, :])
        return {False: 1.0 - float(probability), True: float(probability)}

    def summary(self, *, level: float = LEVEL) -> Summary:
        """Names, means, sds and intervals of the weights."""
        return self.learner.summary(self._columns, level=level)

    def _row(self, found: Mapping[str, float]) -> FloatArray:
        row = np.zeros(len(self._columns))
        row[0] = 1.0
        for name, value in found.items():
            if name in self._columns:
                row[self._columns[name]] = value
        return row


def state_of(model: RiverClassifier) -> tuple[dict[str, Any], dict[str, archive.Array]]:
    """Settings (plain JSON values) and arrays for `restored`.

    Examples
    --------
    >>> model = RiverClassifier()
    >>> model.learn_one({"price": 1.0}, True)
    >>> restored(*state_of(model)).summary().names
    ('intercept', 'price')
    """
    learner, arrays = document.learner_state(model.learner)
    parameters = model._get_params()
    return {"parameters": parameters, "columns": list(model._columns), **learner}, arrays


def restored(settings: dict[str, Any], arrays: dict[str, archive.Array]) -> RiverClassifier:
    """The classifier whose `state_of` this is; a ValueError if it is that of none.

    Examples
    --------
    >>> restored(*state_of(RiverClassifier(half_life=9.0))).half_life
    9.0
    """
    model, columns = RiverClassifier(**entry(settings, "parameters")), entry(settings, "columns")
    learner = document.restored_learner(settings, arrays)
    if not isinstance(learner, FabCost) or learner.own is not None:
        raise ValueError("the learner is none of a classifier's")
    model.learner, model._columns = learner, {name: place for place, name in enumerate(columns)}
    if columns[:1] != [_INTERCEPT] or not len(model._columns) == learner.posterior.dimension:
        raise ValueError(f"columns are {columns!r:.80} but must be the intercept's and the others'")
    return model


def _named(x: Mapping[Any, Any]) -> Iterator[tuple[str, float]]:
    """The columns of a record that are not zero, by name."""
    for name, value in x.items():
        if isinstance(value, str):
            yield f"{name}={value}", 1.0
        elif value is not None:
            yield str(name), float(value)
