"""Operations as they are declared, and the OpenAPI document that is made of them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct

import fabcost
from fabcost.service.http.auth import PUBLISHABLE, Role
from fabcost.service.http.exchange import ErrorAnswer, HttpAnswer
from fabcost.service.settings import Settings
from fabcost.wire.messages import LONGEST_ID, WITHOUT_CONTROL_CHARACTERS, ModelName

if TYPE_CHECKING:
    from fabcost.service.http.routing import ApiCall

#: Where the routes of one model are.
MODEL = "/v1/models/{model}"

_REFERENCE = "#/components/schemas/{name}"
#: Ends of media types that are not text.
_BINARY = ("octet-stream", "parquet")
_PARAMETER = re.compile(r"\{(\w+)(:path)?\}")
_ERRORS = {
    400: "The body is not JSON.",
    401: "No key in force was shown.",
    403: "The key does not have the role, or opens another model.",
    404: "There is no such thing.",
    408: "The body did not come in time.",
    409: "There is one already.",
    413: "The body is too large.",
    415: "The body is of another media type.",
    421: "Without keys, only hosts of this machine are served.",
    429: "A publishable key has used up its rate: try again after `Retry-After` seconds.",
    422: "The request is not what was expected; the message says in what.",
    500: "Something went wrong; the server's log has the details.",
    503: "The server is busy, or its database is away: try again.",
}
_ROLES: dict[Role, str] = {
    "decide": "ask for decisions",
    "feedback": "say what became of them",
    "read": "look at everything",
    "admin": "everything",
}
#: Of what stands in paths; those of bodies and answers are in examples.json.
_NAMES = {"model": "shop", "item": "tea", "decision": "visit-1", "key_id": "3f1c9a52"}
#: Headings of operations by what follows the model in their paths.
_HEADINGS = {
    **dict.fromkeys(("posterior", "contrasts", "alarms", "stats"), "What a model has learnt"),
    "items": "Catalogue",
    **dict.fromkeys(("decisions", "explanations", "activations"), "Decisions"),
    **dict.fromkeys(("feedback", "beacons"), "Feedback"),
    **dict.fromkeys(("file", "log"), "Files and logs"),
}
_SECURITY = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "key": {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
}


class NoQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """For routes that have no parameters after a question mark."""


class Bytes(NamedTuple):
    """Content that is not JSON, by its media types."""

    media_types: tuple[str, ...]


Handler = Callable[["ApiCall"], Awaitable[HttpAnswer]]
Finish = Callable[[Any], object]


class Operation(NamedTuple):
    """A method on a path, what goes in and what comes out.

    ``{model}`` in a path is one segment of it, ``{item:path}`` all the rest.  Types of bodies are
    those of JSON, or `Bytes`, or None for none.
    """

    method: str
    path: str
    #: Its docstring is the description.
    handler: Handler
    #: What a key needs; None if none is asked for.
    role: Role | None
    answer: Any
    #: Of success.
    status: int = 200
    #: Its fields are the parameters after the question mark.
    query: Any = NoQuery
    body: Any = None
    #: Statuses of errors that not every route has.
    errors: tuple[int, ...] = ()
    #: Whether a key of one model is let in though the path names no model.
    of_any_model: bool = False
    #: Whether bodies may be as large, and answers as slow, as those of whole models and logs.
    transfer: bool = False
    #: Whether it is sent by pages that are left: as text, with a publishable key in the address.
    by_beacon: bool = False
    #: Does what the handler does without waiting: it is given who to tell the value that is to be
    #: answered with status 200, or an error.
    begin: Callable[[ApiCall, Finish], None] | None = None


def record_type(settings: Settings) -> Any:
    """The type of a record of features."""
    text = Annotated[str, Meta(max_length=settings.text_length)]
    name = Annotated[str, Meta(min_length=1, max_length=LONGEST_ID)]
    return Annotated[
        dict[name, text | bool | int | float | None],
        Meta(max_length=settings.features),
    ]


def narrowed(kind: Any, *fields: Any) -> Any:
    """The same type with some fields of narrower types, which its JSON Schema tells too."""
    return msgspec.defstruct(
        kind.__name__,
        fields,
        bases=(kind,),
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=True,
        namespace={"__doc__": kind.__doc__},
        module=kind.__module__,
    )


def document(operations: Sequence[Operation]) -> dict[str, Any]:
    """An OpenAPI 3.1 document."""
    bodies = [each for operation in operations for each in (operation.body, operation.answer)]
    plain = [each for each in bodies if each is not None and not isinstance(each, Bytes)]
    types = [ErrorAnswer, ModelName, *plain]
    schemas, components = msgspec.json.schema_components(types, ref_template=_REFERENCE)
    schema_of = dict(zip(map(repr, types), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        path = paths.setdefault(_PARAMETER.sub(r"{\1}", operation.path), {})
        path[operation.method.lower()] = _operation(operation, schema_of)
    roles = "; ".join(f"`{role}`: {meaning}" for role, meaning in _ROLES.items())
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "fabcost",
            "version": fabcost.__version__,
            "description": f"Decisions that learn from clicks, durably. Roles of keys: {roles}.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": _SECURITY},
    }


def _operation(operation: Operation, schema_of: dict[str, Any]) -> dict[str, Any]:
    summary, _, rest = inspect.cleandoc(operation.handler.__doc__ or "").partition("\n\n")
    made: dict[str, Any] = {
        "operationId": operation.handler.__name__,
        "tags": [_heading(operation.path)],
        "summary": summary,
        "parameters": [*_in_path(operation, schema_of), *_in_query(operation)],
        "responses": _responses(operation, schema_of),
        "security": [] if operation.role is None else [{"bearer": []}, {"key": []}],
    }
    if operation.body is not None:
        content = _content(operation.body, schema_of, _example(operation, "request"))
        if operation.by_beacon:
            content["text/plain"] = content["application/json"]
        made["requestBody"] = {"required": True, "content": content}
    needs = "" if operation.role is None else f"Needs a key with the role `{operation.role}`."
    made["description"] = "\n\n".join(part for part in (rest, needs) if part)
    return made


def _heading(path: str) -> str:
    """What an operation is listed under: by its model's part, its own name, or the server."""
    _, version, *rest = path.split("/")
    if version != "v1":
        return "Server"
    return _HEADINGS[rest[2]] if len(rest) > 2 else rest[0].capitalize()


