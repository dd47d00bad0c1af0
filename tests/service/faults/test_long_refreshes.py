"""Refreshes that take long: snapshots are taken all the same, and a stop does not wait."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from fabcost import FabCost
from fabcost.inference import schedule
from fabcost.inference.passes import Swept
from fabcost.service.learning.learner import Learning
from fabcost.service.service import Service
from fabcost.wire.line import LoggedImpression
from fabcost.wire.settings import ModelSettings, RefreshSettings
from tests.service.core.running import serving, until
from tests.service.faults import test_refreshes
from tests.service.faults.ledger import rebuilt_digest
from tests.service.http.serving import process

MODEL = "wide"
POINTS = [100, 400, 700, 1000, 1300, 1600]


class Gate:
    """Refreshes wait here until they are let through, one by one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._permits = threading.Semaphore(0)
        refine, gate = schedule.refined, self

        def waiting(learner: FabCost, max_sweeps: int | None) -> Swept:
            gate._permits.acquire()
            return refine(learner, max_sweeps)

        monkeypatch.setattr(schedule, "refined", waiting)
        defaults = Learning.__init__.__kwdefaults__
        assert defaults is not None
        monkeypatch.setitem(defaults, "inline", 0)

    def let_through(self, many: int = 1) -> None:
        self._permits.release(many)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    made = Gate(monkeypatch)
    yield made
    made.let_through(1000)


async def import_log(service: Service, start: int, stop: int) -> None:
    impressions = [
        LoggedImpression(
            decision_id=f"d{k}",
            context={"user": k % 7},
            candidates={"a": {"x": k % 3}},
            item="a",
            value=float(k % 5 == 0),
        )
        for k in range(start, stop)
    ]
    assert await service.import_log(MODEL, impressions) == stop - start


async def make(service: Service) -> None:
    refresh = RefreshSettings(kind="at", points=POINTS)
    await service.create_model(MODEL, ModelSettings(refresh=refresh))


async def is_refreshing(service: Service) -> bool:
    return (await service.stats(MODEL)).refreshing


async def until_settled(service: Service) -> None:
    async def is_settled() -> bool:
        return not await is_refreshing(service)

    await until(is_settled)


def snapshots_of(database: Path) -> list[int]:
    """From a connection of its own, as another program sees them."""
    with closing(sqlite3.connect(database)) as connection, connection:
        return [lsn for (lsn,) in connection.execute("SELECT lsn FROM snapshots ORDER BY lsn")]


def test_snapshots_while_refreshes_follow_each_other(tmp_path: Path, gate: Gate) -> None:
    """Whenever a refresh ends, impressions wait behind it and the next one begins."""
    database = tmp_path / "bandit.db"

    async def main() -> None:
        async with serving(str(database)) as service:
            await make(service)
            for k in range(len(POINTS) - 1):
                await import_log(service, 300 * k, 300 * (k + 1))
                if k > 0:
                    gate.let_through()

            async def has_snapshot() -> bool:
                return bool(snapshots_of(database))

            try:
                await until(has_snapshot, 10.0)
                assert await is_refreshing(service)
            finally:
                gate.let_through(1000)

    asyncio.run(main())


def test_a_snapshot_of_a_busy_learner_goes_on_with_the_same_bits(
    tmp_path: Path, gate: Gate
) -> None:
    database = tmp_path / "bandit.db"

    async def main() -> tuple[int, str]:
        async with serving(str(database)) as service:
            await make(service)
            await import_log(service, 0, 1250)
            gate.let_through(4)
            await import_log(service, 1250, 1400)

            async def has_snapshot() -> bool:
                return bool(snapshots_of(database))

            try:
                await until(has_snapshot, 10.0)
                assert 1000 <= max(snapshots_of(database)) < 1400
            finally:
                gate.let_through(1000)
            # As after a kill: what the first server has not written is lost with it.
            async with serving(str(database)) as following:
                await until_settled(following)
                posterior = following.posterior(MODEL)
                return posterior.impressions, posterior.digest

    assert asyncio.run(main()) == rebuilt_digest(str(database), MODEL)


