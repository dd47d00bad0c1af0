"""A recommender that starts from another: columns by name, numbers of other scales, files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabcost import Boolean, Categorical, FabCost, Gaussian, Numeric, Prior, Recommender, Schema
from fabcost.recommend.weights import Start

ITEMS: dict[str, dict[str, Any]] = {
    f"ad-{k}": {"make": ("ford", "kia", "bmw")[k % 3], "price": 9_000.0 + 500 * k} for k in range(9)
}


def played(schema: Schema, visits: int = 150) -> Recommender:
    """A market in which kias, and expensive cars on the phone, are clicked."""
    rec, rng = Recommender(schema, seed=1), np.random.default_rng(1)
    for visit in range(visits):
        device = ("phone", "desktop")[visit % 2]
        decision = rec.recommend({"device": device}, ITEMS)
        item = ITEMS[decision.item]
        liked = (item["make"] == "kia") + (device == "phone") * (item["price"] > 11_000)
        rec.feedback(decision.id, clicked=rng.random() < (0.05, 0.3, 0.6)[liked])
    return rec


@pytest.fixture(scope="module")
def source() -> Recommender:
    return played(Schema.open())


def declared(mean: float, scale: float, **more: object) -> Schema:
    device = Categorical("device", "context", levels=("phone", "desktop"))
    make = Categorical("make", levels=("ford", "kia", "bmw"))
    price = Numeric("price", mean=mean, scale=scale)
    crosses = [("device", "price"), ("device", "make")]
    return Schema([device, make, price, *more.values()], crosses=crosses)  # type: ignore[list-item]


def test_an_open_schema_begins_with_the_columns_and_all_that_is_known(source: Recommender) -> None:
    rec = Recommender(Schema.open(), start=source, discount=1.0)
    assert rec.schema.columns == source.schema.columns
    learner = source.learner
    np.testing.assert_allclose(rec.learner.posterior.mean, learner.posterior.mean, atol=1e-8)
    np.testing.assert_allclose(rec.learner.posterior.sd, learner.posterior.sd, rtol=1e-7)


@pytest.mark.parametrize("features", [("bias", "colour"), ("make", "make=kia")])
def test_columns_that_are_named_alike_are_not_mistaken(features: tuple[str, str]) -> None:
    """Such as the constant and a number called "bias", or make = "kia=red" and make=kia = "red"."""
    first, text = features
    values = {"bias": (0.1, 2.5, 4.0), "make": ("kia=red", "kia", "red")}[first]
    words = ("red", "blue", "red")
    items: dict[str, dict[str, Any]] = {
        str(k): {first: values[k], text: words[k]} for k in range(3)
    }
    rec, rng = Recommender(Schema.open(), seed=1, prior=Prior(items=0.0)), np.random.default_rng(1)
    for _ in range(100):
        decision = rec.recommend({"day": "sun"}, items)
        rec.feedback(decision.id, clicked=rng.random() < (0.05, 0.5, 0.3)[int(decision.item)])
    other = Recommender(Schema.open(), start=rec, discount=1.0, prior=Prior(items=0.0))
    assert other.schema.columns == rec.schema.columns
    here, there = other.learner.posterior, rec.learner.posterior
    np.testing.assert_allclose(here.mean, there.mean, atol=1e-8)
    np.testing.assert_allclose(here.sd, there.sd, rtol=1e-7)


def test_items_of_the_same_key_bring_their_effects(source: Recommender) -> None:
    rec = Recommender(Schema.open(), start=source, discount=1.0)
    assert rec.own is not None
    assert source.own is not None
    names = [*ITEMS, "of here only"]
    found = rec.own.effects(rec.learner.posterior, names)
    expected = source.own.effects(source.learner.posterior, names)
    np.testing.assert_allclose(found.mean, expected.mean, atol=1e-10)
    np.testing.assert_allclose(found.variance, expected.variance, rtol=1e-10)
    assert np.ptp(found.mean) > 0.1
    assert found.variance[-1] == pytest.approx(rec.prior.items)


@pytest.mark.parametrize("prior", [Prior.same(1.0), Prior(items=0.0)])
def test_effects_stay_there_if_items_have_none_here(source: Recommender, prior: Prior) -> None:
    rec = Recommender(Schema.open(), start=source, discount=1.0, prior=prior)
    assert rec.own is None


def test_numbers_of_another_scale_have_the_same_effects_beside_them() -> None:
    wide, narrow = declared(9_000.0, 4_000.0), declared(12_000.0, 500.0)
    source, names = played(wide), tuple(ITEMS)
    starts = [
        Recommender(each, start=source, prior=Prior(1e6, 1e6, 1e6, 1e6, 1.0), discount=1.0)
        for each in (wide, narrow)
    ]
    found = [
        rec.own.marginal(
            rec.learner.posterior,
            rec.schema.rows({"device": "phone"}, rec.schema.encode_items(ITEMS)),
            names,
        )
        for rec in starts
        if rec.own is not None
    ]
    np.testing.assert_allclose(found[1].mean, found[0].mean, atol=2e-3)
    np.testing.assert_allclose(found[1].variance, found[0].variance, rtol=2e-2)


def test_new_features_come_beside_and_revisions_keep_what_is_inherited(source: Recommender) -> None:
    rec = Recommender(Schema.open(), start=source, discount=1.0)
    before = rec.learner.posterior.mean
    items = {
        name: {**item, "doors": 2 + k, "new": k % 2 == 0}
        for k, (name, item) in enumerate(ITEMS.items())
    }
    rec.recommend({"device": "tv"}, items)
    assert set(source.schema.columns) < set(rec.schema.columns)
    kept = rec.learner.posterior.mean[: before.size]
    # The constant takes up where numbers of new features have their centre.
    np.testing.assert_allclose(kept[1:], before[1:], atol=1e-8)


def test_numbers_of_another_scale_predict_the_same() -> None:
    wide, narrow = declared(9_000.0, 4_000.0), declared(12_000.0, 500.0)
    source = played(wide)
    rec = Recommender(narrow, start=source, prior=Prior.same(1e6), discount=1.0)
    flat = Recommender(wide, start=source, prior=Prior.same(1e6), discount=1.0)
    for device in ("phone", "desktop"):
        rows, others = (
            each.schema.rows({"device": device}, each.schema.encode_items(ITEMS))
            for each in (rec, flat)
        )
        found = rec.learner.posterior.marginal(rows)
        expected = flat.learner.posterior.marginal(others)
        np.testing.assert_allclose(found.mean, expected.mean, atol=2e-3)
        np.testing.assert_allclose(found.variance, expected.variance, rtol=2e-2)


def test_columns_that_only_one_has_are_left_at_the_prior_or_integrated_out() -> None:
    source = played(declared(10_000.0, 2_000.0))
    some = Schema([Categorical("make", levels=("kia", "seat")), Boolean("new")])
    learner = Start(source.schema, source.learner, 1.0).on(some.prior(Prior()), some)
    found = dict(zip(some.columns, learner.prior.mean.tolist(), strict=True))
    assert found["make=seat"] == found["new"] == 0.0
    place = source.schema.columns.index("make=kia")
    pair = [0, place]
    covariance = source.learner.posterior.covariance[np.ix_(pair, pair)]
    ours = [0, some.columns.index("make=kia")]
    np.testing.assert_allclose(learner.prior.covariance[np.ix_(ours, ours)], covariance, rtol=1e-6)
    assert found["make=kia"] == pytest.approx(source.learner.posterior.mean[place])


def test_no_column_in_common_is_refused(source: Recommender) -> None:
    with pytest.raises(ValueError, match="no column of the schema has the name"):
        Recommender(Schema([Boolean("new")], bias=False), start=source)


def test_a_learner_beside_a_start_is_refused(source: Recommender) -> None:
    schema = Schema([Boolean("new")])
    with pytest.raises(ValueError, match="must be None beside a learner"):
        Recommender(schema, learner=FabCost(Gaussian.isotropic(2)), start=source)


def test_a_file_is_as_good_as_the_recommender_and_goes_on_with_the_same_bits(
    source: Recommender, tmp_path: Path
) -> None:
    source.save(tmp_path / "source")
    first = Recommender(Schema.open(), start=source, seed=3)
    second = Recommender(Schema.open(), start=tmp_path / "source", seed=3)
    for visit in range(40):
        for rec in (first, second):
            decision = rec.recommend({"device": "phone"}, ITEMS)
            rec.feedback(decision.id, clicked=visit % 5 == 0)
        second = Recommender.from_bytes(second.to_bytes())
    assert first.to_bytes() == second.to_bytes()


def test_a_recommender_of_a_start_can_be_one_itself(source: Recommender) -> None:
    between = Recommender(Schema.open(), start=source, discount=1.0)
    rec = Recommender(Schema.open(), start=between, discount=1.0)
    expected = source.learner.posterior.mean
    np.testing.assert_allclose(rec.learner.posterior.mean, expected, atol=1e-7)
