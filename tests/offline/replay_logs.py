"""Small logs for the tests of the replay."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from fabcost.impressions import FloatArray


def simulated(rows: int = 400, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    """A constant and three numbers, of which the first decides most of 15 % of clicks."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(rows), rng.normal(size=(rows, 3))])
    clicked = rng.random(rows) < 1.0 / (1.0 + np.exp(3.0 - 2.0 * X[:, 1]))
    return X, clicked.astype(np.float64)


def written(path: Path, X: FloatArray, y: FloatArray) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["a", "b", "c", "click"])
        table.writerows([*row[1:], int(click)] for row, click in zip(X, y, strict=True))
    return path
