"""Units run once, side by side or alone, and nothing that is finished is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fabcost.offline.processes import workers
from fabcost.paper.units import Unit, UnitFolder, run
from tests.paper import pieces

posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
SLOW = 600.0


def signing(log: Path, names: str, pause: float = 0.0) -> list[Unit]:
    return [
        Unit(name, pieces.sign, {"log": str(log), "name": name, "pause": pause}, weight=9.0 - place)
        for place, name in enumerate(names)
    ]


def ran(log: Path) -> Counter[str]:
    return Counter(line.split()[0] for line in log.read_text(encoding="utf-8").splitlines())


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.05)
    pytest.fail(f"waited in vain until {what}")


def alive(pid: int) -> bool:
    """Whether the process runs; one that ended and waits for its parent to ask does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
    except OSError:
        return _exists(pid)
    return state != "Z"


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_results_have_the_order_of_the_units_and_values_of_their_functions(tmp_path: Path) -> None:
    units = [Unit(f"draw-{seed}", pieces.draw, {"seed": seed}) for seed in range(3)]
    results = run(units, UnitFolder(tmp_path), jobs=2)
    assert list(results) == ["draw-0", "draw-1", "draw-2"]
    for seed, result in enumerate(results.values()):
        np.testing.assert_array_equal(result["values"], pieces.draw(seed)["values"])
        assert result["seconds"] >= 0


def test_second_run_computes_nothing_and_gives_the_same(tmp_path: Path) -> None:
    log, folder = tmp_path / "log", UnitFolder(tmp_path / "units")
    first = run(signing(log, "ab"), folder, jobs=1)
    begun: list[str] = []
    finished: list[str] = []
    second = run(
        signing(log, "ab"),
        folder,
        jobs=1,
        begin=lambda unit: begun.append(unit.name),
        advance=lambda unit: finished.append(unit.name),
    )
    assert first == second
    assert ran(log) == Counter("ab")
    assert (begun, finished) == ([], ["a", "b"])


def test_names_must_be_distinct(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="distinct names but they are a, a"):
        run(signing(tmp_path / "log", "aa"), UnitFolder(tmp_path), jobs=1)


def test_units_that_measure_time_share_the_machine_with_none(tmp_path: Path) -> None:
    units = [
        Unit(f"{kind}-{number}", pieces.stamp, {"pause": 0.2}, alone=kind == "alone")
        for kind in ("shared", "alone")
        for number in range(2)
    ]
    spans = {
        name: (result["began"], result["ended"])
        for name, result in run(units, UnitFolder(tmp_path), jobs=2).items()
    }
    for name in ("alone-0", "alone-1"):
        for other in set(spans) - {name}:
            assert spans[name][1] <= spans[other][0] or spans[other][1] <= spans[name][0]


def test_failure_is_told_and_what_was_finished_is_kept(tmp_path: Path) -> None:
    log, folder = tmp_path / "log", UnitFolder(tmp_path / "units")
    failing = Unit("failing", pieces.fail, {"message": "one too many"}, weight=0.0)
    with pytest.raises(ArithmeticError, match="one too many"):
        run([*signing(log, "ab"), failing], folder, jobs=1)
    run(signing(log, "ab"), folder, jobs=1)
    assert ran(log) == Counter("ab")


SCRIPT = """
import signal
import sys
from pathlib import Path
from fabcost.paper.units import UnitFolder, Unit, run
from tests.paper import pieces

if __name__ == "__main__":
    # A shell may have started the tests with Ctrl-C ignored, which children inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    log, folder = sys.argv[1:]
    def sign(name, pause, weight):
        arguments = {"log": log, "name": name, "pause": pause}
        return Unit(name, pieces.sign, arguments, weight)
    units = [sign("a", 0.0, 9.0), sign("b", 0.0, 8.0), sign("c", 600.0, 7.0), sign("d", 600.0, 6.0)]
    run(units, UnitFolder(Path(folder)), jobs=2)
"""


@pytest.fixture
def interrupted(tmp_path: Path) -> subprocess.Popen[bytes]:
    """A run that has kept a and b, and has c and d under way."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    places = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    running = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "log"), str(tmp_path / "units")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
        stderr=subprocess.PIPE,
    )
    log = tmp_path / "log"
    until(lambda: log.exists() and ran(log) == Counter("abcd"), "all units were under way")
    until((tmp_path / "units" / "b.json").exists, "b was kept")
    until((tmp_path / "units" / "a.json").exists, "a was kept")
    return running


@posix
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGINT])
def test_interrupted_run_leaves_no_process_and_continues(
    tmp_path: Path, interrupted: subprocess.Popen[bytes], by: signal.Signals
) -> None:
    log = tmp_path / "log"
    lines = log.read_text(encoding="utf-8").splitlines()
    processes = {int(line.split()[1]) for line in lines}
    interrupted.send_signal(by)
    interrupted.communicate(timeout=60)
    assert interrupted.returncode != 0
    until(lambda: not any(map(alive, processes)), "the workers had ended")
    arguments = {"a": 0.0, "b": 0.0, "c": SLOW, "d": SLOW}
    again = [
        Unit(name, pieces.sign, {"log": str(log), "name": name, "pause": pause})
        for name, pause in arguments.items()
        if pause == 0.0
    ] + signing(log, "ef")
    results = run(again, UnitFolder(tmp_path / "units"), jobs=1)
    assert list(results) == ["a", "b", "e", "f"]
    assert ran(log) == Counter("abcdef")
    assert (
        UnitFolder(tmp_path / "units").find(
            Unit("c", pieces.sign, {"log": str(log), "name": "c", "pause": SLOW})
        )
        is None
    )


def test_workers_end_when_the_caller_breaks_off() -> None:
    pids: list[int] = []

    def break_off() -> None:
        with workers(1) as pool:
            pids.append(pool.submit(os.getpid).result())
            pool.submit(time.sleep, SLOW)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        break_off()
    until(lambda: not alive(pids[0]), "the worker had ended")


def test_workers_need_a_job() -> None:
    with pytest.raises(ValueError, match="jobs is 0 but must be at least 1"), workers(0):
        pass
