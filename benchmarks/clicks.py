"""Expected clicks of bandits against a correct Laplace bandit: ``python -m benchmarks.clicks``."""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from threadpoolctl import threadpool_limits

from benchmarks.claims import Claim, as_table
from fabcost import Gaussian, Thompson
from fabcost.bandit.environment import FreshCandidates
from fabcost.experiments.clicks import LEARNERS, Contender, run
from fabcost.impressions import FloatArray

WEIGHTS = 15
CANDIDATES = 20
PRIOR_VARIANCE = 100.0
CHECKPOINTS = (100, 300, 1000)
FLOORS = (12.0, 4.0, 1.0)
LARGEST_REGRET = 0.93
SCALES = (1.0, 0.5, 0.25)


@dataclass(frozen=True)
class Outcome:
    """Expected clicks at the checkpoints and final regret, for every seed."""

    clicks: FloatArray
    regret: FloatArray


def play(learner: str, scale: float, seed: int) -> FloatArray:
    """Expected clicks at the checkpoints, then the final regret."""
    weights, _ = np.random.default_rng(seed).spawn(2)
    environment = FreshCandidates.random(WEIGHTS, candidates=CANDIDATES, rng=weights)
    prior = Gaussian.isotropic(WEIGHTS, variance=PRIOR_VARIANCE)
    contender = Contender(learner, Thompson(scale=scale))
    with threadpool_limits(1):
        course = run(contender, environment, prior, rounds=CHECKPOINTS[-1], seed=seed)
    clicks = course.expected.cumsum()[np.array(CHECKPOINTS) - 1]
    return np.append(clicks, course.regret[-1])


def measure(
    pairs: list[tuple[str, float]], seeds: int, console: Console
) -> dict[tuple[str, float], Outcome]:
    """Every contender with every seed, side by side on the cores."""
    with ProcessPoolExecutor() as pool:
        running = {
            (learner, scale): pool.map(
                play, [learner] * seeds, [scale] * seeds, range(seeds), chunksize=4
            )
            for learner, scale in pairs
        }
        outcomes = {}
        for pair in track(running, "playing", console=console):
            values = np.array(list(running[pair]))
            outcomes[pair] = Outcome(values[:, :-1], values[:, -1])
    return outcomes


def gain(ours: Outcome, theirs: Outcome) -> tuple[FloatArray, FloatArray]:
    """Gain in per cent of the baseline's clicks, and half its 95 % interval, paired by seed."""
    base = theirs.clicks.mean(axis=0)
    ratio = ours.clicks.mean(axis=0) / base - 1.0
    residual = ours.clicks - (1.0 + ratio) * theirs.clicks
    error = residual.std(axis=0, ddof=1) / np.sqrt(len(residual)) / base
    return 100.0 * ratio, 196.0 * error


def claims(outcomes: dict[tuple[str, float], Outcome]) -> list[Claim]:
    """What the default must reach against the correct Laplace bandit."""
    ours, theirs = outcomes["FAB-COST", 1.0], outcomes["Laplace", 1.0]
    gains, halves = gain(ours, theirs)
    found = []
    for rounds, floor, value, half in zip(CHECKPOINTS, FLOORS, gains, halves, strict=True):
        what = f"clicks over Laplace's after {rounds:,}"
        detail = f"± {half:.1f} (95 %)"
        found.append(Claim(what, float(value), "at least", floor, detail, " %"))
        low = f"lower end of that interval after {rounds:,}"
        found.append(Claim(low, float(value - half), "at least", 0.0, "", " %"))
    regret = float(ours.regret.mean() / theirs.regret.mean())
    found.append(Claim("regret over Laplace's", regret, "at most", LARGEST_REGRET, "", "×"))
    return found


def table(outcomes: dict[tuple[str, float], Outcome], seeds: int) -> Table:
    """Every contender against Laplace at the same scale."""
    titles = [f"after {rounds:,}" for rounds in CHECKPOINTS]
    laid_out = Table("learner", "scale", *titles, "regret", title=f"{seeds} paired seeds")
    for (learner, scale), outcome in outcomes.items():
        baseline = outcomes["Laplace", scale]
        gains, halves = gain(outcome, baseline)
        cells = [f"{g:+.1f} ± {h:.1f} %" for g, h in zip(gains, halves, strict=True)]
        regret = outcome.regret.mean() / baseline.regret.mean()
        laid_out.add_row(learner, f"{scale:g}", *cells, f"{regret:.3f}")
    return laid_out


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seeds", type=int, default=200)
    arguments.add_argument("--learner", action="append", choices=list(LEARNERS))
    arguments.add_argument("--scale", action="append", type=float)
    options = arguments.parse_args()
    learners = dict.fromkeys(["Laplace", "FAB-COST", *(options.learner or LEARNERS)])
    scales = dict.fromkeys([1.0, *(options.scale or SCALES)])
    console = Console()
    pairs = [(learner, scale) for scale in scales for learner in learners]
    outcomes = measure(pairs, options.seeds, console)
    console.print(table(outcomes, options.seeds))
    console.print(as_table(claims(outcomes), quick=options.seeds < 200, title="Clicks"))


if __name__ == "__main__":
    main()
