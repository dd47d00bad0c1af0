"""Who visits a site that sells used cars, and what they like: contexts and true weights."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from fabcost.features.feature import Feature
from fabcost.features.kinds import Categorical, Numeric
from fabcost.features.schema import Schema
from fabcost.impressions import FloatArray
from fabcost.worlds.adverts import Adverts

Items = Mapping[str, dict[str, Any]]

#: What is known of a visitor, and how often each value occurs.
CONTEXT: dict[str, dict[str, float]] = {
    "device": {"mobile": 0.55, "desktop": 0.35, "tablet": 0.10},
    "budget": {"low": 0.4, "middle": 0.4, "high": 0.2},
    "looking_for": {"city": 0.4, "family": 0.4, "premium": 0.2},
}
CROSSES = (
    ("device", "log_price"),
    ("budget", "log_price"),
    ("looking_for", "year"),
    ("looking_for", "litres"),
    ("looking_for", "engineSize"),
)
#: Weights that make visitors differ in a way one would expect; the others are drawn around zero.
TASTES = {
    "mileage": -0.4,
    "budget=low × log_price": -1.2,
    "budget=high × log_price": 0.6,
    "looking_for=city × engineSize": -0.5,
    "looking_for=premium × engineSize": 0.5,
    "looking_for=city × litres": -0.6,
    "looking_for=family × year": 0.5,
    "looking_for=premium × year": 0.8,
}
_OTHER_TASTES_SD = 0.3
_ITEMS_TO_CALIBRATE = 500


def schema(catalogue: Adverts) -> Schema:
    """How contexts and adverts become rows: numbers standardised over the catalogue.

    Examples
    --------
    >>> from fabcost.worlds.adverts import synthetic
    >>> schema(synthetic(100, rng=np.random.default_rng(0))).columns[-1]
    'looking_for=premium × engineSize'
    """
    if not catalogue.rows:
        raise ValueError("the catalogue is empty but must have an advert")
    visitor = [
        Categorical(name, role="context", levels=tuple(shares)) for name, shares in CONTEXT.items()
    ]
    records = [advert.features() for advert in catalogue.rows]
    item: list[Feature] = []
    for name, first in records[0].items():
        values = [record[name] for record in records]
        if isinstance(first, str):
            item.append(Categorical(name, levels=tuple(sorted(set(values)))))
        else:
            mean, scale = float(np.mean(values)), float(np.std(values)) or 1.0
            item.append(Numeric(name, mean=mean, scale=scale))
    return Schema([*visitor, *item], crosses=CROSSES)


def draw_context(rng: np.random.Generator) -> dict[str, str]:
    """What is known of one visitor.

    Examples
    --------
    >>> draw_context(np.random.default_rng(0))
    {'device': 'desktop', 'budget': 'low', 'looking_for': 'city'}
    """
    return {
        name: str(rng.choice(list(shares), p=list(shares.values())))
        for name, shares in CONTEXT.items()
    }


def draw_weights(
    rows_of: Schema, items: Items, click_rate: float, rng: np.random.Generator
) -> FloatArray:
    """`TASTES` and random other weights; an item shown at random is clicked at ``click_rate``.

    Examples
    --------
    >>> from fabcost.worlds.adverts import synthetic
    >>> rng = np.random.default_rng(0)
    >>> cars = synthetic(100, rng=rng)
    >>> items = {f"ad-{k}": car.features() for k, car in enumerate(cars.rows)}
    >>> draw_weights(schema(cars), items, 0.03, rng)[1:3].round(2)
    array([ 0.86, -0.05])
    """
    if not 0.0 < click_rate < 1.0:
        raise ValueError(f"click_rate is {click_rate} but must lie between 0 and 1")
    theta = rng.normal(scale=_OTHER_TASTES_SD, size=rows_of.width)
    for column, weight in TASTES.items():
        theta[rows_of.columns.index(column)] = weight
    theta[0] = 0.0
    theta[0] = _intercept(rows_of, theta, items, click_rate)
    return theta


def _intercept(rows_of: Schema, theta: FloatArray, items: Items, click_rate: float) -> float:
    """The weight of the bias, by the mean over all contexts and an even choice of the items."""
    step = -(-len(items) // _ITEMS_TO_CALIBRATE)
    encoded = rows_of.encode_items({name: items[name] for name in [*items][::step]})
    contexts = [dict(zip(CONTEXT, each, strict=True)) for each in product(*CONTEXT.values())]
    shares = [np.prod([CONTEXT[name][each[name]] for name in CONTEXT]) for each in contexts]
    log_odds = np.array([rows_of.rows(context, encoded) @ theta for context in contexts])

    def excess(bias: float) -> float:
        return float(np.dot(shares, expit(bias + log_odds).mean(axis=1)) - click_rate)

    return float(brentq(excess, -60.0, 60.0))
