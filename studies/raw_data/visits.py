"""Recommenders that serve the visitors of a site, by how the data come to them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from fabcost import Recommender, Schema
from fabcost.recommend.weights import GrowthWarning
from studies.kept import Kept, Piece
from studies.raw_data.sites import AS_THEY_COME, BY_HAND, SITES, WITHOUT_IDS, Record, Site


class Run(NamedTuple):
    """Clicks of one arm on one site, its weights, and milliseconds of the processor a visit.

    Features whose values share weights are ``squeezed``; a warning named those ``warned``.
    """

    clicks: int
    weights: int
    milliseconds: float
    squeezed: tuple[str, ...]
    warned: tuple[str, ...]


def visited(site: Site, arm: str, seed: int, visits: int) -> Run:
    """Let a recommender with an open schema serve the visitors; they are the same for all arms."""
    rng = np.random.default_rng([seed, 1])
    people = rng.integers(0, len(site.people), visits)
    users, luck = rng.integers(0, max(site.users, 1), visits), rng.random(visits)
    adverts = site.by_hand if arm == BY_HAND else site.natural
    rec = Recommender(Schema.open(scaled=arm in {AS_THEY_COME, WITHOUT_IDS}), seed=seed)
    clicks, start = 0, time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", GrowthWarning)
        for k in range(visits):
            context: Record = {site.of_people: site.people[people[k]]}
            if site.users:
                context["user_id"] = f"user {users[k]}"
            if arm in {BY_HAND, WITHOUT_IDS}:
                context.pop("user_id", None)
            offered = adverts if k >= site.alone else dict([next(iter(adverts.items()))])
            decision = rec.recommend(context, offered)
            rate = expit(site.worth[people[k], int(decision.item.removeprefix("ad-"))])
            clicks += int(luck[k] < rate)
            rec.feedback(decision.id, clicked=luck[k] < rate)
    spent = 1e3 * (time.process_time() - start) / visits
    warned = " ".join(str(each.message) for each in caught)
    told = tuple(name for name in rec.schema.squeezed if repr(name) in warned)
    return Run(clicks, rec.schema.width, spent, tuple(rec.schema.squeezed), told)


def measured(piece: Piece) -> Run:
    """One piece of work: a site by name, an arm, a seed, and how many visits."""
    name, arm, seed, visits = str(piece[0]), str(piece[1]), int(piece[2]), int(piece[3])
    site = SITES[name](np.random.default_rng([seed, 0]))
    return visited(site, arm, seed, visits)


class Runs:
    """All arms of sites by name, with a number of seeds for each site."""

    def __init__(self, sizes: dict[str, int], visits: int, kept: Kept) -> None:
        self.visits = visits
        self.arms = {name: SITES[name](np.random.default_rng(0)).arms for name in sizes}
        self._sizes = sizes
        pieces = [self._piece(*each) for each in self._all()]
        self._found = dict(zip(pieces, kept.results(measured, pieces), strict=True))

    def of(self, site: str, arm: str) -> list[Run]:
        """One of each seed."""
        seeds = range(self._sizes[site])
        return [Run(*self._found[self._piece(site, arm, seed)]) for seed in seeds]

    def beyond(self, site: str, arm: str, other: str) -> tuple[float, float]:
        """Clicks beyond those of another arm in per cent of its mean, and half a 95 % interval."""
        clicks, base = (np.array([r.clicks for r in self.of(site, each)]) for each in (arm, other))
        more = 100.0 * (clicks - base) / base.mean()
        return float(more.mean()), float(1.96 * more.std(ddof=1) / np.sqrt(more.size))

    def _all(self) -> Iterator[tuple[str, str, int]]:
        for name, seeds in self._sizes.items():
            for arm in self.arms[name]:
                yield from ((name, arm, seed) for seed in range(seeds))

    def _piece(self, site: str, arm: str, seed: int) -> Piece:
        return site, arm, seed, self.visits
