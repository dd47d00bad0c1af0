"""One server process: listen, take over the database, serve, and stop in good order."""

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

from fabcost import warmup
from fabcost.service.http.app import Application, Startup
from fabcost.service.learning.recovery import Progress
from fabcost.service.listener import CannotStartError, address_of, bind, is_loopback, run
from fabcost.service.service import Service
from fabcost.service.settings import Settings, is_open_to_others, without_password
from fabcost.service.telemetry import forward
from fabcost.service.threads import run_apart, store_at
from fabcost.wire.messages import DecisionRequest, FeedbackRequest, Record
from fabcost.wire.settings import ModelSettings

#: How long a thread that comes back from the database waits behind the one that decides.
_SWITCH_SECONDS = 0.0005
_ALLOCATIONS_BEFORE_COLLECTING = 50_000


def asks_for_keys(settings: Settings, keys: int | None) -> bool:
    """Whether callers must show a key, given how many are in force; None if there never was one.

    Where there was one once, nobody is let in without, unless ``auth`` is off.

    Examples
    --------
    >>> asks_for_keys(Settings(), None), asks_for_keys(Settings(), 0), asks_for_keys(Settings(), 1)
    (False, True, True)
    >>> asks_for_keys(Settings(host="0.0.0.0"), None)
    Traceback (most recent call last):
    fabcost.service.listener.CannotStartError: there are no API keys: make one with \
`fabcost keys add NAME --role admin`
    """
    _check_auth(settings)
    loopback = is_loopback(settings.host)
    if settings.auth == "off" or (settings.auth == "auto" and loopback and keys is None):
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
    startup = Startup(lambda: str(progress))
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
