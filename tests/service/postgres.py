from __future__ import annotations

import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import glob
from pathlib import Path
from typing import Any

import psycopg

LONGEST_START = 60.0


class PostgresMissingError(Exception):
    pass


def find_binaries() -> Path:
    """The folder of the newest pg_ctl, on the path or where Debian keeps it."""
    on_path = shutil.which("pg_ctl")
    candidates = [Path(each) for each in glob("/usr/lib/postgresql/*/bin/pg_ctl")]
    candidates.sort(key=lambda each: float(each.parts[-3]))
    if on_path:
        candidates.append(Path(on_path))
    if not candidates:
        raise PostgresMissingError("no pg_ctl on the path or in /usr/lib/postgresql/*/bin")
    return candidates[-1].parent


def find_port() -> int:
    """A free port that nobody gets who asks for any: it stays free while its server is stopped."""
    first, last = given_ports()
    # Chromium refuses port 10080.
    outside: list[int] = [*range(10_081, first), *range(last + 1, 65_536)]
    random.SystemRandom().shuffle(outside)
    for port in outside or range(10_081, 65_536):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise OSError("no port is free")


def given_ports() -> tuple[int, int]:
    """The first and the last of those that the system gives to whoever asks for any."""
    span = Path("/proc/sys/net/ipv4/ip_local_port_range")
    if not span.exists():
        return 32_768, 65_535
    first, last = span.read_text(encoding="utf-8").split()
    return int(first), int(last)


class PostgresServer:
    """A throw-away server; ``stop``, ``kill`` and ``start`` keep its data and its port."""

    listens = "127.0.0.1"

    def __init__(self, folder: Path) -> None:
        self._binaries = find_binaries()
        self._folder = folder
        self._data = folder / "data"
        # PostgreSQL refuses to run as root.
        self._user: dict[str, Any] = {}
        if os.geteuid() == 0:
            account = pwd.getpwnam("postgres")
            self._user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
            os.chown(folder, account.pw_uid, account.pw_gid)
        self._run("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "-N")
        self.port = find_port()
        self._spare: list[str] = []

    def address(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        settings = f"-p {self.port} -c listen_addresses={self.listens} -c unix_socket_directories="
        log = str(self._folder / "log")
        until = time.monotonic() + LONGEST_START
        while True:
            try:
                self._run("pg_ctl", "-w", "-l", log, "-o", f"{settings} -c fsync=off", "start")
            except subprocess.CalledProcessError:
                # After a kill, what is left of the old server may still be going away.
                if time.monotonic() > until:
                    raise
                time.sleep(1.0)
            else:
                return

    def stop(self) -> None:
        self._run("pg_ctl", "-w", "-m", "fast", "stop")

    def kill(self) -> None:
        pid = int((self._data / "postmaster.pid").read_text(encoding="utf-8").split()[0])
        os.kill(pid, signal.SIGKILL)

    @contextmanager
    def database(self) -> Iterator[str]:
        """The address of an empty database: to empty one takes half the time of making another."""
        name = self._spare.pop() if self._spare else self._made()
        try:
            yield self.address(name)
        finally:
            self._empty(name)
            self._spare.append(name)

    def _made(self) -> str:
        name = f"test_{uuid.uuid4().hex}"
        self._execute("postgres", f"CREATE DATABASE {name}")
        return name

    def _empty(self, name: str) -> None:
        """Nobody is connected, nothing is set, nothing is there."""
        others = "pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        self._execute("postgres", f"ALTER DATABASE {name} RESET ALL")
        self._execute(
            name,
            f"SELECT pg_terminate_backend(pid, 60000) FROM {others}",  # noqa: S608
            "DROP SCHEMA public CASCADE",
            "CREATE SCHEMA public",
        )

    def _execute(self, database: str, *statements: str) -> None:
        with psycopg.connect(self.address(database), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._binaries / program), "-D", str(self._data), *arguments]
        subprocess.run(
            command,
            check=True,
            cwd="/",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **self._user,
        )


@contextmanager
def throw_away_server(
    kind: type[PostgresServer] = PostgresServer,
) -> Iterator[PostgresServer]:
    with tempfile.TemporaryDirectory(prefix="fabcost-postgres-", dir="/tmp") as folder:
        server = kind(Path(folder))
        server.start()
        try:
            yield server
        finally:
            server.stop()
