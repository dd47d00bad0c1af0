"""The command line; each command imports what it needs when it runs."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

import fabcost
from fabcost import extras
from fabcost.client import commands as transfer
from fabcost.offline.fit import commands as fitting
from fabcost.paper import commands as paper
from fabcost.service import commands as service
from fabcost.wire.errors import explained

application = typer.Typer(
    name="fabcost", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)


_FILES_HELP = "CSV, TSV, JSON Lines, one of them as .gz or in a .zip, or Parquet"
_PRIOR_HELP = "One for all weights; if not given, that of fabcost.Prior for each kind."
_IMPRESSIONS_HELP = "Column of how many a row stands for; REWARD then counts their clicks."
_CLICKS_HELP = "In place of REWARD: column of the clicks of so many IMPRESSIONS."
_VALUE_HELP = "Column of what a click is worth: income is reported, and rules go by it."
_COST_HELP = "Column of what showing costs, likewise."
_REWARD_HELP = "Column of the outcome, 0/1, true/false, yes/no or y/n."
_WEIGHT_HELP = "Column of how much a row counts for those who learn from it."


_Drop = Annotated[list[str], typer.Option(help="Column to leave out; repeatable.")]
_Category = Annotated[
    list[str], typer.Option(help="Column of names, even if they look like numbers; repeatable.")
]
_Number = Annotated[
    list[str], typer.Option(help="Column of numbers: all else in it is bad; repeatable.")
]
_Date = Annotated[
    list[str], typer.Option(help="Column of dates, or seconds since 1970; repeatable.")
]


def _switch(told: str) -> Any:
    """An option with a negative, apart from the others: their names and help have the room."""
    return typer.Option(help=told, rich_help_panel="Switches")


_OwnEffects = Annotated[
    bool, _switch("Effects of items beside their features, where no --prior-variance is given.")
]
_SkipBadRows = Annotated[bool, _switch("Skip and count them.")]


def _prior(variance: float | None, own_effects: bool) -> fabcost.Prior:
    if variance is not None:
        return fabcost.Prior.same(variance)
    return fabcost.Prior() if own_effects else fabcost.Prior(items=0.0)


for command in (
    *(service.serve, service.backup, service.restore, service.doctor, fitting.fit),
    *(transfer.create_model, transfer.export_log, transfer.import_log),
):
    application.command()(command)
application.add_typer(service.keys, name="keys")


def _told(asked: bool) -> None:
    if asked:
        version()
        raise typer.Exit


@application.callback()
def describe(
    _: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_told, help="Print the version.")
    ] = False,
) -> None:
    """Cold-start recommendation by Bayesian logistic regression."""


@application.command()
def version() -> None:
    """Print the version."""
    typer.echo(fabcost.__version__)


@application.command()
def demo(
    out: Annotated[
        Path, typer.Option(file_okay=False, help="Where the database and the log go.")
    ] = Path("fabcost-demo"),
    port: Annotated[int, typer.Option(min=0, help="Of the server; 0 for any.")] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Of adverts, visitors and choices.")] = 1,
    exit_after: Annotated[
        float | None, typer.Option(min=0.0, help="Seconds; until Ctrl-C if not given.")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the dashboard.")] = False,
) -> None:
    """A server with car adverts, and simulated visitors who come by HTTP."""
    extras.check("demo")
    with explained():
        from fabcost.demo import run

        run(out, port=port, seed=seed, exit_after=exit_after, browser=browser, console=Console())


@application.command()
def tour(
    out: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("fabcost-tour"),
    seed: Annotated[int, typer.Option(help="Of the data and of the sampler.")] = 1,
    draws: Annotated[int, typer.Option(min=100, help="Reference draws of each chain.")] = 2000,
) -> None:
    """How accurate each method is on cold-start data, as a table and a picture."""
    extras.check("tour")
    from fabcost.paper.tour import run

    run(out, seed=seed, draws=draws, console=Console())


@application.command()
def evaluate(
    log: Annotated[
        Path,
        typer.Argument(
            exists=True,
            dir_okay=False,
            help=f"{_FILES_HELP}; that of `export-log` needs no columns named.",
        ),
    ],
    reward: Annotated[str | None, typer.Option(help=_REWARD_HELP)] = None,
    propensity: Annotated[
        str | None, typer.Option(help="Column of the logged action's probability.")
    ] = None,
    action: Annotated[str | None, typer.Option(help="Column of the chosen item's id.")] = None,
    out: Annotated[
        Path, typer.Option(help="Where evaluation.json, evaluation.png and report.html go.")
    ] = Path("fabcost-evaluation"),
    report: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Where report.html goes, if not in OUT.")
    ] = None,
    items: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Table of item features.")
    ] = None,
    item_id: Annotated[str | None, typer.Option(help="Its id column, if not ACTION.")] = None,
    context: Annotated[list[str], typer.Option(help="Column of the context; repeatable.")] = [],  # noqa: B006
    drop: _Drop = [],  # noqa: B006
    category: _Category = [],  # noqa: B006
    number: _Number = [],  # noqa: B006
    date: _Date = [],  # noqa: B006
    slot: Annotated[str | None, typer.Option(help="Only items of a row's slot compete.")] = None,
    impressions: Annotated[str | None, typer.Option(help=_IMPRESSIONS_HELP)] = None,
    clicks: Annotated[str | None, typer.Option(help=_CLICKS_HELP)] = None,
    weight: Annotated[str | None, typer.Option(help=_WEIGHT_HELP)] = None,
    value: Annotated[str | None, typer.Option(help=_VALUE_HELP)] = None,
    cost: Annotated[str | None, typer.Option(help=_COST_HELP)] = None,
    policy: Annotated[
        list[str],
        typer.Option(
            help="default (by which a service decides), uniform, greedy, epsilon-greedy:0.1, "
            "thompson:1, ucb:0.95, ts-ucb:1, information-relaxation:5, "
            "information-directed:64, always:ITEM, "
            "or learning-thompson and so on; repeatable."
        ),
    ] = ["uniform", "greedy", "thompson"],  # noqa: B006
    estimator: Annotated[
        list[str], typer.Option(help="replay, ips, snips, dm, dr, sndr, shrunk; repeatable.")
    ] = ["replay", "ips", "snips", "dm", "dr", "shrunk"],  # noqa: B006
    crosses: Annotated[bool, _switch("Cross context and item features.")] = False,
    clip: Annotated[float, typer.Option(help="Largest weight of ips, snips and dr.")] = math.inf,
    level: Annotated[float, typer.Option(help="Confidence of the intervals.")] = 0.95,
    folds: Annotated[int, typer.Option(min=2, help="Of the cross-fitted model.")] = 5,
    prior_variance: Annotated[float | None, typer.Option(help=_PRIOR_HELP)] = None,
    own_effects: _OwnEffects = True,
    draws: Annotated[int, typer.Option(min=1, help="For probabilities of rules that draw.")] = 256,
    seed: Annotated[int, typer.Option(min=0, help="Of folds, draws and acceptance.")] = 0,
    skip_bad_rows: _SkipBadRows = False,
    least_propensity: Annotated[
        float | None, typer.Option(help="That logging can give; makes replay unbiased.")
    ] = None,
) -> None:
    """Value of policies from someone else's log: replay, IPS, SNIPS, direct, doubly robust."""
    from fabcost.features.tables.cells import kinds_of
    from fabcost.offline.evaluate.outlook import EvaluationSettings
    from fabcost.offline.evaluate.report import run
    from fabcost.offline.logs.counted import named_outcome
    from fabcost.offline.logs.decisions import check_kinds, columns_of, open_log, read_items

    with explained():
        named = (named_outcome(reward, clicks, impressions), propensity, action)
        worth = (value, cost)
        columns, export = columns_of(log, named, context, slot, impressions, weight, worth)
        kinds = kinds_of(category=category, number=number, date=date)
        unused = check_kinds(kinds, drop, columns, items)
        of_items = (item_id or columns.action, worth, kinds, drop)
        known = None if items is None else read_items(items, *of_items)
        prior = _prior(prior_variance, own_effects)
        settings = EvaluationSettings(
            tuple(estimator), clip, level, folds, prior, draws, seed, least_propensity
        )
        read = open_log(
            log,
            columns,
            export=export,
            items=known,
            skip_bad_rows=skip_bad_rows,
            crosses=crosses,
            kinds=kinds,
            drop=unused,
        )
        origin = {"path": str(log), "items": str(items), "crosses": crosses, **vars(columns)}
        for name in ("impressions", "weight", "value", "cost"):
            if origin[name] is None:
                del origin[name]
        origin |= {name: each for name, each in (("kinds", kinds), ("drop", drop)) if each}
        run(read, policy, settings, out=out, console=Console(), origin=origin, report=report)


