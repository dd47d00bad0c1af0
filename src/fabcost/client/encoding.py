"""How what is given becomes paths and bodies, and how bodies become answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec
import numpy as np

from fabcost.client.errors import ClientError
from fabcost.client.exchange import Reply
from fabcost.wire.messages import Record

T = TypeVar("T")


def path(*parts: str) -> str:
    """The parts as one path; what a part holds never becomes a separator or a way up.

    Examples
    --------
    >>> path("v1", "models", "m", "items", "a/b c"), path("v1", "..")
    ('/v1/models/m/items/a%2Fb%20c', '/v1/%2E%2E')
    """
    for part in parts:
        if not part:
            raise ValueError("an id or name is '' but must have at least one character")
    quoted = [quote(part, safe="") for part in parts]
    return "/" + "/".join(p.replace(".", "%2E") if p in (".", "..") else p for p in quoted)


def encoded(value: Any) -> bytes:
    """As JSON; NumPy's numbers are numbers."""
    return _encoder.encode(value)


def checked_record(of: str, given: Mapping[str, Any]) -> Record:
    """A record of plain values without infinities, which JSON would silently make missing."""
    record = {name: _plain(value) for name, value in given.items()}
    for name, value in record.items():
        if isinstance(value, float) and math.isinf(value):
            raise ValueError(
                f"{name!r} of {of} is {value} but must be finite, or None if it is missing"
            )
    return record


def _plain(value: Any) -> Any:
    """NumPy's scalars have ``item``, which of a long double is one again."""
    found = value.item() if hasattr(value, "item") else value
    return float(found) if isinstance(found, np.longdouble) else found


def _encodable(value: Any) -> Any:
    found = _plain(value)
    if found is value:
        raise TypeError(f"{value!r} is a {type(value).__name__} but must be text, a number or None")
    return found


_encoder = msgspec.json.Encoder(enc_hook=_encodable)


def reader(kind: type[T]) -> Callable[[Reply], T]:
    """Reads the body as a value of that type."""
    decoder = msgspec.json.Decoder(kind)

    def read(reply: Reply) -> T:
        try:
            return decoder.decode(reply.content)
        except ValueError as error:
            why = f"the answer is not what this client expects: {error}"
            raise ClientError("unexpected_answer", why, reply.status, reply.request_id) from error

    return read
