"""What one more feedback costs does not grow with what came before."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fabcost.service.service import Service
from fabcost.service.store.store import KEPT_FEEDBACK
from fabcost.wire.messages import FeedbackRequest
from tests.service.core.running import Hands, cars, serving, shown, stats_now, told, until
from tests.service.core.watched import watched
from tests.service.faults.ledger import reading

MANY = 1_000


def run(address: str, scenario: Any, **settings: Any) -> None:
    async def main() -> None:
        hands = Hands()
        async with serving(address, hands) as service:
            # Nothing but what the test asks for is written meanwhile.
            service._upkeep._sweeping.cancel()
            await cars(service, **settings)
            await scenario(service, hands)

    asyncio.run(main())


async def many_told(service: Service, keys: range, decision: str = "d") -> set[str]:
    requests = [FeedbackRequest(decision_id=decision, value=1.0, key=f"k{k}") for k in keys]
    return {each.status for each in await service.feedback("cars", requests)}


async def rows_of_one_more(service: Service, key: str) -> int:
    """The fewest of some: the writer looks for other servers at times of its own."""
    found = []
    for k in range(5):
        with watched(service) as watch:
            await told(service, "d", key=f"{key}-{k}")
        found.append(watch.rows)
    return min(found)


@pytest.mark.parametrize(
    ("aggregation", "status"), [("earliest", "duplicate"), ("sum", "recorded")]
)
def test_one_more_reads_no_more_rows(store_address: str, aggregation: str, status: str) -> None:
    async def scenario(service: Service, hands: Hands) -> None:
        await shown(service, "d")
        await told(service, "d", key="first")
        assert await many_told(service, range(10)) == {status}
        after_few = await rows_of_one_more(service, "few")
        assert await many_told(service, range(10, MANY)) == {status}
        assert await rows_of_one_more(service, "many") <= after_few

    run(store_address, scenario, aggregation=aggregation)


def test_what_changes_nothing_is_kept_up_to_a_bound(store_address: str) -> None:
    async def scenario(service: Service, hands: Hands) -> None:
        await shown(service, "d")
        assert await told(service, "d", key="first") == "applied"
        assert await many_told(service, range(KEPT_FEEDBACK - 10)) == {"duplicate"}
        assert await many_told(service, range(MANY)) == {"duplicate"}
        with reading(store_address) as store:
            assert len(store.find_feedback([("cars", "d")])) == KEPT_FEEDBACK
        hands.pass_by(11.0)
        assert await told(service, "d", key="first") == "applied"
        assert await many_told(service, range(KEPT_FEEDBACK - 1)) == {"duplicate"}
        assert await many_told(service, range(KEPT_FEEDBACK - 1, MANY)) == {"late"}

    run(store_address, scenario, reward_wait_seconds=10.0)


def test_parked_feedback_that_stays_is_not_read_again(store_address: str) -> None:
    async def main() -> None:
        hands = Hands()
        async with serving(store_address, hands) as service:
            await cars(service)
            await told(service, "early")
            await told(service, "other")
            hands.pass_by(60.0)
            await told(service, "other", key="again")
            late = [FeedbackRequest(decision_id=f"late-{k}", value=1.0) for k in range(MANY)]
            assert {each.status for each in await service.feedback("cars", late)} == {"parked"}
            with watched(service) as watch:
                hands.pass_by(61.0)
                await until(lambda: so_many_parked(service, MANY + 1))
                assert watch.rows < MANY
            await shown(service, "other")
            await shown(service, "early")
            assert await told(service, "other", key="again") == "applied"
            assert service.model("cars").impressions == 1

    asyncio.run(main())


async def so_many_parked(service: Service, count: int) -> bool:
    return (await stats_now(service)).feedback["parked"] == count
