"""What is answered: status, body and headers."""

from __future__ import annotations

import re
import secrets
from collections.abc import AsyncGenerator
from itertools import count
from typing import Any, NamedTuple

import msgspec

Header = tuple[bytes, bytes]

JSON = b"application/json"
#: To JSON.
encode = msgspec.json.Encoder().encode

_SECURITY: tuple[Header, ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'self'"),
    (b"x-frame-options", b"DENY"),
)
_NO_STORE: Header = (b"cache-control", b"no-store")
#: What every answer in JSON has.
JSON_HEADERS = (*_SECURITY, _NO_STORE, (b"content-type", JSON))
_BODILESS = frozenset({204, 304})
_SANE_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_THIS_PROCESS = secrets.token_hex(6).encode()
_NUMBERS = count(1)


class HttpAnswer(NamedTuple):
    """Status, body and what differs from the headers that every answer has."""

    status: int
    body: bytes | AsyncGenerator[bytes]
    content_type: bytes = JSON
    headers: tuple[Header, ...] = ()


def answer(value: Any, status: int = 200) -> HttpAnswer:
    """``value`` as JSON.

    Examples
    --------
    >>> answer({"models": []}).body
    b'{"models":[]}'
    """
    return HttpAnswer(status, encode(value))


def nothing() -> HttpAnswer:
    """Done, and nothing to say."""
    return HttpAnswer(204, b"")


def request_id(given: bytes | None) -> bytes:
    """The id that the caller gave if it is sane, else a new one.

    Examples
    --------
    >>> request_id(b"trace-17")
    b'trace-17'
    >>> request_id(b"two" + bytes([10]) + b"lines") != request_id(None)
    True
    """
    if given is not None and _SANE_ID.fullmatch(given):
        return given
    return b"%b-%d" % (_THIS_PROCESS, next(_NUMBERS))


def headers_of(answer: HttpAnswer, identity: bytes) -> list[Header]:
    """All headers of an answer; one that says nothing of caching is not to be cached.

    Examples
    --------
    >>> headers = dict(headers_of(HttpAnswer(200, b"{}"), b"trace-17"))
    >>> headers[b"content-length"], headers[b"cache-control"], headers[b"x-request-id"]
    (b'2', b'no-store', b'trace-17')
    """
    has_body = answer.status not in _BODILESS
    headers = [(b"x-request-id", identity), *answer.headers]
    if has_body and isinstance(answer.body, bytes):
        headers.append((b"content-length", b"%d" % len(answer.body)))
    if answer.content_type is JSON and has_body and not answer.headers:
        return [*JSON_HEADERS, *headers]
    if not any(name == b"cache-control" for name, _ in answer.headers):
        headers.append(_NO_STORE)
    if has_body:
        headers.append((b"content-type", answer.content_type))
    return [*_SECURITY, *headers]
