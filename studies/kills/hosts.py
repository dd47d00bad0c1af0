"""Servers as hosts of their own: network namespaces whose line to the database can be cut."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from socket import create_server

from tests.service.faults.servers import (
    LONGEST_WAIT,
    Child,
    own_environment,
    serving_flags,
)
from tests.service.postgres import PostgresServer

#: What a slow line lets through.
RATE = "64kbit"
_NET = "10.203.0"
_PORT, _BRIDGE = 8000, "fabcost-db"
#: On a host, where its server listens to itself only: hands on what visitors say elsewhere.
_RELAY = """
import asyncio, contextlib, socket, sys
async def pass_on(reader, writer):
    with contextlib.suppress(OSError):
        while some := await reader.read(65536):
            writer.write(some)
            await writer.drain()
    writer.close()
async def relay(reader, writer):
    try:
        far = await asyncio.open_connection("127.0.0.1", int(sys.argv[2]))
    except OSError:
        return writer.close()
    await asyncio.gather(pass_on(reader, far[1]), pass_on(far[0], writer))
async def main():
    outside = socket.socket(fileno=int(sys.argv[1]))
    await (await asyncio.start_server(relay, sock=outside)).serve_forever()
asyncio.run(main())
"""
_SLOW = ("root", "tbf", "rate", RATE, "burst", "4kb", "latency", "2s")


class Reachable(PostgresServer):
    """One that hosts reach over a bridge."""

    listens = f"127.0.0.1,{_NET}.1"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        with (self._data / "pg_hba.conf").open("a", encoding="utf-8") as file:
            file.write(f"host all all {_NET}.0/24 trust\n")


class Guest(Child):
    """A server of a host, as visitors reach it."""

    port = 0

    def address(self) -> str:
        """Where visitors go, as soon as it listens."""
        super().address()
        return f"http://127.0.0.1:{self.port}"


class Hosts:
    """Hosts, each with a line to the database; visitors reach them by another.  For root only."""

    def __init__(self, folder: Path, many: int) -> None:
        self._folder, self._many = folder, many
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._started = 0
        self._undo = ExitStack()

    def __enter__(self) -> Hosts:
        with self._undo:
            _ip("link", "add", _BRIDGE, "type", "bridge")
            self._undo.callback(_ip, "link", "del", _BRIDGE)
            _ip("address", "add", f"{_NET}.1/24", "dev", _BRIDGE)
            _ip("link", "set", _BRIDGE, "up")
            for place in range(self._many):
                self._add(place)
            self._undo = self._undo.pop_all()
        return self

    def _add(self, place: int) -> None:
        host, line = _host(place), _line(place)
        _ip("netns", "add", host)
        self._undo.callback(_ip, "netns", "del", host)
        _ip("link", "add", line, "type", "veth", "peer", "db", "netns", host)
        _ip("link", "set", line, "master", _BRIDGE, "up")
        _ip("-n", host, "address", "add", f"{_NET}.{place + 11}/24", "dev", "db")
        for each in ("lo", "db"):
            _ip("-n", host, "link", "set", each, "up")

    def __exit__(self, *_: object) -> None:
        for process in self._running.values():
            process.kill()
            process.wait(LONGEST_WAIT)
        self._undo.close()

    @staticmethod
    def address(database: str) -> str:
        """Where hosts reach a database."""
        return database.replace("127.0.0.1", f"{_NET}.1")

    def cut(self, place: int) -> None:
        """Let nothing pass between a host and the database."""
        _ip("link", "set", _line(place), "down")

    def mend(self, place: int) -> None:
        """Let everything pass again."""
        _ip("link", "set", _line(place), "up")

    def slow(self, place: int) -> None:
        """Let little pass, in both directions."""
        _run("tc", "qdisc", "add", "dev", _line(place), *_SLOW)
        _ip("netns", "exec", _host(place), "tc", "qdisc", "add", "dev", "db", *_SLOW)

    def hasten(self, place: int) -> None:
        """Let as much pass as before."""
        _run("tc", "qdisc", "del", "dev", _line(place), "root")
        _ip("netns", "exec", _host(place), "tc", "qdisc", "del", "dev", "db", "root")

    def start(self, database: str) -> Child:
        """A server on the next host."""
        place = self._started % self._many
        self._started += 1
        log, outside = self._folder / f"host-{self._started}.log", create_server(("127.0.0.1", 0))
        port = int(outside.getsockname()[1])
        with outside:
            relay = ("-c", _RELAY, str(outside.fileno()), str(_PORT))
            self._run_there(place, log.with_suffix(".relay"), *relay, keep=[outside.fileno()])
        flags = serving_flags(database, port=_PORT)
        server = Guest(self, self._run_there(place, log, "-m", "fabcost", "serve", *flags), log)
        server.port = port
        return server

    def _run_there(self, place: int, log: Path, *given: str, keep: Sequence[int] = ()) -> int:
        command = ["ip", "netns", "exec", _host(place), sys.executable, *given]
        with log.open("wb") as file:
            process = subprocess.Popen(  # noqa: S603
                command, env=own_environment(), stdout=file, stderr=file, pass_fds=keep
            )
        self._running[process.pid] = process
        return process.pid

    def wait(self, pid: int) -> int:
        """The exit status of a server that ends."""
        return self._running.pop(pid).wait(LONGEST_WAIT)


def _host(place: int) -> str:
    return f"fabcost-{place}"


def _line(place: int) -> str:
    return f"fabcost-db{place}"


def _ip(*arguments: str) -> None:
    _run("ip", *arguments)


def _run(*command: str) -> None:
    subprocess.run(command, check=True)  # noqa: S603
