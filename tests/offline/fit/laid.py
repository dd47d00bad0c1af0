"""Rows laid out as blocks, and logs as files, for the tests of fits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from fabcost.impressions import FloatArray
from fabcost.offline.fit import blocks
from fabcost.offline.fit.blocks import RowBlock
from fabcost.offline.fit.driver import FittedItems, Laid
from fabcost.offline.fit.engines import Alone
from fabcost.offline.fit.folders import Folder

Task = TypeVar("Task")
Result = TypeVar("Result")


class Data(NamedTuple):
    X: Any  # sparse or not
    y: FloatArray
    items: Any = None

    def ordered(self, by: Any) -> Data:
        order = np.argsort(by, kind="stable")
        items = None if self.items is None else self.items[order]
        return Data(self.X[order], self.y[order], items)


def made(rows: int, weights: int, seed: int = 0) -> Data:
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(rows), 1.5 * rng.normal(size=(rows, weights - 1))])
    odds = X @ rng.normal(size=weights) - 1.0
    return Data(X, (rng.random(rows) < 1.0 / (1.0 + np.exp(-odds))).astype(float))


def with_items(data: Data, many: int, variance: float, seed: int = 1) -> Data:
    """Each row with one of so many items, of which some are rare, and outcomes that show it."""
    rng = np.random.default_rng(seed)
    shown = np.minimum(rng.geometric(2.0 / many, len(data.y)) - 1, many - 1)
    odds = data.X[:, 1] - 1.0 + rng.normal(0.0, math.sqrt(variance), many)[shown]
    y = (rng.random(len(odds)) < 1.0 / (1.0 + np.exp(-odds))).astype(float)
    return Data(data.X, y, np.array([f"ad-{each}" for each in shown]))


def laid(folder: Path, data: Data, cuts: Sequence[int], own: float = 0.0) -> Laid:
    """Blocks as `fabcost.offline.fit.blocks.written` leaves them: an empty one is none."""
    place, found = Folder(str(folder)), []
    for number, rows in enumerate(np.split(np.arange(len(data.y)), cuts)):
        if len(rows):
            name = f"part-{number}"
            labels = np.where(data.y[rows] > 0.0, 1.0, -1.0)
            columns: dict[str, Any] = {"X": data.X[rows].copy(), "labels": labels}
            if own:
                columns["items"] = pa.array(data.items[rows]).dictionary_encode()
            place.write_rows(name, columns)
            found.append(RowBlock(name, len(rows)))
    items = FittedItems(blocks.numbered_items(place, found), own) if own else None
    return Laid(place, tuple(found), Alone(), items)


def table(data: Data) -> pa.Table:
    columns = {f"x{k}": data.X[:, k] for k in range(1, data.X.shape[1])}
    items = {} if data.items is None else {"ad": data.items}
    return pa.table({**columns, **items, "click": data.y.astype(int)})


class Backwards:
    """Does the tasks from the last to the first."""

    def each(
        self, what: str, function: Callable[[Task], Result], tasks: Sequence[Task]
    ) -> list[Result]:
        assert what
        return [function(task) for task in reversed(tasks)][::-1]
