"""What people and programs are shown of a model."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from fabcost.service.learning.learner import Learnt, predicted
from fabcost.service.models.catalogue import Catalogue
from fabcost.service.models.listing import in_full
from fabcost.service.models.model import Model
from fabcost.service.models.widening import widened
from fabcost.service.store.record import Impression, view
from fabcost.service.store.rows import (
    CalibrationRow,
    CountRow,
    Key,
    StoredDecision,
    TallyRow,
)
from fabcost.service.store.store import Store
from fabcost.wire.errors import UnknownDecisionIdError
from fabcost.wire.messages import (
    CalibrationBin,
    Contribution,
    DecisionView,
    ExplanationAnswer,
    ItemsAnswer,
    ItemTally,
    ModelAnswer,
    PosteriorAnswer,
    StatsAnswer,
    StatsBucket,
    Weight,
)

_TOP_ITEMS = 10
#: Bytes of decisions after which a page of them ends, and how many are read in one go.
_PAGE_BYTES = 8 * 1024 * 1024
_ROWS_AT_ONCE = 20
_OLDEST_TOTALS_SECONDS = 60.0


class Totals(NamedTuple):
    """Counts over the whole log, which take long when it is long."""

    feedback: dict[str, int]
    pending: int
    decisions: int
    at: float
    seconds: float

    def is_fresh(self, now: float) -> bool:
        """Whether to use them again: counting may take a fiftieth of the time at most."""
        return now - self.at < min(50.0 * self.seconds, _OLDEST_TOTALS_SECONDS)


class Read(NamedTuple):
    """What the database knows of a model."""

    counts: list[CountRow]
    calibration: list[CalibrationRow]
    tallies: list[TallyRow]
    totals: Totals


def model(each: Model) -> ModelAnswer:
    """A model as it is now."""
    published = each.learning.published
    return ModelAnswer(
        name=each.name,
        settings=each.settings,
        created=each.created,
        edited=each.edited,
        weights=each.schema.width,
        items=len(each.catalogue),
        impressions=each.learning.lsn,
        posterior_version=published.version,
        degraded=degraded(each),
    )


def degraded(each: Model) -> str | None:
    """Why a model is not served in full; None if it is."""
    return None if each.learning.failure is None else "stopped learning"


def items(catalogue: Catalogue, limit: int, after: str | None) -> ItemsAnswer:
    """A page of a catalogue, in the order of the items' first coming."""
    page, more = catalogue.after(after, limit)
    return ItemsAnswer(version=catalogue.version, items=page, next=list(page)[-1] if more else None)


def posterior(each: Model) -> PosteriorAnswer:
    """The weights with their names, means and sds."""
    published = each.learning.published
    belief = widened(published.belief, each.schema.width, each.settings.prior_variance)
    columns = zip(each.schema.columns, belief.mean.tolist(), belief.sd.tolist(), strict=True)
    return PosteriorAnswer(
        posterior_version=published.version,
        impressions=published.lsn,
        digest=published.digest,
        weights=[Weight(*column) for column in columns],
    )


def found(stored: Mapping[Key, StoredDecision], key: Key) -> StoredDecision:
    """The one decision, or an error."""
    if key not in stored:
        raise UnknownDecisionIdError(key[1])
    return stored[key]


def recent(
    store: Store, name: str, limit: int, before: int | None
) -> tuple[list[DecisionView], int | None]:
    """The latest decisions, and where the next page begins; large ones make a page shorter."""
    views: list[DecisionView] = []
    size, oldest = 0, before
    while len(views) < limit and size < _PAGE_BYTES:
        many = min(_ROWS_AT_ONCE, limit - len(views))
        rows = in_full(store, store.recent(name, limit=many, before=oldest))
        views += map(view, rows)
        if len(rows) < many:
            return views, None
        size += sum(len(row.record) for row in rows)
        oldest = rows[-1].seq
    return views, oldest


def explain(each: Model, row: Impression, decision: DecisionView) -> ExplanationAnswer:
    """What each column of the chosen row adds to its score under the posterior of now."""
    published = each.learning.published
    belief = widened(published.belief, each.schema.width, each.settings.prior_variance)
    learnt = [Learnt(row, 1)]
    contributions = [
        Contribution(
            each.schema.columns[column],
            number,
            float(belief.mean[column]),
            float(belief.sd[column]),
            float(belief.mean[column] * number),
        )
        for column, number in zip(row.columns, row.numbers, strict=True)
    ]
    contributions.sort(key=lambda one: -abs(one.contribution))
    return ExplanationAnswer(
        decision=decision,
        posterior_version=published.version,
        click_probability=float(
            np.clip(predicted(published, each.settings.prior_variance, learnt)[0], 0.0, 1.0)
        ),
        contributions=contributions,
    )


def read_stats(store: Store, name: str, since: float, totals: Totals | None) -> Read:
    """Ask the database; ``totals`` are those of the last time."""
    if totals is None or not totals.is_fresh(time.monotonic()):
        totals = _read_totals(store, name)
    return Read(
        counts=store.counts.minutes(name, since=since),
        calibration=store.counts.calibration(name),
        tallies=store.counts.tallies(name, limit=_TOP_ITEMS),
        totals=totals,
    )


def _read_totals(store: Store, name: str) -> Totals:
    started = time.monotonic()
    feedback, pending = store.feedback_counts(name), store.pending(name)
    decisions = sum(row.decisions for row in store.counts.minutes(name, since=0.0))
    now = time.monotonic()
    return Totals(feedback, pending, decisions, now, now - started)


def stats(each: Model, read: Read, now: float, *, away: bool, unwritten: int) -> StatsAnswer:
    """What a dashboard shows."""
    learning = each.learning
    published = learning.published
    return StatsAnswer(
        model=each.name,
        mode=each.settings.mode,
        now=now,
        posterior_version=published.version,
        posterior_published=published.time,
        impressions=learning.lsn,
        weights=each.schema.width,
        decisions=read.totals.decisions,
        pending=read.totals.pending,
        learner_lag=learning.lag,
        refreshing=learning.refreshing and learning.failure is None,
        learning_failed=learning.failure is not None,
        refreshes=published.refreshes,
        last_refresh_seconds=learning.last_refresh_seconds,
        store_away=away,
        unwritten=unwritten,
        feedback=read.totals.feedback,
        buckets=[StatsBucket(**_without_model(row)) for row in read.counts],
        calibration=[CalibrationBin(**_without_model(row)) for row in read.calibration],
        top_items=[ItemTally(**_without_model(row)) for row in read.tallies],
    )


def _without_model(row: CountRow | CalibrationRow | TallyRow) -> dict[str, Any]:
    return {name: value for name, value in row._asdict().items() if name != "model"}
