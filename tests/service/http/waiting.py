"""Waits for what a server does in its own time."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

import httpx

from tests.service.http.serving import Running

#: Far longer than a slow machine needs: only a test that fails waits so long.
PATIENCE = 60.0


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def wait_for_the_database(server: Running) -> None:
    """Let decisions wait until they are durable, however slow the disk is."""
    server.service._decisions.durable_within = PATIENCE


def lines_with(server: Running, text: str) -> list[str]:
    """What was logged about a text, once anything was: a request is logged after its answer."""

    def found() -> list[str]:
        return [line for line in server.logged().splitlines() if text in line]

    wait_until(found)
    return found()


def wait_until_refused(address: str) -> None:
    """Wait until a server that was told to stop takes no more connections."""
    host, port = address.removeprefix("http://").split(":")

    def refused() -> bool:
        with socket.socket() as connection:
            connection.settimeout(PATIENCE)
            return connection.connect_ex((host, int(port))) != 0

    wait_until(refused)


def wait_for_in_flight(address: str, count: int) -> None:
    """Wait until so many requests are being answered, besides the one that asks."""

    def reached() -> bool:
        text = httpx.get(f"{address}/metrics", timeout=PATIENCE).text
        return f"\nfabcost_requests_in_flight {count + 1}.0\n" in text

    wait_until(reached)
