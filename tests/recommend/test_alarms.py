"""Each alarm is told of the data that deserve it, and of no others."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import expit

from fabcost import Categorical, Numeric, Recommender, Schema, Text
from fabcost.recommend.alarms import KINDS, Alarm, Kind, Watch
from fabcost.recommend.ledger import ExpiredDecisionError
from fabcost.recommend.surprise import Surprise

SCHEMA = Schema([Numeric("age"), Text("make", limit=30, buckets=2)])


def healthy(outcomes: int = 2000, seed: int = 0) -> Watch:
    """Outcomes of a calibrated model, one in twelve a click."""
    rng = np.random.default_rng(seed)
    watch = Watch()
    for _ in range(outcomes):
        odds = rng.uniform(-4.0, -1.0)
        row = np.array([1.0, rng.normal()])
        watch.decided(alike=False)
        watch.learnt(row, clicked=bool(rng.random() < expit(odds)), centre=odds, variance=0.0)
    return watch


def kinds(watch: Watch, schema: Schema = SCHEMA) -> list[Kind]:
    return [alarm.kind for alarm in watch.alarms(schema)]


def test_healthy_data_raise_none() -> None:
    """A click rate is off by five sds once in two million looks; these are twenty."""
    assert [kinds(healthy(seed=seed)) for seed in range(20)] == [[]] * 20


def constant(watch: Watch) -> None:
    for _ in range(100):
        watch.learnt(np.array([1.0, 3.0]), clicked=False, centre=-2.2, variance=0.0)
    watch.clicks = watch._came = 10


def out_of_scale(watch: Watch) -> None:
    watch.learnt(np.array([1.0, 25_000.0]), clicked=False, centre=-2.2, variance=0.0)


def alike(watch: Watch) -> None:
    for _ in range(20):
        watch.decided(alike=True)


def unanswered(watch: Watch) -> None:
    for _ in range(100):
        watch.decided(alike=False)


def never_clicked(watch: Watch) -> None:
    for k in range(1000):
        watch.learnt(np.array([1.0, k % 3]), clicked=False, centre=-6.9, variance=0.0, expired=True)


def always_clicked(watch: Watch) -> None:
    for k in range(100):
        watch.learnt(np.array([1.0, k % 3]), clicked=True, centre=4.6, variance=0.0)


def late(watch: Watch) -> None:
    for _ in range(20):
        watch.late += 1


def off(watch: Watch) -> None:
    for k in range(400):
        watch.learnt(np.array([1.0, k % 3]), clicked=k % 4 == 0, centre=-2.2, variance=0.0)


def extreme(watch: Watch) -> None:
    watch.learnt(np.array([1.0, 0.0]), clicked=False, centre=-92_986.0, variance=0.0)


def drifted(watch: Watch) -> None:
    """Of two kinds of items each is then clicked as often as the other was."""
    rng = np.random.default_rng(3)
    for k in range(800):
        good = (k % 2 == 0) == (k < 600)
        clicked = bool(rng.random() < (0.9 if good else 0.1))
        odds = 2.2 if k % 2 == 0 else -2.2
        watch.learnt(np.array([1.0, k % 2]), clicked=clicked, centre=odds, variance=0.0)


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        (constant, "constant number"),
        (out_of_scale, "number out of scale"),
        (alike, "items look alike"),
        (unanswered, "no feedback"),
        (never_clicked, "feedback of one kind"),
        (always_clicked, "feedback of one kind"),
        (late, "feedback too late"),
        (off, "click rate off"),
        (extreme, "extreme scores"),
        (drifted, "drift"),
    ],
)
def test_a_cause_raises_its_alarm_alone(cause: Callable[[Watch], None], kind: Kind) -> None:
    watch = Watch()
    cause(watch)
    assert kinds(watch) == [kind]


def named(values: list[str]) -> list[Alarm]:
    schema = Schema([Text("when", limit=30, buckets=2)])
    schema.design([{"when": value} for value in values])
    return list(Watch().alarms(schema))


def test_a_category_that_explodes_is_named() -> None:
    assert named([f"u{k}" for k in range(29)]) == []
    (alarm,) = named([f"u{k}" for k in range(40)])
    assert (alarm.kind, alarm.subject) == ("exploding category", "when")
    assert "30 different values" in alarm.text


def test_dates_that_are_taken_for_names_are_told() -> None:
    (alarm,) = named([f"2026-01-{day:02d}" for day in range(1, 25)])
    assert (alarm.kind, alarm.subject) == ("dates as categories", "when")
    assert named([f"2026-01-{day:02d}" for day in range(1, 25)] + ["never"]) == []


def test_columns_that_are_named_alike_are_told_apart() -> None:
    schema = Schema([Numeric("bias"), Text("make=old")])
    schema.design([{"bias": 0.0, "make=old": f"2026-01-{day:02}"} for day in range(1, 29)])
    watch = Watch()
    for number in range(100):
        row = np.array([1.0, number, *np.zeros(28)])
        watch.learnt(row, clicked=False, centre=-3.0, variance=0.0)
    found = [(alarm.kind, alarm.subject) for alarm in watch.of_columns(schema)]
    assert found == [("dates as categories", "make=old")]


def test_a_late_column_was_zero_before() -> None:
    watch = Watch()
    for _ in range(100):
        watch.learnt(np.array([1.0]), clicked=False, centre=-2.2, variance=0.0)
    watch.learnt(np.array([1.0, 3.0]), clicked=True, centre=-2.2, variance=0.0)
    watch.clicks = watch._came = 10
    assert kinds(watch) == []


def test_a_watch_goes_on_from_its_state() -> None:
    watch = healthy(150)
    assert "surprise" in watch.state()
    restored = Watch.restored(json.loads(json.dumps(watch.state())))
    for each in (watch, restored):
        extreme(each)
        out_of_scale(each)
    assert restored.state() == watch.state()
    assert restored.alarms(SCHEMA) == watch.alarms(SCHEMA) != ()


def test_every_kind_has_a_cause_here() -> None:
    told = {"exploding category", "dates as categories"}
    causes = (constant, out_of_scale, alike, unanswered, never_clicked, late, off, extreme, drifted)
    for cause in causes:
        watch = Watch()
        cause(watch)
        told |= set(kinds(watch))
    assert told == set(KINDS)


def test_a_recommender_of_declared_raw_prices_says_so() -> None:
    """As it is tried by a newcomer: the numbers are declared, their scale is not."""
    rng = np.random.default_rng(0)
    rec = Recommender(Schema([Numeric("price"), Numeric("year")]), prior_variance=10.0, seed=0)
    adverts = {k: {"price": 5_000.0 + 1_250 * k, "year": 2010 + k % 10} for k in range(20)}
    for _ in range(100):
        decision = rec.recommend({}, adverts)
        rec.feedback(decision.id, clicked=bool(rng.random() < 0.1))
    found = {(alarm.kind, alarm.subject) for alarm in rec.alarms}
    assert {("number out of scale", "price"), ("number out of scale", "year")} <= found
    assert ("extreme scores", "") in found


def test_items_without_features_or_effects_look_alike() -> None:
    rec = Recommender(Schema.open(), prior_variance=1.0, seed=0)
    for k in range(20):
        decision = rec.recommend({}, {"a": {}, "b": {}})
        rec.feedback(decision.id, clicked=k % 3 == 0)
    assert [alarm.kind for alarm in rec.alarms] == ["items look alike"]
    other = Recommender(Schema.open(), seed=0)
    for k in range(20):
        other.feedback(other.recommend({}, {"a": {}, "b": {}}).id, clicked=k % 3 == 0)
    assert other.alarms == ()


def test_feedback_that_comes_too_late_is_counted() -> None:
    rec = Recommender(Schema.open(), seed=0, wait=10.0)
    for k in range(20):
        decision = rec.recommend({}, {"a": {}, "b": {}}, now=20.0 * k)
        with pytest.raises(ExpiredDecisionError):
            rec.feedback(decision.id, clicked=True, now=20.0 * k + 11.0)
    assert "feedback too late" in [alarm.kind for alarm in rec.alarms]
    assert Recommender.from_bytes(rec.to_bytes()).alarms == rec.alarms


def categories(rows: int, levels: int) -> list[tuple[Kind, str]]:
    names = tuple(f"c{k:03d}" for k in range(levels))
    schema = Schema([Categorical("city", levels=names)])
    design = schema.design([{"city": names[k % levels]} for k in range(rows)])
    watch = Watch()
    watch.saw(design.min(axis=0), design.max(axis=0), rows)
    return [(alarm.kind, alarm.subject) for alarm in watch.of_columns(schema)]


def test_declared_categories_explode_if_most_values_come_once() -> None:
    assert categories(200, 150) == [("exploding category", "city")]
    assert categories(200, 100) == []
    assert categories(90, 60) == []


def test_categories_that_are_declared_and_never_seen_do_not_explode() -> None:
    names = tuple(f"c{k:03d}" for k in range(300))
    schema = Schema([Categorical("city", levels=names)])
    design = schema.design([{"city": names[k % 10]} for k in range(200)])
    watch = Watch()
    watch.saw(design.min(axis=0), design.max(axis=0), 200)
    assert watch.of_columns(schema) == ()


def test_what_was_not_clicked_must_have_had_the_time_to_expire() -> None:
    for cause in (unanswered, always_clicked):
        watch = Watch()
        cause(watch)
        watch.settled = False
        assert kinds(watch) == []


def test_outcomes_that_were_not_foretold_say_nothing_of_the_rate() -> None:
    watch = Watch()
    watch.counted(5_000, clicks=2_500)
    watch.foretold(np.full(90, -5.0), np.zeros(90), clicks=80)
    assert kinds(watch) == []
    watch.foretold(np.full(10, -5.0), np.zeros(10), clicks=9)
    assert kinds(watch) == ["click rate off"]


@pytest.mark.parametrize("rate", [0.002, 0.05, 0.5])
def test_chance_is_no_drift(rate: float) -> None:
    """Looked at forty times, each of which is off with a probability of e^-12.5 at most."""
    rng = np.random.default_rng(5)
    late = Surprise()
    for _ in range(40):
        for _ in range(1000):
            p = float(expit(np.log(rate / (1 - rate)) + rng.normal(scale=0.7)))
            late.outcomes(np.array([p]), [rng.random() < p])
        assert not late.is_improbable


@pytest.mark.parametrize(("half_life", "alarms"), [(None, ["drift"]), (100, [])])
def test_what_is_liked_no_longer_is_told(half_life: float | None, alarms: list[Kind]) -> None:
    """And one that forgets has followed, after a while, and says nothing any more."""
    rec = Recommender(Schema.open(), seed=2, half_life=half_life)
    rng, items = np.random.default_rng(2), rec.catalogue({k: {"kind": k} for k in "ab"})
    for visit in range(1800 if half_life is None else 3000):
        decision = rec.recommend({}, items)
        rate = 0.4 if visit >= 1500 else 0.9 if decision.item == "a" else 0.05
        rec.feedback(decision.id, rng.random() < rate)
    assert [alarm.kind for alarm in rec.alarms] == alarms
