"""A classifier of scikit-learn as settings and arrays, and one that goes on from there."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from fabcost import archive
from fabcost.estimator import BayesianLogisticRegression
from fabcost.inference.online import FabCost
from fabcost.inference.passes import Swept
from fabcost.inference.saved.checks import (
    entry,
    gaussian_of,
    real,
    refresh_of,
    refresh_to_dict,
    whole,
)
from fabcost.inference.schedule import as_refresh
from fabcost.recommend import document
from fabcost.training import Inference, two_classes

FORMAT = archive.Format("fabcost-classifier", 1, "classifier")

_FLAGS = ("_last_converged", "_is_stream", "_is_whole")
_FITTED = ("n_features_in_", "classes_", "posterior_", "log_evidence_", "_newton_steps")
_KNOWN = {*_FLAGS, *_FITTED, "feature_names_in_", "_begun_as", "_learner"}
_LABELS = "biufUO"


def state_of(model: BayesianLogisticRegression) -> tuple[dict[str, Any], dict[str, archive.Array]]:
    """What its pickle would say, as plain JSON values and arrays; a TypeError if it says more.

    Examples
    --------
    >>> settings, arrays = state_of(BayesianLogisticRegression(prior_variance=2.0))
    >>> settings["parameters"]["prior_variance"], arrays
    (2.0, {})
    """
    parameters = model.get_params(deep=False)
    unknown = sorted(vars(model).keys() - parameters.keys() - _KNOWN)
    if unknown or type(model) is not BayesianLogisticRegression:
        also = f" with {', '.join(unknown)}" if unknown else ""
        raise TypeError(f"a {type(model)}{also} has more than its file can hold: use pickle")
    settings: dict[str, Any] = {"parameters": _plain(parameters)}
    if not hasattr(model, "posterior_"):
        return settings, {}
    fitted, arrays = _fitted(model)
    return settings | {"fitted": fitted}, arrays


def restored(
    settings: dict[str, Any], arrays: dict[str, archive.Array]
) -> BayesianLogisticRegression:
    """The classifier whose `state_of` this is; a ValueError if it is that of none.

    Examples
    --------
    >>> model = BayesianLogisticRegression().fit([[-1.0], [0.0], [1.0]], ["no", "yes", "yes"])
    >>> restored(*state_of(model)).classes_
    array(['no', 'yes'], dtype='<U3')
    """
    parameters = dict(entry(settings, "parameters"))
    for name, of in (("refresh", refresh_of), ("class_weight", _class_weight_of)):
        if parameters.get(name) is not None:
            parameters[name] = of(parameters)
    model = BayesianLogisticRegression(**parameters)
    if "fitted" in settings:
        _fill(model, settings["fitted"], arrays)
    return model


def _plain(parameters: dict[str, Any]) -> dict[str, Any]:
    plain = {name: _item(value) for name, value in parameters.items()}
    if plain["refresh"] is not None:
        plain["refresh"] = refresh_to_dict(as_refresh(plain["refresh"]))
    if isinstance(plain["class_weight"], Mapping):
        weights = plain["class_weight"].items()
        plain["class_weight"] = [[_item(label), float(weight)] for label, weight in weights]
    for name, value in plain.items():
        try:
            json.dumps(value)
        except TypeError as error:
            raise TypeError(f"{name} is {value!r:.80}, which no file can hold") from error
    return plain


def _item(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _class_weight_of(parameters: Mapping[str, Any]) -> Any:
    given = parameters["class_weight"]
    return given if isinstance(given, str) else {label: float(weight) for label, weight in given}


def _fitted(model: BayesianLogisticRegression) -> tuple[dict[str, Any], dict[str, archive.Array]]:
    fitted: dict[str, Any] = {name[1:]: bool(getattr(model, name)) for name in _FLAGS}
    fitted |= {"begun_as": model._begun_as, "newton_steps": int(model._newton_steps)}
    fitted |= {"features": int(model.n_features_in_), "classes": _labels(model.classes_)}
    if not math.isnan(model.log_evidence_):
        fitted["log_evidence"] = float(model.log_evidence_)
    if hasattr(model, "feature_names_in_"):
        fitted["names"] = model.feature_names_in_.tolist()
    learner = model.__getstate__()["_learner"]
    if learner is None:
        belief = model.posterior_
        return fitted, {"mean": belief.mean, "root": belief.root}
    if learner.last_refresh is not None:
        fitted["sweeps"] = learner.last_refresh.sweeps
    of_learner, arrays = document.learner_state(learner)
    return fitted | of_learner, arrays


def _labels(classes: npt.NDArray[Any]) -> dict[str, Any]:
    values = classes.tolist()
    if classes.dtype.kind not in _LABELS or not all(
        isinstance(x, str | float | int) for x in values
    ):
        raise TypeError(f"classes are {classes!r:.80} but a file holds texts and numbers only")
    return {"type": classes.dtype.str, "values": values}


def _classes_of(fitted: Any) -> npt.NDArray[Any]:
    given = entry(fitted, "classes")
    kind = np.dtype(entry(given, "type"))
    if kind.kind not in _LABELS:
        raise ValueError(f"classes are of type {kind} but must be texts or numbers")
    values = np.array(entry(given, "values"), dtype=kind)
    if values.ndim != 1 or values.tolist() != two_classes(values, "classes").tolist():
        raise ValueError(f"classes are {values!r:.80} but must be two, sorted")
    return values


def _fill(model: BayesianLogisticRegression, fitted: Any, arrays: dict[str, archive.Array]) -> None:
    begun, features = entry(fitted, "begun_as"), whole(fitted, "features", least=1)
    if begun not in get_args(Inference):
        raise ValueError(f"begun_as is {begun!r:.80} but must be one of {get_args(Inference)}")
    model._learner = None if begun == "laplace" else _learner_of(fitted, arrays)
    belief = gaussian_of(arrays) if model._learner is None else model._learner.posterior
    if belief.dimension not in (features, features + 1):
        raise ValueError(f"there are {belief.dimension} weights of {features} features")
    model.n_features_in_, model.posterior_, model._begun_as = features, belief, begun
    model.classes_, model._newton_steps = _classes_of(fitted), whole(fitted, "newton_steps")
    model.log_evidence_ = real({"log_evidence": 0.0, **fitted}, "log_evidence")
    if "log_evidence" not in fitted:
        model.log_evidence_ = math.nan
    for name in _FLAGS:
        setattr(model, name, entry(fitted, name[1:]) is True)
    if "names" in fitted:
        model.feature_names_in_ = _names_of(fitted["names"], features)


def _learner_of(fitted: Any, arrays: dict[str, archive.Array]) -> FabCost:
    learner = document.restored_learner(fitted, arrays)
    if not isinstance(learner, FabCost) or learner.own is not None:
        raise ValueError("the learner is none of a classifier's")
    if "sweeps" in fitted:
        sweeps = whole(fitted, "sweeps", least=1)
        learner.last_refresh = Swept(sweeps, converged=True, skipped=0, log_factors=math.nan)
    return learner


def _names_of(given: Any, features: int) -> npt.NDArray[Any]:
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise ValueError(f"names are {given!r:.80} but must be a list of texts")
    if len(given) != features:
        raise ValueError(f"names are {len(given)} but features {features}")
    return np.array(given, dtype=object)
