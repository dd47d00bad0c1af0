"""What callers were told, compared with the log: what was lost, doubled, or is otherwise wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from fabcost.service.store.rows import StoredDecision, record
from fabcost.wire.messages import DecisionAnswer
from tests.service.faults.visitors import Said, Told


class Broken(NamedTuple):
    """A promise that was not kept."""

    how: Literal["lost", "doubled", "wrong"]
    what: object


def broken(rows: Sequence[StoredDecision], head: int, told: Told) -> Iterator[Broken]:
    """All that is not as visitors were told, in a log whose numbers end at ``head``."""
    stored = {row.decision: row for row in rows}
    yield from broken_numbers(rows, head)
    yield from (Broken("wrong", each) for each in told.wrong)
    yield from (Broken("wrong", f"nobody asked for {each}") for each in stored.keys() - told.asked)
    durable = {name: answer for name, answer in told.decisions.items() if answer["durable"]}
    yield from broken_decisions(stored, durable)
    yield from broken_feedback(stored, told.feedback)


def broken_numbers(rows: Iterable[StoredDecision], head: int) -> Iterator[Broken]:
    """Each decision is there once, and so is each number up to the head."""
    rows = list(rows)
    numbers = Counter(row.lsn for row in rows if row.lsn is not None)
    for counted in (Counter(row.decision for row in rows), numbers):
        yield from (Broken("doubled", each) for each, times in counted.items() if times > 1)
    yield from (Broken("lost", f"number {n}") for n in range(1, head + 1) if n not in numbers)
    yield from (Broken("wrong", f"number {n} of {head}") for n in numbers if not 0 < n <= head)


def broken_decisions(
    stored: Mapping[str, StoredDecision], answers: Mapping[str, dict[str, Any]]
) -> Iterator[Broken]:
    """Decisions that are not there as they were answered."""
    for decision, answer in answers.items():
        row = stored.get(decision)
        if row is None:
            yield Broken("lost", answer)
        elif not _is_as_answered(row, answer):
            yield Broken("wrong", (row, answer))


def _is_as_answered(row: StoredDecision, answer: dict[str, Any]) -> bool:
    told = msgspec.convert({**answer, "durable": True}, DecisionAnswer)
    as_told = record(row.record).answer == told
    return as_told and (row.item, row.deadline) == (told.item, told.deadline)


def broken_feedback(
    stored: Mapping[str, StoredDecision], feedback: Mapping[tuple[str, str], Said]
) -> Iterator[Broken]:
    """Feedback that did not become what it was told; parked feedback may wait for its decision.

    If several wait for one, as where other servers have it in memory, the first of them counts.
    """
    parked: dict[str, set[float]] = {}
    for (decision, _), said in feedback.items():
        if said.status == "parked":
            parked.setdefault(decision, set()).add(said.value)
    for (decision, key), said in feedback.items():
        row = stored.get(decision)
        if row is None:
            if said.status != "parked":
                yield Broken("lost", (decision, key, said))
        elif not any(_is_as_said(row, each) for each in _alike(said, parked.get(decision, ()))):
            how: Literal["lost", "wrong"] = "lost" if row.outcome is None else "wrong"
            yield Broken(how, (row, key, said))


def _alike(said: Said, parked: Iterable[float]) -> list[Said]:
    """What the feedback may have become: that of another which was parked with it."""
    return [Said(value, "parked") for value in parked] if said.status == "parked" else [said]


def _is_as_said(row: StoredDecision, said: Said) -> bool:
    if row.resolved is not None and row.label != (1 if row.value else -1):
        return False
    if said.status in ("applied", "parked"):
        return (row.outcome, row.value) == ("feedback", said.value)
    if said.status == "duplicate":
        return row.outcome == "feedback"
    # Late: the deadline is past, and the decision expires if it has not yet.
    in_time = row.outcome in ("feedback", None) or (row.outcome, row.value) == ("expired", 0.0)
    return said.status == "late" and in_time
