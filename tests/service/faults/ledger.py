"""The log of a database, compared with what callers were told and with the posterior served."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import msgspec

from fabcost.service.learning import Published
from fabcost.service.loading import schema_of
from fabcost.service.messages import DecisionAnswer
from fabcost.service.model_settings import ModelSettings
from fabcost.service.records import record
from fabcost.service.recovery import Recovery
from fabcost.service.store.address import store_at
from fabcost.service.store.protocol import Store
from fabcost.service.store.rows import ModelRow, StoredDecision
from tests.service.faults.servers import PATIENCE, wait_for
from tests.service.faults.visitors import MODEL, Said, Told


@contextmanager
def reading(database: str) -> Iterator[Store]:
    store = store_at(database)
    store.open(take_over=False)
    try:
        yield store
    finally:
        store.close()


def model_row(store: Store, model: str = MODEL) -> ModelRow:
    return next(row for row in store.models() if row.model == model)


def rebuilt_digest(database: str, model: str = MODEL) -> tuple[int, str]:
    """How many impressions the log has, and the bits of a learner that read them all, unstopped."""
    with reading(database) as store:
        row = model_row(store, model)
        settings = msgspec.json.decode(row.settings, type=ModelSettings)
        width = schema_of(settings).width
        recovery = Recovery(store, model, settings, width=width)
        learner = recovery.learner(row.head_lsn, from_snapshot=False)
        return row.head_lsn, Published(row.head_lsn, 0, learner.posterior).digest


def served_digest(address: str, model: str = MODEL) -> tuple[int, str]:
    """The same as a server has it, when no refresh is running."""

    def settled() -> bool:
        stats = httpx.get(f"{address}/v1/models/{model}/stats", timeout=PATIENCE).json()
        return not stats["refreshing"]

    wait_for(settled)
    posterior = httpx.get(f"{address}/v1/models/{model}/posterior", timeout=PATIENCE).json()
    return posterior["impressions"], posterior["digest"]


def check_posterior(address: str, database: str, model: str = MODEL) -> None:
    """A server without traffic has the posterior that its log says, bit for bit."""
    assert served_digest(address, model) == rebuilt_digest(database, model)


def check_log(database: str, told: Told, *, of_memory: bool = False) -> None:
    """Every promise is kept, exactly once; call it when every decision is resolved.

    Decisions that were answered from memory must be there only ``of_memory``: if no server died.
    """
    with reading(database) as store:
        stored = {row.decision: row for row in store.history(MODEL, after=0, limit=10**6)}
        head = model_row(store).head_lsn
    assert not told.wrong
    assert stored.keys() <= told.asked
    numbers = sorted(row.lsn for row in stored.values() if row.lsn is not None)
    assert numbers == list(range(1, head + 1))
    assert head == len(stored), "some decisions are no impressions"
    for decision, answer in told.decisions.items():
        if answer["durable"] or of_memory:
            check_decision(stored[decision], answer)
    for (decision, key), said in told.feedback.items():
        if said.status != "parked" or decision in stored:
            check_feedback(stored[decision], key, said)


def check_decision(row: StoredDecision, answer: dict[str, Any]) -> None:
    told = msgspec.convert({**answer, "durable": True}, DecisionAnswer)
    assert record(row.record).answer == told
    assert (row.item, row.deadline) == (told.item, told.deadline)


def check_feedback(row: StoredDecision, key: str, said: Said) -> None:
    """What became of the decision is what its feedback was told."""
    assert row.label == (1 if row.value else -1)
    if said.status in ("applied", "parked"):
        assert (row.outcome, row.value) == ("feedback", said.value), (row, key, said)
    elif said.status == "duplicate":
        assert row.outcome == "feedback", (row, key, said)
    else:
        assert said.status == "late", (row, key, said)
        assert row.outcome == "feedback" or (row.outcome, row.value) == ("expired", 0.0), (row, key)


def wait_until_resolved(address: str) -> None:
    """Until every decision has its feedback, or its deadline behind it."""

    def none_pending() -> bool:
        stats = httpx.get(f"{address}/v1/models/{MODEL}/stats", timeout=PATIENCE).json()
        return bool(stats["pending"] == 0)

    wait_for(none_pending)
