"""Values learnt as fractions of a click, over both stores."""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any

import numpy as np
import pytest

from fabcost import FabCost, Tally
from fabcost.service.learning.follower import dense
from fabcost.service.learning.recovery import Recovery, new_learner, schema_of
from fabcost.service.store.rows import impression
from fabcost.service.store.store import store_at
from fabcost.wire.errors import InvalidRequestError
from fabcost.wire.line import LoggedImpression
from fabcost.wire.settings import HalfLifeSettings, ModelSettings, changed
from tests.service.core.learners import from_beginning, from_snapshot
from tests.service.core.running import ITEMS, Hands, cars, serving, shown, stats_now, told, until
from tests.service.core.test_learning import same_bits

VALUES = [0.3, 1.0, 0.0, 0.75, 0.5, 0.1, 0.0, 1.0, 0.625] * 4
PLAIN: dict[str, Any] = {"prior_variance": 10.0, "values": "fraction"}
SETTINGS: dict[str, dict[str, Any]] = {
    "one variance": PLAIN,
    "own effects": {"values": "fraction"},
    "most kept": {**PLAIN, "most_kept": 8},
    "half-life": {**PLAIN, "half_life": HalfLifeSettings(10.0)},
}


async def visited(service: Any, values: list[float], start: int = 0) -> None:
    for k, value in enumerate(values, start):
        await shown(service, f"d{k}")
        assert await told(service, f"d{k}", value) == "applied"


def by_the_library(address: str, settings: ModelSettings) -> FabCost:
    """What `FabCost` makes of the rows and values of the log, given one by one."""
    store = store_at(address)
    store.open(take_over=False)
    rows = sorted(store.history("cars", after=0, limit=1000), key=lambda row: row.lsn or 0)
    store.close()
    schema = schema_of(settings)
    learner = new_learner(settings, schema.prior(settings.variances()), settings.refresh.schedule())
    for row in rows:
        shown_row = impression(row.features)
        learner.grow(10.0, max(shown_row.width - learner.prior.dimension, 0))
        x = dense([shown_row], learner.prior.dimension)[0]
        learner.observe(x, Tally(row.value or 0.0, 1.0), row.item, at=row.made)
    return learner


@pytest.mark.parametrize("kind", ["one variance", "most kept", "half-life"])
def test_each_value_is_a_site_of_its_own(store_address: str, kind: str) -> None:
    settings = ModelSettings(**SETTINGS[kind])

    async def main() -> Any:
        async with serving(store_address) as service:
            await cars(service, **SETTINGS[kind])
            await visited(service, VALUES)
            return service._registry.of("cars").learning.published.belief

    found, expected = asyncio.run(main()), by_the_library(store_address, settings).posterior
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.covariance, expected.covariance, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", SETTINGS)
def test_restarts_snapshots_and_replays_have_the_same_bits(store_address: str, kind: str) -> None:
    async def life(*, restarts: bool) -> str:
        parts = [VALUES[:13], VALUES[13:14], VALUES[14:]] if restarts else [VALUES]
        done = 0
        for part in parts:
            async with serving(store_address) as service:
                if done == 0:
                    await service.create_model("cars", ModelSettings(**SETTINGS[kind]))
                    await service.put_items("cars", ITEMS)
                await visited(service, part, done)
                done += len(part)
                digest = service.posterior("cars").digest
        if not restarts:
            async with serving(store_address) as service:
                assert service.posterior("cars").digest == digest
                await service.delete_model("cars")
        return digest

    unstopped = asyncio.run(life(restarts=False))
    assert asyncio.run(life(restarts=True)) == unstopped
    store = store_at(store_address)
    store.open(take_over=True)
    settings = ModelSettings(**SETTINGS[kind])
    schema = schema_of(settings)
    schema.regrow(json.loads(step) for step in store.steps("cars"))
    recovery, head = Recovery(store, "cars", settings, schema), len(VALUES)
    assert store.snapshot_numbers("cars")
    again, resumed = from_beginning(recovery, head).learner, from_snapshot(recovery, head).learner
    assert same_bits(again.posterior, resumed.posterior)
    store.close()


