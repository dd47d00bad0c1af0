"""Days of simulated time: old decisions go, and the posterior keeps every bit."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest

from fabcost.service.learning import learner
from fabcost.service.service import Service
from fabcost.service.store.store import store_at
from fabcost.wire.settings import HalfLifeSettings, ModelSettings
from tests.service.core.running import ITEMS, Hands, serving, shown, stats_now, told
from tests.service.faults.ledger import reading
from tests.service.postgres import PostgresServer

DAY = 86_400.0
DAYS, EVERY_HOURS = 4, 3
OF_A_DAY = 3 * 24 // EVERY_HOURS
KEPT = {
    "most kept": ModelSettings(most_kept=20, reward_wait_seconds=600.0),
    "half-life": ModelSettings(
        half_life=HalfLifeSettings(60.0), most_kept=20, reward_wait_seconds=600.0
    ),
}


class Size(NamedTuple):
    """Rows of the tables that grow, and the bytes of all."""

    decisions: int
    feedback: int
    minutes: int
    bytes: int


async def live_for_days(service: Service, hands: Hands, days: range) -> None:
    """A few decisions every other hour; some get feedback, the others expire."""
    for hour in range(24 * days.start, 24 * days.stop, EVERY_HOURS):
        for k in range(3):
            # Of long names, or days would be too short to be seen in pages of a database.
            name = f"d-{hour}-{k}-".ljust(128, "x")
            await shown(service, name)
            if k < 2:
                await told(service, name, float(hour % 3 == k))
        hands.pass_by(3600.0 * EVERY_HOURS)
        service._upkeep.expire()
        await service._writer.count()
        if hour % 6 == 0:
            await service.retire()


def size_of(address: str) -> Size:
    with reading(address) as store:
        decisions = len(store.history("cars", after=0, limit=10**6))
        ((feedback,),) = store.session.connection.run("SELECT COUNT(*) FROM feedback", {})
        minutes = len(store.counts.minutes("cars", since=0.0))
    return Size(decisions, int(feedback), minutes, bytes_of(address))


def bytes_of(address: str) -> int:
    """What the tables take, with the room that is free for rows to come."""
    if address.startswith("sqlite"):
        with closing(sqlite3.connect(address.removeprefix("sqlite:///"))) as file:
            ((pages,),) = file.execute("PRAGMA page_count").fetchall()
            ((each,),) = file.execute("PRAGMA page_size").fetchall()
            return int(pages * each)
    with psycopg.connect(address, autocommit=True) as server:
        server.execute("VACUUM")  # as the server does by itself, when it is its time
        found = server.execute(
            "SELECT SUM(pg_total_relation_size(oid)) FROM pg_class"
            " WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        )
        return int(found.fetchall()[0][0])


async def lived(
    address: str, settings: ModelSettings, **options: Any
) -> tuple[tuple[str, int, int], list[Size]]:
    """Days with a restart in their midst; what is known in the end, and each evening's size."""
    hands, evenings = Hands(now=100 * DAY), []
    for days in (range(DAYS // 2), range(DAYS // 2, DAYS)):
        async with serving(address, hands, **options) as service:
            if days.start == 0:
                await service.create_model("cars", settings)
                await service.put_items("cars", ITEMS)
            for day in days:
                await live_for_days(service, hands, range(day, day + 1))
                evenings.append(size_of(address))
            stats = await stats_now(service)
            known = (service.posterior("cars").digest, stats.decisions, stats.impressions)
    return known, evenings


@pytest.fixture
def twins(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[str]]:
    """The addresses of two empty databases of a kind."""
    if request.param == "sqlite":
        yield [f"sqlite:///{tmp_path}/{name}.db" for name in ("trimmed", "whole")]
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    with server.database() as trimmed, server.database() as whole:
        yield [trimmed, whole]


@pytest.mark.parametrize(
    ("kind", "twins"), [("most kept", "sqlite"), ("half-life", "postgres")], indirect=["twins"]
)
def test_size_is_bounded_and_nothing_is_forgotten(kind: str, twins: list[str]) -> None:
    """One service keeps a day, its twin everything."""
    trimmed, few = asyncio.run(lived(twins[0], KEPT[kind], keep_seconds=DAY))
    whole, everything = asyncio.run(lived(twins[1], KEPT[kind]))
    assert trimmed == whole
    assert [each.decisions for each in everything] == [OF_A_DAY * (k + 1) for k in range(DAYS)]
    # A day, and those that wait for the second snapshot: less than another.
    for now, all_rows in zip(few[1:], everything[1:], strict=True):
        assert now.decisions < 2 * OF_A_DAY <= all_rows.decisions
        assert now.feedback < 2 * (2 * OF_A_DAY // 3) <= all_rows.feedback
    assert few[-1].minutes < everything[-1].minutes
    # Pages are whole: a sixth was seen, and a half where old snapshots stay.
    assert few[-1].bytes - few[1].bytes < 0.3 * (everything[-1].bytes - everything[1].bytes)


def test_without_a_snapshot_that_fits_nothing_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A learner without a bound outgrows what a database takes as one value."""
    monkeypatch.setattr(learner, "MOST_BYTES", 100)
    address, settings = f"sqlite:///{tmp_path}/bandit.db", ModelSettings(reward_wait_seconds=600.0)
    kept, evenings = asyncio.run(lived(address, settings, keep_seconds=DAY))
    assert [each.decisions for each in evenings] == [OF_A_DAY * (k + 1) for k in range(DAYS)]
    monkeypatch.undo()
    whole, _ = asyncio.run(lived(f"sqlite:///{tmp_path}/whole.db", settings))
    assert kept == whole


def test_a_snapshot_that_does_not_fit_is_an_alarm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> tuple[list[str], str]:
        hands = Hands(now=100 * DAY)
        async with serving(str(tmp_path / "bandit.db"), hands, keep_seconds=DAY) as service:
            await service.create_model("cars", KEPT["most kept"])
            await service.put_items("cars", ITEMS)
            await live_for_days(service, hands, range(2))
            kinds = [each.kind for each in await service.alarms("cars")]
            await service._look()
            return kinds, service.metrics.render().decode()

    def told() -> bool:
        kinds, metrics = asyncio.run(run())
        assert ('kind="too large to save"' in metrics) == ("too large to save" in kinds)
        return "too large to save" in kinds

    assert not told()
    (tmp_path / "bandit.db").unlink()
    monkeypatch.setattr(learner, "MOST_BYTES", 100)
    assert told()


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
