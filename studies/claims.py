"""A claim with its measurement, and the table and file that hold them."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from rich.table import Table

_PACKAGES = ("fabcost", "numpy", "numba", "scipy", "scikit-learn", "bayesianbandits")


@dataclass(frozen=True)
class Claim:
    """One row of the report."""

    what: str
    measured: float
    sense: Literal["at least", "at most"]
    required: float
    detail: str
    unit: str = "×"

    @property
    def holds(self) -> bool:
        """Whether the measurement is on the right side of what is required."""
        return self._is_met_by(self.measured)

    @property
    def measured_text(self) -> str:
        """The measurement in three digits, or as many as do not round it across the bound."""
        if self.measured >= 100:
            return f"{self.measured:,.0f}{self.unit}"
        texts = (f"{self.measured:#.{digits}g}".rstrip(".") for digits in range(3, 18))
        shown = next(text for text in texts if self._is_met_by(float(text)) == self.holds)
        return f"{shown}{self.unit}"

    @property
    def required_text(self) -> str:
        """The bound, as people read it."""
        sign = "≥" if self.sense == "at least" else "≤"
        return f"{sign} {self.required:,g}{self.unit}"

    @property
    def verdict(self) -> str:
        """yes or NO."""
        return "yes" if self.holds else "NO"

    def _is_met_by(self, number: float) -> bool:
        if self.sense == "at least":
            return number >= self.required
        return number <= self.required


def as_table(claims: Iterable[Claim], *, quick: bool, title: str = "Speed of inference") -> Table:
    """Lay the report out for a terminal."""
    title += " (quick: too small to judge by)" if quick else ""
    table = Table("what", "measured", "required", "holds", "detail", title=title)
    for claim in claims:
        colour = "green" if claim.holds else "red"
        table.add_row(
            claim.what,
            claim.measured_text,
            claim.required_text,
            f"[{colour}]{claim.verdict}[/]",
            claim.detail,
        )
    return table


def as_markdown(claims: Iterable[Claim]) -> str:
    """Lay the report out for the documentation."""
    lines = ["| what | measured | required | holds | detail |", "|---|---:|---:|---|---|"]
    lines += [
        f"| {c.what} | {c.measured_text} | {c.required_text} | {c.verdict} | {c.detail} |"
        for c in claims
    ]
    return "\n".join(lines)


def write(path: Path, claims: Iterable[Claim], *, quick: bool) -> None:
    """Write the report for a machine."""
    report = {
        "quick": quick,
        "threads": 1,
        "machine": _machine(),
        "claims": [{**asdict(claim), "holds": claim.holds} for claim in claims],
    }
    path.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _machine() -> dict[str, Any]:
    return {
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        **{package: version(package) for package in _PACKAGES},
    }
