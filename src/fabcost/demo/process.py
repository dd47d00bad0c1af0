"""A server as a process of its own, started and ended by whoever needs one for a while."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

_ANNOUNCED = "listening on "
_SECONDS_TO_STOP = 20.0


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
