"""Measure how close each posterior is to NUTS: ``python -m benchmarks.accuracy``."""

from __future__ import annotations

import argparse
from itertools import groupby

import numpy as np
from rich.console import Console
from rich.progress import track

from benchmarks.documents import DOCS, origin, write_page
from fabcost.experiments.accuracy import Accuracy, measure
from fabcost.experiments.cold_start import simulate
from fabcost.experiments.figures import draw_accuracy
from fabcost.experiments.tables import CAPTION, accuracy_markdown, accuracy_table

SIZES = (30, 100, 300, 1000, 3000)
PRIOR_VARIANCES = (1.0, 100.0)
ALLOWED_MEAN_ERROR = 0.02
LEAST_GAIN = 10.0
GAIN_UP_TO = 1000


def holds(point: Accuracy) -> bool:
    """Whether EP is as accurate as claimed, beyond what the sampler itself can tell."""
    close = point.errors["EP"].mean <= ALLOWED_MEAN_ERROR + point.sampler_error
    return close and (point.rows > GAIN_UP_TO or point.gain >= LEAST_GAIN)


def page(groups: list[list[Accuracy]], command: str) -> str:
    parts = [
        "# Accuracy at the cold start",
        origin(command),
        "15 weights, 3 to 4 % of clicks, one stream; columns are its first impressions. "
        f"Figures are the {CAPTION}, against a long run of NUTS. "
        "FAB-COST is the online learner with its default schedule, one sweep at each refresh; "
        "EP is `ep.fit`, converged.",
        "![One posterior and the errors](images/accuracy.png)",
    ]
    for group in groups:
        parts += [f"## Prior variance {group[0].prior_variance:g}", accuracy_markdown(group)]
        parts.append(_variances(group))
    return "\n\n".join(parts)


def _variances(group: list[Accuracy]) -> str:
    errors = ", ".join(
        f"{p.rows:,}: {p.errors['EP'].variance:.2f} / {p.errors['Laplace'].variance:.2f}"
        for p in group
    )
    return f"Relative error of the variances, rms over the weights, EP / Laplace: {errors}."


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--draws", type=int, default=20_000, help="of each of two chains")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--docs", action="store_true", help="write docs/accuracy.md")
    options = arguments.parse_args()
    console = Console()
    data = simulate(max(SIZES), rng=np.random.default_rng(options.seed))
    measured = measure(
        data,
        sizes=SIZES,
        prior_variances=PRIOR_VARIANCES,
        draws=options.draws,
        seed=options.seed,
    )
    total = len(SIZES) * len(PRIOR_VARIANCES)
    points = list(track(measured, "sampling the truth", total=total, console=console))
    groups = [list(group) for _, group in groupby(points, key=lambda p: p.prior_variance)]
    for group in groups:
        console.print(accuracy_table(group))
    missed = [f"{p.rows} rows, variance {p.prior_variance:g}" for p in points if not holds(p)]
    console.print(
        f"EP as accurate as claimed: {'not at ' + '; '.join(missed) if missed else 'yes'}"
    )
    if options.docs:
        draw_accuracy(groups[-1], DOCS / "images" / "accuracy.png")
        command = f"python -m benchmarks.accuracy --draws {options.draws} --seed {options.seed}"
        console.print(f"wrote {write_page('accuracy.md', page(groups, command))}")


if __name__ == "__main__":
    main()
