"""The client for event loops."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from types import TracebackType
from typing import Any, Self

import httpx
import numpy as np

from fabcost.client import calls
from fabcost.client.calls import Decisions
from fabcost.client.exchange import Retries, patience
from fabcost.client.http import Address, AwaitingDriver
from fabcost.wire.messages import (
    DecisionAnswer,
    DecisionView,
    ExplanationAnswer,
    FeedbackAnswer,
    FeedbackRequest,
    Filter,
    ItemsAnswer,
    LogFormat,
    ModelAnswer,
    PosteriorAnswer,
    Record,
    StatsAnswer,
)
from fabcost.wire.settings import ModelSettings


class AsyncClient:
    """`fabcost.client.client.Client` with methods to await, and the same parameters.

    Examples
    --------
    >>> import asyncio
    >>> async def look() -> None:
    ...     async with AsyncClient("http://127.0.0.1:8000") as client:
    ...         print(client)
    >>> asyncio.run(look())
    AsyncClient('http://127.0.0.1:8000')
    """

    def __init__(
        self,
        base_url: str,
        key: str | None = None,
        *,
        timeout: float = 10.0,
        retries: Retries = Retries(),  # noqa: B008 - a frozen value
        rng: np.random.Generator | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        address = Address(base_url, key, timeout=timeout, retries=retries, rng=rng)
        self._driver = AwaitingDriver(httpx.AsyncClient(transport=transport), address)
        self._send = self._driver.send

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient({self._driver.address.base_url!r})"

    async def close(self) -> None:
        """Close the connections."""
        await self._driver.http.aclose()

    async def wait_until_ready(self, seconds: float = 30.0) -> None:
        """Until the server can decide and learn."""
        await self._send(calls.ready(), patience(seconds))

    # Models

    async def models(self) -> list[ModelAnswer]:
        """All models."""
        return await self._send(calls.models())

    async def model(self, name: str) -> ModelAnswer:
        """One model."""
        return await self._send(calls.model(name))

    async def create_model(self, name: str, settings: ModelSettings | None = None) -> ModelAnswer:
        """A new model."""
        return await self._send(calls.create_model(name, settings or ModelSettings()))

    async def change_model(self, name: str, **changes: Any) -> ModelAnswer:
        """Other values for some of `fabcost.wire.settings.Changeable`."""
        return await self._send(calls.change_model(name, changes))

    async def delete_model(self, name: str) -> None:
        """Forget a model, its catalogue and its log."""
        await self._send(calls.delete_model(name))

    # Catalogues

    async def put_items(self, model: str, items: Mapping[str, Mapping[str, Any]]) -> int:
        """Add or replace items, many in several requests; the catalogue's version after it."""
        return [await self._send(call) for call in calls.put_items(model, items)][-1]

    async def items(self, model: str, *, limit: int = 100, after: str | None = None) -> ItemsAnswer:
        """One page of the catalogue."""
        return await self._send(calls.items(model, limit, after))

    async def item(self, model: str, item: str) -> Record:
        """The features of one item."""
        return await self._send(calls.item(model, item))

    async def delete_item(self, model: str, item: str) -> None:
        """Take one item out of the catalogue."""
        await self._send(calls.delete_item(model, item))

    # The loop

    async def decide(
        self,
        model: str,
        *,
        context: Mapping[str, Any] | None = None,
        candidates: Mapping[str, Mapping[str, Any]] | None = None,
        items: Collection[str] | None = None,
        filter: Filter | None = None,  # noqa: A002 - the API's name
        exclude: Collection[str] = (),
        top_k: int = 1,
        deferred: bool = False,
        decision_id: str | None = None,
    ) -> DecisionAnswer:
        """Which item to show: see `fabcost.wire.messages.DecisionRequest`."""
        return await self._send(
            calls.decide(
                model,
                context=context,
                candidates=candidates,
                items=items,
                filter=filter,
                exclude=exclude,
                top_k=top_k,
                deferred=deferred,
                decision_id=decision_id,
            )
        )

    async def feedback(
        self, model: str, decision_id: str, value: float = 1.0, *, key: str | None = None
    ) -> FeedbackAnswer:
        """What became of a decision."""
        return await self._send(calls.feedback(model, decision_id, value, key))

    async def feedback_bulk(
        self, model: str, feedback: Iterable[FeedbackRequest]
    ) -> list[FeedbackAnswer]:
        """What became of many decisions; more than a thousand go in several requests."""
        bulk = calls.feedback_bulk(model, feedback)
        return [answer for call in bulk for answer in await self._send(call)]

    async def activate(self, model: str, decision_id: str) -> bool:
        """Make a deferred decision count; False if it is none, unknown, or too late."""
        return await self._send(calls.activate(model, decision_id))

    # Looking

    async def posterior(self, model: str) -> PosteriorAnswer:
        """The weights with their means and sds."""
        return await self._send(calls.posterior(model))

    async def stats(self, model: str, *, minutes: int = 60) -> StatsAnswer:
        """What a dashboard shows."""
        return await self._send(calls.stats(model, minutes))

    async def decision(self, model: str, decision_id: str) -> DecisionView:
        """A decision and what became of it."""
        return await self._send(calls.decision(model, decision_id))

    async def decisions(
        self, model: str, *, limit: int = 100, before: int | None = None
    ) -> Decisions:
        """One page of the latest decisions, newest first."""
        return await self._send(calls.decisions(model, limit, before))

    async def explain(self, model: str, decision_id: str) -> ExplanationAnswer:
        """Why an item was chosen."""
        return await self._send(calls.explain(model, decision_id))

    # Transfer

    async def export_model(self, model: str) -> bytes:
        """The model as a file of `fabcost.Recommender.save`."""
        return await self._send(calls.export_model(model))

    async def import_model(self, model: str, file: bytes) -> ModelAnswer:
        """A new model from such a file."""
        return await self._send(calls.import_model(model, file))

    def export_log(self, model: str, form: LogFormat = "jsonl") -> AsyncIterator[bytes]:
        """The log, piece by piece."""
        return self._driver.stream(calls.export_log(model, form))

    async def import_log(
        self, model: str, log: bytes, form: LogFormat = "jsonl", *, after: str = ""
    ) -> int:
        """Learn a log from elsewhere, or a part of one; how many lines told something new."""
        return await self._send(calls.import_log(model, form, log, after))
