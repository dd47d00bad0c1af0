"""How soon a new item that is the best of a catalogue is found, with forgetting and without."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fabcost.bandit.rules import DEFAULT, Policy, Thompson
from fabcost.impressions import FloatArray
from studies.own_effects import AFTER, CATALOGUE, FEATURES, Newcomer

RULES: dict[str, Policy] = {"Thompson": Thompson(), "the default": DEFAULT}
#: Impressions of a half-life for each weight and each item with an effect of its own, chosen on
#: seeds from 1000 on: 8 lose more than 3 % of the clicks where nothing changes, 16 and 24 do not.
EACH = 24
WEIGHTS = 15
RECOMMENDED, OF_CATALOGUE = EACH * WEIGHTS, EACH * (1 + FEATURES + CATALOGUE)
#: Rules and half-lives with which the new item is waited for.
WAITED = [("Thompson", length) for length in (0, RECOMMENDED, 1_000, OF_CATALOGUE)]
WAITED += [(rule, length) for rule in RULES if rule != "Thompson" for length in (0, OF_CATALOGUE)]
LAST = 1_000

#: One number of all `Waited` of a rule and a half-life.
Found = Callable[[str, int, int], FloatArray]


class Waited(NamedTuple):
    """How a new item that is the best fared.

    ``shown`` and ``visits`` are impressions of its own and visits until it was among the best three
    by its mean, infinite if it never was; ``late`` is its share of the last visits, and ``margin``
    by how much its log-odds exceed those of the best other.
    """

    shown: float
    visits: float
    late: float
    margin: float

    @classmethod
    def of(cls, rule: str, half_life: int, seed: int) -> Waited:
        """All visits after it came."""
        world = Newcomer(2.0, seed, half_life=half_life or None, policy=RULES[rule])
        shows, found = [], (np.inf, np.inf)
        for visit in range(AFTER):
            shows.append(world.visit(world.all))
            if shows[-1] and found[0] == np.inf and world.rank() <= 3:
                found = (float(sum(shows)), visit + 1.0)
        best, second = sorted(world.odds.values(), reverse=True)[:2]
        ahead = best - second if world.odds["new"] == best else world.odds["new"] - best
        return cls(*found, float(np.mean(shows[-LAST:])), ahead)


def arrivals(found: Found) -> list[list[str]]:
    """A table by rule and half-life."""
    head = ["rule", "half-life", "found", "found, less ahead", "further ahead"]
    rows = [[*head, "own impressions", "visits", f"share of the last {LAST:,} visits"]]
    for rule, length in WAITED:
        shown, visits, late, margin = (found(rule, length, part) for part in range(4))
        near = margin < np.median(margin)
        parts = [np.isfinite(some) for some in (shown, shown[near], shown[~near])]
        told = [f"{part.sum()} of {part.size}" for part in parts]
        medians = [f"{x:,.0f}" if np.isfinite(x) else "" for x in map(np.median, (shown, visits))]
        row = [rule, f"{length:,}" if length else "none", *told, *medians]
        rows.append([*row, f"{late.mean():.2f}"])
    return rows


def markdown(rows: list[list[str]]) -> str:
    """A table of which the first row is the head."""
    head, *body = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([head, "|" + "---|" * len(rows[0]), *body])


def section(found: Found) -> list[str]:
    """The part of a page."""
    ahead = np.median(found("Thompson", 0, 3))
    return [
        "## A new item",
        f"It comes to a catalogue of {CATALOGUE} that was learnt for 3,000 visits, and is 2 better "
        "in log-odds than its features say, so that it is clicked at every second impression; "
        f"{AFTER:,} visits follow. Found is an item that was among the three of the largest mean. "
        f"Impressions and visits are medians until then. In half of the seeds it is less than "
        f"{ahead:.2f} ahead of the best other in log-odds.",
        markdown(arrivals(found)),
        f"A half-life of {RECOMMENDED:,} is {RECOMMENDED / CATALOGUE:.1f} impressions an item: "
        "all are nearly as unknown as one that has just come, and those that were lucky are ahead "
        f"of it. The default is `{DEFAULT}`: in log-odds the new item's standard deviation is the "
        "largest of all, so that it is tried soon. An item that had no click when it was tried is "
        "tried again while others, too, are known little, or as what was seen of it fades.",
    ]
