"""Recommenders with a wide belief, and schemas whose columns a hash chooses."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabcost import (
    FabCost,
    Gaussian,
    HalfLife,
    Prior,
    Recommender,
    Schema,
    Thompson,
    Wide,
    WideFabCost,
)
from fabcost.features.hashed import HashedSchema
from fabcost.recommend.document import FORMAT

MAKES, DEVICES = ("kia", "ford", "audi"), ("tv", "mobile")
ADVERTS: dict[str, Any] = {
    f"ad-{k}": {"make": MAKES[k % 3], "age": float(k), "new": k % 2 == 0} for k in range(7)
}
MASK64 = 2**64 - 1


def declared() -> Schema:
    return Schema.from_dict(
        {
            "features": {
                "device": {"kind": "categorical", "role": "context", "levels": list(DEVICES)},
                "make": {"kind": "text", "limit": 1},
                "age": {"kind": "numeric", "mean": 2.5, "scale": 2.0},
            },
            "crosses": [["device", "make"], ["make", "age"]],
        }
    )


def label_hash(label: str) -> int:
    return int.from_bytes(hashlib.blake2b(label.encode(), digest_size=6).digest(), "big")


def pair_hash(first: str, second: str) -> int:
    z = (label_hash(first) * 0x9E3779B97F4A7C15 + label_hash(second)) & MASK64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK64
    return z ^ (z >> 31)


@pytest.mark.parametrize("bits", [3, 20])
def test_rows_are_those_of_plain_python(bits: int) -> None:
    """Also where many names meet in a column: their numbers are added up."""
    schema = HashedSchema(declared(), bits)
    items = {name: {"make": each["make"], "age": each["age"]} for name, each in ADVERTS.items()}
    rows = schema.folded({"device": "tv"}, schema.encode_items(items))
    for k, item in enumerate(items.values()):
        make, age = f"make={item['make']}", (item["age"] - 2.5) / 2.0
        expected = np.zeros(2**bits)
        expected[0] += 1.0
        for found, number in (
            (label_hash("device=tv"), 1.0),
            (label_hash(make), 1.0),
            (label_hash("age"), age),
            (pair_hash("device=tv", make), 1.0),
            (pair_hash(make, "age"), age),
        ):
            expected[found % 2**bits] += number
        np.testing.assert_allclose(rows.dense()[k], expected, rtol=1e-15)


def test_a_hashed_schema_reads_and_refuses_as_the_one_it_was_made_of() -> None:
    schema = HashedSchema(declared(), 10)
    with pytest.raises(ValueError, match="item feature 'age' is 'old' but must be a number"):
        schema.encode_items({"ad": {"age": "old", "make": "kia"}})
    with pytest.raises(ValueError, match="has a key 'colour'"):
        schema.encode_items({"ad": {"colour": "red"}})
    with pytest.raises(ValueError, match="are sparse"):
        schema.design([{"device": "tv", "make": "kia", "age": 1.0}])
    assert schema.columns == ()
    assert not schema.grows


def test_names_are_those_of_the_columns() -> None:
    schema = HashedSchema(Schema.open(), 20)
    items = schema.encode_items(ADVERTS)
    for k, (name, item) in enumerate(ADVERTS.items()):
        rows = schema.folded({"device": "tv"}, items)
        columns, _ = rows.numbers(k)
        names = schema.names({"device": "tv"}, item)
        assert sorted(names) == columns.tolist(), name
        assert f"device=tv × make={item['make']}" in names.values()


def test_items_of_before_a_feature_came_have_nothing_of_it() -> None:
    schema = HashedSchema(Schema.open(), 20)
    old = schema.encode_items({"ad-1": {"make": "kia"}})
    new = schema.encode_items({"ad-2": {"make": "kia", "colour": "red"}})
    one, two = (
        schema.folded({"device": "tv"}, old.joined(new)),
        schema.folded({"device": "tv"}, old),
    )
    assert [each.tolist() for each in one.numbers(0)] == [each.tolist() for each in two.numbers(0)]
    assert one.numbers(1)[0].size == one.numbers(0)[0].size + 2


def visits(recommender: Recommender, count: int) -> list[Any]:
    shown, catalogue = [], recommender.catalogue(ADVERTS)
    for k in range(count):
        device = DEVICES[k % 2]
        offered: Any = catalogue if k % 3 else ADVERTS
        decision = recommender.recommend({"device": device}, offered, draws=64, now=float(k))
        liked = ADVERTS[decision.item]["make"] == MAKES[k % 2]
        if k % 5:
            recommender.feedback(decision.id, clicked=liked, now=float(k))
        shown.append((decision.item, liked))
    return shown


def test_it_learns_what_suits_whom() -> None:
    """Of the last 100 visitors most see what they like; a third or so would by chance."""
    recommender = Recommender(Schema.open(), belief=Wide(bits=18), seed=1)
    shown = visits(recommender, 400)
    assert sum(liked for _, liked in shown[300:]) > 80
    assert isinstance(recommender.learner, WideFabCost)
    assert recommender.learner.seen == 320
    assert recommender.alarms == ()


def test_a_saved_one_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    recommender = Recommender(Schema.open(), belief=Wide(bits=16, core=9), seed=2, wait=50.0)
    visits(recommender, 60)
    recommender.save(tmp_path / "wide.fabcost")
    header = (tmp_path / "wide.fabcost").read_bytes()[:40]
    assert header.startswith(f"{FORMAT.word} 6 ".encode())
    again = Recommender.load(tmp_path / "wide.fabcost")
    assert again.pending == recommender.pending
    assert again.learner.name == Wide(bits=16, core=9)  # type: ignore[attr-defined]
    assert visits(again, 60) == visits(recommender, 60)
    assert again.learner.posterior.digest() == recommender.learner.posterior.digest()


def test_files_without_one_are_of_the_version_that_they_had(tmp_path: Path) -> None:
    Recommender(Schema.open(), policy=Thompson()).save(tmp_path / "full.fabcost")
    assert (tmp_path / "full.fabcost").read_bytes().startswith(f"{FORMAT.word} 2 ".encode())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"learner": FabCost(Gaussian.isotropic(1))}, "brings its learner"),
        ({"prior": Prior()}, "one variance of its own"),
        ({"prior_variance": 1.0}, "one variance of its own"),
        ({"start": Recommender(Schema.open())}, "starts from a wide one"),
    ],
)
def test_what_a_wide_belief_has_not_is_refused_in_words(given: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Recommender(Schema.open(), belief=Wide(bits=8), **given)


def test_it_forgets_learns_fractions_and_starts_from_another(tmp_path: Path) -> None:
    source = Recommender(Schema.open(), belief=Wide(bits=10), seed=3)
    visits(source, 200)
    how: dict[str, Any] = {"start": source, "half_life": HalfLife(50.0, "seconds")}
    rec = Recommender(Schema.open(), belief=Wide(bits=10), **how)
    assert not rec.schema.features.keys() - source.schema.features.keys()
    assert rec.learner.posterior.known.size == source.learner.posterior.known.size
    for now in range(30):
        decision = rec.recommend({"device": "tv"}, {1: {"make": "kia"}, 2: {}}, now=float(now))
        rec.feedback(decision.id, clicked=0.3, now=float(now))
    assert rec.learner.remade > 5  # type: ignore[attr-defined]
    rec.save(tmp_path / "wide")
    again = Recommender.load(tmp_path / "wide")
    assert again.learner.half_life == HalfLife(50.0, "seconds")  # type: ignore[attr-defined]
    for each in (rec, again):
        each.recommend({"device": "tv"}, {1: {"make": "kia"}}, now=40.0)
        each.feedback(30, clicked=True, now=40.0)
    assert again.learner.posterior.digest() == rec.learner.posterior.digest()


def test_nothing_starts_from_a_wide_belief() -> None:
    wide = Recommender(Schema.open(), belief=Wide(bits=8))
    with pytest.raises(ValueError, match="is a WideFabCost but must be FabCost"):
        Recommender(Schema.open(), start=wide)


@pytest.mark.parametrize("given", [{"bits": 0}, {"bits": 25}, {"core": -1}, {"variance": 0.0}])
def test_a_name_of_no_belief_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match="must"):
        Wide(**given)
