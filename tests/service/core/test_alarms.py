"""Alarms of a served model: those of its data, the same after a restart."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Awaitable, Callable
from functools import wraps
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from fabcost.recommend.alarms import Watch
from fabcost.service import upkeep
from fabcost.service.models.candidates import at_step, encoded
from fabcost.service.models.totals import _bounds, count_outcomes
from fabcost.service.models.views import Looked
from fabcost.service.service import Service
from fabcost.service.store.rows import Impression, impression
from fabcost.wire.line import LoggedImpression
from fabcost.wire.messages import DecisionRequest, FeedbackRequest, Record
from fabcost.wire.settings import (
    HalfLifeSettings,
    ModelSettings,
    RefreshSettings,
    WideSettings,
)
from fabcost.wire.statistics import AlarmView
from tests.service.core.running import ITEMS, Hands, cars, serving, shown, told, until

PRICES: dict[str, Record] = {
    f"ad-{k}": {"price": 5_000.0 + 1_250 * k, "seats": 4.0} for k in range(20)
}
#: Two numbers whose scale is not declared.
RAW = {"features": {"price": {"kind": "numeric"}, "seats": {"kind": "numeric"}}}


def in_a_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """A test that has a loop of its own."""

    @wraps(test)
    def run(**given: Any) -> None:
        asyncio.run(test(**given))  # type: ignore[arg-type]

    return run


async def alarms(service: Service, model: str = "cars") -> list[AlarmView]:
    """Those of now, none from memory."""
    with patch.object(Looked, "is_fresh", return_value=False):
        return await service.alarms(model)


async def kinds(service: Service, model: str = "cars") -> set[tuple[str, str]]:
    return {(each.kind, each.subject) for each in await alarms(service, model)}


async def live(service: Service, clicks: Any, candidates: Any = None, *, first: int = 0) -> None:
    """A decision for each of ``clicks``, and its feedback."""
    for k, clicked in enumerate(clicks, start=first):
        await shown(service, f"d-{k}", candidates=candidates, context={})
        assert await told(service, f"d-{k}", float(clicked)) == "applied"


async def imported(service: Service, clicks: Any) -> None:
    """A log from elsewhere with these outcomes."""
    log = [
        LoggedImpression(candidates=ITEMS, item=f"ad-{k % 9}", value=float(clicked))
        for k, clicked in enumerate(clicks)
    ]
    assert await service.import_log("cars", log) == len(log)


def drawn(many: int, rate: float, seed: int = 0) -> Any:
    return np.random.default_rng(seed).random(many) < rate


@in_a_loop
async def test_healthy_data_raise_none(store_address: str) -> None:
    """A rate is off by five sds once in two million looks, and all else is fixed."""
    async with serving(store_address) as service:
        await cars(service)
        await live(service, drawn(150, 0.2))
        assert await alarms(service) == []
        assert (await service.stats("cars")).alarms == []


@in_a_loop
async def test_feedback_that_nearly_always_expires_is_told(store_address: str) -> None:
    hands = Hands()
    async with serving(store_address, hands) as service:
        await cars(service, reward_wait_seconds=10.0)
        for k in range(25):
            await shown(service, f"d-{k}")
        hands.pass_by(20.0)

        async def expired() -> bool:
            return service.model("cars").impressions == 25

        await until(expired)
        assert [await told(service, f"d-{k}") for k in range(25)] == ["late"] * 25
        found = await alarms(service)
        assert [each.kind for each in found] == ["feedback too late"]
        assert found[0].text.startswith("25 of 25 feedbacks came after")
    async with serving(store_address, hands) as service:
        assert await alarms(service) == found


@in_a_loop
async def test_raw_numbers_are_told_and_a_restart_tells_the_same(store_address: str) -> None:
    async with serving(store_address) as service:
        await service.create_model("cars", ModelSettings(schema=RAW, prior_variance=10.0))
        await live(service, [True], PRICES)
        assert await kinds(service) == {("number out of scale", "price"), ("extreme scores", "")}
        await live(service, drawn(119, 0.1), PRICES, first=1)
        found = await alarms(service)
        told = {(each.kind, each.subject) for each in found}
        assert {("number out of scale", "price"), ("constant number", "seats")} <= told
    async with serving(store_address) as service:
        assert await alarms(service) == found


@in_a_loop
async def test_items_that_look_alike_are_told_unless_they_have_effects(tmp_path: Path) -> None:
    async with serving(str(tmp_path / "bandit.db")) as service:
        await service.create_model("cars", ModelSettings(prior_variance=1.0))
        await live(service, [k % 3 == 0 for k in range(30)], {"a": {}, "b": {}})
        assert await kinds(service) == {("items look alike", "")}
        await service.delete_model("cars")
        await service.create_model("cars", ModelSettings())
        await live(service, [k % 3 == 0 for k in range(30)], {"a": {}, "b": {}})
        assert await kinds(service) == set()


@in_a_loop
async def test_a_rate_that_changes_is_told(tmp_path: Path) -> None:
    """From one click in ten to eight, after some time: far more than five sds of what is usual."""
    async with serving(str(tmp_path / "bandit.db")) as service:
        await cars(service, refresh=RefreshSettings(kind="never"))
        await imported(service, [*drawn(6000, 0.05), *drawn(1000, 0.6)])
        assert ("click rate off", "") in await kinds(service)


@in_a_loop
async def test_feedback_of_clicks_alone_is_told_when_others_have_had_time(tmp_path: Path) -> None:
    hands = Hands()
    async with serving(str(tmp_path / "bandit.db"), hands) as service:
        await cars(service, reward_wait_seconds=100.0)
        await live(service, [True] * 120)
        assert await kinds(service) == set()
        hands.pass_by(200.0)
        assert await kinds(service) == {("feedback of one kind", "")}


@in_a_loop
async def test_a_row_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    database = str(tmp_path / "bandit.db")
    async with serving(database) as service:
        await service.create_model("cars", ModelSettings(schema=RAW, prior_variance=10.0))
        await live(service, [True] * 3, PRICES)
        with contextlib.closing(sqlite3.connect(database)) as raw, raw:
            raw.execute("UPDATE decisions SET features = 'nonsense' WHERE decision = 'd-1'")
        assert ("number out of scale", "price") in await kinds(service)
        assert (await service.stats("cars")).impressions == 3


@in_a_loop
async def test_looking_goes_on_after_it_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "_LOOK_SECONDS", 0.01)
    said: list[str] = []
    looks = 0

    async def look() -> None:
        nonlocal looks
        looks += 1
        if looks == 1:
            raise ValueError("once")

    async with serving(str(tmp_path / "bandit.db"), tell=said.append) as service:
        service._upkeep.look_for_alarms = look

        async def looked_again() -> bool:
            return looks > 1

        await until(looked_again)
    assert "alarms could not be looked for: ValueError('once')" in said


@in_a_loop
async def test_gauges_have_the_kinds_of_each_model_and_forget_it(tmp_path: Path) -> None:
    async with serving(str(tmp_path / "bandit.db")) as service:
        await service.create_model("raw", ModelSettings(schema=RAW, prior_variance=10.0))
        await cars(service)
        for k in range(100):
            request = DecisionRequest(decision_id=f"d-{k}", candidates=PRICES)
            await service.decide("raw", request)
            await service.feedback("raw", [FeedbackRequest(decision_id=f"d-{k}", value=0.0)])
        await service._upkeep.look_for_alarms()
        text = service.metrics.render().decode()
        assert 'fabcost_alarms{kind="number out of scale",model="raw"} 1.0' in text
        assert 'model="cars"' not in "".join(
            line for line in text.splitlines() if line.startswith("fabcost_alarms")
        )
        await service.delete_model("raw")
        service.metrics.forget("raw")
        await service._upkeep.look_for_alarms()
        assert "fabcost_alarms{" not in service.metrics.render().decode()


def test_bounds_are_those_of_rows_written_out() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, 6)) * (rng.random((50, 6)) < 0.5)
    rows[:, 0], rows[:, 5] = 3.0, 0.0
    smallest, largest = _bounds([Impression.of(row) for row in rows], 6)
    np.testing.assert_array_equal(smallest, rows.min(axis=0))
    np.testing.assert_array_equal(largest, rows.max(axis=0))


def test_feedback_is_counted_by_what_became_of_it() -> None:
    watch = Watch()
    count_outcomes(watch, 50, 5, {"applied": 3, "recorded": 2, "late": 7, "duplicate": 9})
    assert (watch.answers, watch.expired, watch.clicks, watch.late) == (5, 45, 5, 7)


@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize("steps", [None, 7])
def test_an_impression_says_whether_candidates_were_alike(alike: bool, steps: int | None) -> None:
    row = encoded(Impression.of(np.array([1.0, 0.0, 2.5])))
    kept = impression(at_step(row, steps, alike=alike))
    assert (kept.columns, kept.steps, kept.alike) == ([0, 2], steps, alike)


def fashion(many: int, liked: str, seed: int) -> list[LoggedImpression]:
    """Outcomes of a world in which one make is clicked often, and the others seldom."""
    rng = np.random.default_rng(seed)
    items = [f"ad-{k % 9}" for k in range(many)]
    rates = [0.8 if ITEMS[item]["make"] == liked else 0.1 for item in items]
    clicks = rng.random(many) < rates
    return [
        LoggedImpression(candidates=ITEMS, item=item, value=float(clicked))
        for item, clicked in zip(items, clicks, strict=True)
    ]


@pytest.mark.parametrize("belief", [{}, {"belief": WideSettings("wide", bits=10)}])
@in_a_loop
async def test_a_world_that_a_model_does_not_follow_is_told_also_after_a_restart(
    store_address: str, belief: dict[str, Any]
) -> None:
    """By what was believed before outcomes were learnt, so one with a half-life has no alarm.

    Without a change, losses are as large as the alarm asks for once in two million looks.
    """
    async with serving(store_address) as service:
        await cars(service, **belief)
        followed = ModelSettings(half_life=HalfLifeSettings(60.0), **belief)
        await service.create_model("followed", followed)
        for model in ("cars", "followed"):
            await service.import_log(model, fashion(900, "kia", seed=1))
            assert await kinds(service, model) == set()
            for seed in range(40):
                await service.import_log(model, fashion(9, "ford", seed))
        found = await alarms(service)
        assert [each.kind for each in found] == ["drift"]
        assert await alarms(service, "followed") == []
    async with serving(store_address) as service:
        assert await alarms(service) == found
        assert await alarms(service, "followed") == []
