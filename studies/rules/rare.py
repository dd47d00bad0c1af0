"""What helps a rule where clicks are rare: ``python -m studies.rules.rare``."""

from __future__ import annotations

import argparse
import json
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track
from scipy.special import expit

from fabcost import Gaussian, Prior, kernels
from fabcost.bandit.environments import FreshCandidates
from fabcost.bandit.prospects import drawn_law, marginal
from fabcost.bandit.rules import Thompson
from fabcost.impressions import FloatArray
from fabcost.inference.online import FabCost
from studies.clicks.worlds import FIXED, FRESH
from studies.documents import origin, write_page
from studies.rules.games import (
    EIGHTH_RARE,
    QUARTER,
    THOMPSON,
    WIDE,
    Game,
    lines,
    met,
)
from studies.rules.report import Lines, Ratio, as_markdown, marked
from studies.rules.worlds import CANDIDATES, CLICKS, ITEMS, LOST, ROUNDS, WEIGHTS, trees

MADE, LOW = "made sets", "few in a thousand"
SETS, OF_SETS, CHOOSING, OF_LOW, OF_LATE = range(21, 61), range(10), range(40), range(20), range(20)
CONSTANTS, LONG, DELAYS = (-6.0, -4.5), 3_000, (100, 300)
#: Where the default is worse than Thompson sampling, and a game of that kind that it loses.
STUCK, AFTER = Game(f"{LOST}, number 13", QUARTER, 5), 400


@dataclass(frozen=True)
class Variant:
    """TS-UCB by log-odds: with scatter, a share of Thompson's choices, and draws that decide."""

    scatter: float = 0.25
    thompson: float = 0.0
    rare: float = 0.0
    another: bool = False

    def lead(self, belief: Gaussian, rows: FloatArray, rng: np.random.Generator) -> int:
        """The place of the chosen row."""
        return int(self.scores(belief, rows, rng).argmax())

    def shares(
        self, belief: Gaussian, rows: FloatArray, rng: np.random.Generator, draws: int
    ) -> FloatArray:
        """How often each is chosen."""
        chosen = [self.lead(belief, rows, rng) for _ in range(draws)]
        return np.bincount(chosen, minlength=len(rows)) / draws

    def scores(self, belief: Gaussian, rows: FloatArray, rng: np.random.Generator) -> FloatArray:
        """The largest is chosen."""
        given = drawn_law(belief, rows, rng.random(2 * belief.dimension))
        (first, second), centre, variance, _ = kernels.drawn_marginals(*given)
        if self.thompson > 0.0 and (self.thompson >= 1.0 or rng.random() < self.thompson):
            return np.asarray(second)
        if expit(first.max()) < self.rare:
            return np.asarray(second if self.another else first)
        radius = np.sqrt(variance)
        short = max(first.max(), centre.max()) - centre
        return np.asarray(self.scatter * (second - centre) / radius - short / radius)


BEFORE, FROZEN = "scattered 1/4", "scattered 1/8, rare 1/50"
VARIANTS = {
    THOMPSON: Variant(thompson=1.0),
    BEFORE: Variant(),
    "scattered 1/2": Variant(0.5),
    "scattered 1/4, every fourth choice Thompson's": Variant(thompson=0.25),
    "scattered 1/4, rare 1/100": Variant(rare=0.01),
    "scattered 1/4, rare 1/50": Variant(rare=0.02),
    "scattered 1/4, rare 1/20": Variant(rare=0.05),
    "scattered 1/4, rare 1/5": Variant(rare=0.2),
    FROZEN: Variant(0.125, rare=0.02),
    "scattered 1/4, rare 1/50, another draw": Variant(0.25, rare=0.02, another=True),
    "scattered 1/8, rare 1/50, another draw": Variant(0.125, rare=0.02, another=True),
}


class Piece(NamedTuple):
    """One variant among the visitors of one seed; `at` is a set, a constant, or visitors late."""

    rule: str
    world: str
    at: float
    seed: int


Found = dict[Piece, list[float]]


def pieces() -> Iterator[Piece]:
    """What the choice was made on."""
    for rule in VARIANTS:
        yield from (Piece(rule, MADE, at, seed) for seed, at in product(OF_SETS, SETS))
        yield from (Piece(rule, world, 0, seed) for seed, world in product(CHOOSING, CLICKS))
        yield from (Piece(rule, LOW, at, seed) for seed, at in product(OF_LOW, CONSTANTS))
    for rule in (THOMPSON, "scattered 1/4, rare 1/50"):
        for seed, world, late in product(OF_LATE, CLICKS, DELAYS):
            yield Piece(rule, world, late, seed)


