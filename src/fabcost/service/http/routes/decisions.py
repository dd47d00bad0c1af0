"""Decisions, and what became of them."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from msgspec import Meta, Struct

from fabcost.service.http.exchange import HttpAnswer, answer, encode
from fabcost.service.http.openapi import MODEL, Finish, Operation, narrowed, record_type
from fabcost.service.http.routing import ApiCall
from fabcost.service.settings import Settings
from fabcost.wire.messages import (
    Amount,
    ClickValue,
    DecisionAnswer,
    DecisionRequest,
    DecisionsAnswer,
    DecisionView,
    ExplanationAnswer,
    FeedbackAnswer,
    FeedbackRequest,
    Filter,
    Id,
    check_path_id,
)


class DecisionsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which page of the decisions: so many before one number, which the page before gave."""

    limit: Annotated[int, Meta(ge=1, le=1_000)] = 100
    before: Annotated[int, Meta(ge=0, le=2**53)] | None = None


class Activation(Struct, frozen=True, forbid_unknown_fields=True):
    """The deferred decision that was shown after all."""

    decision_id: Id


class ActivationAnswer(Struct, frozen=True):
    """``activated`` is false if it is unknown, resolved or was not deferred."""

    decision_id: str
    activated: bool


class BulkFeedback(Struct, frozen=True, forbid_unknown_fields=True):
    """Feedback on many decisions."""

    feedback: list[FeedbackRequest]


class BulkFeedbackAnswer(Struct, frozen=True):
    """What became of each, in the order given."""

    feedback: list[FeedbackAnswer]


class BeaconQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A publishable key, since beacons have no headers."""

    key: str | None = None


class Beacon(Struct, frozen=True, forbid_unknown_fields=True):
    """What a page has to say when it is left: decisions that were shown, and feedback."""

    activations: list[Id] = []
    feedback: list[FeedbackRequest] = []


async def decide(call: ApiCall) -> HttpAnswer:
    """Ask which item to show.

    Candidates are given inline, or as ids of the catalogue, or by a filter over it, or else are
    all of it. The answer is recorded before it is given, so that feedback can refer to it; with
    ``durable`` false it was given from memory while the database was away. A request with the id
    of an earlier decision is answered with that decision.
    """
    return answer(await call.site.service.decide(call.model, _checked(call)))


def begin_to_decide(call: ApiCall, finish: Finish) -> None:
    """`decide` without waiting: ``finish`` is told the answer or an error."""
    call.site.service.begin_to_decide(call.model, _checked(call), finish)


async def list_decisions(call: ApiCall) -> HttpAnswer:
    """The latest decisions, newest first."""
    query: DecisionsQuery = call.query
    found, following = await call.site.service.decisions(
        call.model, limit=query.limit, before=query.before
    )
    return answer(DecisionsAnswer(found, following))


async def get_decision(call: ApiCall) -> HttpAnswer:
    """A decision as it was recorded, and what became of it."""
    decision = check_path_id(call.parameters["decision"])
    return answer(await call.site.service.decision(call.model, decision))


async def explain(call: ApiCall) -> HttpAnswer:
    """Why an item was chosen: what each of its columns adds to its score."""
    decision = check_path_id(call.parameters["decision"])
    return answer(await call.site.service.explain(call.model, decision))


async def activate(call: ApiCall) -> HttpAnswer:
    """Make a deferred decision count: it was shown after all."""
    request: Activation = call.body
    call.check_ids([request.decision_id])
    activated = await call.site.service.activate(call.model, request.decision_id)
    return answer(ActivationAnswer(request.decision_id, activated))


async def give_feedback(call: ApiCall) -> HttpAnswer:
    """Say what became of a decision; the answer comes when that is durable and learnt."""
    request: FeedbackRequest = call.body
    call.check_ids((request.decision_id, request.key))
    (given,) = await call.site.service.feedback(call.model, [request])
    return HttpAnswer(200, encode(given))


async def give_bulk_feedback(call: ApiCall) -> HttpAnswer:
    """Say what became of many decisions, in one transaction."""
    request: BulkFeedback = call.body
    call.check_ids(*((each.decision_id, each.key) for each in request.feedback))
    call.charge(len(request.feedback) - 1)
    given = await call.site.service.feedback(call.model, request.feedback)
    return answer(BulkFeedbackAnswer(given))


async def take_beacon(call: ApiCall) -> HttpAnswer:
    """Say what a page has to say when it is left.

    For `navigator.sendBeacon`: the JSON may be sent as `text/plain`, and a publishable key in the
    address. Activations come before feedback.
    """
    request: Beacon = call.body
    call.check_ids(request.activations, *((e.decision_id, e.key) for e in request.feedback))
    call.charge(len(request.activations) + len(request.feedback) - 1)
    service, model = call.site.service, call.model
    await asyncio.gather(*(service.activate(model, each) for each in request.activations))
    given = await service.feedback(model, request.feedback) if request.feedback else []
    return answer(BulkFeedbackAnswer(given))


def _checked(call: ApiCall) -> DecisionRequest:
    request: DecisionRequest = call.body
    given = (request.candidates or (), request.items or (), request.exclude)
    call.check_ids((request.decision_id or "",), *given)
    return request


def operations(settings: Settings) -> list[Operation]:
    """Deciding, looking back, and saying what became of it."""
    path, feedback = MODEL + "/decisions", MODEL + "/feedback"
    one, why = path + "/{decision:path}", MODEL + "/explanations/{decision:path}"
    activations, bulk = MODEL + "/activations", feedback + "/bulk"
    asked, several = _request(settings), Meta(min_length=1, max_length=settings.bulk_feedback)
    many = narrowed(BulkFeedback, ("feedback", Annotated[list[FeedbackRequest], several]))
    return [
        Operation(
            "POST", path, decide, "decide", DecisionAnswer, body=asked, begin=begin_to_decide
        ),
        Operation("GET", path, list_decisions, "read", DecisionsAnswer, query=DecisionsQuery),
        Operation("GET", one, get_decision, "read", DecisionView),
        Operation("GET", why, explain, "read", ExplanationAnswer),
        Operation("POST", activations, activate, "feedback", ActivationAnswer, body=Activation),
        Operation(
            "POST", feedback, give_feedback, "feedback", FeedbackAnswer, body=FeedbackRequest
        ),
        Operation("POST", bulk, give_bulk_feedback, "feedback", BulkFeedbackAnswer, body=many),
        Operation(
            "POST",
            MODEL + "/beacons",
            take_beacon,
            "feedback",
            BulkFeedbackAnswer,
            query=BeaconQuery,
            body=_beacon(settings),
            by_beacon=True,
        ),
    ]


def _request(settings: Settings) -> Any:
    record = record_type(settings)
    ids = Annotated[list[Id], Meta(max_length=settings.candidates)]
    candidates = Annotated[dict[Id, record], Meta(min_length=1, max_length=settings.candidates)]  # type: ignore[valid-type]
    filters = Annotated[Filter, Meta(max_length=settings.features)]

    def amounts(kind: Any) -> Any:
        return Annotated[dict[Id, kind], Meta(max_length=settings.candidates)] | None

    return narrowed(
        DecisionRequest,
        ("context", record, {}),
        ("candidates", candidates | None, None),
        ("items", ids | None, None),
        ("filter", filters | None, None),
        ("exclude", ids, []),
        ("values", amounts(ClickValue), None),
        ("costs", amounts(Amount), None),
    )


def _beacon(settings: Settings) -> Any:
    most = Meta(max_length=settings.bulk_feedback)
    return narrowed(
        Beacon,
        ("activations", Annotated[list[Id], most], []),
        ("feedback", Annotated[list[FeedbackRequest], most], []),
    )
