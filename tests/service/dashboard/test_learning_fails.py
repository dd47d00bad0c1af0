"""The page when a model has stopped learning."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from fabcost import FabCost
from tests.service.dashboard.adverts import adverts
from tests.service.dashboard.conftest import settings_for
from tests.service.dashboard.visitor import Visitor
from tests.service.http.serving import running


def _no_room(*_: object) -> None:
    raise MemoryError


def test_it_says_so(chromium: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(settings_for(tmp_path / "bandit.db")) as server, adverts(server.address) as site:
        site.make_model("cars")
        site.live_through("cars", decisions=6)
        with Visitor.arriving(chromium, site.url) as visitor:
            state = visitor.page.locator("#state")
            expect(state).to_contain_text("Learner: up to date")
            monkeypatch.setattr(FabCost, "observe_many", _no_room)
            site.live_through("cars", decisions=3)
            expect(state).to_contain_text("Learner: stopped, restart the server", timeout=20_000)
            assert visitor.faults == []
