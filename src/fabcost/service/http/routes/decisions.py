"""Decisions, and what became of them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from fabcost.service.http.answer import Answer, answer
from fabcost.service.http.bodies import (
    Activation,
    ActivationAnswer,
    BulkFeedback,
    BulkFeedbackAnswer,
    DecisionsAnswer,
)
from fabcost.service.http.operation import Call, Finish
from fabcost.wire.checks import check_path_id
from fabcost.wire.messages import DecisionRequest, FeedbackRequest


class DecisionsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which page of the decisions: so many before one number, which the page before gave."""

    limit: Annotated[int, Meta(ge=1, le=1_000)] = 100
    before: Annotated[int, Meta(ge=0, le=2**53)] | None = None


async def decide(call: Call) -> Answer:
    """Ask which item to show.

    Candidates are given inline, or as ids of the catalogue, or by a filter over it, or else are
    all of it. The answer is recorded before it is given, so that feedback can refer to it; with
    ``durable`` false it was given from memory while the database was away. A request with the id
    of an earlier decision is answered with that decision.
    """
    return answer(await call.site.service.decide(call.model, _checked(call)))


def begin_to_decide(call: Call, finish: Finish) -> None:
    """`decide` without waiting: ``finish`` is told the answer or an error."""
    call.site.service.begin_to_decide(call.model, _checked(call), finish)


async def list_decisions(call: Call) -> Answer:
    """The latest decisions, newest first."""
    query: DecisionsQuery = call.query
    found, following = await call.site.service.decisions(
        call.model, limit=query.limit, before=query.before
    )
    return answer(DecisionsAnswer(found, following))


async def get_decision(call: Call) -> Answer:
    """A decision as it was recorded, and what became of it."""
    decision = check_path_id(call.parameters["decision"])
    return answer(await call.site.service.decision(call.model, decision))


async def explain(call: Call) -> Answer:
    """Why an item was chosen: what each of its columns adds to its score."""
    decision = check_path_id(call.parameters["decision"])
    return answer(await call.site.service.explain(call.model, decision))


async def activate(call: Call) -> Answer:
    """Make a deferred decision count: it was shown after all."""
    request: Activation = call.body
    call.check_ids([request.decision_id])
    activated = await call.site.service.activate(call.model, request.decision_id)
    return answer(ActivationAnswer(request.decision_id, activated))


async def give_feedback(call: Call) -> Answer:
    """Say what became of a decision; the answer comes when that is durable and learnt."""
    request: FeedbackRequest = call.body
    call.check_ids((request.decision_id, request.key))
    (given,) = await call.site.service.feedback(call.model, [request])
    return answer(given)


async def give_bulk_feedback(call: Call) -> Answer:
    """Say what became of many decisions, in one transaction."""
    request: BulkFeedback = call.body
    call.check_ids(*((each.decision_id, each.key) for each in request.feedback))
    given = await call.site.service.feedback(call.model, request.feedback)
    return answer(BulkFeedbackAnswer(given))


def _checked(call: Call) -> DecisionRequest:
    request: DecisionRequest = call.body
    if call.may_hold_control_characters:
        named = (request.candidates or (), request.items or (), request.exclude)
        call.check_ids([request.decision_id or ""], *named)
    return request
