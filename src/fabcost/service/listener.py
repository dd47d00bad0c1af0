"""Serving a gate: uvicorn, and how signals end it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import uvicorn

from fabcost.service.http.direct import DirectProtocol
from fabcost.service.http.door import Door
from fabcost.service.http.gate import Gate
from fabcost.service.settings import Settings


async def run(
    door: Door,
    settings: Settings,
    bound: socket.socket,
    load: Callable[[], Coroutine[Any, Any, None]],
    listening: Callable[[], object],
) -> None:
    """Listen, and load, until SIGTERM or SIGINT; a second signal ends the process at once.

    If loading fails, that is the error, and it ends too.
    """
    server = Server(configuration(door, settings), listening)
    loading = asyncio.create_task(load())
    loading.add_done_callback(server.stop_if_failed)
    try:
        with server.stopped_by_signals():
            await server.serve(sockets=[bound])
    finally:
        loading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await loading


def configuration(gate: Gate | Door, settings: Settings) -> uvicorn.Config:
    """How uvicorn serves: HTTP/1.1 only, no log of its own."""
    return uvicorn.Config(
        gate,
        http=DirectProtocol.over(gate.shortcut, seconds_for_a_head=settings.request_seconds),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=settings.keep_alive_seconds,
        timeout_graceful_shutdown=settings.shutdown_seconds,
    )


class Server(uvicorn.Server):
    """A server that says when it listens, and whose process ends with status 0 after a signal."""

    def __init__(self, config: uvicorn.Config, listening: Callable[[], object]) -> None:
        super().__init__(config)
        self._listening = listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections."""
        await super().startup(sockets)
        self._listening()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to `stopped_by_signals`: uvicorn would raise them again in the end."""
        yield

    @contextlib.contextmanager
    def stopped_by_signals(self) -> Iterator[None]:
        """Stop at the first signal, exit at the second."""
        loop = asyncio.get_running_loop()
        signals = (signal.SIGINT, signal.SIGTERM)
        for each in signals:
            loop.add_signal_handler(each, self._stop, each)
        try:
            yield
        finally:
            for each in signals:
                loop.remove_signal_handler(each)

    def stop_if_failed(self, loading: asyncio.Task[None]) -> None:
        """Stop when there will be nothing to serve."""
        if not loading.cancelled() and loading.exception() is not None:
            self.should_exit = True

    def _stop(self, number: int) -> None:
        if self.should_exit:
            os._exit(128 + number)
        self.should_exit = True
