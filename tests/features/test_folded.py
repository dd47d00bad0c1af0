from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabcost import (
    Bandit,
    Boolean,
    Categorical,
    FabCost,
    Gaussian,
    Numeric,
    Recommender,
    Schema,
    Text,
    kernels,
)
from fabcost.bandit.rows import law
from fabcost.bandit.rules import BayesianUCB, EpsilonGreedy, Greedy, Policy, Thompson, Uniform
from fabcost.bandit.targeted import TSUCB, InformationRelaxation
from fabcost.features.folding import PATTERN_BYTES, PATTERNS, FoldedRows
from fabcost.features.kinds import Feature, Missing, Role
from fabcost.impressions import FloatArray
from tests.examples import examples

Record = dict[str, Any]
POLICIES = [
    Thompson(),
    Thompson(0.5),
    Greedy(),
    EpsilonGreedy(0.3),
    BayesianUCB(0.9),
    Uniform(),
    TSUCB(),
    InformationRelaxation(),
]
LEVELS = ("a", "b", "c")
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "numeric": st.floats(-100, 100),
    "boolean": st.booleans(),
    "categorical": st.sampled_from(LEVELS),
    "text": st.sampled_from([f"w{i}" for i in range(7)]),
}


@st.composite
def features(draw: st.DrawFn, name: str, role: Role) -> Feature:
    missing: Missing = draw(st.sampled_from(get_args(Missing)))
    return draw(
        st.sampled_from(
            [
                Numeric(name, role, missing, mean=1.5, scale=0.7),
                Boolean(name, role, missing),
                Categorical(name, role, missing, levels=LEVELS),
                Text(name, role, missing, limit=3, buckets=2),
            ]
        )
    )


@st.composite
def declared(draw: st.DrawFn) -> Schema:
    """Some features of either role, any pairs of them crossed, in either order."""
    found = [draw(features(f"c{i}", "context")) for i in range(draw(st.integers(0, 3)))]
    found += [draw(features(f"i{i}", "item")) for i in range(draw(st.integers(1, 3)))]
    found = draw(st.permutations(found))
    pairs = [*combinations([feature.name for feature in found], 2)]
    crosses = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return Schema(found, crosses=crosses, bias=draw(st.booleans()))


@st.composite
def records(draw: st.DrawFn, schema: Schema, role: Role) -> Record:
    """Values for the features of a role, or for the three kinds that an open schema meets."""
    if schema.openness is None:
        known = [each for each in schema.features.values() if each.role == role]
    else:
        known = [Numeric(f"{role} 0"), Boolean(f"{role} 1"), Text(f"{role} 2")]
    record = {}
    for feature in known:
        present = VALUES[feature.kind]
        required = schema.openness is None and feature.missing == "error"
        value = draw(present if required else present | st.none())
        if value is not None or draw(st.booleans()):
            record[feature.name] = value
    return record


def assert_same_scores(rows: FoldedRows, dense: FloatArray, seed: int) -> None:
    assert rows.shape == dense.shape
    theta = np.random.default_rng(seed).normal(size=(dense.shape[1], 3))
    limit = 1e-12 * (np.abs(dense) @ np.abs(theta))
    assert (np.abs(rows.dot(theta) - dense @ theta) <= limit).all()
    np.testing.assert_array_equal(rows @ theta, rows.dot(theta))
    assert (np.abs(rows.dot(theta[:, 0]) - dense @ theta[:, 0]) <= limit[:, 0]).all()


@settings(max_examples=examples(200), deadline=None)
@given(declared() | st.builds(Schema.open, limit=st.just(9)), st.data())
def test_folded_rows_are_those_of_the_records(schema: Schema, data: st.DataObject) -> None:
    catalogues = []
    for stage in range(3):
        some = st.lists(records(schema, "item"), min_size=1, max_size=4)
        items = dict(enumerate(data.draw(some)))
        catalogues.append((items, schema.encode_items(items)))
        context = data.draw(records(schema, "context"))
        for known, encoded in catalogues:
            rows = schema.folded(context, encoded)
            width = schema.width
            design = schema.design([context | item for item in known.values()])
            assert schema.width == width
            np.testing.assert_array_equal(rows.dense(), design)
            np.testing.assert_array_equal(np.asarray(rows), design)
            np.testing.assert_array_equal([rows.row(i) for i in range(len(rows))], design)
            assert_same_scores(rows, design, stage)


