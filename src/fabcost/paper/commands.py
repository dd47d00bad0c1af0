"""The commands `simulate` and `reproduce`; what they need is imported when they run."""

from __future__ import annotations

import os
import shlex
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fabcost import extras
from fabcost.wire.errors import explained


def simulate(
    out: Annotated[
        Path, typer.Option(help="The Parquet file to write, or a folder for PARTITIONS of them.")
    ],
    rows: Annotated[int, typer.Option(help="Impressions.")] = 678_446,
    seed: Annotated[int, typer.Option(min=0, help="Of the adverts, visitors and clicks.")] = 0,
    design: Annotated[
        str, typer.Option(help="day: car adverts, 15 covariates; authors: the paper's, six.")
    ] = "day",
    partitions: Annotated[
        int | None, typer.Option(min=1, help="Files, none of which has to fit into memory whole.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:
    """Impressions and clicks of a made-up day, as a log for `fabcost replay` or `fabcost fit`."""
    from rich.progress import Progress  # noqa: PLC0415

    from fabcost.paper import designs  # noqa: PLC0415

    many, clicks = partitions or 1, 0
    names = [out] if partitions is None else [out / f"part-{k:05}.parquet" for k in range(many)]
    with explained():
        for name in names:
            designs.check_new(name, force=force)
        with Progress(console=Console()) as bar:
            task = bar.add_task("rows", total=rows)
            parts = designs.simulate_parts(design, rows, seed, many)
            for name, impressions in zip(names, parts, strict=False):
                clicks += int(impressions.y.sum())
                designs.write(
                    impressions,
                    name,
                    design=design,
                    seed=seed,
                    force=force,
                    advance=lambda done: bar.advance(task, done),
                )
    typer.echo(f"{out}: {rows:,} impressions, {clicks:,} clicks ({clicks / rows:.2%})")


def reproduce(
    out: Annotated[
        Path, typer.Option(file_okay=False, help="Where report.html, results.json, figures go.")
    ],
    scale: Annotated[
        str, typer.Option(help="quick: some minutes; paper: the paper's sizes, two hours.")
    ] = "quick",
    seed: Annotated[int, typer.Option(min=0, help="Of the data and of every draw.")] = 0,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; all cores if none.")] = None,
) -> None:
    """The paper's results, claim by claim, as an HTML report; continues where it was stopped."""
    from fabcost.paper.units import find_scale  # noqa: PLC0415

    extras.check("reproduce")
    with explained():
        size = find_scale(scale)
    try:
        from fabcost.paper import reproduction  # noqa: PLC0415

        reproduction.reproduce(
            size, seed=seed, out=out, jobs=jobs or os.cpu_count() or 1, console=Console()
        )
    except (KeyboardInterrupt, BrokenProcessPool) as error:
        why = "Interrupted" if isinstance(error, KeyboardInterrupt) else "A process was killed"
        command = ("fabcost", "reproduce", "--scale", scale, "--seed", str(seed), "--out", str(out))
        typer.echo(f"\n{why}; to continue:\n    {shlex.join(command)}", err=True)
        raise typer.Exit(130 if isinstance(error, KeyboardInterrupt) else 1) from None
