"""A log of whatever kind: a table whose columns are named, or the export of a service."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fabcost.offline.logs.decisions import Columns, read_log
from fabcost.offline.logs.exports import is_export, read_export
from fabcost.offline.logs.rounds import Catalogue, Log

#: Reward, propensity and action of an export.
OF_EXPORT = ("reward", "propensity", "action")


def columns_of(
    path: Path,
    named: tuple[str | None, str | None, str | None],
    context: Sequence[str],
    slot: str | None,
) -> tuple[Columns, bool]:
    """The columns of a log, and whether it is the export of a service, which need not be named."""
    fits = all(given in (None, name) for given, name in zip(named, OF_EXPORT, strict=True))
    if fits and is_export(path):
        if slot is not None:
            raise ValueError(f"{path} names the candidates of each row: slot is not for such logs")
        return Columns(*OF_EXPORT, tuple(context)), True
    reward, propensity, action = named
    if reward is None or propensity is None or action is None:
        raise ValueError(
            f"{path} is no Parquet log of a service: --reward, --propensity and --action must name "
            "its columns"
        )
    return Columns(reward, propensity, action, tuple(context), slot), False


def open_log(
    path: Path,
    columns: Columns,
    *,
    export: bool,
    catalogue: Catalogue | None,
    skip_bad_rows: bool,
    crosses: bool,
) -> Log:
    """The log with the columns of `columns_of`."""
    if export:
        return read_export(
            path,
            context=columns.context,
            catalogue=catalogue,
            skip_bad_rows=skip_bad_rows,
            crosses=crosses,
        )
    return read_log(
        path, columns, catalogue=catalogue, skip_bad_rows=skip_bad_rows, crosses=crosses
    )
