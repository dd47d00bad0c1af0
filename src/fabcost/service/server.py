"""One server process: listen, take over the database, serve, and stop in good order."""

from __future__ import annotations

import asyncio
import contextlib
import gc
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
from fabcost.compilation import compiling
from fabcost.service.http.app import Application, Startup
from fabcost.service.http.exchange import EVERYONE, Cors
from fabcost.service.http.fastpath import FastProtocol
from fabcost.service.http.protocol import forward
from fabcost.service.learning.recovery import Progress
from fabcost.service.processes import (
    FOR_ONE,
    CannotStartError,
    Door,
    WorkerRegistry,
    Workers,
    address_of,
    bind,
    held,
    is_loopback,
)
from fabcost.service.service import Service, run_apart, start_service
from fabcost.service.settings import Settings, making_a_key, without_password
from fabcost.service.store.connection import file_at
from fabcost.service.store.store import store_at
from fabcost.service.telemetry import Metrics
from fabcost.wire.errors import explained
from fabcost.wire.messages import DecisionRequest, FeedbackRequest, Record
from fabcost.wire.settings import ModelSettings

#: How long a thread that comes back from the database waits behind the one that decides.
_SWITCH_SECONDS = 0.0005
_ALLOCATIONS_BEFORE_COLLECTING = 50_000
_LOOK_SECONDS = 0.02


def asks_for_keys(settings: Settings, keys: int | None) -> bool:
    """Whether callers must show a key, given how many are in force; None if there never was one.

    Where there was one once, nobody is let in without, unless ``auth`` is off.

    Examples
    --------
    >>> asks_for_keys(Settings(), None), asks_for_keys(Settings(), 0), asks_for_keys(Settings(), 1)
    (False, True, True)
    >>> asks_for_keys(Settings(host="0.0.0.0"), None)
    Traceback (most recent call last):
    fabcost.service.processes.CannotStartError: there are no API keys: make one with \
`fabcost keys add NAME --role admin --database fabcost.db`
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
        raise CannotStartError(f"there are no API keys: make one with `{making_a_key(settings)}`")
    return True


def _check_auth(settings: Settings) -> None:
    if settings.auth == "off" and not is_loopback(settings.host):
        raise CannotStartError(f"{settings.host} can be reached by others: auth cannot be off")


def serve(settings: Settings, log: FilteringBoundLogger, announce: Callable[[str], object]) -> None:
    """Serve until a signal comes; ``announce`` is told the address when all models are loaded.

    Until then it listens too, and says how far it is.  The address is bound before the database is
    touched, so that a server started twice by mistake leaves it to the first.  Several workers are
    processes that listen at the same address, each when it has loaded.
    """
    _check_auth(settings)
    path = file_at(settings.database)
    if path is not None and (settings.workers > 1 or settings.follow):
        raise CannotStartError(FOR_ONE)
    if path is not None and not os.path.exists(path):
        asks_for_keys(settings, None)  # if that is refused, no file is made
    if settings.workers > 1:
        sys.exit(_serve_by_workers(settings, log, announce))
    with bind(settings.host, settings.port) as bound, held(settings.database):
        _run(_serve(settings, log, bound, announce))


def _run(serving: Coroutine[Any, Any, None]) -> None:
    sys.setswitchinterval(_SWITCH_SECONDS)
    with threadpool_limits(1), asyncio.Runner(loop_factory=_loop) as runner:
        runner.run(serving)


def _serve_by_workers(
    settings: Settings, log: FilteringBoundLogger, announce: Callable[[str], object]
) -> int:
    """Have workers serve until a signal comes; the exit status."""
    # Nobody else is there; the port stays ours, whoever of the workers is not there yet.
    with bind(settings.host, settings.port) as first:
        port = first.getsockname()[1]
    with bind(settings.host, port, shared=True) as reserved:

        def serve_one(number: int, say: Callable[[], object]) -> None:
            with explained(), bind(settings.host, port, shared=True) as bound:
                told = log.bind(worker=number)
                _run(_serve(settings, told, bound, lambda _: say(), number))

        address = address_of(reserved)
        return Workers(settings.workers, serve_one, log, lambda: announce(address)).run()


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
    worker: int | None = None,
) -> None:
    progress, address = Progress(), address_of(bound)
    cors = Cors(settings.cors_origins) if settings.cors_origins else None
    startup = Startup(lambda: str(compiling) or str(progress), cors)
    async with contextlib.AsyncExitStack() as at_the_end:

        async def load() -> None:
            app = await _loaded(settings, log, progress, at_the_end, worker)
            _collect_less_garbage()
            startup.end(app)
            if worker is None:
                tell()

        def tell() -> None:
            log.info("listening", address=address, database=without_password(settings.database))
            announce(address)

        def say() -> None:
            if worker is None:
                log.info("loading", address=address)
            else:
                tell()

        forward("uvicorn", log)
        await run(startup, settings, bound, load, say, load_first=worker is not None)
    log.info("stopped")


async def _loaded(
    settings: Settings,
    log: FilteringBoundLogger,
    progress: Progress,
    at_the_end: contextlib.AsyncExitStack,
    worker: int | None,
) -> Application:
    """The application of a service; how to stop it is left to whoever ends."""
    needed = asks_for_keys(settings, await run_apart(keys_in_force, settings.database))
    if not needed:
        log.warning("no keys are asked for: whoever can reach this address may do everything")
    # Compiling would keep the loop from answering.
    await run_apart(lambda: asyncio.run(warm_up()))
    metrics = Metrics(registry=None if worker is None else WorkerRegistry(worker))
    service = await start_service(settings, log, progress, metrics)
    at_the_end.push_async_callback(service.stop)
    app = Application(service, settings, log, asks_for_keys=needed)
    await app.site.access.reread_keys()
    at_the_end.callback(asyncio.create_task(app.site.access.keep_rereading_keys()).cancel)
    return app


def _collect_less_garbage() -> None:
    """What is there now stays, and requests leave nothing that points in circles."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS_BEFORE_COLLECTING, 20, 20)


async def warm_up() -> None:
    """Load or compile all kernels, the last by one round of a service that is thrown away.

    Decisions would otherwise wait for that, each for a second or more.
    """
    with compiling.shown():
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
    *,
    load_first: bool = False,
) -> None:
    """Listen, and load, until SIGTERM or SIGINT; a second signal ends the process at once.

    If loading fails, that is the error, and it ends too.
    """
    server = Server(configuration(startup, settings), listening)
    loading = asyncio.create_task(load())
    loading.add_done_callback(server.stop_if_failed)
    try:
        with server.stopped_by_signals():
            while load_first and not (loading.done() or server.should_exit):
                await asyncio.sleep(_LOOK_SECONDS)
            if not server.should_exit:
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
        self._doors: list[Door] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections."""
        await super().startup(sockets)
        protocol = partial(
            cast("Callable[..., asyncio.Protocol]", self.config.http_protocol_class),
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
        )
        if os.name == "posix":  # elsewhere loops have no readers, and let in all themselves
            self._doors = [Door(each, protocol) for each in sockets or ()]
        self._listening()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more connections, and answer what was asked."""
        for door in self._doors:
            door.close()
        await super().shutdown(sockets)

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
