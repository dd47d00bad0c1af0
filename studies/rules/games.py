"""Games that are played once: every finished one is a line of a file."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from fabcost import FabCost, Gaussian, Prior
from fabcost.bandit.bandit import Bandit, Learner
from fabcost.bandit.environments import Round
from fabcost.bandit.rules import Policy, rule_of
from fabcost.bandit.targeted import TSUCB
from fabcost.impressions import FloatArray
from fabcost.offline.methods import FAB_COST, LAPLACE, LEARNERS
from studies.clicks.worlds import CHECKPOINTS
from studies.rules.arms import CLASSES, OF_ARMS, right
from studies.rules.worlds import DRIFT, ROUNDS, WORLDS

THOMPSON, DEFAULT, WIDE = "thompson", "default", "10"
SCALES = (THOMPSON, "thompson:0.5", "thompson:0.25")
OF_LAPLACE = (*SCALES, "thompson:0.125")
PROBABILITIES, SCATTERED = "ts-ucb, scattered", "ts-ucb, log-odds, scattered"
#: A quarter of each candidate's own draw, where those above have a sixteenth.
QUARTER, QUARTER_PROBABILITIES = f"{SCATTERED} 1/4", f"{PROBABILITIES} 1/4"
#: An eighth, and where the best of a draw is a click of less than 1 in 50, the draw itself.
EIGHTH_RARE = f"{SCATTERED} 1/8, rare 1/50"
RULES = (
    *SCALES,
    "greedy",
    "ts-ucb",
    "ts-ucb:4",
    "ts-ucb:8",
    "ts-ucb:32",
    "ts-ucb, log-odds",
    PROBABILITIES,
    SCATTERED,
    QUARTER_PROBABILITIES,
    QUARTER,
    EIGHTH_RARE,
    "information-relaxation:5",
    "information-directed",
)
NAMED: dict[str, Policy] = {
    "ts-ucb, log-odds": TSUCB(log_odds=True),
    PROBABILITIES: TSUCB(scatter=1.0 / 16.0),
    SCATTERED: TSUCB(log_odds=True, scatter=1.0 / 16.0),
    QUARTER_PROBABILITIES: TSUCB(scatter=0.25),
    QUARTER: TSUCB(log_odds=True, scatter=0.25),
    EIGHTH_RARE: TSUCB(log_odds=True, scatter=0.125, rare=0.02),
}
HALF_LIFE = 350.0  # where weights change
OWN = f"{FAB_COST}, own effects"  # of the items of a catalogue, as recommenders have them

Results = dict["Game", list[float]]


class Game(NamedTuple):
    """One learner under one rule and prior meets the visitors of one seed in one world."""

    world: str
    rule: str
    seed: int
    learner: str = FAB_COST
    prior: str = DEFAULT
    delay: int = 0  # visitors who come before an outcome is known


def policy_of(rule: str) -> Policy:
    """A rule by its name."""
    return NAMED.get(rule) or rule_of(rule)


def play(game: Game) -> list[float]:
    """Expected clicks at the checkpoints, then the regret at the end."""
    with threadpool_limits(1):
        expected, best = _played(game).cumsum(axis=1)
    return [*expected[np.array(CHECKPOINTS) - 1].tolist(), float(best[-1] - expected[-1])]


def _played(game: Game) -> FloatArray:
    """Click probability of the choice and of the best row, by visitor."""
    if game.world in CLASSES:
        found = right(game.world, policy_of(game.rule), game.seed, partial(_learner, game))
        return np.array([found, np.ones_like(found)])
    seen = np.empty((2, ROUNDS))
    for t, (_, visitor, index) in enumerate(met(game)):
        seen[:, t] = visitor.probability[index], visitor.probability.max()
    return seen


def met(game: Game) -> Iterator[tuple[Bandit, Round, int]]:
    """The bandit, a visitor, and the row that was chosen, for one visitor after the other."""
    drawn, visitors, choices = np.random.default_rng(game.seed).spawn(3)
    rounds = WORLDS[game.world](drawn).rounds(visitors)
    visitor = rounds.send(None)
    bandit = Bandit(
        _learner(game, visitor.rows.shape[1]), policy=policy_of(game.rule), seed=choices
    )
    items = [str(place) for place in range(len(visitor.rows))] if game.learner == OWN else None
    open_: deque[tuple[FloatArray, bool, str | None]] = deque()
    for _ in range(ROUNDS):
        index = bandit.choose(visitor.rows, items=items).index
        item = items[index] if items else None
        open_.append((visitor.rows[index].copy(), visitor.clicked(index), item))
        if len(open_) > game.delay:
            bandit.learn(*open_.popleft())
        yield bandit, visitor, index
        visitor = rounds.send(index)


def _learner(game: Game, weights: int) -> Learner:
    prior = _prior(game)
    belief: Gaussian = prior.belief(["constant", *["numbers"] * (weights - 1)])  # type: ignore[list-item]
    if game.learner == OWN:
        return FabCost(belief, own_variance=prior.items)
    forgets = game.world == DRIFT and game.learner != LAPLACE
    return LEARNERS[game.learner](belief, **({"half_life": HALF_LIFE} if forgets else {}))


def _prior(game: Game) -> Prior:
    if game.prior != DEFAULT:
        return Prior.same(float(game.prior))
    return Prior.same(OF_ARMS) if game.world in CLASSES else Prior()


def lines(path: Path) -> Iterator[list[Any]]:
    """What was written down before; a line that was cut off is left out, and played again."""
    for line in path.read_text().splitlines() if path.exists() else ():
        with suppress(ValueError):
            yield json.loads(line)


def read(path: Path) -> Results:
    """Games that were finished before."""
    return {Game(*game): result for *game, result in lines(path)}


def played(games: Sequence[Game], path: Path) -> Iterator[Game]:
    """Play, and write down each game as it ends."""
    with path.open("a") as file:
        for game in games:
            file.write(json.dumps([*game, play(game)]) + "\n")
            file.flush()
            yield game
