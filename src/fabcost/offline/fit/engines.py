"""Who does the tasks of a fit, this process or a Dask cluster; and bars that show how far."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from fabcost.extras import MissingExtraError, install
from fabcost.offline.fit.driver import Result, Task


class Shown:
    """Bars on a console, one for each piece of work, if it is a terminal.

    Examples
    --------
    >>> Shown().here("squares", lambda number: number**2, [1, 2])
    [1, 4]
    """

    def __init__(self, console: Console | None = None) -> None:
        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
        self._rows = 0
        self._bars = Progress(
            *columns,
            TextColumn("{task.fields[rows]}"),
            TimeElapsedColumn(),
            console=console or Console(stderr=True),
            transient=True,
            disable=console is None or not console.is_terminal,
        )

    @contextmanager
    def bar(self, what: str, total: int) -> Iterator[Callable[[], None]]:
        """Call the result for each task that is done."""
        self._rows = 0
        with self._bars:
            task = self._bars.add_task(what, total=total, rows="")
            yield lambda: self._bars.advance(task)
            self._bars.remove_task(task)

    def told(self, rows: int) -> None:
        """So many rows more were read, of the task that is under way in this process."""
        self._rows += rows
        for task in self._bars.task_ids:
            self._bars.update(task, rows=f"{self._rows:,} rows")

    def here(
        self, what: str, function: Callable[[Task], Result], tasks: Sequence[Task]
    ) -> list[Result]:
        """All results, one after another, in this process."""
        results = []
        with self.bar(what, len(tasks)) as advance:
            for task in tasks:
                results.append(function(task))
                advance()
        return results


class Alone(Shown):
    """One task after another, in this process.

    Examples
    --------
    >>> Alone().each("squares", lambda number: number**2, [1, 2])
    [1, 4]
    """

    def each(
        self, what: str, function: Callable[[Task], Result], tasks: Sequence[Task]
    ) -> list[Result]:
        """All results."""
        return self.here(what, function, tasks)


_LOST = (OSError, TimeoutError, asyncio.TimeoutError, CancelledError)
#: Seconds after which a scheduler that does not answer is called away.
PATIENCE = 30.0
_MOST_DEATHS = 10  # of workers at one task, before that is called deadly
#: Arrays of a task are freed and made again: what is above is given back and asked for each time.
_BYTES_KEPT = 2**28
_ALLOCATION = "distributed.nanny.pre-spawn-environ.MALLOC_{}_THRESHOLD_"


class ClusterLostError(RuntimeError):
    """The scheduler went away, or workers die at the same task again and again."""


class Cluster(Shown):
    """Tasks on the workers of a Dask client, whose results are put into the order of the tasks."""

    def __init__(self, client: Any, console: Console | None = None) -> None:
        super().__init__(console)
        self._client = client

    def each(
        self, what: str, function: Callable[[Task], Result], tasks: Sequence[Task]
    ) -> list[Result]:
        """All results; a `ClusterLostError` if nobody is left to ask."""
        from distributed import KilledWorker, as_completed  # noqa: PLC0415 - an extra

        results: dict[int, Result] = {}
        failed: BaseException | None = None
        try:
            futures = [self._client.submit(function, task, pure=False) for task in tasks]
            places = {future.key: place for place, future in enumerate(futures)}
            asked = {"loop": self._client.loop, "with_results": True, "raise_errors": False}
            done = as_completed(futures, **asked)
            with self.bar(what, len(tasks)) as advance:
                for future, result in done:
                    if future.cancelled():
                        raise CancelledError("its tasks were cancelled")
                    if future.status == "error":
                        failed = future.exception()
                        break
                    results[places[future.key]] = result
                    advance()
        except _LOST as error:
            raise ClusterLostError(
                f"the scheduler went away during {what}: {str(error) or type(error).__name__}"
            ) from error
        if isinstance(failed, KilledWorker):
            raise ClusterLostError(
                f"workers died {_MOST_DEATHS} times at one task of {what}, perhaps for want of "
                "memory: give them more by --memory-limit"
            ) from failed
        if failed is not None:
            raise failed
        return [results[place] for place in range(len(tasks))]


@contextmanager
def connected(
    scheduler: str | None,
    *,
    workers: int,
    memory_limit: str = "auto",
    console: Console | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Iterator[Cluster]:
    """A cluster by the address of its scheduler, or a local one with so many workers."""
    try:
        import dask  # noqa: PLC0415 - an extra
        from distributed import Client, LocalCluster, comm  # noqa: PLC0415
    except ImportError as error:
        how = install(["scale"])
        raise MissingExtraError(f"--dask needs Dask: {how} ({error})") from error
    limits = {
        "distributed.scheduler.allowed-failures": _MOST_DEATHS,
        "distributed.comm.timeouts.connect": PATIENCE,
        "distributed.comm.retry.count": 0,
        **{_ALLOCATION.format(name): _BYTES_KEPT for name in ("TRIM", "MMAP")},
    }
    with dask.config.set(limits), _hushed():
        if scheduler is not None:
            # A client of an address without a port hangs.
            comm.addressing.get_address_host_port(scheduler)
            try:
                client = Client(scheduler, timeout=PATIENCE, set_as_default=False)
            except _LOST as error:
                raise ClusterLostError(f"no scheduler answers at {scheduler}: {error}") from error
            with client:
                say(f"Dask at {scheduler}, dashboard {client.dashboard_link}")
                yield Cluster(client, console)
            return
        with (
            LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                memory_limit=memory_limit,
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.CRITICAL,
            ) as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            say(f"Dask with {workers} local workers, dashboard {client.dashboard_link}")
            yield Cluster(client, console)


@contextmanager
def _hushed() -> Iterator[None]:
    """Without the tracebacks that Dask logs when a connection ends: it is told of in words."""
    known = [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]
    before = {name: logging.getLogger(name).level for name in known}
    for name in known:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)
