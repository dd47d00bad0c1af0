"""What the games say: ratios to Thompson sampling, the choice, and what is claimed of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from fabcost.impressions import FloatArray
from fabcost.offline.intervals import per_cent
from fabcost.offline.methods import FAB_COST, LAPLACE
from studies import claims
from studies.claims import Claim
from studies.clicks.worlds import FIXED, FRESH
from studies.documents import origin
from studies.rules.costs import CANDIDATES, DRAWS, WEIGHTS, Cost, costs
from studies.rules.games import (
    DEFAULT,
    HALF_LIFE,
    OWN,
    RULES,
    SCALES,
    THOMPSON,
    WIDE,
    Game,
    Results,
)
from studies.rules.plan import (
    CHOOSING,
    CONFIRMING,
    DELAYED,
    DELAYS,
    FIRST,
    FIXED_TREES,
    FROZEN,
    MENDING,
    REGRETS_CHOOSING,
    REGRETS_CONFIRMING,
    RIVALS,
    SECOND,
    SEEDS_LATE,
    SEEN,
    TRIAL,
    Trial,
)
from studies.rules.worlds import (
    CLICKS,
    DRIFT,
    LOGS_CHOOSING,
    LOGS_CONFIRMING,
    ROUNDS,
    TREES_CONFIRMING,
    TREES_RARE,
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
        return f"{self.mean:.2f} ± {self.half:.2f}"


class Report:
    """Ratios of what was found."""

    def __init__(self, results: Results) -> None:
        self.results = results

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
    """The rule that takes least time of those within `NEAR` of the least mean regret.

    A rule is not eligible that is clearly worse than Thompson sampling anywhere, by an interval.
    """
    sound = [rule for rule in means if not _loses(report, rule)]
    least = min(means[rule] for rule in sound)
    near = [rule for rule in sound if means[rule] <= least + NEAR]
    return min(near, key=lambda rule: seconds[rule].plain)


def _of(report: Report, rule: str, world: str) -> Ratio:
    return beyond_thompson(report, rule, world, CHOOSING)


def _loses(report: Report, rule: str) -> bool:
    regrets = [_of(report, rule, world) for world in (*CLICKS, *REGRETS_CHOOSING)]
    clicks = [_of(report, rule, world) for world in LOGS_CHOOSING]
    worse = any(each.mean - each.half > 1.0 for each in regrets)
    return worse or any(each.mean + each.half < 1.0 for each in clicks)


def rule_lines(means: dict[str, float], seconds: dict[str, Cost]) -> Lines:
    """What the choice is made of."""
    thompson = seconds[THOMPSON]
    lines = [["rule", "mean regret", "time of a decision", "over Thompson's", "with propensities"]]
    for rule, mean in means.items():
        cost = seconds[rule]
        times = [f"{cost.plain / thompson.plain:.1f}", f"{cost.logged / thompson.logged:.1f}"]
        lines.append([rule, f"{mean:.2f}", f"{1e6 * cost.plain:,.0f} µs", *times])
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
    worse = ratio.mean + ratio.half < 1.0 if clicks else ratio.mean - ratio.half > 1.0
    return f"**{ratio}**" if worse else str(ratio)


def late_lines(report: Report) -> Lines:
    """Regret over Thompson's where outcomes are known after so many more visitors."""
    lines = [["world", "visitors before an outcome", *DELAYED[1:]]]
    for world in CLICKS:
        for delay in DELAYS:
            theirs = Side(THOMPSON, delay=delay)
            found = [
                report.ratio([world], Side(rule, delay=delay), theirs, REGRET, SEEDS_LATE)
                for rule in DELAYED[1:]
            ]
            lines.append([world, str(delay), *(marked(each, clicks=False) for each in found)])
    return lines


def click_lines(report: Report, trial: Trial) -> Lines:
    """The two click worlds on seeds never met before."""
    lines = [["world", "prior variance", "learner, rule", "regret", "clicks after 100", "seeds"]]
    for world in CLICKS:
        sides = [Side(rule, prior=p) for p in (WIDE, DEFAULT) for rule in (THOMPSON, trial.rule)]
        sides += [Side(rule, LAPLACE, WIDE) for rule in SCALES[1:]]
        for side in sides:
            regret, early = (report.values(world, side, at, trial.many) for at in (REGRET, EARLY))
            found = np.isfinite(regret)
            prior = side.prior if side.prior == WIDE else "1, constant 100"
            cells = [f"{regret[found].mean():.1f}", f"{early[found].mean():.1f}", f"{found.sum()}"]
            lines.append([world, prior, f"{side.learner}, {side.rule}", *cells])
    return lines


def best_laplace(report: Report, world: str, seeds: range) -> Side:
    """Laplace under Thompson sampling, at the scale of least regret on the very seeds compared."""
    sides = [Side(rule, LAPLACE, WIDE) for rule in SCALES[1:]]
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
        theirs = best_laplace(report, world, trial.of_laplace)
        ratios.append(report.ratio([world], ours, theirs, REGRET, trial.of_laplace))
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


