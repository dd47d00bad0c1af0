"""Rank, Reward, Activate and status: bodies, what each asks of the service, and who answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Final

from msgspec import UNSET, Struct, UnsetType

from fabcost.features.reader import ReadItems
from fabcost.features.schema import Schema
from fabcost.service.personalizer import configuration
from fabcost.service.personalizer.contract import (
    ACTIVATE,
    REWARD,
    Body,
    ContractAnswer,
    ContractError,
    ContractRequest,
    OpenModels,
    checked_id,
    error_of,
    json_answer,
    unoffered,
)
from fabcost.service.service import Service
from fabcost.service.store.rows import DecisionRecord
from fabcost.wire.dsjson import Side, flatten
from fabcost.wire.errors import InvalidRequestError, ServiceError, UnknownModelError
from fabcost.wire.messages import DecisionAnswer, DecisionRequest, FeedbackRequest, Record

MOST_ACTIONS: Final = 50
LARGEST_REWARD: Final = 1e6

#: Objects of features; what they may hold is for `fabcost.wire.dsjson.flatten` to say.
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


class RewardRequest(Struct, frozen=True):
    """What the chosen action was worth."""

    value: float


_RANK: Final = Body(RankRequest, "InvalidRankRequest")
_REWARD: Final = Body(RewardRequest, "InvalidRewardRequest")


async def rank(models: OpenModels, request: ContractRequest) -> ContractAnswer:
    """Rank: decide, in a new model if there is none."""
    asked, found = decision_request(_RANK.read(request.body)), list[DecisionRecord]()
    decide, name = models.service.decide, request.model
    try:
        answer = await decide(name, asked, found.append)
    except UnknownModelError:
        models.check_allowed(request)
        _check_readable(asked)
        await models.make(name)
        answer = await decide(name, asked, found.append)
    # An event that was ranked before was decided among others.
    candidates = found[0].candidates if found else asked.candidates or ()
    return json_answer(rank_response(candidates, answer), 201)


async def reward(models: OpenModels, request: ContractRequest) -> ContractAnswer:
    """Reward: feedback, whatever becomes of it; a new model keeps it until its first Rank."""
    event, name = request.event("InvalidRewardRequest"), request.model
    value = _REWARD.read(request.body).value
    if abs(value) > LARGEST_REWARD:
        raise ContractError(
            "InvalidRewardRequest", f"value is {value:g} but must be from -1e6 to 1e6"
        )
    feedback = [FeedbackRequest(decision_id=event, value=value, key=request.key())]
    try:
        await models.service.feedback(name, feedback)
    except UnknownModelError:
        models.check_allowed(request)
        await models.make(name)
        await models.service.feedback(name, feedback)
    return ContractAnswer(204)


async def activate(models: OpenModels, request: ContractRequest) -> ContractAnswer:
    """Activate: a deferred decision counts from now on, if there is one."""
    event = request.event("InvalidEventIdToActivate")
    if models.find(request.model) is not None:
        await models.service.activate(request.model, event)
    return ContractAnswer(204)


async def status(models: OpenModels, _: ContractRequest) -> ContractAnswer:
    """Whether the service works."""
    reason = models.service.ready
    state = "Valid" if reason is None else "Unavailable"
    message = "The service is ready." if reason is None else reason
    return json_answer({"service": "personalizer", "apiStatus": state, "apiStatusMessage": message})


def decision_request(request: RankRequest) -> DecisionRequest:
    """The decision that a Rank asks for, or a `ContractError`."""
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
        candidates[name] = _flat("action", action.features)
        if not candidates[name]:
            said = "Every action should have at least one non-null action feature"
            raise _error(f"{said}: {name!r} has none")
    return candidates


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


def _check_readable(asked: DecisionRequest) -> None:
    """An error if a new model could not read it, so that none is made for it."""
    reader = Schema.open().reader()
    try:
        reader.read(asked.context, "context")
        ReadItems.by(reader, asked.candidates or {})
    except ValueError as error:
        raise InvalidRequestError(str(error)) from error


def _error(message: str) -> ContractError:
    return ContractError("InvalidRankRequest", message)


#: By method.
_Handlers = Mapping[str, Callable[[OpenModels, ContractRequest], Awaitable[ContractAnswer]]]
#: By operation: the code of what is wrong with a request, and who answers it.
_OPERATIONS: Final[dict[str, tuple[str, _Handlers]]] = {
    "rank": ("InvalidRankRequest", {"POST": rank}),
    REWARD: ("InvalidRewardRequest", {"POST": reward}),
    ACTIVATE: ("InvalidEventIdToActivate", {"POST": activate}),
    "configurations/service": (
        "InvalidServiceConfiguration",
        {"GET": configuration.read, "PUT": configuration.replace, "PATCH": configuration.change},
    ),
    "status": ("BadRequest", {"GET": status}),
}


class Personalizer:
    """Rank, Reward, Activate, configuration and status, for every model and family of paths.

    With ``create_models`` a model that does not exist is as good as a new one: a Rank, a Reward or
    a configuration that is written makes it, with an open schema.  Otherwise they are answered
    with 404.
    """

    def __init__(self, service: Service, *, create_models: bool = True) -> None:
        self._models = OpenModels(service, create=create_models)

    async def answer(self, request: ContractRequest) -> ContractAnswer:
        """The answer, with an error of the contract if it must be one."""
        blame, handlers = _OPERATIONS.get(request.path.operation, ("BadRequest", None))
        try:
            if handlers is None:
                raise unoffered(request.path.operation)
            if request.method not in handlers:
                raise _wrong_method(request.method, handlers)
            return await handlers[request.method](self._models, request)
        except ContractError as error:
            return error.answer()
        except ServiceError as error:
            return error_of(error, blame).answer()


def _wrong_method(method: str, handlers: _Handlers) -> ContractError:
    allowed = ", ".join(handlers)
    return ContractError(
        "InvalidApiAccess",
        f"The method is {method} but must be one of {allowed}",
        status=405,
        headers=((b"allow", allowed.encode()),),
    )
