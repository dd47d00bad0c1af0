from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabcost import (
    Categorical,
    FabCost,
    Gaussian,
    HalfLife,
    Numeric,
    Recommender,
    Refresh,
    Schema,
    Tally,
    Text,
)
from fabcost.bandit.baselines import LinearGaussian
from fabcost.bandit.rules import BayesianUCB, EpsilonGreedy, Greedy, Policy, Thompson, Uniform
from fabcost.bandit.targeted import TSUCB, InformationDirected, InformationRelaxation
from fabcost.recommend import document
from fabcost.recommend.ledger import Decision, ExpiredDecisionError, Feedback, UnknownDecisionError

ADVERTS = {f"ad-{i}": {"make": ("ford", "kia", "audi")[i % 3], "age": i} for i in range(8)}
CONTEXTS: list[dict[str, Any]] = [{"device": "mobile"}, {"device": "desktop"}]
POLICIES = [
    Thompson(0.5),
    Greedy(),
    EpsilonGreedy(0.3),
    BayesianUCB(0.9),
    Uniform(),
    TSUCB(4, log_odds=True),
    InformationRelaxation(7.0),
    InformationDirected(16),
]


def declared() -> Schema:
    return Schema(
        [
            Categorical("device", "context", levels=("mobile", "desktop")),
            Categorical("make", levels=("ford", "kia", "audi")),
            Numeric("age", mean=4.0, scale=2.0),
        ],
        crosses=[("device", "make")],
    )


def some_days(rec: Recommender, rounds: range) -> list[Decision]:
    """Decisions with new items and contexts on the way; feedback late, out of order or never."""
    made = []
    for i in rounds:
        adverts = ADVERTS | {f"new-{i // 5}": {"make": "ford", "age": i}}
        decision = rec.recommend(CONTEXTS[i % 2], adverts, now=float(i), top_k=3, draws=8)
        made.append(decision)
        if i % 3 and decision.id > 2:
            rec.feedback(decision.id - i % 3, clicked=i % 4 == 0, now=float(i))
    return made


def bits(rec: Recommender, folder: Path) -> bytes:
    rec.save(folder / "bits")
    return (folder / "bits").read_bytes()


def assert_same(first: list[Decision], second: list[Decision]) -> None:
    for a, b in zip(first, second, strict=True):
        assert (a.id, a.item, a.ranking, a.time) == (b.id, b.item, b.ranking, b.time)
        np.testing.assert_array_equal(a.scores, b.scores)
        assert a.propensities is not None
        np.testing.assert_array_equal(a.propensities, b.propensities)


@pytest.mark.parametrize("schema", [declared(), Schema.open()], ids=["declared", "open"])
def test_the_same_seed_gives_the_same_bits(schema: Schema, tmp_path: Path) -> None:
    first, second = (Recommender(schema, seed=3, wait=4.0) for _ in range(2))
    assert_same(some_days(first, range(40)), some_days(second, range(40)))
    assert bits(first, tmp_path) == bits(second, tmp_path)
    other = some_days(Recommender(schema, seed=4, wait=4.0), range(40))
    assert [each.item for each in other] != [each.item for each in some_days(
        Recommender(schema, seed=3, wait=4.0), range(40))]  # fmt: skip


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
@pytest.mark.parametrize("stop", [0, 17])
def test_going_on_after_loading_gives_the_same_bits(
    tmp_path: Path, policy: Policy, stop: int
) -> None:
    unbroken, broken = (Recommender(Schema.open(), policy=policy, wait=4.0) for _ in range(2))
    whole = some_days(unbroken, range(40))
    some_days(broken, range(stop))
    broken.save(tmp_path / "recommender")
    loaded = Recommender.load(tmp_path / "recommender")
    assert loaded.bandit.policy == policy
    assert loaded.pending == broken.pending
    assert_same(some_days(loaded, range(stop, 40)), whole[stop:])
    assert bits(loaded, tmp_path) == bits(unbroken, tmp_path)


