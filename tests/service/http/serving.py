"""Real servers on free ports: in a thread of the test, or in a process of their own."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import httpx
import uvicorn
from structlog.typing import FilteringBoundLogger

from fabcost.service.http.app import Application
from fabcost.service.processes import address_of, bind
from fabcost.service.server import Server, configuration, keys_in_force, warm_up
from fabcost.service.service import start_service
from fabcost.service.settings import Settings
from fabcost.service.telemetry import logger
from tests.service.faults.servers import shared_nursery

#: Whether a server of this process has loaded all kernels, which takes a tenth of a second again.
WARM = threading.Event()


class Running:
    """A server in a thread: its address, its service, and what it logged."""

    loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.log = io.TextIOWrapper(io.BytesIO())
        self._bound = bind("127.0.0.1", 0)
        self.address = address_of(self._bound)
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()
        assert self._ready.wait(300)
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(60)
        assert not self._thread.is_alive()

    def connections(self) -> int:
        """How many it has."""
        return len(self._server.server_state.connections)

    def client(self, **keywords: object) -> httpx.Client:
        return httpx.Client(base_url=self.address, timeout=30.0, **keywords)  # type: ignore[arg-type]

    def logged(self) -> str:
        assert isinstance(self.log.buffer, io.BytesIO)
        return self.log.buffer.getvalue().decode()

    def reread_keys(self) -> None:
        """Read keys that were added elsewhere now, not within two seconds."""
        reading = asyncio.run_coroutine_threadsafe(
            self._site.access.reread_keys(), self.service.loop
        )
        reading.result(60)

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=self.loop_factory) as runner:
                runner.run(self._serve())
        except BaseException as error:
            self._failure = error
            self._ready.set()
            raise

    async def _serve(self) -> None:
        if not WARM.is_set():
            await warm_up()
            WARM.set()
        log = logger(self.settings.log_level, "json", self.log)
        self.service = await start_service(self.settings, log)
        try:
            await self._serve_application(self._application(log))
        finally:
            await self.service.stop()

    def _application(self, log: FilteringBoundLogger) -> Application:
        needed = keys_in_force(self.settings.database) is not None
        return Application(self.service, self.settings, log, asks_for_keys=needed)

    async def _serve_application(self, app: Application) -> None:
        self._site = app.site
        rereading = asyncio.create_task(app.site.access.keep_rereading_keys())
        await app.site.access.reread_keys()
        self._server: uvicorn.Server = Server(configuration(app, self.settings), self._ready.set)
        try:
            await self._server.serve(sockets=[self._bound])
        finally:
            rereading.cancel()


@contextmanager
def running(settings: Settings, kind: type[Running] = Running) -> Iterator[Running]:
    """A server in a thread, stopped in the end."""
    server = kind(settings)
    server.start()
    try:
        yield server
    finally:
        server.stop()


class Process:
    """A server as ``fabcost serve`` starts it, but forked; what it says is read while it runs."""

    def __init__(self, database: Path | str, *flags: str) -> None:
        self._parent = shared_nursery()
        self._said: list[str] = []
        self._status: int | None = None
        self._listens = threading.Event()
        # A full pipe would stop the server, and a file would fill up with its disk.
        with tempfile.TemporaryDirectory() as folder:
            pipe = Path(folder) / "pipe"
            os.mkfifo(pipe)
            given = ["--port", "0", "--database", str(database), *flags]
            self.pid = self._parent.fork(given, pipe)
            lines = pipe.open(encoding="utf-8")
        self._reader = threading.Thread(target=self._read, args=[lines], daemon=True)
        self._reader.start()
        self._listens.wait()
        if not self.runs():
            raise RuntimeError(f"the server did not start: {self.ended()[1]}")

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal; the exit status, and all that was said."""
        os.kill(self.pid, number)
        return self.ended()

    def ended(self) -> tuple[int, str]:
        """The same of one that is about to end."""
        self._reader.join(60)
        assert not self.runs()
        if self._status is None:
            self._status = self._parent.wait(self.pid)
        return self._status, "".join(self._said)

    def runs(self) -> bool:
        """Whether it has not closed what it writes to."""
        return self._reader.is_alive()

    def _read(self, lines: TextIO) -> None:
        with lines:
            for line in lines:
                self._said.append(line)
                if line.startswith("listening on "):
                    self.address = line.removeprefix("listening on ").strip()
                    self._listens.set()
        self._listens.set()


@contextmanager
def process(database: Path | str, *flags: str) -> Iterator[Process]:
    """A server process, killed in the end if it still runs."""
    server = Process(database, *flags)
    try:
        yield server
    finally:
        if server.runs():
            os.kill(server.pid, signal.SIGKILL)
        server.ended()
