"""The log that a service exported, read as it is: every round has candidates of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet

from fabcost.features.tables.sheet import BadRowsError, Fault
from fabcost.offline.logs.export_rounds import (
    AMOUNTS,
    EXPORTED,
    ExportedRound,
    Features,
    Numbered,
    RoundError,
    countable,
    round_of,
)
from fabcost.offline.logs.rounds import Log, LoggedAmounts, LoggedItems, encoded_records

#: Columns of items, and of contexts, whose strings may be as many as there are visitors.
MOST_OF_ITEMS, MOST_OF_CONTEXT = 500, 100


def is_export(path: Path) -> bool:
    """Whether a file is Parquet with the columns of a service's log."""
    return path.suffix == ".parquet" and set(EXPORTED) <= set(
        pyarrow.parquet.read_schema(path).names
    )


def read_export(
    path: Path,
    *,
    context: Sequence[str] = (),
    items: LoggedItems | None = None,
    skip_bad_rows: bool = False,
    crosses: bool = False,
    drop: Sequence[str] = (),
) -> Log:
    """The log of a service: Parquet of ``fabcost export-log``, or of ``GET …/log?format=parquet``.

    Of the ``context`` the named features are used, or all but those to ``drop``; ``items`` replace
    those of the log.  A bad row is an error that names it and what is wrong, or is skipped.
    """
    there = set(pyarrow.parquet.read_schema(path).names)
    columns = [*EXPORTED, *(name for name in AMOUNTS if name in there)]
    drawn, notes = countable(pyarrow.parquet.read_table(path, columns=columns).to_pylist())
    rounds, skipped = _sound(path, drawn, skip_bad_rows)
    if not rounds:
        why = "; ".join([*notes, f"{skipped.total()} bad rows were skipped"])
        raise ValueError(f"{path} has no round with an outcome and propensities ({why})")
    notes += _notes_on(rounds)
    rounds = _with_context(path, _without(path, _as_of_export(rounds), drop), context)
    log = _assembled(path, rounds, items, skipped, crosses)
    return replace(log, notes=tuple(notes), amounts=_worth(log, rounds))


def _worth(log: Log, rounds: list[ExportedRound]) -> LoggedAmounts | None:
    """What clicks are worth, unless each is worth 1 and nothing costs."""
    value, cost = np.array([each.amounts for each in rounds]).T.copy()
    if (value == 1.0).all() and not cost.any():
        return None
    return LoggedAmounts.of_rounds((value, cost), log.action, log.items)


def _sound(
    path: Path, numbered: list[Numbered], skip_bad_rows: bool
) -> tuple[list[ExportedRound], Counter[str]]:
    sound, faults = [], []
    for row, record in numbered:
        try:
            sound.append(round_of(record))
        except RoundError as error:
            faults.append(Fault(row, *error.parts))
    if faults and not skip_bad_rows:
        raise BadRowsError(str(path), faults)
    return sound, Counter(fault.kind for fault in faults)


def _assembled(
    path: Path,
    rounds: list[ExportedRound],
    items: LoggedItems | None,
    skipped: Counter[str],
    crosses: bool,
) -> Log:
    candidates, items = _items_of(path, rounds, items)
    keys = []
    for each, places in zip(rounds, candidates, strict=True):
        chances = each.chances
        offered = sorted((place, chances[name]) for name, place in places.items())
        keys.append((tuple(each.context.items()), tuple(offered)))
    distinct = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    records = [dict(context) for context, _ in distinct]
    contexts, alarms = encoded_records(records, str(path), most=MOST_OF_CONTEXT, rounds=len(rounds))
    return Log(
        np.array([each.reward for each in rounds]),
        np.array([each.chances[each.action] for each in rounds]),
        np.array([places[r.action] for r, places in zip(rounds, candidates, strict=True)]),
        np.array([distinct[key] for key in keys]),
        contexts,
        [np.array([place for place, _ in offered]) for _, offered in distinct],
        items,
        skipped,
        crosses,
        [np.array([chance for _, chance in offered]) for _, offered in distinct],
        alarms=(*alarms, *items.alarms),
    )


