"""A connection for looking, and the one thread that uses it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from fabcost.service.store.protocol import Store
from fabcost.wire.errors import DatabaseUnusableError, StoreAwayError

T = TypeVar("T")


class Reading:
    """Asks a database, one after the other in the order of asking.

    Parameters
    ----------
    store
        A connection of its own, open.
    name
        Of the thread.

    Examples
    --------
    >>> import tempfile
    >>> from fabcost.service.store.address import store_at
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = store_at(f"{folder}/fabcost.db")
    ...     store.open(take_over=False)
    ...     reading = Reading(store, "reader")
    ...     asyncio.run(reading.ask(lambda store: store.models()))
    ...     reading.close()
    []
    """

    def __init__(self, store: Store, name: str) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(1, name)

    async def ask(self, function: Callable[[Store], T]) -> T:
        """What the function finds; it is tried again on a new connection if this one broke."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._now, function)

    def close(self) -> None:
        """End the thread and the connection."""
        self._thread.shutdown()
        self._store.close()

    def _now(self, function: Callable[[Store], T]) -> T:
        try:
            return function(self._store)
        except (StoreAwayError, DatabaseUnusableError):
            self._store.reopen()
            return function(self._store)
