"""Days of simulated time: old decisions go, and the posterior keeps every bit."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fabcost.service.service import Service
from fabcost.service.store.threads import store_at
from fabcost.wire.settings import HalfLifeSettings, ModelSettings
from tests.service.core.running import ITEMS, Hands, serving, shown, stats_now, told
from tests.service.faults.ledger import reading

DAY = 86_400.0
DAYS, EVERY_HOURS = 4, 3
KEPT = {
    "most kept": ModelSettings(most_kept=40, reward_wait_seconds=600.0),
    "half-life": ModelSettings(
        half_life=HalfLifeSettings(60.0), most_kept=40, reward_wait_seconds=600.0
    ),
}


async def live_for_days(service: Service, hands: Hands, days: range) -> None:
    """A few decisions every other hour; some get feedback, the others expire."""
    for hour in range(24 * days.start, 24 * days.stop, EVERY_HOURS):
        for k in range(3):
            await shown(service, f"d-{hour}-{k}")
            if k < 2:
                await told(service, f"d-{hour}-{k}", float(hour % 3 == k))
        hands.pass_by(3600.0 * EVERY_HOURS)
        service._upkeep.expire()
        await service._writer.count()
        if hour % 6 == 0:
            await service.retire()


def rows_of(address: str) -> tuple[int, int, int]:
    with reading(address) as store:
        decisions = len(store.history("cars", after=0, limit=10**6))
        ((feedback,),) = store.session.connection.run("SELECT COUNT(*) FROM feedback", {})
        return decisions, int(feedback), len(store.counts.minutes("cars", since=0.0))


async def lived(address: str, settings: ModelSettings, **options: Any) -> tuple[Any, ...]:
    """Days with a restart in their midst; what is known in the end, and the largest tables."""
    hands, largest = Hands(now=100 * DAY), (0, 0, 0)
    for days in (range(DAYS // 2), range(DAYS // 2, DAYS)):
        async with serving(address, hands, **options) as service:
            if days.start == 0:
                await service.create_model("cars", settings)
                await service.put_items("cars", ITEMS)
            for day in days:
                await live_for_days(service, hands, range(day, day + 1))
                found = rows_of(address)
                largest = tuple(map(max, largest, found))  # type: ignore[assignment]
            stats = await stats_now(service)
            known = (service.posterior("cars").digest, stats.decisions, stats.impressions)
    return known, largest


@pytest.mark.parametrize("kind", KEPT)
def test_size_is_bounded_and_nothing_is_forgotten(tmp_path: Path, kind: str) -> None:
    """One service keeps two days, its twin everything."""
    run = lambda name, **options: asyncio.run(  # noqa: E731
        lived(f"sqlite:///{tmp_path}/{name}.db", KEPT[kind], **options)
    )
    trimmed, few = run("trimmed", keep_seconds=2 * DAY)
    whole, all_rows = run("whole")
    assert trimmed == whole
    of_a_day = 3 * 24 // EVERY_HOURS
    assert all_rows[0] == DAYS * of_a_day
    # Two days, the one that has begun, and those that wait for the second snapshot.
    assert few[0] <= 4 * of_a_day
    assert few[1] <= 4 * of_a_day
    assert few[2] < all_rows[2]


def test_one_of_the_two_snapshots_may_be_unreadable(tmp_path: Path) -> None:
    """Decisions are kept for an hour only, so that nothing but snapshots has most of the log."""
    path, copy = tmp_path / "bandit.db", tmp_path / "copy.db"

    async def run() -> tuple[str, str]:
        hands = Hands(now=100 * DAY)
        async with serving(str(path), hands, keep_seconds=3600.0) as service:
            await service.create_model("cars", KEPT["most kept"])
            await service.put_items("cars", ITEMS)
            for day in range(2):
                await live_for_days(service, hands, range(day, day + 1))
            await service.retire()
            with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
                source.backup(target)
                target.execute("DELETE FROM snapshots WHERE lsn = (SELECT MAX(lsn) FROM snapshots)")
                target.commit()
                ((first,),) = target.execute("SELECT MIN(lsn) FROM decisions").fetchall()
            assert first > 1
            expected = service.posterior("cars").digest
        async with serving(str(copy), hands, keep_seconds=3600.0) as other:
            return expected, other.posterior("cars").digest

    expected, found = asyncio.run(run())
    assert found == expected


def test_a_log_without_its_beginning_and_without_snapshots_is_not_learnt(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/bandit.db"

    async def run() -> dict[str, str]:
        await lived(address, KEPT["most kept"], keep_seconds=2 * DAY)
        store = store_at(address)
        store.open(take_over=True)
        store.session.connection.run("DELETE FROM snapshots", {})
        store.close()
        async with serving(address) as service:
            return service.degraded

    assert asyncio.run(run()) == {"cars": "stopped learning"}
