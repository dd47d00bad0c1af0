"""What can be asked of a server, and how each answer is read."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import httpx
import msgspec

from fabcost.client.exchange import (
    ClientCall,
    ClientError,
    Method,
    Retries,
    answer,
    encoded,
    nothing,
    path,
    patience,
)
from fabcost.wire.messages import (
    MEDIA_TYPES,
    TRANSFER_SECONDS,
    DecisionAnswer,
    DecisionRequest,
    DecisionsAnswer,
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
    checked_amounts,
    checked_record,
)
from fabcost.wire.settings import ModelSettings
from fabcost.wire.statistics import AlarmView, ContrastsAnswer, StatsAnswer

T = TypeVar("T")

#: A server takes so much feedback at once.
MOST_FEEDBACK = 1_000
#: Bodies of the catalogue are kept below so many bytes, half of what a server takes by default.
LARGEST_BODY = 512 * 1024
#: How long to wait for whole models, logs and catalogues: a little longer than a server takes.
_LONG = TRANSFER_SECONDS + 10.0


class Calls:
    """The methods of both clients: `AsyncClient` has them as here, `Client` without ``await``."""

    async def ask(self, call: ClientCall[T], retries: Retries | None = None) -> T:
        """The answer of a call, after as many attempts as it takes."""
        raise NotImplementedError

    @Method
    async def wait_until_ready(self, seconds: float = 30.0) -> None:
        """Until the server can decide and learn."""
        await self.ask(ClientCall("GET", path("readyz"), nothing), patience(seconds))

    @Method
    async def models(self) -> list[ModelAnswer]:
        """All models."""
        return await self._get(answer(list[ModelAnswer], "models"))

    @Method
    async def model(self, name: str) -> ModelAnswer:
        """One model."""
        return await self._get(answer(ModelAnswer), name)

    @Method
    async def create_model(
        self,
        name: str,
        settings: ModelSettings | None = None,
        *,
        start: str | None = None,
        discount: float | None = None,
    ) -> ModelAnswer:
        """A new model; a repeated attempt that finds one with these settings has found its own.

        With ``start`` its prior is what another model has learnt, at a discount that is given, or
        else decided by the outcomes; that is not repeated if it is unknown whether it worked.
        """
        settings = settings or ModelSettings()
        lookup = ClientCall("GET", _at(name), _same(settings)) if start is None else None
        origin = {} if start is None else {"start": {"model": start, "discount": discount}}
        call = ClientCall(
            "POST",
            _at(),
            answer(ModelAnswer),
            content=encoded({"name": name, "settings": settings, **origin}),
            lookup=lookup,
            repeatable=start is None,
        )
        return await self.ask(call if start is None else replace(call, seconds=_LONG))

    @Method
    async def change_model(self, /, name: str, **changes: Any) -> ModelAnswer:
        """Other values for some of `fabcost.wire.settings.Changeable`."""
        content = encoded(changes)
        return await self.ask(ClientCall("PATCH", _at(name), answer(ModelAnswer), content=content))

    @Method
    async def delete_model(self, name: str) -> None:
        """Forget a model, its catalogue and its log."""
        await self.ask(ClientCall("DELETE", _at(name), nothing, done=404))

    # Catalogues

    @Method
    async def put_items(self, model: str, items: Mapping[str, Mapping[str, Any]]) -> int:
        """Add or replace items, many in several requests; the catalogue's version after it."""
        if not items:
            raise ValueError("there are no items but there must be at least one")
        bodies = list(_bodies(items))
        where, read = _at(model, "items"), answer(int, "version")
        calls = [ClientCall("PUT", where, read, content=body, seconds=_LONG) for body in bodies]
        return [await self.ask(call) for call in calls][-1]

    @Method
    async def items(self, model: str, *, limit: int = 100, after: str | None = None) -> ItemsAnswer:
        """One page of the catalogue."""
        return await self._get(answer(ItemsAnswer), model, "items", limit=limit, after=after)

    @Method
    async def item(self, model: str, item: str) -> Record:
        """The features of one item."""
        read: Callable[[httpx.Response], Record] = answer(dict[str, Any])
        return await self._get(read, model, "items", item)

    @Method
    async def delete_item(self, model: str, item: str) -> None:
        """Take one item out of the catalogue."""
        await self.ask(ClientCall("DELETE", _at(model, "items", item), nothing, done=404))

    # The loop

    @Method
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
        values: Mapping[str, float] | None = None,
        costs: Mapping[str, float] | None = None,
    ) -> DecisionAnswer:
        """Which item to show: see `fabcost.wire.messages.DecisionRequest`.

        The id, given or made here, makes a repeated attempt the same decision.
        """
        request = DecisionRequest(
            decision_id=uuid.uuid4().hex if decision_id is None else decision_id,
            context=checked_record("the context", context or {}),
            candidates=None if candidates is None else _checked("candidate", candidates),
            items=None if items is None else list(items),
            filter=filter,
            exclude=list(exclude),
            top_k=top_k,
            deferred=deferred,
            values=checked_amounts("values", values),
            costs=checked_amounts("costs", costs),
        )
        return await self._post(answer(DecisionAnswer), request, model, "decisions")

    @Method
    async def feedback(
        self, model: str, decision_id: str, value: float = 1.0, *, key: str | None = None
    ) -> FeedbackAnswer:
        """What became of a decision; the key makes a repeated attempt the same feedback."""
        request = _keyed(FeedbackRequest(decision_id=decision_id, value=value, key=key or ""))
        return await self._post(answer(FeedbackAnswer), request, model, "feedback")

    @Method
    async def feedback_bulk(
        self, model: str, feedback: Iterable[FeedbackRequest]
    ) -> list[FeedbackAnswer]:
        """What became of many decisions; more than a thousand go in several requests."""
        keyed = [_keyed(each) for each in feedback]
        parts = [keyed[at : at + MOST_FEEDBACK] for at in range(0, len(keyed), MOST_FEEDBACK)]
        bodies = [encoded({"feedback": part}) for part in parts]
        where, read = _at(model, "feedback", "bulk"), answer(list[FeedbackAnswer], "feedback")
        calls = [ClientCall("POST", where, read, content=body) for body in bodies]
        return [each for call in calls for each in await self.ask(call)]

    @Method
    async def activate(self, model: str, decision_id: str) -> bool:
        """Make a deferred decision count; False if it is none, unknown, or too late."""
        request = {"decision_id": decision_id}
        return await self._post(answer(bool, "activated"), request, model, "activations")

    # Looking

    @Method
    async def posterior(self, model: str) -> PosteriorAnswer:
        """The weights with their means and sds."""
        return await self._get(answer(PosteriorAnswer), model, "posterior")

    @Method
    async def contrasts(self, model: str) -> ContrastsAnswer:
        """What was learnt of visitors, of items, and of what visitors like, the clearest first."""
        return await self._get(answer(ContrastsAnswer), model, "contrasts")

    @Method
    async def stats(self, model: str, *, minutes: int = 60) -> StatsAnswer:
        """What a dashboard shows."""
        return await self._get(answer(StatsAnswer), model, "stats", minutes=minutes)

    @Method
    async def alarms(self, model: str) -> list[AlarmView]:
        """What is wrong with the model's data, if anything is."""
        return await self._get(answer(list[AlarmView], "alarms"), model, "alarms")

    @Method
    async def decision(self, model: str, decision_id: str) -> DecisionView:
        """A decision and what became of it."""
        return await self._get(answer(DecisionView), model, "decisions", decision_id)

    @Method
    async def decisions(
        self, model: str, *, limit: int = 100, before: int | None = None
    ) -> DecisionsAnswer:
        """One page of the latest decisions, newest first."""
        read = answer(DecisionsAnswer)
        return await self._get(read, model, "decisions", limit=limit, before=before)

    @Method
    async def explain(self, model: str, decision_id: str) -> ExplanationAnswer:
        """Why an item was chosen."""
        return await self._get(answer(ExplanationAnswer), model, "explanations", decision_id)

    # Transfer

    @Method
    async def export_model(self, model: str) -> bytes:
        """The model as a file of `fabcost.Recommender.save`."""
        call = ClientCall("GET", _at(model, "file"), lambda r: r.content, seconds=_LONG)
        return await self.ask(call)

    @Method
    async def import_model(
        self, model: str, file: bytes, *, start: bool = False, discount: float | None = None
    ) -> ModelAnswer:
        """A new model from such a file; not repeated if it is unknown whether an attempt worked.

        It goes on as the file would, or with ``start`` only begins with what that has learnt.
        """
        return await self.ask(
            ClientCall(
                "PUT",
                _at(model, "file"),
                answer(ModelAnswer),
                query=_given(start="true" if start else None, discount=discount),
                content=file,
                media="application/octet-stream",
                repeatable=False,
                seconds=_LONG,
            )
        )

    @Method
    async def import_log(
        self, model: str, log: bytes, form: LogFormat = "jsonl", *, after: str = ""
    ) -> int:
        """Learn a log from elsewhere, or a part of one; how many lines told something new.

        A repeated body has the same ids and is learnt once.  ``after`` names the lines before a
        part of a file: `fabcost.wire.formats.check`.
        """
        return await self.ask(
            ClientCall(
                "POST",
                _at(model, "log"),
                answer(int, "imported"),
                query=_given(format=form, after=after or None),
                content=log,
                media=MEDIA_TYPES[form],
                seconds=_LONG,
            )
        )

    async def _get(
        self, read: Callable[[httpx.Response], T], *where: str, **query: str | int | None
    ) -> T:
        return await self.ask(ClientCall("GET", _at(*where), read, query=_given(**query)))

    async def _post(self, read: Callable[[httpx.Response], T], request: Any, *where: str) -> T:
        return await self.ask(ClientCall("POST", _at(*where), read, content=encoded(request)))