def cars(count: int = 40) -> tuple[Schema, dict[str, Record]]:
    schema = Schema(
        [
            Numeric("hour", "context"),
            Text("user", "context", "zero"),
            Numeric("age"),
            Text("make"),
        ],
        crosses=[("hour", "age"), ("make", "user"), ("age", "make"), ("hour", "user")],
    )
    ages = np.random.default_rng(1).normal(size=count)
    return schema, {f"ad-{i}": {"age": ages[i], "make": "kfa"[i % 3]} for i in range(count)}


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_a_bandit_decides_alike_over_folded_and_dense_rows(policy: Policy) -> None:
    schema, items = cars()
    encoded = schema.encode_items(items)
    for hour in range(5):
        rows = schema.folded({"hour": hour, "user": f"u{hour % 3}"}, encoded)
        belief = Gaussian.isotropic(schema.width, variance=4.0)
        first, second = (Bandit(FabCost(belief), policy=policy, seed=hour) for _ in range(2))
        a = first.choose(rows, top_k=5, exclude=[1, 7])
        b = second.choose(rows.dense(), top_k=5, exclude=[1, 7])
        assert a.ranking.tolist() == b.ranking.tolist()
        np.testing.assert_allclose(a.scores, b.scores, rtol=1e-10)
        if not isinstance(policy, Thompson | TSUCB | InformationRelaxation):
            np.testing.assert_allclose(
                first.propensities(rows, exclude=[1, 7], floor=0.1),
                second.propensities(rows.dense(), exclude=[1, 7], floor=0.1),
                rtol=1e-12,
            )


def test_excluding_items_compiles_nothing_anew() -> None:
    schema, items = cars()
    rows = schema.folded({"hour": 3, "user": "u1"}, schema.encode_items(items))
    bandit = Bandit(FabCost(Gaussian.isotropic(schema.width)), seed=1)
    bandit.choose(rows, draws=8)
    before = len(kernels.folded_law.signatures)
    bandit.choose(rows, draws=8, exclude=[1, 7])
    assert len(kernels.folded_law.signatures) == before


