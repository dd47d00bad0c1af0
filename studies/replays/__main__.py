"""Clicks on real logs by the paper's replay: ``python -m studies.replays``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from fabcost.offline.intervals import average, difference, per_cent
from fabcost.offline.logs.impressions import ReplayLog, Selection, chosen
from fabcost.offline.methods import PRIOR_VARIANCE, THOMPSON, contenders
from fabcost.offline.replay.runs import Replays, ReplaySettings, measure
from fabcost.prior import Prior
from studies.documents import DOCS, origin, write_page
from studies.replays.figure import draw_differences
from studies.replays.logs import LOGS, data_directory

FEATURES = 15
CHECKPOINTS = (100, 300, 1000)
QUICK_ROUNDS, QUICK_SEEDS = 300, 4
LEAST_CLICKS = 10.0  # of the baseline, for its per cent to mean something
SMALLER_SCALES = ("0.5", "0.25")
POLICIES = (
    *THOMPSON,
    "uniform",
    *(f"{each}@{scale}" for scale in SMALLER_SCALES for each in ("fabcost", "laplace")),
)
PICTURED = ("fabcost", "fabcost-paper", "adf", "laplace", "laplace-published")


@dataclass(frozen=True, eq=False)
class Outcome:
    """What was found on one log."""

    log: ReplayLog
    selection: Selection
    found: Replays

    @property
    def title(self) -> str:
        """The size of the log and what was used of it."""
        rows, clicks = self.log.y.size, self.log.y.sum()
        names = ", ".join(self.log.columns[place] for place in self.selection.columns[1:])
        return (
            f"{rows:,} rows, {clicks:,.0f} positive; {self.selection.rows.size:,} of the rows were "
            f"used to choose the features and left out of the pool. Features: {names}."
        )


def replayed(title: str, settings: ReplaySettings, jobs: int, progress: Progress) -> Outcome:
    """Every policy and seed on one log."""
    log = LOGS[title](data_directory())
    selection, left = chosen(log, FEATURES, seed=settings.first_seed, jobs=jobs)
    if selection is None:
        raise RuntimeError("features are chosen for every log")
    total = settings.rounds_of(left.y.size) * settings.seeds * len(contenders(settings.policies))
    task = progress.add_task(title, total=total)
    found = measure(
        left.X,
        left.y,
        settings,
        jobs=jobs,
        advance=lambda many: progress.advance(task, many),
        at=CHECKPOINTS,
    )
    return Outcome(log, selection, found)


def lines(outcome: Outcome) -> Iterator[list[str]]:
    """A heading, then every policy: clicks, and how far beyond Laplace of the same scale."""
    last = int(outcome.found.marks[-1])
    found = outcome.found.at([rounds for rounds in CHECKPOINTS if rounds <= last])
    after = [(f"clicks after {rounds:,}", "beyond Laplace") for rounds in found.marks]
    yield ["policy", *chain.from_iterable(after)]
    for name, clicks in found.clicks.items():
        baseline = baseline_of(name)
        means = [f"{value:,.1f}" for value in average(clicks).mean]
        gains = ["–"] * len(means) if name == baseline else list(_gains(found, name, baseline))
        yield [name, *chain.from_iterable(zip(means, gains, strict=True))]


def _gains(found: Replays, name: str, baseline: str) -> Iterator[str]:
    ours, theirs = found.clicks[name], found.clicks[baseline]
    ahead, share = difference(ours, theirs), per_cent(ours, theirs)
    for place, clicks in enumerate(theirs.mean(axis=0)):
        text = f"{ahead.mean[place]:+.1f} ± {ahead.half[place]:.1f}"
        if clicks >= LEAST_CLICKS:
            text += f" ({share.mean[place]:+.1f} ± {share.half[place]:.1f} %)"
        yield text


def baseline_of(policy: str) -> str:
    """Laplace at the scale of a policy."""
    _, at, scale = policy.partition("@")
    return f"laplace{at}{scale}"


def as_table(title: str, outcome: Outcome) -> Table:
    head, *rows = lines(outcome)
    table = Table(*head, title=title)
    for row in rows:
        table.add_row(*row)
    return table


def as_markdown(outcome: Outcome) -> str:
    head, *rows = (f"| {' | '.join(row)} |" for row in lines(outcome))
    rule = "|---|" + "---:|" * (head.count("|") - 2)
    return "\n".join([head, rule, *rows])


def page(outcomes: dict[str, Outcome], settings: ReplaySettings, command: str) -> str:
    parts = [
        "# Replays of real logs",
        origin(command),
        _protocol(settings),
        "In the logs of Open Bandit each impression has its user features, its position and the "
        "features of the item that was shown, looked up by `item_id` in `item_context.csv`. They "
        "have few clicks: compare the intervals before the means.",
        "![Clicks beyond Laplace's on each log](../images/replays.png)",
    ]
    for title, outcome in outcomes.items():
        parts += [f"## {title.capitalize()}", outcome.title, as_markdown(outcome)]
    return "\n\n".join(parts)


def _protocol(settings: ReplaySettings) -> str:
    return (
        "The paper's protocol (section IV-E): the pool is the whole log; each round shows one "
        "impression of it, sees its logged outcome, and takes it out. "
        f"{settings.rounds:,} rounds, {settings.seeds} paired seeds, ties broken at random. Every "
        f"learner starts from N(0, {PRIOR_VARIANCE:g} I). {FEATURES} features beside the constant "
        "were chosen by a random forest on a tenth of the rows, which the pool then does not have. "
        "`fabcost@0.5` draws half as wide. Beyond Laplace: clicks more than `laplace` at the same "
        "scale has, with the 95 % interval over seeds (Student's t, paired), and in per cent where "
        f"it has at least {LEAST_CLICKS:g} on average. A seed decides draws and ties; the log is "
        "the same, so the intervals speak of this log and not of others like it."
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m studies.replays", description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="4 seeds, 300 rounds: a smoke test")
    parser.add_argument("--log", action="append", choices=list(LOGS), help="only this; repeatable")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--docs", action="store_true", help="write measurements/replays.md")
    return parser.parse_args()


def _write(outcomes: dict[str, Outcome], settings: ReplaySettings) -> Path:
    pictured = {
        title: Replays(
            each.found.marks, {name: each.found.clicks[name] for name in PICTURED}, "laplace"
        )
        for title, each in outcomes.items()
    }
    draw_differences(pictured, DOCS.parent / "images" / "replays.png")
    quick = settings.rounds == QUICK_ROUNDS
    command = f"python -m studies.replays {'--quick' if quick else f'--seeds {settings.seeds}'}"
    return write_page("replays.md", page(outcomes, settings, command))


def main() -> None:
    options = _options()
    settings = ReplaySettings(
        POLICIES,
        seeds=QUICK_SEEDS if options.quick else options.seeds,
        rounds=QUICK_ROUNDS if options.quick else CHECKPOINTS[-1],
        prior=Prior.same(PRIOR_VARIANCE),
    )
    data_directory()
    console = Console(width=None if sys.stdout.isatty() else 200)
    outcomes = {}
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        for title in options.log or LOGS:
            outcomes[title] = replayed(title, settings, options.jobs, progress)
            progress.console.print(as_table(title, outcomes[title]))
    if options.docs:
        console.print(f"wrote {_write(outcomes, settings)}")


if __name__ == "__main__":
    main()
