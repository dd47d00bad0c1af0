"""The OpenAPI document is valid, complete, and what the server does."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, seed, settings
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from fabcost.service.http.openapi import document
from fabcost.service.http.routes import operations
from fabcost.service.settings import Settings
from tests.service.http import story
from tests.service.http.serving import Running

DOCUMENT = document(operations(Settings()))
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
SCHEMA.config.generation.update(
    modes=[GenerationMode.POSITIVE, GenerationMode.NEGATIVE], with_security_parameters=False
)
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
SESSION = requests.Session()
CANDIDATES = {"a": {"x": 1}, "b": {"x": 2}}


def documented() -> list[tuple[str, str]]:
    return [(method, path) for path, methods in DOCUMENT["paths"].items() for method in methods]


def test_is_valid() -> None:
    validate(DOCUMENT)


def test_is_served(http: httpx.Client) -> None:
    assert http.get("/openapi.json").json() == DOCUMENT


def test_names_are_unique() -> None:
    names = [DOCUMENT["paths"][path][method]["operationId"] for method, path in documented()]
    assert len(names) == len(set(names))


def test_every_operation_says_what_it_does() -> None:
    for method, path in documented():
        assert DOCUMENT["paths"][path][method]["summary"].endswith((".", ";", "ones too."))


def test_limits_are_documented() -> None:
    decision = DOCUMENT["components"]["schemas"]["DecisionRequest"]["properties"]
    (inline,) = (each for each in decision["candidates"]["anyOf"] if each["type"] == "object")
    assert inline["maxProperties"] == Settings().candidates
    assert decision["context"]["maxProperties"] == Settings().features


@pytest.mark.parametrize(("method", "path"), documented())
def test_every_documented_operation_exists(http: httpx.Client, method: str, path: str) -> None:
    """What is unknown is an unknown thing, not an unknown path."""
    filled = re.sub(r"\{\w+\}", "absent", path)
    answer = http.request(method, filled)
    error = answer.json().get("error", {}) if answer.status_code >= 400 else {}
    assert error.get("code") not in {"not_found", "wrong_method", "internal"}


def contents(operation: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What is sent and what is answered, by media type."""
    success = next(told for code, told in operation["responses"].items() if code[0] == "2")
    sent = operation.get("requestBody", {})
    return {"request": sent.get("content", {}), "answer": success.get("content", {})}


#: By operation: media types and schemas of what is sent and what is answered.
SHOWN = {
    DOCUMENT["paths"][path][method]["operationId"]: contents(DOCUMENT["paths"][path][method])
    for method, path in documented()
}


@pytest.mark.parametrize("name", sorted(SHOWN.keys() - {"get_document"}))
def test_examples_are_what_their_schemas_say(name: str) -> None:
    for kinds in SHOWN[name].values():
        for kind, content in kinds.items():
            if not kind.endswith(("octet-stream", "parquet")):
                schema = {**content["schema"], "components": DOCUMENT["components"]}
                Draft202012Validator(schema).validate(content["example"])


def keys(value: Any) -> Any:
    return sorted(value) if isinstance(value, dict) else type(value)


def test_examples_are_what_a_server_answers(http: httpx.Client) -> None:
    """``python -m tests.service.http.story FILE`` writes them anew, into examples.json."""
    found = {each.name: each.example for each in story.calls(http)}
    assert found.keys() == SHOWN.keys() - {"get_document"}
    for name, example in found.items():
        for part, given in example.items():
            told = [each["example"] for each in SHOWN[name][part].values() if "example" in each]
            assert [keys(each) for each in told] == [keys(given)] * len(told) != [], name


@pytest.fixture(scope="module")
def filled(server: Running) -> Running:
    """Things that generated requests can find."""
    with server.client() as http:
        http.post("/v1/models", json={"name": "0"}).raise_for_status()
        http.put("/v1/models/0/items", json={"items": {"0": {"x": 1}}}).raise_for_status()
        asked = {"decision_id": "0", "candidates": CANDIDATES}
        http.post("/v1/models/0/decisions", json=asked).raise_for_status()
    return server


@SCHEMA.exclude(path="/v1/models/{model}", method="DELETE").parametrize()
@seed(17)
@settings(
    max_examples=20,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_generated_requests(case: schemathesis.Case[Any], filled: Running) -> None:
    if "model" in case.path_parameters:
        case.path_parameters["model"] = "0"
    answer = case.call(base_url=filled.address, session=SESSION)
    case.validate_response(answer, checks=CHECKS)
