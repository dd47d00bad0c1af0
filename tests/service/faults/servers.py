"""Server processes that are cheap to start, so that they can be killed often."""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Protocol

import httpx

from tests.service.faults import nursery

ROOT = Path(__file__).parents[3]
LONGEST_WAIT = 120.0
#: Compiling takes a dozen seconds of a processor that others may want too.
LONGEST_COMPILING = 600.0
#: Seconds within which a busy server answers.
PATIENCE = 60.0


class Starter(Protocol):
    """Whoever starts servers, and hears of their end."""

    def start(self, database: str) -> Child:
        """A server that has begun to start."""
        ...

    def wait(self, pid: int) -> int:
        """The exit status of one that ends."""
        ...


def own_environment() -> dict[str, str]:
    """No setting of a server comes from whoever starts it."""
    return {name: value for name, value in os.environ.items() if not name.startswith("FABCOST_")}


def serving_flags(database: str, *, port: int = 0) -> list[str]:
    settings = {"port": port, "log_level": "warning", "keep_alive_seconds": 60}
    return ["--database", database, *(f"--set={name}={settings[name]}" for name in settings)]


class Nursery:
    """The process that forks servers, each with a log of its own in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started = 0
        self._process = subprocess.Popen(
            [sys.executable, "-m", nursery.__name__],
            cwd=ROOT,
            env=own_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def wait_until_warm(self) -> None:
        assert self._answer() == nursery.READY

    def start(
        self, database: str, *, user: int | None = None, port: int = 0, more: Sequence[str] = ()
    ) -> Child:
        """A server that has begun to start, as another user if one is given, with more flags."""
        self._started += 1
        log = self._folder / f"server-{self._started}.log"
        flags = [*serving_flags(database, port=port), *more]
        return Child(self, self.fork(flags, log, user=user), log)

    def fork(self, flags: Sequence[str], log: Path, *, user: int | None = None) -> int:
        """The process id of a server in this folder that writes all it says to ``log``."""
        asked = {"start": flags, "log": str(log), "user": user, "folder": str(Path.cwd())}
        return int(self._ask(asked))

    def wait(self, pid: int) -> int:
        return int(self._ask({"wait": pid}))

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(LONGEST_WAIT)
        self._process.stdout.close()

    def _ask(self, request: Mapping[str, object]) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


class Processes:
    """Starts servers, by a module of that name, that share nothing but these variables."""

    def __init__(self, folder: Path, module: str, variables: Mapping[str, str]) -> None:
        self._folder = folder
        self._command = [sys.executable, "-m", module, "serve"]
        self._environment = {**own_environment(), **variables}
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._started = 0

    def start(self, database: str) -> Child:
        """A server that has begun to start."""
        self._started += 1
        log = self._folder / f"process-{self._started}.log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [*self._command, *serving_flags(database)],
                cwd=ROOT,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
            )
        self._running[process.pid] = process
        return Child(self, process.pid, log, patience=LONGEST_COMPILING)

    def wait(self, pid: int) -> int:
        return self._running.pop(pid).wait(LONGEST_WAIT)

    def close(self) -> None:
        for process in self._running.values():
            process.kill()
            process.wait(LONGEST_WAIT)


class Child:
    """A server of a nursery, or a process of its own."""

    def __init__(
        self, parent: Starter, pid: int, log: Path, *, patience: float = LONGEST_WAIT
    ) -> None:
        self.pid = pid
        self._patience = patience
        self._parent = parent
        self._log = log

    def logged(self) -> str:
        return self._log.read_text(encoding="utf-8") if self._log.exists() else ""

    def address(self) -> str:
        """Where it listens, as soon as it does."""
        wait_for(lambda: "listening on " in self.logged(), self._patience, told=self.logged)
        return self.logged().partition("listening on ")[2].split()[0]

    def end(self, number: int = signal.SIGKILL) -> int:
        """Send a signal; the exit status."""
        os.kill(self.pid, number)
        return self._parent.wait(self.pid)


@contextmanager
def nursery_in(folder: Path) -> Iterator[Nursery]:
    made = Nursery(folder)
    try:
        made.wait_until_warm()
        yield made
    finally:
        made.close()


@cache
def shared_nursery() -> Nursery:
    """The one of this process, until it ends."""
    stack = ExitStack()
    atexit.register(stack.close)
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="fabcost-servers-"))
    return stack.enter_context(nursery_in(Path(folder)))


def wait_for(
    condition: Callable[[], object],
    seconds: float = LONGEST_WAIT,
    *,
    told: Callable[[], object] = str,
) -> None:
    """Until it holds; a failure says what ``told`` knows."""
    until = time.monotonic() + seconds
    while not holds(condition):
        assert time.monotonic() < until, told()
        time.sleep(0.01)


def holds(condition: Callable[[], object]) -> bool:
    """Whether it does; not if a server does not answer in time."""
    try:
        return bool(condition())
    except httpx.TransportError:
        return False


def is_ready(address: str) -> bool:
    return httpx.get(f"{address}/readyz", timeout=PATIENCE).status_code == 200


def address_when_ready(server: Child) -> str:
    """Where it listens, as soon as it serves everything."""
    address = server.address()
    wait_for(lambda: is_ready(address), told=server.logged)
    return address


def store_away(address: str) -> bool:
    """What the metrics say."""
    lines = httpx.get(f"{address}/metrics", timeout=PATIENCE).text.splitlines()
    return "fabcost_store_away 1.0" in lines
