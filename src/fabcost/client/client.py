"""The blocking client."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Self

import httpx
import numpy as np

from fabcost.client import calls
from fabcost.client.calls import Decisions
from fabcost.client.exchange import Retries, patience
from fabcost.client.http import Address, BlockingDriver
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


class Client:
    """Talks to a server; one client may be used by many threads.

    What is safe to repeat is repeated when a connection breaks, no answer comes in time, or the
    server is busy: ids and keys are made before the first attempt, so that the server knows a
    second one.  Every method raises `ClientError` if that does not help.

    Parameters
    ----------
    base_url
        Such as "http://127.0.0.1:8000".
    key
        An API key, if the server asks for one.
    timeout
        Seconds that one attempt waits for the next sign of the server; ten minutes and a little
        for whole models, logs and catalogues, which take a server that long at most.
    retries
        `Retries`, or `NEVER`.
    rng
        Of the jitter in the pauses.
    transport
        Of httpx, for special networks.

    Examples
    --------
    >>> with Client("http://127.0.0.1:8000", key="fc_1_secret") as client:
    ...     client
    Client('http://127.0.0.1:8000')
    """

    def __init__(
        self,
        base_url: str,
        key: str | None = None,
        *,
        timeout: float = 10.0,
        retries: Retries = Retries(),  # noqa: B008 - a frozen value
        rng: np.random.Generator | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        address = Address(base_url, key, timeout=timeout, retries=retries, rng=rng)
        self._driver = BlockingDriver(httpx.Client(transport=transport), address)
        self._send = self._driver.send

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self._driver.address.base_url!r})"

    def close(self) -> None:
        """Close the connections."""
        self._driver.http.close()

    def wait_until_ready(self, seconds: float = 30.0) -> None:
        """Until the server can decide and learn."""
        self._send(calls.ready(), patience(seconds))

    # Models

    def models(self) -> list[ModelAnswer]:
        """All models."""
        return self._send(calls.models())

    def model(self, name: str) -> ModelAnswer:
        """One model."""
        return self._send(calls.model(name))

    def create_model(self, name: str, settings: ModelSettings | None = None) -> ModelAnswer:
        """A new model."""
        return self._send(calls.create_model(name, settings or ModelSettings()))

    def change_model(self, name: str, **changes: Any) -> ModelAnswer:
        """Other values for some of `fabcost.wire.settings.Changeable`."""
        return self._send(calls.change_model(name, changes))

    def delete_model(self, name: str) -> None:
        """Forget a model, its catalogue and its log."""
        self._send(calls.delete_model(name))

    # Catalogues

    def put_items(self, model: str, items: Mapping[str, Mapping[str, Any]]) -> int:
        """Add or replace items, many in several requests; the catalogue's version after it."""
        return [self._send(call) for call in calls.put_items(model, items)][-1]

    def items(self, model: str, *, limit: int = 100, after: str | None = None) -> ItemsAnswer:
        """One page of the catalogue."""
        return self._send(calls.items(model, limit, after))

    def item(self, model: str, item: str) -> Record:
        """The features of one item."""
        return self._send(calls.item(model, item))

    def delete_item(self, model: str, item: str) -> None:
        """Take one item out of the catalogue."""
        self._send(calls.delete_item(model, item))

    # The loop

    def decide(
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
        return self._send(
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

    def feedback(
        self, model: str, decision_id: str, value: float = 1.0, *, key: str | None = None
    ) -> FeedbackAnswer:
        """What became of a decision."""
        return self._send(calls.feedback(model, decision_id, value, key))

    def feedback_bulk(
        self, model: str, feedback: Iterable[FeedbackRequest]
    ) -> list[FeedbackAnswer]:
        """What became of many decisions; more than a thousand go in several requests."""
        bulk = calls.feedback_bulk(model, feedback)
        return [answer for call in bulk for answer in self._send(call)]

    def activate(self, model: str, decision_id: str) -> bool:
        """Make a deferred decision count; False if it is none, unknown, or too late."""
        return self._send(calls.activate(model, decision_id))

    # Looking

    def posterior(self, model: str) -> PosteriorAnswer:
        """The weights with their means and sds."""
        return self._send(calls.posterior(model))

    def stats(self, model: str, *, minutes: int = 60) -> StatsAnswer:
        """What a dashboard shows."""
        return self._send(calls.stats(model, minutes))

    def decision(self, model: str, decision_id: str) -> DecisionView:
        """A decision and what became of it."""
        return self._send(calls.decision(model, decision_id))

    def decisions(self, model: str, *, limit: int = 100, before: int | None = None) -> Decisions:
        """One page of the latest decisions, newest first."""
        return self._send(calls.decisions(model, limit, before))

    def explain(self, model: str, decision_id: str) -> ExplanationAnswer:
        """Why an item was chosen."""
        return self._send(calls.explain(model, decision_id))

    # Transfer

    def export_model(self, model: str) -> bytes:
        """The model as a file of `fabcost.Recommender.save`."""
        return self._send(calls.export_model(model))

    def import_model(self, model: str, file: bytes) -> ModelAnswer:
        """A new model from such a file."""
        return self._send(calls.import_model(model, file))

    def export_log(self, model: str, form: LogFormat = "jsonl") -> Iterator[bytes]:
        """The log, piece by piece."""
        return self._driver.stream(calls.export_log(model, form))

    def import_log(
        self, model: str, log: bytes, form: LogFormat = "jsonl", *, after: str = ""
    ) -> int:
        """Learn a log from elsewhere, or a part of one; how many lines told something new."""
        return self._send(calls.import_log(model, form, log, after))
