"""An operation of the native API, ready to answer."""

from __future__ import annotations

from typing import Any

import msgspec

from fabcost.service.http.admission import admit, check_allowed
from fabcost.service.http.answer import Answer
from fabcost.service.http.incoming import Incoming, read_json, read_query
from fabcost.service.http.keys import ANYONE, Principal
from fabcost.service.http.operation import Bytes, Call, Operation
from fabcost.service.http.site import Site

_TRANSFER_SECONDS = 600.0


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
        self.route = operation.path
        self.seconds = _TRANSFER_SECONDS if operation.transfer else site.settings.request_seconds
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
        principal = self._admit(incoming, parameters)
        query = incoming.scope["query_string"]
        asked = read_query(query, self._operation.query) if query else self._no_query
        content = b"" if self._operation.body is None else await self._content(incoming)
        body: Any = content if self._decoder is None else read_json(content, self._decoder)
        call = Call(self._site, principal, parameters, asked, body, content)
        return await self._operation.handler(call)

    def _admit(self, incoming: Incoming, parameters: dict[str, str]) -> Principal:
        role = self._operation.role
        if role is None:
            return ANYONE
        principal = admit(self._site, incoming.headers)
        own = principal.model if self._operation.of_any_model else None
        check_allowed(principal, role, parameters["model"] if self._of_a_model else own)
        return principal

    async def _content(self, incoming: Incoming) -> bytes:
        incoming.check_media_type(self._operation.media_types)
        return await incoming.body(self._limit)
