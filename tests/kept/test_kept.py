"""Files of version 0.1.0 are read, and what is learnt from then on has the bits it had there."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
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


@contextmanager
def going_on(folder: Path) -> Iterator[httpx.Client]:
    """A server that goes on with the database."""
    file = folder / "service.db"
    file.write_bytes(gzip.decompress((FOLDER / "service.db.gz").read_bytes()))
    with running(Settings(database=str(file))) as server:
        wait_for_the_database(server)
        with server.client() as client:
            yield client


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with going_on(tmp_path_factory.mktemp("kept")) as client:
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


def test_a_model_of_before_goes_on_with_its_own_settings(tmp_path: Path) -> None:
    """One variance, no effects of items, no scales, and rows as they were."""
    with going_on(tmp_path) as http:
        settings = http.get(story.MODEL).raise_for_status().json()["settings"]
        asked = {"context": {"device": "mobile", "day": "2026-01-01", "price": 9_000}}
        http.post(f"{story.MODEL}/decisions", json=asked).raise_for_status()
        weights = http.get(f"{story.MODEL}/posterior").raise_for_status().json()["weights"]
    assert settings["prior_variance"] == 10.0
    assert "prior" not in settings
    new = [each for each in weights if each["name"].startswith(("day", "price"))]
    assert {each["name"] for each in new} >= {"day=2026-01-01", "price"}
    assert {each["sd"] for each in new} == {10.0**0.5}
    with closing(sqlite3.connect(tmp_path / "service.db")) as database:
        (row,) = database.execute("SELECT features FROM decisions ORDER BY seq DESC LIMIT 1")
        (kept,) = database.execute("SELECT settings FROM models").fetchone()
    assert len(json.loads(row[0])) == 2
    assert "prior_variance" in json.loads(kept)


def test_a_model_file(http: httpx.Client) -> None:
    content = (FOLDER / "model.fabcost").read_bytes()
    http.put("/v1/models/copy/file", content=content, headers=story.FILE).raise_for_status()
    assert story.weights(http, "copy") == ENDS["model"]
    assert isinstance(fabcost.Recommender.from_bytes(content), fabcost.Recommender)
