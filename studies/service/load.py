"""A small HTTP client that only measures: raw bytes out, latencies in."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import cast

import numpy as np
import uvloop


@dataclass(frozen=True)
class Load:
    """What was measured: requests per second, and seconds of each request."""

    rate: float
    latencies: np.ndarray[tuple[int], np.dtype[np.float64]]
    failures: int

    @property
    def p99(self) -> float:
        """The 99th percentile of the latencies, in seconds."""
        return float(np.quantile(self.latencies, 0.99))


class _Connection(asyncio.Protocol):
    """Keeps one request in flight until it is told to stop."""

    def __init__(self, requests: Sequence[bytes], first: int, until: float) -> None:
        self._requests = cycle([*requests[first:], *requests[:first]])
        self._until = until
        self._received = b""
        self._sent = 0.0
        self.latencies: list[float] = []
        self.failures = 0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._send()

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, separator, body = self._received.partition(b"\r\n\r\n")
        if not separator:
            return
        at = head.lower().find(b"content-length:")
        length = int(head[at + 15 :].split(b"\r\n", 1)[0])
        if len(body) < length:
            return
        now = time.perf_counter()
        self.latencies.append(now - self._sent)
        self.failures += not head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201"))
        self._received = b""
        if now < self._until:
            self._send()
        else:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        if not self.done.done():
            self.done.set_result(None)

    def _send(self) -> None:
        self._sent = time.perf_counter()
        self._transport.write(next(self._requests))


def request(path: str, body: bytes, port: int) -> bytes:
    """One POST as it goes over the wire."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _measure(port: int, requests: Sequence[bytes], connections: int, seconds: float) -> Load:
    loop = asyncio.get_running_loop()
    started = time.perf_counter()
    made = []
    for k in range(connections):
        first = k * len(requests) // connections
        _, protocol = await loop.create_connection(
            lambda first=first: _Connection(requests, first, started + seconds),  # type: ignore[misc]
            "127.0.0.1",
            port,
        )
        made.append(protocol)
    await asyncio.gather(*(each.done for each in made))
    taken = time.perf_counter() - started
    latencies = np.array([each for one in made for each in one.latencies])
    return Load(latencies.size / taken, latencies, sum(each.failures for each in made))


def main() -> None:
    """Read what to send from a file, and print what was measured."""
    given = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    requests = [request(given["path"], body.encode(), given["port"]) for body in given["bodies"]]
    load = uvloop.run(_measure(given["port"], requests, given["connections"], given["seconds"]))
    np.save(sys.argv[2], load.latencies)
    sys.stdout.write(json.dumps({"rate": load.rate, "failures": load.failures}))


if __name__ == "__main__":
    main()
