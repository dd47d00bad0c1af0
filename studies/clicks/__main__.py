"""Expected clicks of bandits against a correct Laplace bandit: ``python -m studies.clicks``."""

from __future__ import annotations

import argparse
import sys

from rich.console import Console
from rich.progress import track
from rich.table import Table

from fabcost.offline.intervals import per_cent
from fabcost.offline.methods import LEARNERS
from studies import claims
from studies.claims import Claim
from studies.clicks.worlds import CHECKPOINTS, FIXED, FRESH, WORLDS, Entry, Outcome, outcomes
from studies.documents import origin, write_page

FLOORS = (12.0, 4.0, 1.0)
LARGEST_REGRET = 0.93
SCALES = (1.0, 0.5, 0.25)
OURS, BASELINE = "FAB-COST", "Laplace"
Found = dict[Entry, Outcome]
Lines = list[list[str]]

WHEN_TO_LOWER = """## When to lower the scale

`Thompson(scale=1.0)` draws from the belief as it is. It explores for as long as the belief is
wide, and its price is paid at the start, while a wide prior says that any weight may be large.

Where candidates are new every round they vary the features by themselves, and a lower scale gains
at every checkpoint. In a fixed catalogue nothing else explores: what a draw wrongly rejects is
not shown again and the error stays. There a lower scale gains FAB-COST a little in the first
hundred rounds and loses more later. Laplace gains from a lower scale in both worlds, because the
mode that it stands on at the cold start is much nearer to zero than the posterior mean is, so
that its draws are more noise than signal; the scale makes up for some of that, and at lower
scales it overtakes FAB-COST in the fixed catalogue.

So keep 1 for a fixed catalogue and for long runs. Take 0.5 if candidates change all the time, or
if only the first hundred rounds count. For anything between, replay a log of your own: `fabcost
replay` takes `--policy fabcost@0.5`."""


def claims_of(found: Found) -> list[Claim]:
    """What the default must reach against the correct Laplace bandit."""
    ours, theirs = found[Entry(FRESH, OURS, 1.0)], found[Entry(FRESH, BASELINE, 1.0)]
    reached = per_cent(ours.clicks, theirs.clicks)
    claimed = []
    for rounds, floor, value, low, high in zip(CHECKPOINTS, FLOORS, *reached, strict=True):
        what = f"clicks over Laplace's after {rounds:,}"
        detail = f"± {(high - low) / 2.0:.1f} (95 %)"
        claimed.append(Claim(what, float(value), "at least", floor, detail, " %"))
        end = f"lower end of that interval after {rounds:,}"
        claimed.append(Claim(end, float(low), "at least", 0.0, "", " %"))
    regret = float(ours.regret.mean() / theirs.regret.mean())
    claimed.append(Claim("regret over Laplace's", regret, "at most", LARGEST_REGRET, "", "×"))
    return claimed


def beside_laplace(found: Found, world: str) -> Lines:
    """Every learner against Laplace at the same scale."""
    lines = [["learner", "scale", *(f"after {rounds:,}" for rounds in CHECKPOINTS), "regret"]]
    for entry, outcome in found.items():
        if entry.world == world:
            baseline = found[entry._replace(learner=BASELINE)]
            regret = outcome.regret.mean() / baseline.regret.mean()
            gained = _gained(outcome, baseline)
            lines.append([entry.learner, f"{entry.scale:g}", *gained, f"{regret:.3f}"])
    return lines


def beside_scale_one(found: Found) -> Lines:
    """FAB-COST and Laplace at each scale against themselves at scale 1."""
    titles = [f"after {rounds:,}" for rounds in CHECKPOINTS]
    lines = [["world", "learner", "scale", *titles, "clicks of random after 1,000, in per cent"]]
    for entry, outcome in found.items():
        if entry.learner in (OURS, BASELINE):
            one = found[entry._replace(scale=1.0)]
            over_random = outcome.clicks.mean(axis=0)[-1] / outcome.random.mean(axis=0)[-1]
            names = [entry.world, entry.learner, f"{entry.scale:g}"]
            lines.append([*names, *_gained(outcome, one), f"{100.0 * over_random:.0f} %"])
    return lines


def _gained(ours: Outcome, theirs: Outcome) -> list[str]:
    band = per_cent(ours.clicks, theirs.clicks)
    pairs = zip(band.mean, band.half, strict=True)
    return [f"{value:+.1f} ± {half:.1f} %" for value, half in pairs]


def as_table(lines: Lines, title: str) -> Table:
    """For the terminal."""
    laid_out = Table(*lines[0], title=title)
    for line in lines[1:]:
        laid_out.add_row(*line)
    return laid_out


def as_markdown(lines: Lines) -> str:
    """For the documentation."""
    rule = ["---"] * len(lines[0])
    return "\n".join(f"| {' | '.join(line)} |" for line in [lines[0], rule, *lines[1:]])


def page(found: Found, seeds: int) -> str:
    """The page of the documentation."""
    parts = [
        "# Clicks",
        origin("python -m studies.clicks --docs"),
        f"Expected clicks of bandits that meet the same visitors, {seeds} paired seeds, 15 weights "
        "of sd 0.5, intercept −4, prior variance 100, Thompson sampling. A gain is in per cent of "
        "the clicks of Laplace, refitted on all data after every impression, at the same scale, "
        "with its 95 % interval; regret is the ratio to Laplace's after the last round.",
        claims.as_markdown(claims_of(found)),
        *(f"## {world}\n\n{as_markdown(beside_laplace(found, world))}" for world in WORLDS),
        f"## Scales against scale 1\n\n{as_markdown(beside_scale_one(found))}",
        WHEN_TO_LOWER,
    ]
    return "\n\n".join(parts)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m studies.clicks", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--learner", action="append", choices=list(LEARNERS))
    parser.add_argument("--scale", action="append", type=float)
    parser.add_argument("--world", action="append", choices=list(WORLDS))
    parser.add_argument("--docs", action="store_true", help="write measurements/clicks.md")
    return parser.parse_args()


def main() -> None:
    options = _arguments()
    learners = dict.fromkeys([BASELINE, OURS, *(options.learner or LEARNERS)])
    scales = dict.fromkeys([1.0, *(options.scale or SCALES)])
    worlds = dict.fromkeys([FRESH, *(options.world or (FIXED,))])
    entries = [Entry(w, learner, scale) for w in worlds for scale in scales for learner in learners]
    playing = outcomes(entries, options.seeds)
    found = dict(track(playing, "playing", total=len(entries), console=Console(stderr=True)))
    console = Console(width=None if sys.stdout.isatty() else 140)
    for world in worlds:
        title = f"{world}, {options.seeds} paired seeds"
        console.print(as_table(beside_laplace(found, world), title))
    console.print(as_table(beside_scale_one(found), "Scales against scale 1"))
    small = options.seeds < 200
    console.print(claims.as_table(claims_of(found), quick=small, title="Clicks"))
    if options.docs:
        console.print(f"wrote {write_page('clicks.md', page(found, options.seeds))}")


if __name__ == "__main__":
    main()
