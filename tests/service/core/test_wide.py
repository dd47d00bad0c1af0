"""Models with a wide belief: chosen by name, as durable as the others, refused what they lack."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from fabcost import Recommender
from fabcost.inference.wide.learner import WideFabCost
from fabcost.service.learning.follower import Learnt
from fabcost.service.learning.wide import WideFollower
from fabcost.service.service import Service
from fabcost.service.store.rows import Impression
from fabcost.wire.errors import InvalidRequestError
from fabcost.wire.messages import DecisionRequest, FeedbackRequest
from fabcost.wire.settings import ModelSettings, WideSettings
from tests.service.core.running import ITEMS, serving
from tests.service.faults.ledger import rebuilt_digest

BITS = 16
WIDE = {"belief": {"kind": "wide", "bits": BITS, "core": 24}}


def settings(**more: Any) -> ModelSettings:
    return msgspec.convert({**WIDE, **more}, ModelSettings)


def offered(k: int) -> dict[str, Any]:
    return {name: {**each, "price": 900 + k} for name, each in ITEMS.items()}


async def visits(service: Service, count: int, after: int = 0, model: str = "cars") -> list[str]:
    """Kias are clicked on mobiles; feedback comes a few decisions late, in another order."""
    shown, waiting = list[str](), list[tuple[str, float]]()
    for k in range(after, after + count):
        asked = DecisionRequest(
            decision_id=f"d{k}",
            context={"device": ("mobile", "tv")[k % 2], "user": f"u-{k % 11}"},
            candidates=offered(k) if k % 3 == 0 else None,
        )
        item = (await service.decide(model, asked)).item
        shown.append(item)
        waiting.append((f"d{k}", float(k % 2 == 0 and ITEMS[item]["make"] == "kia")))
        if k % 4 == 3:
            for decision, value in reversed(waiting):
                told = FeedbackRequest(decision_id=decision, value=value)
                await service.feedback(model, [told])
            waiting.clear()
    return shown


@pytest.mark.parametrize(
    "more", [{}, {"half_life": {"length": 30}, "values": "fraction", "largest_value": 3.0}], ids=str
)
def test_a_restart_and_a_replay_have_the_same_bits(
    store_address: str, more: dict[str, Any]
) -> None:
    async def main() -> list[str]:
        found = []
        for k in range(3):
            async with serving(store_address) as service:
                if k == 0:
                    await service.create_model("cars", settings(**more))
                    await service.put_items("cars", ITEMS)
                found.append(service.posterior("cars").digest)
                await visits(service, 60, after=60 * k)
                found.append(service.posterior("cars").digest)
        return found

    digests = asyncio.run(main())
    assert digests[1] == digests[2]
    assert digests[3] == digests[4]
    assert rebuilt_digest(store_address, "cars") == (180, digests[5])
    assert len(set(digests)) == 4


def test_it_learns_and_says_its_propensities(tmp_path: Path) -> None:
    """Of the last 40 visitors on a mobile most see a Kia; a third would by chance."""

    async def main() -> None:
        async with serving(str(tmp_path / "log.db")) as service:
            await service.create_model("cars", settings(seed=3))
            await service.put_items("cars", ITEMS)
            shown = await visits(service, 400)
            kias = [ITEMS[item]["make"] == "kia" for item in shown[320::2]]
            assert sum(kias) > 30
            asked = DecisionRequest(context={"device": "mobile"}, top_k=len(ITEMS))
            answer = await service.decide("cars", asked)
            assert answer.propensities is not None
            assert sum(answer.propensities) == pytest.approx(1.0)
            assert service.model("cars").weights == 2**BITS

    asyncio.run(main())


def test_people_are_told_what_cannot_be_listed_and_what_moved_a_decision(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(str(tmp_path / "log.db")) as service:
            await service.create_model("cars", settings())
            await service.put_items("cars", ITEMS)
            await visits(service, 40)
            posterior = service.posterior("cars")
            assert posterior.weights == []
            assert isinstance(posterior.note, str)
            assert f"{2**BITS:,} weights" in posterior.note
            for decision, inline in (("d9", True), ("d10", False)):
                why = await service.explain("cars", decision)
                names = {each.name for each in why.contributions}
                make = f"make={ITEMS[why.decision.item]['make']}"
                device = f"device={why.decision.context['device']}"
                assert {"bias", make, device, f"{device} × {make}"} <= names
                assert ("price" in names) == inline
                assert all(each.sd > 0.0 for each in why.contributions)
                total = sum(each.contribution for each in why.contributions)
                assert (total > 0.0) == (why.click_probability > 0.5)
            stats = await service.stats("cars")
            assert (stats.weights, stats.impressions, stats.refreshes) == (2**BITS, 40, 0)

    asyncio.run(main())


def test_a_file_of_one_goes_on_as_it_would(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(str(tmp_path / "log.db")) as service:
            await service.create_model("cars", settings())
            await service.put_items("cars", ITEMS)
            await visits(service, 80)
            content = await service.export_model("cars")
            recommender = Recommender.from_bytes(content)
            assert isinstance(recommender.learner, WideFabCost)
            assert recommender.learner.seen == 80
            await service.import_model("copy", content)
            await service.put_items("copy", ITEMS)
            assert service.posterior("copy").digest == service.posterior("cars").digest
            assert service.model("copy").settings.belief == service.model("cars").settings.belief
            for model in ("cars", "copy"):
                await visits(service, 40, after=80, model=model)
            digest = service.posterior("cars").digest
            assert service.posterior("copy").digest == digest
        async with serving(str(tmp_path / "log.db")) as service:
            assert service.posterior("copy").digest == digest

    asyncio.run(main())


def test_what_is_handed_over_is_all_there_is() -> None:
    """However often it is collected: also where the learner began with something."""
    rng, learner = np.random.default_rng(5), WideFabCost(200, core=9)
    follower, mirror = WideFollower(learner), WideFabCost(200, core=9).posterior
    follower.learn(some(rng, 30))
    publisher = WideFollower(learner).publisher(30)
    follower = publisher._follower
    for k in range(40):
        follower.learn(some(rng, 3))
        published = publisher.publish(33 + 3 * k, 0, learner)
        if k % 7 in (0, 1, 4):
            collected = publisher.collect()
            assert collected.published is published
            for each in collected.changes:
                mirror.follow(each)
            assert mirror.digest() == learner.posterior.digest()
            assert publisher.collect().changes == ()


def some(rng: np.random.Generator, many: int) -> list[Learnt]:
    rows = [np.unique(rng.integers(0, 200, 6)).tolist() for _ in range(many)]
    return [
        Learnt(Impression(row, [1.0] * len(row)), 2 * (k % 2) - 1) for k, row in enumerate(rows)
    ]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"refresh": {"kind": "geometric", "growth": 2.0}}, "no EP to refresh it"),
        ({"most_kept": 100}, "keeps no impressions"),
        ({"window": 100}, "keeps no impressions"),
        ({"prior": {"items": 1.0}}, "one variance of its own"),
        ({"prior_variance": 1.0}, "one variance of its own"),
        ({"most_weights": 500}, "2^bits weights"),
    ],
)
def test_what_a_wide_belief_has_not_is_refused_in_words(given: Any, words: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=words.replace("^", r"\^")):
        settings(**given)


def test_a_wide_model_starts_from_a_wide_one_only(tmp_path: Path) -> None:
    place = str(tmp_path / "log.db")

    async def main() -> tuple[list[str], str]:
        async with serving(place) as service:
            await service.create_model("plain", ModelSettings())
            content = await service.export_model("plain")
            with pytest.raises(InvalidRequestError, match="starts from a wide one"):
                await service.start_model("other", content, settings(), None)
            await service.create_model("cars", settings())
            await service.put_items("cars", ITEMS)
            await visits(service, 120)
            content = await service.export_model("cars")
            with pytest.raises(InvalidRequestError, match="must be FabCost"):
                await service.start_model("other", content, ModelSettings(), None)
            known = service.posterior("cars").digest
            await service.start_model("like", content, settings(), 1.0)
            await service.start_model("asked", content, settings(half_life={"length": 50}), None)
            for name in ("like", "asked"):
                await service.put_items(name, ITEMS)
                await visits(service, 90, model=name)
            digests = [service.posterior(name).digest for name in ("like", "asked")]
        assert known not in digests
        async with serving(place) as service:
            assert digests == [service.posterior(name).digest for name in ("like", "asked")]
        return digests, known

    digests, _ = asyncio.run(main())
    for name, digest in zip(("like", "asked"), digests, strict=True):
        assert rebuilt_digest(place, name)[1] == digest


def test_the_name_is_needed_and_the_defaults_are_written_down() -> None:
    with pytest.raises(msgspec.ValidationError, match="kind"):
        msgspec.convert({"belief": {"bits": 20}}, ModelSettings)
    assert ModelSettings().belief is msgspec.UNSET
    written = msgspec.to_builtins(settings())["belief"]
    assert written.keys() == {each.name for each in msgspec.structs.fields(WideSettings)}
    assert np.isclose(written["variance"], 0.125)
