"""A decision that waits for the database."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from fabcost.service.metrics import Metrics
from fabcost.service.models.model import Made
from fabcost.service.store.record import DecisionRecord, record
from fabcost.service.store.rows import StoredDecision
from fabcost.wire.messages import DecisionAnswer

#: Told the answer to a decision, or an error.
Finish = Callable[[DecisionAnswer | Exception], object]
#: Told, before that, of the decision that has its id already.
Repeated = Callable[[DecisionRecord], object]


class PendingDecision:
    """Answers a decision as soon as it is told what became of writing it.

    Parameters
    ----------
    model
        Its name.
    made
        The decision.
    finish
        Told the answer, once.
    metrics
        Counts it.
    since
        When it began to wait.
    repeated
        Told of the decision that has its id already, if there is one.
    """

    __slots__ = ("_done", "_finish", "_made", "_metrics", "_model", "_repeated", "since")

    def __init__(
        self,
        model: str,
        made: Made,
        finish: Finish,
        *,
        metrics: Metrics,
        since: float,
        repeated: Repeated = id,
    ) -> None:
        self._model = model
        self._made = made
        self._finish = finish
        self._metrics = metrics
        self._repeated = repeated
        self._done = False
        self.since = since

    def done(self) -> bool:
        """Whether it was answered."""
        return self._done

    def set_result(self, written: StoredDecision | bool, /) -> None:
        """Answer, from memory if it is not durable, or as the decision that has its id."""
        self._done = True
        if not isinstance(written, bool):
            found = record(written.record)
            self._repeated(found)
            self._finish(found.answer)
            return
        answer, entropy = self._made.answer, self._made.entropy
        self._metrics.decided(self._model, answer.arm, durable=written, entropy=entropy)
        self._finish(answer if written else msgspec.structs.replace(answer, durable=False))

    def set_exception(self, exception: Exception, /) -> None:
        """Answer that it could not be written."""
        self._done = True
        self._finish(exception)
