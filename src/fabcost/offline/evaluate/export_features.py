"""Candidates of an exported log as items with features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fabcost.offline.evaluate.export_rows import Features, Round
from fabcost.offline.logs.encoding import encoded_records
from fabcost.offline.logs.rounds import Catalogue

#: Columns of items, and of contexts, whose strings may be as many as there are visitors.
MOST_OF_ITEMS, MOST_OF_CONTEXT = 500, 100


def as_of_export(rounds: list[Round]) -> list[Round]:
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


def with_context(path: Path, rounds: list[Round], names: Sequence[str]) -> list[Round]:
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


def items_of(
    path: Path, rounds: list[Round], catalogue: Catalogue | None
) -> tuple[list[dict[str, int]], Catalogue]:
    """Each round's candidates as places in a catalogue: the given one, or that of the log.

    In the latter an id has a place for each of its features.
    """
    if catalogue is not None:
        return _known(path, rounds, catalogue), catalogue
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
    if not has_features(rounds):
        records = [{"id": name} for name in ids]
    return places, Catalogue(ids, encoded_records(records, path, most=MOST_OF_ITEMS))


def has_features(rounds: list[Round]) -> bool:
    """Whether any candidate has any."""
    return any(features for each in rounds for features in each.features.values())


def notes_on(rounds: list[Round]) -> Iterator[str]:
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
    if not has_features(rounds):
        yield "no candidate has features: policies that learn tell items apart by their ids"


def _known(path: Path, rounds: list[Round], catalogue: Catalogue) -> list[dict[str, int]]:
    place = {name: i for i, name in enumerate(catalogue.ids)}
    for each in rounds:
        for name in each.chances:
            if name not in place:
                raise ValueError(f"{path} has the candidate {name!r}, which is no known item")
    return [{name: place[name] for name in each.chances} for each in rounds]
