"""Which model and operation a path is about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabcost.service.personalizer import ContractPath, parse

FAMILIES = ["", "/v1.0", "/v1.1-preview.1", "/v1.1-preview.2", "/v1.1-preview.3"]
PREFIXES = {
    "": "default",
    "/news": "news",
    "/models/news": "news",
    "/v1/models/news": "news",
    "/tenants/acme/models/news": "news",
    "/models/models": "models",
    "/models": "models",
    "/personalizer": "personalizer",
    "/models/personalizer": "personalizer",
    "/news/": "news",
    "/": "default",
}
segments = st.text(st.sampled_from("ab./ %é\n"), max_size=8)
words = st.sampled_from(["personalizer", "models", "events", "rank", "reward", "v1.0", "news"])
event_ids = st.lists(segments | words, min_size=1, max_size=6).map("/".join)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("prefix", "model"), PREFIXES.items())
def test_every_family_has_a_prefix_for_each_model(prefix: str, model: str, family: str) -> None:
    path = f"{prefix}/personalizer{family}/rank"
    assert parse(path) == ContractPath(model, "rank")


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/personalizer",
        "/rank",
        "/v1/models",
        "/v1/models/news/items/a/personalizer/rank",
        "/v1/models/news/decisions/models/other/personalizer/rank",
        "/v1/personalizer/rank",
        "/tenants/acme/personalizer/rank",
        "/xpersonalizer/rank",
    ],
)
def test_other_paths_are_not_of_the_contract(path: str) -> None:
    assert parse(path) is None


@given(event_ids)
def test_an_event_id_cannot_change_the_model(event: str) -> None:
    for prefix in ("/tenants/acme/models/news", "/news"):
        for what in ("reward", "activate"):
            found = parse(f"{prefix}/personalizer/v1.0/events/{event}/{what}")
            assert found == ContractPath("news", f"events/{{event}}/{what}", event)
            assert found.role("POST") == "feedback"


@pytest.mark.parametrize(
    "operation",
    [
        "reward",
        "events/reward",
        "events/e",
        "events/e/reward/",
        "rank/",
        "rank\n",
        "events/e/reward\n",
    ],
)
def test_what_is_almost_an_operation_is_none(operation: str) -> None:
    assert parse(f"/personalizer/{operation}") == ContractPath("default", operation)


@pytest.mark.parametrize(
    ("method", "operation", "role"),
    [
        ("POST", "rank", "decide"),
        ("POST", "multislot/rank", "decide"),
        ("POST", "events/rank/reward", "feedback"),
        ("POST", "multislot/events/e/activate", "feedback"),
        ("GET", "configurations/service", "read"),
        ("PUT", "configurations/service", "admin"),
        ("DELETE", "model", "admin"),
    ],
)
def test_an_operation_needs_a_role(method: str, operation: str, role: str) -> None:
    found = parse(f"/news/personalizer/{operation}")
    assert found is not None
    assert found.role(method) == role
