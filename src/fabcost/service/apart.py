"""Long work beside the event loop that does not keep the process from ending."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


async def apart(function: Callable[..., T], *arguments: Any) -> T:
    """What a function returns, called in a thread of its own.

    Whoever is cancelled waits no longer.  Unlike the threads of an executor this one is left
    behind when the process ends.

    Examples
    --------
    >>> asyncio.run(apart(sum, [1, 2]))
    3
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        try:
            settle = partial(_settle, done, function(*arguments), None)
        except BaseException as error:  # noqa: BLE001 - whoever waits is told
            settle = partial(_settle, done, None, error)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(settle)

    threading.Thread(target=run, name="apart", daemon=True).start()
    return await done


def _settle(done: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if done.done():
        return
    if error is None:
        done.set_result(result)
    else:
        done.set_exception(error)
