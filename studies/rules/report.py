"""What the games say: ratios to Thompson sampling, the choice, and what is claimed of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from fabcost.impressions import FloatArray
from fabcost.offline.intervals import per_cent
from fabcost.offline.methods import FAB_COST, LAPLACE
from studies.claims import Claim
from studies.clicks.worlds import FIXED, FRESH
from studies.rules.costs import Cost
from studies.rules.games import (
    DEFAULT,
    OF_LAPLACE,
    OWN,
    RULES,
    THOMPSON,
    WIDE,
    Game,
    Results,
)
from studies.rules.kept import LATE as VISITORS
from studies.rules.kept import Cell
from studies.rules.plan import (
    CHOOSING,
    CONFIRMING,
    DELAYED,
    DELAYS,
    FIXED_TREES,
    FROZEN,
    OTHERS_CONFIRMING,
    REGRETS_CHOOSING,
    SEEDS_CONFIRMED_LATE,
    SEEDS_LATE,
    Trial,
)
from studies.rules.worlds import (
    CLICKS,
    LOGS_CHOOSING,
    LOGS_CONFIRMING,
    TREES_CONFIRMING,
)

NEAR = 0.05  # mean regrets that do not tell rules apart
REGRET, EARLY, LATE = -1, 0, 2  # places in a result: the regret, clicks after 100 and at the end
Lines = list[list[str]]


class Side(NamedTuple):
    """Who plays."""

    rule: str
    learner: str = FAB_COST
    prior: str = DEFAULT
    delay: int = 0


class Ratio(NamedTuple):
    """A ratio of means over paired seeds, with its 95 % interval."""

    mean: float
    half: float
    seeds: int

    def __str__(self) -> str:
        return f"{self.mean:.2f} ± {self.half:.2f}" if self.seeds else "–"


class Report:
    """Ratios of what was found; of games that are not at hand, those that were ``kept``."""

    def __init__(
        self, results: Results, kept: dict[Cell, tuple[float, float]] | None = None
    ) -> None:
        self.results, self.kept = results, kept or {}

    def values(self, world: str, side: Side, place: int, seeds: Iterable[int]) -> FloatArray:
        """One number of every game, by seed; NaN where none was played."""
        nothing = [np.nan] * 4
        games = (Game(world, side.rule, seed, *side[1:]) for seed in seeds)
        return np.array([self.results.get(game, nothing)[place] for game in games])

    def ratio(
        self, worlds: Sequence[str], ours: Side, theirs: Side, place: int, seeds: Iterable[int]
    ) -> Ratio:
        """Of sums over worlds."""
        seeds = list(seeds)
        sums = [
            np.sum([self.values(world, side, place, seeds) for world in worlds], axis=0)
            for side in (ours, theirs)
        ]
        both = np.isfinite(sums[0]) & np.isfinite(sums[1])
        told_late = ours.delay > 0 or ours.prior != prior_in(worlds[0])
        cell = Cell(worlds[0], str(ours.delay) if told_late else "", ours.rule)
        chosen_on = seeds in (list(CHOOSING), list(SEEDS_LATE))
        if chosen_on and not both.all() and cell in self.kept:
            return Ratio(*self.kept[cell], seeds=len(seeds))
        if not both.any():
            return Ratio(np.nan, np.nan, 0)
        band = per_cent(sums[0][both, None], sums[1][both, None])
        return Ratio(
            1.0 + float(band.mean[0]) / 100.0, float(band.half[0]) / 100.0, int(both.sum())
        )


def prior_in(world: str) -> str:
    """The prior under which rules are compared in a world."""
    return WIDE if world in CLICKS else DEFAULT


def beyond_thompson(
    report: Report, rule: str, world: str, seeds: range, learner: str = FAB_COST
) -> Ratio:
    """Regret over Thompson's; of a log, its clicks."""
    place = LATE if world.startswith("log") else REGRET
    ours, theirs = (Side(each, learner, prior_in(world)) for each in (rule, THOMPSON))
    return report.ratio([world], ours, theirs, place, seeds)


def geometric_means(report: Report) -> dict[str, float]:
    """Of the regrets over Thompson's in all worlds to choose on, for each rule."""
    worlds = (*CLICKS, *REGRETS_CHOOSING)
    return {
        rule: float(np.exp(np.mean([np.log(_of(report, rule, world).mean) for world in worlds])))
        for rule in RULES[1:]
    }


def choice(report: Report, means: dict[str, float], seconds: dict[str, Cost]) -> str:
    """The rule that takes least time of those as good as the best.

    These are within `NEAR` of the least mean regret, and nowhere clearly worse than Thompson
    sampling, by an interval.
    """
    return min(as_good(report, means), key=lambda rule: seconds[rule].which)


def as_good(report: Report, means: dict[str, float]) -> list[str]:
    """Rules of the least mean regret that are nowhere clearly worse than Thompson sampling."""
    sound = [rule for rule in means if not losses(report, rule)]
    least = min(means[rule] for rule in sound)
    return [rule for rule in sound if means[rule] <= least + NEAR]


