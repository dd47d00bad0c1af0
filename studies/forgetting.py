"""Forgetting where the world changes, and where it does not: ``python -m studies.forgetting``."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from bayesianbandits import BayesianGLM, StabilizedForgetting
from rich.console import Console
from threadpoolctl import threadpool_limits

from fabcost import FabCost, Gaussian
from fabcost.bandit.bandit import Bandit
from fabcost.bandit.environments import FreshCandidates
from fabcost.impressions import FloatArray
from studies import claims
from studies.claims import Claim
from studies.documents import origin, write_page
from studies.own_effects import AFTER, Newcomer

ROUNDS, SEEDS = 6_000, 20
WEIGHTS, CANDIDATES = 15, 20
INTERCEPT, SPREAD = -4.0, 1.0
HALF_LIVES = (125, 250, 500)
#: Seeds on which each library's half-life is chosen, and the first on which they are compared.
CHOOSING, FIRST = range(1000, 1005), 2000
RECOMMENDED = 350
OURS, PEER, WITHOUT = "fabcost", "bayesianbandits", "fabcost, no half-life"


class Piece(NamedTuple):
    """One player in one world: what it got in the first half, and in the second."""

    world: str
    player: str
    half_life: int
    seed: int

    @property
    def name(self) -> str:
        """By which its result is kept."""
        return f"{self.world}/{self.player}/{self.half_life}/{self.seed}"


class Player(Protocol):
    """Chooses a row, and learns."""

    def decide(self, rows: FloatArray) -> int:
        """The place of the chosen row."""
        ...

    def learn(self, row: FloatArray, clicked: bool) -> None:
        """Learn what became of it."""
        ...


class Ours:
    """FAB-COST under Thompson sampling."""

    def __init__(self, seed: int, half_life: int) -> None:
        learner = FabCost(Gaussian.isotropic(WEIGHTS), half_life=half_life or None)
        self.bandit = Bandit(learner, seed=seed)

    def decide(self, rows: FloatArray) -> int:
        """Choose under one draw of the weights."""
        return self.bandit.choose(rows).index

    def learn(self, row: FloatArray, clicked: bool) -> None:
        """Filter it, forget and refresh when it is time."""
        self.bandit.learn(row, clicked)


class Peer:
    """The logistic model of bayesianbandits, with stabilised forgetting after each impression."""

    def __init__(self, seed: int, half_life: int) -> None:
        forgetting = StabilizedForgetting(0.5 ** (1.0 / half_life))
        self.model = BayesianGLM(forgetting=forgetting, random_state=seed)

    def decide(self, rows: FloatArray) -> int:
        """Take the best row under one draw of the weights."""
        return int(self.model.sample(rows)[0].argmax())

    def learn(self, row: FloatArray, clicked: bool) -> None:
        """Fit one impression on top of the last posterior."""
        self.model.partial_fit(row[None, :], np.array([float(clicked)]))


PLAYERS: dict[str, Callable[[int, int], Player]] = {OURS: Ours, PEER: Peer, WITHOUT: Ours}


def weights(world: str, seed: int) -> tuple[FloatArray, FloatArray]:
    """Of the first half, and of the second: every other one then has the opposite sign."""
    theta = np.random.default_rng((1, seed)).normal(scale=SPREAD, size=WEIGHTS)
    theta[0] = INTERCEPT
    after = theta.copy()
    if world == "swapped":
        after[1::2] *= -1.0
    return theta, after


def played(piece: Piece) -> list[float]:
    """Expected clicks of each half."""
    rng = np.random.default_rng((2, piece.seed))
    player = PLAYERS[piece.player](piece.seed, piece.half_life)
    halves = []
    for theta in weights(piece.world, piece.seed):
        rounds, got = FreshCandidates(theta, CANDIDATES).rounds(rng), 0.0
        for _ in range(ROUNDS // 2):
            visitor = next(rounds)
            chosen = player.decide(visitor.rows)
            player.learn(visitor.rows[chosen], visitor.clicked(chosen))
            got += float(visitor.probability[chosen])
        halves.append(got)
    return halves


def newcomer(seed: int, half_life: int) -> float:
    """How often an item that came at half time was shown before it was among the best three."""
    return float(Newcomer(2.0, seed, half_life=half_life or None).impressions_to_top())


def pieces(seeds: int) -> Iterator[Piece]:
    for seed in range(FIRST, FIRST + seeds):
        for world in ("swapped", "steady"):
            yield Piece(world, WITHOUT, 0, seed)
            yield Piece(world, OURS, RECOMMENDED, seed)
        yield Piece("newcomer", OURS, RECOMMENDED, seed)
        yield Piece("newcomer", WITHOUT, 0, seed)


def choosing() -> list[Piece]:
    """By which the half-life of each library is chosen."""
    lengths = [(player, length) for player in (OURS, PEER) for length in HALF_LIVES]
    return [Piece("swapped", *each, seed) for seed in CHOOSING for each in lengths]


class Results:
    """What was played, in a file, so that a run that is stopped goes on."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        known = path is not None and path.exists()
        self.found: dict[str, list[float]] = json.loads(path.read_text()) if known and path else {}

    def complete(self, todo: list[Piece], seconds: float) -> bool:
        """Play what is missing, for so long; whether nothing is."""
        start = time.monotonic()
        for piece in todo:
            if piece.name in self.found:
                continue
            if time.monotonic() - start > seconds:
                return False
            if piece.world == "newcomer":
                self.found[piece.name] = [newcomer(piece.seed, piece.half_life)]
            else:
                self.found[piece.name] = played(piece)
            if self.path is not None:
                self.path.write_text(json.dumps(self.found))
        return True

    def best_of(self, player: str) -> int:
        """The half-life with the most clicks of the second half on the seeds to choose on."""
        clicks = {h: self._of("swapped", player, h, 1, CHOOSING).sum() for h in HALF_LIVES}
        return max(clicks, key=lambda length: float(clicks[length]))

    def half(self, world: str, player: str, half_life: int, part: int, seeds: int) -> FloatArray:
        """Clicks of one half, seed by seed."""
        return self._of(world, player, half_life, part, range(FIRST, FIRST + seeds))

    def _of(self, world: str, player: str, half_life: int, part: int, seeds: range) -> FloatArray:
        names = (Piece(world, player, half_life, seed).name for seed in seeds)
        return np.array([self.found[name][part] for name in names])


