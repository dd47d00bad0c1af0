"""The pictures of the architecture show what is there: layers, imports, and ways through."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from studies.handbook import architecture, docstrings, flows

import fabcost
from fabcost.service.settings import Settings
from tests.docs.pages import DOCS, ROOT
from tests.service.http.serving import Running

ARROW = re.compile(r'data-from="([\w.]+)" data-to="([\w.]+)"')
ROOM = re.compile(r'<g data-room="([\w.]+)"><rect x="[\d.]+" y="([\d.]+)"')
CONTRACTS = [architecture.THE_WHOLE, architecture.THE_SERVICE]


def reaches(start: str, end: str, arrows: set[tuple[str, str]]) -> bool:
    return any(b == end or reaches(b, end, arrows) for a, b in arrows if a == start)


@pytest.mark.parametrize("contract", CONTRACTS)
def test_arrows_are_imports_and_every_import_follows_from_them(contract: str) -> None:
    drawn = set(ARROW.findall(architecture.picture(contract)))
    rooms = [room for layer in architecture.layers(contract) for room in layer]
    graph = architecture.graph()
    assert drawn
    for a in rooms:
        for b in set(rooms) - {a}:
            real = graph.direct_import_exists(importer=a, imported=b, as_packages=True)
            assert real or (a, b) not in drawn, f"{a} does not import {b}"
            assert not real or reaches(a, b, drawn), f"{a} imports {b}, which is not drawn"


@pytest.mark.parametrize("contract", CONTRACTS)
def test_rooms_stand_in_the_order_of_their_layers(contract: str) -> None:
    heights = {room: float(y) for room, y in ROOM.findall(architecture.picture(contract))}
    layers = architecture.layers(contract)
    assert list(heights) == [room for layer in layers for room in layer]
    for above, below in pairwise(layers):
        assert len({heights[room] for room in above}) == 1
        assert heights[above[0]] < heights[below[0]]


def test_the_picture_has_every_room() -> None:
    top = {f"fabcost.{path.stem}" for path in (ROOT / "src" / "fabcost").iterdir()} - {
        "fabcost.__init__",
        "fabcost.__pycache__",
        "fabcost.py",
    }
    assert top == {room for row in architecture.layers(architecture.THE_WHOLE) for room in row}


@pytest.mark.parametrize("flow", flows.ALL, ids=lambda flow: flow.name)
def test_steps_of_a_way_follow_imports(flow: flows.Flow) -> None:
    graph = architecture.graph()
    for step in flow.steps:
        asks, asked = (step.end, step.start) if step.back else (step.start, step.end)
        assert graph.direct_import_exists(importer=asks, imported=asked, as_packages=True), step
    assert len(ARROW.findall(flows.picture(flow))) == len(flow.steps)


@pytest.mark.parametrize("page", ["glossary.md", "architecture.md"])
def test_names_exist(page: str) -> None:
    text = (DOCS / "explanation" / page).read_text(encoding="utf-8")
    names = set(re.findall(r"`(fabcost(?:\.\w+)+)`", text))
    for name in names:
        assert docstrings.found(name) is not None
    assert page != "glossary.md" or len(names) > 10


class Trace:
    """The rooms whose functions are called, in any thread, while it is on."""

    def __init__(self, rooms: list[str]) -> None:
        self._rooms = rooms
        self._homes: dict[str, str | None] = {}
        self.entered: set[str] = set()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            module = frame.f_globals.get("__name__", "")
            if module not in self._homes:
                self._homes[module] = self._home(module)
            if (home := self._homes[module]) is not None:
                self.entered.add(home)

    def _home(self, module: str) -> str | None:
        homes = (room for room in self._rooms if f"{module}.".startswith(f"{room}."))
        # What lies directly in the folder, and is no layer of its own, is the service's.
        direct = re.fullmatch(r"fabcost\.service\.\w+", module)
        return next(homes, flows.SERVICE if direct else None)


@contextmanager
def traced(rooms: list[str]) -> Iterator[Trace]:
    trace = Trace(rooms)
    threading.setprofile(trace)
    sys.setprofile(trace)
    try:
        yield trace
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def walk(act: Callable[[], Any], flow: flows.Flow) -> set[str]:
    with traced(flow.rooms) as trace:
        act()
    return trace.entered


def test_a_start_a_decision_and_feedback_enter_the_rooms_that_are_drawn(tmp_path: Path) -> None:
    settings = Settings(database=str(tmp_path / "bandit.db"), request_seconds=120.0)
    model = {"name": "ads", "settings": {"seed": 7}}
    asked = {"decision_id": "a", "candidates": {"x": {"make": "kia"}, "y": {"make": "ford"}}}
    first = Running(settings)
    first.start()
    with first.client() as client:
        client.post("/v1/models", json=model).raise_for_status()
        client.post("/v1/models/ads/decisions", json=asked).raise_for_status()
        client.post("/v1/models/ads/feedback", json={"decision_id": "a", "value": 1})
    first.stop()

    rooms = [room for flow in flows.ALL for room in flow.rooms]
    with traced(rooms) as trace:  # threads that start here are traced to their end
        server = Running(settings)
        server.start()
        started = set(trace.entered)
        with server.client() as client:
            trace.entered.clear()
            client.post("/v1/models/ads/decisions", json={**asked, "decision_id": "b"})
            decided = set(trace.entered)
            trace.entered.clear()
            given = {"decision_id": "b", "value": 1}
            client.post("/v1/models/ads/feedback", json=given).raise_for_status()
            learnt = set(trace.entered)
        server.stop()
    assert set(flows.START.rooms) <= started
    assert set(flows.DECISION.rooms) <= decided
    assert set(flows.FEEDBACK.rooms) <= learnt
    # A decision learns nothing and loads nothing.
    assert "fabcost.service.server" not in decided


def test_observe_enters_the_rooms_that_are_drawn() -> None:
    learner = fabcost.FabCost(fabcost.Gaussian.isotropic(2, variance=1.0))
    rng = np.random.default_rng(0)

    def act() -> None:
        learner.observe_many(rng.normal(size=(20, 2)), rng.random(20) < 0.5)
        learner.posterior.predict([[1.0, 1.0]])

    # What is compiled is no Python, and not seen from here.
    assert walk(act, flows.OBSERVE) | {flows.KERNELS} == set(flows.OBSERVE.rooms)