def test_scores_of_folded_and_dense_rows_have_one_law() -> None:
    """Draws differ, because folded rows need fewer normals; their law must not."""
    schema, items = cars()
    rows = schema.folded({"hour": 3, "user": "u1"}, schema.encode_items(items))
    rng = np.random.default_rng(3)
    mean, root = rng.normal(size=schema.width), rng.normal(size=(schema.width, schema.width))
    along = rows.dense() @ root
    assert law(rows, mean, root)[1].shape[1] < schema.width
    assert law(rows.dense()[:3], mean, root)[1].shape == (3, 3)
    for form in (rows, rows.dense(), rows[np.arange(3)], rows.dense()[:3]):
        centre, spread = law(form, mean, root)
        many = len(form)
        np.testing.assert_allclose(centre, rows.dense()[:many] @ mean, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(
            spread @ spread.T, along[:many] @ along[:many].T, rtol=1e-9, atol=1e-9
        )


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_a_recommender_decides_like_a_bandit_over_dense_rows(policy: Policy) -> None:
    schema, items = cars()
    recommender = Recommender(schema, policy=policy, prior_variance=10.0, seed=2)
    encoded = recommender.catalogue(items)
    bandit = Bandit(recommender.learner, policy=policy, seed=2)
    for hour in range(20):
        context = {"hour": hour / 10, "user": f"u{hour % 4}"}
        decision = recommender.recommend(context, encoded, top_k=1 + hour % 3)
        choice = bandit.choose(recommender.schema.rows(context, encoded), top_k=1 + hour % 3)
        assert decision.ranking == tuple(encoded.names[i] for i in choice.ranking)
        recommender.feedback(decision.id, clicked=hour % 3 == 0)


def test_a_context_that_is_too_large_changes_nothing(tmp_path: Path) -> None:
    schema, items = cars(5)
    recommender = Recommender(schema, wait=1.0)
    encoded = recommender.catalogue(items)
    recommender.recommend({"hour": 1.0}, encoded, now=0.0)
    recommender.save(tmp_path / "before")
    with pytest.raises(ValueError, match="'hour' is 1e.38 but must be finite, of magnitude at mos"):
        recommender.recommend({"hour": 1e38, "user": "new"}, encoded, now=50.0)
    recommender.save(tmp_path / "after")
    assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()


def test_a_subset_has_the_rows_of_its_items() -> None:
    schema, items = cars()
    encoded = schema.encode_items(items)
    names = ["ad-7", "ad-0", "ad-39"]
    some, context = encoded.subset(names), {"hour": 3, "user": "me"}
    assert some.names == encoded.at([7, 0, 39]).names == tuple(names)
    again = schema.encode_items({name: items[name] for name in names})
    for each in (some, encoded.at(np.array([7, 0, 39]))):
        np.testing.assert_array_equal(schema.rows(context, each), schema.rows(context, again))
    rows = schema.folded(context, encoded)
    np.testing.assert_array_equal(rows[np.array([7, 0])].dense(), rows.dense()[[7, 0]])
    np.testing.assert_array_equal(rows[2:5].dense(), rows.dense()[2:5])


def test_subsets_that_are_none_are_refused() -> None:
    schema, items = cars(3)
    encoded = schema.encode_items(items)
    with pytest.raises(ValueError, match="there is no item 'ad-9' among the 3 that are encoded"):
        encoded.subset(["ad-1", "ad-9"])
    with pytest.raises(ValueError, match="there are no items but there must be at least one"):
        encoded.subset([])
    for bad in ([0, 3], [-1], [True, False, True], [0.5]):
        with pytest.raises(ValueError, match="but must be integers from 0 to 2"):
            encoded.at(bad)


def test_more_contexts_than_are_remembered() -> None:
    schema, items = cars(3)
    encoded = schema.encode_items(items)
    seen = [{"hour": k, "user": f"u{k}"} for k in range(PATTERNS + 50)]
    schema.design([context | item for context in seen for item in items.values()])
    for context in [*seen, *seen[:60]]:
        expected = schema.design([context | item for item in items.values()])
        np.testing.assert_array_equal(schema.rows(context, encoded), expected)


def test_the_largest_numbers_have_finite_scores() -> None:
    schema = Schema([Numeric("c", "context"), Numeric("i")], crosses=[("c", "i")])
    rows = schema.folded({"c": 1e37}, schema.encode_items({1: {"i": 1e37}, 2: {"i": -1e37}}))
    np.testing.assert_array_equal(rows.dense()[:, 3], np.array([1e37, -1e37]) * 1e37)
    bandit = Bandit(FabCost(Gaussian.isotropic(4)))
    assert np.isfinite(bandit.choose(rows).scores).all()


def test_weights_of_another_width_are_refused() -> None:
    schema, items = cars(3)
    rows = schema.folded({"hour": 1}, schema.encode_items(items))
    with pytest.raises(ValueError, match=f"1 weights but the rows have {schema.width} columns"):
        rows.dot(np.ones(1))
    bandit = Bandit(FabCost(Gaussian.isotropic(2)))
    with pytest.raises(ValueError, match=f"have {schema.width} columns but the prior has 2 weigh"):
        bandit.choose(rows)
    with pytest.raises(ValueError, match="become an array only as a copy"):
        np.asarray(rows, copy=False)


def test_patterns_are_kept_within_so_many_bytes() -> None:
    levels = [str(level) for level in range(300)]
    schema = Schema(
        [
            Categorical("place", role="context", levels=tuple(levels)),
            Categorical("make", levels=tuple(levels[:100])),
        ],
        crosses=[("place", "make")],
    )
    items = schema.encode_items({"ad-1": {"make": "7"}})
    for level in levels:
        schema.folded({"place": level}, items)
    kept = schema._fold()._patterns
    assert 0 < sum(pattern.nbytes for pattern in kept.values()) <= PATTERN_BYTES
