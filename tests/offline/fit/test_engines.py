"""Real Dask clusters: a worker is killed, a scheduler goes away, and a fit goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from fabcost import Gaussian
from fabcost.cli import application
from fabcost.inference.result import Fit
from fabcost.offline.fit import driver, engines
from fabcost.offline.fit.driver import Result, Task
from fabcost.offline.fit.engines import Alone, Cluster, connected
from fabcost.offline.fit.fitting import fit_log
from tests.offline.fit.laid import laid, made, table, with_items
from tests.offline.fit.test_fit_log import EP, in_folders
from tests.offline.fit.test_rounds import check_bits

PRIOR, OWN = Gaussian.isotropic(5, variance=10.0), 0.5
DATA = with_items(made(400, 5), 30, OWN)
CUTS = [100, 101, 300]
ROOT = Path(__file__).parents[3]


def die_once(function: Callable[[Any], Any], mark: Path, task: Any) -> Any:
    """Kill the process that asks, the first time."""
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return function(task)
    os.kill(os.getpid(), signal.SIGKILL)
    return None


class Deadly:
    """Kills a worker in the second round."""

    def __init__(self, engine: Cluster, mark: Path) -> None:
        self._engine, self._mark = engine, mark

    def each(
        self, what: str, function: Callable[[Task], Result], tasks: Sequence[Task]
    ) -> list[Result]:
        deadly = partial(die_once, function, self._mark) if what == "round 2" else function
        return self._engine.each(what, deadly, tasks)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Fit:
    return driver.ep(PRIOR, laid(tmp_path_factory.mktemp("alone"), DATA, CUTS, OWN))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    said: list[str] = []
    with connected(None, workers=2, say=said.append) as engine:
        assert "2 local workers, dashboard http://127.0.0.1:" in said[0]
        yield engine


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_has_the_bits_of_one_process_though_a_worker_is_killed(
    tmp_path: Path, cluster: Cluster, expected: Fit
) -> None:
    mark = tmp_path / "killed"
    given = laid(tmp_path / "work", DATA, CUTS, OWN)
    check_bits(driver.ep(PRIOR, given._replace(engine=Deadly(cluster, mark))), expected)
    assert mark.exists()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_workers_read_what_names_of_folders_tell(
    tmp_path: Path, cluster: Cluster, ending: str
) -> None:
    in_folders(tmp_path, ending)
    found, alone = fit_log(tmp_path, EP, engine=cluster), fit_log(tmp_path, EP)
    assert "hour" in found.recommender.schema.columns
    np.testing.assert_array_equal(found.fit.posterior.mean, alone.fit.posterior.mean)


@contextmanager
def running(*command: str, until: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process of Dask, and the last word of the line in which it says that it runs."""
    asked = [sys.executable, "-m", *command]
    with subprocess.Popen(asked, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        told = next(line for line in process.stderr if until in line)
        try:
            yield process, told.rpartition(" ")[2].strip()
        finally:
            process.kill()


def fitted(out: Path, log: Path, *more: str) -> Any:
    asked = ["fit", str(log), "--reward", "click", "--item", "ad", "--no-group", "--out", str(out)]
    return CliRunner().invoke(application, [*asked, *more])


@pytest.mark.filterwarnings("ignore")
def test_a_fit_whose_scheduler_goes_away_says_so_and_goes_on_with_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log.parquet"
    pyarrow.parquet.write_table(table(DATA), log)
    whole, out = tmp_path / "whole.fabcost", tmp_path / "cut.fabcost"
    assert fitted(whole, log).exit_code == 0
    monkeypatch.setattr(engines, "PATIENCE", 1.0)
    scheduling = ("distributed.cli.dask_scheduler", "--no-dashboard", "--host", "127.0.0.1")
    with running(*scheduling, "--port", "0", until="Scheduler at:") as (scheduler, address):
        working = ("distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny")
        with running(*working, "--no-dashboard", until="Starting established") as _:
            asked, each = [], Cluster.each

            def dying(self: Cluster, what: str, function: Any, tasks: Any) -> Any:
                asked.append(what)
                if what == "round 2":
                    scheduler.kill()
                    scheduler.wait()
                return each(self, what, function, tasks)

            monkeypatch.setattr(Cluster, "each", dying)
            ended = fitted(out, log, "--scheduler", address)
    assert ended.exit_code == 1
    assert "Error: the scheduler went away during round 2" in ended.output
    assert f"The same command goes on from {out}.work." in ended.output
    gone = fitted(out, log, "--scheduler", address)
    assert f"Error: no scheduler answers at {address}" in gone.output
    first = asked.copy()
    monkeypatch.setattr(Alone, "each", noting(asked, Alone.each))
    assert fitted(out, log).exit_code == 0
    assert asked[len(first) :][:2] == ["reading", "round 2"]
    assert whole.read_bytes() == out.read_bytes()


def noting(asked: list[str], each: Any) -> Any:
    """The same, of which the work that it is asked for is noted."""

    def noted(self: Alone, what: str, function: Any, tasks: Any) -> Any:
        asked.append(what)
        return each(self, what, function, tasks)

    return noted


KILLED = """
import os, signal, sys
from pathlib import Path
from fabcost.offline.fit import driver
from tests.offline.fit.laid import laid
from tests.offline.fit.test_engines import CUTS, DATA, OWN, PRIOR

class Killing:
    def each(self, what, function, tasks):
        if what == "round 2":
            os.kill(os.getpid(), signal.SIGKILL)
        return [function(task) for task in tasks]

driver.ep(PRIOR, laid(Path(sys.argv[1]), DATA, CUTS, OWN)._replace(engine=Killing()))
"""


def test_a_driver_that_was_killed_goes_on_with_the_same_bits(tmp_path: Path, expected: Fit) -> None:
    ended = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], cwd=ROOT, check=False)
    assert ended.returncode == -signal.SIGKILL
    check_bits(driver.ep(PRIOR, laid(tmp_path, DATA, CUTS, OWN)), expected)


def test_a_scheduler_without_a_port_is_refused_at_once() -> None:
    before = time.monotonic()
    with (
        pytest.raises(ValueError, match=r"missing port number in address '10\.0\.0\.7'"),
        connected("10.0.0.7", workers=1),
    ):
        pass
    assert time.monotonic() - before < engines.PATIENCE