def run(address: str, scenario: Any, **settings: Any) -> None:
    async def main() -> None:
        hands = Hands()
        async with serving(address, hands) as service:
            await cars(service, **settings)
            await scenario(service, hands)

    asyncio.run(main())


def test_statistics_have_their_sums(store_address: str) -> None:
    async def scenario(service: Any, hands: Hands) -> None:
        await visited(service, [0.25, 0.0, 0.5])
        stats = await stats_now(service)
        assert sum(each.rewards for each in stats.buckets) == 0.75
        assert sum(each.clicks for each in stats.buckets) == 2
        assert sum(each.rewards for each in stats.calibration) == 0.75
        assert sum(each.rewards for each in stats.top_items) == 0.75
        # The first was predicted by the prior, whose probability is one half.
        (first,) = (each for each in stats.buckets[:1])
        assert first.log_loss > math.log(2.0)

    run(store_address, scenario, **PLAIN)


def test_clicks_are_their_own_rewards(store_address: str) -> None:
    async def scenario(service: Any, hands: Hands) -> None:
        await visited(service, [0.25, 0.0, 3.0])
        stats = await stats_now(service)
        assert sum(each.rewards for each in stats.buckets) == 2.0
        assert sum(each.clicks for each in stats.buckets) == 2

    run(store_address, scenario)


def test_a_value_beyond_the_ends_is_refused_and_changes_nothing(store_address: str) -> None:
    async def scenario(service: Any, hands: Hands) -> None:
        await shown(service, "d")
        for value in (5.5, -1.5):
            with pytest.raises(InvalidRequestError, match=f"value is {value:g} but .* -1 to 5 as"):
                await told(service, "d", value)
        assert await told(service, "d", 2.0) == "applied"
        assert sum(each.rewards for each in (await stats_now(service)).buckets) == 0.5

    run(store_address, scenario, values="fraction", least_value=-1.0, largest_value=5.0)


def test_a_sum_beyond_the_ends_counts_as_the_nearer_one(store_address: str) -> None:
    async def scenario(service: Any, hands: Hands) -> None:
        await shown(service, "d")
        for key in "ab":
            assert await told(service, "d", 0.75, key=key) == "recorded"
        hands.pass_by(10.5)
        await until(lambda: has(service, 1))
        assert (await service.decision("cars", "d")).value == 1.5
        assert sum(each.rewards for each in (await stats_now(service)).buckets) == 1.0

    run(store_address, scenario, **PLAIN, aggregation="sum", reward_wait_seconds=10.0)


async def has(service: Any, count: int) -> bool:
    return bool(service.model("cars").impressions == count)


def test_a_log_is_imported_with_its_values(store_address: str) -> None:
    line = LoggedImpression(candidates={"a": {"age": 3}, "b": {}}, item="a", value=0.3)

    async def scenario(service: Any, hands: Hands) -> None:
        assert await service.import_log("cars", [line]) == 1
        assert sum(each.rewards for each in (await stats_now(service)).buckets) == 0.3
        wrong = LoggedImpression(candidates={"a": {}}, item="a", value=1.5)
        with pytest.raises(InvalidRequestError, match=r"line 2: value is 1\.5 but"):
            await service.check_log("cars", lambda: [(1, line), (2, wrong)])
        await service.change_model("cars", {"aggregation": "sum"})
        await service.check_log("cars", lambda: [(1, line), (2, wrong)])

    run(store_address, scenario, **PLAIN)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"least_value": 1.0}, "least_value is 1 but must be below largest_value, which is 1"),
        ({"moments": "mackay"}, "moments is 'mackay' but values as fractions need 'exact'"),
        ({"default_reward": -0.5}, "default_reward is -0.5 but the model learns values from 0"),
    ],
)
def test_settings_that_do_not_fit(settings: dict[str, Any], words: str) -> None:
    ModelSettings(**settings)
    with pytest.raises(ValueError, match=words):
        ModelSettings(values="fraction", **settings)


def test_how_values_count_is_fixed() -> None:
    fractions = ModelSettings(values="fraction")
    for name, value in (("values", "click"), ("largest_value", 2.0)):
        with pytest.raises(ValueError, match="cannot be changed"):
            changed(fractions, {name: value})
    with pytest.raises(ValueError, match="default_reward is 2 but"):
        changed(fractions, {"default_reward": 2.0})
