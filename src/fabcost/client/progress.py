"""How far a transfer has come, for whoever waits for it at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn


@contextmanager
def shown(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar of bytes on stderr, if that is a terminal; call the result with what was done.

    Parameters
    ----------
    what
        Is done with the bytes.
    total
        Of the bytes, None if unknown.

    Examples
    --------
    >>> with shown("sent", total=3) as advance:
    ...     advance(3)
    """
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn()
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.advance(task, done)
