"""What items' own effects cost, and what they find: ``python -m studies.own_effects``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console
from scipy.special import expit

from fabcost import FabCost, Gaussian, Numeric, Prior, Recommender, Refresh, Schema
from fabcost.bandit.bandit import Bandit
from fabcost.bandit.rules import Policy
from fabcost.impressions import FloatArray
from fabcost.inference.own.effects import OwnEffects
from studies import claims
from studies.claims import Claim
from studies.documents import origin, write_page
from studies.timing import as_text, in_turn, median

WEIGHTS, ITEMS, CANDIDATES = 15, 1_000_000, 1_000
CALLS, ROUNDS, SEEDS = 5_000, 9, 100
RATES = {"poor": 0.02, "fair": 0.05, "good": 0.3}

SPREAD = 0.3  # of what features do to the log-odds of an item, and of the effects of old items
BASE = -2.0
FEATURES = 8
CATALOGUE = 200
BEFORE, AFTER = 3_000, 3_000  # visits before a new item comes, and then

Act = Callable[[], object]


class Stream:
    """Impressions of random items, and a learner with and one without their effects."""

    def __init__(self, items: int = ITEMS) -> None:
        rng = np.random.default_rng(0)
        self.X = rng.standard_normal((CALLS, WEIGHTS))
        self.X[:, 0] = 1.0
        self.y = (rng.random(CALLS) < 0.05).tolist()
        prior = Gaussian.isotropic(WEIGHTS)
        self.plain = FabCost(prior, refresh=Refresh.at(2**40))
        self.owned = FabCost(prior, refresh=Refresh.at(2**40), own_variance=1.0)
        self.keys = [f"item-{k}" for k in range(items)]
        self.effects.enter(self.keys)
        self.shown = [self.keys[k] for k in rng.integers(items, size=CALLS)]
        self.candidates = tuple(self.keys[k] for k in rng.integers(items, size=CANDIDATES))
        self.rows = rng.standard_normal((CANDIDATES, WEIGHTS))
        for learner in (self.plain, self.owned):
            learner.observe_many(self.X, self.y, self.shown)

    @property
    def effects(self) -> OwnEffects:
        """Those of the learner that has them."""
        assert self.owned.own is not None  # noqa: S101
        return self.owned.own

    def observe(self, learner: FabCost) -> None:
        """Learn one by one."""
        for row, label, item in zip(self.X, self.y, self.shown, strict=True):
            learner.observe(row, label, item)


def updates(stream: Stream) -> Iterator[Claim]:
    many = f"{len(stream.effects):,} items"
    yield _beside(
        f"observe with {many} known, over the same without effects",
        partial(stream.observe, stream.plain),
        partial(stream.observe, stream.owned),
        CALLS,
    )
    yield _beside(
        f"visit of EP with {many} known",
        partial(stream.plain.refresh, max_sweeps=1),
        partial(stream.owned.refresh, max_sweeps=1),
        len(stream.plain.sites.precision),
    )


def decisions(stream: Stream) -> Iterator[Claim]:
    plain, owned = (Bandit(learner, seed=0) for learner in (stream.plain, stream.owned))
    for what, draws in (("Thompson", None), ("Thompson with 256 draws", 256)):
        yield _beside(
            f"{what} over {CANDIDATES:,} rows of an array",
            partial(plain.choose, stream.rows, draws=draws),
            partial(owned.choose, stream.rows, draws=draws, items=stream.candidates),
            1,
        )
    recommenders = [_recommender(items) for items in (0.0, 1.0)]
    records = _records(np.random.default_rng(1), CANDIDATES)
    catalogues = [each.catalogue(records) for each in recommenders]
    for what, draws in (("recommend", None), ("recommend with 256 draws", 256)):
        without, effects = (
            partial(each.recommend, {}, items, draws=draws)
            for each, items in zip(recommenders, catalogues, strict=True)
        )
        yield _beside(f"{what} over a catalogue of {CANDIDATES:,}", without, effects, 1)


def memory(stream: Stream) -> Iterator[Claim]:
    own = stream.effects
    detail = f"{own.rows.nbytes:,} bytes for {len(own):,} items and {WEIGHTS} weights"
    most = 8.0 * (WEIGHTS + 2)
    yield Claim(
        "bytes an item, beside its key",
        own.rows.nbytes / len(own),
        "at most",
        most,
        detail,
        unit="",
    )


def _beside(what: str, without: Act, effects: Act, calls: int) -> Claim:
    for act in (without, effects):
        act()
    repeats = ROUNDS if calls > 1 else 200
    rounds = in_turn(without, effects, repeats=repeats) / calls
    before, after = (median(column) for column in rounds.T)
    detail = f"{as_text(after)} over {as_text(before)}"
    return Claim(what, median(rounds[:, 1] / rounds[:, 0]), "at most", 1.5, detail)


def _recommender(
    items: float, seed: int = 0, half_life: float | None = None, policy: Policy | None = None
) -> Recommender:
    schema = Schema([Numeric(f"x{j}") for j in range(FEATURES)])
    prior = Prior(items=items)
    return Recommender(schema, prior=prior, seed=seed, half_life=half_life, policy=policy)


def _records(rng: np.random.Generator, many: int) -> dict[str, dict[str, float]]:
    numbers = rng.standard_normal((many, FEATURES))
    return {
        f"old-{k}": {f"x{j}": v for j, v in enumerate(row)}
        for k, row in enumerate(numbers.tolist())
    }


def without_features(seed: int, visits: int = 2_000) -> float:
    """The share of visits with the best of three items that have nothing but their ids."""
    rec = Recommender(Schema.open(), seed=seed)
    rng = np.random.default_rng(seed)
    items = rec.catalogue({name: {} for name in RATES})
    best = 0
    for _ in range(visits):
        decision = rec.recommend({}, items)
        rec.feedback(decision.id, clicked=rng.random() < RATES[decision.item])
        best += decision.item == "good"
    return best / visits


class Newcomer:
    """A catalogue that is known for a while, and an item that comes then.

    Its features are those of an average item, its effect is what they do not say.
    """

    def __init__(
        self,
        effect: float,
        seed: int,
        *,
        items: float = 1.0,
        half_life: float | None = None,
        policy: Policy | None = None,
    ) -> None:
        self.rng = np.random.default_rng(seed)
        self.rec = _recommender(items, seed, half_life, policy)
        records = _records(self.rng, CATALOGUE)
        weights = SPREAD / np.sqrt(FEATURES) * self.rng.standard_normal(FEATURES)
        features = np.array([list(record.values()) for record in records.values()])
        eta = BASE + features @ weights + SPREAD * self.rng.standard_normal(CATALOGUE)
        self.odds = dict(zip(records, eta.tolist(), strict=True)) | {"new": BASE + effect}
        self.old = self.rec.catalogue(records)
        new = self.rec.catalogue({"new": {f"x{j}": 0.0 for j in range(FEATURES)}})
        self.all = self.old.joined(new)
        for _ in range(BEFORE):
            self.visit(self.old)

    def visit(self, items: object) -> bool:
        """Whether the newcomer was shown."""
        decision = self.rec.recommend({}, items)  # type: ignore[arg-type]
        clicked = self.rng.random() < expit(self.odds[decision.item])
        self.rec.feedback(decision.id, clicked=clicked)
        return bool(decision.item == "new")

    def rank(self) -> int:
        """The newcomer's place by the mean of its score, from 1."""
        own, rows = self.rec.own, self.rec.schema.rows({}, self.all)
        belief = self.rec.learner.posterior
        means: FloatArray = belief.marginal(rows).mean
        if own is not None:
            names: tuple[Any, ...] = self.all.names
            means = own.marginal(belief, rows, names).mean
        return 1 + int((means > means[-1]).sum())

    def impressions_to_top(self, place: int = 3, visits: int = AFTER) -> int:
        """How often it was shown before it was among the best; if never, how often plus visits."""
        shown = 0
        for _ in range(visits):
            if self.visit(self.all):
                shown += 1
                if self.rank() <= place:
                    return shown
        return visits + shown

    def shows(self, visits: int = AFTER) -> list[bool]:
        """Whether it was shown, visit by visit."""
        return [self.visit(self.all) for _ in range(visits)]


