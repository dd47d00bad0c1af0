"""Decisions, what becomes of them, and the clock by which they are due."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count

import msgspec

from fabcost.service.models.model import Made, Model
from fabcost.service.store.rows import DecisionRecord, StoredDecision, record
from fabcost.service.telemetry import Metrics
from fabcost.service.writer.requests import Activate, Feed, Write
from fabcost.service.writer.writer import Writer, settle
from fabcost.wire.errors import (
    InvalidRequestError,
    StaleError,
    UnknownModelError,
    UnreadableModelError,
)
from fabcost.wire.messages import DecisionAnswer, DecisionRequest, FeedbackAnswer, FeedbackRequest

#: Tells the time.
Read = Callable[[], float]
#: Told the answer to a decision, or an error.
Finish = Callable[[DecisionAnswer | Exception], object]
#: Told, before that, of the decision that has its id already.
Repeated = Callable[[DecisionRecord], object]


class Clock:
    """Seconds since 1970 by the system's clock, but for when that is set back.

    Then time goes on from where it was at the pace of the monotonic clock until the system's
    clock has caught up, or `come_back`: deadlines come neither early nor in a different order.

    Examples
    --------
    >>> wall, steady = [1000.0], [0.0]
    >>> clock = Clock(wall=lambda: wall[0], steady=lambda: steady[0])
    >>> clock.now()
    1000.0
    >>> wall[0], steady[0] = 400.0, 5.0
    >>> clock.now(), clock.ahead
    (1005.0, 605.0)
    >>> clock.come_back()
    >>> clock.now()
    400.0
    """

    def __init__(self, *, wall: Read = time.time, steady: Read = time.monotonic) -> None:
        self._wall = wall
        self._steady = steady
        self._latest = wall()
        self._at = steady()

    def now(self) -> float:
        """The time."""
        at = self._steady()
        going_on = self._latest + max(at - self._at, 0.0)
        wall = self._wall()
        # A wall clock that is slewed stays behind the monotonic one by very little.
        self._latest = wall if wall >= self._latest else going_on
        self._at = at
        return self._latest

    @property
    def ahead(self) -> float:
        """Seconds by which this is later than the system's clock."""
        return max(self.now() - self._wall(), 0.0)

    def come_back(self) -> None:
        """Show the system's time again: nothing waits for a later one."""
        self._latest = self._wall()

    def not_before(self, moment: float) -> None:
        """Go on from ``moment``, which was written by a server before, if it is later."""
        self._latest = max(self._latest, moment)


@dataclass(frozen=True, eq=False)
class Models:
    """Those that are served, by name, and those that are not because they are unreadable."""

    served: dict[str, Model]
    unreadable: Mapping[str, Exception]

    def of(self, name: str) -> Model:
        """The model that decides, or an error."""
        model = self.served.get(name)
        if model is None:
            unreadable = name in self.unreadable
            raise UnreadableModelError(name) if unreadable else UnknownModelError(name)
        return model


