"""Clicks with data as they come beside data scaled by hand: ``python -m studies.raw_data``."""

from __future__ import annotations

import argparse
import datetime
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from fabcost import Recommender, Schema
from fabcost.impressions import FloatArray
from fabcost.recommend.weights import GrowthWarning
from studies.documents import origin, write_page

Record = dict[str, Any]
Adverts = dict[str, Record]

COUNT = 20
RATE = 0.08
VISITS = 3_000
SEEDS = 20
DEVICES = ("mobile", "desktop")
FIRST_DAY = datetime.date(2024, 1, 1)
BY_HAND, AS_THEY_COME, UNSCALED = "by hand", "as they come", "unscaled"


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


class Run(NamedTuple):
    """Clicks of one arm on one site, its weights, and milliseconds of the processor a visit."""

    clicks: int
    weights: int
    milliseconds: float
    squeezed: tuple[str, ...]


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
    made = [
        {name: each | {"make": f"make {k % 8}"} for k, (name, each) in enumerate(given.items())}
        for given in (site.natural, site.by_hand)
    ]
    arms = (BY_HAND, AS_THEY_COME)
    return Site(made[0], made[1], worth, 0, cities, "city", 1_000, arms)


SITES: dict[str, Callable[[np.random.Generator], Site]] = {
    each.__name__.replace("_", " "): each
    for each in (natural, heavy_tails, one_advert_first, wild_values, dates, user_ids)
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


def visited(site: Site, arm: str, seed: int, visits: int) -> Run:
    """Let a recommender with an open schema serve the visitors; they are the same for all arms."""
    rng = np.random.default_rng([seed, 1])
    people = rng.integers(0, len(site.people), visits)
    users, luck = rng.integers(0, max(site.users, 1), visits), rng.random(visits)
    adverts = site.by_hand if arm == BY_HAND else site.natural
    rec = Recommender(Schema.open(scaled=arm == AS_THEY_COME), seed=seed)
    clicks, start = 0, time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GrowthWarning)
        for k in range(visits):
            context: Record = {site.of_people: site.people[people[k]]}
            if site.users and arm == AS_THEY_COME:
                context["user_id"] = f"user {users[k]}"
            offered = adverts if k >= site.alone else dict([next(iter(adverts.items()))])
            decision = rec.recommend(context, offered)
            rate = expit(site.worth[people[k], int(decision.item.removeprefix("ad-"))])
            clicks += int(luck[k] < rate)
            rec.feedback(decision.id, clicked=luck[k] < rate)
    spent = 1e3 * (time.process_time() - start) / visits
    return Run(clicks, rec.schema.width, spent, tuple(rec.schema.squeezed))


def measured(work: tuple[str, str, int, int]) -> Run:
    """One piece of work: a site by name, an arm, a seed, and how many visits."""
    name, arm, seed, visits = work
    site = SITES[name](np.random.default_rng([seed, 0]))
    return visited(site, arm, seed, visits)


def tables(sizes: dict[str, int], visits: int, workers: int) -> list[str]:
    """The rows of all sites' tables."""
    arms = {name: SITES[name](np.random.default_rng(0)).arms for name in sizes}
    work = [
        (name, arm, seed, visits)
        for name, seeds in sizes.items()
        for arm in arms[name]
        for seed in range(seeds)
    ]
    with get_context("spawn").Pool(workers) as pool:
        found = dict(zip(work, pool.map(measured, work, chunksize=1), strict=True))
    rows = []
    for name, seeds in sizes.items():
        runs = {a: [found[name, a, seed, visits] for seed in range(seeds)] for a in arms[name]}
        rows += [_row(name, arm, runs[arm], runs[BY_HAND]) for arm in arms[name]]
    return rows


def _row(name: str, arm: str, runs: list[Run], by_hand: list[Run]) -> str:
    clicks, base = (np.array([run.clicks for run in each]) for each in (runs, by_hand))
    more = 100.0 * (clicks - base) / base.mean()
    error = 1.96 * more.std(ddof=1) / np.sqrt(len(runs)) if len(runs) > 1 else np.nan
    gain = (
        ""
        if arm == BY_HAND
        else f"{more.mean():+.1f} ({more.mean() - error:+.1f} to {more.mean() + error:+.1f}) %"
    )
    weights, spent = max(run.weights for run in runs), np.median([r.milliseconds for r in runs])
    squeezed = ", ".join(sorted({each for run in runs for each in run.squeezed}))
    reach = f"{clicks.min()} to {clicks.max()}"
    cells = [name, arm, f"{len(runs)}", f"{clicks.mean():.0f}", reach, gain, f"{weights}"]
    return "| " + " | ".join([*cells, f"{spent:.1f}", squeezed]) + " |"


PAGE = """# Data as they come

{origin}

{count} adverts, {visits:,} visits; adverts shown at random are clicked {rate:.0%} of the time,
which is {chance:.0f} clicks. Three recommenders with open schemas see the same visitors:

- *by hand*: numbers are standardised before they are given, with constants that nobody knows at a
  cold start;
- *as they come*: raw numbers, dates and strings, in `Schema.open()`;
- *unscaled*: the same in `Schema.open(scaled=False)`, which takes numbers as they are.

Differences are those of clicks by the same visitors, with 95 % intervals over seeds. Milliseconds
are the processor's, for a decision, its feedback, and refreshes.

| data | recommender | seeds | clicks | from, to | beside by hand | weights | ms a visit | sharing |
|---|---|---|---|---|---|---|---|---|
{rows}

| data | what they are |
|---|---|
{legend}
"""


def page(sizes: dict[str, int], visits: int, workers: int, command: str) -> str:
    """The page, measured now."""
    rows = tables(sizes, visits, workers)
    legend = [f"| {name} | {(SITES[name].__doc__ or '').strip()} |" for name in sizes]
    return PAGE.format(
        origin=origin(command),
        count=COUNT,
        visits=visits,
        rate=RATE,
        chance=RATE * visits,
        rows="\n".join(rows),
        legend="\n".join(legend),
    )


def main() -> None:
    """Print the page, or write it into the documentation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", action="store_true", help="write docs/measurements/raw-data.md")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--visits", type=int, default=VISITS)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    few, least = max(2, 3 * given.seeds // 10), max(2, given.seeds // 10)
    sizes = dict.fromkeys(SITES, few) | {"natural": given.seeds, "user ids": least}
    command = "python -m studies.raw_data --docs"
    text = page(sizes, given.visits, given.workers, command)
    if given.docs:
        write_page("raw-data.md", text)
    print(text)


if __name__ == "__main__":
    main()
