"""Each alarm is told of the data that deserve it, and of no others."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

from fabcost import Numeric, Schema, Text
from fabcost.recommend.alarms import KINDS, Alarm, Kind, Watch, are_alike

SCHEMA = Schema([Numeric("age"), Text("make", limit=30, buckets=2)])


def healthy(outcomes: int = 2000, seed: int = 0) -> Watch:
    """Outcomes of a calibrated model, one in ten a click."""
    rng = np.random.default_rng(seed)
    watch = Watch()
    for _ in range(outcomes):
        probability = rng.uniform(0.02, 0.18)
        row = np.array([1.0, rng.normal()])
        watch.decided(alike=False)
        watch.learnt(row, clicked=bool(rng.random() < probability), probability=probability)
    return watch


def kinds(watch: Watch, schema: Schema = SCHEMA) -> list[Kind]:
    return [alarm.kind for alarm in watch.alarms(schema)]


def test_healthy_data_raise_none() -> None:
    """A click rate is off by five sds once in two million looks; these are twenty."""
    assert [kinds(healthy(seed=seed)) for seed in range(20)] == [[]] * 20


def constant(watch: Watch) -> None:
    for _ in range(100):
        watch.learnt(np.array([1.0, 3.0]), clicked=False, probability=0.1)
    watch.clicks = 10


def out_of_scale(watch: Watch) -> None:
    watch.learnt(np.array([1.0, 25_000.0]), clicked=False, probability=0.1)


def alike(watch: Watch) -> None:
    for _ in range(20):
        watch.decided(alike=True)


def unanswered(watch: Watch) -> None:
    for _ in range(100):
        watch.decided(alike=False)


def never_clicked(watch: Watch) -> None:
    for k in range(1000):
        watch.learnt(np.array([1.0, k % 3]), clicked=False, probability=1e-3, expired=True)


def always_clicked(watch: Watch) -> None:
    for k in range(100):
        watch.learnt(np.array([1.0, k % 3]), clicked=True, probability=0.99)


def late(watch: Watch) -> None:
    for _ in range(20):
        watch.came_late()


def off(watch: Watch) -> None:
    for k in range(400):
        watch.learnt(np.array([1.0, k % 3]), clicked=k % 4 == 0, probability=0.1)


def extreme(watch: Watch) -> None:
    watch.learnt(np.array([1.0, 0.0]), clicked=False, probability=0.0, centre=-92_986.0)


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


def test_a_late_column_was_zero_before() -> None:
    watch = Watch()
    for _ in range(100):
        watch.learnt(np.array([1.0]), clicked=False, probability=0.1)
    watch.learnt(np.array([1.0, 3.0]), clicked=True, probability=0.1)
    watch.clicks = 10
    assert kinds(watch) == []


def test_a_watch_goes_on_from_its_state() -> None:
    watch = healthy(150)
    restored = Watch.restored(json.loads(json.dumps(watch.state())))
    for each in (watch, restored):
        extreme(each)
        out_of_scale(each)
    assert restored.state() == watch.state()
    assert restored.alarms(SCHEMA) == watch.alarms(SCHEMA) != ()


def test_every_kind_has_a_cause_here() -> None:
    told = {"exploding category", "dates as categories"}
    for cause in (constant, out_of_scale, alike, unanswered, never_clicked, late, off, extreme):
        watch = Watch()
        cause(watch)
        told |= set(kinds(watch))
    assert told == set(KINDS)


def test_one_candidate_is_not_alike() -> None:
    assert not are_alike(np.ones((1, 2)))
    assert not are_alike(np.array([[1.0, 2.0], [1.0, 3.0]]))
