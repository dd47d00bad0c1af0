"""Rows that stand for many impressions, their cost and accuracy: ``python -m studies.weights``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from rich.console import Console

from fabcost import FabCost, Gaussian, Refresh, Tally
from fabcost.impressions import FloatArray, Outcomes, grouped
from fabcost.inference import adf, ep, laplace, nuts
from fabcost.paper import designs
from studies import claims
from studies.claims import Claim
from studies.documents import origin, write_page
from studies.timing import as_text, in_turn, median

ROWS, QUICK_ROWS = 678_446, 30_000
PRIOR_VARIANCE = 100.0
SEED = 0
SMALL = (100, 300, 1_000)  # impressions of which the truth is sampled
DRAWS = 10_000
KINDS = 12  # distinct rows of the small sets
SETS, FEWER = 12, 2_000  # on which ADF is seen, and draws of the truth of each


class Errors(NamedTuple):
    """How far a posterior is from the truth: of means in sds, of sds relatively; the largest."""

    mean: float
    sd: float


def day(rows: int) -> Iterator[Claim]:
    """Converged EP of a whole day by its distinct rows, beside Laplace on all."""
    data = designs.day(rows, seed=SEED)
    prior = Gaussian.isotropic(data.X.shape[1], variance=PRIOR_VARIANCE)
    by_groups = partial(ep.fit, prior, data.X, data.y, group=True)
    result = by_groups()
    all_rows = partial(laplace.fit, prior, data.X, data.y)
    rounds = in_turn(all_rows, by_groups, repeats=5)
    before, after = (median(column) for column in rounds.T)
    detail = (
        f"{as_text(after)} over {as_text(before)}; {len(result.sites.shift):,} distinct rows, "
        f"grouped within that time, {result.sweeps} sweeps, converged: {result.converged}"
    )
    what = f"EP of {rows:,} rows, group=True, over Laplace on all of them"
    yield Claim(what, median(rounds[:, 1] / rounds[:, 0]), "at most", 0.15, detail)
    rows_, outcomes, _ = grouped(data.X, Outcomes(np.where(data.y > 0, 1.0, -1.0)))
    counts = outcomes.counts if outcomes.counts is not None else np.empty((0, 2))
    given = Tally(counts[:, 0], counts.sum(axis=1))
    rounds = in_turn(all_rows, partial(ep.fit, prior, rows_, given), repeats=3)
    before, after = (median(column) for column in rounds.T)
    detail = f"{as_text(after)} over {as_text(before)}; the table of counts is given"
    what = "EP of its distinct rows as Tally, over Laplace on all rows"
    yield Claim(what, median(rounds[:, 1] / rounds[:, 0]), "at most", 0.15, detail)


def small(rows: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """The first impressions of a day in which only some adverts are shown."""
    data = designs.day(rows, seed=seed)
    chosen = np.random.default_rng(seed).integers(KINDS, size=rows)
    X = data.X[:KINDS][chosen]
    rate = 1.0 / (1.0 + np.exp(-(X @ data.theta)))
    return X, np.where(np.random.default_rng(seed + 1).random(rows) < 4.0 * rate, 1.0, -1.0)


def accuracy(sizes: tuple[int, ...], draws: int) -> Iterator[Claim]:
    """One site for equal rows, and one for each, beside NUTS on all."""
    for rows in sizes:
        X, y = small(rows, seed=SEED)
        prior = Gaussian.isotropic(X.shape[1], variance=PRIOR_VARIANCE)
        truth = nuts.fit(prior, X, y, draws=draws, chains=2, seed=SEED).posterior
        copies, groups = (
            _errors(ep.fit(prior, X, y, group=group).posterior, truth) for group in (False, True)
        )
        for of in Errors._fields:
            apart, together = getattr(copies, of), getattr(groups, of)
            detail = f"{together:.2g} over {apart:.2g}, against {2 * draws:,} draws"
            what = (
                f"{rows:,} impressions of {KINDS} rows: error of {of} with one site for equal rows"
            )
            yield Claim(what, together / apart, "at most", 1.0, detail)


class Filtered(NamedTuple):
    """Errors of one pass of ADF in each set, with a step for each weight, and for each copy."""

    step: list[Errors]
    copies: list[Errors]
    step_shuffled: list[Errors]
    copies_shuffled: list[Errors]

    @property
    def line(self) -> str:
        """The means of all, for the page."""
        told = [f"{Errors(*np.mean(each, axis=0)).mean:.2g}" for each in self]
        return (
            f"In the {len(self.step)} sets of ADF the error of the mean is {told[0]} sds with a "
            f"step for each weight and {told[1]} with copies in the same places; with rows in a "
            f"random order {told[2]}, with copies in a random order {told[3]}."
        )


def filtered(sets: int, draws: int, rows: int = 100) -> Filtered:
    """ADF on rows with weights and on copies, in their order and in another, beside NUTS."""
    found = Filtered([], [], [], [])
    for seed in range(sets):
        X, y = small(rows, seed)
        rng = np.random.default_rng([seed, 2])
        weight = rng.integers(1, 6, size=rows)
        all_X, all_y = X.repeat(weight, axis=0), y.repeat(weight)
        prior = Gaussian.isotropic(X.shape[1], variance=PRIOR_VARIANCE)
        truth = nuts.fit(prior, all_X, all_y, draws=draws, chains=2, seed=seed).posterior
        one, many = rng.permutation(rows), rng.permutation(all_y.size)
        for errors, fitted in (
            (found.step, adf.fit(prior, X, y, weight=weight)),
            (found.copies, adf.fit(prior, all_X, all_y)),
            (found.step_shuffled, adf.fit(prior, X[one], y[one], weight=weight[one])),
            (found.copies_shuffled, adf.fit(prior, all_X[many], all_y[many])),
        ):
            errors.append(_errors(fitted.posterior, truth))
    return found


def of_steps(found: Filtered, rows: int = 100) -> Iterator[Claim]:
    """A step for a weight over copies in its place."""
    for of in Errors._fields:
        one, many = ([getattr(each, of) for each in way] for way in (found.step, found.copies))
        nearer = sum(a < b for a, b in zip(one, many, strict=True))
        detail = f"{np.mean(one):.3g} over {np.mean(many):.3g}; nearer in {nearer} of {len(one)}"
        what = f"ADF, {rows} rows of weights 1 to 5: error of {of}, a step for each over copies"
        yield Claim(what, float(np.mean(one) / np.mean(many)), "at most", 1.0, detail)


def _errors(found: Gaussian, truth: Gaussian) -> Errors:
    mean = np.abs(found.mean - truth.mean) / truth.sd
    return Errors(float(mean.max()), float(np.abs(found.sd / truth.sd - 1.0).max()))


def whole_weights(rows: int = 2_000) -> Iterator[Claim]:
    """Whole weights beside repetition at EP's fixed point."""
    data = designs.day(rows, seed=SEED)
    weight = np.random.default_rng(SEED).integers(1, 6, size=rows)
    prior = Gaussian.isotropic(data.X.shape[1], variance=PRIOR_VARIANCE)
    copies = ep.fit(prior, data.X.repeat(weight, axis=0), data.y.repeat(weight)).posterior
    weighted = ep.fit(prior, data.X, data.y, weight=weight).posterior
    away = _errors(weighted, copies)
    what = f"{rows:,} rows of weights 1 to 5 beside as many copies: means apart, in sds"
    yield Claim(what, away.mean, "at most", 0.05, f"sds differ by {away.sd:.2g}", unit="")


