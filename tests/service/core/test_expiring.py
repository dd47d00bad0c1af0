"""More decisions are due at once than one transaction takes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fabcost.service import upkeep
from fabcost.service.service import Service
from fabcost.service.writer import transaction
from tests.service.core.running import Hands, cars, serving, shown, until


def test_the_rest_does_not_wait_for_the_next_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (transaction, upkeep):
        monkeypatch.setattr(module, "EXPIRED_AT_ONCE", 2)

    async def main() -> None:
        hands = Hands()
        async with serving(str(tmp_path / "bandit.db"), hands) as running:
            running._upkeep._sweeping.cancel()
            await cars(running)
            for k in range(9):
                await shown(running, f"d{k}")
            hands.pass_by(1_000.0)
            running._upkeep.expire()
            await until(lambda: has_learnt(running, 9))

    asyncio.run(main())


async def has_learnt(running: Service, many: int) -> bool:
    return running.posterior("cars").impressions == many
