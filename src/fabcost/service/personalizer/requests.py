"""What requests have in common, and their answers."""

from __future__ import annotations

import uuid
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from fabcost.service.personalizer.errors import RefusedError
from fabcost.service.personalizer.rank import checked_id
from fabcost.wire.messages import LONGEST_ID

REQUEST_ID: Final = "x-ms-client-request-id"
#: In the scope of a request: whether who asks may make the model.
MAY_MAKE: Final = "fabcost.may_make"


def json_response(body: Any, status: int = 200) -> Response:
    """An answer.

    Examples
    --------
    >>> json_response({"a": 1}, 201).body
    b'{"a":1}'
    """
    return Response(msgspec.json.encode(body), status, media_type="application/json")


def model_in(request: Request) -> str:
    """The name of the model.

    Examples
    --------
    >>> model_in(Request({"type": "http", "path_params": {"model": "news"}}))
    'news'
    """
    name: str = request.path_params["model"]
    return name


def may_make_model(request: Request) -> bool:
    """Whether who asks may make the model; where nobody is asked for a key, everyone may.

    Examples
    --------
    >>> may_make_model(Request({"type": "http", MAY_MAKE: False}))
    False
    """
    return bool(request.scope.get(MAY_MAKE, True))


def event_in(request: Request, code: str) -> str:
    """The id of the event, or a `RefusedError` with that code.

    Examples
    --------
    >>> event_in(Request({"type": "http", "path_params": {"event": "e"}}), "InvalidRewardRequest")
    'e'
    """
    return checked_id(code, "EventId", request.path_params["event"])


def key_of(request: Request) -> str:
    """Tells one reward of an event from another.

    Clients that repeat a request send its id again; those that send none do not repeat it.

    Examples
    --------
    >>> headers = [(b"x-ms-client-request-id", b"again")]
    >>> key_of(Request({"type": "http", "headers": headers}))
    'again'
    """
    key = request.headers.get(REQUEST_ID) or uuid.uuid4().hex
    if len(key) > LONGEST_ID:
        raise RefusedError(
            "InvalidRewardRequest",
            f"{REQUEST_ID} has {len(key)} characters but may have at most {LONGEST_ID}",
        )
    return key
