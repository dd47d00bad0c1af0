"""One-hot rows, and what fitting them takes while they are dense.

Run as a program it prints processor seconds by inference, with whatever sources it is given: it
needs nothing of the library that earlier commits have not.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, Literal

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
BLOCKS, LEVELS = 20, 20
Inference = Literal["fab-cost", "ep", "adf", "laplace"]
INFERENCES: tuple[Inference, ...] = ("fab-cost", "ep", "adf", "laplace")


def one_hot(rows: int, blocks: int, levels: int) -> tuple[Any, Any]:
    """Rows with a 1 in each block, and clicks, −1 or 1, by random weights."""
    rng = np.random.default_rng(0)
    columns = rng.integers(levels, size=(rows, blocks)) + levels * np.arange(blocks)
    X = np.zeros((rows, blocks * levels))
    np.put_along_axis(X, columns, 1.0, axis=1)
    score = X @ rng.normal(0.0, 2.0 / np.sqrt(blocks), blocks * levels) - 1.0
    clicks = rng.random(rows) < 1.0 / (1.0 + np.exp(-score))
    return X, np.where(clicks, 1.0, -1.0)


def seconds_at(commit: str, rows: int) -> dict[str, float]:
    """What dense fits take with the sources of an earlier commit, in a process of their own."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(  # noqa: S603
            ["git", "archive", commit, "src"],  # noqa: S607
            cwd=ROOT,
            capture_output=True,
            check=True,
        )
        unpack = ["tar", "-x", "-C", folder]
        subprocess.run(unpack, input=archive.stdout, check=True)  # noqa: S603
        paths = os.pathsep.join([str(Path(folder) / "src"), str(ROOT)])
        ran = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "studies.inference.one_hot", str(rows)],
            env={
                **os.environ,
                "PYTHONPATH": paths,
                "NUMBA_CACHE_DIR": folder,
                "OPENBLAS_NUM_THREADS": "1",
            },
            cwd=ROOT,
            stdout=subprocess.PIPE,
            check=True,
        )
    found: dict[str, float] = json.loads(ran.stdout)
    return found


def seconds_here(rows: int) -> dict[str, float]:
    """What each inference takes, after a few rows for the compiler."""
    from fabcost import BayesianLogisticRegression  # noqa: PLC0415  # of the sources it is given

    X, y = one_hot(rows, BLOCKS, LEVELS)
    found: dict[str, float] = {}
    for inference in INFERENCES:
        BayesianLogisticRegression(inference=inference).fit(X[:500], y[:500])
        start = time.process_time()
        BayesianLogisticRegression(inference=inference).fit(X, y)
        found[inference] = time.process_time() - start
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(seconds_here(int(sys.argv[1]))))