def single(rows: int) -> Iterator[Claim]:
    """What the same rows cost with labels and as counts of one."""
    data = designs.day(rows, seed=SEED)
    prior = Gaussian.isotropic(data.X.shape[1], variance=PRIOR_VARIANCE)
    ones = Tally(data.y, np.ones(rows))
    for what, labels, counts in (
        ("ADF", partial(_learn, prior, data.X, data.y), partial(_learn, prior, data.X, ones)),
        (
            "EP, two sweeps",
            partial(ep.fit, prior, data.X, data.y, max_sweeps=2),
            partial(ep.fit, prior, data.X, ones, max_sweeps=2),
        ),
    ):
        labels(), counts()
        rounds = in_turn(labels, counts, repeats=9) / rows
        before, after = (median(column) for column in rounds.T)
        detail = f"{as_text(after)} over {as_text(before)} for each row; the bits are the same"
        ratio = median(rounds[:, 1] / rounds[:, 0])
        yield Claim(f"{what}: single rows as Tally, over labels", ratio, "at most", 1.3, detail)


def _learn(prior: Gaussian, X: FloatArray, y: FloatArray | Tally) -> None:
    FabCost(prior, refresh=Refresh.never()).observe_many(X, y)


def measure(*, quick: bool) -> tuple[list[Claim], str]:
    rows, sizes, draws = (QUICK_ROWS, SMALL[:1], 500) if quick else (ROWS, SMALL, DRAWS)
    found = [*day(rows), *whole_weights(), *single(20_000)]
    passes = filtered(2 if quick else SETS, min(draws, FEWER))
    return [*found, *accuracy(sizes, draws), *of_steps(passes)], passes.line


def page(found: list[Claim], line: str) -> str:
    """The page of the documentation."""
    return "\n\n".join(
        [
            "# Weights, counts and groups",
            origin("python -m studies.weights --docs"),
            "A row that stands for many impressions has one site, whose moments are matched at "
            f"once. One thread, 15 weights, prior variance {PRIOR_VARIANCE:g}, the simulated day "
            "of car adverts; both sides of a ratio in turns within one run, in processor time. "
            "Errors are the largest over the weights, of means in posterior sds, of sds "
            "relatively, beside NUTS on all rows.",
            claims.as_markdown(found),
            "At the fixed point of EP whole weights are copies, but for what one site of many is "
            "nearer to the posterior. One pass of ADF has no fixed point: what it finds depends on "
            "the order of rows, copies or not. `fit` of the classifier with `inference='adf'` "
            "makes equal rows one and takes them in an order that depends on them alone, so that "
            f"there, too, a weight is its copies wherever these stand. {line}",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.weights", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes: a smoke test")
    parser.add_argument("--docs", action="store_true", help="write measurements/weights.md")
    given = parser.parse_args()
    start = time.monotonic()
    found, line = measure(quick=given.quick)
    console = Console(width=None if sys.stdout.isatty() else 140)
    console.print(claims.as_table(found, quick=given.quick, title="Weights, counts and groups"))
    console.print(f"{time.monotonic() - start:.0f} s")
    if given.docs:
        console.print(f"wrote {write_page('weights.md', page(found, line))}")


if __name__ == "__main__":
    main()
