"""One transaction of the writer: decisions in, feedback and deadlines to impressions."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fabcost.service.learning.keeper import Keeper
from fabcost.service.learning.learner import Learnt
from fabcost.service.store.rows import FeedbackRow, Key, StoredDecision
from fabcost.service.store.store import KEPT_FEEDBACK, Store
from fabcost.service.writer.counts import Counts
from fabcost.service.writer.outcomes import Outcomes
from fabcost.service.writer.requests import Activate, Expire, Feed, Write
from fabcost.wire.settings import Aggregation

#: Decisions that one transaction expires.
EXPIRED_AT_ONCE = 1000
_CHANGED_NOTHING = ("duplicate", "late")
_AGGREGATE: dict[Aggregation, Callable[[Sequence[float]], float]] = {
    "earliest": lambda values: values[0],
    "sum": lambda values: float(sum(values)),
    "average": statistics.fmean,
    "median": statistics.median,
    "min": min,
    "max": max,
}


@dataclass
class Result:
    """What a transaction did, to be told once it is durable."""

    answers: list[tuple[Any, Any]] = field(default_factory=list)
    learnt: dict[str, list[Learnt]] = field(default_factory=dict)
    statuses: list[tuple[str, str]] = field(default_factory=list)
    parked: set[Key] = field(default_factory=set)
    unparked: set[Key] = field(default_factory=set)
    expired: int = 0
    written: int = 0


class Resolver:
    """Works inside one transaction of ``store``; nothing outside it changes.

    Parameters
    ----------
    store
        In a transaction.
    keepers
        The models by name.
    parked
        Decisions that do not exist yet but have feedback.
    uncounted
        Of decisions that were written before, and are counted with this transaction.
    """

    def __init__(
        self, store: Store, keepers: Mapping[str, Keeper], parked: set[Key], uncounted: Counts
    ) -> None:
        self._store = store
        self._keepers = keepers
        self._parked = parked
        self._counts = Counts()
        self._counts.add(uncounted)
        self._has_decisions = bool(uncounted)
        self._outcomes = Outcomes(store, keepers, self._counts)
        self.result = Result()

    def write(self, writes: Sequence[Write]) -> None:
        """Insert decisions; those whose id is taken are answered with the decision that has it."""
        for each in writes:
            if each.steps is not None:
                self._store.insert_steps(each.row.model, each.steps.first, each.steps.steps)
        first: dict[Key, Write] = {}
        for each in writes:
            first.setdefault(_key(each), each)
        new = self._store.insert_decisions([each.row for each in first.values()])
        self.result.written += len(new)
        self._has_decisions |= bool(new)
        for key in new:
            self._counts.decision(first[key].row, first[key].entropy)
        if len(new) == len(writes):
            self.result.answers += [(each.done, True) for each in writes]
        else:
            self._answer_repeats(writes, first, new)
        self._unpark(new & self._parked)

    def _answer_repeats(
        self, writes: Sequence[Write], first: Mapping[Key, Write], new: set[Key]
    ) -> None:
        taken = {_key(each) for each in writes if first[_key(each)] is not each}
        found = self._store.find_decisions(taken | (first.keys() - new))
        for each in writes:
            is_new = _key(each) in new and first[_key(each)] is each
            self.result.answers.append((each.done, True if is_new else found[_key(each)]))

    def activate(self, activations: Sequence[Activate]) -> None:
        """Let deferred decisions count, and feedback that came before."""
        keys = {each.key for each in activations}
        found = self._store.find_decisions(keys)
        waiting = {
            each.key
            for each in activations
            if each.key in found and _is_waiting(found[each.key], each.received)
        }
        if waiting:
            self._store.activate(waiting)
        for each in activations:
            self.result.answers.append((each.done, each.key in waiting))
        earlier = _first_recorded(self._store.find_feedback(waiting) if waiting else [])
        for key, row in earlier.items():
            if self._outcomes.settings(key[0]).aggregation == "earliest":
                stored = found[key]._replace(active=True)
                self._outcomes.resolve(stored, row.received, "feedback", row.value)
        self._apply()

    def feed(self, feeds: Sequence[Feed]) -> None:
        """Turn feedback into impressions, at most one for each decision."""
        keys = {each.key for each in feeds}
        known = self._store.find_decisions(keys)
        before = self._store.feedback_statuses([(*each.key, each.repeat_key) for each in feeds])
        earlier = _first_recorded(self._store.find_feedback(self._about_to_be_resolved(known)))
        rows = []
        for each in feeds:
            same = (*each.key, each.repeat_key)
            status = before.get(same)
            if status is None:
                status = before[same] = self._status(each, known, earlier)
                if each.key in known or status == "parked":
                    rows.append(FeedbackRow(*same, each.value, each.received, status))
            self.result.statuses.append((each.key[0], status))
            self.result.answers.append((each.done, status))
        if rows:
            self._store.insert_feedback(self._worth_keeping(rows))
        self._apply()

    def _about_to_be_resolved(self, known: Mapping[Key, StoredDecision]) -> list[Key]:
        """Decisions that the next feedback resolves, once each: reading all theirs costs little."""
        return [
            key
            for key, each in known.items()
            if each.resolved is None and not self._waits_for_more(each)
        ]

    def _worth_keeping(self, rows: Sequence[FeedbackRow]) -> list[FeedbackRow]:
        """Without what changed nothing on decisions that have much feedback already."""
        idle = {(row.model, row.decision) for row in rows if row.status in _CHANGED_NOTHING}
        kept, worth = self._store.kept_feedback(idle), []
        for row in rows:
            key = (row.model, row.decision)
            if row.status not in _CHANGED_NOTHING or kept[key] < KEPT_FEEDBACK:
                worth.append(row)
                kept[key] = kept.get(key, 0) + 1
        return worth

    def expire(self, request: Expire, *, without: Collection[str] = ()) -> None:
        """Resolve what has waited long enough: by feedback so far, or as the default reward.

        Decisions of the models ``without`` are left as they are.
        """
        due = self._store.due(request.now, EXPIRED_AT_ONCE, without=without)
        # Of a model that is being deleted: they must not stand in the way of the others.
        gone = [_key_of(each) for each in due if each.model not in self._keepers]
        self._store.delete_decisions(gone)
        due = [each for each in due if each.model in self._keepers]
        values: dict[Key, list[float]] = {}
        for row in self._store.find_feedback([_key_of(each) for each in due]) if due else []:
            if row.status == "recorded":
                values.setdefault((row.model, row.decision), []).append(row.value)
        for each in due:
            self._expire(each, request.now, values.get(_key_of(each), []))
        self.result.expired += len(due)
        self.result.answers.append((request.done, len(due) + len(gone)))
        self._apply()
        if self._parked:
            self.result.unparked |= self._store.drop_parked(request.unpark)

    def finish(self) -> Result:
        """Compare and swap the heads, and add up the counts."""
        self.result.learnt = self._outcomes.finish()
        if self._has_decisions:
            self._store.mark_counted()
        return self.result

    def _unpark(self, keys: set[Key]) -> None:
        """Feedback that came before its decision counts as if it came just after."""
        if not keys:
            return
        known = self._store.find_decisions(keys)
        parked = [row for row in self._store.find_feedback(keys) if row.status == "parked"]
        settled = [row._replace(status=self._status_of_parked(row, known)) for row in parked]
        self._store.set_feedback_status(settled)
        self.result.unparked |= keys
        self._apply()

    def _status_of_parked(self, row: FeedbackRow, known: dict[Key, StoredDecision]) -> str:
        stored = known[row.model, row.decision]
        if stored.resolved is not None:
            return "duplicate"
        if self._waits_for_more(stored):
            return "recorded"
        resolved = self._outcomes.resolve(stored, stored.made, "feedback", row.value)
        known[row.model, row.decision] = resolved
        return _status_of_first(stored)

    def _waits_for_more(self, stored: StoredDecision) -> bool:
        """Whether feedback is only recorded, until the deadline or the activation."""
        if stored.arm == "imported":
            return False
        return self._outcomes.settings(stored.model).aggregation != "earliest" or not stored.active

    def _status(
        self,
        feed: Feed,
        known: dict[Key, StoredDecision],
        earlier: Mapping[Key, FeedbackRow],
    ) -> str:
        stored = known.get(feed.key)
        if stored is None:
            return self._status_without_decision(feed.key)
        if feed.received > stored.deadline:
            return "late"
        if stored.resolved is not None:
            return "duplicate" if stored.outcome == "feedback" else "late"
        if self._waits_for_more(stored):
            return "recorded"
        # Recorded while the model had another aggregation, and still the earliest.
        first = earlier.get(feed.key)
        value = feed.value if first is None else first.value
        known[feed.key] = self._outcomes.resolve(stored, feed.received, "feedback", value)
        return _status_of_first(stored) if first is None else "duplicate"

    def _status_without_decision(self, key: Key) -> str:
        """Decisions of a model that is off are not recorded: there is nothing to wait for."""
        if self._outcomes.settings(key[0]).mode == "off":
            return "ignored"
        self.result.parked.add(key)
        return "parked"

    def _expire(self, stored: StoredDecision, now: float, values: list[float]) -> None:
        settings = self._outcomes.settings(stored.model)
        # What became of an imported decision is unknown, which is not the same as no click.
        if not stored.active or stored.arm == "imported":
            self._outcomes.resolve(stored, now, "discarded", None)
        elif values:
            self._outcomes.resolve(
                stored, now, "feedback", _AGGREGATE[settings.aggregation](values)
            )
        else:
            self._outcomes.resolve(stored, now, "expired", settings.default_reward)

    def _apply(self) -> None:
        self.result.written += self._outcomes.write()


def _key(write: Write) -> Key:
    return write.row.model, write.row.decision


def _key_of(stored: StoredDecision) -> Key:
    return stored.model, stored.decision


def _first_recorded(rows: Iterable[FeedbackRow]) -> dict[Key, FeedbackRow]:
    first: dict[Key, FeedbackRow] = {}
    for row in rows:
        if row.status == "recorded":
            first.setdefault((row.model, row.decision), row)
    return first


def _status_of_first(stored: StoredDecision) -> str:
    """Of the feedback that resolves a decision."""
    return "applied" if stored.learns else "ignored"


def _is_waiting(stored: StoredDecision, received: float) -> bool:
    return stored.resolved is None and not stored.active and received <= stored.deadline


def without_models(requests: Iterable[Any], keepers: Mapping[str, Keeper]) -> list[Any]:
    """Those requests whose model is gone."""
    return [each for each in requests if model_of(each) not in keepers]


def model_of(request: Any) -> str:
    """The model that a decision, feedback or activation is about."""
    return str(request.row.model if isinstance(request, Write) else request.key[0])
