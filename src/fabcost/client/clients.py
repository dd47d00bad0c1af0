"""The two clients: what blocks in one is awaited in the other, and there is one way to ask."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any, Generic, Self, TypeVar, cast

import httpx
import numpy as np

from fabcost.client.calls import Calls, log_of
from fabcost.client.exchange import ClientCall, ClientError, Lost, Retries, exchange
from fabcost.wire.messages import LogFormat

T = TypeVar("T")
Transport = TypeVar("Transport")
Http = TypeVar("Http", bound=httpx.Client | httpx.AsyncClient)

#: Failures before a single byte of the request has left.
_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
#: A server that is there answers a connection at once, however long it takes for the rest.
_CONNECT_SECONDS = 10.0


class Link(Calls, Generic[Transport, Http]):
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
            return _lost(error)

    async def ask(self, call: ClientCall[T], retries: Retries | None = None) -> T:  # noqa: D102
        return await exchange(
            call,
            retries or self._retries,
            line=self,
            timeout=self._timeout,
            clock=time.monotonic,
            rng=self._rng,
        )


class Client(Link[httpx.BaseTransport, httpx.Client]):
    """Talks to a server; one client may be used by many threads.

    What is safe to repeat is repeated when a connection breaks, no answer comes in time, or the
    server is busy: ids and keys are made before the first attempt, so that the server knows a
    second one.  Every method raises `ClientError` if that does not help.

    Beside the methods here it has those of `fabcost.client.calls.Calls`.

    Parameters
    ----------
    base_url
        Such as "http://127.0.0.1:8000".
    key
        An API key, if the server asks for one.
    timeout
        Seconds that one attempt waits for the next sign of the server; ten minutes and a little
        for whole models, logs and catalogues, which take a server that long at most.
    retries
        `Retries`, or `NEVER`.
    rng
        Of the jitter in the pauses.
    transport
        Of httpx, for special networks.

    Examples
    --------
    >>> with Client("http://127.0.0.1:8000", key="fc_1_secret") as client:
    ...     client
    Client('http://127.0.0.1:8000')
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def export_log(self, model: str, form: LogFormat = "jsonl") -> Iterator[bytes]:
        """The log, piece by piece; only its beginning can be repeated."""
        response = self._outcome(self.ask(log_of(model, form)))
        try:
            yield from response.iter_bytes()
        except httpx.TransportError as error:
            raise _broken(error) from error
        finally:
            response.close()

    @staticmethod
    def _outcome(asked: Coroutine[Any, Any, T]) -> T:
        """What a coroutine comes to that never waits, because all that it awaits blocks."""
        try:
            asked.send(None)
        except StopIteration as done:
            return cast("T", done.value)
        raise RuntimeError("a call of the blocking client waits for an event loop")

    def _opened(self, transport: httpx.BaseTransport | None) -> httpx.Client:
        return httpx.Client(transport=transport)

    async def _response(self, request: httpx.Request, *, streamed: bool) -> httpx.Response:
        response = self._http.send(request, stream=streamed)
        if not response.is_success:
            response.read()
        return response

    async def pause(self, seconds: float) -> None:  # noqa: D102
        time.sleep(seconds)


class AsyncClient(Link[httpx.AsyncBaseTransport, httpx.AsyncClient]):
    """`Client` with methods to await, and the same parameters.

    Examples
    --------
    >>> import asyncio
    >>> async def look() -> None:
    ...     async with AsyncClient("http://127.0.0.1:8000") as client:
    ...         print(client)
    >>> asyncio.run(look())
    AsyncClient('http://127.0.0.1:8000')
    """

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def export_log(self, model: str, form: LogFormat = "jsonl") -> AsyncIterator[bytes]:
        """The log, piece by piece; only its beginning can be repeated."""
        response = await self.ask(log_of(model, form))
        try:
            async for piece in response.aiter_bytes():
                yield piece
        except httpx.TransportError as error:
            raise _broken(error) from error
        finally:
            await response.aclose()

    @staticmethod
    def _outcome(asked: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        return asked

    def _opened(self, transport: httpx.AsyncBaseTransport | None) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=transport)

    async def _response(self, request: httpx.Request, *, streamed: bool) -> httpx.Response:
        response = await self._http.send(request, stream=streamed)
        if not response.is_success:
            await response.aread()
        return response

    async def pause(self, seconds: float) -> None:  # noqa: D102
        await asyncio.sleep(seconds)


def _lost(error: httpx.TransportError) -> Lost:
    kind, why = type(error).__name__, str(error)
    if isinstance(error, httpx.ConnectError) and error._request is not None:
        kind = f"nobody answers at {error.request.url.copy_with(raw_path=b'/')}"
    return Lost(not isinstance(error, _UNSENT), f"{kind}: {why}" if why else kind)


def _broken(error: httpx.TransportError) -> ClientError:
    """A stream that ended too soon, which nobody can repeat from the middle."""
    return ClientError("interrupted", f"the answer broke off ({_lost(error).why})")
