"""Tables of measurements, for the terminal and for the documentation."""

from __future__ import annotations

from rich.table import Table

from fabcost.paper.tour.accuracy import METHODS, Summary

CAPTION = "error of the posterior mean in posterior sds, rms over the weights"


def accuracy_lines(points: list[Summary]) -> list[tuple[str, ...]]:
    """A heading, then a line for each method with a column for each number of impressions."""
    return [
        ("method", *(f"{point.rows:,}" for point in points)),
        *((name, *(_figure(p.mean_errors[name]) for p in points)) for name in METHODS),
        ("NUTS, its own error", *(_figure(point.sampler_error) for point in points)),
        ("Laplace / EP", *(f"{point.gain:.0f} times" for point in points)),
        ("clicks so far", *(f"{point.clicks:.3g}" for point in points)),
    ]


def accuracy_table(points: list[Summary]) -> Table:
    """The lines as a table for the terminal."""
    heading, *lines = accuracy_lines(points)
    table = Table(title=f"Prior variance {points[0].prior_variance:g}", caption=CAPTION)
    for column in heading:
        table.add_column(column, justify="left" if column == heading[0] else "right")
    for line in lines:
        table.add_row(*line)
    return table


def accuracy_markdown(points: list[Summary]) -> str:
    """The lines as a table for the documentation."""
    heading, *lines = accuracy_lines(points)
    rule = ("---",) + ("---:",) * len(points)
    return "\n".join(f"| {' | '.join(line)} |" for line in [heading, rule, *lines])


def _figure(value: float) -> str:
    return f"{value:.2g}" if value < 1e4 else f"{value:.0e}"
