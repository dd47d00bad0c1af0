"""Several server processes behind one port, and the one that starts them again when they die."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Metric
from structlog.typing import FilteringBoundLogger

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
