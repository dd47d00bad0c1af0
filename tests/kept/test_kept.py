"""Files of version 0.1.0 are read, and what is learnt from then on has the bits it had there."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import fabcost
from fabcost.service.settings import Settings
from tests.kept import story
from tests.service.http.serving import running
from tests.service.http.waiting import wait_for_the_database

FOLDER = Path(__file__).parent
ENDS = json.loads((FOLDER / "ends.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A server that goes on with the database."""
    file = tmp_path_factory.mktemp("kept") / "service.db"
    file.write_bytes(gzip.decompress((FOLDER / "service.db.gz").read_bytes()))
    with running(Settings(database=str(file))) as server:
        wait_for_the_database(server)
        with server.client() as client:
            yield client


def test_a_learner() -> None:
    assert story.learn(fabcost.load(FOLDER / "learner.fabcost"), 2) == ENDS["learner"]


def test_a_recommender() -> None:
    kept = fabcost.Recommender.load(FOLDER / "recommender.fabcost")
    assert len(kept.pending) == 3
    assert story.recommend(kept, 40) == ENDS["recommender"]


def test_a_database(http: httpx.Client) -> None:
    """A model, its catalogue, decisions, feedback, what waits, and a snapshot."""
    ends = ENDS["database"]
    assert ENDS["snapshots"] == 1
    assert story.seen(http) == ends["seen"]
    assert story.answer_waiting(http) == ends["answers"]
    assert story.weights(http) == ends["weights"]


def test_a_model_file(http: httpx.Client) -> None:
    content = (FOLDER / "model.fabcost").read_bytes()
    http.put("/v1/models/copy/file", content=content, headers=story.FILE).raise_for_status()
    assert story.weights(http, "copy") == ENDS["model"]
    assert isinstance(fabcost.Recommender.from_bytes(content), fabcost.Recommender)