def _best(results: Results, seeds: int) -> Iterator[Piece]:
    for player in (OURS, PEER):
        best = results.best_of(player)
        yield from (Piece("swapped", player, best, FIRST + place) for place in range(seeds))


def measure(results: Results, seeds: int) -> list[Claim]:
    def half(world: str, player: str, length: int, part: int = 1) -> FloatArray:
        return results.half(world, player, length, part, seeds)

    before = half("swapped", WITHOUT, 0)
    ours = half("swapped", OURS, RECOMMENDED)
    best, own = results.best_of(PEER), results.best_of(OURS)
    peer, mine = half("swapped", PEER, best), half("swapped", OURS, own)
    steady = half("steady", WITHOUT, 0, 0) + half("steady", WITHOUT, 0)
    kept = half("steady", OURS, RECOMMENDED, 0) + half("steady", OURS, RECOMMENDED)
    shown, before_it = half("newcomer", OURS, RECOMMENDED, 0), half("newcomer", WITHOUT, 0, 0)
    at = f"half-life {RECOMMENDED:,}"
    return [
        Claim(
            f"weights swapped half way, {at}: clicks of the second half, over none forgotten",
            float(ours.sum() / before.sum()),
            "at least",
            2.0,
            f"{ours.mean():,.0f} and {before.mean():,.0f} of {ROUNDS // 2:,}, {seeds} seeds",
        ),
        Claim(
            f"the same, half-life {own:,}, over bayesianbandits, {best:,}: the best of each",
            float(mine.sum() / peer.sum()),
            "at least",
            1.0,
            f"difference {_interval(mine - peer)} clicks a seed",
        ),
        Claim(
            f"nothing changes, {at}: clicks lost in all {ROUNDS:,} rounds",
            float(100.0 * (1.0 - kept.sum() / steady.sum())),
            "at most",
            3.0,
            f"{_interval(100.0 * (1.0 - kept / steady))} % a seed",
            unit=" %",
        ),
        Claim(
            f"a best item that comes half way, {at}: own impressions until it is in the top three",
            float(np.median(shown)),
            "at most",
            60.0,
            f"{seeds} seeds, never in {int((shown > AFTER).sum())}; "
            f"{np.median(before_it):.0f} where nothing is forgotten",
            unit="",
        ),
    ]