def result(piece: Piece) -> list[float]:
    """Regret, and clicks after the first tenth or third."""
    variant = VARIANTS[piece.rule]
    if piece.world == MADE:
        return _of_set(int(piece.at), variant, piece.seed)
    if piece.world == LOW:
        return _of_low(piece.at, variant, piece.seed)
    drawn, visitors, choices = np.random.default_rng(piece.seed).spawn(3)
    stream = CLICKS[piece.world](drawn).rounds(visitors)
    prior = WIDE if piece.at == 0 else None
    return _clicks(stream, variant, choices, int(piece.at), prior, (ROUNDS, ROUNDS // 10))


def _of_set(number: int, variant: Variant, seed: int) -> list[float]:
    rows, probability = trees(f"made, 2 % positive, number {number}")
    drawn, visitors, choices = np.random.default_rng((seed, number)).spawn(3)
    items = drawn.choice(len(rows), ITEMS, replace=False)
    rows, probability = np.ascontiguousarray(rows[items]), probability[items]
    learner, got = _learner(rows.shape[1], None), 0.0
    for u in visitors.random(ROUNDS):
        k = variant.lead(learner.posterior, rows, choices)
        learner.observe(rows[k], bool(u < probability[k]))
        got += probability[k]
    return [float(ROUNDS * probability.max() - got)]


def _of_low(constant: float, variant: Variant, seed: int) -> list[float]:
    drawn, visitors, choices = np.random.default_rng((seed, 77)).spawn(3)
    theta = drawn.normal(scale=0.5, size=WEIGHTS)
    theta[0] = constant
    stream = FreshCandidates(theta, CANDIDATES).rounds(visitors)
    return _clicks(stream, variant, choices, 0, None, (LONG, LONG // 3))


def _clicks(
    stream: Iterator,  # type: ignore[type-arg]
    variant: Variant,
    rng: np.random.Generator,
    late: int,
    prior: str | None,
    rounds: tuple[int, int],
) -> list[float]:
    """Regret after all rounds, and clicks after the first of them."""
    learner: FabCost | None = None
    seen = np.empty((2, rounds[0]))
    waiting: deque[tuple[FloatArray, bool]] = deque()
    for t, visitor in enumerate(islice(stream, rounds[0])):
        learner = learner or _learner(visitor.rows.shape[1], prior)
        k = variant.lead(learner.posterior, visitor.rows, rng)
        waiting.append((visitor.rows[k].copy(), bool(visitor.clicked(k))))
        if len(waiting) > late:
            learner.observe(*waiting.popleft())
        seen[:, t] = visitor.probability[k], visitor.probability.max()
    return [float((seen[1] - seen[0]).sum()), float(seen[0, : rounds[1]].sum())]


def _learner(weights: int, prior: str | None) -> FabCost:
    given = Prior() if prior is None else Prior.same(float(prior))
    return FabCost(given.belief(["constant", *["numbers"] * (weights - 1)]))  # type: ignore[list-item]


def ratio(found: Found, rule: str, world: str, ats: Sequence[float], seeds: range) -> Ratio:
    """Regret over Thompson's, of sums over all games."""
    games = [(world, at, seed) for at in ats for seed in seeds]
    pairs = [(found.get(Piece(rule, *g)), found.get(Piece(THOMPSON, *g))) for g in games]
    both = np.array([(ours[0], theirs[0]) for ours, theirs in pairs if ours and theirs])
    if not len(both):
        return Ratio(np.nan, np.nan, 0)
    mean = both[:, 0].sum() / both[:, 1].sum()
    away = (both[:, 0] - mean * both[:, 1]).std(ddof=1) / both[:, 1].mean()
    return Ratio(float(mean), float(1.96 * away / np.sqrt(len(both))), len(both))


def tried_lines(found: Found) -> Lines:
    """Every variant, on what the choice was made on."""
    places: list[tuple[str, Sequence[float], range]] = [(MADE, SETS, OF_SETS)]
    places += [(world, [0], CHOOSING) for world in (FRESH, FIXED)]
    places.append((LOW, CONSTANTS, OF_LOW))
    told = [["rule", f"{len(SETS)} {MADE}", FRESH, FIXED, LOW]]
    for rule in [*VARIANTS][1:]:
        each = [ratio(found, rule, *place) for place in places]
        told.append([rule, *(marked(r, clicks=False) if r.seeds else "" for r in each)])
    return told


def late_lines(found: Found) -> Lines:
    """With outcomes that are known late."""
    rule = "scattered 1/4, rare 1/50"
    each = {w: [ratio(found, rule, w, [late], OF_LATE) for late in DELAYS] for w in CLICKS}
    head = ["world", *(f"{late} visitors late" for late in DELAYS)]
    return [head, *([world, *map(str, ratios)] for world, ratios in each.items())]


def stuck_lines() -> Lines:
    """What is believed of the item that is nearest to the target, and of the best, in one game."""
    steps = list(islice(met(STUCK), AFTER))
    bandit, visitor, _ = steps[-1]
    shown, belief = Counter(index for _, _, index in steps), bandit.learner.posterior
    centre, variance = marginal(belief, visitor.rows)
    rng, radius = np.random.default_rng(0), np.sqrt(variance)
    draws = [Thompson().scores(belief, visitor.rows, rng).max() for _ in range(101)]
    away = (np.median(draws) - centre) / radius
    places = {
        "nearest to the target": int(away.argmin()),
        "shown most often": shown.most_common(1)[0][0],
        "the best": int(visitor.probability.argmax()),
    }
    told = [["item", "clicked by", "mean", "radius", "radii below the target", "times shown"]]
    for name, k in places.items():
        numbers = [f"{x:.1f}" for x in (centre[k], radius[k], away[k])]
        told.append([name, f"{100 * visitor.probability[k]:.1f} %", *numbers, str(shown[k])])
    return told


def page(found: Found) -> str:
    """The text of docs/measurements/rare-clicks.md."""
    return "\n\n".join(
        [
            "# Rare clicks",
            origin("python -m studies.rules.rare --docs"),
            f"On the page of [rules](rules.md), `{QUARTER}`, then the default, has less regret "
            "than Thompson sampling nearly everywhere, but more in one world: 200 items that stay, "
            "a few of them clicked by nearly everybody and the others by one in a thousand, and a "
            "model that fits neither. Here is why, and what was tried. Numbers are ratios of "
            "regret to Thompson sampling's, with 95 % intervals; **bold** is clearly worse.",
            "## Why",
            f"Number 13 of such sets, seed {STUCK.seed}, after {AFTER} visitors by that "
            "rule, on the scale of log-odds:",
            as_markdown(stuck_lines()),
            "As long as nobody clicks, log-odds fall to where an outcome tells next to nothing: "
            "showing an item once more changes neither its mean nor its radius. Those of the "
            "largest radius, the rows with the largest features, stay the nearest to the target, "
            "and what a quarter of the own draw adds is mostly the doubt about the constant, which "
            "all share. After a click by chance on a poor item the same happens: hundreds of "
            "visitors are shown it, though every target is a click of small probability. Thompson "
            "sampling goes through more items, because in every draw another is ahead.",
            "What helps is to follow the draw itself, as Thompson sampling does, whenever the best "
            "that it promises is a click less probable than some p, and to go by the target "
            "otherwise: *rare p* below. That takes no draw more.",
            "## What was tried",
            f"All by log-odds. *Made sets*: numbers {SETS[0]} to {SETS[-1]}, none of them on the "
            f"page of rules, 200 items that stay, {len(OF_SETS)} seeds of each. The two click "
            f"worlds: prior variance {WIDE}, seeds {CHOOSING[0]} to {CHOOSING[-1]}. *{LOW}*: "
            f"{CANDIDATES} fresh candidates with a constant of {CONSTANTS[0]:g} or "
            f"{CONSTANTS[1]:g} and weights of sd 0.5, {LONG:,} visitors, {len(OF_LOW)} seeds each.",
            as_markdown(tried_lines(found)),
            "More scatter, and Thompson sampling in every fourth choice, help a little. Draws that "
            "decide help where no click is in sight, and give away some of what TS-UCB gains where "
            "the best candidates have few clicks: the more, the larger the bound. With outcomes "
            f"that are known late, `fabcost.Prior()`, {len(OF_LATE)} seeds, scattered 1/4, rare "
            "1/50:",
            as_markdown(late_lines(found)),
            "*Another draw*: not the draw whose best is the target decides where that is rare, but "
            "one more. A draw that promises little ranks candidates by what is known of them; "
            "another may promise anything.",
            f"So `{EIGHTH_RARE}` was written down, before it met a seed to confirm on; it is the "
            "default, and confirmed on the page of [rules](rules.md#to-confirm-on).",
        ]
    )


def main() -> None:
    """Play what is missing, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m studies.rules.rare", description=__doc__)
    parser.add_argument("--games", type=Path, default=Path("rare.jsonl"), help="finished ones")
    parser.add_argument("--docs", action="store_true", help="write measurements/rare-clicks.md")
    parser.add_argument("--as-it-is", action="store_true", help="play no more games")
    options = parser.parse_args()
    found = _finished(options.games)
    left = [piece for piece in pieces() if piece not in found]
    with options.games.open("a") as file:
        for piece in track([] if options.as_it_is else left, console=Console(stderr=True)):
            file.write(json.dumps([*piece, result(piece)]) + "\n")
            file.flush()
    text = page(_finished(options.games))
    print(f"wrote {write_page('rare-clicks.md', text)}" if options.docs else text)


def _finished(path: Path) -> Found:
    return {Piece(*each): played for *each, played in lines(path)}


if __name__ == "__main__":
    main()
