"""Files that CONTRIBUTING.md sends its readers to are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATH = re.compile(r"`((?:src|tests|docs|studies)/[\w./-]+)`")


def test_every_path_exists() -> None:
    named = set(PATH.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")))
    assert len(named) > 20
    assert {each for each in named if not (ROOT / each).exists()} == set()
