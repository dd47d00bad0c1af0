"""Numbers that scale themselves: anchors, constants, and the prior that follows from them."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabcost import Prior, Schema
from fabcost.features.growth import ENOUGH, Constants, Scales
from fabcost.features.prior import SHARED_BY
from fabcost.features.reader import anchors
from fabcost.impressions import FloatArray
from tests.examples import examples

Record = dict[str, Any]
PRIOR = Prior(constant=25.0, numbers=4.0, categories=9.0, crosses=0.25)
COLOURS = ("red", "blue", "green")


def adverts(count: int, seed: int, unit: float = 1.0, shift: float = 0.0) -> dict[int, Record]:
    rng = np.random.default_rng(seed)
    return {
        k: {
            "price": shift + unit * float(np.exp(rng.normal(9.5, 0.8))),
            "year": 2008.0 + float(rng.integers(0, 15)),
            "colour": COLOURS[int(rng.integers(0, 3))],
        }
        for k in range(count)
    }


def lived(bias: bool = True, visits: int = 12) -> Schema:
    """An open schema after a few visits, with numbers on both sides."""
    schema = Schema.open(bias=bias)
    for k in range(visits):
        age, new = 20.0 + 7.0 * (k % 6), bool(k % 2)
        schema.rows({"age": age, "new": new}, schema.encode_items(adverts(4, k)))
    return schema


def standardised(schema: Schema, rows: FloatArray) -> FloatArray:
    """What the columns are when every number is standardised, one product after another."""
    constants = schema._growth.scales.constants
    by_name = dict(zip(schema.columns, rows.T, strict=True))
    found = []
    for name in schema.columns:
        product = np.ones(len(rows))
        for factor in name.split(" × "):
            mean, scale = constants.get(factor, Constants())
            product = product * (by_name[factor] - mean) / scale
        found.append(product)
    return np.stack(found, axis=1)


def variances(schema: Schema) -> list[float]:
    groups = {"bias": PRIOR.constant, "price": PRIOR.numbers, "year": PRIOR.numbers}
    return [
        PRIOR.crosses
        if " × " in name
        else groups.get(name, PRIOR.numbers if name == "age" else PRIOR.categories)
        for name in schema.columns
    ]


def test_the_prior_is_that_of_standardised_features() -> None:
    schema = lived()
    constants = schema._growth.scales.constants
    assert {"price", "year", "age"} == set(constants)
    assert all(each != Constants() for each in constants.values())
    items = schema.encode_items(adverts(30, 99))
    rows = np.vstack([schema.rows({"age": a, "new": a > 40}, items) for a in (21.0, 55.0)])
    by_features = standardised(schema, rows)
    expected = (by_features * variances(schema)) @ by_features.T
    covariance = schema.prior(PRIOR).covariance
    np.testing.assert_allclose(rows @ covariance @ rows.T, expected, rtol=1e-9, atol=1e-9)


def test_without_a_constant_column_numbers_are_only_scaled() -> None:
    schema = lived(bias=False)
    constants = schema._growth.scales.constants
    assert all(mean == 0.0 and scale != 1.0 for mean, scale in constants.values())
    root = schema.prior(PRIOR).root
    np.testing.assert_array_equal(root, np.diag(root.diagonal()))
    place = schema.columns.index("price")
    assert root[place, place] == pytest.approx(2.0 / constants["price"].scale)


def test_growing_block_by_block_gives_the_prior_of_all() -> None:
    schema = lived()
    before = schema.width
    old = schema.prior(PRIOR)
    revised = schema.steps
    items = schema.encode_items({1: {"colour": "pink"}})
    schema.rows({"device": "tv"}, items)
    assert {"age × colour=pink", "device=tv × price"} <= set(schema.columns[before:])
    assert all("constants of" not in step for step in schema.steps_since(revised))
    whole = schema.prior(PRIOR).root
    np.testing.assert_array_equal(whole[:before, :before], old.root)
    np.testing.assert_array_equal(whole[before:, before:], schema.prior(PRIOR, start=before).root)
    assert not whole[:before, before:].any()
    assert not whole[before:, :before].any()


@pytest.mark.parametrize("scaled", [True, False])
def test_a_weight_that_values_share_has_the_prior_of_their_mean(scaled: bool) -> None:
    schema = Schema.open(limit=4, buckets=2, scaled=scaled)
    items = schema.encode_items({1: {"colour": "red"}, 2: {"colour": "blue"}})
    for k in range(40):
        schema.rows({"user": f"user {k}"}, items)
    variance = dict(zip(schema.columns, schema.prior(PRIOR).covariance.diagonal(), strict=True))
    alone = {name: each for name, each in variance.items() if "#" not in name and name != "bias"}
    shared = {name: each for name, each in variance.items() if "#" in name}
    assert {"user#0", "user#1 × colour=red"} <= set(shared)
    assert {"user=user 3", "user=user 3 × colour=blue"} <= set(alone)
    # An effect of variance v of each of many values: the mean of m has v/m, whatever v is.
    m = SHARED_BY if scaled else 1
    for values, divisor in ((alone, 1), (shared, m)):
        for name, each in values.items():
            v = PRIOR.crosses if " × " in name else PRIOR.categories
            assert each == pytest.approx(v / divisor), name


def test_a_declared_number_keeps_its_constants() -> None:
    declared = Schema.from_dict({"features": {"price": {"kind": "numeric", "scale": 5_000.0}}})
    plain = Schema.open(scaled=False)
    for schema in (declared, plain):
        for k in range(20):
            schema.encode_items({n: {"price": r["price"]} for n, r in adverts(4, k).items()})
        np.testing.assert_array_equal(schema.prior(Prior.same(4.0)).root, 2.0 * np.eye(2))
    assert json.dumps(plain.to_dict()["grown"]).count("constants of") == 0
    np.testing.assert_array_equal(plain.design([{"price": 7_000}])[0], [1.0, 7_000.0])


def test_rows_never_change_though_constants_do() -> None:
    schema = Schema.open()
    items = adverts(20, 0)
    first = schema.rows({"age": 30}, schema.encode_items(items))
    steps = schema.steps
    for k in range(40):
        schema.rows({"age": 20.0 + k}, schema.encode_items(adverts(20, k + 1, unit=3.0)))
    assert any("constants of" in step for step in schema.steps_since(steps))
    again = schema.rows({"age": 30}, schema.encode_items(items))
    np.testing.assert_array_equal(again[:, : first.shape[1]], first)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 30))
def test_a_schema_that_is_grown_again_has_the_same_bits(seed: int, visits: int) -> None:
    schema = Schema.open()
    rng = np.random.default_rng(seed)
    for _ in range(visits):
        many = int(rng.integers(1, 6))
        items = adverts(many, int(rng.integers(0, 2**30)), unit=float(rng.choice([1.0, 50.0])))
        schema.rows({"age": float(rng.normal(40, 10))}, schema.encode_items(items))
    steps = json.loads(json.dumps(schema.steps_since(0)))
    by_steps = Schema.open()
    by_steps.regrow(steps)
    by_document = Schema.from_dict(json.loads(json.dumps(schema.to_dict())))
    assert by_document.to_dict() == schema.to_dict()
    for other in (by_steps, by_document):
        assert other.columns == schema.columns
        assert other.prior(PRIOR).root.tobytes() == schema.prior(PRIOR).root.tobytes()
    more = adverts(7, seed)
    rows = [each.rows({"age": 3}, each.encode_items(more)) for each in (schema, by_document)]
    assert rows[0].tobytes() == rows[1].tobytes()
    assert by_document.to_dict() == schema.to_dict()


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=40).filter(any),
    st.floats(1e-3, 1e3),
    st.sampled_from([-1.0, 1.0]),
)
def test_anchors_follow_the_unit(given: list[int], unit: float, sign: float) -> None:
    values = [each / 1024.0 for each in given]
    centre, scale = anchors(values)
    moved = anchors([sign * unit * value for value in values])
    assert moved == pytest.approx((sign * unit * centre, unit * scale), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], (0.0, 1.0)),
        ([0.0], (0.0, 1.0)),
        ([-4.0], (-4.0, 4.0)),
        ([7.0, 7.0, 7.0], (7.0, 7.0)),
        ([0.0, 0.0, 0.0, 0.0, 10.0], (0.0, 4.0)),
        ([9_999.0, 10_001.0], (10_000.0, 2_500.0)),
    ],
)
def test_a_scale_is_never_zero_and_errs_to_the_large(
    values: list[float], expected: tuple[float, float]
) -> None:
    assert anchors(values) == expected


def test_one_wild_value_among_many_leaves_the_anchors() -> None:
    prices = [each["price"] for each in adverts(40, 5).values()]
    centre, scale = anchors(prices)
    wild = anchors([*prices, 1e15])
    assert wild == pytest.approx((centre, scale), rel=0.3)


def test_a_number_is_linear_near_its_centre_and_logarithmic_far_away() -> None:
    schema = Schema.open()
    schema.encode_items({k: {"price": 10_000.0 + 1_000.0 * k} for k in range(-10, 11)})
    scale = schema.features["price"].scale  # type: ignore[attr-defined]
    away = np.array([0.01, 1.0, 1e3, 1e9]) * scale
    rows = schema.design([{"price": 10_000.0 + each} for each in away])[:, 1]
    np.testing.assert_allclose(rows, 3.0 * np.arcsinh(away / scale / 3.0), rtol=1e-13)
    assert rows[0] == pytest.approx(0.01, rel=1e-5)
    assert rows[-1] < 64.0


def test_constants_are_revised_when_the_count_has_doubled_and_they_have_moved() -> None:
    scales, rng = Scales(centred=True), np.random.default_rng(0)
    scales.know("x")
    counts = []
    for value in rng.normal(5.0, 2.0, size=3 * ENOUGH):
        scales.take("x", [float(value)])
        for step in scales.revisions():
            counts.append(step["count"])
            scales.revise(step)
    assert counts[0] == 2
    assert all(math.log2(count) == int(math.log2(count)) for count in counts)
    assert len(counts) < 10
    assert not scales.follows("x")
    assert scales.constants["x"] == pytest.approx((5.0, 2.0), rel=0.12)
    assert scales.state()["x"][0] == ENOUGH


def test_the_mean_and_the_sd_are_those_of_what_was_read() -> None:
    schema = Schema.open()
    found = []
    for k in range(64):
        rows = schema.rows({"age": float(k * k)}, schema.encode_items(adverts(3, k)))
        found.append(rows[:, schema.columns.index("price")])
    count, mean, squares, _ = schema.to_dict()["seen"]["price"]
    seen = np.concatenate(found)
    assert count == seen.size == 192
    assert (mean, squares) == pytest.approx((seen.mean(), seen.size * seen.var()))


@pytest.mark.parametrize(
    "step",
    [
        {"constants of": "price", "mean": 0.0, "scale": 0.0, "count": 4},
        {"constants of": "price", "mean": math.inf, "scale": 1.0, "count": 4},
        {"constants of": "price", "mean": 0.0, "scale": 1.0, "count": 1},
        {"constants of": "price", "mean": 0.0, "scale": "1", "count": 4},
        {"constants of": "colour", "mean": 0.0, "scale": 1.0, "count": 4},
    ],
)
def test_constants_that_cannot_be_are_refused(step: Record) -> None:
    schema = lived()
    with pytest.raises(ValueError, match="cannot be one|does not scale itself"):
        schema.regrow([step])


@pytest.mark.parametrize("seen", [{"colour": [1, 0.0, 0.0, 2]}, {"price": [1, 0.0]}, {"price": 3}])
def test_a_document_that_has_seen_what_cannot_be_is_refused(seen: Record) -> None:
    with pytest.raises(ValueError, match="what was seen of"):
        Schema.from_dict(lived().to_dict() | {"seen": seen})
