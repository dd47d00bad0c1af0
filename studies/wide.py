"""Very many weights, beside other libraries and the full belief: ``python -m studies.wide``."""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from bayesianbandits import BayesianGLM
from rich.console import Console
from scipy.sparse import csc_array, csr_array
from scipy.special import expit
from threadpoolctl import threadpool_limits
from vowpalwabbit import Workspace

from fabcost import Bandit, FabCost, Gaussian, HashedFeatures, Refresh, WideFabCost
from fabcost.impressions import FloatArray
from fabcost.inference.wide.learner import VARIANCE
from fabcost.sparse import SparseRows
from studies import claims
from studies.claims import Claim
from studies.documents import origin, write_page
from studies.timing import as_text, in_turn, median

BITS, FIELDS, ROWS, CANDIDATES = 20, 19, 5_000, 100
EVERY = 10  # rows between two updates where losses are compared
SMALL, CORES = 500, (0, 32, 128, 500)
TRIED, OTHER_SEEDS = (1.0, 0.5, 0.25, VARIANCE, 0.0625), (10, 11, 12)
SPREAD, BASE = 0.5, -2.0
OURS, VOWPAL, BAYESIAN = "fabcost", "Vowpal Wabbit", "bayesianbandits, sparse"
VW = f"--loss_function=logistic --link=logistic -b {BITS} --noconstant --quiet"

#: A table, its head first.
Lines = list[list[str]]
#: A model of clicks: what it predicts of rows, and how it learns from them.
Predict = Callable[[SparseRows], FloatArray]
Learn = Callable[[SparseRows, FloatArray], object]
Make = Callable[[float, int], tuple[Predict, Learn]]


@dataclass(frozen=True)
class Stream:
    """Impressions as hashed rows of twenty numbers, and their clicks."""

    name: str
    rows: SparseRows
    y: FloatArray

    def first(self, many: int) -> Stream:
        """Only the first impressions."""
        return Stream(self.name, self.rows[np.arange(many)], self.y[:many])


def simulated(seed: int, many: int, *, columns: int = 2**BITS) -> Stream:
    """A constant and 19 categories, of 3 to 200,000 values by Zipf's law, with random weights."""
    rng, hashed = np.random.default_rng(seed), HashedFeatures(bits=BITS)
    found = np.zeros((many, FIELDS + 1), dtype=np.int64)
    found[:, 0] = hashed.column("constant")[0]
    for field, size in enumerate(np.geomspace(3, 200_000, FIELDS).astype(int).tolist()):
        odds = np.arange(1, size + 1) ** -1.1
        values = rng.choice(size, size=many, p=odds / odds.sum()).tolist()
        found[:, field + 1] = [hashed.column(f"{field}={value}")[0] for value in values]
    found %= columns
    rows = SparseRows.of_pairs([(each, np.ones(each.size)) for each in found], columns)
    theta = SPREAD * rng.standard_normal(columns)
    theta[found[0, 0]] = BASE
    clicks = rng.random(many) < expit(rows.dot(theta))
    return Stream("simulated clicks", rows, clicks.astype(np.float64))


def bank_marketing(many: int, *, after: int = 0) -> Stream | None:
    """Whether a client subscribed: every field but one as a category, in random order."""
    path = Path(os.environ.get("FABCOST_DATA", "")) / "bank_marketing/bank-additional-full.csv.gz"
    if not path.is_file():
        return None
    with gzip.open(path, "rt", encoding="utf-8") as file:
        records = list(csv.DictReader(file, delimiter=";"))
    order = np.random.default_rng(0).permutation(len(records))[after : after + many].tolist()
    chosen = [records[k] for k in order]
    left_out = ("y", "duration")  # known only afterwards
    rows = HashedFeatures(bits=BITS).rows(
        {name: value for name, value in each.items() if name not in left_out} for each in chosen
    )
    return Stream("bank marketing", rows, np.array([float(each["y"] == "yes") for each in chosen]))


def ours(variance: float, weights: int) -> tuple[Predict, Learn]:
    learner = WideFabCost(weights, variance=variance)
    return learner.posterior.predict, learner.observe_many


def bayesian(variance: float, weights: int) -> tuple[Predict, Learn]:
    model = BayesianGLM(alpha=1.0 / variance, link="logit", sparse=True)

    def predict(rows: SparseRows) -> FloatArray:
        if not hasattr(model, "coef_"):
            return np.full(len(rows), 0.5)
        return np.asarray(model.predict(_as_scipy(rows, weights)))

    return predict, lambda rows, y: model.partial_fit(_as_scipy(rows, weights), y)


def vowpal(rate: float, weights: int) -> tuple[Predict, Learn]:  # noqa: ARG001
    model = Workspace(f"{VW} -l {rate}")

    def learn(rows: SparseRows, y: FloatArray) -> None:
        for text, label in zip(_as_texts(rows), y, strict=True):
            model.learn(f"{1 if label else -1} {text}")

    return lambda rows: np.array([model.predict(each) for each in _as_texts(rows)]), learn


