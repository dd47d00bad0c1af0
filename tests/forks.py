"""Run tests in processes that are forked when everything is collected, compiled and loaded.

``python -m pytest -p tests.forks --forks``: started anew, each would collect and load for itself
what one has done for all.  A process takes one file after the other.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from itertools import groupby, pairwise
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
COMPILING = pytest.StashKey[subprocess.Popen[str]]()
#: What a process says when it wants another file.
MORE = None


def pytest_addoption(parser: pytest.Parser) -> None:
    told = "run tests in so many processes, by files; two more than there are processors"
    parser.addoption("--forks", type=int, nargs="?", const=processors() + 2, default=0, help=told)


def processors() -> int:
    """While tests wait for servers, others run: there is work for more processes than these."""
    given = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return given or 1


def pytest_configure(config: pytest.Config) -> None:
    """Compile while tests are collected."""
    if config.option.forks:
        config.stash[COMPILING] = subprocess.Popen(
            [sys.executable, "-m", "tests.warm"], cwd=ROOT, stderr=subprocess.PIPE, text=True
        )


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """In place of the loop of pytest, which this leaves to refuse what cannot be collected."""
    config = session.config
    if not config.option.forks or session.testsfailed or config.option.collectonly:
        return None
    load(config.stash[COMPILING])
    Crowd(session).run()
    return True


def load(compiling: subprocess.Popen[str]) -> None:
    """Every kernel, as soon as it is compiled."""
    sys.stderr.write("the kernels, compiled once for this machine: ")
    sys.stderr.flush()
    started = time.monotonic()
    _, said = compiling.communicate()
    if compiling.returncode:
        pytest.exit(f"they cannot be compiled\n{said}", returncode=1)
    from tests import warm

    warm.load()
    sys.stderr.write(f"{time.monotonic() - started:.0f} s\n")


class Crowd:
    """The processes, and the files that none of them has taken."""

    def __init__(self, session: pytest.Session) -> None:
        self._session, self._config = session, session.config
        self._files = [list(items) for _, items in groupby(session.items, key=lambda e: e.path)]
        self._waiting = iter(range(len(self._files)))
        self._folder = self._config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        self._pids: dict[Connection, int] = {}

    def run(self) -> None:
        try:
            for number in range(min(self._config.option.forks, len(self._files))):
                self._fork(number)
            while self._pids:
                for each in wait(self._pids):
                    self._hear(each)  # type: ignore[arg-type]
        finally:
            # One that has nobody to tell ends.
            for pipe, pid in self._pids.items():
                pipe.close()
                os.waitpid(pid, 0)

    def _fork(self, number: int) -> None:
        ours, theirs = Pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid:
            theirs.close()
            self._pids[ours] = pid
            return
        for pipe in (ours, *self._pids):
            pipe.close()
        status = 1
        try:
            atexit._clear()
            live(self._session, self._files, theirs, self._folder / f"process-{number}")
            status = 0
        except BaseException:  # noqa: BLE001 - the first process sees the status
            traceback.print_exc()
        finally:
            atexit._run_exitfuncs()
            os._exit(status)

    def _hear(self, pipe: Connection) -> None:
        try:
            told = pipe.recv()
        except (EOFError, ConnectionResetError):
            _, status = os.waitpid(self._pids.pop(pipe), 0)
            if status:
                raise self._session.Failed(f"a process of tests ended with {status}") from None
            return
        if told is MORE:
            pipe.send(next(self._waiting, None))
        else:
            self._report(told, self._pids[pipe])

    def _report(self, told: dict[str, Any], pid: int) -> None:
        hook = self._config.hook
        report = hook.pytest_report_from_serializable(config=self._config, data=told)
        report.node = SimpleNamespace(gateway=SimpleNamespace(id=pid))  # it is one of several
        hook.pytest_runtest_logreport(report=report)
        if report.when == "teardown":
            hook.pytest_runtest_logfinish(nodeid=report.nodeid, location=report.location)
        if self._session.shouldfail:
            raise self._session.Failed(self._session.shouldfail)


class Teller:
    """Tells the first process what it would have shown."""

    def __init__(self, config: pytest.Config, pipe: Connection) -> None:
        self._config, self._pipe = config, pipe

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        serialised = self._config.hook.pytest_report_to_serializable
        self._pipe.send(serialised(config=self._config, report=report))


def live(
    session: pytest.Session, files: Sequence[list[pytest.Item]], pipe: Connection, folder: Path
) -> None:
    """Run files until there are no more."""
    config = session.config
    plugins = config.pluginmanager
    plugins.unregister(name="terminalreporter")
    plugins.register(Teller(config, pipe))
    capturing: Any = plugins.get_plugin("capturemanager")
    capturing.stop_global_capturing()
    capturing.start_global_capturing()
    folder.mkdir(mode=0o700)
    config._tmp_path_factory._basetemp = folder  # type: ignore[attr-defined]
    try:
        items = taken(files, pipe)
        while items:
            for item, after in pairwise(items):
                config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            last, items = items[-1], taken(files, pipe)
            config.hook.pytest_runtest_protocol(item=last, nextitem=items[0] if items else None)
    finally:
        capturing.stop_global_capturing()


def taken(files: Sequence[list[pytest.Item]], pipe: Connection) -> list[pytest.Item]:
    pipe.send(MORE)
    number = pipe.recv()
    return [] if number is None else files[number]
