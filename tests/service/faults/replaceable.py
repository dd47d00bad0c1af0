"""Databases that can be deleted, backed up and restored while a server runs on them."""

from __future__ import annotations

import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

from tests.service.faults.test_unusable import execute
from tests.service.postgres import PostgresServer, find_binaries


class Files:
    """An SQLite file."""

    def __init__(self, folder: Path) -> None:
        self.address = f"sqlite:///{folder}/bandit.db"
        self._file = folder / "bandit.db"
        self._copy = folder / "copy.db"

    def delete(self) -> None:
        for each in self._file.parent.glob("bandit.db*"):
            each.unlink()

    def back_up(self) -> None:
        with (
            closing(sqlite3.connect(self._file)) as source,
            closing(sqlite3.connect(self._copy)) as target,
        ):
            source.backup(target)

    def restore(self) -> None:
        self.delete()
        self._copy.rename(self._file)


class Databases:
    """A database of a PostgreSQL server."""

    def __init__(self, server: PostgresServer, address: str, folder: Path) -> None:
        self.address = address
        self._server = server
        self._name = address.rpartition("/")[2]
        self._dump = folder / "dump.sql"

    def delete(self) -> None:
        execute(self._server.address(), f"DROP DATABASE {self._name} WITH (FORCE)")
        execute(self._server.address(), f"CREATE DATABASE {self._name}")

    def back_up(self) -> None:
        self._run("pg_dump", "--file", str(self._dump))

    def restore(self) -> None:
        self.delete()
        self._run("psql", "--quiet", "--file", str(self._dump))

    def _run(self, program: str, *arguments: str) -> None:
        folder = (find_binaries() / "pg_ctl").resolve().parent
        command = [str(folder / program), "--dbname", self.address, *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


Replaceable = Files | Databases
