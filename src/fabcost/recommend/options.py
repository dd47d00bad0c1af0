"""What a recommender and its decisions are asked for, checked before anything changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fabcost.bandit.bandit import check_mixing
from fabcost.bandit.values import checked_amounts
from fabcost.features.items import EncodedItems
from fabcost.features.reader import Reader, ReadItems, Record
from fabcost.features.schema import Schema
from fabcost.prior import Prior


def one_prior(prior: Prior | None, variance: float | None) -> Prior:
    """The prior that is given, or one variance for all weights, or else the default.

    Examples
    --------
    >>> one_prior(None, None) == Prior()
    True
    """
    if variance is None:
        return Prior() if prior is None else prior
    if prior is not None:
        raise ValueError(f"prior_variance is {variance} but must be None beside a prior")
    return Prior.same(float(variance))


def check_wide(learner: object, prior: object, variance: object) -> None:
    """A ValueError for what a wide belief cannot have.

    Examples
    --------
    >>> check_wide(None, None, 1.0)
    Traceback (most recent call last):
    ValueError: the belief is wide and has one variance of its own: prior_variance must be None
    """
    refused = {
        "brings its learner: learner": learner,
        "has one variance of its own: prior": prior,
        "has one variance of its own: prior_variance": variance,
    }
    for words, given in refused.items():
        if given is not None:
            raise ValueError(f"the belief is wide and {words} must be None")


def check_options(top_k: float, draws: int | None, floor: float) -> None:
    """A ValueError for what the bandit would refuse later.

    Examples
    --------
    >>> check_options(0, None, 0.0)
    Traceback (most recent call last):
    ValueError: top_k is 0 but must be a whole number of at least 1
    """
    if not isinstance(top_k, int | np.integer) or top_k < 1:
        raise ValueError(f"top_k is {top_k} but must be a whole number of at least 1")
    check_mixing(1 if draws is None else draws, floor)


Amounts = list[float] | None


def amounts(
    names: tuple[Any, ...], values: Mapping[Any, float] | None, costs: Mapping[Any, float] | None
) -> tuple[Amounts, Amounts]:
    """Values and costs of the candidates in their order, checked; ids of others are ignored.

    Examples
    --------
    >>> amounts(("ad-1", "ad-2"), {"ad-1": 2.0}, None)
    Traceback (most recent call last):
    ValueError: values have no number for 'ad-2', which is a candidate
    """
    found = _in_order(names, values, "values"), _in_order(names, costs, "costs")
    if found != (None, None):
        checked_amounts(len(names), *found)
    return found


def _in_order(names: tuple[Any, ...], given: Mapping[Any, float] | None, what: str) -> Amounts:
    if given is None:
        return None
    for name in names:
        if name not in given:
            raise ValueError(f"{what} have no number for {name!r}, which is a candidate")
    return [given[name] for name in names]


def read_candidates(
    schema: Schema, reader: Reader, candidates: Mapping[Any, Record] | EncodedItems
) -> ReadItems | EncodedItems:
    """Records that have been read, or the items of a catalogue of the same schema.

    Examples
    --------
    >>> schema = Schema.open()
    >>> read_candidates(schema, schema.reader(), {"ad-1": {"make": "kia"}}).names
    ('ad-1',)
    """
    if not isinstance(candidates, EncodedItems):
        return ReadItems.by(reader, candidates)
    if candidates.schema is not schema:
        raise ValueError(
            "the catalogue was encoded by another schema but must come from this "
            "recommender's catalogue()"
        )
    return candidates
