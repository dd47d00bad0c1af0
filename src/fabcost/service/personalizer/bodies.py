"""The bodies of Rank and Reward, as the clients write and read them."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

from fabcost.service.personalizer.errors import RefusedError

T = TypeVar("T")

#: Objects of features; what they may hold is for `features` to say.
Features = list[Any]


class RankableAction(Struct, frozen=True):
    """An action to choose from.

    Examples
    --------
    >>> RankableAction("tea", [{"hot": True}]).features
    [{'hot': True}]
    """

    id: str
    features: Features | None = None


class RankRequest(Struct, frozen=True, rename="camel", kw_only=True):
    """Which of the actions to show; the first that is not excluded is the baseline.

    Examples
    --------
    >>> msgspec.json.decode(b'{"actions": [], "eventId": "e"}', type=RankRequest).event_id
    'e'
    """

    actions: list[RankableAction]
    context_features: Features | None = None
    excluded_actions: list[str] | None = None
    event_id: str | None = None
    defer_activation: bool | None = None


class RankedAction(Struct, frozen=True):
    """An action, and the probability with which it was to be chosen if that is known.

    Examples
    --------
    >>> msgspec.json.encode([RankedAction("tea", 1.0), RankedAction("cola")])
    b'[{"id":"tea","probability":1.0},{"id":"cola"}]'
    """

    id: str
    probability: float | UnsetType = UNSET


class RankResponse(Struct, frozen=True, rename="camel", kw_only=True):
    """The actions in the order in which to show them.

    Examples
    --------
    >>> msgspec.json.encode(RankResponse(ranking=[], event_id="e", reward_action_id="tea"))
    b'{"ranking":[],"eventId":"e","rewardActionId":"tea"}'
    """

    ranking: list[RankedAction]
    event_id: str
    reward_action_id: str


class RewardRequest(Struct, frozen=True):
    """What the chosen action was worth.

    Examples
    --------
    >>> RewardRequest(0.5).value
    0.5
    """

    value: float


class Body(Generic[T]):
    """Reads bodies of one kind; ``blame`` is the code of the refusal of any other.

    Examples
    --------
    >>> Body(RewardRequest, "InvalidRewardRequest").read(b'{"value": 1}')
    RewardRequest(value=1.0)
    >>> Body(RewardRequest, "InvalidRewardRequest").read(b'{"value": "1"}')
    Traceback (most recent call last):
    fabcost.service.personalizer.errors.RefusedError: Expected `float`, got `str` - at `$.value`
    """

    def __init__(self, kind: type[T], blame: str) -> None:
        self.blame = blame
        self._decoder = msgspec.json.Decoder(kind)

    def read(self, content: bytes) -> T:
        """The body, or a `RefusedError` that says what is wrong with it."""
        try:
            return self._decoder.decode(content)
        except msgspec.DecodeError as error:
            raise RefusedError(self.blame, str(error)) from error
        except UnicodeDecodeError as error:
            raise RefusedError(
                self.blame, "the body is not UTF-8 but must be JSON in UTF-8"
            ) from error
        except RecursionError as error:
            raise RefusedError(self.blame, "the body is nested too deeply") from error
