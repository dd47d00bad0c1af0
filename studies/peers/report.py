"""How the comparison with other libraries reads: its tables and its page."""

from __future__ import annotations

import numpy as np

from studies import claims
from studies.claims import Claim
from studies.documents import origin
from studies.peers.claims import Found, error
from studies.peers.measure import TIMED
from studies.peers.settings import LARGE, SETTINGS, SMALL, Setting
from studies.peers.workload import CLICK_RATE, WEIGHT_SD, WEIGHTS
from studies.timing import as_text


def policies_table(found: Found) -> list[list[str]]:
    """One row for each policy as it comes, with the best of its grid beside it."""
    head = ["policy", *(f"decide, K = {items:,}" for items in TIMED), "update (mean)"]
    head += [f"share, K = {items}: default; best of grid" for items in (SMALL, LARGE)]
    rows = [_policy_row(found, i) for i, each in enumerate(SETTINGS) if each.default]
    return [head, *rows]


def _policy_row(found: Found, number: int) -> list[str]:
    setting = SETTINGS[number]
    times = [found.clocks.get((number, items)) for items in TIMED]
    typical = found.clocks[number, SMALL]
    return [
        setting.policy,
        *("–" if each is None else as_text(each.decide) for each in times),
        f"{as_text(typical.update)} ({as_text(typical.mean_update)})",
        *(_share_and_best(found, setting, number, items) for items in (SMALL, LARGE)),
    ]


def _share_and_best(found: Found, setting: Setting, number: int, items: int) -> str:
    grid = [
        i
        for i, each in enumerate(SETTINGS)
        if each.policy == setting.policy and (i, items) in found.shares
    ]
    if not grid:
        return "–"
    means = found.paired(items, *grid).mean(axis=0)
    best = int(means.argmax())
    return f"{means[grid.index(number)]:.3f}; {means[best]:.3f} ({SETTINGS[grid[best]].knob})"


def grid_table(found: Found) -> list[list[str]]:
    """Every setting with its shares, their standard errors and the number of seeds."""
    head = ["policy", "setting", f"share, K = {SMALL}", f"share, K = {LARGE}"]
    return [head, *(_grid_row(found, i) for i, each in enumerate(SETTINGS) if each.shares)]


def _grid_row(found: Found, number: int) -> list[str]:
    setting = SETTINGS[number]
    knob = setting.knob + (" (default)" if setting.default else "")
    return [setting.policy, knob, *(_spread(found, number, items) for items in (SMALL, LARGE))]


def _spread(found: Found, number: int, items: int) -> str:
    runs = np.array(list(found.shares.get((number, items), {}).values()))
    return f"{runs.mean():.4f} ± {error(runs):.4f} ({runs.size})" if runs.size else "–"


def page(found: Found, made: list[Claim]) -> str:
    """The page of the documentation."""
    parts = [
        "# Beside other libraries",
        origin("python -m studies.peers"),
        _workload(found.rounds),
        claims.as_markdown(made),
        "## Policies as they come, and the best of a small grid",
        "Medians of single calls, one thread, libraries in turns; the mean of the updates counts "
        "the EP refreshes too. Shares are means over the seeds that the whole grid played.",
        _as_markdown(policies_table(found)),
        "## Every setting",
        "Share ± standard error over seeds (number of seeds). Seeds differ more than policies "
        "do; the claims compare policies on the same seeds.",
        _as_markdown(grid_table(found)),
    ]
    return "\n\n".join(parts)


def _workload(rounds: int) -> str:
    return (
        f"A context u of {WEIGHTS} numbers, new in each of {rounds:,} rounds; K items v that stay; "
        f"the row of an item is u∘v, clicked with probability σ(xᵀθ). The first element of u and v "
        f"is 1 and carries the bias, the rest are standard normal; weights have sd {WEIGHT_SD:g}, "
        f"and the bias makes the mean click rate {CLICK_RATE:.0%}. One update a round. "
        "Share = (clicks − random)/(oracle − random), in expected clicks. fabcost starts "
        "from the prior N(0, 10 I), bayesianbandits from N(0, I), the default of each; the grids "
        "have other priors. MABWiser has one model for each item and sees u only. Input is brought "
        "into each library's own form off the clock: for VW that is parsing."
    )


def _as_markdown(table: list[list[str]]) -> str:
    head, *rows = (f"| {' | '.join(row)} |" for row in table)
    return "\n".join([head, "|---" * len(table[0]) + "|", *rows])
