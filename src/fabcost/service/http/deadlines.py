"""Requests that take too long are given up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import NamedTuple

from fabcost.service.http.answer import Answer
from fabcost.service.http.problem import CLOSE, RETRY_SOON, RefusedError
from fabcost.service.http.request import Incoming

_LOOK_EVERY_SECONDS = 0.25


class _Underway(NamedTuple):
    until: float
    seconds: float
    incoming: Incoming


class Deadlines:
    """Looks four times a second whose time is over.

    A timer for each request would cost several times as much as everything else here.
    """

    def __init__(self) -> None:
        self._underway: dict[asyncio.Task[object], _Underway] = {}
        self._overdue: dict[asyncio.Task[object], RefusedError] = {}
        self._looking: asyncio.TimerHandle | None = None

    async def within(
        self, seconds: float, incoming: Incoming, answering: Awaitable[Answer]
    ) -> Answer:
        """The answer, or an error if it takes longer."""
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        if task is None:
            raise RuntimeError("requests are answered in tasks")
        self._underway[task] = _Underway(loop.time() + seconds, seconds, incoming)
        if self._looking is None:
            self._looking = loop.call_later(_LOOK_EVERY_SECONDS, self._look, loop)
        try:
            return await answering
        except asyncio.CancelledError:
            if task not in self._overdue or task.uncancel() > 0:
                raise
            raise self._overdue[task] from None
        finally:
            del self._underway[task]
            if self._overdue:
                self._overdue.pop(task, None)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for task, each in self._underway.items():
            if each.until < now and task not in self._overdue:
                self._overdue[task] = _refusal(each)
                task.cancel()
        again = bool(self._underway)
        self._looking = loop.call_later(_LOOK_EVERY_SECONDS, self._look, loop) if again else None


def _refusal(late: _Underway) -> RefusedError:
    if late.incoming.waits_for_body:
        message = f"the body did not come within {late.seconds:g} s"
        return RefusedError(408, "too_slow", message, CLOSE)
    message = f"no answer within {late.seconds:g} s; what was asked for may still be done"
    return RefusedError(503, "timeout", message, RETRY_SOON)
