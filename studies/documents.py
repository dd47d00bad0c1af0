"""Pages of the documentation that a study writes itself."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs" / "measurements"


def origin(command: str) -> str:
    """Say which commit, when, on what and by which command a page was measured."""
    return (
        f"Written by `{command}` on {datetime.now(UTC):%Y-%m-%d}, commit `{_commit()}`, "
        f"Python {platform.python_version()}, {os.cpu_count()} cores ({platform.machine()}). "
        "Do not edit by hand."
    )


def write_page(name: str, text: str) -> Path:
    """Write ``docs/measurements/name``."""
    path = DOCS / name
    path.write_text(text.rstrip() + "\n", encoding="utf-8")
    return path


def _commit() -> str:
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty"],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
        cwd=DOCS,
    )
    return described.stdout.strip() or "unknown"
