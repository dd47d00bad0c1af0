"""What a recommender's file says beside its schema, its learner and its ledger."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from fabcost import archive
from fabcost.bandit.rules import RULES, Policy
from fabcost.inference.online import FabCost
from fabcost.inference.saved.checks import entry, real
from fabcost.inference.wide.learner import WideFabCost
from fabcost.prior import Prior

FORMAT = archive.Format("fabcost-recommender", 7, "recommender")
_WIDE = "wide"
_PREFIX = "learner_"
_FORGETS_OR_STARTS = frozenset({"half_life", "inheritance"})
_LATER_RULES = frozenset({"TSUCB", "InformationRelaxation", "InformationDirected"})
_POLICIES = {rule.__name__: rule for rule in RULES.values()}


def format_of(settings: Mapping[str, Any]) -> archive.Format:
    """The oldest version that says all of this.

    Examples
    --------
    >>> format_of({"prior_variance": 10.0}).version
    1
    """
    learner, rule = settings.get("learner", {}), settings.get("policy", {})
    later = {"served", "rests_until"} & learner.keys() or rule.get("kind") in _LATER_RULES
    later_learner = "belief" in settings and _FORGETS_OR_STARTS & learner.keys()
    if "past" in learner.get("inheritance", {}):
        version = 7
    elif "rare" in rule or "written_out" in learner or later_learner:
        version = 6
    elif "own" in learner.get("inheritance", {}) or "scatter" in rule:
        version = 5
    elif "belief" in settings or later:
        version = 4
    elif {"half_life", "most_kept", "inheritance"} & learner.keys():
        version = 3
    else:
        version = 2 if "prior" in settings else 1
    return FORMAT._replace(version=version)


def learner_state(learner: object) -> tuple[dict[str, Any], dict[str, archive.Array]]:
    """What a file says of a learner, with the name of its belief if that is not the full one.

    Examples
    --------
    >>> learner_state(WideFabCost(8))[0]["belief"]
    'wide'
    """
    if not isinstance(learner, FabCost | WideFabCost):
        kind = type(learner).__name__
        raise ValueError(f"the learner is a {kind} but only FabCost and WideFabCost can be saved")
    state, arrays = learner.state()
    belief = {"belief": _WIDE} if isinstance(learner, WideFabCost) else {}
    return {"learner": state} | belief, {_PREFIX + name: arrays[name] for name in arrays}


def restored_learner(
    settings: Mapping[str, Any], arrays: Mapping[str, archive.Array]
) -> FabCost | WideFabCost:
    """The learner of `learner_state`.

    Examples
    --------
    >>> restored_learner({"belief": "narrow"}, {})
    Traceback (most recent call last):
    ValueError: belief is 'narrow' but must be 'wide', or not be said
    """
    if settings.get("belief", _WIDE) != _WIDE:
        raise ValueError(f"belief is {settings['belief']!r} but must be {_WIDE!r}, or not be said")
    kind = WideFabCost if "belief" in settings else FabCost
    ours = {name: array for name, array in arrays.items() if name.startswith(_PREFIX)}
    return kind.restored(
        settings["learner"], {name.removeprefix(_PREFIX): ours[name] for name in ours}
    )


def prior_to_dict(prior: Prior, *, owned: bool) -> dict[str, Any]:
    """A prior as plain JSON values, for a learner whose items have effects of their own or not.

    Examples
    --------
    >>> prior_to_dict(Prior.same(10.0), owned=False)
    {'prior_variance': 10.0}
    """
    if not owned and prior == Prior.same(prior.numbers):
        return {"prior_variance": prior.numbers}
    return {"prior": dataclasses.asdict(prior)}


def prior_from_dict(settings: Mapping[str, Any]) -> Prior:
    """The prior of `prior_to_dict`.

    Examples
    --------
    >>> prior_from_dict({"prior_variance": 10.0}) == Prior.same(10.0)
    True
    """
    if "prior" not in settings:
        return Prior.same(real(settings, "prior_variance"))
    given = entry(settings, "prior")
    return Prior(**{each.name: real(given, each.name) for each in dataclasses.fields(Prior)})


def policy_to_dict(policy: Policy) -> dict[str, Any]:
    """A policy as plain JSON values; a ValueError if it is none of the library's.

    Examples
    --------
    >>> from fabcost import Thompson
    >>> policy_to_dict(Thompson())
    {'kind': 'Thompson', 'scale': 1.0}
    """
    kind = type(policy).__name__
    if _POLICIES.get(kind) is not type(policy):
        raise ValueError(f"the policy is a {kind} but only {', '.join(_POLICIES)} can be saved")
    said = {"kind": kind, **dataclasses.asdict(policy)}
    if said.get("rare") == 0.0:
        del said["rare"]  # versions before read it then
    return said


def policy_from_dict(given: Mapping[str, Any]) -> Policy:
    """The policy of `policy_to_dict`.

    Examples
    --------
    >>> policy_from_dict({"kind": "Thompson", "scale": 0.5})
    Thompson(scale=0.5)
    """
    options: dict[str, Any] = {
        name: value if isinstance(value, bool) else real(given, name)
        for name, value in given.items()
        if name != "kind"
    }
    return _POLICIES[given["kind"]](**options)


def rng_state(rng: np.random.Generator) -> dict[str, Any]:
    """The state of a generator as plain JSON values.

    Examples
    --------
    >>> rng_state(np.random.default_rng(0))["bit_generator"]
    'PCG64'
    """
    state = rng.bit_generator.state
    if state["bit_generator"] != "PCG64":
        raise ValueError(
            f"the generator is {state['bit_generator']} but only PCG64, NumPy's default, "
            "can be saved"
        )
    return dict(state)