def test_a_catalogue_gives_the_same_decisions_as_its_records() -> None:
    first, second = (Recommender(declared(), seed=1) for _ in range(2))
    catalogue = second.catalogue(ADVERTS)
    for i in range(30):
        a = first.recommend(CONTEXTS[i % 2], ADVERTS, exclude=["ad-1"], draws=4)
        b = second.recommend(CONTEXTS[i % 2], catalogue, exclude=["ad-1"], draws=4)
        assert_same([a], [b])
        assert a.item != "ad-1"
        assert first.feedback(a.id, i % 3 == 0) is second.feedback(b.id, i % 3 == 0)


def test_an_old_catalogue_follows_a_growing_schema() -> None:
    rec = Recommender(Schema.open(), seed=1)
    catalogue = rec.catalogue(ADVERTS)
    for device in ("mobile", "tv", "watch"):
        decision = rec.recommend({"device": device}, catalogue)
        assert decision.item in ADVERTS
        rec.feedback(decision.id, clicked=True)
        assert rec.learner.posterior.dimension == rec.schema.width
    assert "device=watch × make=kia" in rec.schema.columns


def test_feedback_is_what_the_learner_would_have_seen() -> None:
    rec = Recommender(declared(), prior_variance=4.0)
    learner = FabCost(Gaussian.isotropic(13, variance=4.0))
    decisions = [rec.recommend(CONTEXTS[i % 2], ADVERTS) for i in range(20)]
    for i in np.random.default_rng(0).permutation(20):
        decision = decisions[i]
        assert rec.feedback(decision.id, clicked=i % 3 == 0) is Feedback.APPLIED
        assert rec.feedback(decision.id, clicked=i % 3 != 0) is Feedback.DUPLICATE
        (row,) = rec.schema.design([CONTEXTS[i % 2] | ADVERTS[decision.item]])
        learner.observe(row, i % 3 == 0)
    assert rec.learner.posterior == learner.posterior
    assert rec.pending == ()


def test_a_reward_below_one_is_a_fraction_of_a_click(tmp_path: Path) -> None:
    rec = Recommender(declared(), prior_variance=4.0)
    learner = FabCost(Gaussian.isotropic(13, variance=4.0))
    for reward in (0.3, 1.0, 0.0, np.float64(0.7)):
        decision = rec.recommend(CONTEXTS[0], ADVERTS)
        rec.feedback(decision.id, clicked=reward)
        (row,) = rec.schema.design([CONTEXTS[0] | ADVERTS[decision.item]])
        learner.observe(row, Tally(clicks=reward, impressions=1) if 0.0 < reward < 1.0 else reward)
    assert rec.learner.posterior == learner.posterior
    rec.save(tmp_path / "rec")
    assert Recommender.load(tmp_path / "rec").to_bytes() == rec.to_bytes()


def test_late_feedback_reaches_the_columns_it_was_about() -> None:
    rec = Recommender(Schema([Text("advert")]), prior_variance=4.0)
    first = rec.recommend({}, {1: {"advert": "a"}})
    rec.recommend({}, {1: {"advert": "b"}})
    rec.feedback(first.id, clicked=True)
    belief = rec.learner.posterior
    assert rec.schema.columns == ("bias", "advert=a", "advert=b")
    assert belief.mean[1] > 0
    assert (belief.mean[2], belief.sd[2]) == (0.0, 2.0)


def test_an_unknown_value_brings_its_prior_variance() -> None:
    rec = Recommender(Schema([Text("advert")]), prior_variance=9.0)
    for _ in range(30):
        rec.feedback(rec.recommend({}, {1: {"advert": "old"}}).id, clicked=False)
    both = {"old": {"advert": "old"}, "new": {"advert": "new"}}
    rows = rec.schema.rows({}, rec.catalogue(both))
    old, new = rec.learner.posterior.marginal(rows).variance
    assert new > old + 8.0


