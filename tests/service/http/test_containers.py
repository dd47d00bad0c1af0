"""The Dockerfile and the compose file, read without an engine."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from fabcost.service.settings import Settings, load

ROOT = Path(__file__).resolve().parents[3]
INSTRUCTIONS = {
    *("FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE"),
    *("STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD"),
}


def instructions() -> list[tuple[str, str]]:
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if line and not line.startswith("#"))
    joined = re.sub(r"\\\n\s*", "", text)
    found = [line.partition(" ") for line in joined.splitlines()]
    return [(name, rest.strip()) for name, _, rest in found]


def last_stage() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, rest in instructions():
        if name == "FROM":
            found = {}
        found.setdefault(name, []).append(rest)
    return found


def environment() -> dict[str, str]:
    (line,) = last_stage()["ENV"]
    return dict(pair.split("=", 1) for pair in shlex.split(line))


def compose() -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8")))


def test_instructions_are_known() -> None:
    assert {name for name, _ in instructions()} <= INSTRUCTIONS


def test_images_are_pinned() -> None:
    stages = [rest.split() for name, rest in instructions() if name == "FROM"]
    images = [
        image for image, *_ in stages if not any(["AS", image] == each[1:] for each in stages)
    ]
    images += [each["image"] for each in compose()["services"].values() if "build" not in each]
    for image in images:
        assert re.fullmatch(r"\w+:\d+(\.\d+)?(-[\w.]+)+@sha256:[0-9a-f]{64}", image), image


def test_what_is_copied_exists_and_is_not_ignored() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    copied = [rest.split() for name, rest in instructions() if name == "COPY"]
    for *sources, _ in (each for each in copied if not each[0].startswith("--from")):
        for source in sources:
            assert (ROOT / source).exists(), source
            assert f"!{source}" in ignored, source


def test_it_does_not_run_as_root() -> None:
    stage = last_stage()
    assert stage["USER"] == ["10001"]
    order = [name for name, _ in instructions()]
    assert order.index("USER") < order.index("ENTRYPOINT")


@pytest.mark.parametrize("name", ["ENTRYPOINT", "CMD", "VOLUME"])
def test_commands_get_signals_themselves(name: str) -> None:
    """In the form of a list there is no shell in between."""
    (rest,) = last_stage()[name]
    assert isinstance(json.loads(rest), list)


def test_health_is_asked_at_the_port_that_is_served() -> None:
    stage, settings = last_stage(), load({}, environment()).settings
    (health,) = stage["HEALTHCHECK"]
    program = json.loads(health.partition("CMD ")[2])
    assert f"http://127.0.0.1:{settings.port}/healthz" in program[-1]
    compile(program[-1], "health", "exec")
    assert stage["EXPOSE"] == [str(settings.port)]
    assert stage["STOPSIGNAL"] == ["SIGTERM"]


def test_the_database_is_on_the_volume() -> None:
    (volume,) = json.loads(last_stage()["VOLUME"][0])
    assert Path(load({}, environment()).settings.database).is_relative_to(volume)


def test_the_password_is_not_written_down() -> None:
    services = compose()["services"]
    given = services["postgres"]["environment"]["POSTGRES_PASSWORD"]
    assert re.fullmatch(r"\$\{POSTGRES_PASSWORD:\?[^}]+\}", given)
    assert f"://fabcost:{given}@" in services["fabcost"]["environment"]["FABCOST_DATABASE"]
    assert not [name for name in environment() if re.search("PASSWORD|SECRET|KEY", name)]


def test_compose_names_what_exists() -> None:
    written = compose()
    services = written["services"]
    for service in services.values():
        for other, wanted in service.get("depends_on", {}).items():
            assert wanted["condition"] == "service_healthy"
            assert "healthcheck" in services[other]
        for volume in service.get("volumes", []):
            assert volume.partition(":")[0] in written["volumes"]


def test_compose_sets_what_can_be_set() -> None:
    service = compose()["services"]["fabcost"]
    settings = load({}, {**environment(), **service["environment"]}).settings
    assert settings.database.startswith("postgresql://")
    host, outer, inner = service["ports"][0].split(":")
    assert (host, int(inner)) == ("127.0.0.1", settings.port)
    assert outer
    grace = int(service["stop_grace_period"].removesuffix("s"))
    assert grace > Settings().shutdown_seconds