def _interval(values: FloatArray) -> str:
    half = 1.96 * values.std(ddof=1) / np.sqrt(values.size) if values.size > 1 else np.nan
    return f"{values.mean():+.1f} ± {half:.1f}"


def lines(results: Results, seeds: int) -> list[list[str]]:
    rows = [["player", "half-life", "swapped, first half", "second half", "steady, both halves"]]
    settings = [(WITHOUT, 0), (OURS, results.best_of(OURS)), (OURS, RECOMMENDED)]
    settings.append((PEER, results.best_of(PEER)))
    for player, length in settings:
        swapped = [results.half("swapped", player, length, part, seeds) for part in (0, 1)]
        row = [player, f"{length:,}" if length else "none", *(f"{x.mean():,.0f}" for x in swapped)]
        if length not in (0, RECOMMENDED):
            row.append("")
        else:
            steady = [results.half("steady", player, length, part, seeds) for part in (0, 1)]
            row.append(f"{sum(x.mean() for x in steady):,.0f}")
        rows.append(row)
    return rows


def _markdown(rows: list[list[str]]) -> str:
    head, *body = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([head, "|" + "---|" * len(rows[0]), *body])


def page(results: Results, found: list[Claim], seeds: int) -> str:
    """The page of the documentation."""
    return "\n\n".join(
        [
            "# Forgetting",
            origin("python -m studies.forgetting --docs"),
            f"{ROUNDS:,} rounds with {CANDIDATES} new candidates each, {WEIGHTS} weights of sd "
            f"{SPREAD:g} beside a constant of {INTERCEPT:g}; half way every other weight gets the "
            "opposite sign, or nothing changes. Thompson sampling from the prior N(0, I), all "
            "players with the same candidates and luck; clicks are expected ones. "
            "bayesianbandits forgets after each impression (`StabilizedForgetting` of its "
            "`BayesianGLM`), fabcost in steps; both leave the mean where it is. A "
            "half-life is in impressions. The best of each is that of "
            f"{', '.join(map(str, HALF_LIVES))} with the most clicks of the second half on "
            f"{len(CHOOSING)} seeds, which are not among the {seeds} of this page. The new item "
            "comes to a catalogue of 200 that was learnt for 3,000 visits, and is 2 better in "
            "log-odds than its features say.",
            claims.as_markdown(found),
            "Expected clicks, means over the seeds:",
            _markdown(lines(results, seeds)),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.forgetting", description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--docs", action="store_true", help="write measurements/forgetting.md")
    parser.add_argument("--keep", type=Path, metavar="FILE.json", help="go on from these results")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    given = parser.parse_args()
    seeds, results = given.seeds, Results(given.keep)
    with threadpool_limits(1):
        if not (
            results.complete(choosing(), given.seconds)
            and results.complete([*pieces(seeds), *_best(results, seeds)], given.seconds)
        ):
            print(f"{len(results.found)} pieces are played: go on with --keep")
            return
    found = measure(results, seeds)
    console = Console(width=None if sys.stdout.isatty() else 140)
    console.print(claims.as_table(found, quick=seeds < SEEDS, title="Forgetting"))
    if given.docs:
        console.print(f"wrote {write_page('forgetting.md', page(results, found, seeds))}")


if __name__ == "__main__":
    main()
