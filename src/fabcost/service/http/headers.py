"""Headers of every answer, and the id of a request."""

from __future__ import annotations

import re
import secrets
from functools import cache
from http import HTTPStatus
from itertools import count

from fabcost.service.http.answer import JSON, Answer, Header

_SECURITY: tuple[Header, ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'self'"),
    (b"x-frame-options", b"DENY"),
)
_NO_STORE: Header = (b"cache-control", b"no-store")
_OF_JSON = (*_SECURITY, _NO_STORE, (b"content-type", JSON))
_BODILESS = frozenset({204, 304})
_SANE_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_THIS_PROCESS = secrets.token_hex(6).encode()
_NUMBERS = count(1)


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


def of_answer(answer: Answer, identity: bytes) -> list[Header]:
    """All headers of an answer; one that says nothing of caching is not to be cached.

    Examples
    --------
    >>> headers = dict(of_answer(Answer(200, b"{}"), b"trace-17"))
    >>> headers[b"content-length"], headers[b"cache-control"], headers[b"x-request-id"]
    (b'2', b'no-store', b'trace-17')
    """
    has_body = answer.status not in _BODILESS
    headers = [(b"x-request-id", identity), *answer.headers]
    if has_body and isinstance(answer.body, bytes):
        headers.append((b"content-length", b"%d" % len(answer.body)))
    if answer.content_type is JSON and has_body and not answer.headers:
        return [*_OF_JSON, *headers]
    if not any(name == b"cache-control" for name, _ in answer.headers):
        headers.append(_NO_STORE)
    if has_body:
        headers.append((b"content-type", answer.content_type))
    return [*_SECURITY, *headers]


def head_of_json(
    status: int, identity: bytes, length: int, headers: tuple[Header, ...] = ()
) -> bytes:
    """The head of an answer in JSON as it goes over the wire, but for its end.

    Examples
    --------
    >>> head_of_json(200, b"trace-17", 2).splitlines()[-2:]
    [b'x-request-id: trace-17', b'content-length: 2']
    """
    head = b"%bx-request-id: %b\r\ncontent-length: %d" % (_beginning(status), identity, length)
    return head + b"".join(b"\r\n%b: %b" % header for header in headers) if headers else head


@cache
def _beginning(status: int) -> bytes:
    line = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n".encode()
    return line + b"".join(b"%b: %b\r\n" % header for header in _OF_JSON)
