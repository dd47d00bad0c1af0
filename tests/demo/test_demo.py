from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from fabcost.cli import application
from fabcost.demo.visits import Score, settings, world


def test_it_ends_by_itself(tmp_path: Path) -> None:
    out = tmp_path / "demo"
    result = CliRunner().invoke(application, ["demo", "--exit-after", "8", "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "Dashboard: http://127.0.0.1:" in result.output
    assert "The model has learnt from" in result.output
    assert (out / "demo.db").exists()


def test_ctrl_c_ends_it_and_its_server(tmp_path: Path) -> None:
    # Whoever starts tests in the background has them ignore Ctrl-C.
    script = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    script += "from fabcost.__main__ import main; main()"
    command = [sys.executable, "-u", "-c", script, "demo", "--out", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = next(line for line in process.stdout if line.startswith("Dashboard: "))
        address = line.split()[1]
        assert httpx.get(f"{address}healthz").status_code == 200
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        output = process.stdout.read()
        assert process.wait(60) == 0
    assert "has learnt from" in output
    with pytest.raises(httpx.TransportError):
        httpx.get(f"{address}healthz")


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
