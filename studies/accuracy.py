"""Measure how close each posterior is to NUTS: ``python -m studies.accuracy``."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from itertools import groupby

import numpy as np
from rich.console import Console
from rich.progress import track
from threadpoolctl import threadpool_limits

from fabcost.paper.designs import cold_start
from fabcost.paper.tour import (
    CAPTION,
    METHODS,
    Accuracy,
    draw,
    measure,
    screen_table,
    table_lines,
)
from studies.documents import DOCS, origin, write_page

SIZES = (30, 100, 300, 1000, 3000)
PRIOR_VARIANCES = (1.0, 100.0)
ALLOWED_MEAN_ERROR = 0.02
LEAST_GAIN = 10.0
GAIN_UP_TO = 1000


def holds(cell: Accuracy) -> bool:
    """Whether EP is as accurate as claimed, beyond what the sampler itself can tell."""
    close = cell.mean_errors["EP"] <= ALLOWED_MEAN_ERROR + cell.sampler_error
    return close and (cell.rows > GAIN_UP_TO or cell.gain >= LEAST_GAIN)


def measure_cell(seed: int, variance: float, rows: int, draws: int) -> Accuracy:
    """One posterior of one stream, on one thread."""
    data = cold_start(max(SIZES), rng=np.random.default_rng(seed))
    with threadpool_limits(1):
        return measure(data, rows, prior_variance=variance, draws=draws, seed=seed)


def measure_all(streams: int, draws: int, console: Console) -> list[Accuracy]:
    """Every cell of every stream, side by side on the cores."""
    cells = [(v, n, s) for v in PRIOR_VARIANCES for n in SIZES for s in range(1, streams + 1)]
    with ProcessPoolExecutor() as pool:
        running = {pool.submit(measure_cell, s, v, n, draws): (v, n, s) for v, n, s in cells}
        done = {
            running[each]: each.result()
            for each in track(as_completed(running), "sampling", total=len(cells), console=console)
        }
    return [done[cell] for cell in cells]


def averages(points: list[Accuracy]) -> list[list[Accuracy]]:
    """Over the streams, for each size; a list for each prior variance."""
    cells = groupby(points, key=lambda point: (point.prior_variance, point.rows))
    means = [average(list(cell)) for _, cell in cells]
    return [list(group) for _, group in groupby(means, key=lambda cell: cell.prior_variance)]


def average(points: list[Accuracy]) -> Accuracy:
    """Points of one size and prior as one; draws and marginals are those of the first."""

    def mean(values: Iterable[float]) -> float:
        return float(np.mean([*values]))

    return replace(
        points[0],
        clicks=mean(point.clicks for point in points),
        mean_errors={n: mean(point.mean_errors[n] for point in points) for n in METHODS},
        variance_errors={n: mean(point.variance_errors[n] for point in points) for n in METHODS},
        sampler_error=mean(point.sampler_error for point in points),
    )


def markdown(points: list[Accuracy]) -> str:
    heading, *lines = table_lines(points)
    rule = ("---",) + ("---:",) * len(points)
    return "\n".join(f"| {' | '.join(line)} |" for line in [heading, rule, *lines])


def page(groups: list[list[Accuracy]], streams: int, command: str) -> str:
    parts = [
        "# Accuracy at the cold start",
        origin(command),
        f"15 weights, 3 to 4 % of clicks; columns are the first impressions of a stream, figures "
        f"are averages over {streams} streams. Each is the {CAPTION}, against a long run of NUTS. "
        "FAB-COST is the online learner with its default schedule, one sweep at each refresh; "
        "EP is `ep.fit`, converged.",
        "![One posterior and the errors](../images/accuracy.png)",
    ]
    for group in groups:
        parts += [f"## Prior variance {group[0].prior_variance:g}", markdown(group)]
        parts.append(_variances(group))
    parts.append(verdict([cell for group in groups for cell in group]))
    return "\n\n".join(parts)


def verdict(cells: list[Accuracy]) -> str:
    missed = [f"{c.rows} rows, variance {c.prior_variance:g}" for c in cells if not holds(c)]
    claim = (
        f"EP's error at most {ALLOWED_MEAN_ERROR} above the sampler's own, and at least "
        f"{LEAST_GAIN:g} times smaller than Laplace's up to {GAIN_UP_TO:,} impressions"
    )
    return f"{claim}: {'not at ' + '; '.join(missed) if missed else 'holds in every column'}."


def _variances(group: list[Accuracy]) -> str:
    errors = ", ".join(
        f"{c.rows:,}: {c.variance_errors['EP']:.2f} / {c.variance_errors['Laplace']:.2f}"
        for c in group
    )
    return f"Relative error of the variances, rms over the weights, EP / Laplace: {errors}."


def _options() -> argparse.Namespace:
    arguments = argparse.ArgumentParser(prog="python -m studies.accuracy", description=__doc__)
    arguments.add_argument("--streams", type=int, default=5, help="data sets to average over")
    arguments.add_argument("--draws", type=int, default=20_000, help="of each of two chains")
    arguments.add_argument("--docs", action="store_true", help="write measurements/accuracy.md")
    return arguments.parse_args()


def main() -> None:
    options = _options()
    console = Console()
    points = measure_all(options.streams, options.draws, console)
    groups = averages(points)
    cells = [cell for group in groups for cell in group]
    for group in groups:
        console.print(screen_table(group))
    console.print(verdict(cells))
    if options.docs:
        example = next(p for p in points if (p.rows, p.prior_variance) == (300, 100.0))
        draw(example, groups[-1], DOCS.parent / "images" / "accuracy.png")
        command = f"python -m studies.accuracy --streams {options.streams} --draws {options.draws}"
        written = write_page("accuracy.md", page(groups, options.streams, command))
        console.print(f"wrote {written}")


if __name__ == "__main__":
    main()
