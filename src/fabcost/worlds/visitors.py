"""Visitors of a site that sells used cars, and what they click on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from fabcost.bandit.environments import Round
from fabcost.features.items import EncodedItems
from fabcost.features.schema import Schema
from fabcost.impressions import FloatArray
from fabcost.worlds.adverts import Adverts, load, synthetic
from fabcost.worlds.tastes import Items, draw_context, draw_weights, schema


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
