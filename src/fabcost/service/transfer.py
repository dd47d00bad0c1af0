"""A model's log out of the service and into it, page by page.

JSON Lines, Parquet, and what Vowpal Wabbit reads.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence

import msgspec
from msgspec import UNSET

from fabcost.service.service import Service
from fabcost.service.settings import Settings
from fabcost.service.store.rows import DecisionRecord, StoredDecision, record
from fabcost.wire.errors import UnknownItemError
from fabcost.wire.formats import WRITERS, LogWriter, read_impressions
from fabcost.wire.line import UNLIMITED, Limits, LoggedImpression, LogLine, Names
from fabcost.wire.messages import LogFormat, Record
from fabcost.wire.settings import ModelSettings

#: The features of an item of the catalogue, None if it is there no more.
Lookup = Callable[[str], Record | None]
#: Decisions that are read and written at once; few, so that others are served in between.
PAGE = 100
PAGE_BYTES = 1024 * 1024
FIRST_PAGE = 10
#: Impressions, and candidates of theirs, that wait for the database together.
BATCH = 500
BATCH_RECORDS = 5_000
#: Lines of a log may be larger than a request: they have the features of a whole catalogue.
_LINES_OF_A_BODY = 8


def limits_of(settings: Settings, *, catalogue: int = 0) -> Limits:
    """Those of a server, for a model of so many items, which may all compete at once."""
    return Limits(
        candidates=max(settings.candidates, catalogue),
        features=settings.features,
        text_length=settings.text_length,
        line_bytes=max(settings.body_bytes, settings.import_bytes // _LINES_OF_A_BODY),
        lines=settings.import_lines,
        decoded_bytes=settings.decoded_bytes,
    )


async def export(service: Service, model: str, form: LogFormat) -> AsyncGenerator[bytes]:
    """The log of a model, oldest decision first, in pieces of a file.

    Features of candidates are those of the request.  Of the catalogue, the chosen item has those
    with which it was chosen, and the others have those of now; a line says if the catalogue has
    changed since, and which features are unknown because an item has left it.
    """
    settings = service.model(model).settings
    with service.exporting():
        writer, features, after, limit = WRITERS[form](), _lookup(service, model), 0, FIRST_PAGE
        while rows := await service.export_log(model, after=after, limit=limit):
            version = service.catalogue_version(model)
            if piece := await asyncio.to_thread(_page, writer, rows, settings, version, features):
                yield piece
            after, limit = rows[-1].seq, _next_limit(rows)
        if last := await asyncio.to_thread(writer.end):
            yield last


def _page(
    writer: LogWriter,
    rows: Sequence[StoredDecision],
    settings: ModelSettings,
    version: int,
    features: Lookup,
) -> bytes:
    lines = []
    for row in rows:
        line = line_of(row, version, features)
        fraction = None if line.value is None else settings.fraction(line.value)
        more = {} if fraction is None else {"fraction": fraction}
        lines.append(msgspec.structs.replace(line, **more))
    return writer.page(lines)


def _next_limit(rows: Sequence[StoredDecision]) -> int:
    """As many rows as have about the bytes of a page, if they are like the last ones."""
    size = sum(len(row.record) for row in rows)
    return max(1, min(PAGE, PAGE_BYTES * len(rows) // max(size, 1)))


async def load(
    service: Service,
    model: str,
    form: LogFormat,
    body: bytes,
    *,
    after: str = "",
    limits: Limits = UNLIMITED,
) -> int:
    """Learn a log from elsewhere in the order of its lines; how many told something new.

    All lines are checked before the first is written; an error changes nothing.  The same body
    again changes nothing either.
    ``after`` is what names the lines before the body; see `fabcost.wire.line.Names`.
    """
    service.model(model)

    def read() -> Iterator[tuple[int, LoggedImpression]]:
        return read_impressions(body, form, names=Names(after), limits=limits)

    # Read twice: all lines at once would be many times as large as the body.
    await service.check_log(model, read)
    new, lines = 0, read()
    while part := await asyncio.to_thread(_next_part, lines):
        new += await service.import_log(model, part)
    return new


def _next_part(lines: Iterator[tuple[int, LoggedImpression]]) -> list[LoggedImpression]:
    part: list[LoggedImpression] = []
    records = 0
    for _, impression in lines:
        part.append(impression)
        records += len(impression.candidates)
        if len(part) == BATCH or records >= BATCH_RECORDS:
            break
    return part


def _lookup(service: Service, model: str) -> Lookup:
    def features(item: str) -> Record | None:
        try:
            return service.item(model, item)
        except UnknownItemError:
            return None

    return features


def line_of(stored: StoredDecision, version: int, lookup: Lookup) -> LogLine:
    """A stored decision with the features of its candidates, given the catalogue as it is now."""
    made = record(stored.record)
    candidates, missing = _candidates(made, lookup)
    return LogLine(
        decision_id=stored.decision,
        time=stored.made,
        context=made.context,
        candidates=candidates,
        item=stored.item,
        propensities=made.all_propensities,
        value=stored.value,
        excluded=tuple(made.excluded),
        missing=tuple(missing),
        changed=made.features is None and made.catalogue_version != version,
        arm=stored.arm,
        deadline=stored.deadline,
        ranking=tuple(made.answer.ranking),
        scores=tuple(made.answer.scores),
        posterior_version=made.answer.posterior_version,
        mode=made.mode,
        would_choose=made.would_choose,
        deferred=made.deferred,
        active=stored.active,
        resolved=stored.resolved,
        outcome=stored.outcome,
        label=stored.label,
        lsn=stored.lsn,
        click_value=UNSET if stored.click_value == 1.0 else stored.click_value,
        cost=stored.cost or UNSET,
    )


def _candidates(made: DecisionRecord, lookup: Lookup) -> tuple[dict[str, Record], list[str]]:
    if made.features is not None:
        return {item: made.features[item] for item in made.candidates}, []
    found = {item: lookup(item) for item in made.candidates}
    if made.item_features is not None:
        found[made.answer.item] = made.item_features
    missing = [item for item, features in found.items() if features is None]
    return {item: features or {} for item, features in found.items()}, missing