def log_of(model: str, form: LogFormat) -> ClientCall[httpx.Response]:
    """The log, whose body is read piece by piece."""
    call = ClientCall("GET", _at(model, "log"), lambda r: r, seconds=_LONG, streamed=True)
    return replace(call, query={"format": form})


def _at(*parts: str) -> str:
    return path("v1", "models", *parts)


def _given(**query: str | float | None) -> dict[str, str | float]:
    return {name: value for name, value in query.items() if value is not None}


def _checked(of: str, records: Mapping[str, Mapping[str, Any]]) -> dict[str, Record]:
    return {name: checked_record(f"{of} {name!r}", given) for name, given in records.items()}


def _keyed(request: FeedbackRequest) -> FeedbackRequest:
    return request if request.key else msgspec.structs.replace(request, key=uuid.uuid4().hex)


def _same(settings: ModelSettings) -> Callable[[httpx.Response], ModelAnswer]:
    wanted = msgspec.json.decode(encoded(settings), type=ModelSettings)

    def read(response: httpx.Response) -> ModelAnswer:
        found = answer(ModelAnswer)(response)
        if found.settings != wanted:
            why = f"there is a model {found.name!r} already, with other settings"
            raise ClientError("already_there", why, 409)
        return found

    return read


def _bodies(items: Mapping[str, Mapping[str, Any]]) -> Iterator[bytes]:
    part: dict[str, Record] = {}
    size = 0
    for name, record in _checked("item", items).items():
        length = len(encoded({name: record}))
        if part and size + length > LARGEST_BODY:
            yield encoded({"items": part})
            part, size = {}, 0
        part[name] = record
        size += length
    yield encoded({"items": part})
