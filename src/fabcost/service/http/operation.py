"""One declaration of each route, from which both the router and the document are made."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from itertools import chain
from typing import Any, NamedTuple

from msgspec import Struct

from fabcost.service.http.answer import Answer
from fabcost.service.http.auth import Principal, Role
from fabcost.service.http.site import Site
from fabcost.wire.checks import check_ids, may_hold_control_characters


class Call(NamedTuple):
    """A request that was let in, with its parts read and checked."""

    site: Site
    principal: Principal
    parameters: dict[str, str]
    query: Any
    body: Any
    content: bytes

    def check_ids(self, *ids: Iterable[str]) -> None:
        """An error if one has a control character; most bodies need no look at each.

        Examples
        --------
        >>> Call(None, None, {}, None, None, b'["ad-1"]').check_ids(["ad-1"])
        """
        if self.may_hold_control_characters:
            check_ids(chain.from_iterable(ids))

    @property
    def may_hold_control_characters(self) -> bool:
        """Whether ids of the body need a look.

        Examples
        --------
        >>> Call(None, None, {}, None, None, b'["ad-1"]').may_hold_control_characters
        False
        """
        return may_hold_control_characters(self.content)

    @property
    def model(self) -> str:
        """The model of the path.

        Examples
        --------
        >>> Call(None, None, {"model": "news"}, None, None, b"").model
        'news'
        """
        return self.parameters["model"]


class NoQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """For routes that have no parameters after a question mark."""


class Bytes(NamedTuple):
    """Content that is not JSON, by its media types."""

    media_types: tuple[str, ...]


Handler = Callable[[Call], Awaitable[Answer]]
Finish = Callable[[Any], object]
JSON_TYPES = ("application/json",)


class Operation(NamedTuple):
    """A method on a path, what goes in and what comes out.

    Parameters
    ----------
    method, path
        ``{model}`` is one segment of a path, ``{item:path}`` all the rest of it.
    handler
        Its docstring is the description.
    role
        What a key needs; None if none is asked for.
    answer
        The type of the body, or `Bytes`, or None for none.
    status
        Of success.
    query
        Its fields are the parameters after the question mark.
    body
        The type of the body, or `Bytes`, or None for none.
    errors
        Statuses of errors that not every route has.
    of_any_model
        Whether a key of one model is let in though the path names no model.
    begin
        Does what the handler does without waiting: it is given who to tell the value that is to be
        answered with status 200, or an error.
    transfer
        Whether bodies may be as large, and answers as slow, as those of whole models and logs.
    """

    method: str
    path: str
    handler: Handler
    role: Role | None
    answer: Any
    status: int = 200
    query: Any = NoQuery
    body: Any = None
    errors: tuple[int, ...] = ()
    of_any_model: bool = False
    transfer: bool = False
    begin: Callable[[Call, Finish], None] | None = None

    @property
    def media_types(self) -> tuple[str, ...]:
        """Those that the body may have.

        Examples
        --------
        >>> Operation("PUT", "/", None, None, None, body=Bytes(("text/csv",))).media_types
        ('text/csv',)
        """
        return self.body.media_types if isinstance(self.body, Bytes) else JSON_TYPES
