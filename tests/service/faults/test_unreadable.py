"""Models whose rows in the database are spoilt: the others are served as ever."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from fabcost.service.service import Service
from fabcost.service.settings import Settings
from fabcost.service.store.store import Store
from fabcost.service.writer.transaction import EXPIRED_AT_ONCE
from fabcost.wire.errors import AlreadyThereError, StoreAwayError, UnreadableModelError
from fabcost.wire.messages import DecisionRequest, FeedbackRequest, Record
from fabcost.wire.settings import ModelSettings
from tests.service.core.running import Hands, cars, serving, shown, told, until
from tests.service.http.serving import running

SPOILING = {
    "settings": "UPDATE models SET settings = '{' WHERE model = 'bad'",
    "unknown settings": """UPDATE models SET settings = '{"mode": "loud"}' WHERE model = 'bad'""",
    "schema": """UPDATE models SET settings = '{"schema": {"features": 7}}' WHERE model = 'bad'""",
    "steps": "UPDATE steps SET step = '7' WHERE model = 'bad'",
    "items": "UPDATE items SET features = '[' WHERE model = 'bad'",
}


async def filled(service: Service) -> None:
    """Two models, each with a decision that waits."""
    await cars(service)
    await service.create_model("bad", ModelSettings())
    await service.put_items("bad", {"ad": {"x": 1}})
    await service.decide("bad", DecisionRequest(decision_id="d"))
    await shown(service, "d")


def spoil(database: Path, how: str) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        assert connection.execute(SPOILING[how]).rowcount > 0


@pytest.mark.parametrize("how", SPOILING)
def test_others_are_served(tmp_path: Path, how: str) -> None:
    database, complaints = tmp_path / "bandit.db", list[str]()

    async def main() -> None:
        async with serving(str(database)) as service:
            await filled(service)
        spoil(database, how)
        async with serving(str(database), tell=complaints.append) as service:
            assert service.ready is None
            assert service.degraded == {"bad": "cannot be read"}
            assert [each.name for each in service.models()] == ["cars"]
            assert await told(service, "d") == "applied"
            with pytest.raises(UnreadableModelError, match="'bad' cannot be read"):
                await service.decide("bad", DecisionRequest())
            with pytest.raises(UnreadableModelError):
                await service.feedback("bad", [FeedbackRequest(decision_id="d")])
            with pytest.raises(AlreadyThereError):
                await service.create_model("bad", ModelSettings())
            await service.delete_model("bad")
            assert service.degraded == {}
            await service.create_model("bad", ModelSettings())

    asyncio.run(main())
    assert [each for each in complaints if "'bad' cannot be read and is not served" in each]


def break_off(_: Store) -> None:
    raise StoreAwayError("the connection broke")


def test_it_is_there_when_the_database_is_back(tmp_path: Path) -> None:
    """A model that this server does not know is deleted after a break; this one is known."""
    database = tmp_path / "bandit.db"

    async def main() -> None:
        async with serving(str(database)) as service:
            await filled(service)
        spoil(database, "settings")
        async with serving(str(database)) as service:
            with pytest.raises(StoreAwayError):
                await service._writer.call(break_off)

            async def is_back() -> bool:
                return service.ready is None

            await until(is_back)
            rows = await service._reader.ask(lambda store: store.models())
            assert {row.model for row in rows} == {"bad", "cars"}

    asyncio.run(main())


def test_decisions_of_others_expire(store_address: str) -> None:
    """However many of an unreadable model are due before."""
    hands = Hands()

    async def main() -> None:
        async with serving(store_address, hands) as service:
            await service.create_model("bad", ModelSettings(reward_wait_seconds=1.0))
            asked: dict[str, Record] = {"a": {"x": 1}}
            await asyncio.gather(
                *(
                    service.decide("bad", DecisionRequest(decision_id=f"d{k}", candidates=asked))
                    for k in range(EXPIRED_AT_ONCE)
                )
            )
            await cars(service, reward_wait_seconds=2.0)
            await shown(service, "d")
            await service._writer.call(lambda store: store.update_model("bad", "{", hands.wall))
        async with serving(store_address, hands) as service:
            assert service.degraded == {"bad": "cannot be read"}
            hands.pass_by(10.0)

            async def has_expired() -> bool:
                return service.posterior("cars").impressions == 1

            await until(has_expired, 20.0)

    asyncio.run(main())


def test_it_is_told_over_http(tmp_path: Path) -> None:
    database = tmp_path / "bandit.db"

    async def before() -> None:
        async with serving(str(database)) as service:
            await filled(service)

    asyncio.run(before())
    spoil(database, "settings")
    with running(Settings(database=str(database))) as server, server.client() as http:
        readiness = http.get("/readyz")
        assert readiness.status_code == 200
        assert readiness.json() == {"status": "ready", "degraded": {"bad": "cannot be read"}}
        assert 'fabcost_model_degraded{model="bad"} 1.0' in http.get("/metrics").text
        refused = http.get("/v1/models/bad")
        assert (refused.status_code, code_of(refused)) == (503, "model_unreadable")
        assert http.get("/v1/models/cars").json()["degraded"] is None
        http.delete("/v1/models/bad").raise_for_status()
        assert http.get("/readyz").json() == {"status": "ready"}
        assert "fabcost_model_degraded{" not in http.get("/metrics").text


def code_of(refused: httpx.Response) -> str:
    return str(refused.json()["error"]["code"])
