"""Clicks with data as they come beside data scaled by hand: ``python -m studies.raw_data``."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from studies import claims
from studies.documents import origin, write_page
from studies.kept import Kept
from studies.raw_data import requirements
from studies.raw_data.sites import BY_HAND, COUNT, RATE, SITES
from studies.raw_data.visits import Runs

VISITS = 3_000
SEEDS = 20

PAGE = """# Data as they come

{origin}

What is asked of data as they come, through the public names, each with its measurement:

{claims}

## Clicks, site by site

{count} adverts, {visits:,} visits; adverts shown at random are clicked {rate:.0%} of the time,
which is {chance:.0f} clicks. Recommenders with open schemas see the same visitors:

- *by hand*: numbers are standardised before they are given, with constants that nobody knows at a
  cold start, and there are no users' ids;
- *as they come*: raw numbers, dates and strings, in `Schema.open()`;
- *without ids*: the same, but for the users' ids;
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


def row(runs: Runs, site: str, arm: str) -> str:
    """A row of the table of sites."""
    found = runs.of(site, arm)
    clicks = np.array([run.clicks for run in found])
    gain = ""
    if arm != BY_HAND:
        more, half = runs.beyond(site, arm, BY_HAND)
        gain = f"{more:+.1f} ({more - half:+.1f} to {more + half:+.1f}) %"
    weights, spent = max(run.weights for run in found), np.median([r.milliseconds for r in found])
    squeezed = ", ".join(sorted({each for run in found for each in run.squeezed}))
    reach = f"{clicks.min()} to {clicks.max()}"
    cells = [site, arm, f"{len(found)}", f"{clicks.mean():.0f}", reach, gain, f"{weights}"]
    return "| " + " | ".join([*cells, f"{spent:.1f}", squeezed]) + " |"


def page(runs: Runs, found: list[claims.Claim], command: str) -> str:
    """The page of the documentation."""
    return PAGE.format(
        origin=origin(command),
        claims=claims.as_markdown(found),
        count=COUNT,
        visits=runs.visits,
        rate=RATE,
        chance=RATE * runs.visits,
        rows="\n".join(row(runs, site, arm) for site, arms in runs.arms.items() for arm in arms),
        legend="\n".join(f"| {name} | {(SITES[name].__doc__ or '').strip()} |" for name in SITES),
    )


def main() -> None:
    """Print the page, or write it into the documentation."""
    parser = argparse.ArgumentParser(prog="python -m studies.raw_data", description=__doc__)
    parser.add_argument("--docs", action="store_true", help="write docs/measurements/raw-data.md")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--visits", type=int, default=VISITS)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kept", type=Path, help="a file for what is done; a stopped run goes on")
    given = parser.parse_args()
    kept = Kept(given.kept, workers=given.workers)
    few = max(2, 3 * given.seeds // 10)
    sizes = dict.fromkeys(SITES, few) | dict.fromkeys(["natural", "user ids"], given.seeds)
    runs = Runs(sizes, given.visits, kept)
    found = requirements.measured(runs, kept, given.seeds)
    text = page(runs, found, "python -m studies.raw_data --docs")
    if given.docs:
        write_page("raw-data.md", text)
    print(text)


if __name__ == "__main__":
    main()
