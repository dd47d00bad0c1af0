"""Bodies that only the HTTP API has, and the limits of a server as part of their types."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct

from fabcost.service.http.auth import Role
from fabcost.service.settings import Settings
from fabcost.wire.messages import (
    LONGEST_ID,
    DecisionRequest,
    DecisionView,
    FeedbackAnswer,
    FeedbackRequest,
    Filter,
    Id,
    Items,
    ModelAnswer,
    ModelName,
)
from fabcost.wire.settings import ModelSettings


class NewModel(Struct, frozen=True, forbid_unknown_fields=True):
    """A model to be made."""

    name: ModelName
    settings: ModelSettings = ModelSettings()


class ModelsAnswer(Struct, frozen=True):
    """All models, or those that the key opens."""

    models: list[ModelAnswer]


class CatalogueVersion(Struct, frozen=True):
    """The version of the catalogue from now on."""

    version: int


class Imported(Struct, frozen=True):
    """How many lines told something new: a decision, or the outcome of one that had none."""

    imported: int


class DecisionsAnswer(Struct, frozen=True):
    """The latest decisions, newest first; ``next`` is what to ask ``before`` for older ones."""

    decisions: list[DecisionView]
    next: int | None


class BulkFeedback(Struct, frozen=True, forbid_unknown_fields=True):
    """Feedback on many decisions."""

    feedback: list[FeedbackRequest]


class BulkFeedbackAnswer(Struct, frozen=True):
    """What became of each, in the order given."""

    feedback: list[FeedbackAnswer]


class Activation(Struct, frozen=True, forbid_unknown_fields=True):
    """The deferred decision that was shown after all."""

    decision_id: Id


class ActivationAnswer(Struct, frozen=True):
    """``activated`` is false if it is unknown, resolved or was not deferred."""

    decision_id: str
    activated: bool


class NewKey(Struct, frozen=True, forbid_unknown_fields=True):
    """A key to be made; without ``model`` it opens all."""

    name: Id
    roles: Annotated[list[Role], Meta(min_length=1, max_length=4)]
    model: ModelName | None = None


class KeyAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A key; ``key``, its text, is there only when it was just made."""

    key_id: str
    name: str
    roles: list[str]
    model: str | None
    created: float
    revoked: float | None
    key: str | None = None


class KeysAnswer(Struct, frozen=True):
    """All keys, revoked ones too."""

    keys: list[KeyAnswer]


class State(Struct, frozen=True):
    """Of the server."""

    status: Literal["ok"]


class Readiness(Struct, frozen=True, omit_defaults=True):
    """Of a server that is ready; ``degraded`` are models that are not served in full, and why."""

    status: Literal["ready"]
    degraded: dict[str, str] = {}


class Limited(NamedTuple):
    """Types of bodies that bound what they hold."""

    decision: type[DecisionRequest]
    item: Any
    items: type[Items]
    bulk_feedback: type[BulkFeedback]


def limited(settings: Settings) -> Limited:
    """Types that refuse while decoding what is over a limit, and say so in their JSON Schema.

    Examples
    --------
    >>> types = limited(Settings(text_length=3))
    >>> msgspec.json.decode(b'{"context": {"page": "sports"}}', type=types.decision)
    Traceback (most recent call last):
    msgspec.ValidationError: Expected `str` of length <= 3 - at `$.context[...]`
    """
    record = _record(settings)
    ids = Annotated[list[Id], Meta(max_length=settings.candidates)]
    candidates = Annotated[dict[Id, record], Meta(min_length=1, max_length=settings.candidates)]  # type: ignore[valid-type]
    filters = Annotated[Filter, Meta(max_length=settings.features)]
    decision = _narrowed(
        DecisionRequest,
        ("context", record, {}),
        ("candidates", candidates | None, None),
        ("items", ids | None, None),
        ("filter", filters | None, None),
        ("exclude", ids, []),
    )
    bulk = Annotated[list[FeedbackRequest], Meta(min_length=1, max_length=settings.bulk_feedback)]
    items = Annotated[dict[Id, record], Meta(min_length=1, max_length=settings.import_lines)]  # type: ignore[valid-type]
    return Limited(
        decision,
        record,
        _narrowed(Items, ("items", items)),
        _narrowed(BulkFeedback, ("feedback", bulk)),
    )


def _record(settings: Settings) -> Any:
    text = Annotated[str, Meta(max_length=settings.text_length)]
    name = Annotated[str, Meta(min_length=1, max_length=LONGEST_ID)]
    return Annotated[
        dict[name, text | bool | int | float | None],
        Meta(max_length=settings.features),
    ]


def _narrowed(kind: Any, *fields: Any) -> Any:
    """The same type, with some fields of narrower types."""
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
