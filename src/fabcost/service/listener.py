"""Listening: the address, uvicorn, and how signals end it."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import signal
import socket
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from typing import Any, cast

import uvicorn

from fabcost.service.http.app import Application, Startup
from fabcost.service.http.fastpath import FastProtocol
from fabcost.service.settings import Settings

_WAITING_CONNECTIONS = 2048


class CannotStartError(ValueError):
    """A server that must not start as it is set, and what to do about it."""


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    Examples
    --------
    >>> is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens at an address; port 0 is any that is free."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with contextlib.ExitStack() as unless_bound:
            bound = unless_bound.enter_context(socket.socket(family, kind, protocol))
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
            # Until one of them listens, two sockets can be bound to the same address.
            bound.listen(_WAITING_CONNECTIONS)
            unless_bound.pop_all()
    except OSError as error:
        raise CannotStartError(f"{host}, port {port}: {error.strerror or error}") from error
    return bound


def address_of(bound: socket.socket) -> str:
    """Where to point a browser."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def run(
    startup: Startup,
    settings: Settings,
    bound: socket.socket,
    load: Callable[[], Coroutine[Any, Any, None]],
    listening: Callable[[], object],
) -> None:
    """Listen, and load, until SIGTERM or SIGINT; a second signal ends the process at once.

    If loading fails, that is the error, and it ends too.
    """
    server = Server(configuration(startup, settings), listening)
    loading = asyncio.create_task(load())
    loading.add_done_callback(server.stop_if_failed)
    try:
        with server.stopped_by_signals():
            await server.serve(sockets=[bound])
    finally:
        loading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await loading


def configuration(app: Application | Startup, settings: Settings) -> uvicorn.Config:
    """How uvicorn serves: HTTP/1.1 only, no log of its own."""
    protocol = partial(
        FastProtocol,
        application=app,
        seconds_for_a_head=settings.request_seconds,
    )
    return uvicorn.Config(
        app,
        http=cast("type[asyncio.Protocol]", protocol),
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
