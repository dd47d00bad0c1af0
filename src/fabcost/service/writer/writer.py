"""The writer as the event loop sees it: requests in, answers out."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from fabcost.service.metrics import Metrics
from fabcost.service.store.store import Store
from fabcost.service.writer.journal import Journal, Relisted
from fabcost.service.writer.requests import Answers, Awaiting, Count, Job, Request, Write
from fabcost.service.writer.thread import Backlog, WriterThread
from fabcost.wire.errors import StoreAwayError, UnknownModelError

T = TypeVar("T")


class Writer:
    """Has requests written in groups, and answers when they are durable and learnt.

    While the database is away, decisions are answered at once and kept in memory; anything else
    is a `StoreAwayError`.

    Parameters
    ----------
    journal
        From `start` on the thread's own; others change it through `call` only.
    metrics
        Told what happens.
    tell
        Told in words when the database goes away and comes back; never fails.
    backlog
        Decisions that may wait for the database unheard; those beyond are not written at all.
    """

    def __init__(
        self, journal: Journal, *, metrics: Metrics, tell: Callable[[str], object], backlog: int
    ) -> None:
        self.journal = journal
        #: Told of a catalogue that is not what the loop was told before.
        self.relist: Callable[[Relisted], object] = id
        #: Grows whenever the database has answered.
        self.settled = 0
        #: Requests so far.
        self.submitted = 0
        self._loop = asyncio.get_running_loop()
        self._metrics = metrics
        self._gathered: list[Request] = []
        self._backlog = Backlog(backlog, tell)
        self._thread = WriterThread(
            journal,
            self._backlog,
            metrics=metrics,
            tell=tell,
            answer=lambda answers: self._loop.call_soon_threadsafe(self._settle, answers),
            relist=lambda found: self._loop.call_soon_threadsafe(self._relist, found),
        )

    @property
    def away(self) -> str | None:
        """Why the database cannot be written; None if it can."""
        return self._thread.away

    @property
    def unwritten(self) -> int:
        """Decisions that were answered but not written yet."""
        return len(self._backlog)

    @property
    def lost(self) -> int:
        """Decisions that were answered and will never be written, for want of room."""
        return self._backlog.lost

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    async def stop(self) -> None:
        """Write what was submitted, and end."""
        self.hand_over()
        await asyncio.to_thread(self._thread.stop)

    def submit(self, request: Request) -> None:
        """Write soon; ``request.done`` is answered in the loop.

        While the database is away decisions are answered at once, and everything else fails.
        """
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
    ) -> T:
        """Do it in a transaction.

        As it is durable, ``then`` may change what the thread knows, and ``show`` what the loop
        knows: in the order of the transactions, and also if whoever asked waits no longer.
        """
        done: asyncio.Future[T] = self._loop.create_future()
        done.add_done_callback(partial(_show, show))
        self.submit(Job(function, done, then))
        return await asyncio.shield(done)

    async def call_about(
        self,
        model: str,
        function: Callable[[Store], T],
        then: Callable[[T], object] = id,
        show: Callable[[T], object] = id,
    ) -> T:
        """`call` for a model, which may have been deleted when its turn comes."""

        def if_there(store: Store) -> T:
            if not self.journal.has(model):
                raise UnknownModelError(model)
            return function(store)

        return await self.call(if_there, then, show)

    async def count(self) -> None:
        """See to it that the counts have all decisions that were answered, if the database can."""
        done: asyncio.Future[None] = self._loop.create_future()
        self.submit(Count(done))
        with contextlib.suppress(StoreAwayError):
            await done

    def put_aside(self, write: Write) -> None:
        """Answer a decision from memory, and write it when that is possible, if there is room."""
        if self._backlog.admit(write):
            self._gather(write)
        write.done.set_result(False)
        self._metrics.backlog(self.unwritten)

    def give_up(self, done: Awaiting) -> None:
        """Answer a decision of the queue from memory: the database keeps it waiting for long."""
        self._backlog.queued(done)
        done.set_result(False)
        self._metrics.backlog(self.unwritten)

    def hand_over(self) -> None:
        """Give the thread what was submitted; the loop does so at the end of each turn."""
        if self._gathered:
            self._thread.put(self._gathered)
            self._gathered = []

    def _gather(self, request: Request) -> None:
        self.submitted += 1
        # What comes in the same turn of the loop goes together: the thread is woken once.
        if not self._gathered:
            self._loop.call_soon(self.hand_over)
        self._gathered.append(request)

    def _settle(self, answers: Answers) -> None:
        self.settled += 1
        if sum(self._backlog.heard(done) for done, _ in answers):
            self._metrics.backlog(self.unwritten)
        for done, result in answers:
            if done.done():
                continue
            try:
                if isinstance(result, Exception):
                    done.set_exception(result)
                else:
                    done.set_result(result)
            except Exception as error:  # noqa: BLE001 - the others wait for their answers too
                told = {"message": "an answer could not be given", "exception": error}
                self._loop.call_exception_handler(told)

    def _relist(self, found: Relisted) -> None:
        # What was answered before is shown one turn of the loop after that.
        self._loop.call_soon(self.relist, found)


def _show(show: Callable[[T], object], done: asyncio.Future[T]) -> None:
    if not done.cancelled() and done.exception() is None:
        show(done.result())
