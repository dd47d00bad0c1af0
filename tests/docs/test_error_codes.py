"""The errors in docs/how-to/service.md are every code that the service answers, and no other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from fabcost.service.http.exchange import refusal
from fabcost.wire import errors

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "how-to" / "service.md"
HTTP = ROOT / "src" / "fabcost" / "service" / "http"

Pair = tuple[int, str]


def of_the_guide() -> set[Pair]:
    """A row has one status for all its codes, or one for each."""
    text = GUIDE.read_text(encoding="utf-8")
    found: set[Pair] = set()
    for line in text[text.index("\n## Errors\n") :].splitlines():
        if row := re.match(r"\| ([\d, ]+) \| ([^|]+) \|", line):
            statuses = [int(each) for each in row[1].split(",")]
            codes = re.findall(r"`(\w+)`", row[2])
            many = statuses * len(codes) if len(statuses) == 1 else statuses
            found |= set(zip(many, codes, strict=True))
    return found


def of_the_service() -> set[Pair]:
    """Errors of the service, as HTTP tells them."""
    kinds = [each for each in vars(errors).values() if isinstance(each, type)]
    # Only the most special kinds are raised.
    own = [each for each in kinds if issubclass(each, errors.ServiceError)]
    told = [refusal(kind.__new__(kind)) for kind in own if not kind.__subclasses__()]
    return {(each.status, each.code) for each in told}


def refusals(source: str) -> Iterator[Pair]:
    """Statuses and codes with which a source text refuses."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("RefusedError"):
            status, code = node.args[:2]
            if isinstance(status, ast.Constant) and isinstance(code, ast.Constant):
                yield int(str(status.value)), str(code.value)
            else:
                # How errors of the service are told, which `of_the_service` covers.
                assert (ast.unparse(status), ast.unparse(code)) == (
                    "error.http_status",
                    "error.code",
                )


def of_http() -> set[Pair]:
    sources = [each.read_text(encoding="utf-8") for each in HTTP.rglob("*.py")]
    return {pair for source in sources for pair in refusals(source)}


def test_the_table_has_every_code_and_no_other() -> None:
    assert of_the_guide() == of_the_service() | of_http()


def test_codes_are_found() -> None:
    assert (404, "unknown_model") in of_the_service()
    assert {(503, "busy"), (404, "unknown_key"), (500, "internal")} <= of_http()
    assert set(refusals('raise problem.RefusedError(418, "teapot", "no")')) == {(418, "teapot")}


def test_every_error_of_the_service_has_a_status_of_its_own() -> None:
    assert (500, "internal") not in of_the_service()
