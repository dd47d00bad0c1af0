"""Bodies and paths as no client would send them: never a server's error, never a trace."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import httpx
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from fabcost.service.personalizer import parse
from fabcost.service.personalizer.contract import STATUS
from tests.examples import examples
from tests.service.personalizer.serving import Served

fuzzed = settings(
    max_examples=examples(100),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

junk = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**40), 10**40)
    | st.floats(allow_nan=True)
    | st.sampled_from(["", "a", "\x00", "é", "a" * 1001, "_x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["", "a", "b", "_x", "id"]), inner, max_size=3)
    ),
    max_leaves=6,
)
# Few names and strings, so that the schema does not grow without end.
features = st.lists(
    st.dictionaries(
        st.sampled_from(["taste", "price", "_hidden", "drink"]),
        st.sampled_from([None, True, 0.5, 3, "sweet", [1.0, 2], {"level": 1}]) | junk,
        max_size=2,
    )
    | junk,
    max_size=2,
)
names = st.sampled_from(["a", "b", "c", "d/e", "é"])
actions = st.lists(
    st.fixed_dictionaries({"id": names | junk}, optional={"features": features | junk}),
    max_size=4,
)
ranks = st.fixed_dictionaries(
    {"actions": actions | junk},
    optional={
        "contextFeatures": features | junk,
        "excludedActions": st.lists(names) | junk,
        "eventId": st.text(max_size=3) | junk,
        "deferActivation": st.booleans() | junk,
    },
)
configurations = st.dictionaries(
    st.sampled_from(
        [
            "rewardWaitTime",
            "defaultReward",
            "rewardAggregation",
            "explorationPercentage",
            "modelExportFrequency",
            "logRetentionDays",
            "learningMode",
        ]
    ),
    st.sampled_from(["PT5M", "PT0S", "P9D", "sum", "Apprentice", -1, 0, 0.5, 1, 2]) | junk,
    max_size=3,
)
# Clients take "." and ".." out of a path; Rank refuses such events.
events = (st.text(min_size=1, max_size=5) | st.sampled_from(["e-1", "a" * 257])).filter(
    lambda event: event not in (".", "..")
)
garbage = st.binary(max_size=40) | junk.map(lambda value: json.dumps(value).encode())


def check(served: Served, method: str, url: str, body: bytes) -> httpx.Response:
    """A clear answer, and no change if it is a refusal."""
    before = served.state()
    answer = served.http.request(method, url, content=body)
    assert answer.status_code < 500, (method, url, body, answer.text)
    if answer.status_code >= 400:
        error = answer.json()["error"]
        assert error["message"]
        assert answer.headers["x-ms-error-code"] == error["code"]
        assert answer.status_code in {STATUS[error["code"]], 405}
        assert served.state() == before
    return answer


def encoded(value: Any) -> bytes:
    return json.dumps(value).encode()


@fuzzed
@given(body=ranks.map(encoded) | garbage)
def test_rank(served: Served, body: bytes) -> None:
    answer = check(served, "POST", "/news/personalizer/v1.0/rank", body)
    if answer.status_code == 201:
        sent, found = json.loads(body), answer.json()
        if sent.get("eventId") is None:
            ids = [each["id"] for each in found["ranking"]]
            assert sorted(ids) == sorted(each["id"] for each in sent["actions"])
            assert abs(sum(each["probability"] for each in found["ranking"]) - 1.0) < 1e-9


@fuzzed
@given(
    event=events,
    operation=st.sampled_from(["reward", "activate"]),
    body=st.fixed_dictionaries({"value": st.floats(-2, 2) | junk}).map(encoded) | garbage,
)
def test_reward_and_activate(served: Served, event: str, operation: str, body: bytes) -> None:
    served.rank(eventId="e-1", deferActivation=True)
    url = f"/personalizer/events/{quote(event, safe='', errors='replace')}/{operation}"
    answer = check(served, "POST", url, body)
    assert answer.status_code in (204, 400)


@fuzzed
@given(
    method=st.sampled_from(["PUT", "PATCH"]),
    body=configurations.map(encoded) | garbage,
)
def test_configuration(served: Served, method: str, body: bytes) -> None:
    check(served, method, "/news/personalizer/configurations/service", body)


@fuzzed
@given(
    method=st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]),
    prefix=st.sampled_from(["", "/news", "/a b", "/tenants/x/models/m", "/v1/models/m"]),
    rest=st.text(max_size=10)
    | st.sampled_from(["rank", "v1.0/rank", "status", "model", "events//reward", "logs/x"]),
    body=garbage,
)
def test_other_paths(served: Served, method: str, prefix: str, rest: str, body: bytes) -> None:
    url = f"{prefix}/personalizer/{quote(rest, errors='replace')}"
    assume(parse(httpx.URL(url).path) is not None)  # ".." takes parts of a path away
    check(served, method, url, body)
