"""The formats of a log by name."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, Protocol

import msgspec

from fabcost.service.errors import InvalidRequestError
from fabcost.service.http.checks import check_ids
from fabcost.service.messages import LoggedImpression
from fabcost.service.transfer import dsjson_reader, jsonl, parquet
from fabcost.service.transfer.dsjson import DsJson
from fabcost.service.transfer.jsonl import JsonLines
from fabcost.service.transfer.lines import LineError, LogLine, impression_of
from fabcost.service.transfer.parquet import ParquetPieces

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
_READERS: dict[Format, Callable[[bytes], Iterator[tuple[int, LogLine]]]] = {
    "jsonl": jsonl.read,
    "parquet": parquet.read,
    "dsjson": dsjson_reader.read,
}


def read_impressions(body: bytes, form: Format) -> Iterator[tuple[int, LoggedImpression]]:
    """The impressions of a log with the numbers of their lines, or a ValueError that names one.

    Those without an id get one made of the body and the line, so that the same body again has
    the same ids.

    Examples
    --------
    >>> body = b'{"candidates": {"a": {"age": 3}}, "item": "a", "value": 1}'
    >>> [impression.decision_id for _, impression in read_impressions(body, "jsonl")]
    ['log-d41c5f9d300a96a2-1']
    """
    digest = hashlib.sha256(body).hexdigest()[:16]
    for number, line in _READERS[form](body):
        try:
            impression = impression_of(line)
            check_ids([impression.decision_id or "", *impression.candidates])
        except (ValueError, InvalidRequestError) as error:
            raise LineError(number, error) from error
        if impression.decision_id is None:
            made = f"log-{digest}-{number}"
            impression = msgspec.structs.replace(impression, decision_id=made)
        yield number, impression
