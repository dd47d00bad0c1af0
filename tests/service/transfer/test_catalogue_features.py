"""Features of a catalogue in an export."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabcost.service import transfer
from fabcost.service.models.candidates import encoded
from fabcost.service.service import Service
from fabcost.service.store.rows import DecisionRecord, StoredDecision
from fabcost.service.transfer import line_of
from fabcost.wire.formats import read_impressions
from fabcost.wire.messages import DecisionAnswer, DecisionRequest, LogFormat, Record
from fabcost.wire.settings import ModelSettings, UniformSettings
from tests.service.transfer.playing import CANDIDATES, exported, play, served
from tests.wire.logs import FORMATS


def test_features_of_the_catalogue_are_exported(tmp_path: Path) -> None:
    async def work(service: Service) -> None:
        for name in ("here", "there"):
            await service.create_model(name, ModelSettings(policy=UniformSettings()))
        await service.put_items("here", CANDIDATES)
        await play(service, "here", 30, candidates=None)
        body = await exported(service, "here", "jsonl")
        lines = [json.loads(line) for line in body.splitlines()]
        assert all(line["candidates"] == CANDIDATES for line in lines)
        assert not any(line["changed"] or line["missing"] for line in lines)
        await service.delete_items("here", ["ad-2"])
        later = [json.loads(line) for line in (await exported(service, "here", "jsonl")).split()]
        assert all(line["changed"] for line in later)
        chosen = [line for line in later if line["item"] == "ad-2"]
        others = [line for line in later if line["item"] != "ad-2"]
        assert chosen
        assert others
        assert all(line["missing"] == ["ad-2"] for line in others)
        assert all(line["candidates"] == CANDIDATES and not line["missing"] for line in chosen)
        gone = await exported(service, "here", "dsjson")
        assert await transfer.load(service, "there", "dsjson", gone) == 30
        assert service.posterior("there").impressions == 30

    served(tmp_path, work)


@pytest.mark.parametrize("form", FORMATS)
def test_the_chosen_item_has_the_features_with_which_it_was_chosen(
    form: LogFormat, tmp_path: Path
) -> None:
    async def work(service: Service) -> None:
        await service.create_model("here", ModelSettings())
        await service.put_items("here", CANDIDATES)
        first = await service.decide("here", DecisionRequest())
        now: dict[str, Record] = {item: {"make": "fiat"} for item in CANDIDATES}
        await service.put_items("here", now)
        await service.decide("here", DecisionRequest())
        body = await exported(service, "here", form)
        found = [each.candidates for _, each in read_impressions(body, form)]
        assert found == [{**now, first.item: CANDIDATES[first.item]}, now]

    served(tmp_path, work)


def test_features_that_were_not_kept_are_those_of_the_catalogue() -> None:
    now: dict[str, Record] = {"ad-2": {"age": 2}}
    kept: list[Record | None] = [None, {}, {"age": 1}]
    lines = [line_of(stored(each), 2, now.get) for each in kept]
    assert [line.candidates["ad-1"] for line in lines] == [{}, {}, {"age": 1}]
    assert [line.missing for line in lines] == [("ad-1",), (), ()]
    assert all(line.candidates["ad-2"] == {"age": 2} for line in lines)


def stored(features: Record | None) -> StoredDecision:
    answer = DecisionAnswer(
        decision_id="d",
        item="ad-1",
        ranking=["ad-1"],
        scores=[0.0],
        propensities=None,
        arm="bandit",
        posterior_version="0.0",
        deadline=1.0,
    )
    made = DecisionRecord(
        context={},
        candidates=["ad-1", "ad-2"],
        answer=answer,
        mode="online",
        item_features=features,
        catalogue_version=1,
    )
    known = ("news", "d", 0.0, 1.0, "bandit", "ad-1", True, True, "[[],[]]", encoded(made))
    return StoredDecision(*known, 1.0, 0.0, 1, None, None, None, None, None)
