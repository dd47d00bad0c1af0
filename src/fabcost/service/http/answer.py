"""What a route answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, NamedTuple

import msgspec

Header = tuple[bytes, bytes]

JSON = b"application/json"
#: To JSON.
encode = msgspec.json.Encoder().encode


class Answer(NamedTuple):
    """Status, body and what differs from the headers that every answer has."""

    status: int
    body: bytes | AsyncGenerator[bytes]
    content_type: bytes = JSON
    headers: tuple[Header, ...] = ()


def answer(value: Any, status: int = 200) -> Answer:
    """``value`` as JSON.

    Examples
    --------
    >>> answer({"models": []})
    Answer(status=200, body=b'{"models":[]}', content_type=b'application/json', headers=())
    """
    return Answer(status, encode(value))


def nothing() -> Answer:
    """Done, and nothing to say.

    Examples
    --------
    >>> nothing().status, nothing().body
    (204, b'')
    """
    return Answer(204, b"")
