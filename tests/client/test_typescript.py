"""The client in TypeScript by itself: what it repeats, how long it waits, and what it keeps."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser

from fabcost.client import ClientError
from tests.client import speaking
from tests.client.typescript import Speaker, TypeScriptClient

chromium, package = speaking.chromium, speaking.package
origin, speaker = speaking.origin, speaking.speaker
SILENCE = "silence"
DONE = {"status": 200, "body": '{"decision_id": "d", "status": "applied"}'}
BUSY = {"status": 503}
FEEDBACK = ("feedback", "d-1", 1)

Play = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def node(speaker: Callable[[str], Speaker]) -> TypeScriptClient:
    return TypeScriptClient(speaker("node"), "http://none.example", "fp_x_y")


@pytest.fixture(scope="module")
def play(node: TypeScriptClient) -> Play:
    """A call to which events happen, in which only pauses and attempts without answer take time."""

    def played(*events: Any, call: tuple[Any, ...] = FEEDBACK, **options: Any) -> dict[str, Any]:
        method, *given = call
        asked = {"events": events, "options": options, "method": method, "given": given}
        found: dict[str, Any] = node.ask("m", "played", asked)
        return found

    return played


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_passing_status_is_repeated_with_the_same_bytes(play: Play, status: int) -> None:
    played = play({"status": status}, DONE)
    assert played["value"]["status"] == "applied"
    first, second = played["sent"]
    assert first["body"] == second["body"]
    assert (len(played["waits"]), played["pending"]) == (1, 0)
    assert 50 <= played["waits"][0] <= 100


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 409, 413, 422, 500])
def test_another_status_is_not_repeated(play: Play, status: int) -> None:
    played = play({"status": status}, DONE)
    assert played["error"] == {"code": "unexpected_answer", "status": status}
    assert (len(played["sent"]), played["waits"]) == (1, [])
    assert played["pending"] == int(status not in (400, 413, 415, 422))


def test_the_server_says_how_long_to_wait(play: Play) -> None:
    assert play({"status": 429, "retryAfter": "7"}, DONE)["waits"] == [7_000]


def test_a_pause_that_would_end_too_late_is_not_begun(play: Play) -> None:
    busy = {"status": 503, "retryAfter": "31"}
    played = play(busy, DONE, retries={"deadline": 30_000})
    assert (played["waits"], played["error"]["status"]) == ([], 503)


@pytest.mark.parametrize("asked", ["", "soon", "-1", "Wed, 21 Oct 2026 07:28:00 GMT", "1e9"])
def test_a_strange_retry_after_asks_for_nothing(play: Play, asked: str) -> None:
    played = play({"status": 503, "retryAfter": asked}, DONE)
    assert "value" in played
    assert played["waits"][0] <= 100


def test_attempts_are_counted_and_pauses_grow(play: Play) -> None:
    played = play(*[BUSY] * 9, retries={"attempts": 5, "first": 100, "longest": 400})
    assert len(played["sent"]) == 5
    for pause, longest in zip(played["waits"], (100, 200, 400, 400), strict=True):
        assert longest / 2 <= pause <= longest


def test_an_attempt_may_not_last_longer_than_the_whole(play: Play) -> None:
    retries = {"attempts": 100, "first": 1_000, "longest": 1_000, "deadline": 12_000}
    played = play(*[SILENCE] * 99, timeout=5_000, retries=retries)
    assert played["error"]["code"] == "interrupted"
    timeouts = [each["timeout"] for each in played["sent"]]
    assert timeouts[:2] == [5_000, 5_000]
    assert timeouts[-1] < 5_000
    assert played["now"] <= 12_000


@pytest.mark.parametrize(("given", "limit"), [({}, 1_000), ({"timeLimit": 300}, 300)])
def test_a_fallback_is_there_in_time(play: Play, given: dict[str, int], limit: int) -> None:
    played = play(SILENCE, call=("decide", {"fallback": "ad-1", **given}))
    assert (played["value"]["item"], played["value"]["arm"]) == ("ad-1", "fallback")
    assert played["now"] == limit


@contextlib.contextmanager
def silent() -> Iterator[str]:
    """A server that accepts connections and never answers; its address."""
    with socket.create_server(("127.0.0.1", 0), backlog=16) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize("where", ["node", "chromium"])
def test_a_server_that_never_answers_is_given_up(speaker: Any, where: str) -> None:
    with silent() as address:
        client = TypeScriptClient(speaker(where), address, "fp_x_y")
        found = client.ask("m", "attempt", {"fallback": "ad-1", "timeLimit": 300})
    assert found["decision"]["arm"] == "fallback"
    assert 290 <= found["milliseconds"] < 5_000


def test_memory_keeps_the_latest_only(node: TypeScriptClient) -> None:
    assert node.ask("m", "kept", 990) == {"pending": 990, "oldest": "d-0"}
    assert node.ask("m", "kept", 1_010) == {"pending": 1_000, "oldest": "d-10"}


def test_values_that_are_no_numbers_are_refused_before_any_is_kept(node: TypeScriptClient) -> None:
    sound, wrong = {"decision_id": "d-1"}, {"decision_id": "d-2", "value": float("inf")}
    with pytest.raises(ClientError, match="value is Infinity but must be finite"):
        node.ask("bulk", "feedbackBulk", [sound, wrong])
    assert node.ask("bulk", "pending") == 0


SEEING = """async (options) => {
    const { Client } = await import('/dist/index.js');
    window.sent = [];
    const fetch = async (_, init) => {
        window.sent.push(JSON.parse(init.body).decision_id);
        return new Response('{"activated": true}');
    };
    const client = new Client({ ...options, fetch });
    const [above, ad] = document.querySelectorAll('p');
    const hidden = document.body.appendChild(document.createElement('p'));
    hidden.hidden = true;
    client.whenSeen(ad, 'of the ad', { duration: 20 });
    client.whenSeen(hidden, 'of the hidden', { duration: 20 });
    client.whenSeen(above, 'of a glance', { duration: 2 ** 30 });
    client.whenSeen(above, 'of what is above', { duration: 300 });
}"""


def test_what_is_not_in_view_is_not_seen(chromium: Browser, origin: str) -> None:
    """Nor what is hidden, nor what is in view for too short; what is scrolled to is."""
    page = chromium.new_page()
    page.goto(origin)
    page.evaluate(SEEING, {"url": "http://none.example", "model": "m"})
    page.wait_for_function("window.sent.length > 0")
    assert page.evaluate("window.sent") == ["of what is above"]
    page.locator("#ad").scroll_into_view_if_needed()
    page.wait_for_function("window.sent.length > 1")
    assert page.evaluate("window.sent") == ["of what is above", "of the ad"]
    page.close()
