"""Worker processes that leave nothing behind: not at Ctrl-C, nor when their parent is killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import wait
from typing import Any

from threadpoolctl import threadpool_limits

# Spawned, not forked: a fork while a progress bar is drawn may inherit a lock for ever.
SPAWN = multiprocessing.get_context("spawn")


@contextmanager
def workers(
    jobs: int, start: Callable[..., None] | None = None, *arguments: Any
) -> Iterator[ProcessPoolExecutor]:
    """A pool of ``jobs`` processes with one thread each; ``start`` is called in each of them.

    At the end it waits for them; but if anything goes wrong, or at Ctrl-C, it ends them at once.

    Examples
    --------
    >>> with workers(1) as pool:
    ...     pool.submit(abs, -3).result()
    3
    """
    if not jobs >= 1:
        raise ValueError(f"jobs is {jobs} but must be at least 1")
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(jobs, SPAWN, _start, (start, arguments))
    try:
        with _interrupts_ignored():
            for _ in range(jobs):
                pool.submit(int)  # for which a process is begun
        yield pool
    except BaseException:
        for worker in set(multiprocessing.active_children()) - others:
            worker.terminate()
        pool.shutdown(cancel_futures=True)
        raise
    pool.shutdown()


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Processes begun meanwhile leave Ctrl-C to their parent from their first moment on."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _start(start: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(1)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if start is not None:
        start(*arguments)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
