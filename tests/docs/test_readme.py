"""The snippets of README.md run as they are written, one after another."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fabcost.service.settings import Settings
from tests.service.http.serving import running

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"^## ([^\n]+)(?:(?!^## ).)*?```python\n(.*?)```", README, re.S | re.M)
ADDRESS = "http://127.0.0.1:8000"


def of_the_reader() -> dict[str, dict[str, Any]]:
    """What each snippet takes from its reader."""
    rng = np.random.default_rng(1)
    rows, outcomes = rng.normal(size=(40, 15)), rng.random(40) < 0.3
    candidates = {"ad-1": {"make": "ford"}, "ad-2": {"make": "kia"}}
    pipeline = {"make_pipeline": make_pipeline, "StandardScaler": StandardScaler}
    return {
        "Learn online": {"x": rows[0], "clicked": True, "X": rows, "y": outcomes, "rng": rng},
        "Fit a batch": {**pipeline, "frame": rows, "clicked": outcomes},
        "Decide": {},
        "Serve": {"candidates": candidates},
    }


def run(snippets: list[tuple[str, str]], names: dict[str, Any]) -> dict[str, Any]:
    given = of_the_reader()
    for heading, code in snippets:
        names |= given[heading]
        exec(compile(code, f"README.md, {heading}", "exec"), names)  # noqa: S102 - our own text
    return names


def test_every_snippet_is_found() -> None:
    assert README.count("```python\n") == len(SNIPPETS)
    assert [heading for heading, _ in SNIPPETS] == list(of_the_reader())


def test_the_snippets_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with running(Settings(database="bandit.db")) as server:
        here = [(heading, code.replace(ADDRESS, server.address)) for heading, code in SNIPPETS]
        names = run(here, {})
        assert server.service.model("ads").impressions == 1
    assert names["learner"].posterior.dimension == 15
    assert names["model"].predict_proba(names["frame"]).shape == (40, 2)


@pytest.mark.parametrize("statement", ["fabcost.client.Client", "from fabcost import client"])
def test_the_client_is_there_without_another_import(statement: str) -> None:
    # In a process of its own: here others may have imported it.
    command = [sys.executable, "-c", f"import fabcost; {statement}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_it_stays_short() -> None:
    assert len(README.splitlines()) < 150
