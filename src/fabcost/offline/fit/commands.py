"""The command `fit`; what it needs is imported when it runs."""

from __future__ import annotations

import os
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console


def fit(
    logs: Annotated[
        str,
        typer.Argument(
            help="A file or folder of Parquet, CSV or JSON Lines: a path, or an address such as "
            "s3://bucket/logs."
        ),
    ],
    out: Annotated[Path, typer.Option(dir_okay=False, help="The model file to write.")],
    reward: Annotated[
        str | None, typer.Option(help="Column of the outcome, 0/1, true/false or yes/no.")
    ] = None,
    method: Annotated[str, typer.Option(help="ep, laplace, adf or fab-cost.")] = "ep",
    impressions: Annotated[
        str | None, typer.Option(help="Column of how many a row stands for.")
    ] = None,
    clicks: Annotated[
        str | None, typer.Option(help="In place of REWARD: clicks of so many IMPRESSIONS.")
    ] = None,
    weight: Annotated[str | None, typer.Option(help="Column of how much a row counts.")] = None,
    item: Annotated[
        str | None, typer.Option(help="Column of the item's id: each has an effect of its own.")
    ] = None,
    context: Annotated[list[str], typer.Option(help="Column of the context; repeatable.")] = [],  # noqa: B006
    drop: Annotated[list[str], typer.Option(help="Column to leave out; repeatable.")] = [],  # noqa: B006
    schema: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="TOML; else the first rows decide."),
    ] = None,
    prior_variance: Annotated[
        float | None, typer.Option(help="One for all weights; else that of fabcost.Prior.")
    ] = None,
    group: Annotated[
        bool | None, typer.Option(help="Make equal rows one; else method and first rows decide.")
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave bad files and rows out, and count them.")
    ] = False,
    dask: Annotated[bool, typer.Option("--dask", help="On a local Dask cluster.")] = False,
    scheduler: Annotated[
        str | None, typer.Option(help="On the Dask cluster at this address.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Of the local cluster; all cores if none.")
    ] = None,
    memory_limit: Annotated[str, typer.Option(help="Of each local worker.")] = "auto",
    work: Annotated[
        str | None,
        typer.Option(help="Folder of blocks and checkpoints, for all workers; else OUT.work."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite OUT.")] = False,
) -> None:
    """Fit a model to logs of any size, for `create-model --file` and `Recommender.load`.

    The same command goes on where it was stopped: with EP after the last round that was complete.
    """
    from fabcost import Prior, Schema  # noqa: PLC0415
    from fabcost.offline.fit.engines import Alone, ClusterLostError, connected  # noqa: PLC0415
    from fabcost.offline.fit.fitting import LogSettings, fit_log  # noqa: PLC0415
    from fabcost.offline.fit.folders import Folder  # noqa: PLC0415
    from fabcost.offline.logs.counted import named_outcome  # noqa: PLC0415

    console, say = Console(stderr=True), partial(typer.echo, err=True)
    place = work or f"{out}.work"
    try:
        if out.exists() and not force:
            raise ValueError(f"{out} exists; --force overwrites it")
        outcome = named_outcome(reward, clicks, impressions)
        if outcome is None:
            raise ValueError("neither --reward nor --clicks names a column of outcomes")
        prior = Prior() if prior_variance is None else Prior.same(prior_variance)
        settings = LogSettings(
            outcome,
            method,  # type: ignore[arg-type]  # it is checked there
            impressions,
            weight,
            tuple(context),
            tuple(drop),
            None if schema is None else Schema.from_toml(schema),
            prior,
            group,
            skip_bad,
            item,
        )
        many = workers or os.cpu_count() or 1
        cluster: Any = nullcontext(Alone(console))
        if dask or scheduler is not None:
            cluster = connected(
                scheduler, workers=many, memory_limit=memory_limit, console=console, say=say
            )
        with cluster as engine:
            fitted = fit_log(logs, settings, work=place, engine=engine, say=say)
        fitted.recommender.save(out)
    except ClusterLostError as error:
        typer.echo(f"Error: {error}\nThe same command goes on from {place}.", err=True)
        raise typer.Exit(1) from error
    except (ValueError, OSError, ImportError) as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(2) from error
    if work is None:
        Folder(place).clear()
    elif fitted.folder is not None:
        fitted.folder.clear()
    for fault in fitted.bad_files:
        typer.echo(f"left out: {fault}", err=True)
    for kind, left_out in fitted.skipped.items():
        typer.echo(f"left out: {left_out:,} rows, in which {kind}", err=True)
    found = fitted.fit
    ended = "converged" if found.converged else "not converged"
    typer.echo(
        f"{out}: {fitted.rows:,} rows, {found.posterior.dimension} weights, {method} {ended} "
        f"after {found.iterations} passes"
    )
