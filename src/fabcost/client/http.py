"""The two that perform the steps of an exchange over HTTP: one blocks, one awaits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from typing import Any, TypeVar, cast

import httpx
import numpy as np

from fabcost.client.errors import ClientError
from fabcost.client.exchange import Attempt, ClientCall, Event, Lost, Reply, Retries, Step, exchange

T = TypeVar("T")

#: Failures before a single byte of the request has left.
_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
#: A server that is there answers a connection at once, however long it takes for the rest.
_CONNECT_SECONDS = 10.0


class Address:
    """Where a server is, the key that opens it, and how long to be patient with it.

    The key is never shown.

    Examples
    --------
    >>> Address("http://127.0.0.1:8000/", "fc_1_secret")
    Address('http://127.0.0.1:8000')
    >>> Address("127.0.0.1:8000", None)
    Traceback (most recent call last):
    ValueError: base_url is '127.0.0.1:8000' but must begin with http:// or https://
    """

    def __init__(
        self,
        base_url: str,
        key: str | None,
        *,
        timeout: float = 10.0,
        retries: Retries = Retries(),  # noqa: B008 - a frozen value
        rng: np.random.Generator | None = None,
    ) -> None:
        if not base_url.startswith(("http://", "https://")):
            raise ValueError(f"base_url is {base_url!r} but must begin with http:// or https://")
        if not timeout > 0.0:
            raise ValueError(f"timeout is {timeout} but must be above 0")
        self.base_url = base_url.rstrip("/")
        self._headers = {} if key is None else {"authorization": f"Bearer {key}"}
        self._timeout = timeout
        self._retries = retries
        self._rng = np.random.default_rng() if rng is None else rng

    def __repr__(self) -> str:
        return f"Address({self.base_url!r})"

    def steps(self, call: ClientCall[T], retries: Retries | None) -> Generator[Step, Event, T]:
        """What to do for a call."""
        return exchange(
            call,
            retries or self._retries,
            timeout=self._timeout,
            clock=time.monotonic,
            rng=self._rng,
        )

    def request(self, attempt: Attempt) -> dict[str, Any]:
        """The arguments of httpx's ``build_request``."""
        call, timeout = attempt
        headers = self._headers
        if call.content is not None:
            headers = {**headers, "content-type": call.media}
        return {
            "method": call.method,
            "url": self.base_url + call.path,
            "params": dict(call.query),
            "content": call.content,
            "headers": headers,
            "timeout": httpx.Timeout(timeout, connect=min(timeout, _CONNECT_SECONDS)),
        }


class BlockingDriver:
    """Performs the steps one after the other."""

    def __init__(self, http: httpx.Client, address: Address) -> None:
        self.http = http
        self.address = address

    def send(self, call: ClientCall[T], retries: Retries | None = None) -> T:
        """The answer of a call."""
        return self._perform(self.address.steps(call, retries), self._answer)

    def stream(self, call: ClientCall[None]) -> Iterator[bytes]:
        """The body of an answer piece by piece; only its beginning can be repeated."""
        opened: list[httpx.Response] = []
        self._perform(self.address.steps(call, None), lambda step: self._answer(step, opened))
        (response,) = opened
        try:
            yield from response.iter_bytes()
        except httpx.TransportError as error:
            raise _broken(error) from error
        finally:
            response.close()

    def _perform(
        self, steps: Generator[Step, Event, T], answer: Callable[[Attempt], Reply | Lost]
    ) -> T:
        event: Event = None
        while True:
            try:
                step = steps.send(event)
            except StopIteration as done:
                return cast("T", done.value)
            event = None
            if isinstance(step, Attempt):
                event = answer(step)
            else:
                time.sleep(step.seconds)

    def _answer(self, step: Attempt, opened: list[httpx.Response] | None = None) -> Reply | Lost:
        """The answer; if ``opened`` is given and all is well, its body is left to be read there."""
        request = self.http.build_request(**self.address.request(step))
        try:
            response = self.http.send(request, stream=True)
            if opened is not None and response.is_success:
                opened.append(response)
                return _reply(response, b"")
            try:
                return _reply(response, response.read())
            finally:
                response.close()
        except httpx.TransportError as error:
            return _lost(error)


class AwaitingDriver:
    """Performs the steps in an event loop."""

    def __init__(self, http: httpx.AsyncClient, address: Address) -> None:
        self.http = http
        self.address = address

    async def send(self, call: ClientCall[T], retries: Retries | None = None) -> T:
        """The answer of a call."""
        return await self._perform(self.address.steps(call, retries), self._answer)

    async def stream(self, call: ClientCall[None]) -> AsyncIterator[bytes]:
        """The body of an answer piece by piece; only its beginning can be repeated."""
        opened: list[httpx.Response] = []
        await self._perform(self.address.steps(call, None), lambda step: self._answer(step, opened))
        (response,) = opened
        try:
            async for piece in response.aiter_bytes():
                yield piece
        except httpx.TransportError as error:
            raise _broken(error) from error
        finally:
            await response.aclose()

    async def _perform(
        self, steps: Generator[Step, Event, T], answer: Callable[[Attempt], Awaitable[Reply | Lost]]
    ) -> T:
        event: Event = None
        while True:
            try:
                step = steps.send(event)
            except StopIteration as done:
                return cast("T", done.value)
            event = None
            if isinstance(step, Attempt):
                event = await answer(step)
            else:
                await asyncio.sleep(step.seconds)

    async def _answer(
        self, step: Attempt, opened: list[httpx.Response] | None = None
    ) -> Reply | Lost:
        """The answer; if ``opened`` is given and all is well, its body is left to be read there."""
        request = self.http.build_request(**self.address.request(step))
        try:
            response = await self.http.send(request, stream=True)
            if opened is not None and response.is_success:
                opened.append(response)
                return _reply(response, b"")
            try:
                return _reply(response, await response.aread())
            finally:
                await response.aclose()
        except httpx.TransportError as error:
            return _lost(error)


def _reply(response: httpx.Response, content: bytes) -> Reply:
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Reply(response.status_code, headers, content)


def _lost(error: httpx.TransportError) -> Lost:
    kind, why = type(error).__name__, str(error)
    return Lost(not isinstance(error, _UNSENT), f"{kind}: {why}" if why else kind)


def _broken(error: httpx.TransportError) -> ClientError:
    """A stream that ended too soon, which nobody can repeat from the middle."""
    return ClientError("interrupted", f"the answer broke off ({_lost(error).why})")