#: Models with the settings that they are tried with, their default first.
MODELS: dict[str, tuple[Make, tuple[float, ...]]] = {
    OURS: (ours, (VARIANCE, 0.25)),
    VOWPAL: (vowpal, (0.5, 0.2, 1.0)),
    BAYESIAN: (bayesian, (1.0, 0.25)),
}


def _as_scipy(rows: SparseRows, weights: int) -> Any:
    return csc_array(csr_array((rows.values, rows.columns, rows.starts), (len(rows), weights)))


def _as_texts(rows: SparseRows) -> list[str]:
    numbers = [f"{j}:{x}" for j, x in zip(rows.columns, rows.values, strict=True)]
    return ["| " + " ".join(numbers[a:b]) for a, b in pairwise(rows.starts.tolist())]


def log_loss(stream: Stream, make: Make, setting: float) -> float:
    """The mean log loss of rows that were predicted before they were learnt from."""
    predict, learn = make(setting, stream.rows.weights)
    total = 0.0
    for start in range(0, len(stream.rows), EVERY):
        part = np.arange(start, min(start + EVERY, len(stream.rows)))
        rows, y = stream.rows[part], stream.y[part]
        p = np.clip(predict(rows), 1e-12, 1.0 - 1e-12)
        total -= float(np.log(np.where(y > 0, p, 1.0 - p)).sum())
        learn(rows, y)
    return total / len(stream.rows)


def choices(rows: int) -> Lines:
    """Losses by prior variance, on rows that no claim is about."""
    streams = [bank_marketing(rows, after=k * ROWS) for k in (1, 2, 3)]
    streams += [simulated(seed, rows) for seed in OTHER_SEEDS]
    found = [each for each in streams if each is not None]
    lines = [["model", *[each.name for each in found]]]
    tried = [(OURS, ours, each) for each in TRIED] + [(VOWPAL, vowpal, MODELS[VOWPAL][1][0])]
    for name, make, setting in tried:
        scores = [log_loss(each, make, setting) for each in found]
        lines.append([f"{name}, {setting:g}", *[f"{loss:.4f}" for loss in scores]])
    return lines


def narrowed(stream: Stream) -> Stream:
    """Without the columns that no row has: a model with a prior of its own for each is the same."""
    columns, places = stream.rows.touched
    rows = SparseRows(stream.rows.starts, places, stream.rows.values, columns.size)
    return Stream(stream.name, rows, stream.y)


def losses(stream: Stream, *names: str) -> dict[str, list[float]]:
    """The log losses of some models in each of their settings."""
    narrow = narrowed(stream)
    return {
        name: [log_loss(narrow if name == BAYESIAN else stream, make, each) for each in settings]
        for name, (make, settings) in MODELS.items()
        if name in names
    }


def compared(stream: Stream, *peers: str) -> Iterator[Claim]:
    found = losses(stream, OURS, *peers)
    for peer in peers:
        for what, pick in (("as they come", 0), ("at the best of their settings", None)):
            mine, theirs = (
                found[name][0] if pick == 0 else min(found[name]) for name in (OURS, peer)
            )
            settings = ", ".join(
                f"{each:g}: {loss:.4f}"
                for each, loss in zip(MODELS[peer][1], found[peer], strict=True)
            )
            yield Claim(
                f"log loss of {len(stream.y):,} rows, {stream.name}, over that of {peer}, {what}",
                mine / theirs,
                "at most",
                1.0,
                f"{mine:.4f} over {theirs:.4f} ({settings})",
            )


