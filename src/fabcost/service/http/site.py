"""What routes work with."""

from __future__ import annotations

import asyncio
import contextlib
import logging

from structlog.typing import FilteringBoundLogger

from fabcost.service.http.auth import Keys
from fabcost.service.service import Service
from fabcost.service.settings import Settings
from fabcost.wire.errors import ServiceError

_REREAD_SECONDS = 2.0
NO_KEY = (
    "no API key is in force, so nobody is let in: make one with `fabcost keys add NAME --role "
    "admin` where the server runs"
)


class Site:
    """A service, its settings, its keys and its document.

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
        self.log = log
        self.asks_for_keys = asks_for_keys
        self.keys = Keys([])
        self._has_read_keys = False
        self.in_flight = 0
        self.document = document
        self._logs_requests = log.is_enabled_for(logging.INFO)

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

    async def reread_keys(self) -> None:
        """Read the keys in force; those of before stay while the database is away."""
        with contextlib.suppress(ServiceError):
            before, self.keys = self.keys, Keys(await self.service.keys())
            if self.asks_for_keys and not self.keys and (before or not self._has_read_keys):
                self.log.warning(NO_KEY)
            self._has_read_keys = True

    async def keep_rereading_keys(self) -> None:
        """Every two seconds, so that keys added or revoked elsewhere count here."""
        while True:
            await self.reread_keys()
            await asyncio.sleep(_REREAD_SECONDS)
