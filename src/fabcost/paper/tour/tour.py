"""`fabcost tour`: how accurate each method is when data are few."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from fabcost.paper.tour.accuracy import Accuracy, measure, summarise
from fabcost.paper.tour.figure import draw_accuracy
from fabcost.paper.tour.table import accuracy_table
from fabcost.worlds.cold_start import Impressions, simulate

SIZES = (30, 100, 300, 1000)
PRIOR_VARIANCE = 100.0


def run(out: Path, *, seed: int, draws: int, console: Console) -> list[Accuracy]:
    """Measure, print the table and write the picture to ``out``."""
    data = simulate(max(SIZES), rng=np.random.default_rng(seed))
    console.print(
        "A site has just opened: 15 features, 3 to 4 % of clicks, a vague prior.\n"
        "Each method learns from the first impressions; NUTS, far slower, samples the truth.\n"
    )
    points = _measured(data, seed=seed, draws=draws, console=console)
    console.print(accuracy_table(summarise(points)))
    picture = out / "accuracy.png"
    draw_accuracy(points[len(points) // 2], summarise(points), picture)
    console.print(f"\nPicture: {picture}")
    return points


def _measured(data: Impressions, *, seed: int, draws: int, console: Console) -> list[Accuracy]:
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    points = []
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("sampling the truth", total=len(SIZES))
        for point in measure(
            data,
            sizes=SIZES,
            prior_variances=(PRIOR_VARIANCE,),
            draws=draws,
            seed=seed,
        ):
            points.append(point)
            progress.update(task, advance=1, description=f"{point.rows} impressions done")
    return points
