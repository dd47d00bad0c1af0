"""Two services on one PostgreSQL: what one of them does, the other knows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import partial

import msgspec
import psycopg
import pytest

from fabcost.service.learning.recovery import schema_of
from fabcost.service.service import Service
from fabcost.service.store.rows import impression
from fabcost.wire.errors import AlreadyThereError, StaleError, UnknownModelError
from fabcost.wire.messages import DecisionRequest
from fabcost.wire.settings import ModelSettings
from tests.service.core.running import ITEMS, cars, serving, shown, stats_now, told, until
from tests.service.faults.ledger import model_row, reading, rebuilt_digest

Use = Callable[[Service, Service], Awaitable[None]]


def share(address: str, use: Use) -> None:
    async def run() -> None:
        async with serving(address, share=True) as one, serving(address, share=True) as other:
            await use(one, other)

    asyncio.run(run())


def leads(service: Service) -> bool:
    return service._writer.journal.leads


def has(service: Service) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        return any(each.items == len(ITEMS) for each in service.models())

    return look


def knows(service: Service, impressions: int) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        return service.posterior("cars").impressions == impressions

    return look


async def decide(service: Service, decision: str, **context: object) -> bool:
    request = DecisionRequest(decision_id=decision, context=context)  # type: ignore[arg-type]
    return (await service.decide("cars", request)).durable


def test_models_settings_and_items_are_followed(postgres_address: str) -> None:
    async def use(one: Service, other: Service) -> None:
        await cars(one)
        await until(has(other))
        with pytest.raises(AlreadyThereError):
            await other.create_model("cars", ModelSettings())
        await other.change_model("cars", {"floor": 0.25})
        await until_equal(lambda: one.model("cars").settings.floor, 0.25)
        # Both put at once: neither's items are lost, and both servers see all of them.
        await asyncio.gather(
            one.put_items("cars", {"new-1": {"age": 1}}),
            other.put_items("cars", {"new-2": {"age": 2}}),
            one.delete_items("cars", ["ad-0"]),
        )
        expected = {*ITEMS, "new-1", "new-2"} - {"ad-0"}
        for each in (one, other):
            await until_equal(partial(listed, each), expected)
        await one.delete_model("cars")
        await until_equal(lambda: len(other.models()), 0)
        await cars(other)
        await until(has(one))
        with pytest.raises(UnknownModelError):
            one.model("vans")

    share(postgres_address, use)


def listed(service: Service) -> set[str]:
    return set(service.items("cars", limit=99).items)


async def until_equal(read: Callable[[], object], expected: object) -> None:
    async def look() -> bool:
        return read() == expected

    await until(look)


@pytest.mark.parametrize("settings", [{}, {"belief": {"kind": "wide", "bits": 12}}])
def test_feedback_anywhere_is_learnt_everywhere(
    postgres_address: str, settings: dict[str, object]
) -> None:
    """New features come on both servers at once: they agree on the columns, and on every bit."""

    async def use(one: Service, other: Service) -> None:
        await cars(one, **settings_of(settings))
        await until(has(other))
        for k in range(12):
            names = [f"one-{k}", f"other-{k}"]
            durable = await asyncio.gather(
                decide(one, names[0], **{f"left{k}": f"x{k}", "n": k / 3}),
                decide(other, names[1], **{f"right{k}": f"y{k}", "n": k / 7}),
            )
            assert list(durable) == [True, True]
            statuses = await asyncio.gather(told(other, names[0]), told(one, names[1], 0.0))
            assert list(statuses) == ["applied", "applied"]
            assert await told(one, names[0]) == "applied"
            assert await told(one, names[0], key="again") == "duplicate"
        for each in (one, other):
            await until(knows(each, 24))
        found = {each.posterior("cars").digest for each in (one, other)}
        assert found == {rebuilt_digest(postgres_address)[1]}
        check_columns(postgres_address)
        assert one._registry.of("cars").lineage + other._registry.of("cars").lineage > 0
        assert one._registry.of("cars").schema.columns == other._registry.of("cars").schema.columns

    share(postgres_address, use)


def check_columns(address: str) -> None:
    """Each row has the columns of its own context, whoever decided."""
    with reading(address) as store:
        row = model_row(store)
        settings = msgspec.json.decode(row.settings, type=ModelSettings)
        if settings.belief:
            return  # a hash has chosen them
        schema = schema_of(settings)
        schema.regrow(map(json.loads, store.steps("cars")))
        decisions = store.history("cars", after=0, limit=99)
    for each in decisions:
        who, k = each.decision.split("-")
        ours, others = ("left", "right") if who == "one" else ("right", "left")
        named = {schema.columns[place] for place in impression(each.features).columns}
        assert f"{ours}{k}={'x' if who == 'one' else 'y'}{k}" in named
        assert not any(name.startswith(others) for name in named), named


def settings_of(given: dict[str, object]) -> dict[str, object]:
    return {name: getattr(msgspec.convert(given, ModelSettings), name) for name in given}


def test_one_of_them_leads_and_another_takes_over(postgres_address: str) -> None:
    async def use(one: Service, other: Service) -> None:
        await until_equal(lambda: [leads(one), leads(other)].count(True), 1)
        first, second = (one, other) if leads(one) else (other, one)
        await cars(first, reward_wait_seconds=0.5)
        await until(has(second))
        assert await decide(second, "x")
        await first.stop()
        await until_equal(lambda: leads(second), True)
        await until(knows(second, 1))

    share(postgres_address, use)


def test_one_that_leads_and_hangs_is_taken_over_and_comes_back(postgres_address: str) -> None:
    """Its connection lives, but it asks for nothing."""

    async def use(one: Service, other: Service) -> None:
        await until_equal(lambda: [leads(one), leads(other)].count(True), 1)
        first, second = (one, other) if leads(one) else (other, one)
        await cars(first, reward_wait_seconds=0.5)
        await until(has(second))
        await first._upkeep.stop()
        second._writer.journal.store.session.lease_seconds = 1.5
        await until_equal(lambda: leads(second), True)
        assert await decide(second, "x")
        await until(knows(second, 1))

        async def is_back() -> bool:
            return await decide(first, "y")

        await until(is_back)
        await until(knows(second, 2))
        assert rebuilt_digest(postgres_address)[1] == second.posterior("cars").digest

    share(postgres_address, use)


def test_decisions_of_a_server_that_died_are_counted_once(postgres_address: str) -> None:
    async def use(one: Service, other: Service) -> None:
        await cars(one)
        await until(has(other))
        for k in range(5):
            await shown(one, f"one-{k}")
            await shown(other, f"other-{k}")
        await one._upkeep.stop()
        await shown(one, "one-5")
        one._writer.journal.store.close()  # as if it were killed

        async def all_counted() -> bool:
            return (await stats_now(other)).decisions == 11

        await until(all_counted)
        assert (await stats_now(other)).decisions == 11

    share(postgres_address, use)


def test_feedback_waits_for_a_decision_of_another_server(postgres_address: str) -> None:
    async def use(one: Service, other: Service) -> None:
        await cars(one)
        await until(has(other))
        assert await told(other, "x") == "parked"
        assert await decide(one, "x")
        for each in (one, other):
            await until(knows(each, 1))

    share(postgres_address, use)


def test_a_follower_decides_at_once_and_not_by_what_is_old(postgres_address: str) -> None:
    async def use(one: Service) -> None:
        await cars(one)
        async with serving(postgres_address, share=True, most_stale=10.0) as follower:
            assert not await decide(follower, "x", device="mobile")

            async def applied() -> bool:
                return await told(one, "x") in ("applied", "parked")

            await until(applied)
            await until(knows(follower, 1))
            assert follower.ready is None
            assert not leads(follower)
            await follower._upkeep.stop()
            follower._writer.journal.known_at -= 60.0
            with pytest.raises(StaleError, match=r"is 6\d\.\d s old but must be at most 10 s"):
                await decide(follower, "y")
            assert "old but must be at most" in str(follower.ready)

    async def run() -> None:
        async with serving(postgres_address, share=True) as one:
            await use(one)

    asyncio.run(run())


def test_a_server_that_does_not_share_ends_the_others(postgres_address: str) -> None:
    async def run() -> None:
        async with serving(postgres_address, share=True) as one:
            await cars(one)
            async with serving(postgres_address) as alone:
                assert await decide(alone, "x")
                assert not await decide(one, "y")
                await until_equal(lambda: "epoch" in str(one.ready), True)

    asyncio.run(run())


def test_a_transaction_tells_the_others(postgres_address: str) -> None:
    """Also without looking again and again."""

    async def use(one: Service, other: Service) -> None:
        other.listen(postgres_address)
        await until_equal(lambda: listening(postgres_address), 1)
        other._upkeep._sweeping.cancel()
        await cars(one)
        await until(has(other))

    share(postgres_address, use)


def test_a_snapshot_does_not_hide_what_another_wrote_before_it(postgres_address: str) -> None:
    """It is a transaction that follows nobody, and leaves a stamp of its own."""

    async def use(one: Service, other: Service) -> None:
        await until_equal(lambda: [leads(one), leads(other)].count(True), 1)
        first, second = (one, other) if leads(one) else (other, one)
        await cars(first)
        await until(has(second))
        for name in ("x", "y", "z"):
            assert await decide(first, name)
        for each in (first, second):
            await each._upkeep.stop()
        assert await told(first, "x") == "applied"
        await first._writer.call(id)  # its thread has nothing left to do
        journal = first._writer.journal
        journal.keepers["cars"].learning.pack()
        assert await told(second, "y") == "applied"
        journal.snapshot("cars")
        assert await told(first, "z") == "applied"
        assert await told(first, "y", key="again") == "duplicate"
        assert first.posterior("cars").impressions == 3

    share(postgres_address, use)


def test_others_are_told_of_what_they_must_know_only(postgres_address: str) -> None:
    """Two servers that told each other of their counts would count without end."""

    async def use(one: Service, other: Service) -> None:
        await cars(one)
        await until(has(other))
        for each in (one, other):
            assert await decide(each, f"grown by {each is one}")
            await each._upkeep.stop()
        with psycopg.connect(postgres_address, autocommit=True) as connection:
            connection.execute("LISTEN fabcost")
            for k, each in enumerate((one, other) * 5):
                assert await decide(each, f"x{k}")
                await each._writer.count()
                await each._writer.call(id)
            assert await told(one, "x0") == "applied"
            heard = [*connection.notifies(timeout=60.0, stop_after=1)]
            heard += connection.notifies(timeout=0.0)
        assert [note.payload for note in heard] == [str(one._writer.journal.store.session.number)]
        assert (await stats_now(other)).decisions == 12

    share(postgres_address, use)


def listening(address: str) -> int:
    with psycopg.connect(address) as connection:
        query = "SELECT COUNT(*) FROM pg_stat_activity WHERE query = 'LISTEN fabcost'"
        ((found,),) = connection.execute(query).fetchall()
    return int(found)
