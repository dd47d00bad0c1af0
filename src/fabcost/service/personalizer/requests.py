"""A request of the contract, its answer, and what requests have in common."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec

from fabcost.service.personalizer.errors import ContractError
from fabcost.service.personalizer.paths import ContractPath
from fabcost.wire.checks import has_control_character
from fabcost.wire.messages import LONGEST_ID

T = TypeVar("T")

REQUEST_ID: Final = "x-ms-client-request-id"


class ContractRequest(NamedTuple):
    """A request whose body was read; the names of ``headers`` are in lower case.

    ``may_make`` tells whether who asks may make the model.
    """

    method: str
    path: ContractPath
    headers: Mapping[bytes, bytes]
    body: bytes
    may_make: bool

    @property
    def model(self) -> str:
        """The name of the model."""
        return self.path.model

    def event(self, code: str) -> str:
        """The id of the event, or a `ContractError` with that code."""
        return checked_id(code, "EventId", self.path.event or "")

    def key(self) -> str:
        """Tells one reward of an event from another.

        Clients that repeat a request send its id again; those that send none do not repeat it.
        """
        key = self.headers.get(REQUEST_ID.encode(), b"").decode("latin-1") or uuid.uuid4().hex
        if len(key) > LONGEST_ID:
            raise ContractError(
                "InvalidRewardRequest",
                f"{REQUEST_ID} has {len(key)} characters but may have at most {LONGEST_ID}",
            )
        return key


class ContractAnswer(NamedTuple):
    """What is answered: JSON, if there is a body."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[bytes, bytes], ...] = ()


def json_answer(body: Any, status: int = 200) -> ContractAnswer:
    """An answer with a body."""
    return ContractAnswer(status, msgspec.json.encode(body))


class Body(Generic[T]):
    """Reads bodies of one kind; ``blame`` is the code of the error of any other.

    Examples
    --------
    >>> Body(dict[str, float], "InvalidRewardRequest").read(b'{"value": "1"}')
    Traceback (most recent call last):
    fabcost.service.personalizer.errors.ContractError: Expected `float`, got `str` - at `$[...]`
    """

    def __init__(self, kind: type[T], blame: str) -> None:
        self._blame = blame
        self._decoder = msgspec.json.Decoder(kind)

    def read(self, content: bytes) -> T:
        """The body, or a `ContractError` that says what is wrong with it."""
        try:
            return self._decoder.decode(content)
        except msgspec.DecodeError as error:
            raise ContractError(self._blame, str(error)) from error
        except UnicodeDecodeError as error:
            why = "the body is not UTF-8 but must be JSON in UTF-8"
            raise ContractError(self._blame, why) from error
        except RecursionError as error:
            raise ContractError(self._blame, "the body is nested too deeply") from error


def checked_id(code: str, kind: str, given: str) -> str:
    """The id, or a `ContractError` with that code if it cannot be one.

    Examples
    --------
    >>> checked_id("InvalidRankRequest", "EventId", "ev/1 x")
    'ev/1 x'
    """
    if not given:
        raise ContractError(code, f"{kind} should be non-empty or null")
    if len(given) > LONGEST_ID:
        raise ContractError(
            code, f"{kind} has {len(given)} characters but may have at most {LONGEST_ID}"
        )
    if has_control_character(given):
        raise ContractError(code, f"{kind} is {given!r} but may have no control characters")
    return given
