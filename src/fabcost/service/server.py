"""One server process: bind, take over the database, serve, and stop in good order."""

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
from collections.abc import Callable, Iterator

import uvicorn
from structlog.typing import FilteringBoundLogger
from threadpoolctl import threadpool_limits

from fabcost.service.http.app import application
from fabcost.service.http.direct import DirectProtocol
from fabcost.service.http.gate import Gate
from fabcost.service.logs import forward
from fabcost.service.messages import DecisionRequest, FeedbackRequest, Record
from fabcost.service.model_settings import ModelSettings
from fabcost.service.service import Service
from fabcost.service.settings import Settings, without_password
from fabcost.service.store.address import store_at

#: How long a thread that comes back from the database waits behind the one that decides.
_SWITCH_SECONDS = 0.0005
_ALLOCATIONS_BEFORE_COLLECTING = 50_000


class CannotStartError(Exception):
    """A server that must not start as it is set, and what to do about it.

    Examples
    --------
    >>> str(CannotStartError("port 80 is taken"))
    'port 80 is taken'
    """


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


def asks_for_keys(settings: Settings, keys: int) -> bool:
    """Whether callers must show a key, given how many are in force.

    Examples
    --------
    >>> asks_for_keys(Settings(), 0), asks_for_keys(Settings(), 1)
    (False, True)
    >>> asks_for_keys(Settings(host="0.0.0.0"), 0)
    Traceback (most recent call last):
    fabcost.service.server.CannotStartError: there are no API keys: make one with \
`fabcost keys add NAME --role admin`
    """
    loopback = is_loopback(settings.host)
    if settings.auth == "off" and not loopback:
        raise CannotStartError(f"{settings.host} can be reached by others: auth cannot be off")
    if settings.auth == "off" or (settings.auth == "auto" and loopback and keys == 0):
        return False
    if keys == 0:
        raise CannotStartError(
            "there are no API keys: make one with `fabcost keys add NAME --role admin`"
        )
    return True


def bind(host: str, port: int) -> socket.socket:
    """A socket of an address, not listening yet; port 0 is any that is free.

    Examples
    --------
    >>> bound = bind("127.0.0.1", 0)
    >>> bound.getsockname()[0]
    '127.0.0.1'
    >>> bound.close()
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with contextlib.ExitStack() as unless_bound:
            bound = unless_bound.enter_context(socket.socket(family, kind, protocol))
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
            unless_bound.pop_all()
    except OSError as error:
        raise CannotStartError(f"{host}, port {port}: {error.strerror or error}") from error
    return bound


def address_of(bound: socket.socket) -> str:
    """Where to point a browser.

    Examples
    --------
    >>> with bind("127.0.0.1", 0) as bound:
    ...     address_of(bound)[:17]
    'http://127.0.0.1:'
    """
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(settings: Settings, log: FilteringBoundLogger, announce: Callable[[str], object]) -> None:
    """Serve until a signal comes; ``announce`` is told the address when it does.

    The address is bound before the database is taken over, so that a server started twice by
    mistake does not take it from the first.
    """
    needed = asks_for_keys(settings, keys_in_force(settings.database))
    if not needed:
        log.warning("no keys are asked for: whoever can reach this address may do everything")
    sys.setswitchinterval(_SWITCH_SECONDS)
    with (
        threadpool_limits(1),
        bind(settings.host, settings.port) as bound,
        asyncio.Runner(loop_factory=_loop) as runner,
    ):
        runner.run(_serve(settings, log, bound, announce, needed))


def keys_in_force(database: str) -> int:
    """How many API keys a database has that are not revoked.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     keys_in_force(f"{folder}/new.db")
    0
    """
    store = store_at(database)
    store.open(take_over=False)
    try:
        rows = store.keys()
    finally:
        store.close()
    return sum(row.revoked is None for row in rows)


async def _serve(
    settings: Settings,
    log: FilteringBoundLogger,
    bound: socket.socket,
    announce: Callable[[str], object],
    needed: bool,
) -> None:
    await warm_up()
    service = await start_service(settings, log)
    try:
        gate = application(service, settings, log, asks_for_keys=needed)
        await gate.site.reread_keys()
        address, database = address_of(bound), without_password(settings.database)

        _collect_less_garbage()

        def say() -> None:
            log.info("listening", address=address, database=database, asks_for_keys=needed)
            announce(address)

        await run(gate, settings, bound, say)
    finally:
        await service.stop()
        log.info("stopped")


async def start_service(settings: Settings, log: FilteringBoundLogger) -> Service:
    """Take over the database, as the settings say."""
    return await Service.start(
        lambda: store_at(settings.database),
        tell=lambda message: log.warning("database", message=message),
        backlog=settings.backlog,
        park_seconds=settings.park_seconds,
        # Well before whoever asks is told that it took too long.
        durable_within=min(2.0, settings.request_seconds / 4),
    )


def _collect_less_garbage() -> None:
    """What is there now stays, and requests leave nothing that points in circles."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS_BEFORE_COLLECTING, 20, 20)


async def warm_up() -> None:
    """Load or compile the kernels by one round of a service that is thrown away.

    The first decision would otherwise wait for that, for a second or more.

    Examples
    --------
    >>> asyncio.run(warm_up())
    """
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


async def run(
    gate: Gate, settings: Settings, bound: socket.socket, listening: Callable[[], object]
) -> None:
    """Serve a gate until SIGTERM or SIGINT; a second signal ends the process at once."""
    forward("uvicorn", gate.site.log)
    server = Server(configuration(gate, settings), listening)
    rereading = asyncio.create_task(gate.site.keep_rereading_keys())
    try:
        with server.stopped_by_signals():
            await server.serve(sockets=[bound])
    finally:
        rereading.cancel()


def configuration(gate: Gate, settings: Settings) -> uvicorn.Config:
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

    def _stop(self, number: int) -> None:
        if self.should_exit:
            os._exit(128 + number)
        self.should_exit = True


def _loop() -> asyncio.AbstractEventLoop:
    with contextlib.suppress(ImportError):
        import uvloop  # noqa: PLC0415  # not on Windows

        return uvloop.new_event_loop()
    return asyncio.new_event_loop()
