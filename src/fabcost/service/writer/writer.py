"""The writer: one thread, one connection, one transaction for all that is waiting."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from fabcost.service.writer.backlog import Backlog
from fabcost.service.writer.journal import Ledger, Relisted
from fabcost.service.writer.observer import Observer
from fabcost.service.writer.requests import (
    Activate,
    Awaiting,
    Call,
    Feed,
    Request,
    Write,
)
from fabcost.service.writer.transaction import Result, model_of, without_models
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


class Writer:
    """Writes what is submitted, in groups, and answers when it is durable and learnt.

    While the database is away, decisions are answered at once and kept in memory; anything else
    is a `StoreAwayError`.

    Parameters
    ----------
    ledger
        From `start` on the writer's own; others change it through `Call` only.
    loop
        Where the answers are awaited.
    observer
        Told what happens.
    tell
        Told in words when the database goes away and comes back.
    backlog
        Decisions that may wait for the database unheard; those beyond are not written at all.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        loop: asyncio.AbstractEventLoop,
        observer: Observer,
        tell: Callable[[str], object],
        backlog: int,
    ) -> None:
        self.ledger = ledger
        #: Told, in the loop, of a catalogue that is not what it was told before.
        self.relist: Callable[[Relisted], object] = id
        self.away: str | None = None
        #: Grows whenever the database has answered.
        self.settled = 0
        #: Requests so far.
        self.submitted = 0
        self._loop = loop
        self._observer = observer
        self._tell = partial(tell_quietly, tell)
        self._queue: queue.SimpleQueue[list[Any]] = queue.SimpleQueue()
        self._gathered: list[Request] = []
        self._backlog = Backlog(backlog, self._tell)
        self._failed: set[str] = set()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)

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

    def submit(self, request: Request) -> None:
        """Write soon; ``request.done`` is answered in the loop.

        While the database is away decisions are answered at once, and everything else fails.
        """
        if self.away is None:
            self._gather(request)
        elif isinstance(request, Write):
            self.put_aside(request)
        else:
            request.done.set_exception(StoreAwayError(self.away))

    def put_aside(self, write: Write) -> None:
        """Answer a decision from memory, and write it when that is possible, if there is room."""
        if self._backlog.admit(write):
            self._gather(write)
        write.done.set_result(False)
        self._observer.backlog(self.unwritten)

    def give_up(self, done: Awaiting) -> None:
        """Answer a decision of the queue from memory: the database keeps it waiting for long."""
        self._backlog.queued(done)
        done.set_result(False)
        self._observer.backlog(self.unwritten)

    def _gather(self, request: Request) -> None:
        self.submitted += 1
        # What comes in the same turn of the loop goes together: the thread is woken once.
        if not self._gathered:
            self._loop.call_soon(self.hand_over)
        self._gathered.append(request)

    def hand_over(self) -> None:
        """Give the thread what was submitted; the loop does so at the end of each turn."""
        if self._gathered:
            self._queue.put(self._gathered)
            self._gathered = []

    def stop(self) -> None:
        """Write what was handed over and end; blocks."""
        self._queue.put([_STOP])
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping:
            batch = self._take()
            for group in _groups(batch):
                self._write(group)
            if self.away is not None and not self._stopping:
                self._reconnect()
        self._finish()

    def _finish(self) -> None:
        try:
            self._write_backlog()
            self.ledger.close_the_books()
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
            if isinstance(group[0], Call):
                self._call(group[0])
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

    def _call(self, request: Call) -> None:
        try:
            with self.ledger.store.transaction():
                result = request.function(self.ledger.store)
            request.then(result)
        except _AWAY:
            raise
        except Exception as error:  # noqa: BLE001 - whoever asked is told
            self._answer([(request.done, error)])
            return
        self._answer([(request.done, result)])

    def _append(self, group: list[Request]) -> bool:
        started = time.monotonic()
        if not self.ledger.appended(group):
            return False
        self._answer([(each.done, True) for each in group])
        self._observer.committed(len(group), time.monotonic() - started)
        return True

    def _transact(self, group: list[Request]) -> None:
        started = time.monotonic()
        about_models = [each for each in group if isinstance(each, Write | Feed | Activate)]
        gone = without_models(about_models, self.ledger.keepers)
        if gone:
            group = [each for each in group if all(each is not one for one in gone)]
            self._answer([(each.done, UnknownModelError(model_of(each))) for each in gone])
        result = self.ledger.transact(group)
        self._answer(result.answers)
        self._observe(result, time.monotonic() - started)
        # A refresh that was in the background is saved with whatever is written next.
        for model in list(result.learnt or self.ledger.keepers):
            self.ledger.snapshot(model)

    def _observe(self, result: Result, seconds: float) -> None:
        self._observer.committed(result.written, seconds)
        for model, status in result.statuses:
            self._observer.fed_back(model, status)
        for model in result.learnt:
            keeper = self.ledger.keepers[model]
            self._observer.applied(model, keeper.head)
            self._observer.lagged(model, keeper.learning.lag)
            self._tell_of_failure(model, keeper.learning.failure)

    def _tell_of_failure(self, model: str, failure: Exception | None) -> None:
        if failure is not None and model not in self._failed:
            self._failed.add(model)
            self._tell(f"model {model!r} stopped learning, a restart goes on: {failure!r}")

    def _answer(self, answers: list[tuple[Awaiting, Any]]) -> None:
        if answers:
            self._loop.call_soon_threadsafe(self._settle, answers)

    def _settle(self, answers: list[tuple[Awaiting, Any]]) -> None:
        self.settled += 1
        if sum(self._backlog.heard(done) for done, _ in answers):
            self._observer.backlog(self.unwritten)
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

    def _keep(self, group: list[Request], error: ServiceError) -> None:
        """Decisions wait for the database; everything else may be repeated by whoever asked."""
        answers: list[tuple[Awaiting, Any]] = []
        for each in group:
            if isinstance(each, Write):
                self._backlog.keep(each)
                answers.append((each.done, False))
            else:
                answers.append((each.done, error))
        self._observer.backlog(self.unwritten)
        self._answer(answers)

    def _go_away(self, error: ServiceError) -> None:
        self.away = str(error)
        self._observer.store_away(True)
        self._tell(f"the database is away: {_reason(error)}")

    def _reconnect(self) -> None:
        """Try until the database is back, putting aside what comes meanwhile."""
        pause = _FIRST_PAUSE
        while self.away is not None and not self._stopping:
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
            waiting = self._drained()
            self._keep(waiting, StoreAwayError(self.away))
            try:
                self._show(self.ledger.reopen())
                self._write_backlog()
            except Exception as error:  # noqa: BLE001 - whatever it is, decisions go on
                self.away = str(error) if isinstance(error, ServiceError) else _UNUSABLE
                continue
            self._observer.store_away(False)
            self.away = None
            self._tell("the database is back")

    def _show(self, relisted: list[Relisted]) -> None:
        for each in relisted:
            # What was answered before is shown one turn of the loop after that.
            again = partial(self._loop.call_soon, self.relist, each)
            self._loop.call_soon_threadsafe(again)

    def _drained(self) -> list[Request]:
        drained: list[Request] = []
        while not self._queue.empty():
            drained.extend(self._take())
        return drained

    def _write_backlog(self) -> None:
        self._backlog.write(self.ledger)
        self._observer.backlog(self.unwritten)


def _reason(error: ServiceError) -> str:
    """With what the database itself said, for the log."""
    return getattr(error, "detail", "") or str(error)


def tell_quietly(tell: Callable[[str], object], message: str) -> None:
    """Telling may fail, as on a disk that is full; writing goes on."""
    with contextlib.suppress(Exception):
        tell(message)


def _groups(batch: list[Request]) -> list[list[Request]]:
    """What can share a transaction: a call of its own each, everything between together."""
    groups: list[list[Request]] = []
    together = False
    for each in batch:
        if isinstance(each, Call) or not together:
            groups.append([each])
        else:
            groups[-1].append(each)
        together = not isinstance(each, Call)
    return groups
