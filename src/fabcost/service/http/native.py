"""An operation of the native API, ready to answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from fabcost.service.http.admission import admit, check_allowed
from fabcost.service.http.answer import Answer
from fabcost.service.http.auth import ANYONE, Principal
from fabcost.service.http.operation import Bytes, Call, Finish, Operation
from fabcost.service.http.request import (
    Incoming,
    check_media_type,
    read_json,
    read_query,
    too_large,
)
from fabcost.service.http.site import Site
from fabcost.wire.messages import TRANSFER_SECONDS


class Native:
    """Lets in, reads and checks, then asks the operation's handler.

    Parameters
    ----------
    operation
        What to do.
    site
        What to do it with.
    """

    def __init__(self, operation: Operation, site: Site) -> None:
        self.method = operation.method
        self.can_begin = operation.begin is not None
        self.route = operation.path
        self.seconds = TRANSFER_SECONDS if operation.transfer else site.settings.request_seconds
        self._operation = operation
        self._site = site
        self._of_a_model = "{model}" in operation.path
        settings = site.settings
        self._limit = settings.import_bytes if operation.transfer else settings.body_bytes
        plain = operation.body is None or isinstance(operation.body, Bytes)
        self._decoder = None if plain else msgspec.json.Decoder(operation.body)
        self._no_query = operation.query()

    async def answer(self, incoming: Incoming, parameters: dict[str, str]) -> Answer:
        """The answer, or an error."""
        principal = self._admit(incoming.headers, parameters)
        query = incoming.scope["query_string"]
        asked = read_query(query, self._operation.query) if query else self._no_query
        content = b"" if self._operation.body is None else await self._content(incoming)
        call = self._call(principal, parameters, asked, content)
        return await self._operation.handler(call)

    def begin(
        self,
        headers: Mapping[bytes, bytes],
        parameters: dict[str, str],
        content: bytes,
        finish: Finish,
    ) -> None:
        """Let ``finish`` have what is to be answered, at once or later; errors change nothing."""
        if self._operation.begin is None:
            raise ValueError(f"{self.route} cannot begin without waiting")
        principal = self._admit(headers, parameters)
        check_media_type(headers, self._operation.media_types)
        if len(content) > self._limit:
            raise too_large(self._limit)
        self._operation.begin(self._call(principal, parameters, self._no_query, content), finish)

    def _call(
        self, principal: Principal, parameters: dict[str, str], asked: Any, content: bytes
    ) -> Call:
        body: Any = content if self._decoder is None else read_json(content, self._decoder)
        return Call(self._site, principal, parameters, asked, body, content)

    def _admit(self, headers: Mapping[bytes, bytes], parameters: dict[str, str]) -> Principal:
        role = self._operation.role
        if role is None:
            return ANYONE
        principal = admit(self._site, headers)
        own = principal.model if self._operation.of_any_model else None
        check_allowed(principal, role, parameters["model"] if self._of_a_model else own)
        return principal

    async def _content(self, incoming: Incoming) -> bytes:
        check_media_type(incoming.headers, self._operation.media_types)
        return await incoming.body(self._limit)
