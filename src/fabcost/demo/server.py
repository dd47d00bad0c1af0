"""The server of a demonstration, as a process of its own, and the folder that it keeps."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

if sys.platform != "win32":
    import fcntl

_ANNOUNCED = "listening on "
_SECONDS_TO_STOP = 20.0
_DATABASE = "demo.db"
_LOCK = "demo.lock"


@contextmanager
def server(
    database: Path,
    *,
    port: int,
    log: Path,
    held: Collection[int],
    started: Callable[[int], object] = int,
) -> Iterator[str]:
    """The address of a running `fabcost serve`; it is told to stop at the end.

    Its log goes to a file, and Ctrl-C to whoever started it.  It keeps the files ``held`` open:
    a server whose starter was killed goes on.  ``started`` is told the id of its process.
    """
    options = ["--port", str(port), "--database", str(database), "--log-level", "warning"]
    with log.open("a", encoding="utf-8") as errors:
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "fabcost", "serve", *options],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
            pass_fds=held,
        )
        try:
            started(process.pid)
            yield _address(process, log)
        finally:
            _stop(process)


def _address(process: subprocess.Popen[str], log: Path) -> str:
    for line in process.stdout or ():
        if line.startswith(_ANNOUNCED):
            return line.removeprefix(_ANNOUNCED).strip()
    lines = log.read_text(encoding="utf-8").strip().splitlines()
    raise OSError(f"the server did not start: {lines[-1] if lines else 'it said nothing'}")


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(_SECONDS_TO_STOP)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


@contextmanager
def claimed(out: Path) -> Iterator[tuple[int, ...]]:
    """Keep the folder from other demonstrations; those who inherit what this yields keep it too."""
    out.mkdir(parents=True, exist_ok=True)
    with (out / _LOCK).open("a", encoding="utf-8") as file:
        held = _locked(file, out)
        file.truncate(0)
        note_process(out, os.getpid())
        yield held


def note_process(out: Path, process: int) -> None:
    """Let whoever is refused know that this process keeps the folder, while it lives."""
    with (out / _LOCK).open("a", encoding="utf-8") as file:
        file.write(f"{process}\n")


def new_database(out: Path) -> Path:
    """The file for a database, without what an earlier demonstration left."""
    for suffix in ("", "-wal", "-shm"):
        (out / f"{_DATABASE}{suffix}").unlink(missing_ok=True)
    return out / _DATABASE


def _locked(file: IO[str], out: Path) -> tuple[int, ...]:
    if sys.platform == "win32":  # a file in use cannot be deleted there
        return ()
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise OSError(
            f"a demo is running in {out} already: {_how_to_end(out)}, "
            "or choose another folder with --out"
        ) from error
    return (file.fileno(),)


def _how_to_end(out: Path) -> str:
    """By the first process that is noted and lives: the demo, or the server that it left."""
    noted = map(int, (out / _LOCK).read_text(encoding="utf-8").split())
    process = next(filter(_lives, noted), None)
    return "stop it" if process is None else f"end it with `kill {process}`"


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True
