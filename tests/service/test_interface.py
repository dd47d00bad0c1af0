"""Whatever version 0.1.0 offered is there: URLs, settings, metrics, commands and their options."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabcost.service.settings import Settings
from tests.service.http.serving import running
from tests.service.http.waiting import wait_for_the_database
from tests.service.interface import interface

BEFORE = json.loads(Path(__file__).with_name("interface.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def now(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    database = str(tmp_path_factory.mktemp("interface") / "new.db")
    with running(Settings(database=database)) as server:
        wait_for_the_database(server)
        with server.client() as http:
            return interface(http)


@pytest.mark.parametrize("subject", ["urls", "metrics"])
def test_what_a_server_tells_is_as_it_was(now: dict[str, Any], subject: str) -> None:
    found = {name: now[subject].get(name) for name in BEFORE[subject]}
    assert found == BEFORE[subject]


@pytest.mark.parametrize("subject", ["settings", "model settings"])
def test_settings_are_there(now: dict[str, Any], subject: str) -> None:
    assert set(BEFORE[subject]) <= set(now[subject])


def test_commands_are_there(now: dict[str, Any]) -> None:
    for name, options in BEFORE["commands"].items():
        assert set(options.split()) <= set(now["commands"][name].split()), name
