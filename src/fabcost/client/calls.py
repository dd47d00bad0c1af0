"""Calls of the loop: decide, say what became of it, look at it."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec

from fabcost.client.call import Call, body, checked_record, path, reader
from fabcost.wire.messages import (
    DecisionAnswer,
    DecisionRequest,
    DecisionView,
    ExplanationAnswer,
    FeedbackAnswer,
    FeedbackRequest,
    Filter,
)

#: A server takes so much feedback at once.
MOST_FEEDBACK = 1_000


class Decisions(msgspec.Struct, frozen=True):
    """One page of decisions, newest first; ``next`` is what to ask before, if there are more.

    Examples
    --------
    >>> Decisions([], None)
    Decisions(decisions=[], next=None)
    """

    decisions: list[DecisionView]
    next: int | None


class _Feedback(msgspec.Struct):
    feedback: list[FeedbackAnswer]


class _Activated(msgspec.Struct):
    activated: bool


_decision = reader(DecisionAnswer)
_feedback = reader(FeedbackAnswer)
_bulk = reader(_Feedback)
_activated = reader(_Activated)
_view = reader(DecisionView)
_views = reader(Decisions)
_explanation = reader(ExplanationAnswer)


def new_id() -> str:
    """An id that nobody else makes.

    Examples
    --------
    >>> new_id() == new_id(), len(new_id())
    (False, 32)
    """
    return uuid.uuid4().hex


def decide(
    model: str,
    *,
    context: Mapping[str, Any],
    candidates: Mapping[str, Mapping[str, Any]] | None = None,
    items: Collection[str] | None = None,
    filter: Filter | None = None,  # noqa: A002 - the API's name
    exclude: Collection[str] = (),
    top_k: int = 1,
    deferred: bool = False,
    decision_id: str | None = None,
) -> Call[DecisionAnswer]:
    """Which item to show; the id makes a repeated attempt the same decision.

    Examples
    --------
    >>> call = decide("news", context={"device": "tv"}, items=["a", "b"], decision_id="d-1")
    >>> call.content
    b'{"decision_id":"d-1","context":{"device":"tv"},"candidates":null,"items":["a","b"],...
    """
    request = DecisionRequest(
        decision_id=new_id() if decision_id is None else decision_id,
        context=checked_record("the context", context),
        candidates=None if candidates is None else _checked(candidates),
        items=None if items is None else list(items),
        filter=filter,
        exclude=list(exclude),
        top_k=top_k,
        deferred=deferred,
    )
    where = path("v1", "models", model, "decisions")
    return Call("POST", where, _decision, content=body(request))


def give_feedback(
    model: str, decision_id: str, value: float, key: str | None
) -> Call[FeedbackAnswer]:
    """What became of a decision; the key makes a repeated attempt the same feedback.

    Examples
    --------
    >>> give_feedback("news", "d-1", 1.0, "k-1").content
    b'{"decision_id":"d-1","value":1.0,"key":"k-1"}'
    """
    request = _keyed(FeedbackRequest(decision_id=decision_id, value=value, key=key or ""))
    where = path("v1", "models", model, "feedback")
    return Call("POST", where, _feedback, content=body(request))


def give_feedback_in_bulk(
    model: str, feedback: Iterable[FeedbackRequest]
) -> list[Call[list[FeedbackAnswer]]]:
    """Feedback on many decisions, in as many calls as a server needs.

    Examples
    --------
    >>> bulk = [FeedbackRequest(decision_id=f"d-{i}") for i in range(1_001)]
    >>> len(give_feedback_in_bulk("news", bulk))
    2
    """
    where = path("v1", "models", model, "feedback", "bulk")
    keyed = [_keyed(each) for each in feedback]
    parts = [keyed[at : at + MOST_FEEDBACK] for at in range(0, len(keyed), MOST_FEEDBACK)]
    return [
        Call("POST", where, lambda reply: _bulk(reply).feedback, content=body({"feedback": part}))
        for part in parts
    ]


def activate(model: str, decision_id: str) -> Call[bool]:
    """Make a deferred decision count.

    Examples
    --------
    >>> activate("news", "d-1").content
    b'{"decision_id":"d-1"}'
    """
    where, content = path("v1", "models", model, "activations"), body({"decision_id": decision_id})
    return Call("POST", where, lambda reply: _activated(reply).activated, content=content)


def get_decision(model: str, decision_id: str) -> Call[DecisionView]:
    """A decision and what became of it.

    Examples
    --------
    >>> get_decision("news", "d/1").path
    '/v1/models/news/decisions/d%2F1'
    """
    return Call("GET", path("v1", "models", model, "decisions", decision_id), _view)


def list_decisions(model: str, limit: int, before: int | None) -> Call[Decisions]:
    """One page of the latest decisions.

    Examples
    --------
    >>> list_decisions("news", 20, None).query
    {'limit': 20}
    """
    query: dict[str, str | int] = {"limit": limit}
    if before is not None:
        query["before"] = before
    return Call("GET", path("v1", "models", model, "decisions"), _views, query=query)


def explain(model: str, decision_id: str) -> Call[ExplanationAnswer]:
    """Why an item was chosen.

    Examples
    --------
    >>> explain("news", "d-1").path
    '/v1/models/news/explanations/d-1'
    """
    return Call("GET", path("v1", "models", model, "explanations", decision_id), _explanation)


def _checked(candidates: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    return {
        item: checked_record(f"candidate {item!r}", record) for item, record in candidates.items()
    }


def _keyed(request: FeedbackRequest) -> FeedbackRequest:
    return request if request.key else msgspec.structs.replace(request, key=new_id())
