"""The two that perform the steps of an exchange: one blocks, one awaits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from typing import TypeVar, cast

import httpx
import numpy as np

from fabcost.client.call import Call, Reply
from fabcost.client.exchange import Event, Lost, Send, Step, exchange
from fabcost.client.http import Address, broken, lost, reply_of
from fabcost.client.retries import Retries

T = TypeVar("T")


class _Driver:
    def __init__(
        self, address: Address, timeout: float, retries: Retries, rng: np.random.Generator | None
    ) -> None:
        if not timeout > 0.0:
            raise ValueError(f"timeout is {timeout} but must be above 0")
        self.address = address
        self._timeout = timeout
        self._retries = retries
        self._rng = np.random.default_rng() if rng is None else rng

    def _steps(self, call: Call[T], retries: Retries | None) -> Generator[Step, Event, T]:
        return exchange(
            call,
            retries or self._retries,
            timeout=self._timeout,
            clock=time.monotonic,
            rng=self._rng,
        )


class BlockingDriver(_Driver):
    """Performs the steps one after the other.

    Examples
    --------
    >>> from fabcost.client.views import get_ready
    >>> transport = httpx.MockTransport(lambda request: httpx.Response(200))
    >>> http = httpx.Client(transport=transport)
    >>> driver = BlockingDriver(http, Address("http://127.0.0.1:8000", None), 5.0, Retries(), None)
    >>> driver.send(get_ready())
    """

    def __init__(
        self,
        http: httpx.Client,
        address: Address,
        timeout: float,
        retries: Retries,
        rng: np.random.Generator | None,
    ) -> None:
        super().__init__(address, timeout, retries, rng)
        self.http = http

    def send(self, call: Call[T], retries: Retries | None = None) -> T:
        """The answer of a call."""
        return self._perform(self._steps(call, retries), self._reply)

    def stream(self, call: Call[None]) -> Iterator[bytes]:
        """The body of an answer piece by piece; only its beginning can be repeated."""
        opened: list[httpx.Response] = []
        self._perform(self._steps(call, None), lambda step: self._open(step, opened))
        (response,) = opened
        try:
            yield from response.iter_bytes()
        except httpx.TransportError as error:
            raise broken(error) from error
        finally:
            response.close()

    def _perform(
        self, steps: Generator[Step, Event, T], answer: Callable[[Send], Reply | Lost]
    ) -> T:
        event: Event = None
        while True:
            try:
                step = steps.send(event)
            except StopIteration as done:
                return cast("T", done.value)
            event = None
            if isinstance(step, Send):
                event = answer(step)
            else:
                time.sleep(step.seconds)

    def _reply(self, step: Send) -> Reply | Lost:
        try:
            response = self.http.send(self.http.build_request(**self.address.request(step)))
        except httpx.TransportError as error:
            return lost(error)
        return reply_of(response, response.content)

    def _open(self, step: Send, opened: list[httpx.Response]) -> Reply | Lost:
        request = self.http.build_request(**self.address.request(step))
        try:
            response = self.http.send(request, stream=True)
            if response.is_success:
                opened.append(response)
                return reply_of(response, b"")
            try:
                return reply_of(response, response.read())
            finally:
                response.close()
        except httpx.TransportError as error:
            return lost(error)


class AwaitingDriver(_Driver):
    """Performs the steps in an event loop.

    Examples
    --------
    >>> from fabcost.client.views import get_ready
    >>> transport = httpx.MockTransport(lambda request: httpx.Response(200))
    >>> http = httpx.AsyncClient(transport=transport)
    >>> driver = AwaitingDriver(http, Address("http://127.0.0.1:8000", None), 5.0, Retries(), None)
    >>> asyncio.run(driver.send(get_ready()))
    """

    def __init__(
        self,
        http: httpx.AsyncClient,
        address: Address,
        timeout: float,
        retries: Retries,
        rng: np.random.Generator | None,
    ) -> None:
        super().__init__(address, timeout, retries, rng)
        self.http = http

    async def send(self, call: Call[T], retries: Retries | None = None) -> T:
        """The answer of a call."""
        return await self._perform(self._steps(call, retries), self._reply)

    async def stream(self, call: Call[None]) -> AsyncIterator[bytes]:
        """The body of an answer piece by piece; only its beginning can be repeated."""
        opened: list[httpx.Response] = []
        await self._perform(self._steps(call, None), lambda step: self._open(step, opened))
        (response,) = opened
        try:
            async for piece in response.aiter_bytes():
                yield piece
        except httpx.TransportError as error:
            raise broken(error) from error
        finally:
            await response.aclose()

    async def _perform(
        self, steps: Generator[Step, Event, T], answer: Callable[[Send], Awaitable[Reply | Lost]]
    ) -> T:
        event: Event = None
        while True:
            try:
                step = steps.send(event)
            except StopIteration as done:
                return cast("T", done.value)
            event = None
            if isinstance(step, Send):
                event = await answer(step)
            else:
                await asyncio.sleep(step.seconds)

    async def _reply(self, step: Send) -> Reply | Lost:
        try:
            response = await self.http.send(self.http.build_request(**self.address.request(step)))
        except httpx.TransportError as error:
            return lost(error)
        return reply_of(response, response.content)

    async def _open(self, step: Send, opened: list[httpx.Response]) -> Reply | Lost:
        request = self.http.build_request(**self.address.request(step))
        try:
            response = await self.http.send(request, stream=True)
            if response.is_success:
                opened.append(response)
                return reply_of(response, b"")
            try:
                return reply_of(response, await response.aread())
            finally:
                await response.aclose()
        except httpx.TransportError as error:
            return lost(error)
