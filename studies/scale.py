"""Logs larger than memory beside other libraries, and fits that are killed.

``python -m studies.scale --docs``; with ``--huge`` a hundred million rows as well.  What has been
measured is kept in the folder of the data, and a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from rich.console import Console
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss
from vowpalwabbit import Workspace

import fabcost
from studies.documents import origin, write_page

ROWS, PART, HUGE = 10_000_000, 1_000_000, 100_000_000
MEMORY = "1GB"
KILLS = 6
REWARD = "clicked"
HOW = (
    "Impressions of `fabcost simulate` with 15 weights, as Parquet files of a million rows each. "
    "Every command is a process of its own, from its start to its end: imports, reading and the "
    "start of a cluster are in its time. Vowpal Wabbit's time has the conversion to its text "
    "format. The log loss is that of a million further rows. Memory is that of the largest process "
    f"of a command; workers of Dask are limited to {MEMORY}. Other work ran on the machine's two "
    "cores at the same time: compare processor time, which is that of all processes together, "
    "rather than seconds."
)
WHY = (
    "Of these rows only some 24,000 are distinct. `fabcost fit` makes equal rows one and fits what "
    "is left at once; with `--no-group` every row keeps a site of its own, as it has to be where "
    "rows do not repeat, and EP goes in rounds."
)
KILLED = (
    "of a million rows on two Dask workers, with `--no-group`: a worker or the driver was "
    "killed (SIGKILL) at a random moment after the first block was written, and the command given "
    "again if it had ended."
)
#: A process inherits the peak of the one that starts it, which therefore is to be small.
LAUNCHER = """
import os, sys
nowhere = os.open(os.devnull, os.O_WRONLY)
actions = [(os.POSIX_SPAWN_DUP2, nowhere, 1)]
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=actions)
_, status, used = os.wait4(pid, 0)
print([used.ru_utime + used.ru_stime, used.ru_maxrss / 1024])
sys.exit(os.waitstatus_to_exitcode(status))
"""
FABCOST = (sys.executable, "-m", "fabcost")


class Cost(NamedTuple):
    """Of a command and all processes it started; ``loss`` on rows it has not seen."""

    seconds: float
    processor: float
    megabytes: float  # of its largest process
    loss: float = float("nan")


def run(command: tuple[str, ...]) -> Cost:
    """Run a command to its end."""
    start = time.perf_counter()
    told = subprocess.run(  # noqa: S603
        [sys.executable, "-S", "-c", LAUNCHER, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=True,
    ).stdout
    processor, megabytes = json.loads(told)
    return Cost(time.perf_counter() - start, processor, megabytes)


def fitted(log: Path, held_out: Path | None, *options: str) -> Cost:
    """The cost of `fabcost fit`."""
    out = log.parent / "model.fabcost"
    shutil.rmtree(f"{out}.work", ignore_errors=True)  # of a run that was stopped
    given = ("--reward", REWARD, "--out", str(out), "--force", *options)
    cost = run((*FABCOST, "fit", str(log), *given))
    if held_out is None:
        return cost
    recommender = fabcost.Recommender.load(out)
    table = pyarrow.parquet.read_table(held_out)
    rows = recommender.schema.design(table.drop_columns([REWARD]))
    chances = recommender.learner.posterior.predict(rows)
    return cost._replace(loss=float(log_loss(table[REWARD].to_numpy(), chances)))


def other(name: str, log: Path, held_out: Path) -> Cost:
    """The cost of another library in a process of its own, up to the end of its fit."""
    out, now = log.parent / "other.json", str(time.time())
    given = (name, str(log), str(held_out), str(out), now)
    run((sys.executable, "-m", "studies.scale", *given))
    return Cost(*json.loads(out.read_text()))


def so_far(started: float) -> Cost:
    """Of this process, which another started at that time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    processor = used.ru_utime + used.ru_stime
    return Cost(time.time() - started, processor, used.ru_maxrss / 1024.0)


def vowpal(log: Path, held_out: Path, started: float) -> Cost:
    """One pass in the text format of Vowpal Wabbit, which its own parser reads."""
    text = log.parent / "log.vw"
    with text.open("wb") as file:
        for part in sorted(log.glob("*.parquet")):
            for batch in pyarrow.parquet.ParquetFile(part).iter_batches(2**17):
                file.write(_lines(batch))
    model = log.parent / "model.vw"
    options = "--loss_function logistic --no_stdin --quiet"
    Workspace(f"{options} -d {text} -f {model}").finish()
    cost, table = so_far(started), pyarrow.parquet.read_table(held_out)
    reader = Workspace(f"{options} -t -i {model} --link logistic")
    lines = _lines(table.combine_chunks().to_batches()[0]).decode().splitlines()
    chances = [reader.predict(line) for line in lines]
    return cost._replace(loss=float(log_loss(table[REWARD].to_numpy(), chances)))


