"""Decisions, and what becomes of them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Any

from fabcost.service.core import Core
from fabcost.service.writer.pending import Finish, PendingDecision, Repeated
from fabcost.service.writer.requests import Activate, Feed, Write
from fabcost.wire.messages import (
    DecisionAnswer,
    DecisionRequest,
    FeedbackAnswer,
    FeedbackRequest,
)


class Deciding(Core):
    """Decides, and hears what became of it.

    Parameters
    ----------
    durable_within
        Seconds that the database has to keep a decision; then it is answered from memory.
    **parts
        Of `Core`.
    """

    def __init__(self, *, durable_within: float, **parts: Any) -> None:
        super().__init__(**parts)
        self._durable_within = durable_within
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
        model, now = self._model(name), self.clock.now()
        decision = request.decision_id or self._new_id(now)
        made = model.decide(request, decision, now)
        if made.row is None:
            self.metrics.decided(name, made.answer.arm, durable=None, entropy=None)
            finish(made.answer)
            return
        pending = PendingDecision(
            name, made, finish, metrics=self.metrics, since=self._loop.time(), repeated=repeated
        )
        # Those that were answered go now, while their memory is still in the processor's cache.
        while self._waiting and self._waiting[0].done():
            self._waiting.popleft()
        self._waiting.append(pending)
        write = Write(made.row, model.new_steps(), made.entropy, pending)
        if self._stalled:
            self._writer.put_aside(write)
        else:
            self._writer.submit(write)

    async def feedback(
        self, name: str, requests: Sequence[FeedbackRequest]
    ) -> list[FeedbackAnswer]:
        """Learn what became of decisions; each is answered when that is durable."""
        self._model(name)
        now = self.clock.now()
        feeds = []
        for each in requests:
            key = (name, each.decision_id)
            feeds.append(Feed(key, each.value, each.key, now, self._loop.create_future()))
            self._writer.submit(feeds[-1])
        statuses = await asyncio.gather(*(each.done for each in feeds))
        return [
            FeedbackAnswer(each.decision_id, status)
            for each, status in zip(requests, statuses, strict=True)
        ]

    async def activate(self, name: str, decision_id: str) -> bool:
        """Let a deferred decision count; whether it was waiting for that."""
        self._model(name)
        request = Activate((name, decision_id), self.clock.now(), self._loop.create_future())
        self._writer.submit(request)
        return await request.done

    def _stop_waiting(self) -> None:
        """Answer decisions from memory that the database has kept waiting for too long."""
        latest = self._loop.time() - self._durable_within
        while self._waiting and (self._waiting[0].done() or self._waiting[0].since < latest):
            pending = self._waiting.popleft()
            if not pending.done():
                self._given_up_at = self._writer.settled
                self._writer.give_up(pending)

    @property
    def _stalled(self) -> bool:
        """Whether the database has not answered since it kept a decision waiting for too long."""
        return self._given_up_at == self._writer.settled


def _settle(done: asyncio.Future[DecisionAnswer], result: DecisionAnswer | Exception) -> None:
    """Tell whoever still waits."""
    if done.done():
        return
    if isinstance(result, Exception):
        done.set_exception(result)
    else:
        done.set_result(result)