@application.command()
def replay(
    log: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help=f"{_FILES_HELP}.")],
    reward: Annotated[str | None, typer.Option(help=_REWARD_HELP)] = None,
    policy: Annotated[
        list[str],
        typer.Option(
            help="fabcost, fabcost-paper, adf, ep, laplace, laplace-online, laplace-diagonal, "
            "laplace-published, linear, greedy, uniform; fabcost@0.5 draws half as wide, "
            "fabcost@ts-ucb chooses by another rule: those of evaluate; repeatable."
        ),
    ] = ["fabcost", "laplace", "uniform"],  # noqa: B006
    against: Annotated[
        str | None, typer.Option(help="The baseline: laplace if it plays, else the last policy.")
    ] = None,
    drop: _Drop = [],  # noqa: B006
    category: _Category = [],  # noqa: B006
    number: _Number = [],  # noqa: B006
    date: _Date = [],  # noqa: B006
    item: Annotated[
        str | None, typer.Option(help="Column of the item's id, which then is no feature.")
    ] = None,
    impressions: Annotated[str | None, typer.Option(help=_IMPRESSIONS_HELP)] = None,
    clicks: Annotated[str | None, typer.Option(help=_CLICKS_HELP)] = None,
    weight: Annotated[str | None, typer.Option(help=_WEIGHT_HELP)] = None,
    value: Annotated[str | None, typer.Option(help=_VALUE_HELP)] = None,
    cost: Annotated[str | None, typer.Option(help=_COST_HELP)] = None,
    own_effects: _OwnEffects = True,
    select: Annotated[
        int | None, typer.Option(min=1, help="Use so many features, chosen by a forest.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Replays of each policy.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="The first of them.")] = 0,
    rounds: Annotated[int | None, typer.Option(min=1, help="Stop early.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            file_okay=False, help="Where replay.json, clicks.csv, replay.png and report.html go."
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Where report.html goes, if not in OUT.")
    ] = None,
    prior_variance: Annotated[float | None, typer.Option(help=_PRIOR_HELP)] = None,
    half_life: Annotated[
        float | None,
        typer.Option(min=1, help="Impressions after which fabcost, adf and ep count one half."),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(help="Column of dates, at which rounds come: HALF_LIFE is in seconds."),
    ] = None,
    skip_bad_rows: _SkipBadRows = False,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; all cores if none.")] = None,
) -> None:
    """Clicks that policies would have had on a log: choose, see the outcome, take it out."""
    from fabcost.features.tables.cells import kinds_of
    from fabcost.offline.logs.counted import named_outcome
    from fabcost.offline.logs.impressions import read_log
    from fabcost.offline.replay.report import run
    from fabcost.offline.replay.runs import ReplaySettings

    with explained():
        outcome = named_outcome(reward, clicks, impressions)
        kinds = kinds_of(category=category, number=number, date=date)
        if outcome is None:
            raise ValueError("neither --reward nor --clicks names a column of outcomes")
        if time is not None and half_life is None:
            raise ValueError("--time is given but --half-life must say how many of its seconds")
        prior = _prior(prior_variance, own_effects)
        settings = ReplaySettings(tuple(policy), against, seeds, seed, rounds, prior, half_life)
        worth: dict[str, Any] = {"weight": weight, "value": value, "cost": cost, "time": time}
        of_rows: dict[str, Any] = {"item": item, "impressions": impressions, **worth}
        read = read_log(
            log, outcome, drop=drop, kinds=kinds, skip_bad_rows=skip_bad_rows, **of_rows
        )
        origin: dict[str, Any] = {"path": str(log), "reward": outcome, "drop": drop, "item": item}
        more = {"kinds": kinds, **worth}
        origin |= {name: each for name, each in more.items() if each} | {"select": select}
        many = jobs or os.cpu_count() or 1
        written: dict[str, Any] = {"out": out, "origin": origin, "report": report}
        run(read, settings, console=Console(), jobs=many, features=select, **written)


application.command()(paper.simulate)
application.command()(paper.reproduce)
