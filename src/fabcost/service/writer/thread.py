"""The thread that writes: one connection, one transaction for all that is waiting.

While the database is away, decisions wait for it in a backlog.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Any

from fabcost.service.metrics import Metrics
from fabcost.service.writer.journal import Journal, Relisted
from fabcost.service.writer.requests import Activate, Answers, Awaiting, Feed, Job, Request, Write
from fabcost.service.writer.transaction import Result
from fabcost.wire.errors import (
    DatabaseUnusableError,
    ServiceError,
    StoreAwayError,
    TakenOverError,
    UnknownModelError,
)

_MOST_AT_ONCE = 1024
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0
_STOP = object()
_UNUSABLE = "the database cannot be used now"
_AWAY = (StoreAwayError, TakenOverError, DatabaseUnusableError)


class WriterThread:
    """Takes what was put, writes it in groups, and connects again when the database went away.

    ``answer`` and ``relist`` tell the loop what became of requests, and of a catalogue that is not
    what it was told; ``tell`` tells an operator in words.
    """

    def __init__(
        self,
        journal: Journal,
        backlog: Backlog,
        *,
        metrics: Metrics,
        tell: Callable[[str], object],
        answer: Callable[[Answers], object],
        relist: Callable[[Relisted], object],
    ) -> None:
        #: Why the database cannot be written.
        self.away: str | None = None
        self._journal = journal
        self._backlog = backlog
        self._metrics = metrics
        self._tell = tell
        self._answer = answer
        self._relist = relist
        self._queue: queue.SimpleQueue[list[Any]] = queue.SimpleQueue()
        self._failed: set[str] = set()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self.put = self._queue.put

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Write what was put and end; blocks."""
        self._queue.put([_STOP])
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping:
            for group in _groups(self._take()):
                self._write(group)
            if self.away is not None and not self._stopping:
                self._reconnect()
        self._finish()

    def _finish(self) -> None:
        try:
            self._write_backlog()
            self._journal.close_the_books()
        except ServiceError as error:
            self._tell(f"{len(self._backlog)} decisions could not be written: {_reason(error)}")

    def _take(self) -> list[Request]:
        batch = list(self._queue.get())
        while len(batch) < _MOST_AT_ONCE:
            try:
                batch += self._queue.get_nowait()
            except queue.Empty:
                break
        if _STOP in batch:
            self._stopping = True
            batch = [each for each in batch if each is not _STOP]
        return batch

    def _write(self, group: list[Request]) -> None:
        if self.away is not None:
            self._keep(group, StoreAwayError(self.away))
            return
        try:
            if isinstance(group[0], Job):
                self._do(group[0])
            elif not self._append(group):
                self._transact(group)
        except _AWAY as error:
            self._go_away(error)
            self._keep(group, error)
        except Exception as error:  # noqa: BLE001 - one bad request must not stop the others
            self._write_singly(group, error)

    def _write_singly(self, group: list[Request], error: Exception) -> None:
        if len(group) == 1:
            self._tell(f"a request could not be written: {error!r}")
            self._answer([(group[0].done, error)])
            return
        for each in group:
            self._write([each])

    def _do(self, job: Job) -> None:
        try:
            with self._journal.store.transaction():
                result = job.function(self._journal.store)
            job.then(result)
        except _AWAY:
            raise
        except Exception as error:  # noqa: BLE001 - whoever asked is told
            self._answer([(job.done, error)])
            return
        self._answer([(job.done, result)])

    def _append(self, group: list[Request]) -> bool:
        started = time.monotonic()
        if not self._journal.appended(group):
            return False
        self._answer([(each.done, True) for each in group])
        self._metrics.committed(len(group), time.monotonic() - started)
        return True

    def _transact(self, group: list[Request]) -> None:
        started = time.monotonic()
        result = self._journal.transact(self._of_known_models(group))
        if result.answers:
            self._answer(result.answers)
        self._observe(result, time.monotonic() - started)
        # A refresh that was in the background is saved with whatever is written next.
        for model in list(result.learnt or self._journal.keepers):
            self._journal.snapshot(model)

    def _of_known_models(self, group: list[Request]) -> list[Request]:
        """Those requests whose model is not gone; the others are answered."""
        known: list[Request] = []
        for each in group:
            if isinstance(each, Write | Feed | Activate) and not self._journal.has(each.model):
                self._answer([(each.done, UnknownModelError(each.model))])
            else:
                known.append(each)
        return known

    def _observe(self, result: Result, seconds: float) -> None:
        self._metrics.committed(result.written, seconds)
        for model, status in result.statuses:
            self._metrics.fed_back(model, status)
        for model in result.learnt:
            keeper = self._journal.keepers[model]
            self._metrics.applied(model, keeper.head)
            self._metrics.lagged(model, keeper.learning.lag)
            self._tell_of_failure(model, keeper.learning.failure)

    def _tell_of_failure(self, model: str, failure: Exception | None) -> None:
        if failure is not None and model not in self._failed:
            self._failed.add(model)
            self._tell(f"model {model!r} stopped learning, a restart goes on: {failure!r}")

    def _keep(self, group: list[Request], error: ServiceError) -> None:
        """Decisions wait for the database; everything else may be repeated by whoever asked."""
        answers: Answers = []
        for each in group:
            if isinstance(each, Write):
                self._backlog.keep(each)
                answers.append((each.done, False))
            else:
                answers.append((each.done, error))
        self._metrics.backlog(len(self._backlog))
        if answers:
            self._answer(answers)

    def _go_away(self, error: ServiceError) -> None:
        self.away = str(error)
        self._metrics.store_away(True)
        self._tell(f"the database is away: {_reason(error)}")

    def _reconnect(self) -> None:
        """Try until the database is back, putting aside what comes meanwhile."""
        pause = _FIRST_PAUSE
        while self.away is not None and not self._stopping:
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
            self._keep(self._drained(), StoreAwayError(self.away))
            try:
                for each in self._journal.reopen():
                    self._relist(each)
                self._write_backlog()
            except Exception as error:  # noqa: BLE001 - whatever it is, decisions go on
                self.away = str(error) if isinstance(error, ServiceError) else _UNUSABLE
                continue
            self._metrics.store_away(False)
            self.away = None
            self._tell("the database is back")

    def _drained(self) -> list[Request]:
        drained: list[Request] = []
        while not self._queue.empty():
            drained.extend(self._take())
        return drained

    def _write_backlog(self) -> None:
        self._backlog.write(self._journal)
        self._metrics.backlog(len(self._backlog))


