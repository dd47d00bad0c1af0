"""Which rule decides best, by regret in two click worlds: ``python -m studies.rules``.

Every finished game is a line of a file, so that a run can be stopped and taken up, and seeds can be
added: ``python -m studies.rules --seeds 100 --games FILE``.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from threadpoolctl import threadpool_limits

from fabcost import Gaussian
from fabcost.bandit.bandit import Bandit
from fabcost.bandit.rules import Policy, rule_of
from fabcost.bandit.targeted import TSUCB
from fabcost.offline.intervals import per_cent
from fabcost.offline.methods import FAB_COST, LAPLACE, LEARNERS
from studies.clicks.worlds import CHECKPOINTS, WEIGHTS, WORLDS, met
from studies.documents import origin, write_page

RULES = (
    "thompson",
    "thompson:0.5",
    "thompson:0.25",
    "ts-ucb",
    "ts-ucb:32",
    "ts-ucb, log-odds",
    "information-relaxation:5",
    "information-relaxation:20",
    "information-directed",
    "greedy",
)
PLAYERS = (FAB_COST, LAPLACE)
VARIANCE = 10.0


class Game(NamedTuple):
    """One learner under one rule meets the visitors of one seed in one world."""

    world: str
    learner: str
    rule: str
    seed: int


Results = dict[Game, list[float]]


def policy_of(rule: str) -> Policy:
    name, _, scale = rule.partition(", ")
    return TSUCB(log_odds=True) if scale else rule_of(name)


def play(game: Game) -> list[float]:
    """Expected clicks at the checkpoints, then the regret at the end."""
    weights, _ = np.random.default_rng(game.seed).spawn(2)
    visitors, choices = np.random.default_rng(game.seed).spawn(2)
    learner = LEARNERS[game.learner](Gaussian.isotropic(WEIGHTS, variance=VARIANCE))
    bandit = Bandit(learner, policy=policy_of(game.rule), seed=choices)
    with threadpool_limits(1):
        expected, best, _ = met(bandit, WORLDS[game.world](weights), visitors).cumsum(axis=1)
    return [*expected[np.array(CHECKPOINTS) - 1].tolist(), float(best[-1] - expected[-1])]


def read(path: Path) -> Results:
    """Games that were finished before; a line that was cut off is played again."""
    found: Results = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            *game, result = json.loads(line)
        except ValueError:
            continue
        found[Game(*game)] = result
    return found


def played(games: list[Game], path: Path, workers: int) -> Iterator[Game]:
    """Play, and write down each game as it ends."""
    with ProcessPoolExecutor(workers) as pool, path.open("a") as file:
        running = {pool.submit(play, game): game for game in games}
        for future in as_completed(running):
            game = running[future]
            file.write(json.dumps([*game, future.result()]) + "\n")
            file.flush()
            yield game


def lines(results: Results, world: str) -> list[list[str]]:
    """Regret of each rule and learner over Thompson's with the same learner, paired by seed."""
    table = [["learner", "rule", "regret", "over Thompson's", "clicks after 100", "seeds"]]
    by_player: dict[tuple[str, str], dict[int, list[float]]] = defaultdict(dict)
    for game, result in results.items():
        if game.world == world:
            by_player[game.learner, game.rule][game.seed] = result
    for learner in PLAYERS:
        thompson = by_player[learner, RULES[0]]
        for rule in RULES:
            seeds = sorted(by_player[learner, rule].keys() & thompson.keys())
            if len(seeds) > 1:
                ours = np.array([by_player[learner, rule][seed] for seed in seeds])
                theirs = np.array([thompson[seed] for seed in seeds])
                band = per_cent(ours[:, -1:], theirs[:, -1:])
                over = f"{1.0 + band.mean[0] / 100.0:.2f} ± {band.half[0] / 100.0:.2f}"
                numbers = [f"{ours[:, -1].mean():.1f}", over]
                table.append([learner, rule, *numbers, f"{ours[:, 0].mean():.1f}", str(len(seeds))])
    return table


def page(results: Results) -> str:
    """The text of docs/measurements/rules.md."""
    parts = [
        "# Rules",
        origin("python -m studies.rules --docs"),
        f"Expected regret after {CHECKPOINTS[-1]:,} rounds, prior variance {VARIANCE:g}, visitors "
        "paired by seed, with 95 % intervals of the ratio to Thompson sampling (scale 1) with the "
        "same learner.",
    ]
    for world in WORLDS:
        head, *rest = lines(results, world)
        rows = [head, ["---"] * len(head), *rest]
        parts += [f"## {world}", "\n".join(f"| {' | '.join(row)} |" for row in rows)]
    return "\n\n".join(parts)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m studies.rules", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--games", type=Path, default=Path("rules.jsonl"), help="finished ones")
    parser.add_argument("--rule", action="append", choices=RULES)
    parser.add_argument("--learner", action="append", choices=PLAYERS)
    parser.add_argument("--world", action="append", choices=list(WORLDS))
    parser.add_argument("--workers", type=int)
    parser.add_argument("--docs", action="store_true", help="write measurements/rules.md")
    return parser.parse_args()


def main() -> None:
    options = _arguments()
    seeds = range(options.first, options.first + options.seeds)
    finished = read(options.games)
    games = [
        Game(world, learner, rule, seed)
        for seed in seeds
        for world in options.world or WORLDS
        for learner in options.learner or PLAYERS
        for rule in options.rule or RULES
    ]
    left = [game for game in games if game not in finished]
    console = Console()
    playing = played(left, options.games, options.workers)
    for _ in track(playing, "playing", total=len(left), console=Console(stderr=True)):
        pass
    results = read(options.games)
    for world in WORLDS:
        head, *rest = lines(results, world)
        table = Table(*head, title=world)
        for row in rest:
            table.add_row(*row)
        console.print(table)
    if options.docs:
        console.print(f"wrote {write_page('rules.md', page(results))}")


if __name__ == "__main__":
    main()