def _of(report: Report, rule: str, world: str) -> Ratio:
    return beyond_thompson(report, rule, world, CHOOSING)


def losses(report: Report, rule: str) -> list[str]:
    """Where a rule is clearly worse than Thompson sampling: worlds, logs, and late outcomes."""
    lost = [
        world
        for world in (*CLICKS, *REGRETS_CHOOSING, *LOGS_CHOOSING)
        if is_worse(_of(report, rule, world), world.startswith("log"))
    ]
    if rule in DELAYED:
        for world, delay in product(CLICKS, DELAYS):
            if is_worse(late_ratio(report, rule, world, delay, SEEDS_LATE), clicks=False):
                lost.append(f"{world}, {delay} visitors late")
    return lost


def rule_lines(report: Report, means: dict[str, float], seconds: dict[str, Cost]) -> Lines:
    """What the choice is made of."""
    lines = [["rule", "mean regret", "clearly worse in", "time"]]
    for rule, mean in means.items():
        time = f"{1e6 * seconds[rule].which:,.0f} µs"
        lines.append([rule, f"{mean:.2f}", f"{len(losses(report, rule))}", time])
    return lines


def table(report: Report, rules: Sequence[str], worlds: Sequence[str], seeds: range) -> Lines:
    """A row for each world and a column for each rule."""
    lines = [["world", *rules[1:]]]
    for world in worlds:
        found = [beyond_thompson(report, rule, world, seeds) for rule in rules[1:]]
        lines.append([world, *(marked(each, world.startswith("log")) for each in found)])
    return lines


def marked(ratio: Ratio, clicks: bool) -> str:
    """Bold where the interval says that a rule is worse than Thompson sampling."""
    return f"**{ratio}**" if is_worse(ratio, clicks) else str(ratio)


def is_worse(ratio: Ratio, clicks: bool) -> bool:
    """Whether the interval is on the wrong side of 1."""
    return ratio.mean + ratio.half < 1.0 if clicks else ratio.mean - ratio.half > 1.0


def late_ratio(report: Report, rule: str, world: str, delay: int, seeds: range) -> Ratio:
    """Regret over Thompson's where outcomes are known after so many more visitors."""
    theirs = Side(THOMPSON, delay=delay)
    return report.ratio([world], Side(rule, delay=delay), theirs, REGRET, seeds)


def late_lines(report: Report) -> Lines:
    """Late outcomes, on the half to choose on."""
    lines = [["world", VISITORS, *DELAYED[1:]]]
    for world, delay in product(CLICKS, DELAYS):
        found = [late_ratio(report, rule, world, delay, SEEDS_LATE) for rule in DELAYED[1:]]
        lines.append([world, str(delay), *(marked(each, clicks=False) for each in found)])
    return lines


def other_lines(report: Report) -> Lines:
    """Late outcomes, confirmed, and worlds of which nothing is claimed."""
    lines = [["world", VISITORS, "regret", "seeds"]]
    late = product(CLICKS, DELAYS[1:], [SEEDS_CONFIRMED_LATE])
    for world, delay, seeds in (*late, *((each, 0, CONFIRMING) for each in OTHERS_CONFIRMING)):
        found = late_ratio(report, FROZEN, world, delay, seeds)
        lines.append([world, str(delay), marked(found, clicks=False), str(found.seeds)])
    return lines


def click_lines(report: Report, trial: Trial) -> Lines:
    """The two click worlds on seeds never met before."""
    lines = [["world", "prior variance", "learner, rule", "regret", "clicks after 100", "seeds"]]
    for world in CLICKS:
        both = product((FAB_COST, LAPLACE), (WIDE, DEFAULT), (THOMPSON, trial.rule))
        sides = [Side(rule, learner, prior) for learner, prior, rule in both]
        sides += [Side(rule, LAPLACE, WIDE) for rule in OF_LAPLACE[1:]]
        for side in sides:
            regret, early = (report.values(world, side, at, trial.many) for at in (REGRET, EARLY))
            found = np.isfinite(regret)
            prior = side.prior if side.prior == WIDE else "1, constant 100"
            cells = [f"{regret[found].mean():.1f}", f"{early[found].mean():.1f}", f"{found.sum()}"]
            lines.append([world, prior, f"{side.learner}, {side.rule}", *cells])
    return lines


def best_laplace(report: Report, world: str, seeds: range) -> Side:
    """Laplace under Thompson sampling, at the scale of least regret on the very seeds compared."""
    sides = [Side(rule, LAPLACE, WIDE) for rule in OF_LAPLACE]
    means = [np.nanmean(report.values(world, side, REGRET, seeds)) for side in sides]
    return sides[int(np.argmin(means))]


