"""The formats of a log by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, Protocol

import msgspec

from fabcost.wire.checks import check_ids
from fabcost.wire.errors import InvalidRequestError
from fabcost.wire.log import dsjson_reader, jsonl, parquet
from fabcost.wire.log.dsjson import DsJson
from fabcost.wire.log.jsonl import JsonLines
from fabcost.wire.log.limits import Limits
from fabcost.wire.log.line import LineError, LogLine, impression_of
from fabcost.wire.log.naming import Names
from fabcost.wire.log.parquet import ParquetPieces
from fabcost.wire.messages import LoggedImpression

Format = Literal["jsonl", "parquet", "dsjson"]


class Writer(Protocol):
    """Turns pages of a log into bytes."""

    def page(self, lines: Sequence[LogLine]) -> bytes:
        """The bytes of some lines."""
        ...

    def end(self) -> bytes:
        """What comes after the last."""
        ...


WRITERS: dict[Format, Callable[[], Writer]] = {
    "jsonl": JsonLines,
    "parquet": ParquetPieces,
    "dsjson": DsJson,
}
_READERS: dict[Format, Callable[[bytes, Limits | None], Iterator[tuple[int, LogLine]]]] = {
    "jsonl": jsonl.read,
    "parquet": parquet.read,
    "dsjson": dsjson_reader.read,
}


def read_impressions(
    body: bytes, form: Format, *, names: Names | None = None, limits: Limits | None = None
) -> Iterator[tuple[int, LoggedImpression]]:
    """The impressions of a log with the numbers of their lines, or a ValueError that names one.

    Parameters
    ----------
    body, form
        A file, or a part of one.
    names
        For those without an id; it knows the lines before the body.
    limits
        Of a server; without, lines may be as large as they like.

    Examples
    --------
    >>> body = b'{"candidates": {"a": {"age": 3}}, "item": "a", "value": 1}'
    >>> [impression.item for _, impression in read_impressions(body, "jsonl")]
    ['a']
    """
    names = names or Names()
    for number, line in _READERS[form](body, limits):
        try:
            impression = impression_of(line)
            check_ids([impression.decision_id or "", *impression.candidates])
            if limits is not None:
                limits.check(impression)
        except (ValueError, InvalidRequestError) as error:
            raise LineError(number, error) from error
        made = names.next(impression)
        if impression.decision_id is None:
            impression = msgspec.structs.replace(impression, decision_id=made)
        yield number, impression
