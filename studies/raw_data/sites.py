"""Sites whose adverts come raw and scaled by hand, and what visitors like."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from fabcost.impressions import FloatArray

Record = dict[str, Any]
Adverts = dict[str, Record]

COUNT = 20
RATE = 0.08
DEVICES = ("mobile", "desktop")
FIRST_DAY = datetime.date(2024, 1, 1)
BY_HAND, AS_THEY_COME, UNSCALED = "by hand", "as they come", "unscaled"
WITHOUT_IDS = "without ids"


@dataclass(frozen=True)
class Site:
    """Adverts as they come and scaled by hand, and their log-odds for each kind of visitor."""

    natural: Adverts
    by_hand: Adverts
    worth: FloatArray
    alone: int = 0
    people: tuple[str, ...] = DEVICES
    of_people: str = "device"
    users: int = 0
    arms: tuple[str, ...] = field(default=(BY_HAND, AS_THEY_COME, UNSCALED))


def natural(rng: np.random.Generator) -> Site:
    """Prices from 5,000 to 30,000 and years."""
    prices, years = rng.uniform(5_000, 30_000, COUNT), rng.integers(2005, 2024, COUNT)
    price, year = (prices - 17_500) / 7_217, (years - 2014) / 5.5
    return _site({"price": prices, "year": years}, {"price": price, "year": year}, -price, year)


def heavy_tails(rng: np.random.Generator) -> Site:
    """Prices over five orders of magnitude, whose logarithm matters."""
    logs, years = rng.normal(9.5, 1.5, COUNT), rng.integers(2005, 2024, COUNT)
    price, year = (logs - 9.5) / 1.5, (years - 2014) / 5.5
    raw = {"price": np.exp(logs), "year": years}
    return _site(raw, {"price": price, "year": year}, -price, year)


def one_advert_first(rng: np.random.Generator) -> Site:
    """Natural prices; the first 50 visits are offered one advert alone."""
    site = natural(rng)
    return Site(site.natural, site.by_hand, site.worth, alone=50)


def wild_values(rng: np.random.Generator) -> Site:
    """Natural prices, but one is 1e12 and one year is 0; by hand both are put to the mean."""
    prices, years = rng.uniform(5_000, 30_000, COUNT), rng.integers(2005, 2024, COUNT)
    price, year = (prices - 17_500) / 7_217, (years - 2014) / 5.5
    price[3] = year[5] = 0.0
    raw_prices, raw_years = prices.copy(), years.copy()
    raw_prices[3], raw_years[5] = 1e12, 0
    raw = {"price": raw_prices, "year": raw_years}
    return _site(raw, {"price": price, "year": year}, -price, year)


def dates(rng: np.random.Generator) -> Site:
    """Natural prices, and the day on which an advert was published."""
    prices, days = rng.uniform(5_000, 30_000, COUNT), rng.integers(0, 700, COUNT)
    price, day = (prices - 17_500) / 7_217, (days - 350) / 202
    published = [(FIRST_DAY + datetime.timedelta(days=int(each))).isoformat() for each in days]
    raw = {"price": prices, "published": published}
    return _site(raw, {"price": price, "published": day}, -price, day)


def user_ids(rng: np.random.Generator) -> Site:
    """Natural prices, makes, and tastes that differ by city; visits also carry a user's id."""
    site = natural(rng)
    makes = rng.normal(size=8)
    cities = tuple(f"city {k}" for k in range(30))
    taste = rng.normal(0.0, 0.5, (len(cities), 1))
    base = site.worth.mean(axis=0) + 0.5 * makes[np.arange(COUNT) % 8]
    price = np.array([each["price"] for each in site.by_hand.values()])
    worth = _calibrated(base + taste * price)
    made = [_with_makes(given) for given in (site.natural, site.by_hand)]
    arms = (BY_HAND, WITHOUT_IDS, AS_THEY_COME)
    return Site(made[0], made[1], worth, 0, cities, "city", 1_000, arms)


def users_with_tastes(rng: np.random.Generator) -> Site:
    """Natural prices and makes; each of 300 users likes some makes, and comes ten times."""
    site = natural(rng)
    makes = np.arange(COUNT) % 8
    base = site.worth.mean(axis=0) + 0.5 * rng.normal(size=8)[makes]
    worth = _calibrated(base + rng.normal(size=(300, 8))[:, makes])
    made = [_with_makes(given) for given in (site.natural, site.by_hand)]
    users = tuple(f"user {k}" for k in range(300))
    arms = (BY_HAND, WITHOUT_IDS, AS_THEY_COME)
    return Site(made[0], made[1], worth, people=users, of_people="user_id", arms=arms)


def _with_makes(adverts: Adverts) -> Adverts:
    return {
        name: each | {"make": f"make {k % 8}"} for k, (name, each) in enumerate(adverts.items())
    }


SITES: dict[str, Callable[[np.random.Generator], Site]] = {
    each.__name__.replace("_", " "): each
    for each in (
        natural,
        heavy_tails,
        one_advert_first,
        wild_values,
        dates,
        user_ids,
        users_with_tastes,
    )
}


def _site(raw: dict[str, Any], scaled: dict[str, FloatArray], *tastes: FloatArray) -> Site:
    first, second = tastes
    worth = np.stack([1.0 * first + 0.8 * second, 0.5 * first + 0.8 * second])
    return Site(_adverts(raw), _adverts(scaled), _calibrated(worth))


def _adverts(columns: dict[str, Any]) -> Adverts:
    plain = {name: np.asarray(values).tolist() for name, values in columns.items()}
    return {f"ad-{k}": {name: values[k] for name, values in plain.items()} for k in range(COUNT)}


def _calibrated(worth: FloatArray) -> FloatArray:
    """With the intercept at which adverts shown at random are clicked with the usual rate."""
    shift = brentq(lambda b: float(expit(worth + b).mean()) - RATE, -30.0, 30.0)
    return np.asarray(worth + shift)
