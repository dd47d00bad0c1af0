"""What is lost, doubled or wrong is found: the log is as told, but for one thing each time."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fabcost.service.models.candidates import encoded
from fabcost.service.store.rows import DecisionRecord, StoredDecision
from fabcost.wire.messages import DecisionAnswer
from tests.service.faults.promises import broken
from tests.service.faults.visitors import MODEL, Told


def answered(decision: str) -> DecisionAnswer:
    return DecisionAnswer(
        decision_id=decision,
        item="a",
        ranking=["a"],
        scores=[0.5],
        propensities=[0.9],
        arm="bandit",
        posterior_version="3",
        deadline=600.0,
    )


def stored(decision: str, lsn: int, value: float) -> StoredDecision:
    made = DecisionRecord(
        context={},
        candidates=["a"],
        answer=answered(decision),
        mode="online",
        catalogue_version=1,
    )
    what = ("bandit", "a", True, True, "[[0],[1.0]]", encoded(made), 1.0, 0.0)
    outcome = (1.0, "feedback", value, 1 if value else -1, lsn)
    return StoredDecision(MODEL, decision, 0.0, 600.0, *what, lsn, *outcome)


def told() -> Told:
    """Two decisions with feedback; a third that was not answered, and feedback that is parked."""
    made = Told()
    made.asked |= {"d1", "d2", "d3"}
    for decision, value in (("d1", 1.0), ("d2", 0.0)):
        made.decided(msgspec.to_builtins(answered(decision)))
        made.fed_back(decision, "first", value, "applied")
    made.fed_back("d3", "early", 1.0, "parked")
    return made


def rows(**changes: Any) -> list[StoredDecision]:
    """The log as it should be, but for changes of the second row."""
    return [stored("d1", 1, 1.0), stored("d2", 2, 0.0)._replace(**changes)]


def hows(found: list[StoredDecision], head: int = 2, promised: Told | None = None) -> set[str]:
    return {each.how for each in broken(found, head, promised or told())}


def test_kept() -> None:
    assert hows(rows()) == set()
    assert hows([*rows(), stored("d3", 3, 1.0)], 3) == set()


@pytest.mark.parametrize(
    ("how", "found", "head"),
    [
        ("lost", rows()[:1], 1),
        ("lost", rows(resolved=None, outcome=None, value=None, label=None, lsn=None), 1),
        ("lost", rows(lsn=3), 3),
        ("doubled", [*rows(), rows()[1]], 2),
        ("doubled", rows(lsn=1), 1),
        ("wrong", rows(value=1.0, label=1), 2),
        ("wrong", rows(label=1), 2),
        ("wrong", rows(item="b"), 2),
        ("wrong", rows(), 1),
        ("wrong", [*rows(), stored("d3", 3, 0.0)], 3),
        ("wrong", [*rows(), stored("d4", 3, 0.0)], 3),
    ],
)
def test_broken(how: str, found: list[StoredDecision], head: int) -> None:
    assert hows(found, head) == {how}


def test_two_answers_to_one_question() -> None:
    promised = told()
    promised.fed_back("d1", "first", 1.0, "late")
    assert hows(rows(), promised=promised) == {"wrong"}


def test_memory_promises_nothing() -> None:
    promised = told()
    promised.asked.add("d5")
    promised.decided({**msgspec.to_builtins(answered("d5")), "durable": False})
    assert hows(rows(), promised=promised) == set()
