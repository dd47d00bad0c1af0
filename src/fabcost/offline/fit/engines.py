"""Work that is done in this process, and bars that show how far any is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from fabcost.offline.fit.driver import Result, Task


class Shown:
    """Bars on a console, one for each piece of work, if it is a terminal."""

    def __init__(self, console: Console | None) -> None:
        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
        self._bars = Progress(
            *columns,
            TimeElapsedColumn(),
            console=console or Console(stderr=True),
            transient=True,
            disable=console is None or not console.is_terminal,
        )

    @contextmanager
    def bar(self, what: str, total: int) -> Iterator[Callable[[], None]]:
        """Call the result for each task that is done."""
        with self._bars:
            task = self._bars.add_task(what, total=total)
            yield lambda: self._bars.advance(task)
            self._bars.remove_task(task)


class Alone:
    """One task after another, in this process.

    Examples
    --------
    >>> Alone().each("squares", lambda number: number**2, [1, 2])
    [1, 4]
    """

    def __init__(self, console: Console | None = None) -> None:
        self._shown = Shown(console)

    def each(
        self, what: str, function: Callable[[Task], Result], tasks: Sequence[Task]
    ) -> list[Result]:
        """All results."""
        results = []
        with self._shown.bar(what, len(tasks)) as advance:
            for task in tasks:
                results.append(function(task))
                advance()
        return results
