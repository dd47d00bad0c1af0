"""Compile what tests use, once before there are workers: what a server does, and some beside it."""

from __future__ import annotations

import asyncio

import numpy as np

from fabcost import FabCost, Gaussian, Refresh
from fabcost.inference import ep
from fabcost.service import server
from fabcost.sparse import as_sparse
from fabcost.tilted import tilted_counts

ROWS, LABELS = np.eye(4, 3), np.array([1.0, 0.0, 1.0, 0.0])


def weigh() -> None:
    """Rows that are sparse, weighed or made one."""
    prior, sparse = Gaussian.isotropic(3), as_sparse(ROWS, 3)
    for weight in (None, np.full(4, 2.0)):
        ep.fit(prior, sparse, LABELS, weight=weight)
        ep.fit(prior, ROWS, LABELS, weight=weight, group=True)
        learner = FabCost(prior, refresh=Refresh.at(2, 4, 9))
        learner.observe_many(sparse, LABELS, weight=weight)
    tilted_counts(0.0, 1.0, 1.0, 0.0)


if __name__ == "__main__":
    asyncio.run(server.warm_up())
    weigh()
