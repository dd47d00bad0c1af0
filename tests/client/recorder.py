from __future__ import annotations

from typing import Any

from fabcost.client import Client
from fabcost.client.exchange import ClientCall, Retries


class Recorder(Client):
    """Keeps what it is asked and asks nobody."""

    def __init__(self) -> None:
        super().__init__("http://server.test")
        self.asked: list[ClientCall[Any]] = []

    async def ask(self, call: ClientCall[Any], retries: Retries | None = None) -> Any:  # noqa: ARG002
        self.asked.append(call)
        return []


def calls_of(method: str, *given: Any, **named: Any) -> list[ClientCall[Any]]:
    """The calls that a method of the clients makes."""
    with Recorder() as recorder:
        getattr(recorder, method)(*given, **named)
    return recorder.asked


def call_of(method: str, *given: Any, **named: Any) -> ClientCall[Any]:
    """The only one."""
    (call,) = calls_of(method, *given, **named)
    return call
