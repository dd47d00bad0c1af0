"""What all of the contract has in common: paths, models, requests, answers and errors."""

from __future__ import annotations

import contextlib
import re
import uuid
from collections.abc import Mapping
from typing import Any, Final, Generic, Literal, NamedTuple, TypeVar

import msgspec

from fabcost.service.service import Service
from fabcost.wire.errors import (
    AlreadyThereError,
    DatabaseError,
    InvalidRequestError,
    ServiceError,
    TakenOverError,
    UnknownModelError,
    in_words,
)
from fabcost.wire.messages import CONTROL_CHARACTER, LONGEST_ID, ModelAnswer, check_model_name
from fabcost.wire.settings import ModelSettings

T = TypeVar("T")
Headers = tuple[tuple[bytes, bytes], ...]
Role = Literal["decide", "feedback", "read", "admin"]

#: What a model is like that is made here: its schema is open and it tells its propensities.
NEW_MODEL: Final = ModelSettings(propensities="fast")
#: The model of an endpoint without a prefix.
DEFAULT_MODEL: Final = "default"
REWARD: Final = "events/{event}/reward"
ACTIVATE: Final = "events/{event}/activate"
REQUEST_ID: Final = "x-ms-client-request-id"

# A prefix is a model's name or ends in models/NAME.  What begins with v1/ is the native API's,
# whose ids may hold anything; an event's id may too, so the first "personalizer" counts.
_NAMED = r"v1/models/[^/]+|(?!v1/)(?:(?!personalizer/)[^/]+/)*?models/[^/]+|(?!v1/)[^/]+"
_VERSION = r"/v1\.0|/v1\.1-preview\.[123]"
_EVENT = r"events/(?P<event>.*)/(?P<what>reward|activate)"
_PATH = re.compile(
    rf"//*(?:(?P<named>{_NAMED})/+)?personalizer(?:{_VERSION})?/(?P<operation>{_EVENT}|.*)",
    re.DOTALL,
)

#: The codes of the contract that are used here, and their status.
STATUS: Final = {
    "BadRequest": 400,
    "InvalidRankRequest": 400,
    "InvalidRewardRequest": 400,
    "InvalidEventIdToActivate": 400,
    "InvalidServiceConfiguration": 400,
    "InvalidLearningModeServiceConfiguration": 400,
    "InvalidMultiSlotApiAccess": 400,
    "InvalidApiAccess": 403,
    "ResourceNotFound": 404,
    "OperationNotAllowed": 503,
}
_BUG = (500, "InternalServerError")
# Clients repeat 503 as if nothing was done, so an answer that came too late has another status.
_TERMS = {
    "disconnected": (400, "BadRequest"),
    "body_too_large": (400, "PayloadSizeExceeded"),
    "forbidden": (403, "InvalidApiAccess"),
    "too_slow": (408, "RequestTimeout"),
    "timeout": (408, "RequestTimeout"),
    "wrong_host": (421, "InvalidApiAccess"),
    "rate_limited": (429, "TooManyRequests"),
    "busy": (503, "OperationNotAllowed"),
}
_WITHOUT_A_KEY = (
    "Access denied due to invalid subscription key or wrong API endpoint. Send a key that is in "
    "force and opens this model in the header Ocp-Apim-Subscription-Key."
)

_LOG: Final = "the log is exported by GET /v1/models/{model}/log?format=dsjson"
_EVALUATE: Final = (
    "`fabcost evaluate` estimates the value of policies from the Parquet file of "
    "GET /v1/models/{model}/log?format=parquet"
)

#: The beginning of an operation's path, what it is called, and what there is instead.
UNOFFERED: Final = (
    ("multislot", "Multi-slot ranking", "rank once for each slot, excluding what is shown already"),
    ("configurations/policy", "The learning policy", "PATCH /v1/models/{model} sets `policy`"),
    ("configurations/applyFromEvaluation", "Applying an evaluation", _EVALUATE),
    (
        "model",
        "Access to the model",
        "GET and PUT /v1/models/{model}/file copy a model, DELETE /v1/models/{model} forgets it",
    ),
    ("logs", "Access to the logs", f"{_LOG}; DELETE /v1/models/{{model}} forgets it"),
    ("evaluations", "Evaluation", _EVALUATE),
    (
        "featureImportances",
        "Feature importance",
        "GET /v1/models/{model}/posterior has every weight with its uncertainty",
    ),
)


class ContractPath(NamedTuple):
    """What a path is about: a model, an operation, and maybe an event.

    ``operation`` is `REWARD` or `ACTIVATE` if there is an event, else the rest of the path, which
    need not be an operation of the contract.
    """

    model: str
    operation: str
    event: str | None = None

    def role(self, method: str) -> Role:
        """What a key must be allowed to do for such a request."""
        operation = self.operation.removeprefix("multislot/")
        if operation == "rank":
            return "decide"
        if operation.startswith("events/"):
            return "feedback"
        return "read" if method == "GET" else "admin"


