"""One server process: bind, take over the database, serve, and stop in good order."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import sys
import tempfile
from collections.abc import Callable

from structlog.typing import FilteringBoundLogger
from threadpoolctl import threadpool_limits

from fabcost.service.addresses import CannotStartError, address_of, bind, is_loopback
from fabcost.service.http.app import application
from fabcost.service.listening import run
from fabcost.service.messages import DecisionRequest, FeedbackRequest, Record
from fabcost.service.model_settings import ModelSettings
from fabcost.service.service import Service
from fabcost.service.settings import Settings, without_password
from fabcost.service.store.address import store_at

#: How long a thread that comes back from the database waits behind the one that decides.
_SWITCH_SECONDS = 0.0005
_ALLOCATIONS_BEFORE_COLLECTING = 50_000


def asks_for_keys(settings: Settings, keys: int) -> bool:
    """Whether callers must show a key, given how many are in force.

    Examples
    --------
    >>> asks_for_keys(Settings(), 0), asks_for_keys(Settings(), 1)
    (False, True)
    >>> asks_for_keys(Settings(host="0.0.0.0"), 0)
    Traceback (most recent call last):
    fabcost.service.addresses.CannotStartError: there are no API keys: make one with \
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
        cache_bytes=settings.cache_bytes,
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


def _loop() -> asyncio.AbstractEventLoop:
    with contextlib.suppress(ImportError):
        import uvloop  # noqa: PLC0415  # not on Windows

        return uvloop.new_event_loop()
    return asyncio.new_event_loop()
