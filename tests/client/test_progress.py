"""The bars of `export-log` and `import-log`: at a terminal, and nowhere else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import NamedTuple

import pytest

from fabcost.client import Client
from tests.service.http.serving import Running

ADVERTS = {"ad-1": {"make": "kia", "age": 3}, "ad-2": {"make": "ford", "age": 1}}
CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Done(NamedTuple):
    """What a command wrote where."""

    out: str
    errors: str


def run(server: Running, *arguments: str, stderr: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "fabcost", *arguments, "--url", server.address],
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )


def at_a_terminal(server: Running, *arguments: str) -> Done:
    terminal, end = os.openpty()
    shown: list[bytes] = []

    def read() -> None:
        try:
            while piece := os.read(terminal, 65_536):
                shown.append(piece)
        except OSError:  # Linux says so that the other end is closed
            return

    with run(server, *arguments, stderr=end) as process:
        os.close(end)
        reader = threading.Thread(target=read)
        reader.start()
        out, _ = process.communicate(timeout=60)
    reader.join(60)
    os.close(terminal)
    return Done(out, CONTROLS.sub("", b"".join(shown).decode()))


def to_a_pipe(server: Running, *arguments: str) -> Done:
    with run(server, *arguments, stderr=subprocess.PIPE) as process:
        return Done(*process.communicate(timeout=60))


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_a_terminal_is_shown_all_bytes_of_a_transfer(
    server: Running, tmp_path: Path, form: str
) -> None:
    path = tmp_path / f"log.{form}"
    with Client(server.address) as client:
        for name in (f"from-{form}", f"to-{form}"):
            client.create_model(name)
        for _ in range(20):
            client.decide(f"from-{form}", candidates=ADVERTS)
    exported = at_a_terminal(server, "export-log", f"from-{form}", "--out", str(path))
    size = path.stat().st_size / 1000
    assert exported.out == f"{path}: {path.stat().st_size:,} bytes\n"
    assert re.search(rf"received .* {size:.1f}/\? kB", exported.errors)
    imported = at_a_terminal(server, "import-log", f"to-{form}", str(path))
    assert imported.out == f"{path}: 20 decisions, 20 of them new to to-{form}\n"
    for what in ("checked", "sent"):
        assert re.search(rf"{what} .* {size:.1f}/{size:.1f} kB", imported.errors)


def test_a_pipe_is_not_shown_anything(server: Running, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with Client(server.address) as client:
        client.create_model("piped")
        client.decide("piped", candidates=ADVERTS)
    assert to_a_pipe(server, "export-log", "piped", "--out", str(path)).errors == ""
    assert to_a_pipe(server, "import-log", "piped", str(path)).errors == ""


def test_an_error_is_told_after_the_bar(server: Running, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("{}\n")
    shown = at_a_terminal(server, "import-log", "absent", str(path))
    assert shown.out == ""
    assert (
        shown.errors.rstrip().splitlines()[-1].startswith("Error: line 1: 'candidates' is missing")
    )
