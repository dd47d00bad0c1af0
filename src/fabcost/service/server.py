"""One server process: listen, take over the database, serve, and stop in good order."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import ipaddress
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from typing import Any, cast

import uvicorn
from structlog.typing import FilteringBoundLogger
from threadpoolctl import threadpool_limits

from fabcost import warmup
from fabcost.service.http.app import Application, Startup
from fabcost.service.http.cors import EVERYONE, Cors
from fabcost.service.http.fastpath import FastProtocol
from fabcost.service.http.protocol import forward
from fabcost.service.learning.recovery import Progress
from fabcost.service.service import Service
from fabcost.service.settings import Settings, without_password
from fabcost.service.store.threads import is_open_to_others, run_apart, store_at
from fabcost.wire.messages import DecisionRequest, FeedbackRequest, Record
from fabcost.wire.settings import ModelSettings

#: How long a thread that comes back from the database waits behind the one that decides.
_SWITCH_SECONDS = 0.0005
_ALLOCATIONS_BEFORE_COLLECTING = 50_000
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


def asks_for_keys(settings: Settings, keys: int | None) -> bool:
    """Whether callers must show a key, given how many are in force; None if there never was one.

    Where there was one once, nobody is let in without, unless ``auth`` is off.

    Examples
    --------
    >>> asks_for_keys(Settings(), None), asks_for_keys(Settings(), 0), asks_for_keys(Settings(), 1)
    (False, True, True)
    >>> asks_for_keys(Settings(host="0.0.0.0"), None)
    Traceback (most recent call last):
    fabcost.service.server.CannotStartError: there are no API keys: make one with \
`fabcost keys add NAME --role admin`
    """
    _check_auth(settings)
    loopback = is_loopback(settings.host)
    if settings.auth == "off" or (settings.auth == "auto" and loopback and keys is None):
        if EVERYONE in settings.cors_origins:
            raise CannotStartError(
                "cors_origins is * but no keys are asked for, so any page could do everything "
                "here: name the origins, or make a key"
            )
        return False
    if keys is None:
        raise CannotStartError(
            "there are no API keys: make one with `fabcost keys add NAME --role admin`"
        )
    return True


def _check_auth(settings: Settings) -> None:
    if settings.auth == "off" and not is_loopback(settings.host):
        raise CannotStartError(f"{settings.host} can be reached by others: auth cannot be off")


def serve(settings: Settings, log: FilteringBoundLogger, announce: Callable[[str], object]) -> None:
    """Serve until a signal comes; ``announce`` is told the address when all models are loaded.

    Until then it listens too, and says how far it is.  The address is bound before the database is
    touched, so that a server started twice by mistake leaves it to the first.
    """
    _check_auth(settings)
    sys.setswitchinterval(_SWITCH_SECONDS)
    with (
        threadpool_limits(1),
        bind(settings.host, settings.port) as bound,
        asyncio.Runner(loop_factory=_loop) as runner,
    ):
        runner.run(_serve(settings, log, bound, announce))


def keys_in_force(database: str) -> int | None:
    """How many API keys a database has that are not revoked; None if it never had any."""
    store = store_at(database)
    store.open(take_over=False)
    try:
        rows = store.keys.all()
    finally:
        store.close()
    return sum(row.revoked is None for row in rows) if rows else None


async def _serve(
    settings: Settings,
    log: FilteringBoundLogger,
    bound: socket.socket,
    announce: Callable[[str], object],
) -> None:
    progress, address = Progress(), address_of(bound)
    cors = Cors(settings.cors_origins) if settings.cors_origins else None
    startup = Startup(lambda: str(progress), cors)
    async with contextlib.AsyncExitStack() as at_the_end:

        async def load() -> None:
            app = await _loaded(settings, log, progress, at_the_end)
            _collect_less_garbage()
            startup.end(app)
            told = {"asks_for_keys": app.site.access.asks_for_keys, "address": address}
            log.info("listening", **told, database=without_password(settings.database))
            announce(address)

        def say() -> None:
            log.info("loading", address=address)

        forward("uvicorn", log)
        await run(startup, settings, bound, load, say)
    log.info("stopped")


async def _loaded(
    settings: Settings,
    log: FilteringBoundLogger,
    progress: Progress,
    at_the_end: contextlib.AsyncExitStack,
) -> Application:
    """The application of a service; how to stop it is left to whoever ends."""
    needed = asks_for_keys(settings, await run_apart(keys_in_force, settings.database))
    if not needed:
        log.warning("no keys are asked for: whoever can reach this address may do everything")
    # Compiling would keep the loop from answering.
    await run_apart(lambda: asyncio.run(warm_up()))
    service = await start_service(settings, log, progress)
    at_the_end.push_async_callback(service.stop)
    app = Application(service, settings, log, asks_for_keys=needed)
    await app.site.access.reread_keys()
    at_the_end.callback(asyncio.create_task(app.site.access.keep_rereading_keys()).cancel)
    return app


async def start_service(
    settings: Settings, log: FilteringBoundLogger, progress: Progress | None = None
) -> Service:
    """Take over the database, as the settings say."""
    if is_open_to_others(settings.database):
        log.warning("every user of this machine can read the database: chmod its files to 600")
    return await Service.start(
        lambda: store_at(settings.database),
        tell=lambda message: log.warning("database", message=message),
        backlog=settings.backlog,
        cache_bytes=settings.cache_bytes,
        park_seconds=settings.park_seconds,
        # Well before whoever asks is told that it took too long.
        durable_within=min(2.0, settings.request_seconds / 4),
        progress=progress,
    )


def _collect_less_garbage() -> None:
    """What is there now stays, and requests leave nothing that points in circles."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS_BEFORE_COLLECTING, 20, 20)


async def warm_up() -> None:
    """Load or compile all kernels, the last by one round of a service that is thrown away.

    Decisions would otherwise wait for that, each for a second or more.
    """
    warmup.warm_up()
    with tempfile.TemporaryDirectory() as folder:
        service = await Service.start(lambda: store_at(f"{folder}/warm.db"))
        try:
            await service.create_model("warm", ModelSettings())
            candidates: dict[str, Record] = {"a": {"x": 1}, "b": {"x": 2}}
            asked = DecisionRequest(context={"y": 1}, candidates=candidates)
            decision = await service.decide("warm", asked)
            await service.feedback("warm", [FeedbackRequest(decision_id=decision.decision_id)])
        finally:
            await service.stop()


def _loop() -> asyncio.AbstractEventLoop:
    with contextlib.suppress(ImportError):
        import uvloop  # noqa: PLC0415  # not on Windows

        return uvloop.new_event_loop()
    return asyncio.new_event_loop()


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
