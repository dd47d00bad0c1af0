"""The first replay of a simple log, through the command."""

from __future__ import annotations

import csv
import datetime
import json
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from typer.testing import CliRunner

from fabcost.cli import application

ROWS, MAKES, ROUNDS = 3_000, 5, 500
GOOD, USUAL = 0.20, 0.05
FIRST_DAY = datetime.date(2024, 1, 1)
DAY_FIRST = "%d/%m/%Y"


class Replayed(NamedTuple):
    """Clicks of fabcost and of uniform choices by seed, and the columns of the log."""

    fabcost: list[int]
    uniform: list[int]
    columns: list[str]


def write_log(path: Path, dates: str | None = None) -> None:
    """Makes, prices and clicks, of which one make has four times as many as the others."""
    rng = np.random.default_rng(0)
    make, price = rng.integers(0, MAKES, ROWS), rng.uniform(5_000, 30_000, ROWS)
    clicked = rng.random(ROWS) < np.where(make == 0, GOOD, USUAL)
    days = [FIRST_DAY + datetime.timedelta(days=k // 10) for k in range(ROWS)]
    columns = {
        "make": [f"make {each}" for each in make],
        "price": [f"{each:.0f}" for each in price],
    }
    if dates is not None:
        columns["seen"] = [each.strftime(dates) for each in days]
    columns["clicked"] = [f"{each:d}" for each in clicked]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def replayed(dates: str | None = None, *, seeds: int = 20, rounds: int = ROUNDS) -> Replayed | str:
    """What ``fabcost replay`` finds on such a log, or the words with which it refuses."""
    with tempfile.TemporaryDirectory() as folder:
        log, out = Path(folder) / "log.csv", Path(folder) / "out"
        write_log(log, dates)
        asked = ["--reward", "clicked", "--policy", "fabcost", "--policy", "uniform"]
        sizes = ["--seeds", f"{seeds}", "--rounds", f"{rounds}", "--jobs", "1", "--out", str(out)]
        done = CliRunner().invoke(application, ["replay", str(log), *asked, *sizes])
        if done.exit_code != 0:
            return " ".join(done.stderr.split())
        found = json.loads((out / "replay.json").read_text(encoding="utf-8"))
    ours, uniform = (
        [each[-1] for each in found["policies"][name]["clicks"]] for name in ("fabcost", "uniform")
    )
    return Replayed(ours, uniform, found["columns"])
