"""The page of rules: one plan, one half to choose on, the other to confirm on."""

from __future__ import annotations

from fabcost.offline.methods import FAB_COST
from studies import claims
from studies.clicks.worlds import FIXED, FRESH
from studies.documents import origin
from studies.rules import grid, kept
from studies.rules.arms import OF_ARMS
from studies.rules.costs import CANDIDATES, DRAWS, WEIGHTS, Cost, costs, time_lines
from studies.rules.games import HALF_LIFE, QUARTER, RULES, SCATTERED, WIDE, Results
from studies.rules.plan import (
    AGAIN,
    CHOOSING,
    DOUBTFUL,
    FROZEN,
    MENDING,
    REGRETS_CHOOSING,
    SEEDS_LATE,
    TRIAL,
    choosing,
    confirming,
)
from studies.rules.report import (
    NEAR,
    Report,
    as_good,
    as_markdown,
    beyond_thompson,
    choice,
    claimed,
    click_lines,
    geometric_means,
    late_lines,
    losses,
    marked,
    other_lines,
    rule_lines,
    table,
    tree_lines,
)
from studies.rules.worlds import CLICKS, DRIFT, LOGS_CHOOSING, LOST, ROUNDS, TREES_RARE

COMMAND = "python -m studies.rules --docs"


def page(results: Results) -> str:
    """The text of docs/measurements/rules.md."""
    before = kept.standing()
    report = Report(results, kept.ratios(before))
    seconds = costs()
    parts = {
        kept.CHOSEN: (
            any(game in results for game in choosing()),
            lambda: _chosen(report, _played(results, before), seconds),
        ),
        kept.CONFIRMED: (
            all(game in results for game in confirming()),
            lambda: _confirmed(report),
        ),
        kept.GRID: (
            all(game in results for game in grid.games(grid.LEAST)),
            lambda: _grid(report),
        ),
    }
    made = [
        "\n\n".join(make()) if is_played else kept.part(before, title)
        for title, (is_played, make) in parts.items()
    ]
    return "\n\n".join([*_head(), *_time(seconds), *filter(None, made)])


def _head() -> list[str]:
    return [
        "# Rules",
        origin(COMMAND),
        f"Which rule shows the better candidates, after {ROUNDS:,} rounds of FAB-COST from the "
        "same prior, visitors paired by seed. The default is `TSUCB(log_odds=True, scatter=1/8, "
        f"rare=1/50)`, here `{FROZEN}`. It was written down after games on one half of worlds, "
        "logs and seeds, and then confirmed on the other half, [below](#to-confirm-on), where no "
        "rule had met a seed. Numbers are ratios to Thompson sampling of scale 1, with 95 % "
        "intervals: of regret, where less is better, and of clicks on logs, where more is. "
        "**Bold** is clearly worse than Thompson sampling.",
        "## Worlds",
        f"*{FRESH}* and *{FIXED}* are those of [clicks](clicks.md), here with prior variance "
        f"{WIDE} for all weights, of *arms* {OF_ARMS:g}; all others have `fabcost.Prior()`, 100 "
        f"for the constant and 1 for the rest. *{DRIFT}*: an autoregression with a memory of 250 "
        f"rounds; the learner has a half-life of {HALF_LIFE:g}. *Trees*: rows of public and made "
        "sets, 20 at random for each visitor (fresh) or 200 that stay (fixed), with clicks of "
        "boosted trees, which no linear model fits. *Arms*: one model for each class, told only "
        "whether it was right. *Logs*: 20 of the remaining rows at random for each visitor, "
        "the logged outcome of the one shown, which is then removed.",
    ]


def _time(seconds: dict[str, Cost]) -> list[str]:
    return [
        "## What a decision takes",
        f"Processor time of a decision over {CANDIDATES:,} candidates with {WEIGHTS} weights, the "
        "least over turns, and its ratio to that of Thompson sampling. `Bandit.pick` tells which. "
        "`Bandit.choose` has the scores of all as well, but they are made when they are first "
        "read: until then no candidate is looked at further that cannot lead. "
        "`Recommender.recommend` always tells the scores of its catalogue, whose items here have "
        f"effects of their own; so does a service. *Propensities* are over {DRAWS} draws, as a "
        "service has them unless it is told otherwise.",
        as_markdown(time_lines(seconds)),
    ]


def _played(results: Results, before: str) -> str:
    """Which columns are of this sitting, and which are kept of another."""
    seeds = {game.seed for game in results if game.rule == FROZEN and game.seed in CHOOSING}
    if all(game in results for game in choosing()):
        return f"All rules have {len(CHOOSING)} seeds."
    return (
        f"The column of `{FROZEN}`, on {len(seeds)} seeds, and all times are of this sitting. The "
        f"other columns, on {len(CHOOSING)} seeds, are kept from the page as it was, commit "
        f"`{kept.commit(before)}`; the games of Thompson sampling, to which all are paired, are "
        "the same."
    )


