"""Rank, Reward, Activate and status: what each asks of the service."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from fabcost.features.reader import ReadItems
from fabcost.features.schema import Schema
from fabcost.service.personalizer.bodies import Body, RankRequest, RewardRequest
from fabcost.service.personalizer.errors import RefusedError
from fabcost.service.personalizer.models import Newcomers
from fabcost.service.personalizer.rank import decision_request, rank_response
from fabcost.service.personalizer.requests import (
    event_in,
    json_response,
    key_of,
    may_make_model,
    model_in,
)
from fabcost.service.service import Service
from fabcost.service.store.record import DecisionRecord
from fabcost.wire.errors import InvalidRequestError, UnknownModelError
from fabcost.wire.messages import DecisionAnswer, DecisionRequest, FeedbackRequest

LARGEST_REWARD: Final = 1e6

_RANK: Final = Body(RankRequest, "InvalidRankRequest")
_REWARD: Final = Body(RewardRequest, "InvalidRewardRequest")


class Operations:
    """The operations of the loop, each from a request to its answer.

    Parameters
    ----------
    service
        The service.
    newcomers
        Models that are still to be made.

    Examples
    --------
    >>> [name for name in vars(Operations) if not name.startswith("_")]
    ['rank', 'reward', 'activate', 'status']
    """

    def __init__(self, service: Service, newcomers: Newcomers) -> None:
        self._service = service
        self._newcomers = newcomers

    async def rank(self, request: Request) -> Response:
        """Rank: decide."""
        given = _RANK.read(await request.body())
        answer, candidates = await self._decided(request, decision_request(given))
        return json_response(rank_response(candidates, answer), 201)

    async def reward(self, request: Request) -> Response:
        """Reward: feedback, whatever becomes of it."""
        event = event_in(request, "InvalidRewardRequest")
        value = _REWARD.read(await request.body()).value
        if abs(value) > LARGEST_REWARD:
            raise RefusedError(
                "InvalidRewardRequest", f"value is {value:g} but must be from -1e6 to 1e6"
            )
        feedback = FeedbackRequest(decision_id=event, value=value, key=key_of(request))
        await self._learn(request, feedback)
        return Response(status_code=204)

    async def activate(self, request: Request) -> Response:
        """Activate: a deferred decision counts from now on, if there is one."""
        event = event_in(request, "InvalidEventIdToActivate")
        if self._newcomers.find(model_in(request)) is not None:
            await self._service.activate(model_in(request), event)
        return Response(status_code=204)

    async def status(self, _: Request) -> Response:
        """Whether the service works."""
        reason = self._service.ready
        status = "Valid" if reason is None else "Unavailable"
        message = "The service is ready." if reason is None else reason
        answer = {"service": "personalizer", "apiStatus": status, "apiStatusMessage": message}
        return json_response(answer)

    async def _decided(
        self, request: Request, asked: DecisionRequest
    ) -> tuple[DecisionAnswer, Collection[str]]:
        """The answer, and among which it was decided: not these if the event was ranked before."""
        name, found = model_in(request), list[DecisionRecord]()
        try:
            answer = await self._service.decide(name, asked, found.append)
        except UnknownModelError:
            self._newcomers.check_allowed(name, may_make=may_make_model(request))
            _check_readable(asked)
            await self._newcomers.make(name)
            answer = await self._service.decide(name, asked, found.append)
        return answer, found[0].candidates if found else asked.candidates or ()

    async def _learn(self, request: Request, feedback: FeedbackRequest) -> None:
        """A reward may come before the first Rank: the model is made, which keeps it."""
        name = model_in(request)
        try:
            await self._service.feedback(name, [feedback])
        except UnknownModelError:
            self._newcomers.check_allowed(name, may_make=may_make_model(request))
            await self._newcomers.make(name)
            await self._service.feedback(name, [feedback])


def _check_readable(asked: DecisionRequest) -> None:
    """An error if a new model could not read it, so that none is made for it."""
    reader = Schema.open().reader()
    try:
        reader.read(asked.context, "context")
        ReadItems.by(reader, asked.candidates or {})
    except ValueError as error:
        raise InvalidRequestError(str(error)) from error