class Backlog:
    """Decisions that were answered from memory: in the writer's queue, then here, in their order.

    Those beyond the ``most`` that are kept are not written at all.
    """

    def __init__(self, most: int, tell: Callable[[str], object]) -> None:
        self.lost = 0
        self._most = most
        self._tell = tell
        self._kept: deque[Write] = deque()
        # Changed by the loop and by the writer's thread, each time by a single operation.
        self._queued: set[Awaiting] = set()

    def __len__(self) -> int:
        return len(self._kept) + len(self._queued)

    def admit(self, write: Write) -> bool:
        """Count a decision that goes to the queue unheard; whether there is room for it."""
        if not self._has_room(write):
            return False
        self.queued(write.done)
        return True

    def queued(self, done: Awaiting) -> None:
        """Count a decision of the queue whose caller waits no longer."""
        self._queued.add(done)

    def heard(self, done: Awaiting) -> bool:
        """What became of a request is known; whether it was a decision that nobody waited for."""
        found = done in self._queued
        self._queued.discard(done)
        return found

    def keep(self, write: Write) -> None:
        """Put a decision aside, if there is room."""
        self._queued.discard(write.done)
        if self._has_room(write):
            self._kept.append(write)

    def _has_room(self, write: Write) -> bool:
        # Later steps of a schema mean nothing without the earlier ones; they are few.
        room = len(self) < self._most or write.steps is not None
        self.lost += not room
        return room

    def write(self, journal: Journal) -> None:
        """Write all; what is written when an error comes is not kept any longer."""
        most = _MOST_AT_ONCE
        while self._kept:
            group = list(islice(self._kept, most))
            try:
                journal.transact([each for each in group if each.model in journal.keepers])
            except ValueError as error:
                if most > 1:
                    most = 1
                    continue
                self._tell(f"a decision could not be written: {error}")
            for _ in group:
                self._kept.popleft()


def _reason(error: ServiceError) -> str:
    """With what the database itself said, for the log."""
    return getattr(error, "detail", "") or str(error)


def _groups(batch: list[Request]) -> list[list[Request]]:
    """What can share a transaction: a job by itself, everything between two of them together."""
    groups: list[list[Request]] = []
    together = False
    for each in batch:
        if isinstance(each, Job) or not together:
            groups.append([each])
        else:
            groups[-1].append(each)
        together = not isinstance(each, Job)
    return groups
