"""How a run of the tests begins and ends."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.conftest import LONGEST

ROOT = Path(__file__).resolve().parents[2]
SUITE = """
import pytest

@pytest.mark.parametrize("each", range(3))
def test_one(each): pytest.skip("there is no browser")

@pytest.mark.skipif(True, reason="there is no database")
def test_other(): pass

def test_kernels_are_compiled(): pass
"""


def test_kernels_are_compiled_first_and_skips_are_one_list(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_suite.py").write_text(SUITE)
    plugins = ["-p", "xdist", "-p", "tests.conftest"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", *plugins, "-n", "1", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.match(r"the kernels, compiled once for this machine: \d+ s\n", done.stderr)
    assert re.findall(r"PASSED.*::(\w+)", done.stdout) == ["test_kernels_are_compiled"]
    _, _, told = done.stdout.partition(" not tested here ")
    listed = [line.strip() for line in told.splitlines()[1:] if line.strip()]
    assert listed[:2] == ["3 there is no browser", "1 there is no database"]


def test_long_tests_exist() -> None:
    assert all((ROOT / "tests" / name).is_file() for name in LONGEST)
