"""Work for units in tests; spawned processes import it by name."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np


def draw(seed: int, size: int = 3) -> dict[str, Any]:
    """Numbers that depend on the seed."""
    values = np.random.default_rng(seed).normal(size=size)
    return {"values": values, "largest": float(values.max())}


def sign(log: str, name: str, pause: float = 0.0) -> dict[str, Any]:
    """Adds its name and process to a file, so that one sees how often it ran."""
    with Path(log).open("a", encoding="utf-8") as file:
        file.write(f"{name} {os.getpid()}\n")
    time.sleep(pause)
    return {"name": name}


def stamp(pause: float) -> dict[str, Any]:
    """When it began and ended."""
    began = time.monotonic()
    time.sleep(pause)
    return {"began": began, "ended": time.monotonic()}


def fail(message: str) -> dict[str, Any]:
    """Does not work."""
    raise ArithmeticError(message)
