"""The writer: requests of the event loop go to one thread, and answers come back."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeVar

from fabcost.service.store.connection import UNUSABLE_NOW
from fabcost.service.store.store import Store
from fabcost.service.telemetry import Metrics
from fabcost.service.writer.following import News
from fabcost.service.writer.journal import Journal
from fabcost.service.writer.requests import (
    MOST_AT_ONCE,
    Answers,
    Awaiting,
    Backlog,
    Count,
    Job,
    Request,
    Write,
)
from fabcost.service.writer.transaction import Result
from fabcost.wire.errors import (
    DatabaseUnusableError,
    ServiceError,
    StoreAwayError,
    TakenOverError,
    UnknownModelError,
)

T = TypeVar("T")
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0
_STOP = object()
_AWAY = (StoreAwayError, TakenOverError, DatabaseUnusableError)


class Writer:
    """Has requests written in groups, and answers when they are durable and learnt.

    While the database is away, decisions are answered at once and kept in memory, at most
    ``backlog`` of them; anything else is a `StoreAwayError`.  From `start` on the ``journal`` is
    the thread's own: others change it through `call` only.  ``tell`` tells an operator in words.
    """

    def __init__(
        self, journal: Journal, *, metrics: Metrics, tell: Callable[[str], object], backlog: int
    ) -> None:
        self.journal = journal
        #: Told of what is not as the loop was told before.
        self.hear: Callable[[News], object] = id
        #: Answers of the database, and requests, so far.
        self.settled, self.submitted = 0, 0
        self._loop = asyncio.get_running_loop()
        self.metrics = metrics
        self._gathered: list[Request] = []
        self._backlog = Backlog(backlog, tell, metrics.lose)
        self._thread = WriterThread(
            journal,
            self._backlog,
            metrics=metrics,
            tell=tell,
            answer=lambda answers: self._loop.call_soon_threadsafe(self._settle, answers),
        )
        journal.tell = lambda news: self._loop.call_soon_threadsafe(self._hear, news)
        self.start = self._thread.start

    @property
    def away(self) -> str | None:
        """Why the database cannot be written; None if it can."""
        return self._thread.away

    @property
    def stale(self) -> float:
        """Seconds since everything in the database was known."""
        return time.monotonic() - self.journal.known_at

    @property
    def unwritten(self) -> int:
        """Decisions that were answered but not written yet."""
        return len(self._backlog)

    async def stop(self) -> None:
        """Write what was submitted, and end."""
        self._hand_over()
        await asyncio.to_thread(self._thread.stop)

    def submit(self, request: Request) -> None:
        """Write soon; ``request.done`` is answered in the loop."""
        if self._thread.away is None:
            self._gather(request)
        elif isinstance(request, Write):
            self.put_aside(request)
        else:
            request.done.set_exception(StoreAwayError(self._thread.away))

    async def call(
        self,
        function: Callable[[Store], T],
        then: Callable[[T], object] = id,
        show: Callable[[T], object] = id,
        *,
        about: str | None = None,
        settles: str | None = None,
    ) -> T:
        """Do it in a transaction; an error if the model it is about was deleted meanwhile.

        As it is durable, ``then`` may change what the thread knows, and ``show`` what the loop
        knows: in the order of the transactions, and also if whoever asked waits no longer.
        """

        def answered(done: asyncio.Future[T]) -> None:
            if not done.cancelled() and done.exception() is None:
                show(done.result())

        done: asyncio.Future[T] = self._loop.create_future()
        done.add_done_callback(answered)
        self.submit(Job(function, done, then, about, settles))
        return await asyncio.shield(done)

    async def count(self) -> None:
        """See to it that the counts have all decisions that were answered, if the database can."""
        done: asyncio.Future[None] = self._loop.create_future()
        self.submit(Count(done))
        with contextlib.suppress(StoreAwayError):
            await done

    def put_aside(self, write: Write) -> None:
        """Answer a decision from memory, and write it when that is possible, if there is room."""
        if self._backlog.has_room(write):
            self._backlog.queued.add(write.done)
            self._gather(write)
        write.done.set_result(False)
        self.metrics.backlog(self.unwritten)

    def put_again(self, write: Write) -> None:
        """Write a decision in other columns, which may have been answered from memory."""
        if not write.done.done():
            self.submit(write)
        elif self._backlog.has_room(write):
            self._backlog.queued.add(write.done)
            self._gather(write)

    def give_up(self, done: Awaiting) -> None:
        """Answer a decision of the queue from memory: the database keeps it waiting for long."""
        self._backlog.queued.add(done)
        done.set_result(False)
        self.metrics.backlog(self.unwritten)

    def _gather(self, request: Request) -> None:
        self.submitted += 1
        # What comes in the same turn of the loop goes together: the thread is woken once.
        if not self._gathered:
            self._loop.call_soon(self._hand_over)
        self._gathered.append(request)

    def _hand_over(self) -> None:
        if self._gathered:
            self._thread.put(self._gathered)
            self._gathered = []

    def _settle(self, answers: Answers) -> None:
        self.settled += 1
        unheard = [done for done, _ in answers if done in self._backlog.queued]
        if unheard:
            self._backlog.queued.difference_update(unheard)
            self.metrics.backlog(self.unwritten)
        for done, result in answers:
            try:
                settle(done, result)
            except Exception as error:  # noqa: BLE001 - the others wait for their answers too
                told = {"message": "an answer could not be given", "exception": error}
                self._loop.call_exception_handler(told)

    def _hear(self, news: News) -> None:
        # What was answered before is shown one turn of the loop after that.
        self._loop.call_soon(self.hear, news)


def settle(done: Awaiting, result: Any) -> None:
    """Tell whoever still waits of a result, or of an error."""
    if not done.done():
        tell = done.set_exception if isinstance(result, BaseException) else done.set_result
        tell(result)


@dataclass(eq=False)
class WriterThread:
    """One connection, one transaction for all that waits; ``answer`` tells what became of it."""

    journal: Journal
    backlog: Backlog
    metrics: Metrics
    tell: Callable[[str], object]
    answer: Callable[[Answers], object]

    def __post_init__(self) -> None:
        #: Why the database cannot be written.
        self.away: str | None = None
        self._queue: queue.SimpleQueue[list[Any]] = queue.SimpleQueue()
        self._failed: set[str] = set()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self.put, self.start = self._queue.put, self._thread.start

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
        try:
            self._write_backlog()
            self.journal.close_the_books()
        except ServiceError as error:
            self.tell(f"{len(self.backlog)} decisions could not be written: {_reason(error)}")

    def _take(self) -> list[Request]:
        batch = list(self._queue.get())
        while len(batch) < MOST_AT_ONCE:
            try:
                batch += self._queue.get_nowait()
            except queue.Empty:
                break
        self._stopping |= _STOP in batch
        return [each for each in batch if each is not _STOP]

    def _write(self, group: list[Request]) -> None:
        if self.away is not None:
            self._keep(group, StoreAwayError(self.away))
            return
        try:
            if isinstance(group[0], Job):
                self._do(group[0])
            else:
                self._transact(group)
        except _AWAY as error:
            self.away = str(error)
            self.metrics.store_away(True)
            self.tell(f"the database is away: {_reason(error)}")
            self._keep(group, error)
        except Exception as error:  # noqa: BLE001 - one bad request must not stop the others
            if len(group) == 1:
                self.tell(f"a request could not be written: {error!r}")
                self.answer([(group[0].done, error)])
            else:
                for each in group:
                    self._write([each])

    def _do(self, job: Job) -> None:
        try:
            with self.journal.transaction():
                if job.about is not None and job.about not in self.journal.keepers:
                    raise UnknownModelError(job.about)
                result = job.function(self.journal.store)
            job.then(result)
        except _AWAY:
            if job.settles is not None:
                self.journal.following.unheard.add(job.settles)
            raise
        except Exception as error:  # noqa: BLE001 - whoever asked is told
            result = error
        self.answer([(job.done, result)])

    def _transact(self, group: list[Request]) -> None:
        started = time.monotonic()
        if self.journal.appended(group):
            self.answer([(each.done, True) for each in group])
            self.metrics.committed(len(group), time.monotonic() - started)
            return
        result = self.journal.transact(group)
        if result.answers:
            self.answer(result.answers)
        self._observe(result, time.monotonic() - started)
        # A refresh that was in the background is saved with whatever is written next.
        for model in list(result.learnt or self.journal.keepers):
            self.journal.snapshot(model)

    def _observe(self, result: Result, seconds: float) -> None:
        self.metrics.committed(result.written, seconds)
        for model, status in result.statuses:
            self.metrics.fed_back(model, status)
        for model, arm, clicked, outcome in result.outcomes:
            self.metrics.resolved(model, arm, clicked=clicked, expired=outcome == "expired")
        for model in result.learnt:
            keeper = self.journal.keepers[model]
            self.metrics.applied(model, keeper.head)
            self.metrics.lagged(model, keeper.learning.lag)
            failure = keeper.learning.failure
            if failure is not None and model not in self._failed:
                self._failed.add(model)
                self.tell(f"model {model!r} stopped learning, a restart goes on: {failure!r}")

    def _keep(self, group: list[Request], error: ServiceError) -> None:
        """Decisions wait for the database; everything else may be repeated by whoever asked."""
        for each in group:
            if isinstance(each, Write):
                self.backlog.keep(each)
        self.metrics.backlog(len(self.backlog))
        self.answer([(each.done, not isinstance(each, Write) and error) for each in group])

    def _reconnect(self) -> None:
        """Try until the database is back, putting aside what comes meanwhile."""
        pause = _FIRST_PAUSE
        while self.away is not None and not self._stopping:
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
            while not self._queue.empty():
                self._keep(self._take(), StoreAwayError(self.away))
            try:
                self.journal.reopen()
                self._write_backlog()
            except Exception as error:  # noqa: BLE001 - whatever it is, decisions go on
                self.away = str(error) if isinstance(error, ServiceError) else UNUSABLE_NOW
                continue
            self.metrics.store_away(False)
            self.away = None
            self.tell("the database is back")

    def _write_backlog(self) -> None:
        self.backlog.write(self.journal.transact)
        self.metrics.backlog(len(self.backlog))


def _reason(error: ServiceError) -> str:
    """With what the database itself said, for the log."""
    return getattr(error, "detail", "") or str(error)


def _groups(batch: list[Request]) -> list[list[Request]]:
    """What can share a transaction: a job by itself, everything between two of them together."""
    groups: list[list[Request]] = []
    for is_job, some in groupby(batch, lambda each: isinstance(each, Job)):
        together = list(some)
        groups += [[each] for each in together] if is_job else [together]
    return groups
