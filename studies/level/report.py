"""What was found: beliefs from the same rows, and clicks in each condition."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from fabcost import Gaussian
from fabcost.impressions import FloatArray
from fabcost.offline.intervals import Band, per_cent
from fabcost.offline.methods import EP, LAPLACE
from studies.documents import origin
from studies.level.games import (
    AS_IS,
    GUESSES,
    ROUNDS,
    SEEDS,
    SETS,
    Condition,
    Game,
    game_of,
    learner_of,
)
from studies.priors.sets import rows_of
from studies.rules.report import as_markdown
from studies.rules.worlds import trees

SIZES, VARIANCES, REPEATS, OTHERS = (100, 1_000), (1.0, 10.0, 100.0), 5, 3_000
Lines = list[list[str]]


class Compared(NamedTuple):
    """EP's belief beside Laplace's, from the same rows."""

    alike: float
    spread: float
    doubt: float
    loss: float


def compared(title: str, count: int, variance: float, seed: int) -> Compared:
    """On rows that neither has met."""
    X, y = trees(title)[0], rows_of(title).positive
    places = np.random.default_rng(seed).permutation(len(X))
    told, others = places[:count], places[count : count + OTHERS]
    ep, laplace = (_belief(name, X[told], y[told], variance) for name in (EP, LAPLACE))
    scores = [X[others] @ each.mean for each in (ep, laplace)]
    doubts = [
        _doubt(each, X[others]) / score.std()
        for each, score in zip((ep, laplace), scores, strict=True)
    ]
    losses = [_loss(each.predict(X[others]), y[others]) for each in (ep, laplace)]
    return Compared(
        float(np.corrcoef(np.array(scores)).ravel()[1]),
        float(scores[0].std() / scores[1].std()),
        doubts[0] / doubts[1],
        losses[0] - losses[1],
    )


def _belief(name: str, X: FloatArray, y: FloatArray, variance: float) -> Gaussian:
    learner = learner_of(name, X.shape[1], variance)
    for row, clicked in zip(X, y, strict=True):
        learner.observe(row, bool(clicked))
    found: Gaussian = learner.posterior
    return found


def _doubt(belief: Gaussian, X: FloatArray) -> float:
    """The sd of a row's score beside the mean row's."""
    away = X - X.mean(axis=0)
    return float(np.sqrt(((away @ belief.triangle) ** 2).sum(axis=1)).mean())


def _loss(probability: FloatArray, y: FloatArray) -> float:
    return float(-np.log(np.where(y == 1.0, probability, 1.0 - probability)).mean())


def belief_lines() -> Lines:
    """A line for each set, size and prior; means over samples of rows."""
    lines = [["log", "rows", "prior variance", "correlation", "spread", "relative sd", "log loss"]]
    for title in SETS:
        for count in SIZES:
            for variance in VARIANCES:
                each = [compared(title, count, variance, seed) for seed in range(REPEATS)]
                mean = Compared(*np.mean(each, axis=0))
                cells = [f"{mean.alike:.3f}", f"{mean.spread:.2f}", f"{mean.doubt:.2f}"]
                lines.append([title, f"{count:,}", f"{variance:g}", *cells, f"{mean.loss:+.4f}"])
    return lines


def clicks(
    results: dict[Game, float], condition: Condition, titles: Iterable[str]
) -> tuple[Band, int]:
    """Those of ours beyond Laplace's in per cent, pooled over logs, and of how many seeds."""
    sides = np.array(
        [
            [
                sum(
                    results.get(game_of(condition, title, learner, seed), np.nan)
                    for title in titles
                )
                for seed in SEEDS
            ]
            for learner in (condition.ours, LAPLACE)
        ]
    )
    ours, theirs = sides[:, np.isfinite(sides).all(axis=0)]
    return per_cent(ours[:, None], theirs[:, None]), len(ours)


def _shown(band: Band) -> str:
    text = f"{band.mean[0]:+.1f} ± {band.half[0]:.1f}"
    return f"**{text}**" if abs(band.mean[0]) > band.half[0] else text


def click_lines(results: dict[Game, float]) -> Lines:
    """A line for each condition."""
    lines = [["guess", "condition", "all", *SETS, "seeds"]]
    for guess, conditions in GUESSES.items():
        for condition in conditions:
            pooled, seeds = clicks(results, condition, SETS)
            each = [_shown(clicks(results, condition, [title])[0]) for title in SETS]
            lines.append([guess, condition.name, _shown(pooled), *each, f"{seeds}"])
    return lines


def page(results: dict[Game, float]) -> str:
    """The text of docs/measurements/level.md."""
    return "\n\n".join(
        [
            "# Why Laplace is level",
            origin("python -m studies.level --docs"),
            "On real logs a bandit on a correct Laplace approximation, refitted to all rows after "
            "every impression, has about as many clicks as one on FAB-COST under the same rule "
            "and prior, although the belief is much less accurate. Here is each guess why, with "
            "the experiment that could have refuted it.",
            "## Clicks",
            f"Clicks of FAB-COST beyond Laplace's in per cent, with 95 % intervals over paired "
            f"seeds, after {ROUNDS:,} visitors who each have 20 of the remaining rows of the log; "
            "15 columns, Thompson sampling of scale 1, prior variance 10 unless said otherwise. "
            "**Bold**: the interval is on one side of zero. There are many intervals here; one in "
            "twenty lies so by chance.",
            as_markdown(click_lines(results)),
            "## Beliefs",
            f"EP's belief beside Laplace's from the same rows at random, on {OTHERS:,} others; "
            f"means of {REPEATS} samples. *Correlation* of their mean scores: near 1 they rank "
            "alike. *Spread* of EP's mean scores over Laplace's. *Relative sd*: of a score, over "
            "the spread of scores, EP's over Laplace's: below 1 EP explores less. *Log loss* of "
            "EP minus Laplace's, in nats: below 0 EP predicts better.",
            as_markdown(belief_lines()),
            *_found(results),
        ]
    )


def _found(results: dict[Game, float]) -> list[str]:
    seeds = clicks(results, AS_IS, SETS)[1]
    return [f"{seeds} seeds."]