def claimed(report: Report, trial: Trial) -> list[Claim]:
    """What a default must do, on the half to confirm on."""
    found = []
    for world, regret, clicks in ((FRESH, 0.70, 20.0), (FIXED, 0.82, 8.0)):
        ours, theirs = Side(trial.rule, prior=WIDE), Side(THOMPSON, prior=WIDE)
        ratio = report.ratio([world], ours, theirs, REGRET, trial.many)
        early = report.ratio([world], ours, theirs, EARLY, trial.many)
        found += [
            _ratio_claim(f"{world}: regret over Thompson's", ratio, regret),
            _ratio_claim(f"{world}: upper end of that", ratio, 1.0, at=ratio.mean + ratio.half),
            Claim(
                f"{world}: clicks beyond Thompson's after 100",
                100.0 * (early.mean - 1.0),
                "at least",
                clicks,
                f"± {100.0 * early.half:.0f} %, {early.seeds} seeds",
                unit=" %",
            ),
        ]
    return found + _against_laplace(report, trial) + _elsewhere(report, trial)


def _against_laplace(report: Report, trial: Trial) -> list[Claim]:
    ours, found, ratios = Side(trial.rule, prior=WIDE), [], []
    for world in CLICKS:
        theirs = best_laplace(report, world, trial.many)
        ratios.append(report.ratio([world], ours, theirs, REGRET, trial.many))
        what = f"{world}: regret over Laplace's at its best scale, {theirs.rule}"
        found.append(_ratio_claim(what, ratios[-1], 1.0))
    least = min(ratios, key=lambda ratio: ratio.mean + ratio.half)
    end = least.mean + least.half
    return [*found, _ratio_claim("the better of these two: upper end", least, 1.0, at=end)]


def _elsewhere(report: Report, trial: Trial) -> list[Claim]:
    seeds, logs, ours = trial.of_logs, list(LOGS_CONFIRMING), Side(trial.rule)
    same = report.ratio(logs, ours, Side(trial.rule, LAPLACE), LATE, seeds)
    other = report.ratio(logs, ours, Side(THOMPSON, LAPLACE), LATE, seeds)
    return [
        *_of_trees(report, trial),
        _log_claim("same rule", same),
        _log_claim("Thompson", other),
    ]


def trees_confirmed(report: Report, trial: Trial, of_fixed: str) -> dict[str, Ratio]:
    """Regret over Thompson's in each world of trees, with a learner for those where items stay."""
    return {
        world: beyond_thompson(
            report, trial.rule, world, trial.many, of_fixed if world in FIXED_TREES else FAB_COST
        )
        for world in TREES_CONFIRMING
    }


def _of_trees(report: Report, trial: Trial) -> list[Claim]:
    found = []
    for learner, which in ((FAB_COST, ""), (OWN, ", items with effects of their own")):
        each = list(trees_confirmed(report, trial, learner).values())
        mean, worst = np.mean([e.mean for e in each]), max(each, key=lambda e: e.mean - e.half)
        many, seeds = f"{len(each)} worlds of trees{which}", sorted({e.seeds for e in each})
        detail = f"{' or '.join(map(str, seeds))} seeds"
        end = worst.mean - worst.half
        found += [
            Claim(f"{many}: mean regret over Thompson's", float(mean), "at most", 0.9, detail),
            _ratio_claim(f"{many}: the largest lower end", worst, 1.0, at=end),
        ]
    return found


def tree_lines(report: Report, trial: Trial) -> Lines:
    """Ratios in every world of trees, and where items stay the regrets themselves."""
    lines = [
        ["world", "features alone", "regret", "Thompson's", "own effects", "regret", "Thompson's"]
    ]
    plain, own = (trees_confirmed(report, trial, learner) for learner in (FAB_COST, OWN))
    for world in TREES_CONFIRMING:
        cells = [marked(plain[world], clicks=False), *_regrets(report, trial, world, FAB_COST)]
        if world in FIXED_TREES:
            cells += [marked(own[world], clicks=False), *_regrets(report, trial, world, OWN)]
        lines.append([world, *cells, *[""] * (6 - len(cells))])
    return lines


def _regrets(report: Report, trial: Trial, world: str, learner: str) -> list[str]:
    sides = (Side(rule, learner) for rule in (trial.rule, THOMPSON))
    return [f"{np.nanmean(report.values(world, side, REGRET, trial.many)):.1f}" for side in sides]


def _ratio_claim(what: str, ratio: Ratio, required: float, at: float | None = None) -> Claim:
    detail = f"{ratio}, {ratio.seeds} seeds"
    return Claim(what, ratio.mean if at is None else at, "at most", required, detail)


def _log_claim(rule: str, ratio: Ratio) -> Claim:
    what = f"{len(LOGS_CONFIRMING)} logs: pooled clicks over Laplace's, {rule}"
    return Claim(what, ratio.mean, "at least", 1.0, f"{ratio}, {ratio.seeds} seeds")


def as_markdown(lines: Lines) -> str:
    """A table."""
    rule = ["---"] * len(lines[0])
    return "\n".join(f"| {' | '.join(line)} |" for line in [lines[0], rule, *lines[1:]])
