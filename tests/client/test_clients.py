"""The blocking and the awaiting client do the same, on connections that fail as told."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, assert_type

import httpx
import numpy as np
import pytest

from fabcost.client import AsyncClient, Client, ClientError, ModelSettings, Retries
from fabcost.wire.messages import ModelAnswer

HERE = "http://server.test"
SOON = Retries(first=0.001, longest=0.002, deadline=5.0)
Handler = Callable[[httpx.Request], httpx.Response]
Use = Callable[..., Any]


def blocking(handler: Handler, method: str, *given: Any, **options: Any) -> Any:
    transport = httpx.MockTransport(handler)
    with Client(HERE, **{"retries": SOON, "transport": transport, **options}) as client:
        answer = getattr(client, method)(*given)
        return list(answer) if isinstance(answer, Iterator) else answer


def awaiting(handler: Handler, method: str, *given: Any, **options: Any) -> Any:
    async def use() -> Any:
        transport = httpx.MockTransport(handler)
        async with AsyncClient(HERE, **{"retries": SOON, "transport": transport, **options}) as c:
            answer = getattr(c, method)(*given)
            if inspect.isasyncgen(answer):
                return [piece async for piece in answer]
            return await answer

    return asyncio.run(use())


@pytest.fixture(params=[blocking, awaiting], ids=["blocking", "awaiting"])
def use(request: pytest.FixtureRequest) -> Use:
    chosen: Use = request.param
    return chosen


class Script:
    """Answers requests one by one with what is given, and keeps them."""

    def __init__(self, *events: httpx.Response | Exception) -> None:
        self.events = list(events)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        event = self.events.pop(0)
        if isinstance(event, Exception):
            raise event
        return event


def test_both_have_the_same_methods_and_arguments() -> None:
    for name, method in inspect.getmembers(Client, inspect.isfunction):
        if name.startswith("_"):
            continue
        other = getattr(AsyncClient, name)
        assert inspect.signature(method).parameters == inspect.signature(other).parameters
        assert method.__doc__ == other.__doc__


if TYPE_CHECKING:  # what callers see; read by the type checker

    async def types_of_answers(client: Client, other: AsyncClient) -> None:
        assert_type(client.model("news"), ModelAnswer)
        assert_type(await other.model("news"), ModelAnswer)
        assert_type(client.put_items("news", {}), int)
        assert_type(await other.put_items("news", {}), int)
        client.stats("news", minutes="60")  # type: ignore[arg-type]
        other.decide("news", context=3)  # type: ignore[arg-type, unused-coroutine]


@pytest.mark.parametrize(
    "failure",
    [
        lambda: httpx.ReadTimeout("slow"),
        lambda: httpx.ConnectError("refused"),
        lambda: httpx.RemoteProtocolError("closed"),
        lambda: httpx.Response(503, headers={"Retry-After": "0"}),
        lambda: httpx.Response(502, text="<html>"),
    ],
)
def test_feedback_is_repeated_with_the_same_key(
    use: Use, failure: Callable[[], httpx.Response | Exception]
) -> None:
    applied = httpx.Response(200, json={"decision_id": "d-1", "status": "applied"})
    script = Script(failure(), applied)
    assert use(script, "feedback", "news", "d-1", 0.5).status == "applied"
    assert script.requests[0].content == script.requests[1].content
    assert b'"value":0.5' in script.requests[0].content


def test_a_creation_whose_answer_was_lost_is_found(use: Use) -> None:
    model = {
        "name": "news",
        "settings": {},
        "created": 0.0,
        "edited": 0.0,
        "weights": 1,
        "items": 0,
        "impressions": 0,
        "posterior_version": "0",
    }
    script = Script(
        httpx.ReadTimeout("slow"),
        httpx.Response(409, json={"error": {"code": "already_there", "message": "x"}}),
        httpx.Response(200, json=model),
    )
    assert use(script, "create_model", "news", ModelSettings()).name == "news"
    assert [request.method for request in script.requests] == ["POST", "POST", "GET"]


def test_the_key_is_sent_and_not_shown(use: Use) -> None:
    script = Script(httpx.Response(401, json={"error": {"code": "unauthorised", "message": "x"}}))
    with pytest.raises(ClientError) as caught:
        use(script, "models", key="fc_1_secret")
    assert script.requests[0].headers["authorization"] == "Bearer fc_1_secret"
    assert "secret" not in f"{caught.value!r} {caught.value}"
    assert "secret" not in repr(Client(HERE, "fc_1_secret"))


def test_a_redirect_is_not_followed(use: Use) -> None:
    script = Script(httpx.Response(307, headers={"location": "http://elsewhere.test/"}))
    with pytest.raises(ClientError, match="status 307"):
        use(script, "models", key="fc_1_secret")


def test_a_stream_comes_in_pieces(use: Use) -> None:
    script = Script(httpx.Response(503), httpx.Response(200, content=b"abc" * 10))
    assert b"".join(use(script, "export_log", "news", "dsjson")) == b"abc" * 10
    assert script.requests[1].url.params["format"] == "dsjson"


def test_a_stream_that_cannot_be_had_is_an_error(use: Use) -> None:
    problem = {"error": {"code": "unknown_model", "message": "no", "request_id": "r"}}
    with pytest.raises(ClientError) as caught:
        use(Script(httpx.Response(404, json=problem)), "export_log", "news")
    assert (caught.value.code, caught.value.request_id) == ("unknown_model", "r")


def test_waiting_ends(use: Use) -> None:
    def away(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    with pytest.raises(ClientError) as caught:
        use(away, "wait_until_ready", 0.2)
    assert (caught.value.code, caught.value.status) == ("unreachable", None)


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_wrong_settings_are_refused(kind: type[Client] | type[AsyncClient]) -> None:
    with pytest.raises(ValueError, match="must begin with http:// or https://"):
        kind("server.test")
    with pytest.raises(ValueError, match="timeout is 0 but must be above 0"):
        kind(HERE, timeout=0)


def test_the_jitter_comes_from_the_given_source() -> None:
    rng = np.random.default_rng(3)
    state = rng.bit_generator.state
    script = Script(httpx.Response(503), httpx.Response(200, json={"models": []}))
    assert blocking(script, "models", rng=rng) == []
    assert rng.bit_generator.state != state
