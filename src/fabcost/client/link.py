"""What both clients have: one way to ask, in which what blocks in one is awaited in the other.

And how what is given becomes paths and bodies, and bodies become answers.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Coroutine, Mapping
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, cast, overload
from urllib.parse import quote

import httpx
import msgspec
import numpy as np

from fabcost.client.exchange import ClientCall, ClientError, Lost, Retries, exchange, request_id
from fabcost.wire.errors import in_words
from fabcost.wire.messages import Record

if TYPE_CHECKING:
    from fabcost.client.clients import AsyncClient, Client

T = TypeVar("T")
P = ParamSpec("P")
Transport = TypeVar("Transport")
Http = TypeVar("Http", bound=httpx.Client | httpx.AsyncClient)

#: Failures before a single byte of the request has left.
_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
#: A server that is there answers a connection at once, however long it takes for the rest.
_CONNECT_SECONDS = 10.0


class Method(Generic[P, T]):
    """A method of both clients: `AsyncClient` has the coroutine, `Client` what it returns."""

    def __init__(self, ask: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> None:
        @functools.wraps(ask)
        def method(client: Any, *given: P.args, **named: P.kwargs) -> Any:
            return client._outcome(ask(client, *given, **named))

        self._method = method

    @overload
    def __get__(self, client: Client, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncClient, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, client: None, owner: type) -> Callable[..., Any]: ...
    def __get__(self, client: Any, owner: type) -> Callable[..., Any]:
        return self._method if client is None else MethodType(self._method, client)


class Link(Generic[Transport, Http]):
    """Where a server is, the key that opens it, and how long to be patient with it.

    The key is never shown.
    """

    def __init__(
        self,
        base_url: str,
        key: str | None = None,
        *,
        timeout: float = 10.0,
        retries: Retries = Retries(),  # noqa: B008 - a frozen value
        rng: np.random.Generator | None = None,
        transport: Transport | None = None,
    ) -> None:
        if not base_url.startswith(("http://", "https://")):
            raise ValueError(f"base_url is {base_url!r} but must begin with http:// or https://")
        if not timeout > 0.0:
            raise ValueError(f"timeout is {timeout} but must be above 0")
        self._base_url = base_url.rstrip("/")
        self._headers = {} if key is None else {"authorization": f"Bearer {key}"}
        self._timeout = timeout
        self._retries = retries
        self._rng = np.random.default_rng() if rng is None else rng
        self._http = self._opened(transport)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._base_url!r})"

    def _opened(self, transport: Transport | None) -> Http:
        raise NotImplementedError

    async def _response(self, request: httpx.Request, *, streamed: bool) -> httpx.Response:
        raise NotImplementedError

    async def pause(self, seconds: float) -> None:
        """Wait."""
        raise NotImplementedError

    async def attempt(self, call: ClientCall[Any], timeout: float) -> httpx.Response | Lost:
        """Send the request of a call once."""
        media = {} if call.content is None else {"content-type": call.media}
        request = self._http.build_request(
            call.method,
            self._base_url + call.path,
            params=dict(call.query),
            content=call.content,
            headers=self._headers | media,
            timeout=httpx.Timeout(timeout, connect=min(timeout, _CONNECT_SECONDS)),
        )
        try:
            return await self._response(request, streamed=call.streamed)
        except httpx.TransportError as error:
            return lost(error)

    async def ask(self, call: ClientCall[T], retries: Retries | None = None) -> T:
        """The answer of a call, after as many attempts as it takes."""
        return await exchange(
            call,
            retries or self._retries,
            line=self,
            timeout=self._timeout,
            clock=time.monotonic,
            rng=self._rng,
        )


def lost(error: httpx.TransportError) -> Lost:
    """What a failure says of the request."""
    kind, why = type(error).__name__, str(error)
    if isinstance(error, httpx.ConnectError) and error._request is not None:
        kind = f"nobody answers at {error.request.url.copy_with(raw_path=b'/')}"
    return Lost(not isinstance(error, _UNSENT), f"{kind}: {why}" if why else kind)


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


def checked_amounts(of: str, given: Mapping[str, float] | None) -> dict[str, float] | None:
    """Values or costs by the ids of items, which must be finite."""
    if given is None:
        return None
    found = {item: float(number) for item, number in given.items()}
    for item, number in found.items():
        if not math.isfinite(number):
            raise ValueError(f"{of} has {number} for {item!r} but must have finite numbers")
    return found


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
            why = f"the answer is not what this client expects: {in_words(error, what='it')}"
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
