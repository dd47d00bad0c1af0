"""The wide belief beside the full one: how far apart they are, and what each costs."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from fabcost import Bandit, FabCost, Gaussian, Refresh, WideFabCost
from fabcost.impressions import FloatArray
from fabcost.inference.wide.learner import VARIANCE
from fabcost.sparse import SparseRows
from studies.timing import as_text, in_turn, median
from studies.wide.models import Learn, Predict, full, log_loss
from studies.wide.streams import Stream, simulated

#: A table, its head first.
Lines = list[list[str]]
SMALL, CORES, CANDIDATES = 500, (0, 32, 128, 500), 100
SIZES, MOST_REFINED, MOST_FULL = (100, 500, 2_000, 2**14, 2**20), 500, 2_000
FULL = {
    "full, refined by EP: `FabCost`": Refresh.geometric(),
    "full: `FabCost(…, refresh=Refresh.never())`": None,
}
WIDE = "wide: `WideFabCost`"
DECISION = f"decision over {CANDIDATES}, propensities of 256 draws"
LOSS = "log loss of {:,} rows"


def by_size(rows: int, calls: int) -> Lines:
    """What each belief costs and foretells, by the number of weights; one thread."""
    lines = [["weights", "belief", "an outcome learnt", DECISION, "memory", LOSS.format(rows)]]
    for weights in SIZES:
        stream = simulated(2, rows, columns=weights)
        few = stream.rows[np.arange(CANDIDATES)]
        for name, refresh in FULL.items() if weights <= MOST_FULL else ():
            if refresh is None or weights <= MOST_REFINED:
                found = _costs(
                    stream, few.dense(), full(refresh or Refresh.never(), weights), calls
                )
                lines.append([f"{weights:,}", name, *found])
        wide = WideFabCost(weights)
        model = (wide, wide.posterior.predict, wide.observe_many)
        lines.append([f"{weights:,}", WIDE, *_costs(stream, few, model, calls)])
    return lines


def _costs(
    stream: Stream, few: Any, model: tuple[Any, Predict, Learn], calls: int
) -> tuple[str, ...]:
    """Of one belief: seconds an outcome and a decision, bytes, and the loss."""
    learner, predict, learn = model
    spent = [0.0]

    def timed(rows: SparseRows, y: FloatArray) -> None:
        started = time.process_time()
        learn(rows, y)
        spent[0] += time.process_time() - started

    loss = log_loss(stream, (predict, timed))
    bandit = Bandit(learner, seed=0)
    decide = median(in_turn(lambda: bandit.choose(few, draws=256), repeats=calls).T[0])
    size = _bytes(learner.posterior)
    return as_text(spent[0] / len(stream.y)), as_text(decide), size, f"{loss:.4f}"


def _bytes(belief: Any) -> str:
    arrays = [each for each in vars(belief).values() if isinstance(each, np.ndarray)]
    return f"{sum(each.nbytes for each in arrays) / 1e6:,.2g} MB"


def distances(many: int) -> Lines:
    """The wide belief beside the full one, both by ADF, on the same rows of 500 columns."""
    stream, rest = _split(simulated(1, 2 * many, columns=SMALL), many)
    dense, later = stream.rows.dense(), rest.rows.dense()
    full = FabCost(Gaussian.isotropic(SMALL, variance=VARIANCE), refresh=Refresh.never())
    full.observe_many(dense, stream.y)
    belief = full.posterior
    centre, spread = belief.marginal(later)
    lines = [
        [
            "core",
            "means apart, in sds",
            "sd of weights, over the full",
            "scores apart, in sds",
            "sd of scores, over the full",
            "KL(full, wide) in nats a weight",
            f"log loss of the next {many:,}",
        ]
    ]
    for core in CORES:
        wide = WideFabCost(SMALL, core=core, after=1 if core == SMALL else 2)
        wide.observe_many(stream.rows, stream.y)
        mine = wide.posterior
        mean, variance = mine.marginal(rest.rows)
        lines.append(
            [
                f"{core}",
                f"{np.sqrt((((mine.mean - belief.mean) / belief.sd) ** 2).mean()):.2f}",
                f"{np.median(mine.sd / belief.sd):.2f}",
                f"{np.sqrt(((mean - centre) ** 2 / spread).mean()):.2f}",
                f"{np.median(np.sqrt(variance / spread)):.2f}",
                f"{_divergence(belief, mine.mean, mine.covariance(np.arange(SMALL))) / SMALL:.3f}",
                f"{_loss(mine.predict(rest.rows), rest.y):.4f}",
            ]
        )
    lines.append(["full belief", *["–"] * 5, f"{_loss(belief.predict(later), rest.y):.4f}"])
    return lines


def _split(stream: Stream, many: int) -> tuple[Stream, Stream]:
    after = np.arange(many, len(stream.rows))
    return stream.first(many), Stream(stream.name, stream.rows[after], stream.y[after])


def _loss(p: FloatArray, y: FloatArray) -> float:
    return float(-np.log(np.where(y > 0, p, 1.0 - p)).mean())


def _divergence(full: Gaussian, mean: FloatArray, covariance: FloatArray) -> float:
    """KL(full ‖ N(mean, covariance))."""
    inverse, away = np.linalg.inv(covariance), mean - full.mean
    logs = np.linalg.slogdet(covariance)[1] - full.log_determinant
    trace = float((inverse * full.covariance).sum())
    return 0.5 * (trace + float(away @ inverse @ away) - mean.size + float(logs))