def parse(path: str) -> ContractPath | None:
    """A path, percent-decoded; None if it does not belong to the contract.

    Examples
    --------
    >>> parse("/tenants/acme/models/news/personalizer/v1.0/rank")
    ContractPath(model='news', operation='rank', event=None)
    >>> parse("/news/personalizer/events/models/other/personalizer/rank/reward")
    ContractPath(model='news', operation='events/{event}/reward', event='models/other/per...
    >>> parse("/v1/models/news/items/a/personalizer/b")
    """
    found = _PATH.fullmatch(path)
    if found is None:
        return None
    model = (found["named"] or DEFAULT_MODEL).rsplit("/", 1)[-1]
    if found["what"] is None:
        return ContractPath(model, found["operation"])
    operation = REWARD if found["what"] == "reward" else ACTIVATE
    return ContractPath(model, operation, found["event"])


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
            raise ContractError("InvalidRewardRequest", _too_long(REQUEST_ID, key))
        return key


class Body(Generic[T]):
    """Reads bodies of one kind; ``blame`` is the code of the error of any other."""

    def __init__(self, kind: type[T], blame: str) -> None:
        self._blame = blame
        self._decoder = msgspec.json.Decoder(kind)

    def read(self, content: bytes) -> T:
        """The body, or a `ContractError` that says what is wrong with it."""
        try:
            return self._decoder.decode(content)
        except msgspec.DecodeError as error:
            raise ContractError(self._blame, in_words(error, content)) from error
        except UnicodeDecodeError as error:
            why = "the body is not UTF-8 but must be JSON in UTF-8"
            raise ContractError(self._blame, why) from error
        except RecursionError as error:
            raise ContractError(self._blame, "the body is nested too deeply") from error


def checked_id(code: str, kind: str, given: str) -> str:
    """The id, or a `ContractError` with that code if it cannot be one."""
    if not given:
        raise ContractError(code, f"{kind} should be non-empty or null")
    if len(given) > LONGEST_ID:
        raise ContractError(code, _too_long(kind, given))
    if CONTROL_CHARACTER.search(given):
        raise ContractError(code, f"{kind} is {given!r} but may have no control characters")
    return given


def _too_long(kind: str, given: str) -> str:
    return f"{kind} has {len(given)} characters but may have at most {LONGEST_ID}"


class ContractAnswer(NamedTuple):
    """What is answered: JSON, if there is a body."""

    status: int
    body: bytes = b""
    headers: Headers = ()


def json_answer(body: Any, status: int = 200) -> ContractAnswer:
    """An answer with a body."""
    return ContractAnswer(status, msgspec.json.encode(body))


class ContractError(Exception):
    """A request that is answered with an error of the contract."""

    def __init__(
        self, code: str, message: str, *, status: int | None = None, headers: Headers = ()
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = STATUS[code] if status is None else status
        self.headers = headers

    def answer(self) -> ContractAnswer:
        """A body with a code, and the code again as a header."""
        headers = ((b"x-ms-error-code", self.code.encode()), *self.headers)
        return ContractAnswer(self.status, _error_body(self.code, str(self)), headers)


def _error_body(code: str, message: str) -> bytes:
    return msgspec.json.encode({"error": {"code": code, "message": message}})


def error_of(error: ServiceError, blame: str) -> ContractError:
    """What the service could not do, in the terms of the contract.

    ``blame`` is the code of a request that is wrong.
    """
    if isinstance(error, DatabaseError | TakenOverError):
        return ContractError("OperationNotAllowed", str(error), headers=((b"retry-after", b"1"),))
    if isinstance(error, UnknownModelError):
        return ContractError("ResourceNotFound", str(error))
    code = blame if isinstance(error, InvalidRequestError) else "BadRequest"
    return ContractError(code, str(error))


def refused(code: str, message: str, headers: Headers) -> ContractAnswer:
    """What the server refused before the contract was asked, by the server's own code."""
    if code == "not_authenticated":
        return ContractAnswer(401, _error_body("401", _WITHOUT_A_KEY), headers)
    status, name = _TERMS.get(code, _BUG)
    return ContractError(name, message, status=status, headers=headers).answer()


def unoffered(operation: str) -> ContractError:
    """The answer to an operation that is not offered or not known.

    Examples
    --------
    >>> unoffered("multislot/rank").code, unoffered("ranks").code
    ('InvalidMultiSlotApiAccess', 'ResourceNotFound')
    >>> str(unoffered("logs/interactions"))[:39]
    'Access to the logs is not offered here:'
    """
    for start, name, instead in UNOFFERED:
        if operation == start or operation.startswith(f"{start}/"):
            multislot = start == "multislot"
            code = "InvalidMultiSlotApiAccess" if multislot else "InvalidApiAccess"
            return ContractError(code, f"{name} is not offered here: {instead}")
    return ContractError("ResourceNotFound", f"There is no operation {operation!r}")


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