def _chosen(report: Report, played: str, seconds: dict[str, Cost]) -> list[str]:
    means = geometric_means(report)
    rule, good = choice(report, means, seconds), as_good(report, means)
    lost, again = losses(report, FROZEN), _again(report)
    return [
        f"{kept.CHOSEN}: seeds {CHOOSING[0]} to {CHOOSING[-1]}",
        _origin(),
        played,
        as_markdown(table(report, RULES, (*CLICKS, *REGRETS_CHOOSING, *LOGS_CHOOSING), CHOOSING)),
        "Outcomes that are known late: above, an outcome is learnt before the next visitor comes; "
        f"a service often learns it many visitors later. Seeds {SEEDS_LATE[0]} to "
        f"{SEEDS_LATE[-1]}, `fabcost.Prior()`; scattered is `scatter=1/16`, chosen among 0.03 to "
        "0.4 on other seeds, or as it says.",
        as_markdown(late_lines(report)),
        "Catalogues that stay, where few are ever clicked and the model is wrong:",
        as_markdown(table(report, MENDING, list(TREES_RARE), CHOOSING)),
        "**How it was chosen.** A rule must nowhere be clearly worse than Thompson sampling; "
        f"those within {NEAR:g} of the least mean regret, a geometric mean over the worlds of the "
        "first table, are as good; of these the one is taken that decides in the least time.",
        as_markdown(rule_lines(report, means, seconds)),
        f"By this {_names(good)} are as good, and `{rule}` takes the least time of them. The "
        "default came of three things that were found one after the other, each on seeds to choose "
        "with. Plain TS-UCB loses where outcomes come late, and seldom shows "
        f"[a new item](forgetting.md#a-new-item); `{SCATTERED}` does not. That one, and then "
        f"`{QUARTER}`, were confirmed on 200 seeds each but for one world of trees, where few "
        "items are ever clicked. [Rare clicks](rare-clicks.md) has why, what was tried on forty "
        f"more such sets, and how `{FROZEN}` came of it. That one was written down.",
        f"**Its losses here**: clearly worse than Thompson sampling {_places(lost)}. Some 200 "
        f"intervals are on this page, so further seeds were played of *{DOUBTFUL}*, "
        f"{AGAIN[0]} to {AGAIN[-1]}: {again}. Information-directed sampling has a little less "
        "regret, and takes many times as long. Where even the best items have fewer than 20 clicks "
        "in a thousand the default is Thompson sampling for good, and `rare=0` may earn more "
        "([rare clicks](rare-clicks.md#what-was-tried)).",
    ]


def _confirmed(report: Report) -> list[str]:
    return [
        f"{kept.CONFIRMED}",
        _origin(),
        f"`{FROZEN}`, the default, on seeds from {TRIAL.many[0]}, which no rule had met when it "
        "was written down. The trees and logs of this half had not chosen a rule either, but for "
        f"one: rules before it had lost in *{LOST}*, and it came of what was "
        "[found there](rare-clicks.md) on other sets.",
        claims.as_markdown(claimed(report, TRIAL)),
        "### The click worlds, confirmed",
        as_markdown(click_lines(report, TRIAL)),
        "### Worlds of trees, confirmed",
        "Regret over Thompson's, and both regrets. Where items stay they are also known by "
        "name, and a recommender or a service gives each an effect of its own "
        "(`fabcost.Prior().items`), for both rules here.",
        as_markdown(tree_lines(report, TRIAL)),
        "### Outcomes that are known late, and other worlds, confirmed",
        as_markdown(other_lines(report)),
    ]


def _grid(report: Report) -> list[str]:
    commit, peers = kept.peers()
    return [
        kept.GRID,
        _origin(),
        f"Each combination meets the visitors of the same seeds, from {grid.SEEDS[FAB_COST][0]}, "
        f"as many as it says; of *arms*, {OF_ARMS:g} is the variance of the constant too where it "
        "says 100. *ADF* learns each impression once, without FAB-COST's looks "
        "back; *Laplace* is a correct one, refitted to all rows after each impression. Where "
        "weights change it cannot forget, and the others do. Ratios are of regret, of logs of "
        "clicks, with 95 % intervals of paired seeds; *mean* is the geometric mean of the "
        f"{len(grid.WITH_REGRET)} worlds that have a regret. **Bold** is clearly worse than what "
        "it is compared with. One in forty lies there by chance.",
        "Mean regret beside one combination, FAB-COST under Thompson sampling of scale 1 with "
        f"variance {WIDE}:",
        as_markdown(grid.summary(report)),
        *(text for learner in grid.REFERENCES for text in _beside(report, learner)),
        "### Other libraries, at the best of a small grid",
        "None of them plays in these worlds. How much each closes of the gap from random choices "
        f"to the oracle's, on the workload of [its own page](peers.md), commit `{commit}`, with "
        "the setting of its grid that closed most:",
        as_markdown(peers),
    ]


def _beside(report: Report, learner: str) -> list[str]:
    return [
        f"### Beside {learner} under Thompson sampling of the same prior",
        f"{grid.lost(report, learner)}.",
        as_markdown(grid.lines_beside(report, learner)),
    ]


def _origin() -> str:
    return origin(COMMAND).removesuffix(" Do not edit by hand.")


def _again(report: Report) -> str:
    """Clicks beside Thompson's on further seeds of a log."""
    found = beyond_thompson(report, FROZEN, DOUBTFUL, AGAIN)
    shown = marked(found, clicks=True)
    return f"{shown} of Thompson's clicks on {found.seeds} seeds" if found.seeds else "none yet"


def _names(rules: list[str]) -> str:
    return ", ".join(f"`{rule}`" for rule in rules)


def _places(worlds: list[str]) -> str:
    return f"in {', '.join(worlds)}" if worlds else "nowhere"
