"""The commands of docs/how-to/service.md run, and are answered as it says."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.service.http.serving import Running

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "service.md"
BLOCKS = re.compile(r"```sh\n(.*?)```(?:\n\n```json\n(.*?)```)?", re.DOTALL)
ANYTHING = "…"
CURL, BASH = shutil.which("curl"), shutil.which("bash")


def documents(text: str) -> list[Any]:
    """JSON documents one after another."""
    decoder, found, place = json.JSONDecoder(), [], 0
    while text[place:].strip():
        place += len(text[place:]) - len(text[place:].lstrip())
        value, place = decoder.raw_decode(text, place)
        found.append(value)
    return found


def agrees(said: Any, given: Any) -> bool:
    if said == ANYTHING:
        return True
    if isinstance(said, dict) and isinstance(given, dict):
        return said.keys() == given.keys() and all(agrees(said[k], given[k]) for k in said)
    return bool(said == given)


@pytest.mark.skipif(CURL is None or BASH is None, reason="curl or bash is not installed")
def test_commands_of_the_guide(server: Running, tmp_path: Path) -> None:
    blocks = BLOCKS.findall(GUIDE.read_text(encoding="utf-8"))
    assert len(blocks) >= 8
    for commands, said in blocks:
        script = commands.replace("localhost:8000", server.address)
        wanted = "--fail-with-body " if "absent" not in commands else ""
        done = subprocess.run(
            [str(BASH), "-euc", script.replace("curl -s ", f"curl -sS {wanted}")],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )
        assert done.returncode == 0, commands + done.stdout + done.stderr
        pairs = zip(documents(said), documents(done.stdout), strict=True) if said else ()
        assert all(agrees(*pair) for pair in pairs), done.stdout
