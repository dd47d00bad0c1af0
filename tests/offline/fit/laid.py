"""Rows laid out as blocks, and logs as files, for the tests of fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from fabcost.impressions import FloatArray
from fabcost.offline.fit.blocks import RowBlock
from fabcost.offline.fit.driver import Laid
from fabcost.offline.fit.engines import Alone
from fabcost.offline.fit.folders import Folder

Task = TypeVar("Task")
Result = TypeVar("Result")


class Data(NamedTuple):
    X: FloatArray
    y: FloatArray


def made(rows: int, weights: int, seed: int = 0) -> Data:
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(rows), 1.5 * rng.normal(size=(rows, weights - 1))])
    odds = X @ rng.normal(size=weights) - 1.0
    return Data(X, (rng.random(rows) < 1.0 / (1.0 + np.exp(-odds))).astype(float))


def laid(folder: Path, data: Data, cuts: Sequence[int]) -> Laid:
    """Blocks as `fabcost.offline.fit.blocks.written` leaves them: an empty one is none."""
    place, found = Folder(str(folder)), []
    for number, (X, y) in enumerate(
        zip(np.split(data.X, cuts), np.split(data.y, cuts), strict=True)
    ):
        if len(X):
            name = f"part-{number}"
            place.write_rows(name, {"X": X.copy(), "labels": np.where(y > 0.0, 1.0, -1.0)})
            found.append(RowBlock(name, len(X)))
    return Laid(place, tuple(found), Alone())


def table(data: Data) -> pa.Table:
    columns = {f"x{k}": data.X[:, k] for k in range(1, data.X.shape[1])}
    return pa.table({**columns, "click": data.y.astype(int)})


class Backwards:
    """Does the tasks from the last to the first."""

    def each(
        self, what: str, function: Callable[[Task], Result], tasks: Sequence[Task]
    ) -> list[Result]:
        assert what
        return [function(task) for task in reversed(tasks)][::-1]
