"""A real Dask cluster of two processes, one of which is killed, and whose scheduler goes away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabcost import Gaussian
from fabcost.inference.result import Fit
from fabcost.offline.fit import driver
from fabcost.offline.fit.cluster import Cluster, ClusterLostError, connected
from fabcost.offline.fit.driver import Result, Task
from tests.offline.fit.laid import laid, made

PRIOR = Gaussian.isotropic(5, variance=10.0)
DATA = made(400, 5)
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


def check_bits(found: Fit, expected: Fit) -> None:
    assert np.array_equal(found.posterior.mean, expected.posterior.mean)
    assert np.array_equal(found.posterior.root, expected.posterior.root)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Fit:
    return driver.ep(PRIOR, laid(tmp_path_factory.mktemp("alone"), DATA, CUTS))


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
    given = laid(tmp_path / "work", DATA, CUTS)
    check_bits(driver.ep(PRIOR, given._replace(engine=Deadly(cluster, mark))), expected)
    assert mark.exists()


def test_a_scheduler_that_goes_away_or_does_not_answer_is_told_of(tmp_path: Path) -> None:
    asked = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard"]
    file = tmp_path / "scheduler.json"
    given = ["--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file)]
    with subprocess.Popen([*asked, *given], stderr=subprocess.PIPE, text=True) as scheduler:
        assert scheduler.stderr is not None
        told = next(line for line in scheduler.stderr if "Scheduler at:" in line)
        address = told.rpartition(" ")[2].strip()
        with connected(address, workers=1, patience=2.0) as engine:
            scheduler.kill()
            with pytest.raises(ClusterLostError, match="the scheduler went away during round 2"):
                engine.each("round 2", str, [1, 2])
    with (
        pytest.raises(ClusterLostError, match=f"no scheduler answers at {address}"),
        connected(address, workers=1, patience=0.2),
    ):
        pass


KILLED = """
import os, signal, sys
from pathlib import Path
from fabcost.offline.fit import driver
from tests.offline.fit.laid import laid
from tests.offline.fit.test_cluster import CUTS, DATA, PRIOR

class Killing:
    def each(self, what, function, tasks):
        if what == "round 2":
            os.kill(os.getpid(), signal.SIGKILL)
        return [function(task) for task in tasks]

driver.ep(PRIOR, laid(Path(sys.argv[1]), DATA, CUTS)._replace(engine=Killing()))
"""


def test_a_driver_that_was_killed_goes_on_with_the_same_bits(tmp_path: Path, expected: Fit) -> None:
    ended = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], cwd=ROOT, check=False)
    assert ended.returncode == -signal.SIGKILL
    check_bits(driver.ep(PRIOR, laid(tmp_path, DATA, CUTS)), expected)
