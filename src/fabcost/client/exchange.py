"""What is done for one call, step by step: the same for blocking and asynchronous clients."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, NamedTuple, TypeVar

import numpy as np

from fabcost.client.call import Call, Reply, failure
from fabcost.client.errors import ClientError
from fabcost.client.retries import Retries

T = TypeVar("T")

#: Answers after which another attempt may succeed.
PASSING = frozenset({429, 502, 503, 504})
#: Of those, what is sent before anything is done; with 503 a server may also have run out of time.
REFUSED = frozenset({429})


class Send(NamedTuple):
    """Send the request of a call; give back a `Reply`, or a `Lost` if there is none.

    Examples
    --------
    >>> Send(Call("GET", "/readyz", lambda reply: None), 10.0).timeout
    10.0
    """

    call: Call[Any]
    timeout: float


class Pause(NamedTuple):
    """Wait; give back None.

    Examples
    --------
    >>> Pause(0.5)
    Pause(seconds=0.5)
    """

    seconds: float


class Lost(NamedTuple):
    """No answer; ``sent`` unless it is certain that the server has not seen the request.

    Examples
    --------
    >>> Lost(sent=True, why="ReadTimeout")
    Lost(sent=True, why='ReadTimeout')
    """

    sent: bool
    why: str


Step = Send | Pause
Event = Reply | Lost | None


def exchange(
    call: Call[T],
    retries: Retries,
    *,
    timeout: float,
    clock: Callable[[], float],
    rng: np.random.Generator,
) -> Generator[Step, Event, T]:
    """Steps for a driver to perform, ending with the answer or a `ClientError`.

    The deadline of ``retries`` does not count what the call itself may take.

    Examples
    --------
    >>> from fabcost.client.call import reader
    >>> call = Call("GET", "/v1/models", reader(dict))
    >>> rng = np.random.default_rng(7)
    >>> steps = exchange(call, Retries(), timeout=5.0, clock=lambda: 0.0, rng=rng)
    >>> next(steps).timeout
    5.0
    >>> steps.send(Reply(503, {"retry-after": "2"}, b""))
    Pause(seconds=2.0)
    >>> next(steps).timeout
    5.0
    >>> steps.send(Reply(200, {}, b"{}"))
    Traceback (most recent call last):
    StopIteration: {}
    """
    timeout = max(timeout, call.seconds)
    end = clock() + retries.deadline + retries.attempts * call.seconds
    attempt, maybe_done = 0, False
    while True:
        attempt += 1
        event = yield Send(call, max(0.001, min(timeout, end - clock())))
        if event is None:
            raise TypeError("Send was answered with None but must be with a Reply or a Lost")
        if isinstance(event, Reply) and _is_settled(call, event, maybe_done):
            return call.read(event)
        if _is_taken(event) and call.lookup is not None and maybe_done:
            call, attempt = call.lookup, 0
            continue
        pause = retries.pause(attempt, _asked_pause(event), rng)
        out_of_time = attempt >= retries.attempts or clock() + pause >= end
        if out_of_time or not _may_repeat(call, event):
            raise _error(event)
        maybe_done = maybe_done or _may_have_worked(event)
        yield Pause(pause)


def _is_settled(call: Call[Any], reply: Reply, maybe_done: bool) -> bool:
    return reply.status < 300 or (maybe_done and reply.status == call.done)


def _is_taken(event: Reply | Lost) -> bool:
    return isinstance(event, Reply) and event.status == 409


def _may_repeat(call: Call[Any], event: Reply | Lost) -> bool:
    harmless = call.repeatable or call.lookup is not None
    if isinstance(event, Lost):
        return harmless or not event.sent
    return event.status in (PASSING if harmless else REFUSED)


def _may_have_worked(event: Reply | Lost) -> bool:
    return event.sent if isinstance(event, Lost) else event.status not in REFUSED


def _error(event: Reply | Lost) -> ClientError:
    if isinstance(event, Lost):
        return ClientError("interrupted" if event.sent else "unreachable", event.why)
    return failure(event)


def _asked_pause(event: Reply | Lost) -> float:
    """Seconds of Retry-After; a date there, which this service never sends, asks for nothing."""
    if isinstance(event, Lost):
        return 0.0
    asked = event.headers.get("retry-after", "")
    return float(asked) if asked.isdecimal() else 0.0
