"""Decisions, and what becomes of them."""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count

import msgspec

from fabcost.service.clock import Clock
from fabcost.service.metrics import Metrics
from fabcost.service.models.model import Made
from fabcost.service.models.registry import Registry
from fabcost.service.store.record import DecisionRecord, record
from fabcost.service.store.rows import StoredDecision
from fabcost.service.writer.requests import Activate, Feed, Write
from fabcost.service.writer.writer import Writer
from fabcost.wire.messages import DecisionAnswer, DecisionRequest, FeedbackAnswer, FeedbackRequest

#: Told the answer to a decision, or an error.
Finish = Callable[[DecisionAnswer | Exception], object]
#: Told, before that, of the decision that has its id already.
Repeated = Callable[[DecisionRecord], object]


@dataclass(eq=False)
class Decider:
    """Decides, and hears what became of it.

    The database has ``durable_within`` seconds to keep a decision; then it is answered from memory.
    """

    registry: Registry
    writer: Writer
    clock: Clock
    metrics: Metrics
    durable_within: float

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
        self.begin_to_decide(name, request, partial(_settle, done), repeated)
        return await done

    def begin_to_decide(
        self, name: str, request: DecisionRequest, finish: Finish, repeated: Repeated = id
    ) -> None:
        """`decide` without waiting: ``finish`` is told the answer, or an error of the database."""
        model, now = self.registry.of(name), self.clock.now()
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
        write = Write(made.row, model.new_steps(), made.entropy, pending)
        if self.stalled:
            self.writer.put_aside(write)
        else:
            self.writer.submit(write)

    async def feedback(
        self, name: str, requests: Sequence[FeedbackRequest]
    ) -> list[FeedbackAnswer]:
        """Learn what became of decisions; each is answered when that is durable."""
        self.registry.of(name)
        now = self.clock.now()
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
        self.registry.of(name)
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


def _settle(done: asyncio.Future[DecisionAnswer], result: DecisionAnswer | Exception) -> None:
    """Tell whoever still waits."""
    if done.done():
        return
    if isinstance(result, Exception):
        done.set_exception(result)
    else:
        done.set_result(result)