def times(stream: Stream, calls: int, slow_calls: int) -> Iterator[Claim]:
    """Updates and decisions at 2²⁰ weights, each library in turn."""
    learner, weights = WideFabCost(2**BITS), 2**BITS
    learner.observe_many(stream.rows, stream.y)
    bandit, vw = Bandit(learner), Workspace(VW)
    slow = BayesianGLM(alpha=1.0, link="logit", sparse=True)
    slow.partial_fit(_as_scipy(stream.rows[np.arange(50)], weights), stream.y[:50])
    pairs = [(r.columns, r.values) for r in (stream.rows[k] for k in range(calls))]
    texts = _as_texts(stream.rows[np.arange(calls)])
    row = _as_scipy(stream.rows[0], weights)
    few = stream.rows[np.arange(CANDIDATES)]
    matrix, column_matrix, candidate_texts = (
        csr_array((few.values, few.columns, few.starts), few.shape),
        _as_scipy(few, weights),
        texts[:CANDIDATES],
    )

    def update() -> None:
        for pair, label in zip(pairs, stream.y, strict=False):
            learner.observe(pair, label)

    def vw_update() -> None:
        for text, label in zip(texts, stream.y, strict=False):
            vw.learn(f"{1 if label else -1} {text}")

    actions: tuple[Callable[[], object], ...] = (
        update,
        vw_update,
        lambda: slow.partial_fit(row, stream.y[:1]),
        lambda: bandit.choose(matrix),  # type: ignore[arg-type]
        lambda: bandit.choose(matrix, draws=256),  # type: ignore[arg-type]
        lambda: [vw.predict(each) for each in candidate_texts],
        lambda: slow.sample(column_matrix),
    )
    for act in actions:
        act()
    seconds = [median(each) for each in in_turn(*actions, repeats=slow_calls).T]
    seconds[0], seconds[1] = seconds[0] / calls, seconds[1] / calls
    mine, vw_one, slow_one, decide, drawn, vw_all, slow_all = seconds
    beside = f"{VOWPAL} {as_text(vw_one)}, {BAYESIAN} {as_text(slow_one)}"
    yield Claim("update, 20 non-zeros", 1e6 * mine, "at most", 100.0, beside, unit=" µs")
    beside = f"{VOWPAL} (no draw) {as_text(vw_all)}, {BAYESIAN} (a draw) {as_text(slow_all)}"
    what = f"Thompson over {CANDIDATES} candidates of 20 non-zeros"
    yield Claim(what, 1e3 * decide, "at most", 1.0, beside, unit=" ms")
    what += ", with propensities of 256 draws"
    yield Claim(what, 1e3 * drawn, "at most", 1.0, "", unit=" ms")


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


def as_markdown(lines: Lines) -> str:
    rows = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([rows[0], "|---" * len(lines[0]) + "|", *rows[1:]])


def page(found: list[Claim], chosen: Lines, lines: Lines, command: str) -> str:
    """The page of the documentation."""
    return "\n\n".join(
        [
            "# Very many weights",
            origin(command),
            f"`WideFabCost` with 2^{BITS} hashed weights, one thread, processor time, libraries in "
            f"turn within one run. Rows have 20 numbers: a constant and {FIELDS} categories, "
            "simulated (3 to 200,000 values by Zipf's law) or those of the public set Bank "
            f"Marketing. All learn after every {EVERY} rows, which were predicted before. "
            f"{BAYESIAN} predicts from the same rows without the columns that none has, which "
            "changes nothing but its time; its times are with all of them, after 50 rows. "
            f"Settings that were tried: prior variances of {OURS} "
            f"{MODELS[OURS][1]}, of {BAYESIAN} {MODELS[BAYESIAN][1]}, learning rates of {VOWPAL} "
            f"{MODELS[VOWPAL][1]}; the first is the default.",
            claims.as_markdown(found),
            "## How the default was chosen",
            f"Log losses by the prior variance, here of other rows: {ROWS:,} each of Bank "
            f"Marketing after those above, and of other simulated streams. {VARIANCE:g} is the "
            f"default, and the only setting of {VOWPAL} is its own.",
            as_markdown(chosen),
            f"## Beside the full belief, at {SMALL} weights",
            f"Both by ADF from the same prior and the same rows, simulated, hashed into {SMALL} "
            "columns. Apart are root mean squares in sds of the full belief; ratios are medians.",
            as_markdown(lines),
            "Which belief for which number of weights is said in "
            "[Prior and rule](../how-to/prior-and-rule.md#which-belief).",
        ]
    )


def measure(rows: int, slow_rows: int, calls: int, slow_calls: int) -> list[Claim]:
    stream, real = simulated(0, rows), bank_marketing(rows)
    found = list(times(stream, calls, slow_calls))
    found += compared(stream, VOWPAL)
    found += compared(stream.first(min(rows, slow_rows)), BAYESIAN)
    if real is not None:
        found += compared(real, VOWPAL, BAYESIAN)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.wide", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes: a smoke test")
    parser.add_argument("--docs", action="store_true", help="write measurements/wide.md")
    parser.add_argument(
        "--slow-rows", type=int, default=ROWS, help=f"simulated ones that {BAYESIAN}, learns from"
    )
    given = parser.parse_args()
    start = time.monotonic()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a peer warns of rows it has not converged on
        found = measure(*((200, 200, 100, 2) if given.quick else (ROWS, given.slow_rows, 1_000, 9)))
        chosen = choices(200 if given.quick else ROWS)
        lines = distances(200 if given.quick else ROWS)
    console = Console(width=None if sys.stdout.isatty() else 140)
    console.print(claims.as_table(found, quick=given.quick, title="Very many weights"))
    console.print(as_markdown(chosen))
    console.print(as_markdown(lines))
    console.print(f"{time.monotonic() - start:.0f} s")
    if given.docs:
        command = f"python -m studies.wide --docs --slow-rows {given.slow_rows}"
        console.print(f"wrote {write_page('wide.md', page(found, chosen, lines, command))}")


if __name__ == "__main__":
    main()
