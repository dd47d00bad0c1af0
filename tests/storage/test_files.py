"""Whatever can be saved is saved and loaded by one pair of functions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import fabcost
from fabcost.features.hashed import hashed

ITEMS = {"ad-1": {"make": "ford", "age": 3}, "ad-2": {"make": "kia", "age": 1}}


def test_a_recommender_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    rec = fabcost.Recommender(fabcost.Schema.open(), seed=7)
    pending = rec.recommend({"device": "tv"}, ITEMS)
    fabcost.save(rec, tmp_path / "file")
    other = fabcost.load(tmp_path / "file")
    assert type(other) is fabcost.Recommender
    for each in (rec, other):
        each.feedback(pending.id, clicked=True)
    assert other.to_bytes() == rec.to_bytes()
    rec.save(tmp_path / "by itself")
    assert fabcost.load(tmp_path / "by itself").to_bytes() == rec.to_bytes()


def test_a_wide_learner(tmp_path: Path) -> None:
    learner = fabcost.WideFabCost(64)
    learner.observe(([3], [1.0]), 1)
    fabcost.save(learner, tmp_path / "file")
    other = fabcost.load(tmp_path / "file")
    assert type(other) is fabcost.WideFabCost
    assert other.posterior.mean.tolist() == learner.posterior.mean.tolist()


def test_a_schema_grows_on_alike(tmp_path: Path) -> None:
    schema = fabcost.Schema.open()
    schema.design([{"age": 3}, {"age": 5, "make": "kia"}])
    fabcost.save(schema, tmp_path / "file")
    other = fabcost.load(tmp_path / "file")
    assert other.to_dict() == schema.to_dict()
    more = [{"age": 9, "make": "ford"}]
    assert other.design(more).tolist() == schema.design(more).tolist()
    assert other.columns == schema.columns


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        (fabcost.BayesianLogisticRegression(), "saved as scikit-learn's estimators are"),
        (hashed(fabcost.Schema.open(), 4), "is a HashedSchema but must be"),
        (3, "is a int but must be a FabCost, WideFabCost, Recommender or Schema"),
    ],
)
def test_what_has_no_file_is_told_and_nothing_written(
    what: Any, sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(TypeError, match=sentence):
        fabcost.save(what, tmp_path / "file")
    assert not list(tmp_path.iterdir())


def test_an_altered_schema_is_noticed(tmp_path: Path) -> None:
    fabcost.save(fabcost.Schema.open(), tmp_path / "file")
    content = (tmp_path / "file").read_bytes()
    (tmp_path / "file").write_bytes(content.replace(b"bias", b"dias"))
    with pytest.raises(ValueError, match="file is truncated or altered"):
        fabcost.load(tmp_path / "file")
