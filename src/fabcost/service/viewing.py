"""What people and programs look at."""

from __future__ import annotations

from typing import Any

from fabcost.service.core import Core
from fabcost.service.models import views
from fabcost.service.store.record import impression, view
from fabcost.wire.messages import (
    DecisionView,
    ExplanationAnswer,
    PosteriorAnswer,
    StatsAnswer,
)


class Viewing(Core):
    """Shows the posterior, counts and decisions."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._totals: dict[str, views.Totals] = {}

    def posterior(self, name: str) -> PosteriorAnswer:
        """The weights with their names, means and sds."""
        return views.posterior(self._model(name))

    async def stats(self, name: str, *, minutes: int = 60) -> StatsAnswer:
        """What a dashboard shows."""
        model, now = self._model(name), self.clock.now()
        if self._writer.ledger.has_uncounted:
            await self._count()
        since, totals = now - 60.0 * minutes, self._totals.get(name)
        read = await self._read(lambda store: views.read_stats(store, name, since, totals))
        self._totals[name] = read.totals
        away, unwritten = self._writer.away is not None, self._writer.unwritten
        return views.stats(model, read, now, away=away, unwritten=unwritten)

    async def decision(self, name: str, decision_id: str) -> DecisionView:
        """One decision and what became of it."""
        return await self._stored(name, decision_id, view)

    async def decisions(
        self, name: str, *, limit: int, before: int | None = None
    ) -> tuple[list[DecisionView], int | None]:
        """The latest decisions, and where the next page begins."""
        self._model(name)
        return await self._read(lambda store: views.recent(store, name, limit, before))

    async def explain(self, name: str, decision_id: str) -> ExplanationAnswer:
        """What speaks for the chosen item, under the posterior of now."""
        model = self._model(name)
        row, shown = await self._stored(
            name, decision_id, lambda stored: (impression(stored.features), view(stored))
        )
        return views.explain(model, row, shown)
