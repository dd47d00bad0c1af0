"""The processes of a server: where they listen, that no other serves the same file.

And several behind one port, with the one that starts them again when they die.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import selectors
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Metric
from structlog.typing import FilteringBoundLogger

from fabcost.service.store.connection import file_at

_WAITING_CONNECTIONS = 2048
_MOST_ACCEPTED = 256  # in a turn of the loop
#: Why a second process is refused.
FOR_ONE = "a file of SQLite is for one server; several share a PostgreSQL"


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


def bind(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """A socket that listens at an address; port 0 is any that is free.

    One that is ``shared`` does not listen yet, and others may be bound to the same address.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with contextlib.ExitStack() as unless_bound:
            bound = unless_bound.enter_context(socket.socket(family, kind, protocol))
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if shared:
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            bound.bind(address)
            if not shared:
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


class Door:
    """Accepts together what came together, beside the loop's own accepting.

    uvloop alone accepts one connection in a turn of the loop, in which all that are there may be
    answered: those who come to a busy server would wait long.
    """

    def __init__(self, listening: socket.socket, protocol: Callable[[], asyncio.Protocol]) -> None:
        self._loop = asyncio.get_running_loop()
        self._protocol = protocol
        self._entering: set[asyncio.Task[None]] = set()
        self._socket = listening.dup()
        self._socket.setblocking(False)
        self._loop.add_reader(self._socket, self._accept)

    def close(self) -> None:
        """Accept no more."""
        self._loop.remove_reader(self._socket)
        self._socket.close()

    def _accept(self) -> None:
        # Nobody is left, or nobody can be let in, which the loop's own accepting tells.
        with contextlib.suppress(OSError):
            for _ in range(_MOST_ACCEPTED):
                entering = self._loop.create_task(self._let_in(self._socket.accept()[0]))
                self._entering.add(entering)
                entering.add_done_callback(self._entering.discard)

    async def _let_in(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        with contextlib.suppress(OSError):  # who came may be gone
            await self._loop.connect_accepted_socket(self._protocol, connection)


@contextlib.contextmanager
def held(database: str) -> Iterator[None]:
    """An error if another process serves the same file; it is free again when this one ends.

    On Windows nobody is refused; there, too, only the latest server writes.
    """
    path = file_at(database)
    file = None if path is None or os.name != "posix" else _locked(path)
    try:
        yield
    finally:
        # Not before SQLite has closed the file: it would lose its own locks.
        if file is not None:
            os.close(file)


def _locked(path: str) -> int | None:
    """The file, made if it is not there; None if SQLite will say what is wrong with it."""
    import fcntl  # noqa: PLC0415  # not on Windows

    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        raise CannotStartError(f"another process serves {path}: {FOR_ONE}") from None
    return file


_READY = b"r"
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
#: Of a worker that cannot start as it is set.
_CANNOT_START = 2
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
#: Serves, and says when it does; the number is that of the worker.
Serve = Callable[[int, Callable[[], object]], None]


class WorkerRegistry(CollectorRegistry):
    """What one of several workers counts: each sample says whose it is."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._label = {"worker": str(number)}

    def collect(self) -> Iterator[Metric]:
        """What Prometheus is told."""
        for metric in super().collect():
            labelled = copy(metric)
            labelled.samples = [
                each._replace(labels={**each.labels, **self._label}) for each in metric.samples
            ]
            yield labelled


@dataclass(eq=False)
class Worker:
    """A process, and the pipe by which it says that it serves, and that it has ended."""

    number: int
    pid: int
    pipe: int
    ready: bool = False


@dataclass(eq=False)
class Workers:
    """Keeps ``count`` processes that ``serve``; ``announce`` is told once, when all of them do.

    A signal goes on to all of them, and they end in good order; one that dies by itself is started
    again, after a pause if it had not served yet.
    """

    count: int
    serve: Serve
    log: FilteringBoundLogger
    announce: Callable[[], object]
    _running: dict[int, Worker] = field(default_factory=dict)
    _stopping: bool = False
    _announced: bool = False
    _status: int = 0
    _pause: float = _FIRST_PAUSE

    def run(self) -> int:
        """Until all have ended; the exit status."""
        self._lifeline = os.pipe()
        with self._forwarding(), selectors.DefaultSelector() as self._selector:
            for number in range(1, self.count + 1):
                self._start(number)
            while self._running:
                for key, _ in self._selector.select():
                    self._hear(self._running[key.fd])
        return self._status

    def _start(self, number: int) -> None:
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            self._be_worker(number, writing)
        os.close(writing)
        self._running[reading] = Worker(number, pid, reading)
        self._selector.register(reading, selectors.EVENT_READ)

    def _be_worker(self, number: int, pipe: int) -> None:
        status = 1
        try:
            for each in _SIGNALS:
                signal.signal(each, signal.SIG_DFL)
            os.close(self._lifeline[1])
            threading.Thread(target=self._end_with_parent, daemon=True).start()
            self.serve(number, lambda: os.write(pipe, _READY))
            status = 0
        except Exception as end:  # noqa: BLE001 - it ends in any case
            # That of a command which has said why.
            status = getattr(end, "exit_code", 1)
            if status == 1:
                traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def _end_with_parent(self) -> None:
        """Nobody writes there: it can be read when the parent is gone."""
        os.read(self._lifeline[0], 1)
        os.kill(os.getpid(), signal.SIGTERM)

    def _hear(self, worker: Worker) -> None:
        if os.read(worker.pipe, 1):
            worker.ready, self._pause = True, _FIRST_PAUSE
            if not self._announced and all(each.ready for each in self._running.values()):
                self._announced = True
                self.announce()
            return
        self._selector.unregister(worker.pipe)
        os.close(worker.pipe)
        del self._running[worker.pipe]
        status = os.waitstatus_to_exitcode(os.waitpid(worker.pid, 0)[1])
        self._ended(worker, status)

    def _ended(self, worker: Worker, status: int) -> None:
        if self._stopping:
            self._status = self._status or abs(status)
        elif status == _CANNOT_START and not self._announced:
            # It said why, and the others will not do better.
            self._status = status
            self._stop(signal.SIGTERM)
        else:
            self.log.warning("a worker has ended", worker=worker.number, status=status)
            if not worker.ready:
                time.sleep(self._pause)
                self._pause = min(2.0 * self._pause, _LONGEST_PAUSE)
            if not self._stopping:
                self._start(worker.number)

    @contextlib.contextmanager
    def _forwarding(self) -> Iterator[None]:
        before = {
            each: signal.signal(each, lambda number, _: self._stop(number)) for each in _SIGNALS
        }
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    def _stop(self, number: int) -> None:
        self._stopping = True
        for worker in self._running.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker.pid, number)