def test_decisions_expire_to_no_click() -> None:
    rec, told = (Recommender(declared(), wait=10.0) for _ in range(2))
    for each in (rec, told):
        for now in (0.0, 5.0, 7.0):
            each.recommend(CONTEXTS[0], ADVERTS, now=now)
        each.recommend(CONTEXTS[0], ADVERTS)
    assert rec.feedback(2, clicked=True) is Feedback.APPLIED
    assert rec.expire(9.9) == ()
    assert rec.expire(20.0) == (1, 3)
    assert rec.pending == (4,)
    told.feedback(2, clicked=True)
    told.feedback(1, clicked=False)
    told.feedback(3, clicked=False)
    assert rec.learner.posterior == told.learner.posterior
    with pytest.raises(ExpiredDecisionError, match="decision 3 has expired: after a wait of 10.0"):
        rec.feedback(3, clicked=True)
    assert rec.feedback(2, clicked=True) is Feedback.DUPLICATE
    assert rec.learner.posterior == told.learner.posterior


def test_now_expires_what_is_due_wherever_it_is_given() -> None:
    rec = Recommender(declared(), wait=10.0)
    first = rec.recommend(CONTEXTS[0], ADVERTS, now=0)
    second = rec.recommend(CONTEXTS[0], ADVERTS, now=10)
    assert rec.pending == (second.id,)
    with pytest.raises(ExpiredDecisionError, match=f"decision {second.id} has expired"):
        rec.feedback(second.id, clicked=True, now=20)
    with pytest.raises(ExpiredDecisionError):
        rec.feedback(first.id, clicked=True)
    forever = Recommender(declared())
    forever.recommend(CONTEXTS[0], ADVERTS, now=0.0)
    assert forever.expire(1e9) == ()


@pytest.mark.parametrize("decision", [0, 2, -1, True, "1", None])
def test_unknown_decisions_are_refused(decision: Any, tmp_path: Path) -> None:
    rec = Recommender(declared())
    rec.recommend(CONTEXTS[0], ADVERTS)
    before = bits(rec, tmp_path)
    with pytest.raises(UnknownDecisionError, match="is unknown: 1 decisions were made so far"):
        rec.feedback(decision, clicked=True)
    assert bits(rec, tmp_path) == before


def test_numbers_of_numpy_are_numbers() -> None:
    rec = Recommender(declared())
    decision = rec.recommend(CONTEXTS[0], ADVERTS)
    assert rec.feedback(np.int64(decision.id), np.float32(0.5)) is Feedback.APPLIED  # type: ignore[arg-type]


BAD_CALLS: list[tuple[dict[str, Any], str]] = [
    ({"context": {"size": 1}}, "the context record has a key 'size' but its features are 'device'"),
    ({"context": {"device": "tv"}}, "'device' is 'tv' but must be one of 'mobile', 'desktop'"),
    ({"context": {}}, "context feature 'device' is None but must be one of"),
    ({"context": 3}, "the context record is 3 but must map names to values"),
    ({"candidates": {}}, "there are no items but there must be at least one"),
    ({"candidates": {1: {"make": "kia", "age": float("nan")}}}, "item 1: .* 'age' is nan but must"),
    ({"candidates": {1: {"make": "kia", "age": 1e40}}}, "item 1: .*1e.40 but must be finite, of"),
    ({"candidates": {1: {"make": "kia"}}}, "item 1: item feature 'age' is None but must"),
    ({"exclude": list(ADVERTS)}, "all 8 candidates are excluded but one must be left"),
    ({"top_k": 0}, "top_k is 0 but must be a whole number of at least 1"),
    ({"top_k": 1.5}, "top_k is 1.5 but must be a whole number of at least 1"),
    ({"draws": 0}, "draws is 0 but must be a whole number of at least 1"),
    ({"draws": 2.5}, "draws is 2.5 but must be a whole number of at least 1"),
    ({"draws": 5, "floor": 2.0}, r"floor is 2.0 but must lie in \[0, 1\]"),
    ({"now": float("nan")}, "now is nan but must be finite"),
]


