"""Forgetting where the world changes, and where it does not: ``python -m studies.forgetting``."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from functools import partial
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
from studies.arrivals import (
    EACH,
    OF_CATALOGUE,
    RECOMMENDED,
    RULES,
    WAITED,
    WEIGHTS,
    Waited,
    markdown,
    section,
)
from studies.claims import Claim
from studies.documents import origin, write_page

ROUNDS, SEEDS = 6_000, 50
CANDIDATES = 20
INTERCEPT, SPREAD = -4.0, 1.0
HALF_LIVES = (125, 250, 500)
#: Seeds on which each library's half-life is chosen, and the first on which they are compared.
CHOOSING, FIRST = range(1000, 1010), 7000
#: Seeds on which bayesianbandits is played, which takes longest.
BESIDE = 25
PEER = "bayesianbandits"
COMPARED = tuple(RULES)


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
    """FAB-COST under one of its rules."""

    def __init__(self, rule: str, seed: int, half_life: int) -> None:
        learner = FabCost(Gaussian.isotropic(WEIGHTS), half_life=half_life or None)
        self.bandit = Bandit(learner, policy=RULES[rule], seed=seed)

    def decide(self, rows: FloatArray) -> int:
        """Choose by the rule."""
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


def player_of(piece: Piece) -> Player:
    """One that has seen nothing."""
    if piece.player == PEER:
        return Peer(piece.seed, piece.half_life)
    return Ours(piece.player, piece.seed, piece.half_life)


def weights(world: str, seed: int) -> tuple[FloatArray, FloatArray]:
    """Of the first half, and of the second: every other one then has the opposite sign."""
    theta = np.random.default_rng((1, seed)).normal(scale=SPREAD, size=WEIGHTS)
    theta[0] = INTERCEPT
    after = theta.copy()
    if world != "steady":
        after[1::2] *= -1.0
    return theta, after


def played(piece: Piece) -> list[float]:
    """Expected clicks of each half; in the world "reset" a player is told to begin anew."""
    rng = np.random.default_rng((2, piece.seed))
    player, halves = player_of(piece), []
    for theta in weights(piece.world, piece.seed):
        rounds, got = FreshCandidates(theta, CANDIDATES).rounds(rng), 0.0
        for _ in range(ROUNDS // 2):
            visitor = next(rounds)
            chosen = player.decide(visitor.rows)
            player.learn(visitor.rows[chosen], visitor.clicked(chosen))
            got += float(visitor.probability[chosen])
        halves.append(got)
        if piece.world == "reset":
            player = player_of(piece)
    return halves


def pieces(seeds: int) -> Iterator[Piece]:
    for seed in range(FIRST, FIRST + seeds):
        for rule in COMPARED:
            for world in ("swapped", "steady"):
                yield Piece(world, rule, 0, seed)
                yield Piece(world, rule, RECOMMENDED, seed)
            yield Piece("reset", rule, 0, seed)
        yield from (Piece("newcomer", *each, seed) for each in WAITED)


def choosing() -> list[Piece]:
    """By which the half-life of each library is chosen."""
    lengths = [(player, length) for player in ("Thompson", PEER) for length in HALF_LIVES]
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
            waits = piece.world == "newcomer"
            self.found[piece.name] = [*Waited.of(*piece[1:])] if waits else played(piece)
            if self.path is not None:
                self.path.write_text(json.dumps(self.found))
            print(f"{len(self.found)}: {piece.name}", file=sys.stderr)
        return True

    def best_of(self, player: str) -> int:
        """The half-life with the most clicks of the second half on the seeds to choose on."""
        clicks = {h: self._of("swapped", player, h, 1, CHOOSING).sum() for h in HALF_LIVES}
        return max(clicks, key=lambda length: float(clicks[length]))

    def half(self, world: str, player: str, half_life: int, part: int, seeds: int) -> FloatArray:
        """Clicks of one half, seed by seed; or one number of all `Waited`."""
        return self._of(world, player, half_life, part, range(FIRST, FIRST + seeds))

    def _of(self, world: str, player: str, half_life: int, part: int, seeds: range) -> FloatArray:
        names = (Piece(world, player, half_life, seed).name for seed in seeds)
        return np.array([self.found[name][part] for name in names])


def _best(results: Results, seeds: int) -> Iterator[Piece]:
    best = [(player, results.best_of(player)) for player in ("Thompson", PEER)]
    for seed in range(FIRST, FIRST + min(seeds, BESIDE)):
        yield from (Piece("swapped", *each, seed) for each in best)


def measure(results: Results, seeds: int) -> Iterator[Claim]:
    for rule in COMPARED:
        yield _followed(results, rule, seeds)
    for rule in COMPARED:
        yield _beside_peer(results, rule, seeds)
    for rule in COMPARED:
        yield _kept(results, rule, seeds)
    for rule in RULES:
        yield from _found(results, rule, seeds)


def _followed(results: Results, rule: str, seeds: int) -> Claim:
    before = results.half("swapped", rule, 0, 1, seeds)
    ours = results.half("swapped", rule, RECOMMENDED, 1, seeds)
    told = results.half("reset", rule, 0, 1, seeds)
    return Claim(
        f"weights swapped half way, {rule}, half-life {RECOMMENDED:,}: clicks of the second half, "
        "over none forgotten",
        float(ours.sum() / before.sum()),
        "at least",
        2.0,
        f"{ours.mean():,.0f} and {before.mean():,.0f} of {ROUNDS // 2:,}, {seeds} seeds; 95 % of "
        f"such sets of seeds: {_ratios(ours, before)}; {told.sum() / before.sum():.2f} if told to "
        "begin anew at the swap",
    )


def _beside_peer(results: Results, rule: str, seeds: int) -> Claim:
    best = results.best_of(PEER)
    own = results.best_of(rule) if rule == "Thompson" else RECOMMENDED
    seeds = min(seeds, BESIDE)
    peer = results.half("swapped", PEER, best, 1, seeds)
    mine = results.half("swapped", rule, own, 1, seeds)
    return Claim(
        f"the same, {rule}, half-life {own:,}, over bayesianbandits at its best, {best:,}",
        float(mine.sum() / peer.sum()),
        "at least",
        1.0,
        f"{mine.mean():,.0f} and {peer.mean():,.0f}, {seeds} seeds; difference "
        f"{_interval(mine - peer)} clicks a seed",
    )


def _kept(results: Results, rule: str, seeds: int) -> Claim:
    steady, kept = (
        results.half("steady", rule, length, 0, seeds)
        + results.half("steady", rule, length, 1, seeds)
        for length in (0, RECOMMENDED)
    )
    return Claim(
        f"nothing changes, {rule}, half-life {RECOMMENDED:,}: clicks lost in {ROUNDS:,} rounds",
        float(100.0 * (1.0 - np.sum(kept) / np.sum(steady))),
        "at most",
        3.0,
        f"{_interval(100.0 * (1.0 - kept / steady))} % a seed",
        unit=" %",
    )


def _found(results: Results, rule: str, seeds: int) -> Iterator[Claim]:
    shown, without = (
        results.half("newcomer", rule, length, 0, seeds) for length in (OF_CATALOGUE, 0)
    )
    at = f"a best item that comes half way, {rule}, half-life {OF_CATALOGUE:,}: "
    never = [int(np.isinf(each).sum()) for each in (shown, without)]
    detail = f"{seeds} seeds; {never[1]} where nothing is forgotten"
    yield Claim(f"{at}seeds in which it is not found", never[0], "at most", 0.0, detail, unit="")
    what, detail = f"{at}own impressions until it is in the top three", f"median of {seeds} seeds"
    yield Claim(what, float(np.median(shown)), "at most", 60.0, detail, unit="")


def _interval(values: FloatArray) -> str:
    half = 1.96 * values.std(ddof=1) / np.sqrt(values.size) if values.size > 1 else np.nan
    return f"{values.mean():+.1f} ± {half:.1f}"


def _ratios(above: FloatArray, below: FloatArray) -> str:
    """Ratios of sums over seeds that are drawn again, from the 2.5th to the 97.5th per cent."""
    again = np.random.default_rng(0).integers(above.size, size=(10_000, above.size))
    ends = np.quantile(above[again].sum(axis=1) / below[again].sum(axis=1), (0.025, 0.975))
    return "{:.2f} to {:.2f}".format(*ends)


def lines(results: Results, seeds: int) -> list[list[str]]:
    rows = [["rule", "half-life", "swapped, first half", "second half", "steady, both halves"]]
    for rule in COMPARED:
        rows += [_line(results, "swapped", rule, length, seeds) for length in (0, RECOMMENDED)]
        rows.append(_line(results, "reset", rule, 0, seeds))
    return rows


def _line(results: Results, world: str, player: str, length: int, seeds: int) -> list[str]:
    halves = [results.half(world, player, length, part, seeds).mean() for part in (0, 1)]
    named = "begins anew at the swap" if world == "reset" else f"{length:,}" if length else "none"
    both = ""
    if world == "swapped":
        steady = [results.half("steady", player, length, part, seeds).mean() for part in (0, 1)]
        both = f"{sum(steady):,.0f}"
    return [player, named, *(f"{half:,.0f}" for half in halves), both]


def page(results: Results, found: list[Claim], seeds: int) -> str:
    """The page of the documentation."""
    return "\n\n".join(
        [
            "# Forgetting",
            origin("python -m studies.forgetting --docs"),
            f"{ROUNDS:,} rounds with {CANDIDATES} new candidates each, {WEIGHTS} weights of sd "
            f"{SPREAD:g} beside a constant of {INTERCEPT:g}; half way every other weight gets the "
            "opposite sign, or nothing changes. The prior is N(0, I), all players have the same "
            "candidates and luck, and clicks are expected ones. bayesianbandits forgets after each "
            "impression (`StabilizedForgetting` of its `BayesianGLM`, Thompson sampling), fabcost "
            "in steps; both leave the mean where it is. A half-life is in impressions; the "
            f"recommended one has {EACH} for each weight, and for each item that has an effect of "
            "its own. The best half-life of Thompson sampling, and of bayesianbandits, is that of "
            f"{', '.join(map(str, HALF_LIVES))} with the most clicks of the second half on "
            f"{len(CHOOSING)} seeds, which are not among the {seeds} of this page.",
            claims.as_markdown(found),
            "Expected clicks, means over the seeds:",
            markdown(lines(results, seeds)),
            *section(partial(results.half, "newcomer", seeds=seeds)),
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
    found = list(measure(results, seeds))
    console = Console(width=None if sys.stdout.isatty() else 140)
    console.print(claims.as_table(found, quick=seeds < SEEDS, title="Forgetting"))
    if given.docs:
        console.print(f"wrote {write_page('forgetting.md', page(results, found, seeds))}")


if __name__ == "__main__":
    main()
