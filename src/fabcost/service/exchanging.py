"""Logs and models that come and go."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from fabcost.inference.fabcost import FabCost
from fabcost.service import moving
from fabcost.service.core import Core
from fabcost.service.errors import InvalidRequestError, LearningFailedError, StoreAwayError
from fabcost.service.logged import logged_row
from fabcost.service.messages import FeedbackStatus, LoggedImpression, ModelAnswer
from fabcost.service.model_settings import ModelSettings
from fabcost.service.requests import Feed, Write
from fabcost.service.store.rows import StoredDecision

_LOOK_AGAIN_SECONDS = 0.25


class Exchanging(Core):
    """Exports and imports."""

    async def export_log(self, name: str, *, after: int, limit: int) -> list[StoredDecision]:
        """A page of the log."""
        self._model(name)
        return await self._read(lambda store: store.history(name, after=after, limit=limit))

    async def import_log(self, name: str, impressions: Sequence[LoggedImpression]) -> int:
        """Keep decisions of the past, and learn those whose outcome is known; how many are new."""
        model, now = self._model(name), self.clock.now()
        ids = [each.decision_id or self._new_id(now) for each in impressions]
        pairs = list(zip(impressions, ids, strict=True))
        rows = [logged_row(model, each, decision, now) for each, decision in pairs]
        writes: list[asyncio.Future[StoredDecision | bool]] = []
        feeds: list[asyncio.Future[FeedbackStatus]] = []
        for row, (each, decision) in zip(rows, pairs, strict=True):
            writes.append(self._loop.create_future())
            self._writer.submit(Write(row, model.new_steps(), None, writes[-1]))
            if each.value is not None:
                feeds.append(self._loop.create_future())
                self._writer.submit(Feed((name, decision), each.value, "imported", now, feeds[-1]))
        written = await asyncio.gather(*writes)
        await asyncio.gather(*feeds)
        if False in written:
            raise StoreAwayError("the decisions are in memory only")
        return sum(each is True for each in written)

    async def export_model(self, name: str) -> bytes:
        """The file of a `fabcost.Recommender` that goes on as this model would."""
        model = self._model(name)
        while True:
            learner = await self._call_about(name, lambda _: self._copied_learner(name))
            if learner is not None:
                return moving.to_file(model, learner)
            if model.learning.failure is not None:
                raise LearningFailedError(name, model.learning.failure)
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)

    async def import_model(
        self, name: str, content: bytes, settings: ModelSettings | None = None
    ) -> ModelAnswer:
        """A new model from a file of `fabcost.Recommender.save`."""
        try:
            found, base = await asyncio.to_thread(moving.from_file, content, settings)
        except ValueError as error:
            raise InvalidRequestError(str(error)) from error
        return await self._create(name, found, base)

    def _copied_learner(self, name: str) -> FabCost | None:
        learner = self._writer.ledger.keepers[name].learning.learner
        return None if learner is None else FabCost.restored(*learner.state())