@pytest.mark.parametrize(("call", "message"), BAD_CALLS)
def test_a_bad_call_leaves_the_state_as_it_was(
    call: dict[str, Any], message: str, tmp_path: Path
) -> None:
    rec = Recommender(declared(), wait=1.0)
    rec.recommend(CONTEXTS[0], ADVERTS, now=0.0)
    before = bits(rec, tmp_path)
    good: dict[str, Any] = {"context": CONTEXTS[0], "candidates": ADVERTS, "now": 50.0}
    with pytest.raises(ValueError, match=message):
        rec.recommend(**(good | call))
    assert bits(rec, tmp_path) == before


def test_bad_feedback_leaves_the_state_as_it_was(tmp_path: Path) -> None:
    rec = Recommender(declared(), wait=1.0)
    rec.recommend(CONTEXTS[0], ADVERTS, now=0.0)
    before = bits(rec, tmp_path)
    for wrong in ("yes", 1.5, -0.3):
        with pytest.raises(ValueError, match=f"y is {wrong!r} but must be 0 or 1"):
            rec.feedback(1, clicked=wrong, now=50.0)
    with pytest.raises(ValueError, match="now is inf but must be finite"):
        rec.feedback(1, clicked=True, now=float("inf"))
    assert bits(rec, tmp_path) == before


def test_a_catalogue_of_another_recommender_is_refused() -> None:
    catalogue = Recommender(declared()).catalogue(ADVERTS)
    with pytest.raises(ValueError, match="catalogue was encoded by another schema"):
        Recommender(declared()).recommend(CONTEXTS[0], catalogue)


def test_the_callers_schema_does_not_grow() -> None:
    schema = Schema.open()
    Recommender(schema).recommend({"device": "tv"}, ADVERTS)
    assert schema.columns == ("bias",)


def test_bad_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="the schema has no columns yet"):
        Recommender(Schema([Text("advert")], bias=False))
    with pytest.raises(ValueError, match="learner has 2 weights but the schema has 13 columns"):
        Recommender(declared(), learner=FabCost(Gaussian.isotropic(2)))
    with pytest.raises(ValueError, match="the schema grows but the learner, a LinearGaussian, can"):
        Recommender(Schema.open(), learner=LinearGaussian(Gaussian.isotropic(1)))
    with pytest.raises(ValueError, match="wait is -1 but must be at least 0"):
        Recommender(declared(), wait=-1)
    with pytest.raises(ValueError, match="variance of constant is 0.0 but must lie between"):
        Recommender(declared(), prior_variance=0.0)


def test_what_cannot_be_saved_is_named(tmp_path: Path) -> None:
    class Mine(Greedy):
        pass

    linear = LinearGaussian(Gaussian.isotropic(13))
    philox = np.random.Generator(np.random.Philox(1))
    for rec, message in (
        (
            Recommender(declared(), learner=linear),
            "LinearGaussian but only FabCost and WideFabCost can be saved",
        ),
        (Recommender(declared(), policy=Mine()), "the policy is a Mine but only Thompson, Greedy"),
        (Recommender(declared(), seed=philox), "the generator is Philox but only PCG64"),
    ):
        assert rec.recommend(CONTEXTS[0], ADVERTS).item in ADVERTS
        with pytest.raises(ValueError, match=message):
            rec.save(tmp_path / "recommender")
    assert not list(tmp_path.iterdir())


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "recommender"
    Recommender(declared()).save(path)
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    with pytest.raises(ValueError, match="recommender is truncated or altered"):
        Recommender.load(path)
    path.write_text("hello")
    with pytest.raises(ValueError, match="is not a saved recommender"):
        Recommender.load(path)


def test_a_learner_of_ones_own_keeps_its_settings(tmp_path: Path) -> None:
    learner = FabCost(Gaussian.isotropic(1), refresh=Refresh.at(5), most_kept=7)
    rec = Recommender(Schema.open(), learner=learner)
    some_days(rec, range(20))
    rec.save(tmp_path / "recommender")
    loaded = Recommender.load(tmp_path / "recommender").learner
    assert isinstance(loaded, FabCost)
    assert (loaded.most_kept, loaded.refresh_schedule) == (7, Refresh.at(5))


