"""The command line; each command imports what it needs when it runs."""

from __future__ import annotations

import math
import os
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


@application.command()
def evaluate(
    log: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="CSV or Parquet.")],
    reward: Annotated[str, typer.Option(help="Column of the outcome, 0 or 1.")],
    propensity: Annotated[str, typer.Option(help="Column of the logged action's probability.")],
    action: Annotated[str, typer.Option(help="Column of the chosen item's id.")],
    out: Annotated[Path, typer.Option(help="Where evaluation.json and .png go.")],
    items: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Table of item features.")
    ] = None,
    item_id: Annotated[str | None, typer.Option(help="Its id column, if not ACTION.")] = None,
    context: Annotated[list[str], typer.Option(help="Column of the context; repeatable.")] = [],  # noqa: B006
    slot: Annotated[str | None, typer.Option(help="Only items of a row's slot compete.")] = None,
    policy: Annotated[
        list[str],
        typer.Option(
            help="uniform, greedy, epsilon-greedy:0.1, thompson:1, ucb:0.95, always:ITEM, "
            "or learning-thompson and so on; repeatable."
        ),
    ] = ["uniform", "greedy", "thompson"],  # noqa: B006
    estimator: Annotated[
        list[str], typer.Option(help="replay, ips, snips, dm, dr, sndr; repeatable.")
    ] = ["replay", "ips", "snips", "dm", "dr"],  # noqa: B006
    crosses: Annotated[bool, typer.Option(help="Cross context and item features.")] = False,
    clip: Annotated[float, typer.Option(help="Largest weight of ips, snips and dr.")] = math.inf,
    level: Annotated[float, typer.Option(help="Confidence of the intervals.")] = 0.95,
    folds: Annotated[int, typer.Option(min=2, help="Of the cross-fitted model.")] = 5,
    prior_variance: Annotated[float, typer.Option(help="Of the model's weights.")] = 1.0,
    draws: Annotated[int, typer.Option(min=1, help="For Thompson's probabilities.")] = 256,
    seed: Annotated[int, typer.Option(min=0, help="Of folds, draws and acceptance.")] = 0,
    skip_bad_rows: Annotated[bool, typer.Option(help="Skip and count them.")] = False,
) -> None:
    """Value of policies from someone else's log: replay, IPS, SNIPS, direct, doubly robust."""
    from fabcost.experiments.evaluation import report
    from fabcost.experiments.evaluation.log import Columns, read_catalogue, read_log
    from fabcost.experiments.evaluation.settings import Settings

    try:
        columns = Columns(reward, propensity, action, tuple(context), slot)
        catalogue = None if items is None else read_catalogue(items, item_id or action)
        settings = Settings(tuple(estimator), clip, level, folds, prior_variance, draws, seed)
        read = read_log(
            log, columns, catalogue=catalogue, skip_bad_rows=skip_bad_rows, crosses=crosses
        )
        origin = {"path": str(log), "items": str(items), "crosses": crosses, **vars(columns)}
        report.run(read, policy, settings, out=out, console=Console(), origin=origin)
    except ValueError as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(2) from error


@application.command()
def replay(
    log: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="CSV or Parquet.")],
    reward: Annotated[str, typer.Option(help="Column of the outcome, 0/1, true/false or yes/no.")],
    policy: Annotated[
        list[str],
        typer.Option(help="fabcost, laplace, uniform, greedy, …; fabcost@0.5 draws half as wide."),
    ] = ["fabcost", "laplace", "uniform"],  # noqa: B006
    against: Annotated[
        str | None, typer.Option(help="The baseline: laplace if it plays, else the last policy.")
    ] = None,
    drop: Annotated[list[str], typer.Option(help="Column to leave out; repeatable.")] = [],  # noqa: B006
    select: Annotated[
        int | None, typer.Option(min=1, help="Use so many features, chosen by a forest.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Replays of each policy.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="The first of them.")] = 0,
    rounds: Annotated[int | None, typer.Option(min=1, help="Stop early.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="Where replay.json, clicks.csv and replay.png go."),
    ] = None,
    prior_variance: Annotated[float, typer.Option(help="Of every weight.")] = 100.0,
    skip_bad_rows: Annotated[bool, typer.Option(help="Skip and count them.")] = False,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; all cores if none.")] = None,
) -> None:
    """Clicks that policies would have had on a log: choose, see the outcome, take it out."""
    from fabcost.experiments.replay import report
    from fabcost.experiments.replay.log import read_log
    from fabcost.experiments.replay.runs import Settings

    try:
        settings = Settings(tuple(policy), against, seeds, seed, rounds, prior_variance)
        read = read_log(log, reward, drop=drop, skip_bad_rows=skip_bad_rows)
        report.run(
            read,
            settings,
            console=Console(),
            jobs=jobs or os.cpu_count() or 1,
            features=select,
            out=out,
            origin={"path": str(log), "reward": reward, "drop": drop, "select": select},
        )
    except ValueError as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(2) from error
