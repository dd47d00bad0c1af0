"""Who watches the writer."""

from __future__ import annotations

from typing import Protocol


class Observer(Protocol):
    """Who is told what the writer does; `fabcost.service.metrics.Metrics` is one."""

    def fed_back(self, model: str, status: str) -> None:
        """Feedback was answered."""
        ...

    def applied(self, model: str, lsn: int) -> None:
        """Impressions up to ``lsn`` were learnt."""
        ...

    def lagged(self, model: str, impressions: int) -> None:
        """So many impressions wait for a refresh."""
        ...

    def committed(self, rows: int, seconds: float) -> None:
        """A transaction is durable."""
        ...

    def store_away(self, away: bool) -> None:
        """The database went away, or came back."""
        ...

    def backlog(self, count: int) -> None:
        """So many decisions wait for the database to come back."""
        ...
