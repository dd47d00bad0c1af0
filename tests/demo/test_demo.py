from __future__ import annotations

import contextlib
import io
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from rich.console import Console
from typer.testing import CliRunner

from fabcost.cli import application
from fabcost.compilation import _say
from fabcost.demo import MODEL, Score, _waiting, claimed, new_database, server, settings, world


def test_it_ends_by_itself(tmp_path: Path) -> None:
    out = tmp_path / "demo"
    out.mkdir()
    (out / "demo.db").write_text("of an earlier demo")
    (out / "demo.db.my-backup").write_text("precious")
    result = CliRunner().invoke(application, ["demo", "--exit-after", "1", "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "Dashboard: http://127.0.0.1:" in result.output
    assert "The model has learnt from" in result.output
    assert (out / "demo.db").read_bytes().startswith(b"SQLite format 3")
    assert (out / "demo.db.my-backup").read_text() == "precious"


@pytest.mark.parametrize("terminal", [True, False])
def test_how_far_the_first_compilation_is_is_shown(tmp_path: Path, terminal: bool) -> None:
    log, shown = tmp_path / "server.log", io.StringIO()
    with _waiting(log, Console(file=shown, force_terminal=terminal, width=80)):
        for line in ("the kernels: 3 of 90", "the kernels: 90 of 90"):
            with log.open("a", encoding="utf-8") as file, contextlib.redirect_stderr(file):
                _say(line)  # as a server does that compiles
            wait_for(lambda line=line: line in shown.getvalue())  # type: ignore[misc]
    assert ("fabcost: the kernels: 3 of 90" in shown.getvalue()) is not terminal


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


def has_visitors(address: str) -> bool:
    """Whether a decision was made: before, the demo is still being prepared."""
    answer = httpx.get(f"{address}v1/models/{MODEL}/decisions?limit=1", timeout=60)
    return answer.is_success and bool(answer.json()["decisions"])


def is_durable(address: str) -> bool:
    """Whether a decision is in the database; on a slow disk, when it is asked for again."""
    asked = {"decision_id": "d", "candidates": {"a": {"age": 3}}}
    decided = httpx.post(f"{address}/v1/models/m/decisions", json=asked, timeout=60)
    return decided.json()["durable"] is True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_its_server(tmp_path: Path, number: int) -> None:
    # Whoever starts tests in the background has them ignore Ctrl-C.
    script = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    script += "from fabcost.__main__ import main; main()"
    command = [sys.executable, "-u", "-c", script, "demo", "--out", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = next(line for line in process.stdout if line.startswith("Dashboard: "))
        address = line.split()[1]
        wait_for(lambda: has_visitors(address))
        process.send_signal(number)
        output = process.stdout.read()
        assert process.wait(60) == 0
    assert "has learnt from" in output
    with pytest.raises(httpx.TransportError):
        httpx.get(f"{address}healthz", timeout=60)


posix = pytest.mark.skipif(sys.platform == "win32", reason="files in use cannot be deleted there")


@posix
def test_a_second_demo_in_a_folder_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    again = ["demo", "--exit-after", "1", "--out", str(tmp_path)]
    with contextlib.ExitStack() as first:
        with claimed(tmp_path) as held:
            log, database = tmp_path / "server.log", new_database(tmp_path)
            address = first.enter_context(server(database, port=0, log=log, held=held))
            made = httpx.post(f"{address}/v1/models", json={"name": "m"}, timeout=60)
            assert made.status_code == 201
            result = CliRunner().invoke(application, again)
            assert result.exit_code == 2
            assert f"a demo is running in {tmp_path} already" in result.output.replace("\n", "")
            assert f"kill {os.getpid()}" in result.output
        # Whoever started the server may be gone before it.
        assert CliRunner().invoke(application, again).exit_code == 2
        wait_for(lambda: is_durable(address))
    with claimed(tmp_path):
        pass


def is_over(address: str) -> bool:
    try:
        httpx.get(f"{address}healthz", timeout=60)
    except httpx.TransportError:
        return True
    return False


@posix
def test_a_server_whose_demo_was_killed_is_named_and_can_be_ended(tmp_path: Path) -> None:
    command = [sys.executable, "-u", "-m", "fabcost", "demo", "--out", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = next(line for line in process.stdout if line.startswith("Dashboard: "))
        process.kill()
    result = CliRunner().invoke(application, ["demo", "--exit-after", "1", "--out", str(tmp_path)])
    assert result.exit_code == 2
    named = re.search(r"kill (\d+)", result.output)
    assert named is not None, result.output
    assert int(named[1]) != process.pid
    os.kill(int(named[1]), signal.SIGTERM)
    wait_for(lambda: is_over(line.split()[1]))


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = CliRunner().invoke(application, ["demo", "--port", port, "--out", str(tmp_path)])
    assert result.exit_code == 2
    assert "the server did not start" in result.output


def test_scores() -> None:
    score = Score()
    for clicked in (True, False, False, True):
        score.add(clicked=clicked, at_random=0.25)
    assert (score.visitors, score.clicks, score.lift) == (4, 2, 1.0)
    assert score.recent(2) == 0.5
    assert Score().lift == Score().recent(5) == 0.0


def test_the_model_has_the_schema_of_the_world() -> None:
    cars = world(3)
    assert settings(cars, wait=1.0, seed=0).schema == cars.schema.to_dict()
