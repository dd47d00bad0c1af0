"""How what is given becomes paths and bodies, and how bodies become answers."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast
from urllib.parse import quote

import httpx
import msgspec
import numpy as np

from fabcost.client.exchange import ClientError, request_id
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


def answer(kind: type[T], field: str | None = None) -> Callable[[httpx.Response], T]:
    """Reads the body as a value of that type, or as an object with one in a field."""
    decoder = _decoder(kind, field)  # type: ignore[arg-type] # every type has a hash

    def read(response: httpx.Response) -> T:
        try:
            found = decoder.decode(response.content)
        except ValueError as error:
            why = f"the answer is not what this client expects: {error}"
            status = response.status_code
            raise ClientError("unexpected_answer", why, status, request_id(response)) from error
        return cast("T", found if field is None else getattr(found, field))

    return read


@functools.cache
def _decoder(kind: type[Any], field: str | None) -> msgspec.json.Decoder[Any]:
    shape = kind if field is None else msgspec.defstruct("Answer", [(field, kind)])
    return msgspec.json.Decoder(shape)


def nothing(_: httpx.Response) -> None:
    """The status says it all."""