def _in_path(operation: Operation, schema_of: dict[str, Any]) -> list[dict[str, Any]]:
    any_id = {"type": "string", "maxLength": LONGEST_ID, "pattern": WITHOUT_CONTROL_CHARACTERS}
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": schema_of[repr(ModelName)] if name == "model" else any_id,
            "example": _NAMES[name],
        }
        for name, _ in _PARAMETER.findall(operation.path)
    ]


def _in_query(operation: Operation) -> list[dict[str, Any]]:
    if operation.query is NoQuery:
        return []
    (_,), components = msgspec.json.schema_components([operation.query])
    (properties,) = (each["properties"] for each in components.values())
    return [
        {"name": name, "in": "query", "required": False, "schema": _without_null(schema)}
        for name, schema in properties.items()
    ]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter that is left out is not null but absent."""
    if "anyOf" not in schema:
        return schema
    (only,) = (each for each in schema["anyOf"] if each != {"type": "null"})
    return dict(only)


def _responses(operation: Operation, schema_of: dict[str, Any]) -> dict[str, Any]:
    success: dict[str, Any] = {"description": "Done."}
    if operation.answer is not None:
        success["content"] = _content(operation.answer, schema_of, _example(operation, "answer"))
    error = {"application/json": {"schema": schema_of[repr(ErrorAnswer)]}}
    return {
        str(operation.status): success,
        **{
            str(status): {"description": _ERRORS[status], "content": error}
            for status in sorted(_errors(operation))
        },
    }


def _errors(operation: Operation) -> set[int]:
    """What can go wrong, by what the operation reads and asks for."""
    found = {422, 500, 503, *operation.errors}
    if operation.role is not None:
        found |= {401, 403, 421}
    if operation.role in PUBLISHABLE:
        found.add(429)
    if "{" in operation.path:
        found.add(404)
    if operation.body is not None:
        found |= {400, 408, 413, 415}
    return found


def _content(kind: Any, schema_of: dict[str, Any], example: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(kind, Bytes):
        return {"application/json": {"schema": schema_of[repr(kind)], **example}}
    text = {"schema": {"type": "string"}}
    is_text = {each: not each.endswith(_BINARY) for each in kind.media_types}
    return {each: {**text, **(example if is_text[each] else {})} for each in kind.media_types}


def _example(operation: Operation, part: str) -> dict[str, Any]:
    """What was sent to a server, or what it answered, if it was anything to be shown."""
    told = _examples().get(operation.handler.__name__, {})
    return {"example": told[part]} if part in told else {}


@cache
def _examples() -> dict[str, dict[str, Any]]:
    """By operation, as the story of tests/service/http wrote them."""
    written = files("fabcost.service.http").joinpath("examples.json").read_bytes()
    found: dict[str, dict[str, Any]] = msgspec.json.decode(written)
    return found
