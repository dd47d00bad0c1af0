"""The folder of a demonstration: for one at a time, and only its own files are deleted."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

if sys.platform != "win32":
    import fcntl

_DATABASE = "demo.db"
_LOCK = "demo.lock"


@contextmanager
def claimed(out: Path) -> Iterator[tuple[int, ...]]:
    """Keep the folder from other demonstrations; those who inherit what this yields keep it too."""
    out.mkdir(parents=True, exist_ok=True)
    with (out / _LOCK).open("a", encoding="utf-8") as file:
        yield _locked(file, out)


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
            f"a demo is running in {out} already: stop it, or choose another folder with --out"
        ) from error
    return (file.fileno(),)