def page(results: Results) -> str:
    """The text of docs/measurements/rules.md."""
    report = Report(results)
    means, seconds = geometric_means(report), costs()
    rule = choice(report, means, seconds)
    simulated = (*CLICKS, *REGRETS_CHOOSING)
    found = claimed(report, TRIAL)
    return "\n\n".join(
        [
            "# Rules",
            origin("python -m studies.rules --docs"),
            f"Which rule shows the better candidates, after {ROUNDS:,} rounds of FAB-COST from the "
            f"same prior, visitors paired by seed. It was chosen on one half of worlds, logs and "
            f"seeds, written down as `{FROZEN}`, and then confirmed on the other half. Numbers are "
            "ratios to Thompson sampling of scale 1, with 95 % intervals: of regret, where less is "
            "better, and of clicks on logs, where more is. **Bold** is clearly worse than Thompson "
            "sampling.",
            "## Worlds",
            f"*{FRESH}* and *{FIXED}* are those of [clicks](clicks.md), here with prior variance "
            f"{WIDE} for all weights; all others have `fabcost.Prior()`, 100 for the constant and "
            f"1 for the rest. *{DRIFT}*: an autoregression with a memory of 250 rounds; the "
            f"learner has a half-life of {HALF_LIFE:g}. *Trees*: rows of public and made sets, 20 "
            "at random for each visitor (fresh) or 200 that stay (fixed), with clicks of boosted "
            "trees, which no linear model fits. *Arms*: one model for each class, told only "
            "whether it was right. *Logs*: 20 of the remaining rows at random for each visitor, "
            "the logged outcome of the one shown, which is then removed.",
            f"## To choose on: seeds {CHOOSING[0]} to {CHOOSING[-1]}",
            as_markdown(table(report, RULES, (*simulated, *LOGS_CHOOSING), CHOOSING)),
            f"Mean regret is the geometric mean over the worlds above; time is that of a decision "
            f"over {CANDIDATES:,} candidates with {WEIGHTS} weights, without propensities, and its "
            f"ratio to Thompson's without and with those of {DRAWS} draws, the least over turns.",
            as_markdown(rule_lines(means, seconds)),
            f"Of the rules that are nowhere clearly worse than Thompson sampling, those within "
            f"{NEAR:g} of the least mean regret are as good, and of these `{rule}` takes the least "
            f"time here. When rules by log-odds could not compare values, and none scattered, that "
            f"was `{FIRST}`; it was frozen, and confirmed. Then outcomes that are known late "
            "(below) and [new items](forgetting.md#a-new-item) were tried, on seeds of their own: "
            "plain TS-UCB is worse than Thompson sampling with the first, and seldom shows the "
            f"second. `{SECOND}`, a sixteenth of each candidate's own draw, is neither; it was "
            f"confirmed on {len(SEEN)} seeds, but lost in one world of trees:",
            as_markdown(table(report, (THOMPSON, SECOND), list(TREES_CONFIRMING), SEEN)),
            "There 200 items stay, clicks are rare and the model is wrong: a rule that trusts it "
            "settles on an item too early, and what Thompson sampling explores beyond need pays. "
            "So six other made sets of this kind were tried:",
            as_markdown(table(report, MENDING, list(TREES_RARE), CHOOSING)),
            f"More of the own draw helps, and costs little above. `{FROZEN}` was written down; it "
            "has met none of the seeds that follow, and neither has any other rule. Why it "
            "still loses there, what helps, and the default that came of it, confirmed like this "
            "one, are on [Rare clicks](rare-clicks.md).",
            f"## To confirm on: `{FROZEN}`, seeds from {TRIAL.many[0]}",
            claims.as_markdown(found),
            "## The click worlds, confirmed",
            as_markdown(click_lines(report, TRIAL)),
            "## Worlds of trees, confirmed",
            "Regret over Thompson's, and both regrets. Where items stay they are also known by "
            "name, and a recommender or a service gives each an effect of its own "
            "(`fabcost.Prior().items`), for both rules here.",
            as_markdown(tree_lines(report, TRIAL)),
            "## Other worlds and logs, confirmed",
            as_markdown(table(report, RIVALS, (*REGRETS_CONFIRMING, *LOGS_CONFIRMING), CONFIRMING)),
            *_late(report),
        ]
    )


def _late(report: Report) -> list[str]:
    """The part on outcomes that are known late, if such games were played."""
    if not any(game.delay for game in report.results):
        return []
    return [
        "## Outcomes that are known late",
        f"Above, an outcome is learnt before the next visitor comes. A service often learns it "
        f"many visitors later. Seeds {SEEDS_LATE[0]} to {SEEDS_LATE[-1]}, `fabcost.Prior()`; "
        "scattered is `scatter=1/16`, chosen among 0.03 to 0.4 on other seeds, or as it says.",
        as_markdown(late_lines(report)),
        "The choice of TS-UCB is random through one number, the target: until an outcome is "
        "known it shows nearly the same candidate to everyone, and learns it many times over. "
        "Thompson sampling divides visitors among candidates. A little of each candidate's own "
        "draw in its score does the same for TS-UCB.",
    ]