def _as_of_export(rounds: list[ExportedRound]) -> list[ExportedRound]:
    """Rounds on a catalogue that has changed, with the features of the export for all candidates.

    The log has those of the decision for the chosen candidate alone.  A policy that saw them could
    tell what the log has chosen, and no weight would be right.
    """
    now: dict[str, Features] = {}
    for each in rounds:
        if each.changed:
            now |= {name: f for name, f in each.features.items() if name != each.action}
    return [
        each._replace(features={n: now.get(n, f) for n, f in each.features.items()})
        if each.changed
        else each
        for each in rounds
    ]


def _without(path: Path, rounds: list[ExportedRound], drop: Sequence[str]) -> list[ExportedRound]:
    known = dict.fromkeys(
        name for each in rounds for some in (each.context, *each.features.values()) for name in some
    )
    for name in drop:
        if name not in known:
            raise ValueError(f"{path} has no feature {name!r} to drop; it has {', '.join(known)}")

    def kept(features: Features) -> Features:
        return {name: value for name, value in features.items() if name not in drop}

    return [
        each._replace(
            context=kept(each.context), features={k: kept(f) for k, f in each.features.items()}
        )
        for each in rounds
    ]


def _with_context(
    path: Path, rounds: list[ExportedRound], names: Sequence[str]
) -> list[ExportedRound]:
    """Rounds with the named features of the context only, or all if none is named."""
    if not names:
        return rounds
    known = dict.fromkeys(name for each in rounds for name in each.context)
    for name in names:
        if name not in known:
            shown = ", ".join(known) or "none"
            raise ValueError(f"{path} has no context feature {name!r}; it has {shown}")
    return [
        each._replace(context={name: each.context.get(name) for name in names}) for each in rounds
    ]


def _items_of(
    path: Path, rounds: list[ExportedRound], items: LoggedItems | None
) -> tuple[list[dict[str, int]], LoggedItems]:
    """Each round's candidates as places among the items: the given ones, or those of the log.

    Of the latter an id has a place for each of its features.
    """
    if items is not None:
        return _known(path, rounds, items), items
    place: dict[tuple[str, object], int] = {}
    records: list[Features] = []
    places = []
    for each in rounds:
        here = {}
        for name, features in each.features.items():
            here[name] = place.setdefault((name, tuple(features.items())), len(place))
            if len(place) > len(records):
                records.append(features)
        places.append(here)
    ids = tuple(name for name, _ in place)
    by_id = not _has_features(rounds)
    if by_id:
        records = [{"id": name} for name in ids]
    rows, alarms = encoded_records(records, str(path), most=MOST_OF_ITEMS, rounds=len(rounds))
    return places, LoggedItems(ids, rows, by_id, () if by_id else alarms)


def _has_features(rounds: list[ExportedRound]) -> bool:
    return any(features for each in rounds for features in each.features.values())


def _notes_on(rounds: list[ExportedRound]) -> Iterator[str]:
    """What the candidates are, where that is not plain."""
    unlikely = sum(min(each.chances.values()) == 0.0 for each in rounds)
    changed = sum(each.changed for each in rounds)
    gone = {name for each in rounds for name in each.missing}
    if unlikely:
        yield f"in {unlikely:,} rounds candidates had no chance: the floor was 0"
    if changed:
        yield (
            f"in {changed:,} rounds the catalogue was another one: policies that learn see the "
            "features of the export"
        )
    if gone:
        yield (
            f"{len(gone):,} candidates have left the catalogue: policies that learn see none of "
            "their features; uniform and always:ITEM need none"
        )
    if not _has_features(rounds):
        yield "no candidate has features: policies that learn tell items apart by their ids"


def _known(path: Path, rounds: list[ExportedRound], items: LoggedItems) -> list[dict[str, int]]:
    place = {name: i for i, name in enumerate(items.ids)}
    for each in rounds:
        for name in each.chances:
            if name not in place:
                raise ValueError(f"{path} has the candidate {name!r}, which is no known item")
    return [{name: place[name] for name in each.chances} for each in rounds]