def test_it_learns_what_each_context_likes() -> None:
    rec, clicks = Recommender(declared(), seed=5), 0
    rng = np.random.default_rng(5)
    likes = {"mobile": "kia", "desktop": "audi"}
    for i in range(400):
        context = CONTEXTS[i % 2]
        decision = rec.recommend(context, ADVERTS)
        liked = ADVERTS[decision.item]["make"] == likes[context["device"]]
        clicked = rng.random() < (0.8 if liked else 0.1)
        rec.feedback(decision.id, clicked)
        clicks += clicked if i >= 200 else 0
    # Uniform choices would click at most 0.37 × 200 = 74 times on average, sd 7.
    assert clicks > 120


@pytest.mark.parametrize("half_life", [20, HalfLife(200.0, "seconds")])
def test_a_forgetful_recommender_goes_on_after_loading(half_life: HalfLife | float) -> None:
    unbroken, broken = (Recommender(Schema.open(), seed=1, half_life=half_life) for _ in range(2))
    items = {f"ad-{k}": {"make": f"m{k % 3}"} for k in range(6)}
    for visit in range(150):
        now = 10.0 * visit
        for rec in (unbroken, broken):
            decision = rec.recommend({}, items, now=now)
            rec.feedback(decision.id, decision.item == "ad-1", now=now + 3.0)
        if visit % 40 == 20:
            broken = Recommender.from_bytes(broken.to_bytes())
    assert broken.to_bytes() == unbroken.to_bytes()
    learner = unbroken.learner
    assert isinstance(learner, FabCost)
    assert learner.kept < 150
    assert isinstance(broken.learner, FabCost)
    assert broken.learner.half_life == learner.half_life


def test_a_half_life_in_seconds_needs_times() -> None:
    rec = Recommender(Schema.open(), half_life=HalfLife(60.0, "seconds"))
    decision = rec.recommend({}, {"a": {}, "b": {}})
    before = rec.to_bytes()
    with pytest.raises(ValueError, match="needs the time"):
        rec.feedback(decision.id, clicked=True)
    assert rec.to_bytes() == before
    assert rec.feedback(decision.id, clicked=True, now=5.0).value == "applied"


def test_a_learner_has_its_own_half_life() -> None:
    with pytest.raises(ValueError, match="must be None beside a learner"):
        Recommender(Schema.open(), learner=FabCost(Gaussian.isotropic(1)), half_life=9)


def test_values_and_costs_decide_and_bad_ones_change_nothing(tmp_path: Path) -> None:
    recommender = Recommender(Schema.open(), policy=Greedy(), prior_variance=1.0)
    items = {"ad-1": {"make": "ford"}, "ad-2": {"make": "kia"}}
    dear = recommender.recommend({}, items, values={"ad-1": 1.0, "ad-2": 5.0, "ad-9": 7.0})
    assert dear.item == "ad-2"
    np.testing.assert_allclose(dear.scores, [0.5, 2.5])
    costly = recommender.recommend({}, items, costs={"ad-1": 0.1, "ad-2": 0.2}, draws=8)
    assert costly.item == "ad-1"
    np.testing.assert_allclose(costly.scores, [0.4, 0.3])
    before = recommender.to_bytes()
    for bad, complaint in (
        ({"values": {"ad-1": 1.0, "ad-2": -1.0}}, r"values\[1\] is -1.0"),
        ({"costs": {"ad-1": 1.0, "ad-2": np.nan}}, r"costs\[1\] is nan"),
        ({"values": {"ad-1": 1.0}}, "values have no number for 'ad-2'"),
    ):
        with pytest.raises(ValueError, match=complaint):
            recommender.recommend({"new": "feature"}, items, **bad)  # type: ignore[arg-type]
    assert recommender.to_bytes() == before


def test_files_of_the_later_rules_have_a_version_of_their_own() -> None:
    versions = {
        policy: document.format_of({"policy": document.policy_to_dict(policy), "prior": {}}).version
        for policy in (Thompson(), TSUCB(), InformationDirected())
    }
    assert list(versions.values()) == [2, 5, 4]
