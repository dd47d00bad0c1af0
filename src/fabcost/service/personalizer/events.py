"""Rank, Reward, Activate and status: bodies, and what each asks of the service."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from typing import Any, Final

from msgspec import UNSET, Struct, UnsetType

from fabcost.features.reader import ReadItems
from fabcost.features.schema import Schema
from fabcost.service.personalizer.contract import (
    Body,
    ContractAnswer,
    ContractError,
    ContractRequest,
    checked_id,
    json_answer,
)
from fabcost.service.service import Service
from fabcost.service.store.record import DecisionRecord
from fabcost.wire.checks import Side, check_model_name, flatten
from fabcost.wire.errors import AlreadyThereError, InvalidRequestError, UnknownModelError
from fabcost.wire.messages import (
    DecisionAnswer,
    DecisionRequest,
    FeedbackRequest,
    ModelAnswer,
    Record,
)
from fabcost.wire.settings import ModelSettings

MOST_ACTIONS: Final = 50
LARGEST_REWARD: Final = 1e6
#: What a model is like that is made here: its schema is open and it tells its propensities.
NEW_MODEL: Final = ModelSettings(propensities="fast")

#: Objects of features; what they may hold is for `fabcost.wire.checks.flatten` to say.
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


class OpenModels:
    """The models of a service, and those that are made when there is something to keep for them.

    With ``create`` any name means a model, which is new; otherwise only those do that were made.
    """

    def __init__(self, service: Service, *, create: bool) -> None:
        self.service = service
        self._create = create

    def find(self, name: str) -> ModelAnswer | None:
        """The model, None if it is still to be made, or an error if it never will be."""
        with contextlib.suppress(UnknownModelError):
            return self.service.model(name)
        self._check(name)
        return None

    def check_allowed(self, request: ContractRequest) -> None:
        """An error if who asks may not make the model, or nobody may."""
        self._check(request.model)
        if not request.may_make:
            raise ContractError(
                "ResourceNotFound",
                f"there is no model {request.model!r}, and this key may not make it: make it "
                "first, or use a key with the role admin or a key of that model",
            )

    async def make(self, name: str) -> None:
        """Make the model, unless another request was first."""
        self._check(name)
        with contextlib.suppress(AlreadyThereError):
            await self.service.create_model(name, NEW_MODEL)

    def _check(self, name: str) -> None:
        if not self._create:
            raise UnknownModelError(name)
        try:
            check_model_name(name)
        except InvalidRequestError as error:
            raise ContractError(
                "ResourceNotFound",
                f"The model is {name!r} but its name must be of at most 64 letters, digits, '.', "
                "'_' and '-', a letter or digit first",
            ) from error


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
