"""A service's exported log, read as it is: every round has candidates of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from fabcost.offline.evaluate.export_features import (
    MOST_OF_CONTEXT,
    as_of_export,
    items_of,
    notes_on,
    with_context,
)
from fabcost.offline.evaluate.export_rows import (
    EXPORTED,
    Numbered,
    Round,
    RowError,
    countable,
    round_of,
)
from fabcost.offline.logs.encoding import encoded_records
from fabcost.offline.logs.rounds import Catalogue, Log
from fabcost.offline.logs.rows import parquet_columns, read_records


def is_export(path: Path) -> bool:
    """Whether a file is Parquet with the columns of a service's log."""
    return path.suffix == ".parquet" and set(EXPORTED) <= set(parquet_columns(path))


def read_export(
    path: Path,
    *,
    context: Sequence[str] = (),
    catalogue: Catalogue | None = None,
    skip_bad_rows: bool = False,
    crosses: bool = False,
) -> Log:
    """The log of a service: Parquet of ``fabcost export-log``, or of ``GET …/log?format=parquet``.

    Parameters
    ----------
    path
        The file.
    context
        Features of the context to use; all if none is named.
    catalogue
        Features of the items, instead of those in the log.
    skip_bad_rows
        Instead of a ValueError that names the row, from 1, and what is wrong.
    crosses
        Whether rows have the products of context and item.
    """
    drawn, notes = countable(list(read_records(path, EXPORTED)))
    rounds, skipped = _sound(path, drawn, skip_bad_rows)
    if not rounds:
        why = "; ".join([*notes, f"{skipped.total()} bad rows were skipped"])
        raise ValueError(f"{path} has no round with an outcome and propensities ({why})")
    notes += notes_on(rounds)
    rounds = with_context(path, as_of_export(rounds), context)
    log = _assembled(path, rounds, catalogue, skipped, crosses)
    return replace(log, notes=tuple(notes))


def _sound(
    path: Path, numbered: list[Numbered], skip_bad_rows: bool
) -> tuple[list[Round], Counter[str]]:
    sound, skipped = [], Counter[str]()
    for row, record in numbered:
        try:
            sound.append(round_of(record))
        except RowError as fault:
            if not skip_bad_rows:
                raise ValueError(f"row {row} of {path}: {fault}") from fault
            skipped[fault.kind] += 1
    return sound, skipped


def _assembled(
    path: Path,
    rounds: list[Round],
    catalogue: Catalogue | None,
    skipped: Counter[str],
    crosses: bool,
) -> Log:
    items, catalogue = items_of(path, rounds, catalogue)
    keys = []
    for each, places in zip(rounds, items, strict=True):
        chances = each.chances
        offered = sorted((place, chances[name]) for name, place in places.items())
        keys.append((tuple(each.context.items()), tuple(offered)))
    distinct = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    return Log(
        np.array([each.reward for each in rounds]),
        np.array([each.chances[each.action] for each in rounds]),
        np.array([places[r.action] for r, places in zip(rounds, items, strict=True)]),
        np.array([distinct[key] for key in keys]),
        encoded_records([dict(c) for c, _ in distinct], path, most=MOST_OF_CONTEXT),
        [np.array([place for place, _ in offered]) for _, offered in distinct],
        catalogue,
        skipped,
        crosses,
        [np.array([chance for _, chance in offered]) for _, offered in distinct],
    )