@pytest.mark.parametrize("saved", [0, POINTS[0] - 1, POINTS[0]])
def test_a_refresh_that_is_due_at_the_end_of_the_log(
    tmp_path: Path, gate: Gate, saved: int
) -> None:
    """From a snapshot before it, with it or none: the version says which bits are served."""
    database, has_it = tmp_path / "bandit.db", saved == POINTS[0]

    async def main() -> tuple[int, str]:
        async with serving(str(database)) as service:
            await make(service)
            await import_log(service, 0, saved)
            if has_it:
                gate.let_through()
            await until_settled(service)
        if not has_it:
            async with serving(str(database)) as service:
                await import_log(service, saved, POINTS[0])
        assert snapshots_of(database) == ([saved] if saved else [])
        async with serving(str(database)) as service:
            assert await is_refreshing(service) != has_it
            assert service.posterior(MODEL).posterior_version == f"{POINTS[0]}.{int(has_it)}"
            gate.let_through(1000)
            await until_settled(service)
            posterior = service.posterior(MODEL)
            assert posterior.posterior_version == f"{POINTS[0]}.1"
            return posterior.impressions, posterior.digest

    assert asyncio.run(main()) == rebuilt_digest(str(database), MODEL)


def test_a_long_recovery_is_not_done_twice(tmp_path: Path, gate: Gate) -> None:
    """What is replayed since snapshots cannot be read is kept, without any traffic."""
    database = tmp_path / "bandit.db"
    gate.let_through(1000)

    async def main() -> None:
        async with serving(str(database)) as service:
            await make(service)
            await import_log(service, 0, 1250)
            await until_settled(service)
        with closing(sqlite3.connect(database)) as connection, connection:
            assert connection.execute("UPDATE snapshots SET content = x'00'").rowcount > 0
        complaints: list[str] = []
        async with serving(str(database), tell=complaints.append):
            assert complaints
            await until(replaced, 10.0)
        complaints.clear()
        async with serving(str(database), tell=complaints.append):
            assert complaints == []

    async def replaced() -> bool:
        with closing(sqlite3.connect(database)) as connection, connection:
            spoilt = "SELECT COUNT(*) FROM snapshots WHERE content = x'00'"
            return bool(connection.execute(spoilt).fetchone() == (0,))

    asyncio.run(main())


def test_a_stop_does_not_wait_for_a_refresh(tmp_path: Path, gate: Gate) -> None:
    database = tmp_path / "bandit.db"

    async def main() -> None:
        async with serving(str(database)) as service:
            await make(service)
            await import_log(service, 0, 150)
            assert await is_refreshing(service)
            stopping = asyncio.create_task(service.stop())
            try:
                await asyncio.wait_for(asyncio.shield(stopping), 10.0)
            finally:
                gate.let_through(1000)
        assert snapshots_of(database) == []

    asyncio.run(main())
    assert rebuilt_digest(str(database), MODEL)[0] == 150


def test_the_lag_is_told_as_it_is(tmp_path: Path, gate: Gate) -> None:
    """Also when nothing comes any more."""
    lag = f'fabcost_learner_lag{{model="{MODEL}"}} '

    async def main() -> None:
        async with serving(str(tmp_path / "bandit.db")) as service:
            await make(service)
            await import_log(service, 0, 150)
            service.measure()
            assert f"{lag}51.0" in service.metrics.render().decode()
            gate.let_through(1000)
            await until_settled(service)
            service.measure()
            assert f"{lag}0.0" in service.metrics.render().decode()

    asyncio.run(main())


def long_refresh() -> dict[str, Any]:
    """About 600 weights, and one refresh that goes on until EP has converged."""
    levels = [f"level-{k}" for k in range(300)]
    features = {
        side: {"kind": "categorical", "role": side, "levels": levels, "missing": "error"}
        for side in test_refreshes.SIDES
    }
    refresh = {"kind": "at", "points": [3000]}
    return {"schema": {"features": features}, "refresh": refresh}


def test_a_process_that_refreshes_ends_cleanly(tmp_path: Path) -> None:
    database = tmp_path / "bandit.db"
    with process(database) as server:
        with httpx.Client(base_url=server.address, timeout=60.0) as http:
            named = {"name": MODEL, "settings": long_refresh()}
            http.post("/v1/models", json=named).raise_for_status()
            for start in range(0, 3010, 1505):
                test_refreshes.import_log(http, start, start + 1505)
            assert http.get(f"/v1/models/{MODEL}/stats").json()["refreshing"]
        status, logged = server.stop(signal.SIGTERM)
    assert status == 0, logged
    assert '"event":"stopped"' in logged
    assert max(snapshots_of(database)) < 3000
