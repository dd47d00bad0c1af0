"""Visitors of a site that sells used cars: what they like, and what they click on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from fabcost.bandit.environments import Round
from fabcost.features.items import EncodedItems
from fabcost.features.kinds import Categorical, Feature, Numeric
from fabcost.features.schema import Schema
from fabcost.impressions import FloatArray
from fabcost.worlds.adverts import Adverts, load, synthetic

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
    theta[0] = intercept(rows_of, theta, items, click_rate)
    return theta


def intercept(rows_of: Schema, theta: FloatArray, items: Items, click_rate: float) -> float:
    """The weight of the bias, by the mean over all contexts and an even choice of the items.

    Examples
    --------
    >>> cars = synthetic(9, rng=np.random.default_rng(0))
    >>> items = {f"ad-{k}": car.features() for k, car in enumerate(cars.rows)}
    >>> round(intercept(schema(cars), np.zeros(schema(cars).width), items, 0.5), 6) + 0.0
    0.0
    """
    step = -(-len(items) // _ITEMS_TO_CALIBRATE)
    encoded = rows_of.encode_items({name: items[name] for name in [*items][::step]})
    contexts = [dict(zip(CONTEXT, each, strict=True)) for each in product(*CONTEXT.values())]
    shares = [np.prod([CONTEXT[name][each[name]] for name in CONTEXT]) for each in contexts]
    log_odds = np.array([rows_of.rows(context, encoded) @ theta for context in contexts])

    def excess(bias: float) -> float:
        return float(np.dot(shares, expit(bias + log_odds).mean(axis=1)) - click_rate)

    return float(brentq(excess, -60.0, 60.0))


class Visitor(NamedTuple):
    """One visitor with raw features, for a recommender.

    The visitor clicks on an advert if ``uniform < probability[advert]``, so that whoever shows
    the same advert sees the same outcome.
    """

    context: dict[str, str]
    items: Items
    probability: dict[str, float]
    uniform: float

    def clicked(self, advert: str) -> bool:
        """Whether this visitor clicks on the advert with this id."""
        return self.uniform < self.probability[advert]


@dataclass(frozen=True, eq=False)
class CarAdverts:
    """Car adverts shown to visitors who click with probability σ(θᵀ row).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> cars = CarAdverts.random(synthetic(100, rng=rng), candidates=5, rng=rng)
    >>> next(cars.rounds(rng)).rows.shape == (5, cars.schema.width)
    True
    >>> visitor = next(cars.visitors(rng))
    >>> sorted(visitor.context), len(visitor.items)
    (['budget', 'device', 'looking_for'], 5)
    """

    items: Items  # the features of each advert by its id
    schema: Schema  # makes rows of contexts and items
    theta: FloatArray  # true weights, one for each column of the schema
    candidates: int | None = 20  # drawn for each visitor; None for all of them, every time

    def __post_init__(self) -> None:
        if self.theta.shape != (self.schema.width,):
            raise ValueError(
                f"theta has shape {self.theta.shape} but the schema has {self.schema.width} columns"
            )
        if self.candidates is not None and not 1 <= self.candidates <= len(self.items):
            raise ValueError(
                f"candidates is {self.candidates} but must lie in 1 to {len(self.items)}, "
                "the number of adverts"
            )

    @classmethod
    def random(
        cls,
        catalogue: Adverts,
        *,
        rng: np.random.Generator,
        candidates: int | None = 20,
        click_rate: float = 0.03,
    ) -> CarAdverts:
        """Weights drawn at random, such that random choices are clicked at ``click_rate``."""
        items = {f"ad-{k}": advert.features() for k, advert in enumerate(catalogue.rows)}
        rows_of = schema(catalogue)
        return cls(items, rows_of, draw_weights(rows_of, items, click_rate, rng), candidates)

    def rounds(self, rng: np.random.Generator) -> Iterator[Round]:
        """An endless stream of visitors, as rows."""
        for _, _, rows, uniform in self._visits(rng):
            yield Round(rows, expit(rows @ self.theta), uniform)

    def visitors(self, rng: np.random.Generator) -> Iterator[Visitor]:
        """The visitors of `rounds` with an equal generator, with raw features."""
        for context, names, rows, uniform in self._visits(rng):
            everything = self.candidates is None
            items = self.items if everything else {name: self.items[name] for name in names}
            probability = dict(zip(names, expit(rows @ self.theta).tolist(), strict=True))
            yield Visitor(context, items, probability, uniform)

    def _visits(
        self, rng: np.random.Generator
    ) -> Iterator[tuple[dict[str, str], tuple[str, ...], FloatArray, float]]:
        """Context, ids of the adverts that are shown, their rows, and the uniform number."""
        ids = tuple(self.items)
        while True:
            context, names, shown = draw_context(rng), ids, self._encoded
            if self.candidates is not None:
                drawn = rng.choice(len(ids), self.candidates, replace=False)
                names = tuple(ids[k] for k in drawn)
                shown = self._encoded.subset(names)
            yield context, names, self.schema.rows(context, shown), float(rng.random())

    @cached_property
    def _encoded(self) -> EncodedItems:
        return self.schema.encode_items(self.items)


def adverts(directory: Path | None, *, count: int, rng: np.random.Generator) -> Adverts:
    """The real adverts of a folder if there is one, else ``count`` made-up ones.

    Examples
    --------
    >>> len(adverts(None, count=50, rng=np.random.default_rng(0)))
    50
    """
    if directory is not None and directory.is_dir():
        return load(directory)
    return synthetic(count, rng=rng)
