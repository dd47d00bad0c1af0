"""What people and programs are shown of a model."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import msgspec
from msgspec import UNSET, UnsetType

from fabcost.bandit.prospects import Belief
from fabcost.inference.wide.belief import WideGaussian
from fabcost.service.models.candidates import encoded
from fabcost.service.models.decisions import Clock, Models
from fabcost.service.models.explanation import (
    IMAGES,
    NAMES,
    Past,
    Wanted,
    effects,
    explained,
    for_people,
)
from fabcost.service.models.model import Model
from fabcost.service.models.totals import Tail, Totals, Trial, count_all, count_outcomes
from fabcost.service.store.rows import (
    CalibrationRow,
    CountRow,
    StoredDecision,
    TallyRow,
    record,
    told,
)
from fabcost.service.store.store import Store, StoreThread
from fabcost.service.telemetry import Metrics
from fabcost.service.writer.journal import width
from fabcost.service.writer.writer import Writer
from fabcost.wire.errors import ServiceError, UnknownDecisionIdError
from fabcost.wire.messages import DecisionView, ExplanationAnswer, PosteriorAnswer, Weight
from fabcost.wire.statistics import (
    AlarmView,
    CalibrationBin,
    ContrastsAnswer,
    ItemTally,
    StatsAnswer,
    StatsBucket,
)

T = TypeVar("T")
_TOP_ITEMS = 10
_LISTED = '"listed":'
_UNSAVED = AlarmView(
    "too large to save",
    "",
    "Snapshots are above 500 MB and not written, so old decisions are not deleted and every start "
    "learns the log again: start a model with most_kept from this one (fabcost doctor says how).",
)
_NOT_LISTED = (
    "A wide belief: a hash chose which names have which of its {:,} weights, so they cannot be "
    "listed by name. {:,} were in an outcome so far; covariances are kept of {:,}. Explanations of "
    "decisions name what moved them."
)
#: Bytes of decisions after which a page of them ends, and how many are read in one go.
_PAGE_BYTES = 8 * 1024 * 1024
_ROWS_AT_ONCE = 20
_OLDEST_SECONDS = 60.0


class Looked(NamedTuple, Generic[T]):
    """What was found, at which moment, and how long it took."""

    found: T
    at: float
    seconds: float

    def is_fresh(self, now: float) -> bool:
        """Whether to use it again: looking may take a fiftieth of the time at most."""
        return now - self.at < min(50.0 * self.seconds, _OLDEST_SECONDS)


Kept = WeakKeyDictionary[Model, Looked[T]]


@dataclass(frozen=True, eq=False)
class Views:
    """Shows the posterior, counts and decisions."""

    models: Models
    writer: Writer
    reader: StoreThread
    clock: Clock
    totals: Kept[Totals] = field(default_factory=WeakKeyDictionary)
    found: Kept[list[AlarmView]] = field(default_factory=WeakKeyDictionary)
    learnt: Kept[ContrastsAnswer] = field(default_factory=WeakKeyDictionary)

    def posterior(self, name: str) -> PosteriorAnswer:
        """The weights with their names, means and sds."""
        model = self.models.of(name)
        known = model.known()
        published, belief, _ = known
        names = model.schema.columns
        listed = (each[: len(names)].tolist() for each in (belief.mean, belief.sd))
        return PosteriorAnswer(
            posterior_version=published.version,
            impressions=published.lsn,
            digest=known.digest(),
            weights=[Weight(*column) for column in zip(names, *listed, strict=True)],
            note=_note(belief),
        )

    async def contrasts(self, name: str) -> ContrastsAnswer:
        """What was learnt of visitors and items, each level beside the others of its feature."""
        return await self._again(self.learnt, name, self._contrasts)

    async def _contrasts(self, model: Model) -> ContrastsAnswer:
        published, belief, _ = model.known()
        told: dict[str, Any] = {"contexts": [], "items": [], "pairs": [], "note": _note(belief)}
        if not isinstance(belief, WideGaussian):
            wanted, known = Wanted.of(model.schema), belief
            told = await self.reader.ask(lambda _: wanted.told(known))
        version, impressions = published.version, published.lsn
        return ContrastsAnswer(posterior_version=version, impressions=impressions, **told)

    async def stats(self, name: str, *, minutes: int = 60) -> StatsAnswer:
        """What a dashboard shows."""
        model, now = self.models.of(name), self.clock.now()
        if self.writer.journal.has_uncounted:
            await self.writer.count()
        since, totals = now - 60.0 * minutes, await self._totals(name)
        read = await self.reader.ask(lambda store: _read_stats(store, model, since, totals))
        read["top_items"] = _dressed(model, read["top_items"])
        alarms = await self.alarms(name)
        learning, published = model.learning, model.learning.published
        return StatsAnswer(
            model=name,
            mode=model.settings.mode,
            now=now,
            posterior_version=published.version,
            posterior_published=published.time,
            impressions=learning.lsn,
            weights=model.schema.width,
            pending=totals.pending,
            learner_lag=learning.lag,
            refreshing=learning.refreshing and learning.failure is None,
            learning_failed=learning.failure is not None,
            refreshes=published.refreshes,
            last_refresh_seconds=learning.last_refresh_seconds,
            store_away=self.writer.away is not None,
            unwritten=self.writer.unwritten,
            feedback=totals.feedback,
            alarms=alarms,
            lift=totals.lift,
            income=totals.income,
            foretold=totals.foretold,
            **read,
        )

    async def alarms(self, name: str) -> list[AlarmView]:
        """What is wrong with the data of a model."""
        return await self._again(self.found, name, self._look)

    async def measure_alarms(self, metrics: Metrics) -> None:
        """Bring the gauges of all models up to date, as far as the database can be read."""
        for name in list(self.models.served):
            with contextlib.suppress(ServiceError):
                found, totals = await self.alarms(name), await self._totals(name)
                self.models.of(name)  # an error if it was deleted meanwhile
                metrics.alarmed(name, [each.kind for each in found])
                metrics.gained(name, totals.lift, totals.income)

    async def _again(self, kept: Kept[T], name: str, look: Callable[[Model], Awaitable[T]]) -> T:
        """What was found of a model the last time, or is now."""
        model, now = self.models.of(name), time.monotonic()
        before = kept.get(model)
        if before is None or not before.is_fresh(now):
            before = kept[model] = Looked(await look(model), now, time.monotonic() - now)
        return before.found

    async def _totals(self, name: str) -> Totals:
        return await self._again(self.totals, name, self._count)

    async def _count(self, model: Model) -> Totals:
        now = self.clock.now()
        return await self.reader.ask(lambda store: count_all(store, model.name, _trial(model), now))

    async def _look(self, model: Model) -> list[AlarmView]:
        head = model.learning.lsn
        tail = await self.reader.ask(lambda store: Tail.read(store, model, head))
        totals = await self._totals(model.name)
        _, belief, own = model.known()
        law = None if own is None else own.law([each.item for each in tail.latest])
        if isinstance(belief, WideGaussian):  # which this thread changes, and which takes no time
            watch = tail.watch(belief, law)
        else:
            watch = await self.reader.ask(lambda _: tail.watch(belief, law))
        watch.decisions = watch.decisions or totals.decisions
        watch.late_losses = model.learning.late
        count_outcomes(watch, totals.outcomes, totals.clicks, totals.feedback)
        watch.settled = model.created + model.settings.reward_wait_seconds < self.clock.now()
        found = [AlarmView(*alarm) for alarm in watch.alarms(model.schema)]
        saving = model.learning.saving
        return [*found, _UNSAVED] if saving is not None and saving.too_large else found

    async def decision(self, name: str, decision_id: str) -> DecisionView:
        """One decision and what became of it."""
        return await self._stored(name, decision_id, _view)

    async def decisions(
        self, name: str, *, limit: int, before: int | None = None
    ) -> tuple[list[DecisionView], int | None]:
        """The latest decisions, and where the next page begins; large ones make a page shorter."""
        model = self.models.of(name)
        views, after = await self.reader.ask(lambda store: _recent(store, name, limit, before))
        named = [(each, for_people(model, each.item, NAMES)) for each in views]
        return [msgspec.structs.replace(each, item_name=text) for each, text in named], after

    async def explain(self, name: str, decision_id: str) -> ExplanationAnswer:
        """What each column of the chosen row adds to its log-odds, and what speaks for another."""
        model = self.models.of(name)
        read = partial(self._stored, name, decision_id)
        return explained(model, await read(lambda stored: Past.of(stored, _view(stored))))

    async def _stored(self, name: str, decision_id: str, read: Callable[[StoredDecision], T]) -> T:
        """What ``read``, which may take long, makes of a decision."""
        self.models.of(name)
        key = (name, decision_id)

        def find(store: Store) -> T:
            stored = store.find_decisions([key])
            if key not in stored:
                raise UnknownDecisionIdError(decision_id)
            return read(in_full(store, [stored[key]])[0])

        return await self.reader.ask(find)


def _dressed(model: Model, tallies: list[ItemTally]) -> list[ItemTally]:
    """With what is known of the items, and what the catalogue has of them for people."""
    known = effects(model.known(), [each.item for each in tallies])
    return [
        msgspec.structs.replace(
            each,
            effect=known.get(each.item, UNSET),
            name=for_people(model, each.item, NAMES),
            image=for_people(model, each.item, IMAGES),
        )
        for each in tallies
    ]


def _note(belief: Belief) -> str | UnsetType:
    """Why weights are not listed, if they are not."""
    if not isinstance(belief, WideGaussian):
        return UNSET
    return _NOT_LISTED.format(belief.dimension, belief.known.size, belief.filled)


def _trial(model: Model) -> Trial:
    """It begins anew with new settings; minutes that began before are left out."""
    since = model.edited if model.edited > model.created else 0.0
    settings = model.settings
    return Trial(settings.holdback, since, settings.reward_wait_seconds, model.created)


def _recent(
    store: Store, name: str, limit: int, before: int | None
) -> tuple[list[DecisionView], int | None]:
    views: list[DecisionView] = []
    size, oldest = 0, before
    while len(views) < limit and size < _PAGE_BYTES:
        many = min(_ROWS_AT_ONCE, limit - len(views))
        rows = in_full(store, store.recent(name, limit=many, before=oldest))
        views += map(_view, rows)
        if len(rows) < many:
            return views, None
        size += sum(len(row.record) for row in rows)
        oldest = rows[-1].seq
    return views, oldest


def _read_stats(store: Store, model: Model, since: float, totals: Totals) -> dict[str, Any]:
    name = model.name
    latest = store.counts.minutes(name, since=min(since, totals.before))
    counts, calibration = [r for r in latest if r.start >= since], store.counts.calibration(name)
    tallies = store.counts.tallies(name, limit=_TOP_ITEMS)
    return {
        "decisions": totals.decisions_with(latest),
        "buckets": [
            StatsBucket(**_without_model(row), seconds=width(row.start, model.created))
            for row in counts
        ],
        "calibration": [CalibrationBin(**_without_model(row)) for row in calibration],
        "top_items": [ItemTally(**_without_model(row)) for row in tallies],
    }


def _without_model(row: CountRow | CalibrationRow | TallyRow) -> dict[str, Any]:
    return {name: value for name, value in row._asdict().items() if name != "model"}


def in_full(store: Store, rows: Collection[StoredDecision]) -> list[StoredDecision]:
    """Decisions whose records name all candidates, as the database has them or not."""
    known: dict[tuple[str, int], list[str]] = {}
    return [_in_full(store, row, known) if _LISTED in row.record else row for row in rows]


def _in_full(
    store: Store, row: StoredDecision, known: dict[tuple[str, int], list[str]]
) -> StoredDecision:
    made = record(row.record)
    if made.listed is None:
        return row
    at = (row.model, made.catalogue_version)
    if at not in known:
        known[at] = store.listed_items(*at)
    candidates = told(made.listed, known[at])
    named = msgspec.structs.replace(made, candidates=candidates, listed=None)
    return row._replace(record=encoded(named))


def _view(stored: StoredDecision) -> DecisionView:
    made = record(stored.record)
    return DecisionView(
        decision_id=stored.decision,
        item=stored.item,
        arm=stored.arm,
        made=stored.made,
        deadline=stored.deadline,
        context=made.context,
        candidates=made.candidates,
        excluded=made.excluded,
        ranking=made.answer.ranking,
        scores=made.answer.scores,
        propensities=made.answer.propensities,
        posterior_version=made.answer.posterior_version,
        would_choose=made.would_choose,
        deferred=made.deferred,
        resolved=stored.resolved,
        outcome=stored.outcome,
        value=stored.value,
        applied_lsn=stored.lsn,
        click_value=stored.click_value,
        cost=stored.cost,
    )
