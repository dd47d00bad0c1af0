"""The command line; each command imports what it needs when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import fabcost

application = typer.Typer(
    name="fabcost", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)


@application.callback()
def describe() -> None:
    """Cold-start recommendation by Bayesian logistic regression."""


@application.command()
def version() -> None:
    """Print the version."""
    typer.echo(fabcost.__version__)


@application.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("fabcost-demo"),
    seed: Annotated[int, typer.Option(help="Of the data and of the sampler.")] = 1,
    draws: Annotated[int, typer.Option(min=100, help="Reference draws of each chain.")] = 2000,
) -> None:
    """Tour: how accurate each method is on cold-start data, as a table and a picture."""
    from fabcost.experiments import tour

    tour.run(out, seed=seed, draws=draws, console=Console())
