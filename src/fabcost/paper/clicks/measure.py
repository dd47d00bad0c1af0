"""The click figure: the paper's replay, against the Laplace bandit as published and a correct one.

Every seed is a day of its own, with visitors of its own.  On it all policies meet the same random
numbers, so that their clicks are compared day by day.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from fabcost.impressions import FloatArray
from fabcost.offline.comparisons import difference
from fabcost.offline.replay.runs import Replays
from fabcost.paper.clicks.players import (
    CHECKED_ROUNDS,
    CORRECT,
    EVERY_ROUND,
    OURS,
    PAPERS,
    PUBLISHED,
    RANDOM,
    play,
)
from fabcost.paper.clicks.results import Bandits
from fabcost.paper.engine.scales import Scale
from fabcost.paper.engine.units import Result, Unit

COMPARED = (PAPERS, OURS, CORRECT, PUBLISHED, RANDOM)
PLAYED_OUT = (PAPERS, OURS, CORRECT, PUBLISHED)

_SEEDS_APART = 1_000
_WHOLE = "whole"
#: About how many seconds 1,000 rounds take.
_SECONDS = {PAPERS: 0.2, OURS: 0.15, CORRECT: 0.3, PUBLISHED: 0.6, RANDOM: 0.05, EVERY_ROUND: 3.0}


def units(scale: Scale, seed: int) -> list[Unit]:
    """One replay for each policy and day, the check of the refits, and one day to its end.

    Examples
    --------
    >>> from fabcost.paper.engine.scales import QUICK
    >>> len(units(QUICK, 0)) == 6 * QUICK.bandit_seeds + len(PLAYED_OUT)
    True
    """
    first, rows, rounds = _SEEDS_APART * seed, scale.day_rows, scale.bandit_rounds
    days = range(scale.bandit_seeds)
    replayed = [_unit(policy, k, rows, rounds, first + k) for k in days for policy in COMPARED]
    checked = [_unit(EVERY_ROUND, k, rows, _checked(scale), first + k) for k in days]
    # Where the whole day is too long, its first impressions make a short one.
    end = rows if scale.whole_day else rounds
    played_out = [_unit(policy, _WHOLE, end, end, first) for policy in PLAYED_OUT]
    return [*replayed, *checked, *played_out]


def _checked(scale: Scale) -> int:
    return min(CHECKED_ROUNDS, scale.bandit_rounds)


def _unit(policy: str, which: int | str, rows: int, rounds: int, seed: int) -> Unit:
    arguments = {"policy": policy, "rows": rows, "rounds": rounds, "seed": seed}
    return Unit(_named(policy, which), play, arguments, weight=_SECONDS[policy] * rounds / 1_000)


def _named(policy: str, which: int | str) -> str:
    return f"bandits-{policy.lower().replace(', ', '-').replace(' ', '-')}-{which}"


def gather(scale: Scale, results: Mapping[str, Result]) -> Bandits:
    """The clicks of all policies from the results of `units`."""
    days = scale.bandit_seeds
    replays = _replays(results, COMPARED, list(range(days)))
    at = _checked(scale)
    always = [results[_named(EVERY_ROUND, k)] for k in range(days)]
    return Bandits(
        replays=replays,
        whole=_replays(results, PLAYED_OUT, [_WHOLE]),
        logged=results[_named(PAPERS, _WHOLE)]["logged"],
        checked_at=at,
        refits=difference(replays.at([at]).clicks[CORRECT], _curves(always)[:, -1:]),
        seconds=(
            _seconds(results, [_named(policy, k) for policy in COMPARED for k in range(days)]),
            _seconds(results, [_named(policy, _WHOLE) for policy in PLAYED_OUT]),
            _seconds(results, [_named(EVERY_ROUND, k) for k in range(days)]),
        ),
    )


def _replays(
    results: Mapping[str, Result], policies: tuple[str, ...], which: list[int] | list[str]
) -> Replays:
    found = {policy: [results[_named(policy, each)] for each in which] for policy in policies}
    counted: npt.NDArray[np.intp] = np.asarray(found[PAPERS][0]["marks"], dtype=np.intp)
    return Replays(counted, {policy: _curves(each) for policy, each in found.items()}, CORRECT)


def _curves(results: list[Result]) -> FloatArray:
    return np.array([each["clicks"] for each in results], dtype=np.float64)


def _seconds(results: Mapping[str, Result], names: list[str]) -> float:
    return float(sum(results[name]["seconds"] for name in names))