def findings(seeds: int) -> Iterator[Claim]:
    best = np.array([without_features(seed) for seed in range(seeds)])
    detail = f"{seeds} seeds, from {best.min():.3f} to {best.max():.3f}; clicks of 2, 5 and 30 %"
    what = "three items without features, 2,000 visits: share of the best"
    yield Claim(what, float(best.min()), "at least", 0.85, detail, unit="")
    shown = np.array([Newcomer(2.0, seed).impressions_to_top() for seed in range(seeds)])
    never = int((shown >= AFTER).sum())
    detail = f"{seeds} seeds; 90 % within {np.quantile(shown, 0.9):.0f}, never in {never}"
    what = f"new item of +2 among {CATALOGUE}: own impressions until it is in the top three"
    yield Claim(what, float(np.median(shown)), "at most", 60.0, detail, unit="")
    bad = [Newcomer(-2.0, seed) for seed in range(seeds)]
    shows = np.array([each.shows() for each in bad])
    chance = 1 / (CATALOGUE + 1)
    detail = f"{seeds} seeds; chance is {chance:.4f}; shown {shows.sum(axis=1).mean():.1f} times"
    what = f"new item of -2 among {CATALOGUE}: share of the last 1,000 of {AFTER:,} visits"
    yield Claim(what, float(shows[:, -1000:].mean()), "at most", chance, detail, unit="")
    places = np.array([each.rank() for each in bad])
    detail = f"{seeds} seeds; nine in ten from place {np.quantile(places, 0.1):.0f} on"
    what = "its place after them, by the mean of its score"
    yield Claim(what, float(np.median(places)), "at least", CATALOGUE / 2, detail, unit="")


def measure(items: int, seeds: int) -> list[Claim]:
    stream = Stream(items)
    found = [*updates(stream), *decisions(stream), *memory(stream)]
    return [*found, *findings(seeds)]


def page(found: list[Claim]) -> str:
    """The page of the documentation."""
    return "\n\n".join(
        [
            "# Items' own effects",
            origin("python -m studies.own_effects --docs"),
            f"One thread, {WEIGHTS} weights; both sides of a ratio in turns within one run, the "
            "candidates' ids as one tuple, as a catalogue has them. What is found is with the "
            "recommender's defaults. Features and own effects of the old items move their "
            f"log-odds by {SPREAD} each, the new one has average features; {BEFORE:,} visits "
            "before it comes.",
            claims.as_markdown(found),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.own_effects", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes: a smoke test")
    parser.add_argument("--docs", action="store_true", help="write measurements/own-effects.md")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="over which what is found is told")
    given = parser.parse_args()
    start = time.monotonic()
    found = measure(*((2_000, 2) if given.quick else (ITEMS, given.seeds)))
    console = Console(width=None if sys.stdout.isatty() else 140)
    console.print(claims.as_table(found, quick=given.quick))
    console.print(f"{time.monotonic() - start:.0f} s")
    if given.docs:
        console.print(f"wrote {write_page('own-effects.md', page(found))}")


if __name__ == "__main__":
    main()
