"""The log of a database, compared with what callers were told and with the posterior served."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import msgspec

from fabcost.service.learning.follower import Published
from fabcost.service.learning.recovery import Recovery, schema_of
from fabcost.service.store.rows import ModelRow
from fabcost.service.store.store import Store, store_at
from fabcost.wire.settings import ModelSettings
from tests.service.core.learners import from_beginning
from tests.service.faults.promises import broken, broken_decisions
from tests.service.faults.servers import PATIENCE, ROOT, own_environment, wait_for
from tests.service.faults.visitors import MODEL, Told


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


def rebuilt_digest(database: str, model: str = MODEL, *, to: int | None = None) -> tuple[int, str]:
    """How many impressions the log has, and the bits of a learner that read them all, unstopped.

    Or as many of them as are asked for.
    """
    with reading(database) as store:
        row = model_row(store, model)
        settings = msgspec.json.decode(row.settings, type=ModelSettings)
        schema = schema_of(settings)
        schema.regrow(json.loads(step) for step in store.steps(model))
        recovery = Recovery(store, model, settings, schema)
        head = row.head_lsn if to is None else to
        learner = from_beginning(recovery, head).learner
        return head, Published(head, 0, learner.posterior).digest(getattr(learner, "own", None))


def rebuilt_elsewhere(
    database: str, model: str = MODEL, *, variables: dict[str, str]
) -> tuple[int, str]:
    """The same by a process of its own, with these variables in its environment."""
    command = [sys.executable, "-m", "tests.service.faults.rebuilding", database, model]
    environment = {**own_environment(), **variables}
    ran = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True)
    impressions, digest = json.loads(ran.stdout)
    return impressions, digest


def served_digest(address: str, model: str = MODEL) -> tuple[int, str]:
    """The same as a server has it, when no refresh is running."""
    found: list[tuple[int, str]] = []

    def settled() -> bool:
        stats = httpx.get(f"{address}/v1/models/{model}/stats", timeout=PATIENCE).json()
        posterior = httpx.get(f"{address}/v1/models/{model}/posterior", timeout=PATIENCE).json()
        found[:] = [(posterior["impressions"], posterior["digest"])]
        # No refresh can have begun in between: impressions would have come.
        is_same = posterior["posterior_version"] == stats["posterior_version"]
        return is_same and not stats["refreshing"]

    wait_for(settled)
    return found[0]


def check_posterior(address: str, database: str, model: str = MODEL) -> None:
    """A server without traffic has the posterior that its log says, bit for bit."""
    assert served_digest(address, model) == rebuilt_digest(database, model)


def check_log(database: str, told: Told, *, of_memory: bool = False) -> None:
    """Every promise is kept, exactly once; call it when every decision is resolved.

    Decisions that were answered from memory must be there only ``of_memory``: if no server died.
    """
    with reading(database) as store:
        rows = store.history(MODEL, after=0, limit=10**6)
        head = model_row(store).head_lsn
    assert list(broken(rows, head, told)) == []
    assert head == len(rows), "some decisions are no impressions"
    if of_memory:
        assert list(broken_decisions({row.decision: row for row in rows}, told.decisions)) == []


def wait_until_resolved(address: str) -> None:
    """Until every decision has its feedback, or its deadline behind it."""

    def none_pending() -> bool:
        stats = httpx.get(f"{address}/v1/models/{MODEL}/stats", timeout=PATIENCE).json()
        return bool(stats["pending"] == 0)

    wait_for(none_pending)
