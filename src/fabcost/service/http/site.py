"""What routes work with: a service, and who may use it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping

from structlog.typing import FilteringBoundLogger

from fabcost.service.http.answer import Header
from fabcost.service.http.auth import ANYONE, Keys, Principal, is_loopback_host, key_in
from fabcost.service.http.problem import RETRY_SOON, RefusedError, refusal
from fabcost.service.service import Service
from fabcost.service.settings import Settings
from fabcost.wire.errors import ServiceError

_ASK: Header = (b"www-authenticate", b'Bearer realm="fabcost"')
_SHOW = "show a key in force: Authorization: Bearer KEY, or X-Api-Key: KEY"
_NO_KEY = (
    "no API key is in force, so nobody is let in: make one with `fabcost keys add NAME --role "
    "admin` where the server runs"
)
_REREAD_SECONDS = 2.0


class Access:
    """Whoever shows a key in force; anyone on this machine if none are asked for.

    Parameters
    ----------
    service
        Where keys are kept.
    log
        Where it is said that nobody is let in.
    asks_for_keys
        Whether callers must show a key.
    """

    def __init__(self, service: Service, log: FilteringBoundLogger, *, asks_for_keys: bool) -> None:
        self.asks_for_keys = asks_for_keys
        self._service = service
        self._log = log
        self._keys = Keys([])
        self._has_read_keys = False

    def admit(self, headers: Mapping[bytes, bytes]) -> Principal:
        """Who asks, or an error.

        Without keys the host must be a loopback by name: a web page elsewhere whose name was made
        to point here (DNS rebinding) is kept out.
        """
        if not self.asks_for_keys:
            if not is_loopback_host(headers.get(b"host", b"")):
                raise RefusedError(421, "wrong_host", "without keys only loopback hosts are served")
            return ANYONE
        text = key_in(headers)
        principal = None if text is None else self._keys.find(text)
        if principal is None:
            raise RefusedError(401, "not_authenticated", _SHOW if self._keys else _NO_KEY, _ASK)
        return principal

    async def reread_keys(self) -> None:
        """Read the keys in force; those of before stay while the database is away."""
        with contextlib.suppress(ServiceError):
            before, self._keys = self._keys, Keys(await self._service.keys())
            if self.asks_for_keys and not self._keys and (before or not self._has_read_keys):
                self._log.warning(_NO_KEY)
            self._has_read_keys = True

    async def keep_rereading_keys(self) -> None:
        """Every two seconds, so that keys added or revoked elsewhere count here."""
        while True:
            await self.reread_keys()
            await asyncio.sleep(_REREAD_SECONDS)


class Site:
    """A service, its settings, who is let in, its document, and what is under way.

    Parameters
    ----------
    service
        Running.
    settings
        Of the server.
    log
        Where requests are logged.
    asks_for_keys
        Whether callers must show a key.
    document
        The OpenAPI document.
    """

    def __init__(
        self,
        service: Service,
        settings: Settings,
        log: FilteringBoundLogger,
        *,
        asks_for_keys: bool,
        document: bytes,
    ) -> None:
        self.service = service
        self.settings = settings
        self.access = Access(service, log, asks_for_keys=asks_for_keys)
        self.document = document
        self.in_flight = 0
        self._log = log
        self._logs_requests = log.is_enabled_for(logging.INFO)

    def check_room(self) -> None:
        """An error if too many requests are being answered."""
        if self.in_flight > self.settings.requests_in_flight:
            raise RefusedError(503, "busy", "too many requests are being answered", RETRY_SOON)

    def refusal(self, error: Exception, identity: bytes, route: str) -> RefusedError:
        """What the caller is told of an error; the log has the details of an unexpected one."""
        refused = refusal(error)
        if refused.status == 500:
            told = {"request_id": identity.decode(), "route": route}
            self._log.error("request failed", **told, exc_info=error)
        return refused

    def told(self, identity: bytes, method: str, route: str, status: int, seconds: float) -> None:
        """Count and log a request that was answered."""
        self.service.metrics.requested(route, method, status, seconds)
        if self._logs_requests:
            self._log.info(
                "request",
                request_id=identity.decode(),
                method=method,
                route=route,
                status=status,
                ms=round(1e3 * seconds, 3),
            )
