"""A model whose prior is what another has learnt."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from fabcost import Recommender, Schema
from fabcost.service.service import Service
from fabcost.wire.errors import InvalidRequestError
from fabcost.wire.line import LoggedImpression
from fabcost.wire.settings import HalfLifeSettings, ModelSettings, RefreshSettings
from tests.service.transfer.playing import CANDIDATES, play, served


def test_the_prior_is_the_posterior_of_the_other(tmp_path: Path) -> None:
    async def work(service: Service) -> None:
        await service.create_model("here", ModelSettings())
        await play(service, "here", 40)
        content = await service.export_model("here")
        settings = ModelSettings(seed=3, refresh=RefreshSettings(growth=1.5))
        made = await service.start_model("there", content, settings, 1.0)
        assert (made.impressions, made.settings.seed) == (0, 3)
        assert made.settings.refresh.growth == 1.5
        ours, theirs = (service.posterior(name).weights for name in ("there", "here"))
        assert [each.name for each in ours] == [each.name for each in theirs]
        np.testing.assert_allclose([e.mean for e in ours], [e.mean for e in theirs], atol=1e-8)
        np.testing.assert_allclose([e.sd for e in ours], [e.sd for e in theirs], rtol=1e-7)

    served(tmp_path, work)


def test_items_that_the_other_knew_bring_their_effects(tmp_path: Path) -> None:
    async def work(service: Service) -> None:
        await service.create_model("here", ModelSettings())
        await play(service, "here", 40)
        content = await service.export_model("here")
        await service.start_model("there", content, ModelSettings(), 1.0)
        here, there = (
            Recommender.from_bytes(each).learner
            for each in (content, await service.export_model("there"))
        )
        found, expected = (
            each.own.effects(each.posterior, [*CANDIDATES, "new"])  # type: ignore[attr-defined]
            for each in (there, here)
        )
        np.testing.assert_allclose(found.mean, expected.mean, atol=1e-10)
        np.testing.assert_allclose(found.variance, expected.variance, rtol=1e-10)
        assert np.all(found.variance[:3] < 0.98 * found.variance[3])
        # Decisions know of them too.
        own, belief = there.own, there.posterior  # type: ignore[attr-defined]
        content = belief.mean.tobytes() + belief.root.tobytes() + json.dumps(own.keys).encode()
        digest = hashlib.sha256(content + own.rows.tobytes()).hexdigest()
        assert service.posterior("there").digest == digest

    served(tmp_path, work)


#: Of which some keep not all of the first outcomes for a refresh to look at.
KEPT = {
    "all": ModelSettings(),
    "none": ModelSettings(refresh=RefreshSettings(kind="never")),
    "few": ModelSettings(most_kept=15),
    "fading": ModelSettings(half_life=HalfLifeSettings(40.0)),
    "fading by time": ModelSettings(half_life=HalfLifeSettings(40.0, "seconds")),
}


@pytest.mark.parametrize("kept", KEPT)
def test_it_learns_as_a_recommender_of_that_start_and_comes_back_without_the_other(
    tmp_path: Path, kept: str
) -> None:
    found: dict[str, bytes] = {}

    async def before(service: Service) -> None:
        await service.create_model("here", ModelSettings())
        await play(service, "here", 40)
        content = await service.export_model("here")
        await service.start_model("there", content, KEPT[kept], None)
        await service.delete_model("here")
        await play(service, "there", 60)
        found["before"] = await service.export_model("there")
        start = Recommender(Schema.open(), start=Recommender.from_bytes(content)).learner
        learner = Recommender.from_bytes(found["before"]).learner
        assert learner.seen == 60  # type: ignore[attr-defined]
        assert learner.inheritance.look > 60  # type: ignore[attr-defined]
        given = learner.inheritance.information  # type: ignore[attr-defined]
        expected = start.inheritance.information  # type: ignore[attr-defined]
        width = expected.rows.shape[1]
        np.testing.assert_allclose(given.rows[:, :width], expected.rows)
        assert not given.rows[:, width:].any()

    async def after(service: Service) -> None:
        ours, theirs = (
            Recommender.from_bytes(content).learner.state()  # type: ignore[attr-defined]
            for content in (await service.export_model("there"), found["before"])
        )
        assert ours[0] == theirs[0]
        for name, array in theirs[1].items():
            np.testing.assert_array_equal(ours[1][name], array)

    served(tmp_path, before)
    served(tmp_path, after)


@pytest.mark.parametrize("kept", KEPT)
def test_a_market_that_is_the_opposite_is_believed_no_more(tmp_path: Path, kept: str) -> None:
    async def work(service: Service) -> None:
        await service.create_model("here", ModelSettings())
        await service.import_log("here", market(400, liked="ad-1"))
        content = await service.export_model("here")
        await service.start_model("there", content, KEPT[kept], None)
        await service.import_log("there", market(100, liked="ad-2"))
        learner = Recommender.from_bytes(await service.export_model("there")).learner
        assert learner.inheritance.discount == 0.0  # type: ignore[attr-defined]

    served(tmp_path, work)


def market(many: int, liked: str) -> list[LoggedImpression]:
    """A log in which one item is clicked nearly always, and the others hardly ever."""
    rng = np.random.default_rng(3)
    shown = [list(CANDIDATES)[k % 3] for k in range(many)]
    clicks = rng.random(many) < np.where(np.array(shown) == liked, 0.9, 0.1)
    return [
        LoggedImpression(candidates=CANDIDATES, item=item, value=float(clicked))
        for item, clicked in zip(shown, clicks, strict=True)
    ]


@pytest.mark.parametrize("content", [b"", b"something else"])
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    async def work(service: Service) -> None:
        with pytest.raises(InvalidRequestError, match="the file"):
            await service.start_model("there", content, ModelSettings(), None)
        assert service.models() == []

    served(tmp_path, work)
