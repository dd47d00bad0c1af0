"""A system clock that is set back, while a server runs and while none does."""

from __future__ import annotations

import asyncio

from tests.service.core.running import Hands, cars, serving, shown, stats_now, told, until

HOUR = 3600.0
YEAR = 365 * 24 * HOUR
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


def test_a_clock_that_was_ahead_and_is_right_again(store_address: str) -> None:
    async def main() -> None:
        hands, told_of = Hands(), list[str]()
        async with serving(store_address, hands, tell=told_of.append) as service:
            await cars(service, reward_wait_seconds=WAIT)
            hands.pass_by(5.0)
            hands.wall += YEAR
            await shown(service, "ahead")
            assert await told(service, "ahead") == "applied"
            await shown(service, "open")
            made = (await service.decision("cars", "open")).made
            hands.wall -= YEAR
            hands.pass_by(WAIT - 1.0)
            await until(lambda: tells(told_of, "31536000 s behind"))
            assert "fabcost_clock_ahead_seconds 3.1536e+07" in service.metrics.render().decode()
            await shown(service, "still")
            assert (await service.decision("cars", "still")).made == made + WAIT - 1.0
            assert await told(service, "still") == "applied"
            hands.pass_by(1.1)
            await until(lambda: learnt(service, 3))
            assert (await service.decision("cars", "open")).outcome == "expired"
            await until(lambda: tells(told_of, "again"))
            await shown(service, "true")
            assert (await service.decision("cars", "true")).made == hands.wall
        hands.pass_by(1.0)
        async with serving(store_address, hands) as service:
            await shown(service, "after a restart")
            assert (await service.decision("cars", "after a restart")).made == hands.wall
            assert await told(service, "true") == "applied"

    asyncio.run(main())


def test_early_feedback_holds_the_time_until_it_is_forgotten(store_address: str) -> None:
    async def main() -> None:
        hands, told_of = Hands(), list[str]()
        async with serving(store_address, hands, tell=told_of.append, park_seconds=WAIT) as service:
            await cars(service)
            hands.wall += YEAR
            assert await told(service, "never") == "parked"
            hands.wall -= YEAR
            await until(lambda: tells(told_of, "behind"))
            assert service.clock.ahead == YEAR
            hands.pass_by(WAIT + 1.0)
            await until(lambda: tells(told_of, "again"))
            assert service.clock.now() == hands.wall
            assert (await stats_now(service)).feedback == {}

    asyncio.run(main())


async def tells(told_of: list[str], word: str) -> bool:
    return any(word in each for each in told_of)


async def learnt(service: object, count: int) -> bool:
    return bool(service.model("cars").impressions == count)  # type: ignore[attr-defined]
