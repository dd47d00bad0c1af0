"""Hearing of what other servers write, as soon as PostgreSQL tells; polling does without."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

import psycopg

from fabcost.service.store.postgres import Postgres
from fabcost.wire.errors import ServiceError

_AGAIN_SECONDS = 1.0


async def listen(address: str, number: int, heard: Callable[[], object]) -> None:
    """Tell of every transaction of another server than ``number``, for as long as this is awaited.

    A connection that breaks is made again; what was told meanwhile is missed.
    """
    while True:
        connection = Postgres(address)
        try:
            await asyncio.to_thread(connection.connect)
            await _hear(connection.listened(), str(number), heard)
        except (ServiceError, psycopg.Error, OSError):
            await asyncio.sleep(_AGAIN_SECONDS)
        finally:
            connection.disconnect()


async def _hear(connection: psycopg.pq.abc.PGconn, own: str, heard: Callable[[], object]) -> None:
    loop = asyncio.get_running_loop()
    broken: asyncio.Future[None] = loop.create_future()

    def read() -> None:
        try:
            connection.consume_input()
        except psycopg.Error as error:
            if not broken.done():
                broken.set_exception(error)
            return
        told = []
        while (note := connection.notifies()) is not None:
            told.append(note.extra.decode())
        if any(each != own for each in told):
            heard()

    # The driver closes its own when the connection breaks, and the loop must not look at that.
    socket = os.dup(connection.socket)
    loop.add_reader(socket, read)
    try:
        await broken
    finally:
        loop.remove_reader(socket)
        os.close(socket)
