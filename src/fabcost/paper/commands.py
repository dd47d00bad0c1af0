"""The command `simulate`; what it needs is imported when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


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

    from fabcost.paper import designs, parquet  # noqa: PLC0415

    many, clicks = partitions or 1, 0
    names = [out] if partitions is None else [out / f"part-{k:05}.parquet" for k in range(many)]
    try:
        for name in names:
            parquet.check_new(name, force=force)
        with Progress(console=Console()) as bar:
            task = bar.add_task("rows", total=rows)
            parts = designs.simulate_parts(design, rows, seed, many)
            for name, impressions in zip(names, parts, strict=False):
                clicks += int(impressions.y.sum())
                parquet.write(
                    impressions,
                    name,
                    design=design,
                    seed=seed,
                    force=force,
                    advance=lambda done: bar.advance(task, done),
                )
    except (ValueError, OSError) as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(2) from error
    typer.echo(f"{out}: {rows:,} impressions, {clicks:,} clicks ({clicks / rows:.2%})")
