"""What a service asks of its database, counted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from fabcost.service.service import Service


class Watch:
    """Statements that were run, and the rows that they returned."""

    def __init__(self) -> None:
        self.statements = 0
        self.rows = 0


@contextmanager
def watched(service: Service) -> Iterator[Watch]:
    """Everything that the writer's connection does passes by."""
    connection, watch = service._writer.journal.store.session.connection, Watch()
    run, run_batch = connection.run, connection.run_batch

    def passing(found: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        watch.statements += 1
        watch.rows += len(found)
        return found

    with (
        patch.object(connection, "run", lambda *given: passing(run(*given))),
        patch.object(connection, "run_batch", lambda *given: passing(run_batch(*given))),
    ):
        yield watch
