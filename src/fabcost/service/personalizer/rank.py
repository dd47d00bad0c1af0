"""Rank: its bodies, the request as a decision to ask for, the decision as a ranking."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

from msgspec import UNSET, Struct, UnsetType

from fabcost.service.personalizer.errors import ContractError
from fabcost.service.personalizer.requests import checked_id
from fabcost.wire.dsjson import Side, flatten
from fabcost.wire.messages import DecisionAnswer, DecisionRequest, Record

MOST_ACTIONS: Final = 50

#: Objects of features; what they may hold is for `fabcost.wire.dsjson` to say.
Features = list[Any]


class RankableAction(Struct, frozen=True):
    """An action to choose from."""

    id: str
    features: Features | None = None


class RankRequest(Struct, frozen=True, rename="camel", kw_only=True):
    """Which of the actions to show; the first that is not excluded is the baseline."""

    actions: list[RankableAction]
    context_features: Features | None = None
    excluded_actions: list[str] | None = None
    event_id: str | None = None
    defer_activation: bool | None = None


class RankedAction(Struct, frozen=True):
    """An action, and the probability with which it was to be chosen if that is known."""

    id: str
    probability: float | UnsetType = UNSET


class RankResponse(Struct, frozen=True, rename="camel", kw_only=True):
    """The actions in the order in which to show them."""

    ranking: list[RankedAction]
    event_id: str
    reward_action_id: str


def decision_request(request: RankRequest) -> DecisionRequest:
    """The decision that a Rank asks for, or a `ContractError`.

    Examples
    --------
    >>> actions = [RankableAction("tea", [{"hot": True}]), RankableAction("cola", [{"hot": False}])]
    >>> asked = decision_request(RankRequest(actions=actions, excluded_actions=["cola", "milk"]))
    >>> asked.candidates, asked.exclude
    ({'tea': {'action:hot': True}, 'cola': {'action:hot': False}}, ['cola'])
    """
    candidates = _candidates(request.actions)
    return DecisionRequest(
        decision_id=_checked_event(request.event_id),
        context=_flat("context", request.context_features),
        candidates=candidates,
        exclude=_excluded(candidates, request.excluded_actions or []),
        top_k=MOST_ACTIONS,
        deferred=bool(request.defer_activation),
    )


def rank_response(candidates: Collection[str], answer: DecisionAnswer) -> RankResponse:
    """The ranking, in which actions that were not ranked keep their place with probability 0.

    Those are the excluded ones, and all but the baseline where nothing else was ranked.
    ``candidates`` are the actions among which it was decided, as they were given.

    Examples
    --------
    >>> answer = DecisionAnswer(
    ...     decision_id="e", item="culture", ranking=["culture", "news"], scores=[0.3, 0.1],
    ...     propensities=[0.8, 0.2], arm="bandit", posterior_version="0", deadline=600.0
    ... )
    >>> response = rank_response(["news", "sports", "culture"], answer)
    >>> [(each.id, each.probability) for each in response.ranking]
    [('culture', 0.8), ('sports', 0.0), ('news', 0.2)]
    """
    pairs = zip(answer.ranking, _probabilities(answer), strict=True)
    ranking = [RankedAction(name, probability) for name, probability in pairs]
    ranked = set(answer.ranking)
    for place, name in enumerate(candidates):
        if name not in ranked:
            ranking.insert(place, RankedAction(name, 0.0))
    return RankResponse(ranking=ranking, event_id=answer.decision_id, reward_action_id=answer.item)


def _probabilities(answer: DecisionAnswer) -> Sequence[float | UnsetType]:
    """A baseline is certain; where a model draws without propensities they are not known."""
    if answer.propensities is not None:
        return answer.propensities
    if answer.arm == "baseline":
        return [float(item == answer.item) for item in answer.ranking]
    return [UNSET] * len(answer.ranking)


def _checked_event(given: str | None) -> str | None:
    if given in {".", ".."}:
        raise _error(f"EventId is {given!r}, which clients cannot write into a path")
    return None if given is None else checked_id("InvalidRankRequest", "EventId", given)


def _candidates(actions: Sequence[RankableAction]) -> dict[str, Record]:
    if not 1 <= len(actions) <= MOST_ACTIONS:
        raise _error(f"Action count should be between 1 and {MOST_ACTIONS}: it is {len(actions)}")
    candidates: dict[str, Record] = {}
    for action in actions:
        name = checked_id("InvalidRankRequest", "The id of an action", action.id)
        if name in candidates:
            raise _error(f"Action ids should be distinct: {name!r} is given twice")
        candidates[name] = _record(action)
    return candidates


def _record(action: RankableAction) -> Record:
    record = _flat("action", action.features)
    if not record:
        raise _error(
            f"Every action should have at least one non-null action feature: {action.id!r} has none"
        )
    return record


def _excluded(candidates: Collection[str], given: Sequence[str]) -> list[str]:
    excluded = [each for each in dict.fromkeys(given) if each in candidates]
    if len(excluded) == len(candidates):
        raise _error("All actions are excluded but one should remain")
    return excluded


def _flat(side: Side, objects: Sequence[Any] | None) -> Record:
    try:
        return flatten(side, objects or [])
    except ValueError as error:
        raise _error(str(error)) from error


def _error(message: str) -> ContractError:
    return ContractError("InvalidRankRequest", message)
