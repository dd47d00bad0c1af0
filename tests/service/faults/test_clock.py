"""A system clock that is set back, while a server runs and while none does."""

from __future__ import annotations

import asyncio

from tests.service.core.running import Hands, cars, serving, shown, told, until

HOUR = 3600.0
WAIT = 10.0


def test_deadlines_stay_where_they_were(store_address: str) -> None:
    async def main() -> None:
        hands = Hands()
        async with serving(store_address, hands) as service:
            await cars(service, reward_wait_seconds=WAIT)
            await shown(service, "before")
            hands.wall -= HOUR
            hands.pass_by(4.0)
            await shown(service, "after")
            hands.pass_by(5.9)
            assert await told(service, "before") == "applied"
            await shown(service, "silent")
            hands.pass_by(4.2)
            await until(lambda: learnt(service, 2))
            before, after = [await service.decision("cars", d) for d in ("before", "after")]
            assert (after.outcome, after.made) == ("expired", before.made + 4.0)
            assert await told(service, "after") == "late"
            assert await told(service, "silent") == "applied"
            hands.wall += HOUR
            await shown(service, "later")
            assert (await service.decision("cars", "later")).made == hands.wall

    asyncio.run(main())


def test_restart_behind_the_stored_times(store_address: str) -> None:
    async def main() -> None:
        hands = Hands()
        async with serving(store_address, hands) as service:
            await cars(service, reward_wait_seconds=WAIT)
            await shown(service, "before")
            made = (await service.decision("cars", "before")).made
        behind = Hands(hands.wall - HOUR)
        async with serving(store_address, behind) as service:
            behind.pass_by(6.0)
            await shown(service, "after")
            await asyncio.sleep(0.6)
            assert (await service.decision("cars", "before")).outcome is None
            assert (await service.decision("cars", "after")).made >= made + 6.0
            behind.pass_by(4.1)
            await until(lambda: learnt(service, 1))
            assert (await service.decision("cars", "before")).outcome == "expired"
            assert await told(service, "before") == "late"
            assert await told(service, "after") == "applied"
            assert [each.decision_id for each in (await service.decisions("cars", limit=9))[0]] == [
                "after",
                "before",
            ]

    asyncio.run(main())


async def learnt(service: object, count: int) -> bool:
    return bool(service.model("cars").impressions == count)  # type: ignore[attr-defined]
