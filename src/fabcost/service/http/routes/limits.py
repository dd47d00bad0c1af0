"""The limits of a server as part of the types of bodies."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from fabcost.service.settings import Settings
from fabcost.wire.messages import LONGEST_ID


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
