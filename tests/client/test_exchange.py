"""The steps of an exchange: what is repeated, after which pauses, and when it ends."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

import httpx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabcost.client import NEVER, Client, ClientError, ModelSettings, Retries
from fabcost.client.calls import log_of
from fabcost.client.exchange import ClientCall, Lost, encoded, exchange
from fabcost.wire.messages import TRANSFER_SECONDS, ModelAnswer
from tests.client.recorder import call_of

Event = httpx.Response | Lost


def replied(status: int, content: bytes = b"", retry_after: str | None = None) -> httpx.Response:
    headers = {} if retry_after is None else {"retry-after": retry_after.encode()}
    return httpx.Response(status, headers=headers, content=content)  # type: ignore[arg-type]


ANSWERED_LATE = Lost(sent=True, why="ReadTimeout")
REFUSED_CONNECTION = Lost(sent=False, why="ConnectError")
BUSY = replied(503)
UNKNOWN = replied(404, b'{"error":{"code":"unknown_model","message":"there is no model"}}')
TAKEN = replied(409, b'{"error":{"code":"already_there","message":"there is a model"}}')
DONE = replied(204)
USUAL = Retries()
READY = call_of("wait_until_ready")


class Attempt(NamedTuple):
    call: ClientCall[Any]
    timeout: float


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
        self._left = list(events)
        try:
            self.answer = asyncio.run(self._play(call, retries))
        except ClientError as error:
            self.error = error

    async def _play(self, call: ClientCall[Any], retries: Retries) -> object:
        rng = np.random.default_rng(0)
        return await exchange(
            call, retries, line=self, timeout=5.0, clock=lambda: self.now, rng=rng
        )

    async def attempt(self, call: ClientCall[Any], timeout: float) -> Event:
        self.sent.append(Attempt(call, timeout))
        self.now += self._slow
        return self._left.pop(0)

    async def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


def model_answer(settings: ModelSettings) -> httpx.Response:
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
    return replied(200, encoded(answer))


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_passing_status_is_repeated(status: int) -> None:
    played = Played(READY, replied(status), DONE)
    assert played.error is None
    assert len(played.sent) == 2


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 409, 413, 422, 500])
def test_another_status_is_not_repeated(status: int) -> None:
    played = Played(READY, replied(status), DONE)
    assert played.error is not None
    assert played.error.status == status
    assert played.pauses == []


@pytest.mark.parametrize("lost", [ANSWERED_LATE, REFUSED_CONNECTION])
def test_every_attempt_sends_the_same_bytes(lost: Lost) -> None:
    answer = replied(200, b'{"decision_id": "d-1", "status": "applied"}')
    played = Played(call_of("feedback", "news", "d-1", 1.0), lost, BUSY, answer)
    assert played.error is None
    assert len({send.call.content for send in played.sent}) == 1
    assert b'"key":"' in (played.sent[0].call.content or b"")


def test_a_decision_has_an_id_before_it_is_sent() -> None:
    calls = [call_of("decide", "news", context={}) for _ in range(2)]
    assert calls[0].content != calls[1].content


def test_the_server_says_how_long_to_wait() -> None:
    played = Played(READY, replied(503, retry_after="7"), DONE)
    assert played.pauses == [7.0]


def test_a_pause_that_would_end_too_late_is_not_begun() -> None:
    busy = replied(503, retry_after="31")
    played = Played(READY, busy, DONE, retries=Retries(deadline=30.0))
    assert played.pauses == []
    assert played.error is not None


@pytest.mark.parametrize("asked", ["", "soon", "-1", "Wed, 21 Oct 2026 07:28:00 GMT", "1e9", "٣x"])
def test_a_strange_retry_after_asks_for_nothing(asked: str) -> None:
    played = Played(READY, replied(503, retry_after=asked), DONE)
    assert played.error is None
    assert played.pauses[0] <= 0.1


def test_attempts_are_counted() -> None:
    assert len(Played(READY, *[BUSY] * 9, retries=Retries(attempts=4)).sent) == 4
    assert len(Played(READY, BUSY, retries=NEVER).sent) == 1


def test_an_attempt_may_not_last_longer_than_the_whole() -> None:
    retries = Retries(attempts=100, first=1.0, longest=1.0, deadline=12.0)
    played = Played(READY, *[ANSWERED_LATE] * 99, retries=retries, slow=4.0)
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
    played = Played(READY, *[BUSY] * attempts, retries=retries)
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
        call_of("create_model", "news", settings),
        ANSWERED_LATE,
        TAKEN,
        BUSY,
        model_answer(settings),
    )
    assert isinstance(played.answer, ModelAnswer)
    assert [send.call.method for send in played.sent] == ["POST", "POST", "GET", "GET"]


def test_a_model_with_other_settings_is_somebody_elses() -> None:
    other = model_answer(ModelSettings(seed=9))
    played = Played(call_of("create_model", "news", ModelSettings()), ANSWERED_LATE, TAKEN, other)
    assert played.error is not None
    assert (played.error.code, played.error.status) == ("already_there", 409)


@pytest.mark.parametrize("before", [(), (REFUSED_CONNECTION,), (replied(429),)])
def test_a_creation_that_cannot_have_worked_is_not_looked_up(before: tuple[Event, ...]) -> None:
    played = Played(call_of("create_model", "news", ModelSettings()), *before, TAKEN)
    assert played.error is not None
    assert played.error.code == "already_there"
    assert {send.call.method for send in played.sent} == {"POST"}


@pytest.mark.parametrize(
    "call", [call_of("delete_model", "news"), call_of("delete_item", "news", "ad-1")]
)
def test_a_deletion_that_may_have_worked_is_done(call: ClientCall[Any]) -> None:
    assert Played(call, ANSWERED_LATE, UNKNOWN).error is None
    refused = Played(call, REFUSED_CONNECTION, UNKNOWN).error
    assert refused is not None
    assert refused.code == "unknown_model"
    assert Played(call, UNKNOWN).error is not None


@pytest.mark.parametrize("event", [ANSWERED_LATE, BUSY, replied(502), replied(504)])
def test_what_cannot_be_repeated_is_not(event: Event) -> None:
    played = Played(call_of("import_model", "news", b"file"), event, DONE)
    assert played.error is not None
    assert len(played.sent) == 1


@pytest.mark.parametrize("event", [REFUSED_CONNECTION, replied(429)])
def test_what_the_server_has_not_begun_is_repeated(event: Event) -> None:
    answer = model_answer(ModelSettings())
    assert Played(call_of("import_model", "news", b"file"), event, answer).error is None


def test_an_error_has_all_that_the_server_says() -> None:
    content = b'{"error":{"code":"unknown_model","message":"no model","request_id":"r-1"}}'
    error = Played(READY, replied(404, content)).error
    assert error is not None
    assert (error.code, error.message, error.status, error.request_id) == (
        "unknown_model",
        "no model",
        404,
        "r-1",
    )


def test_why_a_server_is_not_ready_is_told() -> None:
    content = b'{"status":"not ready","reason":"the database is away"}'
    error = Played(READY, replied(503, content), retries=NEVER).error
    assert error is not None
    assert (error.code, error.message) == ("not_ready", "the database is away")


@settings(deadline=None)
@given(content=st.binary(max_size=50), status=st.integers(400, 599))
def test_any_failure_is_an_error_of_the_client(content: bytes, status: int) -> None:
    error = Played(READY, replied(status, content), retries=NEVER).error
    assert error is not None
    assert error.status == status


@settings(deadline=None)
@given(content=st.binary(max_size=50))
def test_any_answer_that_is_not_understood_is_an_error_of_the_client(content: bytes) -> None:
    error = Played(call_of("feedback", "news", "d-1", 1.0, key="k"), replied(200, content)).error
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
    call_of("import_log", "news", b""),
    log_of("news", "jsonl"),
    call_of("export_model", "news"),
    call_of("put_items", "news", {"a": {"age": 3}}),
]
TOO_SLOW = replied(
    503, retry_after="1", content=b'{"error":{"code":"timeout","message":"no answer"}}'
)


@pytest.mark.parametrize("call", LONG, ids=lambda call: f"{call.method} {call.path}")
@pytest.mark.parametrize("late", [ANSWERED_LATE, TOO_SLOW], ids=["no answer", "503"])
def test_what_takes_a_server_long_is_waited_for_and_repeated(
    call: ClientCall[Any], late: Event
) -> None:
    """A server that has not come to the end in time has done a part, and goes on from there."""
    answer = replied(200, b'{"imported": 3, "version": 3}')
    played = Played(call, late, late, late, answer, slow=TRANSFER_SECONDS)
    assert played.error is None
    assert [step.timeout > TRANSFER_SECONDS for step in played.sent] == [True] * 4
    assert sum(played.pauses) < USUAL.deadline


def test_a_server_that_is_not_there_is_not_waited_for() -> None:
    played = Played(LONG[0], *[REFUSED_CONNECTION] * 6)
    assert played.error is not None
    assert (played.error.code, played.now < USUAL.deadline) == ("unreachable", True)
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return replied(200, b'{"imported": 0}')

    with Client("http://127.0.0.1", transport=httpx.MockTransport(answer)) as client:
        client.import_log("news", b"")
    assert sent[0].extensions["timeout"]["read"] > TRANSFER_SECONDS
    assert sent[0].extensions["timeout"]["connect"] == 10.0
