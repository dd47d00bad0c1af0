"""Rank, Reward, Activate and status: what each asks of the service."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from msgspec import Struct

from fabcost.features.reader import ReadItems
from fabcost.features.schema import Schema
from fabcost.service.personalizer.errors import ContractError
from fabcost.service.personalizer.models import OpenModels
from fabcost.service.personalizer.rank import RankRequest, decision_request, rank_response
from fabcost.service.personalizer.requests import (
    Body,
    ContractAnswer,
    ContractRequest,
    json_answer,
)
from fabcost.service.service import Service
from fabcost.service.store.record import DecisionRecord
from fabcost.wire.errors import InvalidRequestError, UnknownModelError
from fabcost.wire.messages import DecisionAnswer, DecisionRequest, FeedbackRequest

LARGEST_REWARD: Final = 1e6


class RewardRequest(Struct, frozen=True):
    """What the chosen action was worth."""

    value: float


_RANK: Final = Body(RankRequest, "InvalidRankRequest")
_REWARD: Final = Body(RewardRequest, "InvalidRewardRequest")


class Events:
    """The operations of the loop, each from a request to its answer.

    Parameters
    ----------
    service
        The service.
    models
        Its models, with those that are still to be made.
    """

    def __init__(self, service: Service, models: OpenModels) -> None:
        self._service = service
        self._models = models

    async def rank(self, request: ContractRequest) -> ContractAnswer:
        """Rank: decide."""
        given = _RANK.read(request.body)
        answer, candidates = await self._decided(request, decision_request(given))
        return json_answer(rank_response(candidates, answer), 201)

    async def reward(self, request: ContractRequest) -> ContractAnswer:
        """Reward: feedback, whatever becomes of it."""
        event = request.event("InvalidRewardRequest")
        value = _REWARD.read(request.body).value
        if abs(value) > LARGEST_REWARD:
            raise ContractError(
                "InvalidRewardRequest", f"value is {value:g} but must be from -1e6 to 1e6"
            )
        feedback = FeedbackRequest(decision_id=event, value=value, key=request.key())
        await self._learn(request, feedback)
        return ContractAnswer(204)

    async def activate(self, request: ContractRequest) -> ContractAnswer:
        """Activate: a deferred decision counts from now on, if there is one."""
        event = request.event("InvalidEventIdToActivate")
        if self._models.find(request.model) is not None:
            await self._service.activate(request.model, event)
        return ContractAnswer(204)

    async def status(self, _: ContractRequest) -> ContractAnswer:
        """Whether the service works."""
        reason = self._service.ready
        status = "Valid" if reason is None else "Unavailable"
        message = "The service is ready." if reason is None else reason
        answer = {"service": "personalizer", "apiStatus": status, "apiStatusMessage": message}
        return json_answer(answer)

    async def _decided(
        self, request: ContractRequest, asked: DecisionRequest
    ) -> tuple[DecisionAnswer, Collection[str]]:
        """The answer, and among which it was decided: not these if the event was ranked before."""
        name, found = request.model, list[DecisionRecord]()
        try:
            answer = await self._service.decide(name, asked, found.append)
        except UnknownModelError:
            self._models.check_allowed(name, may_make=request.may_make)
            _check_readable(asked)
            await self._models.make(name)
            answer = await self._service.decide(name, asked, found.append)
        return answer, found[0].candidates if found else asked.candidates or ()

    async def _learn(self, request: ContractRequest, feedback: FeedbackRequest) -> None:
        """A reward may come before the first Rank: the model is made, which keeps it."""
        name = request.model
        try:
            await self._service.feedback(name, [feedback])
        except UnknownModelError:
            self._models.check_allowed(name, may_make=request.may_make)
            await self._models.make(name)
            await self._service.feedback(name, [feedback])


def _check_readable(asked: DecisionRequest) -> None:
    """An error if a new model could not read it, so that none is made for it."""
    reader = Schema.open(scaled=False).reader()
    try:
        reader.read(asked.context, "context")
        ReadItems.by(reader, asked.candidates or {})
    except ValueError as error:
        raise InvalidRequestError(str(error)) from error
