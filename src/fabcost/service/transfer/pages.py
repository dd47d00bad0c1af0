"""A model's log out of the service and into it, page by page."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator

from fabcost.service.errors import InvalidRequestError, UnknownItemError
from fabcost.service.messages import LoggedImpression, Record
from fabcost.service.service import Service
from fabcost.service.transfer.formats import WRITERS, Format, read_impressions
from fabcost.service.transfer.limits import Limits
from fabcost.service.transfer.lines import Lookup, line_of
from fabcost.service.transfer.naming import Names

#: Decisions that are read and written at once; few, so that others are served in between.
PAGE = 100
#: Impressions that wait for the database together.
BATCH = 500


async def export(service: Service, model: str, form: Format) -> AsyncIterator[bytes]:
    """The log of a model, oldest decision first, in pieces of a file.

    Features of candidates are those of the request.  Of the catalogue, the chosen item has those
    with which it was chosen, and the others have those of now; a line says if the catalogue has
    changed since, and which features are unknown because an item has left it.

    Examples
    --------
    >>> import tempfile
    >>> from fabcost.service.messages import DecisionRequest
    >>> from fabcost.service.model_settings import ModelSettings
    >>> from fabcost.service.store.address import store_at
    >>> async def moved(path: str) -> int:
    ...     service = await Service.start(lambda: store_at(path))
    ...     for name in ("news", "copy"):
    ...         await service.create_model(name, ModelSettings())
    ...     await service.decide("news", DecisionRequest(candidates={"a": {"age": 3}}))
    ...     body = b"".join([piece async for piece in export(service, "news", "jsonl")])
    ...     many = await load(service, "copy", "jsonl", body)
    ...     await service.stop()
    ...     return many
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     asyncio.run(moved(f"{folder}/fabcost.db"))
    1
    """
    service.model(model)
    writer, features, after = WRITERS[form](), _lookup(service, model), 0
    while rows := await service.export_log(model, after=after, limit=PAGE):
        version = service.items(model, limit=1, after=None).version
        lines = [line_of(row, version, features) for row in rows]
        if piece := await asyncio.to_thread(writer.page, lines):
            yield piece
        after = rows[-1].seq
    if last := await asyncio.to_thread(writer.end):
        yield last


async def load(
    service: Service,
    model: str,
    form: Format,
    body: bytes,
    *,
    after: str = "",
    limits: Limits | None = None,
) -> int:
    """Learn a log from elsewhere in the order of its lines; how many told something new.

    All lines are checked before the first is written; an error changes nothing.  The same body
    again changes nothing either.

    Parameters
    ----------
    service, model
        Who learns.
    form, body
        The log, or a part of it.
    after
        What names the lines before the body; see `fabcost.service.transfer.naming.Names`.
    limits
        Of each line.

    Examples
    --------
    >>> load.__name__  # `export` has the example of both
    'load'
    """
    service.model(model)

    def read() -> list[tuple[int, LoggedImpression]]:
        return list(read_impressions(body, form, names=Names(after), limits=limits))

    try:
        numbered = await asyncio.to_thread(read)
    except ValueError as error:
        raise InvalidRequestError(str(error)) from error
    await service.check_log(model, numbered)
    new, waiting = 0, deque(impression for _, impression in numbered)
    # A large log is let go of piece by piece: all at once would keep others waiting.
    numbered.clear()
    while waiting:
        part = [waiting.popleft() for _ in range(min(BATCH, len(waiting)))]
        new += await service.import_log(model, part)
    return new


def _lookup(service: Service, model: str) -> Lookup:
    def features(item: str) -> Record | None:
        try:
            return service.item(model, item)
        except UnknownItemError:
            return None

    return features