def _lines(batch: pa.RecordBatch) -> bytes:
    names = [name for name in batch.schema.names if name != REWARD]
    labels = np.where(batch[REWARD].to_numpy(zero_copy_only=False), "1 |", "-1 |")
    columns = [pa.array(labels)]
    for place, name in enumerate(names):
        numbers = pa.compute.cast(batch[name], pa.string())
        columns.append(pa.compute.binary_join_element_wise(f"f{place}", numbers, ":"))
    joined = pa.compute.binary_join_element_wise(*columns, " ")
    return ("\n".join(joined.to_pylist()) + "\n").encode()


def descent(log: Path, held_out: Path, started: float) -> Cost:
    """One pass of SGDClassifier over the files, in batches."""
    model = SGDClassifier(loss="log_loss", random_state=0)
    for part in sorted(log.glob("*.parquet")):
        for batch in pyarrow.parquet.ParquetFile(part).iter_batches(2**16):
            model.partial_fit(*_arrays(pa.Table.from_batches([batch])), classes=[0, 1])
    cost, (X, y) = so_far(started), _arrays(pyarrow.parquet.read_table(held_out))
    return cost._replace(loss=float(log_loss(y, model.predict_proba(X)[:, 1])))


def _arrays(table: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    names = [name for name in table.column_names if name != REWARD]
    return np.column_stack([table[name] for name in names]), table[REWARD].to_numpy().astype(int)


class Trial(NamedTuple):
    """Who was killed, how often the command was given, and whether the model has the same bits."""

    killed: str
    starts: int
    same: bool


def trial(log: Path, seed: int, expected: bytes) -> Trial:
    """Kill a worker or the driver of a fit at a random moment, and give the command again."""
    rng, out = random.Random(seed), log.parent / f"trial-{seed}.fabcost"  # noqa: S311
    who = ("worker", "driver")[seed % 2]
    given = ["--reward", REWARD, "--out", str(out), "--no-group", "--memory-limit", MEMORY]
    command = [*FABCOST, "fit", str(log), *given, "--dask", "--workers", "2"]
    starts = 0
    while not out.exists():
        starts += 1
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
        if starts == 1:
            _wait_for(Path(f"{out}.work"), process)
            time.sleep(rng.uniform(0.0, 4.0))
            _kill(process, who)
        process.wait()
    return Trial(who, starts, out.read_bytes() == expected)


def _wait_for(work: Path, process: subprocess.Popen[bytes]) -> None:
    """Until the first block is written."""
    while process.poll() is None and not list(work.glob("*/*rows*")):
        time.sleep(0.05)


def _kill(process: subprocess.Popen[bytes], who: str) -> None:
    """With SIGKILL; workers of a driver that is gone end by themselves."""
    if process.poll() is not None:
        return
    asked = ["pgrep", "--parent", str(process.pid), "--full", "spawn_main"]  # the first is a worker
    found = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()  # noqa: S603
    os.kill(process.pid if who == "driver" else int(found[0]), signal.SIGKILL)


class Kept:
    """What was measured, in a file: a run that was stopped goes on."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "measured.json"
        self.found = json.loads(self._path.read_text()) if self._path.exists() else {}

    def cost(self, name: str, measure: Callable[[], Cost]) -> Cost:
        """Measure it unless it is known."""
        if name not in self.found:
            Console().print(name)
            self.found[name] = measure()
            self._path.write_text(json.dumps(self.found))
        return Cost(*self.found[name])

    def trials(self, many: int, log: Path) -> list[Trial]:
        """Kill so many fits."""
        done = self.found.setdefault("trials", [])
        if len(done) < many:
            out = log.parent / "model.fabcost"
            fitted(log, None, "--no-group")
            expected = out.read_bytes()
            for seed in range(len(done), many):
                done.append(trial(log, seed, expected))
                self._path.write_text(json.dumps(self.found))
        return [Trial(*each) for each in done]


def simulated(folder: Path, rows: int) -> tuple[Path, Path]:
    """Files of a log, and one more that nobody learns from."""
    log, held_out = folder / "log", folder / "held-out.parquet"
    if not held_out.exists():
        parts = ("--rows", str(rows + PART), "--partitions", str(rows // PART + 1), "--force")
        run((*FABCOST, "simulate", "--out", str(log), *parts))
        (log / f"part-{rows // PART:05}.parquet").rename(held_out)
    return log, held_out


def measured(folder: Path, kept: Kept, rows: int) -> dict[str, Cost]:
    """All that fit the same files, in one run."""
    log, held_out = simulated(folder, rows)
    one = folder / "one" / "log"
    if not one.exists():
        one.mkdir(parents=True)
        shutil.copy(log / "part-00000.parquet", one)
    dask = ("--dask", "--memory-limit", MEMORY, "--workers")
    million = f"{rows // 10**6} million rows"
    sides: dict[str, Callable[[], Cost]] = {
        f"fabcost fit, {million}": partial(fitted, log, held_out),
        f"fabcost fit --dask --workers 2, {million}": partial(fitted, log, held_out, *dask, "2"),
        f"fabcost fit --no-group, {million}": partial(fitted, log, held_out, "--no-group"),
        **{
            f"fabcost fit --no-group --dask --workers {many}, {million}": partial(
                fitted, log, held_out, "--no-group", *dask, str(many)
            )
            for many in (1, 2)
        },
        f"Vowpal Wabbit, one pass, {million}": partial(other, "vowpal", log, held_out),
        f"SGDClassifier, one pass, {million}": partial(other, "descent", log, held_out),
        "fabcost fit, 1 million rows": partial(fitted, one, held_out),
        "fabcost fit --no-group, 1 million rows": partial(fitted, one, held_out, "--no-group"),
    }
    return {name: kept.cost(name, side) for name, side in sides.items()}


def huge(folder: Path, kept: Kept) -> dict[str, Cost]:
    """A hundred million rows, by the way that the command takes by itself."""
    name = f"fabcost fit --dask --workers 2, {HUGE // 10**6} million rows"
    if name not in kept.found:
        log, held_out = simulated(folder / "huge", HUGE)
        options = ("--dask", "--memory-limit", MEMORY, "--workers", "2")
        return {name: kept.cost(name, partial(fitted, log, held_out, *options))}
    return {name: Cost(*kept.found[name])}


def page(costs: dict[str, Cost], trials: list[Trial], command: str) -> str:
    """The page of the documentation."""
    lines = [
        "# Logs larger than one machine",
        "",
        origin(command),
        "",
        f"{HOW} The load average was {os.getloadavg()[2]:.0f} at the end.",
        "",
        "| | seconds | processor, s | memory, MB | log loss |",
        "|---|---:|---:|---:|---:|",
        *(
            f"| {name} | {cost.seconds:,.0f} | {cost.processor:,.0f} | {cost.megabytes:,.0f} | "
            f"{cost.loss:.5f} |"
            for name, cost in costs.items()
        ),
        "",
        WHY,
        "",
        *_growth(costs),
        "## Kills",
        "",
        f"{len(trials)} {'fit' if len(trials) == 1 else 'fits'} {KILLED}",
        "",
        "| killed | fits | the same bits in the end | starts in all |",
        "|---|---:|---:|---:|",
    ]
    for who in ("worker", "driver"):
        some = [each for each in trials if each.killed == who]
        same, starts = sum(each.same for each in some), sum(each.starts for each in some)
        lines.append(f"| {who} | {len(some)} | {same} | {starts} |")
    if not any("100 million" in name for name in costs):
        lines += ["", "A hundred million rows were not run for this page (`--huge`)."]
    return "\n".join(lines)


def _growth(costs: dict[str, Cost]) -> list[str]:
    found = []
    for name in ("fabcost fit", "fabcost fit --no-group"):
        small, large = (costs.get(f"{name}, {n} million rows") for n in (1, ROWS // 10**6))
        if small is not None and large is not None:
            ratio = large.processor / small.processor
            found.append(f"Ten times the rows cost `{name}` {ratio:.1f} times the processor time.")
    return [" ".join(found), ""] if found else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", action="store_true", help="write the page")
    parser.add_argument("--huge", action="store_true", help="a hundred million rows, too")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--folder", type=Path, default=Path("scale-data"))
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    kept = Kept(given.folder)
    costs = measured(given.folder, kept, given.rows)
    if given.huge:
        costs |= huge(given.folder, kept)
    trials = kept.trials(given.kills, given.folder / "one" / "log")
    flags = " --huge" if given.huge else ""
    text = page(costs, trials, f"python -m studies.scale --docs{flags}")
    Console().print(text)
    if given.docs:
        write_page("scale.md", text)


if __name__ == "__main__":
    asked = {"vowpal": vowpal, "descent": descent}
    if sys.argv[1:2] and sys.argv[1] in asked:
        log, held_out, out = map(Path, sys.argv[2:5])
        out.write_text(json.dumps(asked[sys.argv[1]](log, held_out, float(sys.argv[5]))))
    else:
        main()
