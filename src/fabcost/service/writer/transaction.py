"""One transaction of the writer: decisions in, feedback and deadlines to impressions and counts."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fabcost.service.learning.follower import Learnt
from fabcost.service.learning.recovery import Keeper
from fabcost.service.store.rows import (
    DecisionRow,
    FeedbackRow,
    Key,
    Resolution,
    StoredDecision,
    impression,
)
from fabcost.service.store.store import KEPT_FEEDBACK, Store
from fabcost.service.writer.requests import Activate, Answers, Count, Expire, Feed, Request, Write
from fabcost.wire.errors import TakenOverError
from fabcost.wire.settings import Aggregation, ModelSettings

if TYPE_CHECKING:
    from fabcost.service.writer.journal import Additions

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

    answers: Answers = field(default_factory=list)
    learnt: dict[str, list[Learnt]] = field(default_factory=dict)
    statuses: list[tuple[str, str]] = field(default_factory=list)
    #: Model and arm of each impression, whether it was clicked, and by which outcome.
    outcomes: list[tuple[str, str, bool, str]] = field(default_factory=list)
    parked: set[Key] = field(default_factory=set)
    unparked: set[Key] = field(default_factory=set)
    written: int = 0


class Transaction:
    """Works inside one transaction of ``store``; nothing outside it changes.

    ``parked`` are decisions that do not exist yet but have feedback; to ``counts`` is added what
    becomes of decisions here.
    """

    def __init__(
        self, store: Store, keepers: Mapping[str, Keeper], parked: set[Key], counts: Additions
    ) -> None:
        self._store = store
        self._keepers = keepers
        self._parked = parked
        self._counts = counts
        self._heads = {name: keeper.head for name, keeper in keepers.items()}
        self._resolved: list[Resolution] = []
        self._fresh: dict[str, list[tuple[StoredDecision, Learnt]]] = {}
        self._result = Result()

    def run(self, group: Sequence[Request], *, without: Collection[str]) -> Result:
        """Write requests: decisions first, then what is about them.

        Decisions of models ``without`` a learner here do not expire.
        """
        if writes := [each for each in group if isinstance(each, Write)]:
            self._write(writes)
        if activations := [each for each in group if isinstance(each, Activate)]:
            self._activate(activations)
        if feeds := [each for each in group if isinstance(each, Feed)]:
            self._feed(feeds)
        for each in group:
            if isinstance(each, Expire):
                self._expire(each, without)
            elif isinstance(each, Count):
                self._result.answers.append((each.done, None))
        return self._finish()

    # Decisions

    def _write(self, writes: Sequence[Write]) -> None:
        """Insert decisions; those whose id is taken are answered with the decision that has it."""
        for each in writes:
            if each.steps is not None:
                self._store.insert_steps(each.row.model, each.steps.first, each.steps.steps)
        first: dict[Key, Write] = {}
        for each in writes:
            first.setdefault(_key(each.row), each)
        new = self._store.insert_decisions([each.row for each in first.values()])
        self._result.written += len(new)
        for key in new:
            self._counts.decision(first[key].row, first[key].entropy)
        if len(new) == len(writes):
            self._result.answers += [(each.done, True) for each in writes]
        else:
            self._answer_repeats(writes, first, new)
        self._unpark(new & self._parked)

    def _answer_repeats(
        self, writes: Sequence[Write], first: Mapping[Key, Write], new: set[Key]
    ) -> None:
        taken = {_key(each.row) for each in writes if first[_key(each.row)] is not each}
        found = self._store.find_decisions(taken | (first.keys() - new))
        for each in writes:
            key = _key(each.row)
            is_new = key in new and first[key] is each
            self._result.answers.append((each.done, True if is_new else found[key]))

    def _activate(self, activations: Sequence[Activate]) -> None:
        """Let deferred decisions count, and feedback that came before."""
        found = self._store.find_decisions({each.key for each in activations})
        waiting = {
            each.key
            for each in activations
            if each.key in found and _is_waiting(found[each.key], each.received)
        }
        self._store.activate(waiting)
        for each in activations:
            self._result.answers.append((each.done, each.key in waiting))
        earlier = _first_recorded(self._store.find_feedback(waiting))
        for key, row in earlier.items():
            if self._settings(key[0]).aggregation == "earliest":
                stored = found[key]._replace(active=True)
                self._resolve(stored, row.received, "feedback", row.value)
        self._write_resolved()

    # Feedback

    def _feed(self, feeds: Sequence[Feed]) -> None:
        """Turn feedback into impressions, at most one for each decision."""
        known = self._store.find_decisions({each.key for each in feeds})
        before = self._store.answered([(*each.key, each.repeat_key) for each in feeds])
        earlier = _first_recorded(self._store.find_feedback(self._about_to_be_resolved(known)))
        rows = []
        for each in feeds:
            same = (*each.key, each.repeat_key)
            status, value = before.get(same, ("", each.value))
            if not status:
                status = self._status(each, known, earlier)
                before[same] = (status, value)
                if each.key in known or status == "parked":
                    rows.append(FeedbackRow(*same, value, each.received, status))
            elif value != each.value and status != "late":
                status = "duplicate"
            self._result.statuses.append((each.key[0], status))
            self._result.answers.append((each.done, status))
        self._store.insert_feedback(self._worth_keeping(rows))
        self._write_resolved()

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
        known[feed.key] = self._resolve(stored, feed.received, "feedback", value)
        return _status_of_first(stored) if first is None else "duplicate"

    def _status_without_decision(self, key: Key) -> str:
        """Decisions of a model that is off are not recorded: there is nothing to wait for."""
        if self._settings(key[0]).mode == "off":
            return "ignored"
        self._result.parked.add(key)
        return "parked"

    def _about_to_be_resolved(self, known: Mapping[Key, StoredDecision]) -> list[Key]:
        """Decisions that the next feedback resolves, once each: reading all theirs costs little."""
        return [
            key
            for key, each in known.items()
            if each.resolved is None and not self._waits_for_more(each)
        ]

    def _waits_for_more(self, stored: StoredDecision) -> bool:
        """Whether feedback is only recorded, until the deadline or the activation."""
        if stored.arm == "imported":
            return False
        return self._settings(stored.model).aggregation != "earliest" or not stored.active

    def _worth_keeping(self, rows: Sequence[FeedbackRow]) -> list[FeedbackRow]:
        """Without what changed nothing on decisions that have much feedback already."""
        idle = {_key(row) for row in rows if row.status in _CHANGED_NOTHING}
        kept, worth = self._store.kept_feedback(idle), []
        for row in rows:
            key = _key(row)
            if row.status not in _CHANGED_NOTHING or kept[key] < KEPT_FEEDBACK:
                worth.append(row)
                kept[key] = kept.get(key, 0) + 1
        return worth

    def _unpark(self, keys: set[Key]) -> None:
        """Feedback that came before its decision counts as if it came just after."""
        if not keys:
            return
        known = self._store.find_decisions(keys)
        parked = [row for row in self._store.find_feedback(keys) if row.status == "parked"]
        settled = [row._replace(status=self._status_of_parked(row, known)) for row in parked]
        self._store.set_feedback_status(settled)
        self._result.unparked |= keys
        self._write_resolved()

    def _status_of_parked(self, row: FeedbackRow, known: dict[Key, StoredDecision]) -> str:
        stored = known[_key(row)]
        if stored.resolved is not None:
            return "duplicate"
        if self._waits_for_more(stored):
            return "recorded"
        known[_key(row)] = self._resolve(stored, stored.made, "feedback", row.value)
        return _status_of_first(stored)

    # Deadlines

    def _expire(self, request: Expire, without: Collection[str]) -> None:
        """Resolve what has waited long enough: by feedback so far, or as the default reward."""
        if self._parked and self._store.session.shared:
            # Another server wrote the decision, and did not know of the feedback.
            self._unpark(set(self._store.find_decisions(self._parked)))
        due = self._store.due(request.now, EXPIRED_AT_ONCE, without=without)
        # Of a model that is being deleted: they must not stand in the way of the others.
        self._store.delete_decisions([_key(each) for each in due if each.model not in self._heads])
        mine = [each for each in due if each.model in self._heads]
        values: dict[Key, list[float]] = {}
        for row in self._store.find_feedback([_key(each) for each in mine]):
            if row.status == "recorded":
                values.setdefault(_key(row), []).append(row.value)
        for each in mine:
            self._end(each, request.now, values.get(_key(each), []))
        self._result.answers.append((request.done, len(due)))
        self._write_resolved()
        if self._parked:
            self._result.unparked |= self._store.drop_parked(request.unpark)

    def _end(self, stored: StoredDecision, now: float, values: list[float]) -> None:
        settings = self._settings(stored.model)
        # What became of an imported decision is unknown, which is not the same as no click.
        if not stored.active or stored.arm == "imported":
            self._resolve(stored, now, "discarded", None)
        elif values:
            self._resolve(stored, now, "feedback", _AGGREGATE[settings.aggregation](values))
        else:
            self._resolve(stored, now, "expired", settings.default_reward)

    # Outcomes

    def _settings(self, model: str) -> ModelSettings:
        return self._keepers[model].settings

    def _resolve(
        self, stored: StoredDecision, now: float, outcome: str, value: float | None
    ) -> StoredDecision:
        """What became of a decision, to be written soon; if it is learnt, with the next number."""
        label = lsn = fraction = None
        if value is not None:
            settings = self._settings(stored.model)
            label = 1 if value > settings.click_threshold else -1
            fraction = None if settings.values == "click" else settings.fraction(value)
            self._counts.outcome(stored, label, fraction)
            self._result.outcomes.append((stored.model, stored.arm, label > 0, outcome))
        elif stored.arm != "imported":
            self._counts.never_shown(stored)
        if label is not None and stored.learns:
            lsn = self._heads[stored.model] = self._heads[stored.model] + 1
            shown = (stored.item, stored.made)
            learnt = Learnt(impression(stored.features), label, *shown, fraction)
            self._fresh.setdefault(stored.model, []).append((stored, learnt))
        self._resolved.append(Resolution(*_key(stored), now, outcome, value, label, lsn))
        return stored._replace(resolved=now, outcome=outcome, value=value, label=label, lsn=lsn)

    def _write_resolved(self) -> None:
        rows, self._resolved = self._resolved, []
        if rows and self._store.resolve(rows) != len(rows):
            raise TakenOverError("a decision was resolved by another server")
        self._result.written += len(rows)

    def _finish(self) -> Result:
        """Compare and swap the heads, and add up the counts."""
        for model, head in self._heads.items():
            before = self._keepers[model].head
            if head != before:
                self._store.advance(model, head=before, to=head)
        for model, fresh in self._fresh.items():
            self._predict(model, fresh)
            self._result.learnt[model] = [learnt for _, learnt in fresh]
        self._counts.write(self._store)
        if self._counts.has_decisions:
            self._store.mark_counted(self._counts.dead)
        return self._result

    def _predict(self, model: str, fresh: list[tuple[StoredDecision, Learnt]]) -> None:
        """Count how well a model predicted; one that cannot predict does not stop the others."""
        keeper = self._keepers[model]
        learnt = [each for _, each in fresh]
        try:
            p = keeper.learning.predicted(learnt)
        except Exception:  # noqa: BLE001 - the transaction is also that of other models
            return
        self._counts.predictions(fresh, p)


def _key(row: DecisionRow | StoredDecision | FeedbackRow) -> Key:
    """Of the decision that a row is, or is about."""
    return row.model, row.decision


def _first_recorded(rows: Iterable[FeedbackRow]) -> dict[Key, FeedbackRow]:
    first: dict[Key, FeedbackRow] = {}
    for row in rows:
        if row.status == "recorded":
            first.setdefault(_key(row), row)
    return first


def _status_of_first(stored: StoredDecision) -> str:
    """Of the feedback that resolves a decision."""
    return "applied" if stored.learns else "ignored"


def _is_waiting(stored: StoredDecision, received: float) -> bool:
    return stored.resolved is None and not stored.active and received <= stored.deadline
