"""One request and how its answer is read, without any network."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import quote

import msgspec
import numpy as np

from fabcost.client.errors import ClientError
from fabcost.wire.messages import TRANSFER_SECONDS, Record

T = TypeVar("T")

JSON = "application/json"
BYTES = "application/octet-stream"
#: How long to wait for whole models, logs and catalogues: a little longer than a server takes.
TRANSFER = TRANSFER_SECONDS + 10.0


class Reply(NamedTuple):
    """An HTTP answer; the names of ``headers`` are in lower case.

    Examples
    --------
    >>> Reply(204, {"x-request-id": "r-17"}, b"").status
    204
    """

    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request, the reader of its answer, and what may be done if no answer comes.

    Parameters
    ----------
    repeatable
        Whether doing it twice is the same as doing it once.
    lookup
        What to ask when a repeated creation finds that the name is taken, maybe by itself.
    done
        The status that says the same if an earlier attempt succeeded: 404 of a deletion.
    seconds
        How long an attempt waits at least: what takes a server long is not given up before it.

    Examples
    --------
    >>> call = Call("GET", path("v1", "models", "news"), reader(dict))
    >>> call.path, call.read(Reply(200, {}, b'{"name": "news"}'))
    ('/v1/models/news', {'name': 'news'})
    """

    method: str
    path: str
    read: Callable[[Reply], T]
    query: Mapping[str, str | int] = field(default_factory=dict)
    content: bytes | None = None
    media: str = JSON
    repeatable: bool = True
    lookup: Call[T] | None = None
    done: int | None = None
    seconds: float = 0.0


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


def body(value: Any) -> bytes:
    """As JSON; NumPy's numbers are numbers.

    Examples
    --------
    >>> import numpy as np
    >>> body({"age": np.float64(3.5)})
    b'{"age":3.5}'
    """
    return _encoder.encode(value)


def checked_record(of: str, given: Mapping[str, Any]) -> Record:
    """A record of plain values without infinities, which JSON would silently make missing values.

    Examples
    --------
    >>> checked_record("the context", {"age": math.inf})
    Traceback (most recent call last):
    ValueError: 'age' of the context is inf but must be finite, or None if it is missing
    """
    record = {name: _plain(value) for name, value in given.items()}
    for name, value in record.items():
        if isinstance(value, float) and math.isinf(value):
            raise ValueError(
                f"{name!r} of {of} is {value} but must be finite, or None if it is missing"
            )
    return record


def reader(kind: type[T]) -> Callable[[Reply], T]:
    """Reads the body as a value of that type.

    Examples
    --------
    >>> reader(dict[str, int])(Reply(200, {}, b'{"a": "b"}'))
    Traceback (most recent call last):
    fabcost.client.errors.ClientError: the answer is not what this client expects: Expected ...
    """
    decoder = msgspec.json.Decoder(kind)

    def read(reply: Reply) -> T:
        try:
            return decoder.decode(reply.content)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            why = f"the answer is not what this client expects: {error}"
            raise ClientError("unexpected_answer", why, reply.status, request_id(reply)) from error

    return read


def no_content(_: Reply) -> None:
    """Nothing to read.

    Examples
    --------
    >>> no_content(Reply(204, {}, b""))
    """


def content(reply: Reply) -> bytes:
    """The body as it is.

    Examples
    --------
    >>> content(Reply(200, {}, b"abc"))
    b'abc'
    """
    return reply.content


class _Problem(msgspec.Struct):
    code: str
    message: str
    request_id: str | None = None


class _Problems(msgspec.Struct):
    """An error of the API, or the reason why a server is not ready."""

    error: _Problem | None = None
    reason: str | None = None


def failure(reply: Reply) -> ClientError:
    """The error that an answer reports, also if it came from a proxy and not from the service.

    Examples
    --------
    >>> print(failure(Reply(502, {}, b"<html>Bad Gateway</html>")))
    the answer has status 502 and no error of the service (502 unexpected_answer)
    """
    try:
        found = _problems.decode(reply.content)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        found = _Problems()
    problem = found.error
    if problem is None and found.reason is not None:
        problem = _Problem("not_ready", found.reason)
    if problem is None:
        why = f"the answer has status {reply.status} and no error of the service"
        problem = _Problem("unexpected_answer", why)
    named = problem.request_id or request_id(reply)
    return ClientError(problem.code, problem.message, reply.status, named)


def request_id(reply: Reply) -> str | None:
    """Under which the server's log has the request.

    Examples
    --------
    >>> request_id(Reply(200, {"x-request-id": "r-17"}, b""))
    'r-17'
    """
    return reply.headers.get("x-request-id")


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
_problems = msgspec.json.Decoder(_Problems)