@dataclass(eq=False)
class Decider:
    """Decides, and hears what became of it.

    The database has ``durable_within`` seconds to keep a decision; then it is answered from memory.
    With ``most_stale`` it is so at once, by what was known of the database so many seconds ago.
    """

    models: Models
    writer: Writer
    clock: Clock
    metrics: Metrics
    durable_within: float
    most_stale: float | None = None

    def __post_init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._own = secrets.token_hex(6)
        self._numbers = count()
        self._waiting: deque[PendingDecision] = deque()
        self._given_up_at: int | None = None

    async def decide(
        self, name: str, request: DecisionRequest, repeated: Repeated = id
    ) -> DecisionAnswer:
        """Choose an item, and answer when that is durable; see `DecisionRequest`.

        If its id is taken, ``repeated`` is told of the decision that has it.
        """
        done: asyncio.Future[DecisionAnswer] = self._loop.create_future()
        self.begin_to_decide(name, request, partial(settle, done), repeated)
        return await done

    def begin_to_decide(
        self, name: str, request: DecisionRequest, finish: Finish, repeated: Repeated = id
    ) -> None:
        """`decide` without waiting: ``finish`` is told the answer, or an error of the database."""
        if self.most_stale is not None and (reason := self.too_stale) is not None:
            raise StaleError(reason)
        model, now = self.models.of(name), self.clock.now()
        decision = request.decision_id or self.new_id(now)
        made = model.decide(request, decision, now)
        if made.row is None:
            self.metrics.decided(name, made.answer.arm, durable=None, entropy=None)
            finish(made.answer)
            return
        since = self._loop.time()
        pending = PendingDecision(name, made, finish, repeated, self.metrics, since)
        # Those that were answered go now, while their memory is still in the processor's cache.
        while self._waiting and self._waiting[0].done():
            self._waiting.popleft()
        self._waiting.append(pending)
        steps = model.new_steps()
        write = Write(made.row, steps, made.entropy, pending, model.steps_told, model.lineage)
        if self.stalled or self.most_stale is not None:
            self.writer.put_aside(write)
        else:
            self.writer.submit(write)

    async def feedback(
        self, name: str, requests: Sequence[FeedbackRequest]
    ) -> list[FeedbackAnswer]:
        """Learn what became of decisions; each is answered when that is durable."""
        settings, now = self.models.of(name).settings, self.clock.now()
        for each in requests if settings.values == "fraction" else ():
            try:
                settings.check_value(each.value)
            except ValueError as error:
                raise InvalidRequestError(f"decision {each.decision_id!r}: {error}") from error
        feeds = []
        for each in requests:
            key = (name, each.decision_id)
            feeds.append(Feed(key, each.value, each.key, now, self._loop.create_future()))
            self.writer.submit(feeds[-1])
        statuses = await asyncio.gather(*(each.done for each in feeds))
        return [
            FeedbackAnswer(each.decision_id, status)
            for each, status in zip(requests, statuses, strict=True)
        ]

    async def activate(self, name: str, decision_id: str) -> bool:
        """Let a deferred decision count; whether it was waiting for that."""
        self.models.of(name)
        request = Activate((name, decision_id), self.clock.now(), self._loop.create_future())
        self.writer.submit(request)
        return await request.done

    def new_id(self, now: float) -> str:
        """In the order of time, so that the newest lie together in the database."""
        return f"{int(now * 1000):012x}{next(self._numbers):08x}{self._own}"

    @property
    def stalled(self) -> bool:
        """Whether the database has not answered since it kept a decision waiting for too long."""
        return self._given_up_at == self.writer.settled

    @property
    def too_stale(self) -> str | None:
        """Why nothing is decided by what is known of the database; None if it is."""
        stale, most = self.writer.stale, self.most_stale
        if most is None or stale <= most:
            return None
        return f"what is known of the database is {stale:.1f} s old but must be at most {most:g} s"

    def stop_waiting(self) -> None:
        """Answer decisions from memory that the database has kept waiting for too long."""
        latest = self._loop.time() - self.durable_within
        while self._waiting and (self._waiting[0].done() or self._waiting[0].since < latest):
            pending = self._waiting.popleft()
            if not pending.done():
                self._given_up_at = self.writer.settled
                self.writer.give_up(pending)


@dataclass(eq=False, slots=True)
class PendingDecision:
    """Answers a decision as soon as it is told what became of writing it.

    It waits for that ``since`` a time of the loop; `Decider.begin_to_decide` has the others.
    """

    model: str
    made: Made
    finish: Finish
    repeated: Repeated
    metrics: Metrics
    since: float
    answered: bool = False

    def done(self) -> bool:
        """Whether it was answered."""
        return self.answered

    def set_result(self, written: StoredDecision | bool, /) -> None:
        """Answer, from memory if it is not durable, or as the decision that has its id."""
        self.answered = True
        if not isinstance(written, bool):
            found = record(written.record)
            self.repeated(found)
            self.finish(found.answer)
            return
        answer, entropy = self.made.answer, self.made.entropy
        self.metrics.decided(self.model, answer.arm, durable=written, entropy=entropy)
        self.finish(answer if written else msgspec.structs.replace(answer, durable=False))

    def set_exception(self, exception: Exception, /) -> None:
        """Answer that it could not be written."""
        self.answered = True
        self.finish(exception)
