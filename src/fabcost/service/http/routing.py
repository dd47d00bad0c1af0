"""Routes: who is let in, and how each is answered."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import re
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import InitVar, dataclass, field
from itertools import chain, count
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from structlog.typing import FilteringBoundLogger

from fabcost.service.http.auth import ANYONE, Keys, Principal, Role, is_publishable
from fabcost.service.http.exchange import (
    CLOSE,
    RETRY_SOON,
    Cors,
    Header,
    HttpAnswer,
    RefusedError,
    read_query,
    refusal,
    too_large,
)
from fabcost.service.http.openapi import Bytes, Finish, Operation
from fabcost.service.service import Service
from fabcost.service.settings import Settings
from fabcost.service.store.rows import KeyRow
from fabcost.wire.errors import ServiceError, in_words
from fabcost.wire.messages import TRANSFER_SECONDS, check_ids

if TYPE_CHECKING:
    from fabcost.service.http.app import HttpRequest

_JSON_TYPES = ("application/json",)
#: What pages may send without their browsers asking first.
_BEACON_TYPES = (*_JSON_TYPES, "text/plain")
_ASK: Header = (b"www-authenticate", b'Bearer realm="fabcost"')
_SHOW = "show a key in force: Authorization: Bearer KEY, or X-Api-Key: KEY"
_NO_KEY = (
    "no API key is in force, so nobody is let in: make one with `fabcost keys add NAME --role "
    "admin` where the server runs"
)
_NOT_IN_ADDRESS = "a key in the address must be publishable: fp_…"
_REREAD_SECONDS = 2.0
_LOOPBACK = re.compile(rb"(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?", re.IGNORECASE)
_SANE_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_THIS_PROCESS = secrets.token_hex(6).encode()
_NUMBERS = count(1)


def request_id(given: bytes | None) -> bytes:
    """The id that the caller gave if it is sane, else a new one.

    Examples
    --------
    >>> request_id(b"trace-17")
    b'trace-17'
    >>> request_id(b"two" + bytes([10]) + b"lines") != request_id(None)
    True
    """
    if given is not None and _SANE_ID.fullmatch(given):
        return given
    return b"%b-%d" % (_THIS_PROCESS, next(_NUMBERS))


def check_allowed(principal: Principal, role: Role, model: str | None) -> None:
    """An error if the key does not have the role, or opens another model only."""
    if principal.roles.isdisjoint((role, "admin")):
        raise RefusedError(403, "forbidden", f"this key does not have the role {role}")
    if principal.model is not None and principal.model != model:
        raise RefusedError(403, "forbidden", "this key opens one model, which is another")


def check_origin(headers: Mapping[bytes, bytes], cors: Cors | None) -> None:
    """An error if a page of another site asks, unless that is among those that may.

    The contract takes JSON under any content type, so browsers send it without asking first.
    """
    origin = headers.get(b"origin")
    if origin is None or (cors is not None and cors.allows(origin)):
        return
    site = origin.partition(b"://")[2]
    if not site or site.lower() != headers.get(b"host", b"").lower():
        raise RefusedError(403, "forbidden", "without keys pages of other sites are not served")


@dataclass(eq=False)
class Access:
    """Lets in whoever shows a key in force; anyone on this machine if none are asked for.

    ``read`` gives all keys; ``log`` is told when nobody is let in, and ``limited`` the id of a
    publishable key whose rate is used up.
    """

    read: Callable[[], Awaitable[Iterable[KeyRow]]]
    log: FilteringBoundLogger
    limited: Callable[[str], object]
    asks_for_keys: bool
    _keys: Keys = field(default_factory=lambda: Keys([]))
    _has_read_keys: bool = False

    def admit(self, headers: Mapping[bytes, bytes]) -> Principal:
        """Who asks, or an error.

        Without keys the host must be a loopback by name: a web page elsewhere whose name was made
        to point here (DNS rebinding) is kept out.
        """
        if not self.asks_for_keys:
            if not _LOOPBACK.fullmatch(headers.get(b"host", b"")):
                raise RefusedError(421, "wrong_host", "without keys only loopback hosts are served")
            return ANYONE
        text = _key_in(headers)
        principal = None if text is None else self._keys.find(text)
        if principal is None:
            raise RefusedError(401, "not_authenticated", _SHOW if self._keys else _NO_KEY, _ASK)
        if principal.allowance is not None and (wait := principal.allowance.take(monotonic())):
            self.limited(principal.key_id)
            message = f"this key may ask {principal.allowance.rate:g} times a second, and did"
            later = (b"retry-after", b"%d" % math.ceil(wait))
            raise RefusedError(429, "rate_limited", message, later)
        return principal

    async def reread_keys(self) -> None:
        """Read the keys in force; those of before stay while the database is away."""
        with contextlib.suppress(ServiceError):
            before, rows = self._keys, await self.read()
            self._keys = Keys(rows, before, monotonic())
            if self.asks_for_keys and not self._keys and (before or not self._has_read_keys):
                self.log.warning(_NO_KEY)
            self._has_read_keys = True

    async def keep_rereading_keys(self) -> None:
        """Every two seconds, so that keys added or revoked elsewhere count here."""
        while True:
            await self.reread_keys()
            await asyncio.sleep(_REREAD_SECONDS)


def _key_in(headers: Mapping[bytes, bytes]) -> str | None:
    """The key that was sent, in whichever of the headers that may hold one."""
    scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
    if scheme.lower() == b"bearer":
        return token.strip().decode("latin-1")
    other = headers.get(b"x-api-key") or headers.get(b"ocp-apim-subscription-key")
    return None if other is None else other.decode("latin-1")


@dataclass(eq=False)
class Site:
    """What routes work with: a running service, its settings, who is let in, what is under way.

    ``document`` is the OpenAPI document.
    """

    service: Service
    settings: Settings
    log: FilteringBoundLogger
    asks_for_keys: InitVar[bool]
    document: bytes

    def __post_init__(self, asks_for_keys: bool) -> None:
        limited = self.service.metrics.rate_limited
        self.access = Access(self.service.keys, self.log, limited, asks_for_keys)
        self.cors = Cors(self.settings.cors_origins) if self.settings.cors_origins else None
        self.in_flight = 0
        self._logs_requests = self.log.is_enabled_for(logging.INFO)

    def check_room(self) -> None:
        """An error if too many requests are being answered."""
        if self.in_flight > self.settings.requests_in_flight:
            raise RefusedError(503, "busy", "too many requests are being answered", RETRY_SOON)

    def refusal(self, error: Exception, identity: bytes, route: str) -> RefusedError:
        """What the caller is told of an error; the log has the details of an unexpected one."""
        refused = refusal(error)
        if refused.status == 500:
            told = {"request_id": identity.decode(), "route": route}
            self.log.error("request failed", **told, exc_info=error)
        return refused

    def told(self, identity: bytes, method: str, route: str, status: int, seconds: float) -> None:
        """Count and log a request that was answered."""
        self.service.metrics.requested(route, method, status, seconds)
        if self._logs_requests:
            self.log.info(
                "request",
                request_id=identity.decode(),
                method=method,
                route=route,
                status=status,
                ms=round(1e3 * seconds, 3),
            )


class ApiCall(NamedTuple):
    """A request that was let in, with its parts read and checked."""

    site: Site
    principal: Principal
    parameters: dict[str, str]
    query: Any
    body: Any
    content: bytes

    def check_ids(self, *ids: Iterable[str]) -> None:
        """An error if one has a control character: plain text without escapes holds none."""
        content = self.content
        if b"\\" in content or not content.isascii() or b"\x7f" in content:
            check_ids(chain.from_iterable(ids))

    def charge(self, many: int) -> None:
        """Count so many more requests towards the rate of a publishable key."""
        if self.principal.allowance is not None:
            self.principal.allowance.owe(many)

    @property
    def model(self) -> str:
        """The model of the path."""
        return self.parameters["model"]


class Endpoint:
    """An operation ready to answer: lets in, reads and checks, then asks the handler."""

    def __init__(self, operation: Operation, site: Site) -> None:
        settings, body = site.settings, operation.body
        self.method = operation.method
        self.route = operation.path
        self.seconds = TRANSFER_SECONDS if operation.transfer else settings.request_seconds
        self.can_begin = operation.begin is not None
        self._operation = operation
        self._site = site
        self._of_a_model = "{model}" in operation.path
        self._limit = settings.import_bytes if operation.transfer else settings.body_bytes
        json_types = _BEACON_TYPES if operation.by_beacon else _JSON_TYPES
        self._media_types = body.media_types if isinstance(body, Bytes) else json_types
        plain = body is None or isinstance(body, Bytes)
        self._decoder = None if plain else msgspec.json.Decoder(body)
        self._no_query = operation.query()

    async def answer(self, request: HttpRequest, parameters: dict[str, str]) -> HttpAnswer:
        """The answer, or an error."""
        query, content, headers = request.scope["query_string"], b"", request.headers
        if self._operation.by_beacon:
            headers = self._with_key(headers, read_query(query, self._operation.query).key)
        principal = self._admit(headers, parameters)
        asked = read_query(query, self._operation.query) if query else self._no_query
        if self._operation.body is not None:
            self._check_media_type(request.headers)
            content = await request.body(self._limit)
        if self._of_a_model and self._site.service.shared:
            await self._site.service.find(parameters["model"])
        return await self._operation.handler(self._call(principal, parameters, asked, content))

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
        self._check_media_type(headers)
        if len(content) > self._limit:
            raise too_large(self._limit)
        self._operation.begin(self._call(principal, parameters, self._no_query, content), finish)

    def _admit(self, headers: Mapping[bytes, bytes], parameters: dict[str, str]) -> Principal:
        role = self._operation.role
        if role is None:
            return ANYONE
        principal = self._site.access.admit(headers)
        own = principal.model if self._operation.of_any_model else None
        check_allowed(principal, role, parameters["model"] if self._of_a_model else own)
        return principal

    def _with_key(self, headers: dict[bytes, bytes], key: str | None) -> dict[bytes, bytes]:
        """With the key of the address: beacons have no headers of their own.

        Addresses are written into logs, so that only a key that anyone may read is taken from one;
        and without keys a page elsewhere could send what its browser does not ask about.
        """
        if not self._site.access.asks_for_keys:
            check_origin(headers, self._site.cors)
        if key is None:
            return headers
        if not is_publishable(key):
            raise RefusedError(401, "not_authenticated", _NOT_IN_ADDRESS, _ASK)
        return {**headers, b"x-api-key": key.encode()}

    def _call(
        self, principal: Principal, parameters: dict[str, str], asked: Any, content: bytes
    ) -> ApiCall:
        body: Any = content if self._decoder is None else _read(content, self._decoder)
        return ApiCall(self._site, principal, parameters, asked, body, content)

    def _check_media_type(self, headers: Mapping[bytes, bytes]) -> None:
        """An error if the body is said to be something else, or nothing is said."""
        header, expected = headers.get(b"content-type", b"").decode("latin-1"), self._media_types
        if header in expected:
            return
        given = header.partition(";")[0].strip().lower()
        if given not in expected:
            said = f"the content type is {given or 'not given'} but must be {' or '.join(expected)}"
            raise RefusedError(415, "unsupported_media_type", said, CLOSE)


def _read(body: bytes, decoder: msgspec.json.Decoder[Any]) -> Any:
    """The body in its type: 400 if it is no JSON, 422 if it is not what is expected."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise RefusedError(422, "invalid_request", in_words(error, body)) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RefusedError(400, "malformed_json", f"the body is not JSON: {error}") from error
    except RecursionError as error:
        raise RefusedError(400, "malformed_json", "the body is nested too deeply") from error
