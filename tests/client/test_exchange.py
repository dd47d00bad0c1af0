"""The steps of an exchange: what is repeated, after which pauses, and when it ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabcost.client import NEVER, ClientError, ModelSettings, Retries
from fabcost.client.calls import (
    create_model,
    decide,
    delete_item,
    delete_model,
    export_log,
    export_model,
    feedback,
    import_log,
    import_model,
    put_items,
    ready,
)
from fabcost.client.encoding import encoded
from fabcost.client.exchange import Attempt, ClientCall, Event, Lost, Pause, Reply, exchange
from fabcost.client.http import Address
from fabcost.wire.messages import TRANSFER_SECONDS, ModelAnswer

ANSWERED_LATE = Lost(sent=True, why="ReadTimeout")
REFUSED_CONNECTION = Lost(sent=False, why="ConnectError")
BUSY = Reply(503, {}, b"")
UNKNOWN = Reply(404, {}, b'{"error":{"code":"unknown_model","message":"there is no model"}}')
TAKEN = Reply(409, {}, b'{"error":{"code":"already_there","message":"there is a model"}}')
DONE = Reply(204, {}, b"")
USUAL = Retries()


class Played:
    """An exchange with these events, in which only pauses take time."""

    def __init__(
        self, call: ClientCall[Any], *events: Event, retries: Retries = USUAL, slow: float = 0.0
    ) -> None:
        self.now = 0.0
        self.sent: list[Attempt] = []
        self.pauses: list[float] = []
        self.answer: object = None
        self.error: ClientError | None = None
        self._slow = slow
        self._play(call, list(events), retries)

    def _play(self, call: ClientCall[Any], events: list[Event], retries: Retries) -> None:
        rng = np.random.default_rng(0)
        steps = exchange(call, retries, timeout=5.0, clock=lambda: self.now, rng=rng)
        event: Event = None
        try:
            while True:
                step = steps.send(event)
                event = self._perform(step, events)
        except StopIteration as done:
            self.answer = done.value
        except ClientError as error:
            self.error = error
        self.left = events

    def _perform(self, step: Attempt | Pause, events: list[Event]) -> Event:
        if isinstance(step, Pause):
            self.pauses.append(step.seconds)
            self.now += step.seconds
            return None
        self.sent.append(step)
        self.now += self._slow
        return events.pop(0)


def model_answer(settings: ModelSettings) -> Reply:
    answer = ModelAnswer(
        name="news",
        settings=settings,
        created=0.0,
        edited=0.0,
        weights=1,
        items=0,
        impressions=0,
        posterior_version="0",
    )
    return Reply(200, {}, encoded(answer))


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_passing_status_is_repeated(status: int) -> None:
    played = Played(ready(), Reply(status, {}, b""), DONE)
    assert played.error is None
    assert len(played.sent) == 2


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 409, 413, 422, 500])
def test_another_status_is_not_repeated(status: int) -> None:
    played = Played(ready(), Reply(status, {}, b""), DONE)
    assert played.error is not None
    assert played.error.status == status
    assert played.pauses == []


@pytest.mark.parametrize("lost", [ANSWERED_LATE, REFUSED_CONNECTION])
def test_every_attempt_sends_the_same_bytes(lost: Lost) -> None:
    answer = Reply(200, {}, b'{"decision_id": "d-1", "status": "applied"}')
    played = Played(feedback("news", "d-1", 1.0, None), lost, BUSY, answer)
    assert played.error is None
    assert len({send.call.content for send in played.sent}) == 1
    assert b'"key":"' in (played.sent[0].call.content or b"")


def test_a_decision_has_an_id_before_it_is_sent() -> None:
    calls = [decide("news", context={}) for _ in range(2)]
    assert calls[0].content != calls[1].content


def test_the_server_says_how_long_to_wait() -> None:
    played = Played(ready(), Reply(503, {"retry-after": "7"}, b""), DONE)
    assert played.pauses == [7.0]


def test_a_pause_that_would_end_too_late_is_not_begun() -> None:
    busy = Reply(503, {"retry-after": "31"}, b"")
    played = Played(ready(), busy, DONE, retries=Retries(deadline=30.0))
    assert played.pauses == []
    assert played.error is not None


@pytest.mark.parametrize("asked", ["", "soon", "-1", "Wed, 21 Oct 2026 07:28:00 GMT", "1e9", "٣x"])
def test_a_strange_retry_after_asks_for_nothing(asked: str) -> None:
    played = Played(ready(), Reply(503, {"retry-after": asked}, b""), DONE)
    assert played.error is None
    assert played.pauses[0] <= 0.1


def test_attempts_are_counted() -> None:
    assert len(Played(ready(), *[BUSY] * 9, retries=Retries(attempts=4)).sent) == 4
    assert len(Played(ready(), BUSY, retries=NEVER).sent) == 1


def test_an_attempt_may_not_last_longer_than_the_whole() -> None:
    retries = Retries(attempts=100, first=1.0, longest=1.0, deadline=12.0)
    played = Played(ready(), *[ANSWERED_LATE] * 99, retries=retries, slow=4.0)
    assert played.error is not None
    assert played.error.code == "interrupted"
    assert [send.timeout for send in played.sent][:2] == [5.0, 5.0]
    assert played.sent[-1].timeout < 5.0


@settings(deadline=None)
@given(
    first=st.floats(0.001, 10.0),
    longest=st.floats(0.001, 10.0),
    deadline=st.floats(0.01, 100.0),
    attempts=st.integers(1, 50),
)
def test_pauses_grow_to_the_longest_and_end_before_the_deadline(
    first: float, longest: float, deadline: float, attempts: int
) -> None:
    retries = Retries(attempts, first, longest, deadline)
    played = Played(ready(), *[BUSY] * attempts, retries=retries)
    assert sum(played.pauses) < deadline
    for place, pause in enumerate(played.pauses):
        backoff = min(longest, first * 2.0**place)
        assert 0.5 * backoff <= pause <= backoff


def test_clients_that_failed_together_do_not_return_together() -> None:
    rng = np.random.default_rng(0)
    pauses = {Retries().pause(3, 0.0, rng) for _ in range(100)}
    assert len(pauses) == 100


def test_a_creation_that_may_have_worked_is_looked_up() -> None:
    settings = ModelSettings(holdback=0.05, schema={"features": {}, "bias": True})
    played = Played(
        create_model("news", settings), ANSWERED_LATE, TAKEN, BUSY, model_answer(settings)
    )
    assert isinstance(played.answer, ModelAnswer)
    assert [send.call.method for send in played.sent] == ["POST", "POST", "GET", "GET"]


def test_a_model_with_other_settings_is_somebody_elses() -> None:
    other = model_answer(ModelSettings(seed=9))
    played = Played(create_model("news", ModelSettings()), ANSWERED_LATE, TAKEN, other)
    assert played.error is not None
    assert (played.error.code, played.error.status) == ("already_there", 409)


@pytest.mark.parametrize("before", [(), (REFUSED_CONNECTION,), (Reply(429, {}, b""),)])
def test_a_creation_that_cannot_have_worked_is_not_looked_up(before: tuple[Event, ...]) -> None:
    played = Played(create_model("news", ModelSettings()), *before, TAKEN)
    assert played.error is not None
    assert played.error.code == "already_there"
    assert {send.call.method for send in played.sent} == {"POST"}


@pytest.mark.parametrize("call", [delete_model("news"), delete_item("news", "ad-1")])
def test_a_deletion_that_may_have_worked_is_done(call: ClientCall[Any]) -> None:
    assert Played(call, ANSWERED_LATE, UNKNOWN).error is None
    refused = Played(call, REFUSED_CONNECTION, UNKNOWN).error
    assert refused is not None
    assert refused.code == "unknown_model"
    assert Played(call, UNKNOWN).error is not None


@pytest.mark.parametrize("event", [ANSWERED_LATE, BUSY, Reply(502, {}, b""), Reply(504, {}, b"")])
def test_what_cannot_be_repeated_is_not(event: Event) -> None:
    played = Played(import_model("news", b"file"), event, DONE)
    assert played.error is not None
    assert len(played.sent) == 1


@pytest.mark.parametrize("event", [REFUSED_CONNECTION, Reply(429, {}, b"")])
def test_what_the_server_has_not_begun_is_repeated(event: Event) -> None:
    answer = model_answer(ModelSettings())
    assert Played(import_model("news", b"file"), event, answer).error is None


def test_an_error_has_all_that_the_server_says() -> None:
    content = b'{"error":{"code":"unknown_model","message":"no model","request_id":"r-1"}}'
    error = Played(ready(), Reply(404, {}, content)).error
    assert error is not None
    assert (error.code, error.message, error.status, error.request_id) == (
        "unknown_model",
        "no model",
        404,
        "r-1",
    )


def test_why_a_server_is_not_ready_is_told() -> None:
    content = b'{"status":"not ready","reason":"the database is away"}'
    error = Played(ready(), Reply(503, {}, content), retries=NEVER).error
    assert error is not None
    assert (error.code, error.message) == ("not_ready", "the database is away")


@settings(deadline=None)
@given(content=st.binary(max_size=50), status=st.integers(400, 599))
def test_any_failure_is_an_error_of_the_client(content: bytes, status: int) -> None:
    error = Played(ready(), Reply(status, {}, content), retries=NEVER).error
    assert error is not None
    assert error.status == status


@settings(deadline=None)
@given(content=st.binary(max_size=50))
def test_any_answer_that_is_not_understood_is_an_error_of_the_client(content: bytes) -> None:
    error = Played(feedback("news", "d-1", 1.0, "k"), Reply(200, {}, content)).error
    assert error is not None
    assert error.code == "unexpected_answer"


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"attempts": 0}, "attempts is 0 but must be at least 1"),
        ({"first": 0.0}, "first is 0.0 but must be above 0"),
        ({"deadline": float("nan")}, "deadline is nan but must be above 0"),
    ],
)
def test_retries_that_mean_nothing_are_refused(wrong: dict[str, float], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Retries(**wrong)  # type: ignore[arg-type]


LONG: list[ClientCall[Any]] = [
    import_log("news", "jsonl", b""),
    export_log("news", "jsonl"),
    export_model("news"),
    *put_items("news", {"a": {"age": 3}}),
]
TOO_SLOW = Reply(503, {"retry-after": "1"}, b'{"error":{"code":"timeout","message":"no answer"}}')


@pytest.mark.parametrize("call", LONG, ids=lambda call: f"{call.method} {call.path}")
@pytest.mark.parametrize("late", [ANSWERED_LATE, TOO_SLOW], ids=["no answer", "503"])
def test_what_takes_a_server_long_is_waited_for_and_repeated(
    call: ClientCall[Any], late: Reply | Lost
) -> None:
    """A server that has not come to the end in time has done a part, and goes on from there."""
    answer = Reply(200, {}, b'{"imported": 3, "version": 3}')
    played = Played(call, late, late, late, answer, slow=TRANSFER_SECONDS)
    assert played.error is None
    assert [step.timeout > TRANSFER_SECONDS for step in played.sent] == [True] * 4
    assert sum(played.pauses) < USUAL.deadline


def test_a_server_that_is_not_there_is_not_waited_for() -> None:
    played = Played(LONG[0], *[REFUSED_CONNECTION] * 6)
    assert played.error is not None
    assert (played.error.code, played.now < USUAL.deadline) == ("unreachable", True)
    given = Address("http://127.0.0.1", None).request(played.sent[0])
    assert given["timeout"].read > TRANSFER_SECONDS
    assert given["timeout"].connect == 10.0
